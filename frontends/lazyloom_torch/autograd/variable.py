"""``Variable``, the old name of a tensor that takes part in gradients."""

from __future__ import annotations

from typing import Any

from .._errors import described
from .._tensor import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """Every tensor is one; ``Variable(t, requires_grad)`` is ``t`` without its history."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {described(data)}")
        found = data.detach()
        return found.requires_grad_() if requires_grad else found
