"""Results of the class that a frontend uses for them."""

from __future__ import annotations

from typing import Any

from ..trace.graph import Value
from .contents import hold
from .operators import operators_of
from .tensor import Tensor


def wrap_as(tensor: Tensor, value: Value) -> Any:
    """A tensor with these contents, of the class that the frontend of ``tensor`` uses.

    The class is the frontend's (:class:`~lazyloom.tensor.operators.Operators`) for results with
    dimensions or without; if there is no frontend, that of ``tensor``.
    """
    return wrap_in(type(tensor), value)


def wrap_in(cls: Any, value: Value) -> Any:
    """A tensor with these contents, of the class that the frontend of a class of tensors uses."""
    rules = operators_of(cls)
    if rules is not None:
        cls = rules.result if value.type.shape else rules.result_0d
    wrapped: Tensor = cls.__new__(cls)
    hold(wrapped, value)
    return wrapped
