"""Identity elements of reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .dims import NotPadded


def lowest(dtype: Any, sign: int) -> Any:
    """Return the value that no element is below (sign 1) or above (sign -1)."""
    if dtype.kind == "b":
        return np.asarray(sign < 0)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.asarray(info.min if sign > 0 else info.max, dtype)
    if np.issubdtype(dtype, np.complexfloating):
        raise NotPadded("a maximum or minimum of complex numbers")
    return np.asarray(-sign * np.inf, dtype)


def nothing(dtype: Any) -> Any:
    """Return the value whose addition changes nothing, not even the sign of a zero."""
    if np.issubdtype(dtype, np.complexfloating):
        return np.asarray(complex(-0.0, -0.0), dtype)
    return np.asarray(0 if dtype.kind == "b" or np.issubdtype(dtype, np.integer) else -0.0, dtype)


def ones(dtype: Any) -> Any:
    """Return a number whose bits are all set."""
    return np.asarray(True) if dtype.kind == "b" else np.invert(np.zeros((), dtype))


#: the identity element of each fold
IDENTITIES: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": nothing, "prod": lambda dtype: np.ones((), dtype),
    "max": lambda dtype: lowest(dtype, 1), "min": lambda dtype: lowest(dtype, -1),
    "and": ones, "or": lambda dtype: np.zeros((), dtype),
    "xor": lambda dtype: np.zeros((), dtype),
    "logsumexp": lambda dtype: lowest(dtype, 1),
}  # fmt: skip
