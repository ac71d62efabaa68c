"""``torch.optim.radam``: where programs import the class from."""

from __future__ import annotations

from .adam import RAdam

__all__ = ["RAdam"]
