"""A saved program as a small program in Python, for a report."""

from __future__ import annotations

import base64
import math
from typing import Any, Final

import numpy as np

from ..dtypes import DType
from ..errors import printable
from ..ops.spec import OpDef
from ..program.stream import Leaf, Result, ScalarSlot
from .running import Fault
from .saved import SavedProgram

#: arrays of more elements are written as bytes
_MOST_ELEMENTS: Final = 64

_END: Final = '''

def op_by_op(results):
    """The results, each op by itself."""
    with lazyloom.options(eager=True, reproducible=False):
        return [x.read() for x in results()]


def compiled(results):
    """The results of the whole program."""
    with lazyloom.options(reproducible=True):
        return [x.read() for x in results()]


for number, (a, b) in enumerate(zip(op_by_op(program), compiled(program), strict=True)):
    print("result", number, "op by op:")
    print(a)
    print("compiled:")
    print(b)
    equal = np.array_equal(a, b) if a.dtype.kind in "biu" else np.array_equal(
        np.asarray(a, complex), np.asarray(b, complex), equal_nan=True)
    print("the same" if equal else "not the same")
'''


def script_of(saved: SavedProgram, fault: Fault | None) -> str:
    """Return a program that computes the results in both forms, and prints them."""
    program = saved.program
    # a line that ends in a comment would go on as code, and files come from anybody
    versions = printable(
        ", ".join([f"{k} {v}" for k, v in (saved.about.get("versions") or {}).items()]))
    wrong = "it runs." if fault is None else f"{fault.text}."
    lines = [
        f"# {printable(wrong.replace(chr(10), ' '))}",
        f"# Saved with {versions}." if versions else "#",
        "import os", "", "import numpy as np", "",
        "# what the disk cache has runs compiled",
        'os.environ["LAZYLOOM_CACHE"] = "0"', "",
        "import lazyloom  # noqa: E402", "from lazyloom import dtypes  # noqa: E402", "",
    ]
    for k, (x, t) in enumerate(zip(saved.inputs, program.structure.leaf_types, strict=True)):
        lines.append(f"in{k} = lazyloom.from_host({_array(x, t.dtype)})")
    lines += ["", "", "def program():", '    """Record the program; return its results."""']
    for number, i in enumerate(program.structure.instructions):
        operands: list[str] = []
        for item in i.operands:
            if isinstance(item, Result):
                several = len(program.structure.instructions[item.instruction].types) > 1
                operands.append(f"v{item.instruction}{f'[{item.number}]' if several else ''}")
            elif isinstance(item, Leaf):
                operands.append(f"in{item.number}")
            elif isinstance(item, ScalarSlot):
                text = _plain(saved.scalars[item.dtype][item.ordinal], item.dtype)
                operands.append(f"lazyloom.Scalar({text}, {_dtype(item.dtype)}, bake=False)")
            elif item is None:
                operands.append("None")
            else:
                text = _plain(item.number, item.dtype)
                operands.append(f"lazyloom.Scalar({text}, {_dtype(item.dtype)})")
        attrs = f", {_attributes(i.spec.attrs)}" if i.spec.attrs else ""
        site = f"  # {printable(saved.sites[number])}" if saved.sites[number] else ""
        lines.append(
            f"    v{number} = lazyloom.record({_op(i.spec.op)}, [{', '.join(operands)}]{attrs})"
            f"{site}")
    results = []
    for n, r in program.outputs:
        several = len(program.structure.instructions[n].types) > 1
        results.append(f"v{n}[{r}]" if several else f"v{n}")
    lines.append(f"    return [{', '.join(results)}]")
    return "\n".join(lines) + "\n" + _END


def _op(op: OpDef) -> str:
    """An op: its name, or where it is derived from another how."""
    if op.base is None:
        return repr(op.name)
    inner = _op(op.base)
    base = f"lazyloom.ops.lookup({inner})" if op.base.base is None else inner
    return f"{base}.derive({op.kind!r})"


def _attributes(attrs: dict[str, Any]) -> str:
    return "{" + ", ".join([f"{k!r}: {_attribute(v)}" for k, v in attrs.items()]) + "}"


def _dtype(dtype: DType) -> str:
    return "dtypes.bool_" if dtype.name == "bool" else f"dtypes.{dtype.name}"


def _attribute(value: Any) -> str:
    if isinstance(value, DType):
        return _dtype(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_attribute, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _float(x: float) -> str:
    return repr(x) if math.isfinite(x) else f'float("{x!r}")'


def _plain(number: Any, dtype: DType) -> str:
    if dtype.kind == "c":
        z = complex(number)
        return f"complex({_float(z.real)}, {_float(z.imag)})"
    if dtype.kind == "f":
        return _float(float(number))
    return repr(bool(number) if dtype.kind == "b" else int(number))


def _array(x: Any, dtype: DType) -> str:
    """An array with its bits."""
    numpy_type = f"{_dtype(dtype)}.numpy"
    shape = repr(tuple(int(d) for d in x.shape))
    data = np.ascontiguousarray(x).tobytes()
    if x.size and data == data[: dtype.itemsize] * x.size and dtype.kind in "biuf":
        n = _plain(x.reshape(-1)[0], dtype)
        if "nan" not in n:
            return f"np.full({shape}, {n}, {numpy_type})"
    if x.size <= _MOST_ELEMENTS and dtype.name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64",
    ) and not np.isnan(x).any():
        # repr has all digits
        items = ", ".join([_plain(n, dtype) for n in x.reshape(-1).tolist()])
        return f"np.array([{items}], {numpy_type}).reshape({shape})"
    if x.size <= _MOST_ELEMENTS:
        return f'np.frombuffer(bytes.fromhex("{data.hex()}"), {numpy_type}).reshape({shape})'
    text = base64.b85encode(data).decode()
    return (f"np.frombuffer(__import__('base64').b85decode({text!r}), {numpy_type})"
            f".reshape({shape})")
