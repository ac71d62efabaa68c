"""The current accelerator: there is none, and programs that ask are told so."""

from __future__ import annotations

import lazyloom as _lazyloom

from . import _absent, _no_device
from ._filling import fill as _fill

_fill(__name__, _no_device.functions("accelerator"))


def current_accelerator(check_available: bool = False) -> None:
    """None: tensors live on the CPU."""


def synchronize(device: object = None) -> None:
    """Run what is pending and wait for it, to measure time; tensors live on the CPU."""
    _lazyloom.sync(wait=True)


__getattr__ = _absent.missing(__name__)
