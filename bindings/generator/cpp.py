"""``lazyloom_ops.hpp``: a C++ function for every op."""

from __future__ import annotations

from typing import Any

from .common import NOTICE, OPS, Entry, doc, filled, fixed, optional, required, variadic

PATH = "cpp/lazyloom_ops.hpp"

_TAKEN = frozenset("and or not xor default union register at std".split())
_TYPES = {"bool": "bool", "int": "std::int64_t", "float": "double", "str": "const char *",
          "dtype": "DType", "ints": "const Ints &", "floats": "Span<double>"}  # fmt: skip


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _default(a: Entry) -> str:
    value: Any = a["default"]
    if value is None:
        return "DType::none" if a["kind"] == "dtype" else "std::nullopt"
    if a["kind"] == "dtype":
        return f"DType::{value}"
    if a["kind"] == "str":
        return f'"{value}"'
    if a["kind"] == "ints":
        return "Ints(Shape())" if not value else "{" + ", ".join(map(str, value)) + "}"
    if a["kind"] == "bool":
        return str(value).lower()
    return repr(value)


def _type(a: Entry) -> str:
    if a["nullable"] and a["kind"] in ("int", "float"):
        return f"std::optional<{_TYPES[a['kind']]}> "
    kind = _TYPES[a["kind"]]
    return kind if kind[-1] in "*&" else f"{kind} "


def _function(op: Entry) -> str:
    attributes = [*required(op), *optional(op)]
    parameters = [f"const Operand &{_safe(o['name'])}" for o in fixed(op)]
    many = variadic(op)
    if many:
        parameters.append(f"const Operands &{_safe(many['name'])}")
    # operands at the end may be left out, if nothing after them must be given
    if not required(op) and not many:
        for i in reversed(range(len(fixed(op)))):
            if not fixed(op)[i]["optional"]:
                break
            parameters[i] += " = {}"
    for a in attributes:
        default = "" if a["required"] else f" = {_default(a)}"
        parameters.append(f"{_type(a)}{_safe(a['name'])}{default}")
    parameters.append("Site at = Site::here()")

    operands = "{" + ", ".join(f"{_safe(o['name'])}.c()" for o in fixed(op)) + "}"
    attrs = "{" + ", ".join(
        f"detail::attribute(\"{a['name']}\", {_safe(a['name'])})" for a in attributes) + "}"
    outputs = len(op["outputs"])
    if many or op["lists"]:
        extent = " + ".join([str(len(op["operands"]) + 8),
                             *([f"{_safe(many['name'])}.size()"] if many else []),
                             *(f"{_safe(a['name'])}.size()" for a in attributes
                               if a["kind"] == "ints")])  # fmt: skip
        given = _safe(many["name"]) if many else "{}"
        capacity = extent if op["lists"] else str(outputs)
        call = ("detail::record_many", [f'"{op["name"]}"', operands, given, attrs, capacity, "at"])
        kind, end = ("std::vector<Tensor>", ";") if op["lists"] else ("Tensor", "[0];")
    else:
        call = (f"detail::record<{outputs}>", [f'"{op["name"]}"', operands, attrs, "at"])
        kind, end = ("Tensor", "[0];") if outputs == 1 else (
            f"std::array<Tensor, {outputs}>", ";")
    lines = [f"// {line}" for line in doc(op, 94)]
    if outputs > 1 and not op["lists"]:
        lines.append(f"// Gives {', '.join(op['outputs'])}.")
    elif op["results"]:
        lines += [f"// Gives {line}" if i == 0 else f"// {line}"
                  for i, line in enumerate(_wrapped(op["results"]))]  # fmt: skip
    lines.append(filled(f"inline {kind} {_safe(op['name'])}", parameters, " {", "    "))
    lines.append(filled(f"  return {call[0]}", call[1], end, "      "))
    return "\n".join([*lines, "}"])


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 88)


def text() -> str:
    parts = [
        "// lazyloom_ops.hpp: a function for every op; part of lazyloom.hpp, which includes it.\n"
        f"// {NOTICE}\n"
        "#ifndef LAZYLOOM_OPS_HPP\n#define LAZYLOOM_OPS_HPP\n\nnamespace lazyloom {",
        *(_function(op) for op in OPS),
        "}  // namespace lazyloom\n\n#endif  // LAZYLOOM_OPS_HPP\n",
    ]
    return "\n\n".join(parts)
