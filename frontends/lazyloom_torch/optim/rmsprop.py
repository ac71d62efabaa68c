"""``torch.optim.rmsprop``: where programs import the class from."""

from __future__ import annotations

from .adaptive import RMSprop

__all__ = ["RMSprop"]
