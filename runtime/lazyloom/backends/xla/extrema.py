"""Maxima and minima along axes that propagate NaN.

YNNPACK, which XLA calls for reductions from jaxlib 0.11.1 on, loses it. (Upstream reports that are
alike are of other causes: https://github.com/openxla/xla/issues/21461.) Integers that are in the
order of the numbers have no such value, XLA reduces them by vectors in any order, and the largest
of them, or the least, stands for NaN.
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
    """The StableHLO module, its floating-point maxima and minima along axes those of integers."""
    return rewritten(text, "reduce(", _written)


def _written(line: str) -> Iterator[str] | None:
    m = _REDUCE.match(line)
    return None if m is None else _of_integers(m)


def _of_integers(m: re.Match[str]) -> Iterator[str]:
    margin, name, x, first, kind, across, extents, element, left = m.groups()
    bits = _BITS[element]
    largest = 2 ** (bits - 1) - 1
    nan = largest if kind == "maximum" else -largest - 1
    own = f"%extremum{name[1:]}"

    def of(dims: str, scalar: str) -> str:
        return f"tensor<{dims}{scalar}>"

    def flipped(prefix: str, given: str, dims: str) -> Iterator[str]:
        """Of negative numbers all bits but the sign; twice is nothing."""
        integer = of(dims, f"i{bits}")
        yield f"{margin}{prefix}_last = stablehlo.constant dense<{bits - 1}> : {integer}"
        yield f"{margin}{prefix}_most = stablehlo.constant dense<{largest}> : {integer}"
        yield (f"{margin}{prefix}_sign = stablehlo.shift_right_arithmetic {given}, "
               f"{prefix}_last : {integer}")
        yield f"{margin}{prefix}_mask = stablehlo.and {prefix}_sign, {prefix}_most : {integer}"
        yield f"{margin}{prefix}_key = stablehlo.xor {given}, {prefix}_mask : {integer}"

    for prefix, given, dims in ((f"{own}_x", x, extents), (f"{own}_i", first, "")):
        number, integer, truth = of(dims, element), of(dims, f"i{bits}"), of(dims, "i1")
        yield (f"{margin}{prefix}_bits = stablehlo.bitcast_convert {given} : "
               f"({number}) -> {integer}")
        yield from flipped(prefix, f"{prefix}_bits", dims)
        yield (f"{margin}{prefix}_no = stablehlo.compare NE, {given}, {given}, FLOAT : "
               f"({number}, {number}) -> {truth}")
        yield f"{margin}{prefix}_nan = stablehlo.constant dense<{nan}> : {integer}"
        yield (f"{margin}{prefix}_end = stablehlo.select {prefix}_no, {prefix}_nan, "
               f"{prefix}_key : {truth}, {integer}")
    yield (f"{margin}{own} = stablehlo.reduce({own}_x_end init: {own}_i_end) applies "
           f"stablehlo.{kind} across {across} : ({of(extents, f'i{bits}')}, tensor<i{bits}>) -> "
           f"{of(left, f'i{bits}')}")
    yield from flipped(f"{own}_r", own, left)
    yield (f"{margin}{name} = stablehlo.bitcast_convert {own}_r_key : "
           f"({of(left, f'i{bits}')}) -> {of(left, element)}")
