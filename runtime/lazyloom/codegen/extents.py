"""Programs and regions for many extents: which sizes vary, and between which bounds.

Such a program is computed at the largest extents (:mod:`lazyloom.program.padding`): arrays have
these, and the elements beyond the extents of a run are anything, in operands and in results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..program.sizes import is_static, named, size_at

#: the size of each axis, as texts
Sizes = tuple[str, ...]


class Extents(NamedTuple):
    """What varies in a program or region.

    Attributes:
        lowest, largest: the bounds of each symbol e0, e1, ..., both included; arrays have the
            largest.
        leaves: the sizes of each leaf; None where its valid elements are not the first ones.
        results: of each instruction, the sizes of each result, or None.
        attributes: the instructions whose attributes vary.
    """

    lowest: tuple[int, ...]
    largest: tuple[int, ...]
    leaves: tuple[Sizes | None, ...]
    results: tuple[tuple[Sizes | None, ...], ...]
    attributes: tuple[int, ...] = ()

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """The smallest and the largest value of each symbol, by its name."""
        return {f"e{k}": pair for k, pair in enumerate(
            zip(self.lowest, self.largest, strict=True))}

    @staticmethod
    def unpacked(data: Any) -> Extents:
        """Return one from its JSON. Raises ValueError, TypeError."""
        lowest, largest, leaves, results, attributes = data

        def sizes(each: Any) -> Sizes | None:
            return None if each is None else tuple(map(str, each))

        return Extents(
            tuple(map(int, lowest)), tuple(map(int, largest)), tuple(map(sizes, leaves)),
            tuple(tuple(map(sizes, each)) for each in results), tuple(map(int, attributes)))


def varies(sizes: Sizes | None) -> bool:
    """Return True if some size of an array varies, or is not known."""
    return sizes is None or not all(map(is_static, sizes))


def shape_at(sizes: Sizes, extents: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that an array has at the extents of a run."""
    values = named(extents)
    return tuple(size_at(size, values) for size in sizes)
