"""``lazyloom_ops.lua``: the ABI's declarations, and every op's operands and attributes."""

from __future__ import annotations

from . import cdef
from .common import NOTICE, OPS, Entry, doc, fixed, variadic

PATH = "lua/lazyloom_ops.lua"

_KEYWORDS = frozenset("""and break do else elseif end false for function goto if in local nil not
                      or repeat return then true until while""".split())


def _key(name: str) -> str:
    return f'["{name}"]' if name in _KEYWORDS else name


def _op(op: Entry) -> str:
    attributes = ", ".join(f'{_key(a["name"])} = "{a["kind"]}"' for a in op["attributes"])
    many = variadic(op)
    operands = ", ".join(f'"{o["name"]}"' for o in fixed(op))
    parts = [f"operands = {{{operands}}}"]
    if many:
        parts.append(f'list = "{many["name"]}"')
    parts.append(f"attributes = {{{attributes}}}")
    parts.append(f"results = {0 if op['lists'] else len(op['outputs'])}")
    said = "\n".join(f"  -- {line}" for line in doc(op, 94))
    key = _key(op["name"])
    inner = ", ".join(parts)
    line = f"  {key} = {{{inner}}},"
    if len(line) > 98:
        line = f"  {key} = {{\n" + "".join(f"    {p},\n" for p in parts) + "  },"
    return f"{said}\n{line}"


def text() -> str:
    declared = "\n".join(cdef.declarations())
    ops = "\n".join(_op(op) for op in OPS)
    return (f"-- {NOTICE}\nlocal M = {{}}\n\n-- lazyloom.h, for ffi.cdef\n"
            f"M.declarations = [[\n{declared}\n]]\n\n"
            "-- Ops: operands in order, the list of further ones, the kinds of attributes, the\n"
            f"-- number of results, 0 where it depends on the call.\nM.ops = {{\n{ops}\n}}\n\n"
            "return M\n")  # fmt: skip
