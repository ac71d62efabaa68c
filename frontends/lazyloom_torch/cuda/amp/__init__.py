"""The older names of autocasting and gradient scaling for CUDA, where there is nothing to do."""

from __future__ import annotations

import functools

from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ...amp._of_device import AutocastOfDevice as _AutocastOfDevice
from ...amp._of_device import GradScalerOfDevice as _GradScalerOfDevice

custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")


class autocast(_AutocastOfDevice):  # noqa: N801
    """``torch.autocast("cuda", ...)``."""

    _kind = "cuda"


class GradScaler(_GradScalerOfDevice):
    """``torch.amp.GradScaler("cuda", ...)``."""

    _kind = "cuda"
