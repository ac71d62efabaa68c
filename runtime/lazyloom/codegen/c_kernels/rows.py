"""What functions in C are told of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...types import TensorType
from ..generator import NativeCode


def rows(t: TensorType, axis: int) -> tuple[int, int, int]:
    """How many rows there are along an axis, their elements, and how far apart these lie."""
    return math.prod(t.shape[:axis]), t.shape[axis], math.prod(t.shape[axis + 1 :])


def code(function: int, numbers: Sequence[int]) -> NativeCode:
    """A function with numbers as its state."""
    state = np.array(numbers, np.int64)
    return NativeCode(function, state.ctypes.data, state)
