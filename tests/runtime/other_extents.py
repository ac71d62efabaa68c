"""Samples of ops at other extents."""

from __future__ import annotations

from collections.abc import Iterator

from lazyloom.errors import LoomError
from lazyloom.program.extents import arranged
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType, tensor_type


def variants(numbers: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Lists of other numbers: the first has one form with these, which the others follow too."""
    extents = sorted({n for n in numbers if n >= 2})
    for d in extents[:3]:
        yield [tuple(m if n == d else n for n in numbers)
               for m in (d + 1, d + 4, 2, *extents)]
    if len(extents) > 1:
        yield [tuple(n * 2 + more if n >= 2 else n for n in numbers) for more in (1, 4)]
        yield [tuple(n * more if n >= 2 else n for n in numbers) for more in (2, 3)]


def at(
    spec: Spec, types: tuple[TensorType | None, ...], numbers: tuple[int, ...]
) -> tuple[Spec, tuple[TensorType | None, ...]] | None:
    """The op at other numbers; None if it takes no such types or attributes."""
    shapes, attrs = arranged(spec, types, numbers)
    rest = iter(shapes)
    other = tuple(None if t is None else tensor_type(next(rest)[0], t.dtype) for t in types)
    try:
        moved = spec_of(spec.op, attrs, len(types))
        moved.infer(other)
    except LoomError:
        return None
    return moved, other
