"""``torch.optim.nadam``: where programs import the class from."""

from __future__ import annotations

from .adam import NAdam

__all__ = ["NAdam"]
