"""Long sums and maxima, begun in small blocks of rows.

XLA splits a reduction of more than 32 elements into windows, with which nothing fuses: the elements
are written to memory and read again. Its loop for windows goes from number to number, and where the
numbers of a window are not adjacent, from one cache line to the next. Adding a few rows to each
other as vectors is one pass over the operand, which fuses with what computes it. The rest, a small
part, is reduced in windows as before.

This is for versions of jaxlib whose YNNPACK may run no fusions (:mod:`.compiler_defects`): in
others YNNPACK runs reductions, as fast, except for maxima that :mod:`.extrema` turned into those of
integers.

A sum's error becomes smaller: a block has few terms. Where windows would leave many terms to be
added one by one, as over axes of up to 32 elements (71,400 equal numbers of shape (20, 30, 119)
were 2,900 units off), adjacent axes are merged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from .stablehlo_text import extents_of, numbers_in, rewritten, with_extents

_REDUCE: Final = (
    r"( *)(%[\w.$-]+) = stablehlo\.reduce\((%[\w.$#-]+) init: (%[\w.$#-]+)\) applies "
    r"stablehlo\.({}) across dimensions = \[([\d, ]*)\] : "
    r"\((tensor<(?:\d+x)+({})>), (tensor<(?:\w+)>)\) -> (tensor<\S+>)$")
_FLOATS: Final = re.compile(_REDUCE.format("add|maximum|minimum", "f32|f64"))
_INTEGERS: Final = re.compile(_REDUCE.format("maximum|minimum", "i32|i64"))
#: the extent of reduced axes up to which XLA makes no windows. More than that must remain of the
#: blocks, or their loop would be inside the loop over the rest
WINDOW: Final = 32
#: the least and the most rows of a block: where a row is a part of a reduced axis, and where it
#: consists of kept axes
_ROWS: Final = (4, 16)
_KEPT_ROWS: Final = (2, 8)
#: elements of a row that is such a part
_PART: Final = {"f32": 16, "f64": 8, "i32": 16, "i64": 8}
#: the least number of adjacent elements in kept axes
_SIDE_BY_SIDE: Final = 4
#: the least number of results: with fewer there is no loop that threads share
_RESULTS: Final = 8
#: the most terms that are added one by one where axes are not merged
_ONE_BY_ONE: Final = 512
#: the number of elements of an operand from which on a second loop is worthwhile
LEAST: Final = 1 << 16


def in_blocks(text: str) -> str:
    """Return the StableHLO module with such reductions of floating-point numbers split in two."""
    return rewritten(text, "reduce(", lambda line: _written(_FLOATS.match(line)))


def extrema_in_blocks(text: str) -> str:
    """Return the StableHLO module with such maxima and minima of integers split in two."""
    return rewritten(text, "reduce(", lambda line: _written(_INTEGERS.match(line)))


def _block(rows: int, bounds: tuple[int, int], beside: int) -> int:
    """Return the most rows of a block that divide all rows; 0 where none are worthwhile.

    Each block leaves ``beside`` elements to be reduced.
    """
    least, most = bounds
    return next((k for k in range(most, least - 1, -1)
                 if rows % k == 0 and rows // k * beside > WINDOW), 0)


def _written(m: re.Match[str] | None) -> Iterator[str] | None:
    if m is None:
        return None
    margin, name, x, first, step, axes, type_, element, scalar, result = m.groups()
    extents = extents_of(type_)
    across = sorted(numbers_in(axes))
    size = math.prod(extents)
    if not across or not size:
        return None
    # the last reduced axes that are adjacent
    end = begin = across[-1]
    while begin - 1 in across:
        begin -= 1
    run = math.prod(extents[begin : end + 1])
    outer = [a for a in across if a < begin]
    block, inner = 0, [_PART[element]] if end == len(extents) - 1 else []
    if size >= LEAST and size >= _RESULTS * math.prod([extents[a] for a in across]):
        if inner:
            block = _block(run // inner[0], _ROWS, inner[0]) if run % inner[0] == 0 else 0
        elif math.prod(extents[end + 1 :]) >= _SIDE_BY_SIDE:
            block = _block(run, _KEPT_ROWS, 1)
    if block:
        count = run // block // math.prod(inner)
        cut = [*extents[:begin], count, block, *inner, *extents[end + 1 :]]
        partial_extents = [*extents[:begin], count, *inner, *extents[end + 1 :]]
        merged = [*extents[:begin], math.prod([count, *inner]), *extents[end + 1 :]]
        blocks, partial, rest = (with_extents(type_, e) for e in (cut, partial_extents, merged))
        return _two(margin, name, x, first, step, [*outer, begin], begin + 1,
                    (type_, blocks, partial, rest, scalar, result))
    if step == "add" and begin < end and _one_by_one([extents[a] for a in across]) > _ONE_BY_ONE:
        rest = with_extents(type_, [*extents[:begin], run, *extents[end + 1 :]])
        base = f"%run{name[1:]}"
        return iter((
            f"{margin}{base}_axis = stablehlo.reshape {x} : ({type_}) -> {rest}",
            # otherwise XLA would reduce the original axes
            f"{margin}{base} = stablehlo.optimization_barrier {base}_axis : {rest}",
            f"{margin}{name} = stablehlo.reduce({base} init: {first}) applies stablehlo.{step} "
            f"across dimensions = {[*outer, begin]} : ({rest}, {scalar}) -> {result}"))
    return None


def _one_by_one(extents: list[int]) -> int:
    """Return how many terms are added one after the other, in a window or after the windows."""
    return max(math.prod([min(n, WINDOW) for n in extents]),
               math.prod([-(-n // WINDOW) for n in extents]))


def _two(
    margin: str, name: str, x: str, first: str, step: str, across: list[int], axis: int,
    types: tuple[str, ...],
) -> Iterator[str]:
    """Write a reduction of an axis of blocks, then of the rest."""
    whole, blocks, partial, rest, scalar, result = types
    base = f"%blocks{name[1:]}"
    zero = first
    yield f"{margin}{base} = stablehlo.reshape {x} : ({whole}) -> {blocks}"
    if step == "add":
        zero = f"{base}_zero"  # adding it changes nothing, not even a sign
        yield f"{margin}{zero} = stablehlo.constant dense<-0.0> : {scalar}"
    yield (f"{margin}{base}_sums = stablehlo.reduce({base} init: {zero}) applies stablehlo.{step} "
           f"across dimensions = [{axis}] : ({blocks}, {scalar}) -> {partial}")
    # otherwise XLA would merge the two reductions
    yield f"{margin}{base}_kept = stablehlo.optimization_barrier {base}_sums : {partial}"
    if partial != rest:
        yield f"{margin}{base}_rest = stablehlo.reshape {base}_kept : ({partial}) -> {rest}"
    last = f"{base}_rest" if partial != rest else f"{base}_kept"
    yield (f"{margin}{name} = stablehlo.reduce({last} init: {first}) applies stablehlo.{step} "
           f"across dimensions = {across} : ({rest}, {scalar}) -> {result}")
