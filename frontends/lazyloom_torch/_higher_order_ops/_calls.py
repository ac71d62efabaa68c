"""What loops and branches make of functions, trees and errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyloom.errors import LoomError, type_name

from .._errors import as_torch
from .._tensor import Tensor
from ..func._trees import flatten, plain


def giving_plain(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its results tensors that hold just a value."""

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        return plain(f(*args))

    return call


def check_function(f: Any, function: str, name: str) -> None:
    """Raise RuntimeError for what cannot be called."""
    if not callable(f):
        raise RuntimeError(f"{function}: {name} must be callable, but got a {type_name(f)}")


def check_leaves(tree: Any, function: str, name: str, numbers: bool = False) -> None:
    """Raise RuntimeError for leaves that are no tensors."""
    for leaf in flatten(tree)[0]:
        if not isinstance(leaf, Tensor) and not (
            numbers and isinstance(leaf, (bool, int, float))
        ):
            raise RuntimeError(
                f"{function}: {name} must have Tensors{' and numbers' if numbers else ''} as "
                f"leaves, but got a {type_name(leaf)}")


def called(run: Callable[[], Any]) -> Any:
    """What it gives; the runtime's errors as PyTorch's."""
    try:
        return run()
    except LoomError as error:
        raise as_torch(error) from None
