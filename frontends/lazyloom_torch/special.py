"""``torch.special``: special functions."""

from __future__ import annotations

from typing import Any

from ._filling import fill as _fill
from ._functions import activations as _activations
from ._functions import reductions as _reductions
from ._functions import special as _special
from ._out import taking_out as _taking_out

_fill(__name__, {n: _taking_out(f) for n, f in _special.SPECIAL.items()})
logsumexp = _taking_out(_reductions.logsumexp)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """See :func:`torch.nn.functional.softmax`."""
    return _activations.FUNCTIONS["softmax"](input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """See :func:`torch.nn.functional.log_softmax`."""
    return _activations.FUNCTIONS["log_softmax"](input, dim, dtype=dtype)
