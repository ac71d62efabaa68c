"""Long sums and maxima, begun in small blocks of rows.

XLA makes windows of a reduction of more than 32 elements, with which nothing fuses: what makes the
elements is written to memory and read again. Its loop for windows goes from number to number, and
where the numbers of a window do not lie side by side, from one cache line to the next. Adding a few
rows to each other as vectors is one pass over the operand, which fuses with what makes it. What is
left, a small part, is reduced in windows as before.

This is for versions of jaxlib whose YNNPACK may run no fusions (:mod:`.compiler_defects`): with
others it runs reductions, as quickly, but for maxima that :mod:`.extrema` made of integers.

A sum's error becomes less: a block's terms are few. Where windows would leave many terms to be
added one by one, as over axes of up to 32 elements (71,400 equal numbers of shape (20, 30, 119)
were 2,900 units off), axes that lie together are made one.
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
#: extents of reduced axes up to which XLA makes no windows. What is left of a block is more, or
#: its loop would be within that of what is left
WINDOW: Final = 32
#: the rows of a block, at least and at most: where a row is a part of what is reduced, and where it
#: is what is kept
_ROWS: Final = (4, 16)
_KEPT_ROWS: Final = (2, 8)
#: elements of such a part
_PART: Final = {"f32": 16, "f64": 8, "i32": 16, "i64": 8}
#: elements that lie side by side where they are kept, at least
_SIDE_BY_SIDE: Final = 4
#: results at least: those of fewer have no loop that threads share
_RESULTS: Final = 8
#: terms that are added one by one, at most, where axes stay apart
_ONE_BY_ONE: Final = 512
#: elements of an operand from which on it is worth a second loop
LEAST: Final = 1 << 16


def in_blocks(text: str) -> str:
    """The StableHLO module with such reductions of floating-point numbers in two."""
    return rewritten(text, "reduce(", lambda line: _written(_FLOATS.match(line)))


def extrema_in_blocks(text: str) -> str:
    """The StableHLO module with such maxima and minima of integers in two."""
    return rewritten(text, "reduce(", lambda line: _written(_INTEGERS.match(line)))


def _block(rows: int, bounds: tuple[int, int], beside: int) -> int:
    """The most rows of a block that all rows can be cut into; 0 where none are worth it.

    Of each block, ``beside`` elements are left to be reduced.
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
    # the last axes that are reduced and lie together
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
        left = [*extents[:begin], count, *inner, *extents[end + 1 :]]
        merged = [*extents[:begin], math.prod([count, *inner]), *extents[end + 1 :]]
        blocks, partial, rest = (with_extents(type_, e) for e in (cut, left, merged))
        return _two(margin, name, x, first, step, [*outer, begin], begin + 1,
                    (type_, blocks, partial, rest, scalar, result))
    if step == "add" and begin < end and _one_by_one([extents[a] for a in across]) > _ONE_BY_ONE:
        rest = with_extents(type_, [*extents[:begin], run, *extents[end + 1 :]])
        own = f"%run{name[1:]}"
        return iter((
            f"{margin}{own}_axis = stablehlo.reshape {x} : ({type_}) -> {rest}",
            # XLA would reduce the axes that it was made of
            f"{margin}{own} = stablehlo.optimization_barrier {own}_axis : {rest}",
            f"{margin}{name} = stablehlo.reduce({own} init: {first}) applies stablehlo.{step} "
            f"across dimensions = {[*outer, begin]} : ({rest}, {scalar}) -> {result}"))
    return None


def _one_by_one(extents: list[int]) -> int:
    """How many terms are added one after the other, in a window or of what windows leave."""
    return max(math.prod([min(n, WINDOW) for n in extents]),
               math.prod([-(-n // WINDOW) for n in extents]))


def _two(
    margin: str, name: str, x: str, first: str, step: str, across: list[int], axis: int,
    types: tuple[str, ...],
) -> Iterator[str]:
    """Blocks, of which an axis is reduced, then what is left."""
    whole, blocks, partial, rest, scalar, result = types
    own = f"%blocks{name[1:]}"
    zero = first
    yield f"{margin}{own} = stablehlo.reshape {x} : ({whole}) -> {blocks}"
    if step == "add":
        zero = f"{own}_zero"  # which changes nothing, whatever its sign
        yield f"{margin}{zero} = stablehlo.constant dense<-0.0> : {scalar}"
    yield (f"{margin}{own}_sums = stablehlo.reduce({own} init: {zero}) applies stablehlo.{step} "
           f"across dimensions = [{axis}] : ({blocks}, {scalar}) -> {partial}")
    # XLA would make one reduction of two
    yield f"{margin}{own}_kept = stablehlo.optimization_barrier {own}_sums : {partial}"
    if partial != rest:
        yield f"{margin}{own}_rest = stablehlo.reshape {own}_kept : ({partial}) -> {rest}"
    last = f"{own}_rest" if partial != rest else f"{own}_kept"
    yield (f"{margin}{name} = stablehlo.reduce({last} init: {first}) applies stablehlo.{step} "
           f"across dimensions = {across} : ({rest}, {scalar}) -> {result}")
