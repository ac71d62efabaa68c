"""``torch.optim.asgd``: where programs import the class from."""

from __future__ import annotations

from .sgd import ASGD

__all__ = ["ASGD"]
