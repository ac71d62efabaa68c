"""``torch.ops``: functions by the names of PyTorch's operators, and operators of a program's own.

``torch.ops.aten.add.default`` and ``torch.ops.aten.add`` are the function ``torch.add``;
``torch.ops.mine.f`` is what ``torch.library`` was told of ``mine::f``.
"""

from __future__ import annotations

from typing import Any

from . import _dtypes
from ._functions import activations, pooling
from ._tensor import Tensor


def _along(function: Any) -> Any:
    def of(x: Tensor, dim: int, half_to_float: bool) -> Any:
        return function(x, dim, dtype=_dtypes.float32 if half_to_float else None)

    return of


_OWN = {"max_pool2d_with_indices_backward": pooling.max_pool2d_with_indices_backward,
        "_softmax": _along(activations.softmax), "_log_softmax": _along(activations.log_softmax)}

#: where PyTorch's own operators are found, as the package fills it
namespaces: list[dict[str, Any]] = []
#: namespace: operators by name, as torch.library fills it
registered: dict[str, dict[str, Any]] = {}


class _Operator:
    """A function that is also its own ``default`` overload."""

    def __init__(self, name: str, function: Any) -> None:
        self.__name__ = name
        self._function = function

    def __getattr__(self, name: str) -> _Operator:
        """An overload, such as ``default`` or ``Tensor``: the function takes what each does."""
        if name.startswith("_"):
            raise AttributeError(f"operator aten.{self.__name__} has no attribute {name!r}")
        return self

    def overloads(self) -> list[str]:
        """One name for all."""
        return ["default"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<operator aten.{self.__name__}>"


class _Namespace:
    """Operators by name; AttributeError for those that nobody defined."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = registered.get(self._name, {}).get(name)
        if found is None:
            raise AttributeError(
                f"torch.ops.{self._name} has no operator {name!r} here: operators of compiled "
                "extensions of PyTorch cannot be loaded; torch.library defines some in Python")
        return found

    def __repr__(self) -> str:
        return f"<torch.ops.{self._name}>"


class _Aten(_Namespace):
    """Operators by name; AttributeError for what the frontend does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for place in (_OWN, *namespaces, registered.get("aten", {})):
            found = place.get(name)
            if callable(found):
                return _Operator(name, found)
        method = getattr(Tensor, name, None)
        if callable(method):
            return _Operator(name, method)
        raise AttributeError(f"torch.ops.aten has no operator {name!r} here")


aten = _Aten("aten")
loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """OSError: a compiled extension of PyTorch works on PyTorch's own tensors."""
    raise OSError(
        f"torch.ops.load_library({str(path)!r}): compiled extensions of PyTorch work on its own "
        "tensors and cannot be loaded into lazyloom_torch")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _Namespace(name)
    return found


__all__ = ["aten", "load_library"]
