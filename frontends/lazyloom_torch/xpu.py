"""``torch.xpu``: there is no such device, and programs that ask are told so."""

from __future__ import annotations

from . import _absent, _no_device
from ._filling import fill as _fill

_fill(__name__, _no_device.functions("xpu"))

__getattr__ = _absent.missing(__name__)
