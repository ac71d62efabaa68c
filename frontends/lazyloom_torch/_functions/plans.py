"""Plans of views: what a view function found once, kept by its arguments."""

from __future__ import annotations

import functools
import typing
from typing import Any, Final

from lazyloom.frontend import (
    ViewPlans,
    ViewStep,
    element_starts,
    element_steps,
    element_view,
)

from .._core import Function, starred
from .._tensor import Tensor

_INT = frozenset({int})


class Plan:
    """The steps from a tensor to a view of it, and the view's type and strides."""

    __slots__ = ("steps", "type", "strides", "offset", "reordered")

    def __init__(self, x: Tensor, view: Tensor, steps: tuple[ViewStep, ...]) -> None:
        self.steps = steps
        self.type = view.tensor_type
        self.strides = view.element_strides
        self.offset = view.element_offset - x.element_offset
        self.reordered = view._reordered()

    def of(self, x: Tensor) -> Tensor:
        """The view of a tensor of the same type and strides."""
        return x._view(
            self.steps, self.type, self.strides, x.element_offset + self.offset, self.reordered)


_plans: Final = ViewPlans(Plan)
_find: Final = _plans.plans.get
#: (key, tensor, view): keeps how the view, or a tuple of views, came to be
keep: Final = _plans.keep


def known(key: Any, x: Tensor) -> Any:
    """The view, or the tuple of them, that was kept under that key; None if none was."""
    plan = _find(key)
    if plan is None:
        return None
    if type(plan) is tuple:
        return tuple([p.of(x) for p in plan])
    return x._view(
        plan.steps, plan.type, plan.strides, x.element_offset + plan.offset, plan.reordered)


def element(x: Tensor, index: Any) -> Tensor | None:
    """The view of one element that an index of ints names; None for any other index."""
    if not x.slow_path and not x.detached and x._of_several is None:
        found: Tensor | None = element_view(Tensor, x, index)
        if found is not None:
            return found
    t = x.tensor_type
    starts = element_starts(index, t.shape)
    if starts is None:
        return None
    offset = x.element_offset
    for start, stride in zip(starts, x.stride(), strict=True):
        offset += start * stride
    return x._view(
        element_steps(starts), t.like((), t.dtype), (), offset, False)


def _ints(args: Any) -> bool:
    return {*map(type, args)} <= _INT


def planned(function: Function) -> Function:
    """A view function that keeps what it found for arguments that are all ints."""

    sequence = starred(function)

    @functools.wraps(function)
    def wrapper(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if sequence in kwargs:
            args = (*args, kwargs.pop(sequence))
        if kwargs or not isinstance(input, Tensor):
            return function(input, *args, **kwargs)
        given: Any = args
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            given = ("sequence", *args[0])
            if not _ints(args[0]):
                return function(input, *args)
        elif not _ints(args):
            return function(input, *args)
        key = (function, input.tensor_type, input.element_strides, given)
        found = known(key, input)
        if found is None:
            found = function(input, *args)
            keep(key, input, found)
        return found

    return typing.cast(Function, wrapper)
