"""``torch.cuda.random``: no device has a generator."""

from __future__ import annotations

from .._no_device import functions as _functions

globals().update({n: f for n, f in _functions("cuda").items()
                  if "seed" in n or "rng_state" in n})
