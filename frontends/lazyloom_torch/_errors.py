"""The runtime's errors, as the exception classes that PyTorch programs catch.

PyTorch reports most misuse as RuntimeError. Each class here is that and the
runtime's own class too, so that both kinds of ``except`` clause work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyloom import errors

from ._numpy_names import plain, rename


class TorchShapeError(errors.ShapeError, RuntimeError):
    """Shapes do not fit."""


class TorchDTypeError(errors.DTypeError, NotImplementedError):
    """An element type that the function does not take."""


class TorchArgumentError(errors.ArgumentError, RuntimeError):
    """An argument has a value that the function does not take."""


class TorchAliasError(errors.AliasError, RuntimeError):
    """A write through a view that cannot be written."""


_CLASSES: tuple[tuple[type[errors.LoomError], type[errors.LoomError]], ...] = (
    (errors.ShapeError, TorchShapeError),
    (errors.ArgumentError, TorchArgumentError),
    (errors.DTypeError, TorchDTypeError),
    (errors.AliasError, TorchAliasError),
)


def as_torch(error: errors.LoomError) -> errors.LoomError:
    """The same error in the class that a PyTorch program expects."""
    if isinstance(error, RuntimeError):
        return error
    for given, wanted in _CLASSES:
        if isinstance(error, given):
            return wanted(str(error), op=error.op, site=error.site)
    return error


def wrong_argument(name: str, error: AttributeError, args: tuple[Any, ...]) -> Exception:
    """The TypeError for an argument that lacks what was asked of it; else the error itself."""
    given = [a for x in args for a in ((x, *x) if isinstance(x, (tuple, list)) else (x,))]
    if any(a is error.obj for a in given) and not hasattr(error.obj, "_type"):
        return TypeError(f"{name}(): an argument must be a Tensor or a number, not "
                         f"{type(error.obj).__name__}")
    return error


def naming(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose arguments of a wrong kind are TypeErrors."""
    inner, renamed = plain(function)

    @functools.wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if renamed and kwargs:
            rename(kwargs)
        try:
            return inner(*args, **kwargs)
        except AttributeError as error:
            raise wrong_argument(function.__name__, error, (*args, *kwargs.values())) from None

    return wrapper
