"""Maxima and minima along axes that propagate NaN.

YNNPACK, which XLA calls for reductions from jaxlib 0.11.1 on, loses it. (Similar upstream reports
have other causes: https://github.com/openxla/xla/issues/21461.) Integers in the same order as the
numbers have no such value, XLA reduces them by vectors in any order, and the largest or smallest of
them stands for NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .stablehlo_text import rewritten

_NAME: Final = r"%[\w$.#-]+"
_REDUCE: Final = re.compile(
    rf"( *)({_NAME}) = stablehlo\.reduce\(({_NAME}) init: ({_NAME})\) applies "
    r"stablehlo\.(maximum|minimum) across (.*) : \(tensor<([0-9x]*)(bf16|f16|f32|f64)>, "
    r"tensor<\w+>\) -> tensor<([0-9x]*)\w+>$")
_BITS: Final = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


def of_integers(text: str) -> str:
    """Return the StableHLO module with floating-point maxima and minima along axes computed on
    integers."""
    return rewritten(text, "reduce(", _written)


def _written(line: str) -> Iterator[str] | None:
    m = _REDUCE.match(line)
    return None if m is None else _of_integers(m)


def _of_integers(m: re.Match[str]) -> Iterator[str]:
    margin, name, x, first, kind, across, extents, element, kept_dims = m.groups()
    bits = _BITS[element]
    largest = 2 ** (bits - 1) - 1
    nan = largest if kind == "maximum" else -largest - 1
    base = f"%extremum{name[1:]}"

    def of(dims: str, scalar: str) -> str:
        return f"tensor<{dims}{scalar}>"

    def flipped(prefix: str, value: str, dims: str) -> Iterator[str]:
        """Flip all bits of negative numbers except the sign; twice is the identity."""
        integer = of(dims, f"i{bits}")
        yield f"{margin}{prefix}_last = stablehlo.constant dense<{bits - 1}> : {integer}"
        yield f"{margin}{prefix}_most = stablehlo.constant dense<{largest}> : {integer}"
        yield (f"{margin}{prefix}_sign = stablehlo.shift_right_arithmetic {value}, "
               f"{prefix}_last : {integer}")
        yield f"{margin}{prefix}_mask = stablehlo.and {prefix}_sign, {prefix}_most : {integer}"
        yield f"{margin}{prefix}_key = stablehlo.xor {value}, {prefix}_mask : {integer}"

    for prefix, operand, dims in ((f"{base}_x", x, extents), (f"{base}_i", first, "")):
        number, integer, truth = of(dims, element), of(dims, f"i{bits}"), of(dims, "i1")
        yield (f"{margin}{prefix}_bits = stablehlo.bitcast_convert {operand} : "
               f"({number}) -> {integer}")
        yield from flipped(prefix, f"{prefix}_bits", dims)
        yield (f"{margin}{prefix}_no = stablehlo.compare NE, {operand}, {operand}, FLOAT : "
               f"({number}, {number}) -> {truth}")
        yield f"{margin}{prefix}_nan = stablehlo.constant dense<{nan}> : {integer}"
        yield (f"{margin}{prefix}_end = stablehlo.select {prefix}_no, {prefix}_nan, "
               f"{prefix}_key : {truth}, {integer}")
    yield (f"{margin}{base} = stablehlo.reduce({base}_x_end init: {base}_i_end) applies "
           f"stablehlo.{kind} across {across} : ({of(extents, f'i{bits}')}, tensor<i{bits}>) -> "
           f"{of(kept_dims, f'i{bits}')}")
    yield from flipped(f"{base}_r", base, kept_dims)
    yield (f"{margin}{name} = stablehlo.bitcast_convert {base}_r_key : "
           f"({of(kept_dims, f'i{bits}')}) -> {of(kept_dims, element)}")
