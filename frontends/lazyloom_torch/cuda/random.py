"""``torch.cuda.random``: no device has a generator."""

from __future__ import annotations

from .. import cuda as _cuda
from .._filling import fill as _fill

_fill(__name__, {n: f for n, f in vars(_cuda).items() if "seed" in n or "rng_state" in n})
