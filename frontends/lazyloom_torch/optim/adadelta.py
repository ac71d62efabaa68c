"""``torch.optim.adadelta``: where programs import the class from."""

from __future__ import annotations

from .adaptive import Adadelta

__all__ = ["Adadelta"]
