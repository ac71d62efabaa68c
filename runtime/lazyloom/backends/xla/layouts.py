"""Layouts: the order of an array's axes in memory.

Axis ``k`` of the physical array is axis ``layout[k]`` of the logical one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Layout = tuple[int, ...]


def identity(ndim: int) -> Layout:
    """Return the layout of an array whose axes are in logical order."""
    return tuple(range(ndim))


def channels_last(ndim: int) -> Layout:
    """Return the layout (samples, positions, channels) of an array (samples, channels, positions).
    """
    return (0, *range(2, ndim), 1)


def same_memory(shape: Sequence[int], a: Layout, b: Layout) -> bool:
    """Return True if two layouts of an array of a logical shape have the same element order."""
    return [d for d in a if shape[d] != 1] == [d for d in b if shape[d] != 1]


def normalized(shape: Sequence[int], layout: Layout) -> Layout:
    """Return the layout, or the logical one where that has the same memory."""
    plain = identity(len(shape))
    return plain if same_memory(shape, layout, plain) else layout


class InLayout(NamedTuple):
    """A traced array in a layout; ``operand`` is the number of the op's operand that it is, or -1.
    """

    data: Any
    layout: Layout
    operand: int = -1

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        sizes = dict(zip(self.layout, self.data.shape, strict=True))
        return tuple(sizes[d] for d in range(len(sizes)))


class LateBroadcast(NamedTuple):
    """A broadcast that is done in the layout in which it is needed; axis i of base is dims[i]."""

    base: InLayout
    dims: tuple[int, ...]
    shape: tuple[int, ...]


def relayout(shape: Sequence[int], element: str, now: Layout, then: Layout) -> str:
    """Return the StableHLO that brings ``{0}`` from one layout to another, without a result name.
    """
    source = f"tensor<{''.join(f'{shape[d]}x' for d in now)}{element}>"
    target = f"tensor<{''.join(f'{shape[d]}x' for d in then)}{element}>"
    if same_memory(shape, now, then):
        return f"stablehlo.reshape {{0}} : ({source}) -> {target}"
    dims = ", ".join(str(now.index(d)) for d in then)
    return f"stablehlo.transpose {{0}}, dims = [{dims}] : ({source}) -> {target}"
