"""What is computed in another way than NumPy's own functions would gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lazyloom.host.routines import along_rows, choose, int_divide, int_remainder

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


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_quotients_by_one_number(dtype: Any) -> None:
    """As by an array of it: towards zero, with the remainder's sign the dividend's."""
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, 7, info.max - 1, info.min + 1], dtype)
    for y in {-128, -3, -1, 0, 1, 2, 5, 127} | {info.min, info.max}:
        if info.min <= y <= info.max:
            one, many = dtype(y), np.full(x.shape, y, dtype)
            with np.errstate(all="ignore"):
                assert same_bits(int_divide(x, one), int_divide(x, many))
                assert same_bits(int_remainder(x, one), int_remainder(x, many))
                assert int_divide(x[4], one) == int_divide(x, many)[4]
            if y not in (0, -1):
                whole = [int(a) // y if (int(a) < 0) == (y < 0) else -(-int(a) // y) for a in x]
                assert int_divide(x, one).tolist() == whole
