"""Autocasting and gradient scaling by their older names, in the module of one kind of device."""

from __future__ import annotations

from typing import Any, ClassVar

from .autocast_mode import autocast
from .grad_scaler import GradScaler


class AutocastOfDevice(autocast):
    """``torch.autocast`` for the kind of device that a subclass names."""

    _kind: ClassVar[str]

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__(self._kind, dtype, enabled, cache_enabled)


class GradScalerOfDevice(GradScaler):
    """``torch.amp.GradScaler`` for the kind of device that a subclass names."""

    _kind: ClassVar[str]

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:
        super().__init__(
            self._kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
