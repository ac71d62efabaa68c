"""``ops.rs``: a Rust function for every op, with a struct of options where it has defaults."""

from __future__ import annotations

from typing import Any

from .common import NOTICE, OPS, Entry, camel, doc, filled, fixed, optional, required, variadic

PATH = "rust/src/ops.rs"

_TAKEN = frozenset("type in ref match move fn where".split())
_TYPES = {"bool": "bool", "int": "i64", "float": "f64", "str": "&str", "dtype": "DType",
          "ints": "&[i64]", "floats": "&[f64]"}  # fmt: skip
_WIDTH = 98


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _member_type(a: Entry) -> str:
    kind = _TYPES[a["kind"]].replace("&", "&'a ")
    return f"Option<{kind}>" if a["nullable"] else kind


def _default(a: Entry) -> str:
    value: Any = a["default"]
    if value is None:
        return "None"
    if a["kind"] == "dtype":
        found = f"DType::{camel(value)}"
    elif a["kind"] == "str":
        found = f'"{value}"'
    elif a["kind"] == "ints":
        found = "&[" + ", ".join(map(str, value)) + "]"
    elif a["kind"] == "bool":
        found = str(value).lower()
    else:
        found = repr(value)
    return f"Some({found})" if a["nullable"] else found


def _options(op: Entry) -> tuple[str, str] | None:
    """The struct of what may be left out, and its type as a parameter; None if nothing may."""
    left_out = [o for o in fixed(op) if o["optional"]]
    if not left_out and not optional(op):
        return None
    name = f"{camel(op['name'])}Options"
    members = [(_safe(o["name"]), "Operand<'a>", "Operand::none()") for o in left_out]
    members += [(_safe(a["name"]), _member_type(a), _default(a)) for a in optional(op)]
    generic = "<'a>" if any("'a" in kind for _, kind, _ in members) else ""
    fields = "\n".join(f"    pub {n}: {kind}," for n, kind, _ in members)
    defaults = "\n".join(f"            {n}: {value}," for n, _, value in members)
    free = "<'_>" if generic else ""
    struct = (
        f"/// What [`{_safe(op['name'])}`] may be given besides.\n"
        f"#[derive(Clone, Copy, Debug)]\npub struct {name}{generic} {{\n{fields}\n}}\n\n"
        f"impl Default for {name}{free} {{\n    fn default() -> Self {{\n        Self {{\n"
        f"{defaults}\n        }}\n    }}\n}}")
    return struct, f"{name}{generic}"


def _function(op: Entry) -> str:
    options = _options(op)
    given = [o for o in fixed(op) if not o["optional"]]
    many = variadic(op)
    parameters = [f"{_safe(o['name'])}: impl Into<Operand<'a>>" for o in given]
    if many:
        parameters.append(
            f"{_safe(many['name'])}: impl IntoIterator<Item = impl Into<Operand<'a>>>")
    parameters += [f"{_safe(a['name'])}: {_type_of(a)}" for a in required(op)]
    if options:
        parameters.append(f"options: {options[1]}")
    lifetime = "<'a>" if any("'a" in p for p in parameters) else ""

    def operand(o: Entry) -> str:
        return f"options.{_safe(o['name'])}" if o["optional"] else f"{_safe(o['name'])}.into()"

    operands = ", ".join(operand(o) for o in fixed(op))
    attrs = ", ".join(
        f"Attr::new(c\"{a['name']}\", "
        f"{_safe(a['name']) if a['required'] else 'options.' + _safe(a['name'])})"
        for a in [*required(op), *optional(op)])
    outputs = len(op["outputs"])
    lines = [f"/// {line}" for line in _escaped(doc(op, 92))]
    if outputs > 1 and not op["lists"]:
        lines.append(f"/// Gives {', '.join(op['outputs'])}.")
    lines.append("#[track_caller]")
    if op["lists"]:
        result, call = "Vec<Tensor>", "record_list"
    else:
        result = "Tensor" if outputs == 1 else f"[Tensor; {outputs}]"
        call = "record_one" if outputs == 1 else "record"
    lines.append(filled(f"pub fn {_safe(op['name'])}{lifetime}", parameters,
                        f" -> Result<{result}> {{", "    "))  # fmt: skip
    if many:
        lines.append(f"    let mut given: Vec<Operand<'a>> = vec![{operands}];")
        lines.append(f"    given.extend({_safe(many['name'])}.into_iter().map(Into::into));")
        operands_given = "&given"
    else:
        operands_given = f"&[{operands}]"
    lines.append(filled(f"    {call}", [f'c"{op["name"]}"', operands_given, f"&[{attrs}]"], "",
                        "        "))  # fmt: skip
    head = f"{options[0]}\n\n" if options else ""
    return head + "\n".join([*lines, "}"])


def _type_of(a: Entry) -> str:
    kind = _TYPES[a["kind"]]
    return f"Option<{kind}>" if a["nullable"] else kind


def _escaped(lines: list[str]) -> list[str]:
    # rustdoc reads brackets as links
    return [line.replace("[", "\\[").replace("]", "\\]") for line in lines]


def text() -> str:
    head = (f"//! A function for every op.\n//!\n//! {NOTICE}\n\n"
            "use crate::record::{record, record_list, record_one, Attr, Operand};\n"
            "use crate::{DType, Result, Tensor};")  # fmt: skip
    return "\n\n".join([head, *(_function(op) for op in OPS)]) + "\n"
