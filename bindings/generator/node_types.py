"""``ops.d.ts``: the types of the ops' functions and methods, for TypeScript and editors."""

from __future__ import annotations

import json
from typing import Any

from .common import NOTICE, OPS, Entry, doc, fixed, variadic

PATH = "node/ops.d.ts"

_TYPES = {"bool": "boolean", "int": "number | bigint", "float": "number", "str": "string",
          "dtype": "DType", "ints": "number | Ints", "floats": "number | Numbers"}  # fmt: skip
_TAKEN = frozenset("function in default var".split())


def _safe(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _attributes(op: Entry) -> str:
    parts = []
    for a in op["attributes"]:
        kind = _TYPES[a["kind"]] + (" | null" if a["nullable"] else "")
        parts.append(f"{a['name']}{'' if a['required'] else '?'}: {kind}")
    return "{ " + "; ".join(parts) + " }"


def _said(op: Entry) -> list[str]:
    lines = doc(op, 88)
    defaults: list[str] = []
    for a in op["attributes"]:
        value: Any = a["default"]
        if not a["required"]:
            defaults.append(f"{a['name']}: {json.dumps(value)}")
    if defaults:
        lines.append("Defaults: " + ", ".join(defaults))
    return [line.replace("*/", "* /") for line in lines]


def _declared(op: Entry, method: bool) -> str:
    operands, many = fixed(op), variadic(op)
    if method:
        operands = operands[1:]
    # an operand may be left out if all that follow may
    parameters = []
    needed = bool(many)
    attributes_needed = any(a["required"] for a in op["attributes"])
    for o in reversed(operands):
        needed = needed or not o["optional"] or attributes_needed
        kind = "Operand | null" if o["optional"] else "Operand"
        parameters.insert(0, f"{_safe(o['name'])}{'' if needed else '?'}: {kind}")
    if many:
        parameters.append(f"{_safe(many['name'])}: Operand[]")
    if op["attributes"]:
        parameters.append(f"attributes{'' if attributes_needed else '?'}: {_attributes(op)}")
    outputs = len(op["outputs"])
    result = "Tensor[]" if op["lists"] else "Tensor" if outputs == 1 else (
        "[" + ", ".join(f"{n}: Tensor" for n in op["outputs"]) + "]")
    given = f"({', '.join(parameters)}): {result};"
    if method:
        return f"  {op['name']}{given}"
    if op["name"] in _TAKEN:
        name = _safe(op["name"])
        return f"declare function {name}{given}\nexport {{ {name} as {op['name']} }};"
    return f"export function {op['name']}{given}"


def text() -> str:
    functions, methods = [], []
    for op in OPS:
        functions.append("/**\n" + "\n".join(f" * {line}" for line in _said(op)) + "\n */")
        functions.append(_declared(op, False))
        if fixed(op):
            methods.append(_declared(op, True))
    return (f"// {NOTICE}\n"
            'import type { DType, Ints, Numbers, Operand, Tensor } from "./index";\n\n'
            + "\n".join(functions) + "\n\n"
            "/** The same, of the first operand. */\n"
            "export interface Methods {\n" + "\n".join(methods) + "\n}\n")  # fmt: skip
