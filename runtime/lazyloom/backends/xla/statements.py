"""StableHLO statements that occur in a program's function and in the bodies of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import DType
from ...types import scalar_type
from .lowered import Lowered


def constant(name: str, number: Any, dtype: DType) -> str:
    """Return the statement that defines a 0-d constant ``name``."""
    if number not in (0, 1, -1) and dtype.kind == "f":
        bits = np.array(number, dtype.numpy).view(f"uint{8 * dtype.itemsize}").item()
        literal = f"0x{bits:0{2 * dtype.itemsize}X}"
    elif dtype.kind == "b":
        literal = "true" if number else "false"
    elif dtype.kind == "f":
        literal = f"{int(number)}.0"
    elif dtype.kind == "c":
        literal = f"({number}.0, 0.0)"
    elif dtype.kind == "u":
        literal = str(number & ((1 << 8 * dtype.itemsize) - 1))
    else:
        literal = str(number)
    return f"    {name} = stablehlo.constant dense<{literal}> : {scalar_type(dtype).mlir}"


def constants(name: str, numbers: Sequence[Any], dtype: DType) -> str:
    """Return the statement that defines a vector of constants, exact in their bits."""
    with np.errstate(all="ignore"):
        if dtype.is_integer:
            # as C's casts: integers wrap
            bits = 8 * dtype.itemsize
            wrapped = [int(n.real) & ((1 << bits) - 1) for n in numbers]
            array = np.array(wrapped, np.uint64).astype(f"uint{bits}").view(dtype.numpy)
        else:
            array = np.array(numbers).astype(dtype.numpy)
    if dtype.kind == "b":
        literals = ["true" if n else "false" for n in array.tolist()]
    elif dtype.is_integer:
        literals = [str(n) for n in array.tolist()]
    else:
        parts = array.view(dtype.real.numpy).view(f"uint{8 * dtype.real.itemsize}").tolist()
        literals = [f"0x{n:0{2 * dtype.real.itemsize}X}" for n in parts]
        if dtype.is_complex:
            literals = [f"({a}, {b})" for a, b in zip(literals[::2], literals[1::2], strict=True)]
    return (f"    {name} = stablehlo.constant dense<[{', '.join(literals)}]> : "
            f"tensor<{len(literals)}x{dtype.mlir}>")


def call(
    lowered: Lowered, name: str, arguments: Sequence[str], types: Sequence[str], location: str,
    *, inside: bool = False, opaque: bool = False,
) -> tuple[str, list[str]]:  # fmt: skip
    """Return the statement that calls an op's function, and the names of its results.

    ``types`` are those of the arguments. ``inside`` the body of a loop, MLIR's parser requires the
    dialect's name as well. XLA does not look into an ``opaque`` one.
    """
    count = len(lowered.results)
    if count == 1:
        names, result_names, result_types = [name], name, lowered.results[0]
    else:
        names = [f"{name}#{r}" for r in range(count)]
        result_names, result_types = f"{name}:{count}", f"({', '.join(lowered.results)})"
    statement = "func.call" if inside else "call"
    kept = ' {mhlo.frontend_attributes = {inlineable = "false"}}' if opaque else ""
    return (f"    {result_names} = {statement} @{lowered.name}({', '.join(arguments)}){kept} : "
            f"({', '.join(types)}) -> {result_types} loc(\"{_quotable(location)}\")"), names


def _quotable(text: str) -> str:
    """Escape a text for MLIR's quotes: names of foreign ops and generators may be arbitrary."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}"
        for b in text.encode("utf-8", "replace"))
