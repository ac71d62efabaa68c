"""Accelerators: there is none, and programs that ask are told so."""

from __future__ import annotations

from .. import _absent, _no_device
from .._filling import fill as _fill
from .._formats import OutOfMemoryError as OutOfMemoryError

_fill(__name__, _no_device.functions("cuda"))

default_generators = ()
has_half = has_magma = False


class CudaError(RuntimeError):
    """Never raised: there is no device."""


class DeferredCudaCallError(Exception):
    """Never raised: there is no device."""


__getattr__ = _absent.missing(__name__)
