"""C functions that call each wrapper of ``lazyloom_ops.h`` with what stands in arrays.

They are written from the prototypes of the header, so that a wrapper whose parameters are not as
its op's would not compile, or would record something else.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import cffi

import lazyloom
from lazyloom_capi import build, generate, header

PROTOTYPE: Final = re.compile(
    r"^static inline LOOM_CHECK loom_status loom_(\w+)\(([^{]*)\) \{", flags=re.M)

#: what an attribute of a kind is read from, and how a parameter that may be NULL is passed
FIELDS: Final = {
    "bool": "boolean", "int64_t": "integer", "double": "real", "loom_dtype": "dtype",
    "const char *": "text",
}  # fmt: skip

CALLED: Final = (
    "loom_status call_{}(const loom_operand *operands, size_t count, const loom_attr *attributes, "
    "loom_tensor *results, size_t capacity, uint64_t wanted)")

_OPENING: Final = """\
#define LOOM_NO_SOURCE_LOCATIONS
#include "lazyloom_ops.h"

#define PLACE(i) (wanted >> (i) & 1 ? &results[i] : NULL)

static loom_tensor handle(loom_operand operand) {
  loom_tensor tensor;
  tensor.bits = operand.tensor;
  return tensor;
}

"""


def prototypes() -> dict[str, list[str]]:
    """The parameters of each wrapper: ``add``, ``add_with``, ..."""
    text = (header.include_dir() / generate.NAME).read_text()
    return {name: " ".join(given.split()).split(", ") for name, given in PROTOTYPE.findall(text)}


def op_of(name: str) -> tuple[Any, bool]:
    """The op of a wrapper, and whether that takes operands."""
    table = lazyloom.ops.table()
    return (table[name], False) if name in table else (table[name.removesuffix("_with")], True)


def _adapter(name: str, parameters: list[str]) -> str:
    op, operands = op_of(name)
    given = [("operands[{}]" if operands else "handle(operands[{}])").format(i)
             for i in range(len(op.operands))]  # fmt: skip
    before: list[str] = []
    arguments: list[str] = []
    if op.operands and op.operands[-1].variadic:
        fixed = len(given) - 1
        arguments += given[:fixed]
        if operands:
            arguments.append(f"count > {fixed} ? operands + {fixed} : NULL")
        else:
            before.append(
                "  loom_tensor tensors[32];\n  size_t i;\n"
                f"  for (i = {fixed}; i < count; ++i) tensors[i - {fixed}] = handle(operands[i]);")
            arguments.append("tensors")
        arguments.append(f"count - {fixed}")
    else:
        arguments += given
    rest = parameters[len(arguments):]
    for i, attribute in enumerate(op.attributes):
        value, declared = f"attributes[{i}].value", rest.pop(0)
        kind = declared.rpartition(" ")[0]
        absent = f"attributes[{i}].kind == LOOM_ATTR_NONE"
        if attribute.kind in ("ints", "floats"):
            assert rest.pop(0).startswith("size_t ")
            field = "integers" if attribute.kind == "ints" else "reals"
            arguments += [f"{absent} ? NULL : {value}.{field}", f"attributes[{i}].count"]
        elif kind in FIELDS or declared.startswith("const char *"):
            field = FIELDS.get(kind, "text")
            empty = {"text": "NULL", "dtype": "LOOM_DTYPE_NONE"}.get(field)
            plain = f"{value}.{field}"
            arguments.append(f"{absent} ? {empty} : {plain}" if empty else plain)
        else:
            field = FIELDS[kind.removeprefix("const ")]
            assert attribute.nullable and declared.startswith("const ") and "*" in declared
            arguments.append(f"{absent} ? NULL : &{value}.{field}")
    if op.signature.lists:
        assert rest == ["loom_tensor *results", "size_t results_count"], (name, rest)
        arguments += ["wanted ? results : NULL", "capacity"]
    else:
        assert len(rest) == len(op.signature.outputs), (name, rest)
        assert all(r.startswith("loom_tensor *") for r in rest), (name, rest)
        arguments += [f"PLACE({i})" for i in range(len(rest))]
        before.append(f"  if (capacity < {len(rest)}) return LOOM_ERROR_INTERNAL;")
    body = "\n".join([*before, "  (void)operands; (void)count; (void)attributes;"])
    return f"{CALLED.format(name)} {{\n{body}\n  return loom_{name}({', '.join(arguments)});\n}}\n"


def compiled(folder: Path, compiler: list[str]) -> tuple[Any, Any]:
    """cffi's ``(ffi, lib)`` with a function ``call_NAME`` for each wrapper."""
    found = prototypes()
    source = _OPENING + "\n".join(_adapter(n, p) for n, p in found.items())
    target = folder / "wrappers.so"
    done = subprocess.run(
        [*compiler, "-", "-xnone", "-shared", "-fPIC", "-o", str(target), *build.cflags(),
         *build.libs()], input=source, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    ffi = cffi.FFI()
    declared = header.declarations(header.text())
    ffi.cdef(declared + "\n".join(f"{CALLED.format(name)};" for name in found))
    return ffi, ffi.dlopen(str(target))
