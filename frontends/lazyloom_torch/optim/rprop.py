"""``torch.optim.rprop``: where programs import the class from."""

from __future__ import annotations

from .sgd import Rprop

__all__ = ["Rprop"]
