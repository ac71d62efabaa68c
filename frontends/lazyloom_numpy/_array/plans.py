"""Views made again: what an index or a new shape meant once, kept by its arguments.

Which steps, strides and type a view has depends on nothing but the type and strides of what it
is taken from and on the arguments, so a loop that takes the same views works that out once.
"""

from __future__ import annotations

from typing import Any

from lazyloom.frontend import ViewStep, steps_between, view_of_type

from .layout import ViewInfo, base_of, view_info

#: (what is done, type, strides, arguments) -> the view's plan
_plans: dict[Any, Plan] = {}
#: positions of a long loop are not kept for ever
_MOST = 8192


class Plan:
    """The steps from an array to a view of it, the view's type, strides and rights."""

    __slots__ = ("steps", "type", "strides", "writeable", "special", "scalar")

    def __init__(
        self, steps: tuple[ViewStep, ...], view: Any, writeable: bool, scalar: bool
    ) -> None:
        self.steps = steps
        self.type = view.tensor_type
        self.strides = view._info.strides
        self.writeable = writeable
        self.special = view.slow_path
        #: an index of one element, which is read as a scalar
        self.scalar = scalar


def key_of(x: Any, what: str, arguments: Any) -> Any:
    """What the plan of a view of ``x`` is kept under."""
    info = view_info(x)
    return (what, x.tensor_type, None if info is None else info.strides, arguments)


def known(key: Any) -> Plan | None:
    """The plan kept under a key, if there is one."""
    return _plans.get(key)


def keep(key: Any, x: Any, view: Any, scalar: bool = False) -> None:
    """Keep how ``view`` came to be a view of ``x``."""
    steps = steps_between(x, view)
    if steps is None:
        return
    info = view_info(x)
    if info is not None and not info.writeable:
        return  # whether the step itself may be written through cannot be told
    if len(_plans) >= _MOST:
        _plans.clear()
    _plans[key] = Plan(steps, view, view._info.writeable, scalar)


def view_of(x: Any, plan: Plan) -> Any:
    """The view of an array of the type and strides that the plan was made for."""
    view = view_of_type(type(x), x, plan.steps, plan.type)
    info = getattr(x, "_info", None)
    base, writeable = x, plan.writeable
    if info is not None:
        writeable = writeable and info.writeable
        if info.base is not None:
            base = base_of(x)
    view._info = ViewInfo(plan.strides, base, writeable)
    view.slow_path = plan.special
    return view
