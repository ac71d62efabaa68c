"""The description of arrays for C functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...types import TensorType
from ..generator import NativeCode


def rows(t: TensorType, axis: int) -> tuple[int, int, int]:
    """Return the number of rows along an axis, the elements of each, and their distance."""
    return math.prod(t.shape[:axis]), t.shape[axis], math.prod(t.shape[axis + 1 :])


def code(function: int, numbers: Sequence[int]) -> NativeCode:
    """Return a function with numbers as its state."""
    state = np.array(numbers, np.int64)
    return NativeCode(function, state.ctypes.data, state)
