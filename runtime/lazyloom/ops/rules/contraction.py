"""Rules of products that contract axes: matmul, dot_general, einsum and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...dtypes import DType
from ...errors import ArgumentError, DTypeError, ShapeError
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef


def broadcast_pair(op: OpDef, x: Shape, y: Shape, axes: str) -> Shape:
    """Two shapes broadcast by NumPy's rules. Raises ShapeError, naming ``axes``."""
    ndim = max(len(x), len(y))
    result = []
    for a, b in zip((1,) * (ndim - len(x)) + x, (1,) * (ndim - len(y)) + y, strict=True):
        if a != b and a != 1 and b != 1:
            raise ShapeError(
                f"{op.name}: {axes} {x} of operand {op.operand_name(0)!r} and {y} of operand "
                f"{op.operand_name(1)!r} do not broadcast, expected equal sizes or 1", op=op.name)
        result.append(b if a == 1 else a)
    return tuple(result)


def matmul(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, k) by (..., k, n) is (..., m, n); a vector stands for one row or column."""
    x, y = operand(types, 0), operand(types, 1)
    for i, t in ((0, x), (1, y)):
        if t.ndim == 0:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape (), expected 1 axis or more; "
                "use multiply for a number", op=op.name)
    inner = y.shape[0] if y.ndim == 1 else y.shape[-2]
    if x.shape[-1] != inner:
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} has {x.shape[-1]} columns and operand 'y' "
            f"of shape {y.shape} has {inner} rows, expected the same number; transpose or reshape "
            "one of them", op=op.name)
    batch = broadcast_pair(op, x.shape[:-2], y.shape[:-2], "leading axes")
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    return one((*batch, *rows, *columns), x.dtype)


def check_accumulate(op: OpDef, dtype: DType, wanted: DType | None) -> DType:
    """The dtype in which products are summed and returned."""
    if wanted is None or wanted is dtype:
        return dtype
    if wanted.kind != dtype.kind or wanted.itemsize < dtype.itemsize:
        raise DTypeError(
            f"{op.name}: attribute 'accumulate' is {wanted.name} for operands of dtype "
            f"{dtype.name}, expected a type of the same kind that is as wide or wider", op=op.name)
    return wanted


def dot_general(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Batch axes, then the other axes of the first, then those of the second operand."""
    x, y = operand(types, 0), operand(types, 1)
    contract = (normalize_axes(op, "lhs_contract", attrs["lhs_contract"], x.ndim),
                normalize_axes(op, "rhs_contract", attrs["rhs_contract"], y.ndim))
    batch = (normalize_axes(op, "lhs_batch", attrs["lhs_batch"], x.ndim),
             normalize_axes(op, "rhs_batch", attrs["rhs_batch"], y.ndim))
    for role, (left, right) in (("contract", contract), ("batch", batch)):
        if len(left) != len(right):
            raise ArgumentError(
                f"{op.name}: attributes 'lhs_{role}' {left} and 'rhs_{role}' {right} differ in "
                "length, expected pairs of axes", op=op.name)
        for a, b in zip(left, right, strict=True):
            if x.shape[a] != y.shape[b]:
                raise ShapeError(
                    f"{op.name}: axis {a} of operand 'x' of shape {x.shape} and axis {b} of "
                    f"operand 'y' of shape {y.shape} ({role}) have the sizes {x.shape[a]} and "
                    f"{y.shape[b]}, expected equal sizes", op=op.name)
    for side, used in (("lhs", contract[0] + batch[0]), ("rhs", contract[1] + batch[1])):
        if len(set(used)) != len(used):
            raise ArgumentError(
                f"{op.name}: attributes '{side}_contract' and '{side}_batch' name an axis twice, "
                "expected distinct axes", op=op.name)
    dtype = check_accumulate(op, x.dtype, attrs["accumulate"])
    left = tuple([d for i, d in enumerate(x.shape) if i not in contract[0] + batch[0]])
    right = tuple([d for i, d in enumerate(y.shape) if i not in contract[1] + batch[1]])
    return one((*[x.shape[a] for a in batch[0]], *left, *right), dtype)


