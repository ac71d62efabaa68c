"""Products of few elements over a long axis, summed in blocks, and those of one term.

XLA runs a product of two matrices by one of several loops. Those for a vector or for a result
of at most three rows and columns add all terms to one accumulator: with 65,537 of them the sum was
174 units off, with 400,000 of them 800. So the long axis is cut into blocks, which form a batch,
and the results of the blocks are added by a reduction, which sums in parts.

A product that sums one term is written as a multiplication: XLA turns it into one later, and
nothing would then stop it from combining exponentials in it (:mod:`.kept_values`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from .stablehlo_text import (
    Statement,
    extents_of,
    fractional,
    rewritten,
    statement_of,
    with_extents,
)

#: the number of terms from which on a product is summed in blocks
LONG: Final = 1024
#: about how many terms a block has, for a result of few rows and columns and for one with a vector:
#: 1,024 equal ones are 200 units off, 256 are 46 and 128 are 37
BLOCK: Final = 128
BLOCK_OF_VECTOR: Final = 256
#: the most rows and columns of a result whose product goes into one accumulator
FEW: Final = 3
_ZERO: Final = {"f32": "0.0", "f64": "0.0", "complex<f32>": "(0.0, 0.0)",
                "complex<f64>": "(0.0, 0.0)"}  # fmt: skip


def in_blocks(text: str) -> str:
    """Return the functions of an op with such products in blocks."""
    return rewritten(text, "dot_general", _written)


class _Product:
    """The axes that a ``dot_general`` contracts, and the size of its result.

    Attributes:
        types: the types of the operands and the result.
        batch, contracted: axes of the left operand and of the right one.
        rows, columns: those of the result, in each batch.
    """

    def __init__(self, statement: Statement) -> None:
        self.types: Final = statement.types
        self.extents: Final = [extents_of(t) for t in self.types]
        self.batch: Final = statement.numbers("batching_dims") or [[], []]
        self.contracted: Final = statement.numbers("contracting_dims") or [[], []]
        self.rows, self.columns = (
            math.prod([n for axis, n in enumerate(self.extents[side])
                       if axis not in self.batch[side] and axis not in self.contracted[side]])
            for side in (0, 1))

    def terms(self) -> int:
        return math.prod([self.extents[0][axis] for axis in self.contracted[0]])

    def longest(self) -> int:
        """Return the position of the longest pair of contracted axes."""
        lengths = [self.extents[0][axis] for axis in self.contracted[0]]
        return lengths.index(max(lengths))

    def goes_into_one(self) -> bool:
        """Return True if XLA adds all terms to one accumulator.

        It uses several for a matrix and a vector if the terms are adjacent in the matrix.
        """
        if self.rows == 1 or self.columns == 1:
            matrix = 0 if self.columns == 1 else 1
            minor = len(self.extents[matrix]) - 1
            return (max(self.rows, self.columns) > 1
                    and self.contracted[matrix][self.longest()] != minor)
        return max(self.rows, self.columns) <= FEW


def _written(line: str) -> Iterator[str] | None:
    statement = statement_of(line)
    if statement is None or len(statement.types) != 3 or len(statement.operands) != 2:
        return None
    p = _Product(statement)
    element = fractional(p.types[2])
    if element and p.contracted[0] and p.terms() == 1:
        return _of_one_term(statement, p)
    if (element not in _ZERO or any(fractional(t) != element for t in p.types)
            or 0 in p.extents[2] or not p.contracted[0] or p.terms() < LONG
            or not p.goes_into_one()):
        return None
    return _blocks(statement, p, element)


def _of_one_term(statement: Statement, p: _Product) -> Iterator[str] | None:
    """Write a product of one term per element as one multiplication."""
    lines, names = [], []
    before = len(p.batch[0])
    for side, letter in ((0, "x"), (1, "y")):
        kept = [axis for axis in range(len(p.extents[side])) if axis not in p.contracted[side]]
        free = [axis for axis in kept if axis not in p.batch[side]]
        first = before if side == 0 else len(p.extents[2]) - len(free)
        places = [p.batch[side].index(axis) if axis in p.batch[side]
                  else first + free.index(axis) for axis in kept]
        if places != sorted(places) or fractional(p.types[side]) != fractional(p.types[2]):
            return None
        name = f"%one{statement.names[0][1:]}_{letter}"
        short = with_extents(p.types[side], [p.extents[side][axis] for axis in kept])
        lines += [f"    {name}r = stablehlo.reshape {statement.operands[side]} : "
                  f"({p.types[side]}) -> {short}",
                  f"    {name} = stablehlo.broadcast_in_dim {name}r, dims = {places} : "
                  f"({short}) -> {p.types[2]}"]
        names.append(name)
    lines.append(
        f"    {statement.names[0]} = stablehlo.multiply {names[0]}, {names[1]} : {p.types[2]}")
    return iter(lines)


def _extent_of_blocks(extent: int, about: int) -> int:
    """Return a block extent that divides the extent, if any is near ``about``."""
    for k in range(about, about // 4, -1):
        if extent % k == 0:
            return k
    for k in range(about + 1, 2 * about):
        if extent % k == 0:
            return k
    return about


def _blocks(statement: Statement, p: _Product, element: str) -> Iterator[str]:
    name = statement.names[0]
    place = p.longest()
    axes = [p.contracted[side][place] for side in (0, 1)]
    extent = p.extents[0][axes[0]]
    block = BLOCK_OF_VECTOR if p.rows == 1 or p.columns == 1 else BLOCK
    each = _extent_of_blocks(extent, max(1, block * extent // p.terms()))
    count = extent // each
    new = f"%blocks{name[1:]}"
    attributes = statement.text.rpartition(" : ")[0].partition("contracting_dims")[2]
    attributes = attributes[attributes.index("]", attributes.index(" x ")) + 1 :]
    operands, types = [], []
    for side, letter in ((0, "x"), (1, "y")):
        x, type_, axis = statement.operands[side], p.types[side], axes[side]
        if count * each < extent:
            x, type_ = f"{new}_{letter}", _cut(p, side, axis, 0, count * each)[1]
            yield _slice(x, statement.operands[side], p, side, axis, 0, count * each)
        extents = extents_of(type_)
        type_in_blocks = with_extents(type_, [*extents[:axis], count, each, *extents[axis + 1 :]])
        yield f"    {new}_{letter}b = stablehlo.reshape {x} : ({type_}) -> {type_in_blocks}"
        operands.append(f"{new}_{letter}b")
        types.append(type_in_blocks)
    batch = [[axes[s], *[a + (a > axes[s]) for a in p.batch[s]]] for s in (0, 1)]
    contracted = [[a + (a >= axes[s]) for a in p.contracted[s]] for s in (0, 1)]
    result = with_extents(p.types[2], [count, *p.extents[2]])
    yield (f"    {new}_p = stablehlo.dot_general {', '.join(operands)}, batching_dims = {batch[0]} "
           f"x {batch[1]}, contracting_dims = {contracted[0]} x {contracted[1]}{attributes} : "
           f"({', '.join(types)}) -> {result}")
    zero = f"tensor<{element}>"
    yield f"    {new}_z = stablehlo.constant dense<{_ZERO[element]}> : {zero}"
    rest = count * each < extent
    total = f"{new}_s" if rest else name
    yield (f"    {total} = stablehlo.reduce({new}_p init: {new}_z) applies stablehlo.add across "
           f"dimensions = [0] : ({result}, {zero}) -> {p.types[2]}")
    if rest:
        types_of_rest = []
        for side, letter in ((0, "x"), (1, "y")):
            types_of_rest.append(_cut(p, side, axes[side], count * each, extent)[1])
            yield _slice(f"{new}_{letter}r", statement.operands[side], p, side, axes[side],
                         count * each, extent)
        text = statement.text.rpartition(" : ")[0].replace(
            ", ".join(statement.operands), f"{new}_xr, {new}_yr", 1)
        yield (f"    {new}_r = stablehlo.dot_general{text} : ({', '.join(types_of_rest)}) -> "
               f"{p.types[2]}")
        yield f"    {name} = stablehlo.add {total}, {new}_r : {p.types[2]}"


def _cut(p: _Product, side: int, axis: int, first: int, last: int) -> tuple[str, str]:
    """Return the positions of a slice of an operand, and its type."""
    extents = p.extents[side]
    positions = ", ".join([f"{first}:{last}" if a == axis else f"0:{n}"
                           for a, n in enumerate(extents)])
    return positions, with_extents(
        p.types[side], [last - first if a == axis else n for a, n in enumerate(extents)])


def _slice(
    name: str, x: str, p: _Product, side: int, axis: int, first: int, last: int
) -> str:
    positions, cut = _cut(p, side, axis, first, last)
    return f"    {name} = stablehlo.slice {x} [{positions}] : ({p.types[side]}) -> {cut}"
