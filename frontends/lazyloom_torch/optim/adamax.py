"""``torch.optim.adamax``: where programs import the class from."""

from __future__ import annotations

from .adam import Adamax

__all__ = ["Adamax"]
