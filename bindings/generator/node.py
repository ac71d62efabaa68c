"""``ops.js``: the ABI's declarations, and every op's operands and attributes."""

from __future__ import annotations

import json

from . import cdef
from .common import API, NOTICE, OPS, Entry, fixed, variadic

PATH = "node/ops.js"


def _op(op: Entry) -> str:
    many = variadic(op)
    entry: Entry = {"operands": [o["name"] for o in fixed(op)]}
    if many:
        entry["list"] = many["name"]
    entry["attributes"] = {a["name"]: a["kind"] for a in op["attributes"]}
    entry["results"] = 0 if op["lists"] else len(op["outputs"])
    line = f"  {op['name']}: {json.dumps(entry)},"
    if len(line) <= 98:
        return line
    inner = "".join(f"    {key}: {json.dumps(value)},\n" for key, value in entry.items())
    return f"  {op['name']}: {{\n{inner}  }},"


def text() -> str:
    declared = "\n".join(f"  {json.dumps(line.rstrip(';'))}," for line in cdef.functions())
    types = "\n".join(
        f"exports.{kind} = {json.dumps([e['name'] for e in API[kind]])};"
        for kind in ("enums", "handles", "structs", "callbacks"))
    ops = "\n".join(_op(op) for op in OPS)
    return (f'// {NOTICE}\n"use strict";\n\n// the types and functions of lazyloom.h\n{types}\n'
            f"exports.functions = [\n{declared}\n];\n\n"
            "// Ops: operands in order, the list of further ones, the kinds of attributes, the\n"
            f"// number of results, 0 where it depends on the call.\nexports.ops = {{\n{ops}\n}};\n"
            )  # fmt: skip
