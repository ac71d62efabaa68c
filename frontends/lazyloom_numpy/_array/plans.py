"""Plans of views: how an index, a new shape or an order of axes leads from an array to a view."""

from __future__ import annotations

from typing import Any, Final

from lazyloom.frontend import ViewPlans, ViewStep, view_of_type

from .layout import ViewInfo, base_of, view_info


class Plan:
    """The steps from an array to a view of it, the view's type, strides and rights."""

    __slots__ = ("steps", "type", "strides", "writeable", "special", "scalar")

    def __init__(self, view: Any, steps: tuple[ViewStep, ...]) -> None:
        self.steps = steps
        self.type = view.tensor_type
        self.strides = view._info.strides
        self.writeable = view._info.writeable
        self.special = view.slow_path
        #: an index of one element, which is read as a scalar
        self.scalar = False


def _plan(x: Any, view: Any, steps: tuple[ViewStep, ...]) -> Plan | None:
    info = view_info(x)
    if info is not None and not info.writeable:
        return None  # whether the step itself may be written through cannot be told
    return Plan(view, steps)


_plans: Final = ViewPlans(_plan)
#: (key, array, view): keeps how the view came to be, and gives the plan or None
keep: Final = _plans.keep
#: (key): the plan kept under it, or None
known: Final = _plans.plans.get


def key_of(x: Any, what: str, arguments: Any) -> Any:
    """What the plan of a view of ``x`` is kept under."""
    info = view_info(x)
    return (what, x.tensor_type, None if info is None else info.strides, arguments)


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
