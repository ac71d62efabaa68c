"""The strides that PyTorch gives tensors, in elements.

They decide what is a view (:func:`lazyloom_torch._functions.views.view_strides`) and nothing else:
how a compiler lays out data is its own affair. None stands for row-major strides.

A function of each element keeps the order in which its operands lie in memory (what
``torch.preserve_format`` says of copies): its result is dense, and its dimensions
follow each other as theirs do. Where operands differ the first one that tells two dimensions apart
decides.
"""

from __future__ import annotations

import functools

Ints = tuple[int, ...]

#: how many shapes and strides are kept with what was found for them
_MOST = 8192


def row_major(shape: Ints) -> Ints:
    """Strides in elements of a contiguous tensor of that shape."""
    strides = []
    step = 1
    for d in reversed(shape):
        strides.append(step)
        step *= max(d, 1)
    return tuple(reversed(strides))


def same_layout(shape: Ints, a: Ints, b: Ints) -> bool:
    """Whether two strides address the same elements for that shape."""
    return 0 in shape or all(
        x == y for d, x, y in zip(shape, a, b, strict=True) if d != 1)


def is_contiguous(shape: Ints, strides: Ints | None) -> bool:
    """Whether elements follow each other in memory as in row-major order."""
    return strides is None or same_layout(shape, strides, row_major(shape))


def memory_order(shape: Ints, strides: Ints) -> Ints | None:
    """The dimensions from the outermost in memory to the innermost.

    None where elements overlap or leave gaps.
    """
    order = sorted((d for d in range(len(shape)) if shape[d] > 1), key=lambda d: -strides[d])
    step = 1
    for d in reversed(order):
        if strides[d] != step:
            return None
        step *= shape[d]
    return (*(d for d in range(len(shape)) if shape[d] <= 1), *order)


def _dense(shape: Ints, order: Ints) -> Ints:
    """The strides of a dense tensor whose dimensions lie in that order, the outermost first."""
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def _inside(shape: Ints, operands: list[Ints], a: int, b: int) -> int:
    """1 where dimension ``a`` lies inside ``b`` in memory, -1 for the other way, 0 for unknown."""
    for strides in operands:
        here, there = strides[a], strides[b]
        if here and there:
            if here != there:
                return 1 if here < there else -1
            if shape[a] < shape[b]:
                return 1
    return 0


def _order(shape: Ints, operands: list[Ints]) -> Ints:
    """The dimensions in the order in which operands of that shape have them in memory.

    Operands may be silent about two dimensions (one is repeated), so that the order found depends
    on how it is sought: each dimension, the last first, changes places with those further inside
    that are known to lie outside of it, until one is known to lie inside.
    """
    found = list(reversed(range(len(shape))))  # the innermost first
    for at in range(1, len(found)):
        for i in reversed(range(at)):
            known = _inside(shape, operands, found[at], found[i])
            if known > 0:
                found[i], found[at] = found[at], found[i]
                at = i
            elif known < 0:
                break
    return tuple(reversed(found))


def _spread(shape: Ints, own: Ints, strides: Ints | None) -> Ints:
    """The strides of an operand broadcast to a shape."""
    steps = row_major(own) if strides is None else strides
    lead = len(shape) - len(own)
    return (0,) * lead + tuple(
        0 if d == 1 and shape[lead + i] != 1 else steps[i] for i, d in enumerate(own))


@functools.lru_cache(_MOST)
def of_elements(shape: Ints, operands: tuple[tuple[Ints, Ints | None], ...]) -> Ints | None:
    """The strides of the result of a function of each element.

    Args:
        shape: of the result.
        operands: shape and strides of each operand, which broadcast to that shape.
    """
    first = operands[0][1]
    if all(own == shape for own, _ in operands):
        if all(is_contiguous(own, strides) for own, strides in operands):
            return None
        if len(shape) == 4:
            # dimensions of size 1 are as in batches of images whose channels lie innermost
            images = _dense(shape, (0, 2, 3, 1))
            if all(strides is not None and same_layout(shape, strides, images)
                   for _, strides in operands):
                return images
        if first is not None and all(strides == first for _, strides in operands) and (
            memory_order(shape, first) is not None
        ):
            return first
    order = _order(shape, [_spread(shape, own, strides) for own, strides in operands])
    found = _dense(shape, order)
    return None if found == row_major(shape) else found


@functools.lru_cache(_MOST)
def of_copy(shape: Ints, strides: Ints) -> Ints | None:
    """The strides of a copy, or another tensor like one of those strides."""
    if memory_order(shape, strides) is not None:
        return None if strides == row_major(shape) else strides
    return of_elements(shape, ((shape, strides),))


@functools.lru_cache(_MOST)
def seen(shape: Ints, strides: Ints) -> tuple[Ints | None, bool]:
    """Strides as a tensor has them, and whether results of each element are not row-major."""
    return (None if strides == row_major(shape) else strides,
            of_elements(shape, ((shape, strides),)) is not None)
