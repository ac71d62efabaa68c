"""``torch.optim.adagrad``: where programs import the class from."""

from __future__ import annotations

from .adaptive import Adagrad

__all__ = ["Adagrad"]
