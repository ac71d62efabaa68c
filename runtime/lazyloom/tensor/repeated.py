"""Writes through views in which several elements are one element of the storage."""

from __future__ import annotations

from ..trace.graph import Value
from .views import Diagonal, Permute, Reshape, Select, Slice, Strided, ViewStep, put_at

#: the steps that only choose elements and place them
BY_PLACE = (Slice, Permute, Reshape, Diagonal, Select, Strided)


def put_repeated(steps: tuple[ViewStep, ...], bases: list[Value], new: Value) -> Value:
    """``bases[0]`` with ``new`` written through steps, one of which repeats elements.

    The steps after that one are followed by position: elements that they leave out are not written.
    """
    last = len(steps) - 1
    while not steps[last].repeats:
        last -= 1
    rest = steps[last + 1:]
    repeating = steps[last]
    at = len(steps)
    if isinstance(repeating, Strided) and rest and all(isinstance(s, BY_PLACE) for s in rest):
        positions = repeating.positions()
        for step in rest:
            positions = step.forward(positions)
        new = put_at(bases[last], new, positions)
        at = last
    for i in range(at - 1, -1, -1):
        new = steps[i].put(bases[i], new)
    return new
