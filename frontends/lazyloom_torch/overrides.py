"""``torch.overrides``: there is no ``__torch_function__``, so that nothing is overridden."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._tensor import Tensor


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: no argument takes part."""
    return False


def has_torch_function_unary(tensor: Any) -> bool:
    """False."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False."""
    return False


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any],
                          *args: Any, **kwargs: Any) -> Any:
    """The function of its arguments."""
    return public_api(*args, **kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(inp, Tensor)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Any], Any]:
    """A decorator that gives the function itself."""
    return lambda func: func


class TorchFunctionMode:
    """A mode that would see each call: NotImplementedError where one is entered."""

    def __enter__(self) -> TorchFunctionMode:
        raise NotImplementedError(
            f"{type(self).__name__}: calls of functions cannot be intercepted, there is no "
            "__torch_function__; what was recorded is seen by lazyloom.last_evaluation()")

    def __exit__(self, *exc: Any) -> None:
        """Never reached."""


def get_default_nowrap_functions() -> set[Any]:
    """None."""
    return set()


get_ignored_functions = get_default_nowrap_functions


def get_overridable_functions() -> dict[Any, list[Any]]:
    """None."""
    return {}
