"""Kernels of searches in sorted arrays, by NumPy's searchsorted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..trace.specs import Spec
from ..types import TensorType
from .kernel import HostKernel

#: the family
SEARCH: Final = "searchsorted"
#: rows that are looked through one by one
_ROWS: Final = 64


def searching(spec: Spec, types: tuple[TensorType | None, ...]) -> HostKernel | None:
    """The kernel of such an op; None if it is none.

    Its definition needs the number of values, so that one would have to be traced for each.
    """
    if spec.op.family != SEARCH or spec.op.base is not None or len(types) != 2:
        return None
    ascending, values = types
    if ascending is None or values is None or ascending.dtype is not values.dtype or (
        ascending.dtype.kind not in "iuf" or ascending.dtype.itemsize < 4
    ):
        return None
    rows = ascending.shape[:-1]
    if not values.size or not ascending.size or math.prod(rows) > _ROWS:
        return None
    side = spec.attrs["side"]
    return HostKernel(_of_rows(side) if rows else _of_all(side), (False,))


def _of_all(side: str) -> Callable[..., Any]:
    return lambda ascending, values: ascending.searchsorted(values, side)


def _of_rows(side: str) -> Callable[..., Any]:
    def run(ascending: Any, values: Any) -> Any:
        found = np.empty(values.shape, np.int64)
        for place in np.ndindex(ascending.shape[:-1]):
            found[place] = ascending[place].searchsorted(values[place], side)
        return found

    return run
