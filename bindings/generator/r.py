"""``ops.R``: an R function for every op, with its defaults."""

from __future__ import annotations

from typing import Any

from .common import NOTICE, OPS, Entry, doc, fixed, optional, required, variadic

PATH = "r/R/ops.R"

_TAKEN = frozenset("function in next repeat while for if else break T F".split())


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _default(a: Entry) -> str:
    value: Any = a["default"]
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return {"inf": "Inf", "-inf": "-Inf", "nan": "NaN"}.get(value, f'"{value}"') if (
            a["kind"] == "float") else f'"{value}"'
    if isinstance(value, list):
        return "c(" + ", ".join(map(str, value)) + ")" if value else "integer(0)"
    return f"{value}L" if a["kind"] == "int" else repr(value)


def _filled(head: str, parts: list[str], tail: str, indent: str) -> str:
    line = f"{head}({', '.join(parts)}){tail}"
    if len(line) <= 98:
        return line
    lines, current = [], head + "("
    for i, part in enumerate(parts):
        piece = part + (", " if i < len(parts) - 1 else "")
        if len(current) + len(piece) > 96:
            lines.append(current.rstrip())
            current = indent
        current += piece
    return "\n".join([*lines, current + ")" + tail])


def signature(op: Entry) -> list[str]:
    """The parameters of an op's function, with their defaults."""
    many = variadic(op)
    parameters = [_safe(o["name"]) for o in fixed(op) if not o["optional"]]
    if many:
        parameters.append(_safe(many["name"]))
    parameters += [_safe(a["name"]) for a in required(op)]
    parameters += [f"{_safe(o['name'])} = NULL" for o in fixed(op) if o["optional"]]
    return parameters + [f"{_safe(a['name'])} = {_default(a)}" for a in optional(op)]


def _function(op: Entry) -> str:
    many = variadic(op)
    attributes = [*required(op), *optional(op)]
    parameters = signature(op)
    given = "list(" + ", ".join(_safe(o["name"]) for o in fixed(op)) + ")"
    if many:
        given = f"c({given}, {_safe(many['name'])})" if fixed(op) else _safe(many["name"])
    values = "list(" + ", ".join(_safe(a["name"]) for a in attributes) + ")"
    names = "c(" + ", ".join(f'"{a["name"]}"' for a in attributes) + ")"
    count = 0 if op["lists"] else len(op["outputs"])
    lines = [f"# {line}" for line in doc(op, 94)]
    if count > 1:
        lines.append(f"# Gives a list of {', '.join(op['outputs'])}.")
    call = [f'"{op["name"]}"', given]
    if attributes:
        kinds = "c(" + ", ".join(f'"{a["kind"]}"' for a in attributes) + ")"
        call += [names, kinds, values]
    if count != 1:
        call.append(f"results = {count}L")
    lines.append(_filled(f"loom_{op['name']} <- function", parameters, "", "  "))
    lines.append(_filled("  record_op", call, "", "    "))
    return "\n".join(lines)


def text() -> str:
    functions = "\n\n".join(_function(op) for op in OPS)
    return f"# A function for every op.\n# {NOTICE}\n\n{functions}\n"
