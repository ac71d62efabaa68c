"""The current accelerator: there is none, and programs that ask are told so."""

from __future__ import annotations

from . import _absent, _no_device
from ._filling import fill as _fill

_fill(__name__, _no_device.functions("accelerator"))


def current_accelerator(check_available: bool = False) -> None:
    """None: tensors live on the CPU."""


def synchronize(device: object = None) -> None:
    """Nothing: there is no accelerator to wait for."""


__getattr__ = _absent.missing(__name__)
