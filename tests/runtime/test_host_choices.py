"""Choices by bits and extremes by columns are what NumPy's own functions give, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyloom.backends.xla.host.routines import along_rows, choose

RNG = np.random.default_rng(3)
DTYPES = [bool, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64,
          np.complex64, np.complex128]  # fmt: skip


def values(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Any bits, NaNs with payloads and negative zeros among them."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return RNG.random(shape) < 0.5
    size = int(np.prod(shape)) * kind.itemsize
    return RNG.integers(0, 256, size, np.uint8).view(kind).reshape(shape)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("which", "x", "y"), [
    ((40, 30), (40, 30), (40, 30)), ((40, 30), (), (40, 30)), ((40, 30), (40, 30), ()),
    ((40, 30), (), ()), ((40, 30), (30,), (40, 1)), ((2000, 1), (2000, 3), (2000, 3)),
    ((2000, 1), (), (2000, 3)), ((2000, 1), (2000, 3), ()), ((600,), (4, 600), ()),
    ((3,), (3,), ()),
    ((0, 3), (0, 3), ()), ((), (700,), (700,)),
])  # fmt: skip
def test_a_choice_by_bits(dtype: Any, which: Any, x: Any, y: Any) -> None:
    mask = RNG.random(which) < 0.5
    a, b = values(x, dtype), values(y, dtype)
    negative = np.full_like(a, -0.0) if a.dtype.kind == "f" else a
    for first, second in (
        (a, b), (np.zeros_like(a), b), (a, np.zeros_like(b)), (negative, b), (a.T.copy().T, b),
    ):
        found = choose(mask, first[()], second[()])
        assert same_bits(np.asarray(found), np.asarray(np.where(mask, first, second)))


@pytest.mark.parametrize("shape", [(100, 8), (64, 64), (63, 5), (4, 25, 40), (70, 65), (500, 1),
                                   (2, 2), (9,), (0, 4)])  # fmt: skip
@pytest.mark.parametrize("function", [np.maximum, np.minimum])
def test_extremes_of_rows(function: Any, shape: tuple[int, ...]) -> None:
    for x in (RNG.normal(size=shape).astype(np.float32), RNG.integers(-9, 9, shape),
              RNG.normal(size=shape[::-1]).T):  # fmt: skip
        x = np.where(RNG.random(shape) < 0.02, np.nan, x) if x.dtype.kind == "f" else x
        found = along_rows(function, x)
        np.testing.assert_array_equal(found, function.reduce(x, -1))
        assert found.dtype == x.dtype
