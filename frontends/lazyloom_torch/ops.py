"""``torch.ops.aten``: functions by the names of PyTorch's operators.

``torch.ops.aten.add.default`` and ``torch.ops.aten.add`` are the function ``torch.add``.
"""

from __future__ import annotations

from typing import Any

from ._functions import pooling

_OWN = {"max_pool2d_with_indices_backward": pooling.max_pool2d_with_indices_backward}


class _Operator:
    """A function that is also its own ``default`` overload."""

    def __init__(self, name: str, function: Any) -> None:
        self.__name__ = name
        self._function = function

    @property
    def default(self) -> _Operator:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<operator aten.{self.__name__}>"


class _Aten:
    """Operators by name; AttributeError for what the frontend does not have."""

    def __getattr__(self, name: str) -> _Operator:
        import lazyloom_torch
        from lazyloom_torch.nn import functional

        for place in (_OWN, vars(lazyloom_torch), vars(functional)):
            found = place.get(name)
            if callable(found):
                return _Operator(name, found)
        raise AttributeError(f"torch.ops.aten has no operator {name!r} here")


aten = _Aten()

__all__ = ["aten"]