def parse_einsum(equation: str, ranks: Sequence[int]) -> tuple[list[str], str] | str:
    """Labels of each operand and of the result, an ellipsis as ``.`` for each axis.

    Returns the error, in words, for an equation that does not fit the ranks.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        return f"{len(terms)} terms for {len(ranks)} operands"
    widest = 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        letters = term.replace("...", "", 1)
        if letters and not (letters.isascii() and letters.isalpha()):
            return f"the term {term!r}, expected letters and at most one '...'"
        if len(letters) > rank or ("..." not in term and len(letters) != rank):
            return f"{len(letters)} letters in {term!r} for operand xs[{i}] with {rank} axes"
        if "..." in term:
            widest = max(widest, rank - len(letters))
    dots = "".join(chr(0x2460 + i) for i in range(widest))
    labels = []
    for term, rank in zip(terms, ranks, strict=True):
        count = rank - len(term.replace("...", "", 1))
        labels.append(term.replace("...", dots[widest - count:]))
    if not arrow:
        joined = "".join(terms)
        once = sorted(c for c in set(joined) if c.isalpha() and joined.count(c) == 1)
        return labels, dots + "".join(once)
    result = right.replace("...", dots, 1)
    for c in result:
        if not any(c in t for t in labels):
            return f"the result's letter {c!r}, which no operand has"
    if len(set(result)) != len(result):
        return f"a letter twice in the result {right!r}"
    return labels, result


def einsum(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The sizes of the result's letters in attribute ``equation``."""
    if not types:
        raise ArgumentError(f"{op.name}: no operands were given, expected 1 or more", op=op.name)
    shapes = [operand(types, i).shape for i in range(len(types))]
    parsed = parse_einsum(attrs["equation"], [len(s) for s in shapes])
    if isinstance(parsed, str):
        raise ArgumentError(
            f"{op.name}: attribute 'equation' {attrs['equation']!r} has {parsed}", op=op.name)
    labels, result = parsed
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(labels, shapes, strict=True)):
        for c, d in zip(term, shape, strict=True):
            size = sizes.setdefault(c, d)
            if size == 1:
                sizes[c] = d
            elif d != size and d != 1:
                where = f"letter {c!r}" if c.isalpha() else "an axis of '...'"
                raise ShapeError(
                    f"{op.name}: {where} of attribute 'equation' {attrs['equation']!r} has size "
                    f"{size} before and {d} in operand {op.operand_name(i)!r} of shape {shape}, "
                    "expected one size, or 1", op=op.name)
    return one(tuple([sizes[c] for c in result]), operand(types, 0).dtype)


def _same_size(op: OpDef, types: Operands, axis: int, size: int | None) -> Shape:
    """Broadcast operands without an axis, which has one size in both."""
    x, y = operand(types, 0), operand(types, 1)
    for i, t in ((0, x), (1, y)):
        a = normalize_axis(op, "axis", axis, t.ndim)
        wanted = x.shape[axis] if size is None else size
        if t.shape[a] != wanted:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} of shape {t.shape} has size "
                f"{t.shape[a]} in axis {axis}, expected {wanted}", op=op.name)
    return broadcast_shapes(op, types)


def cross(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast, with 3 elements along attribute ``axis``."""
    return one(_same_size(op, types, attrs["axis"], 3), operand(types, 0).dtype)


def vecdot(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast, without attribute ``axis``, which counts from the last axis."""
    axis: int = attrs["axis"]
    if axis >= 0:
        raise ArgumentError(
            f"{op.name}: attribute 'axis' is {axis}, expected a negative one: operands are aligned "
            "at the last axis", op=op.name)
    shape = _same_size(op, types, axis, None)
    at = axis % len(shape)
    return one((*shape[:at], *shape[at + 1:]), operand(types, 0).dtype)


def outer(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """All axes of the first, then all of the second operand."""
    x, y = operand(types, 0), operand(types, 1)
    return one((*x.shape, *y.shape), x.dtype)


def kron(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The sizes multiplied, aligned at the last axis."""
    x, y = operand(types, 0), operand(types, 1)
    ndim = max(x.ndim, y.ndim)
    pairs = zip((1,) * (ndim - x.ndim) + x.shape, (1,) * (ndim - y.ndim) + y.shape, strict=True)
    return one(tuple([a * b for a, b in pairs]), x.dtype)
