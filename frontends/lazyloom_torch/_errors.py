"""The runtime's errors, as the exception classes that PyTorch programs catch.

PyTorch reports most misuse as RuntimeError. Each class here is that and the
runtime's own class too, so that both kinds of ``except`` clause work.
"""

from __future__ import annotations

from typing import Any

from lazyloom import errors
from lazyloom.errors import type_name


class TorchShapeError(errors.ShapeError, RuntimeError):
    """Shapes do not fit."""


class TorchDTypeError(errors.DTypeError, NotImplementedError):
    """An element type that the function does not take."""


class TorchArgumentError(errors.ArgumentError, RuntimeError):
    """An argument has a value that the function does not take."""


class TorchAliasError(errors.AliasError, RuntimeError):
    """A write through a view that cannot be written."""


class SparseOperandError(TypeError, NotImplementedError):
    """A sparse tensor was given to a function that takes dense ones."""


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


def how_to_convert(x: Any) -> str:
    """What a message says at its end where a tensor of another library was given, else ""."""
    foreign = hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__")
    if not foreign or isinstance(x, type) or type_name(x).startswith("lazyloom_torch."):
        return ""
    return ": convert it with lazyloom_torch.as_tensor(x)"


def described(x: Any) -> str:
    """The class of what was given for a Tensor, and what to do if it is another library's."""
    return type_name(x) + how_to_convert(x)


def not_a_tensor(x: Any, what: str = "") -> TypeError:
    """The TypeError for an argument that is no Tensor of ours, but perhaps another library's."""
    return TypeError(f"{what}expected a lazyloom_torch.Tensor, given a {described(x)}")


def wrong_argument(name: str, error: AttributeError, args: tuple[Any, ...]) -> Exception:
    """The TypeError for an argument that lacks what was asked of it; else the error itself."""
    given = [a for x in args for a in ((x, *x) if isinstance(x, (tuple, list)) else (x,))]
    if any(a is error.obj for a in given) and not hasattr(error.obj, "_leaf"):
        return not_a_tensor(error.obj, f"{name}(): ")
    return error
