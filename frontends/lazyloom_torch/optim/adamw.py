"""``torch.optim.adamw``: where programs import the class from."""

from __future__ import annotations

from .adam import AdamW

__all__ = ["AdamW"]
