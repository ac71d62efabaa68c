"""A decorator for functions that update a tensor from its own contents."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .contents import write_lock
from .tensor import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])


def one_step(function: _Function) -> _Function:
    """Make a function that changes its first argument, a tensor, one step for other threads.

    It holds the tensor's :func:`write_lock`. A call whose first argument is passed by keyword, or
    is not a tensor, is left as it is.
    """

    @functools.wraps(function)
    def changing(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Tensor):
            with write_lock(args[0]):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    return cast(_Function, changing)
