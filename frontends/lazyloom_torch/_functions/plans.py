"""Views made again: what a view function found once, kept by its arguments.

Which steps, strides and type a view has depends on nothing but the type and strides of what it
is taken from and on the arguments, so a loop that takes the same views works that out once.
"""

from __future__ import annotations

import functools
import typing
from typing import Any

from lazyloom.frontend import ViewStep, steps_between

from .._core import Function, starred
from .._tensor import Tensor

#: (function, type, strides, arguments) -> the plan of the view, or a tuple of plans
_plans: dict[Any, Any] = {}
#: positions of a long loop are not kept for ever
_MOST = 8192
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


def _plan(x: Tensor, made: Any) -> Plan | None:
    steps = steps_between(x, made) if isinstance(made, Tensor) else None
    return None if steps is None else Plan(x, made, steps)


def keep(key: Any, x: Tensor, made: Any) -> None:
    """Keep how ``made``, a view of x or a tuple of views, came to be; other results are not."""
    if type(made) is tuple:
        plan: Any = tuple(_plan(x, m) for m in made)
        if None in plan:
            return
    else:
        plan = _plan(x, made)
        if plan is None:
            return
    if len(_plans) >= _MOST:
        _plans.clear()
    _plans[key] = plan


def known(key: Any, x: Tensor) -> Any:
    """The view, or the tuple of them, that was kept under that key; None if none was."""
    plan = _plans.get(key)
    if plan is None:
        return None
    if type(plan) is tuple:
        return tuple([p.of(x) for p in plan])
    return x._view(
        plan.steps, plan.type, plan.strides, x.element_offset + plan.offset, plan.reordered)


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
