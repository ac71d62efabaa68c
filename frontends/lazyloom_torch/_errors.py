"""The runtime's errors, as the exception classes that PyTorch programs catch.

PyTorch reports most misuse as RuntimeError. Each class here is that and the
runtime's own class too, so that both kinds of ``except`` clause work.
"""

from __future__ import annotations

from lazyloom import errors


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
