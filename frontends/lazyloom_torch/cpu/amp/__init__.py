"""The older names of autocasting and gradient scaling for the CPU."""

from __future__ import annotations

from ...amp._of_device import AutocastOfDevice as _AutocastOfDevice
from ...amp._of_device import GradScalerOfDevice as _GradScalerOfDevice


class autocast(_AutocastOfDevice):  # noqa: N801
    """``torch.autocast("cpu", ...)``."""

    _kind = "cpu"


class GradScaler(_GradScalerOfDevice):
    """``torch.amp.GradScaler("cpu", ...)``."""

    _kind = "cpu"
