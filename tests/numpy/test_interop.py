"""Protocols towards NumPy, Python and others."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import DTYPES, data, same


def test_numpy_functions_keep_our_arrays() -> None:
    x, y = np.array([[1.0, 2], [3, 4]]), onp.array([[5.0, 6], [7, 8]])
    h = onp.asarray(x)
    pairs = [
        (onp.add(y, x), y + h), (y + x, y + h), (x - y, h - y), (onp.float32(2) * x, 2 * h),
        (onp.sin(x), onp.sin(h)), (onp.concatenate([x, y]), onp.concatenate([h, y])),
        (onp.sum(x, axis=0), h.sum(0)), (onp.linalg.norm(x), onp.linalg.norm(h)),
        (onp.add.reduce(x), h.sum(0)), (onp.where(x > 2, x, 0), onp.where(h > 2, h, 0)),
        (onp.transpose(x), h.T), (y @ x, y @ h), (onp.einsum("ij->i", x), h.sum(1)),
        (onp.maximum(x, 2), onp.maximum(h, 2)), (onp.clip(x, 2, 3), onp.clip(h, 2, 3)),
        (onp.zeros_like(x), onp.zeros_like(h)), (x == y, h == y), (y < x, y < h),
    ]  # fmt: skip
    for got, expected in pairs:
        assert isinstance(got, np.ndarray)
        same(got, expected)
    out = onp.zeros((2, 2))
    assert onp.add(x, 1, out=out) is out
    onp.testing.assert_array_equal(out, h + 1)
    assert onp.allclose(x, h)
    y += x
    onp.testing.assert_array_equal(y, [[6, 8], [10, 12]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(dtype: str) -> None:
    for shape in ((), (3,), (2, 0), (2, 3)):
        h = data(shape, dtype)
        x = np.array(h)
        back = onp.asarray(x)
        assert back.dtype == h.dtype and back.shape == h.shape
        onp.testing.assert_array_equal(back, h)
        assert x.tolist() == h.tolist()
        assert x.tobytes() == h.tobytes()
    same(np.array(data((4, 3), dtype).T), data((4, 3), dtype).T)
    big = data((3,), dtype).astype(onp.dtype(dtype).newbyteorder(">"))
    onp.testing.assert_array_equal(onp.asarray(np.array(big)), big)


def test_from_host_copies() -> None:
    h = onp.zeros(3)
    x = np.asarray(h)
    h[0] = 1
    same(x, onp.zeros(3))
    back = onp.asarray(x)
    back[0] = 9
    same(x, onp.zeros(3))
    with pytest.raises(ValueError, match="copy"):
        np.array(h, copy=False)


def test_dlpack() -> None:
    x = np.arange(6.0).reshape(2, 3)
    h = onp.from_dlpack(x)
    onp.testing.assert_array_equal(h, onp.arange(6.0).reshape(2, 3))
    x += 1
    onp.testing.assert_array_equal(h, onp.arange(6.0).reshape(2, 3))
    same(np.from_dlpack(onp.arange(3.0)), onp.arange(3.0))
    columns = onp.arange(6.0).reshape(2, 3).T  # in memory in another order
    same(np.from_dlpack(columns) * 2, columns * 2)
    assert x.__dlpack_device__()[0] == 1


def test_printing() -> None:
    arrays = [
        onp.arange(3), onp.array([[1.5, -2], [onp.nan, onp.inf]]), onp.zeros((2, 0)),
        onp.array(2.5, "f4"), onp.arange(2000), onp.array([True, False]), onp.array([1 + 2j]),
        onp.ones((2, 2, 2), "f2"), onp.ones(2, np.bfloat16),
    ]  # fmt: skip
    for h in arrays:
        x = np.array(h)
        assert repr(x) == repr(h)
        assert str(x) == str(h)
    assert repr(np.array([1.5])[0]) == repr(onp.array([1.5])[0])
    assert f"{np.array([1.25]).sum():.1f}" == "1.2"
    with onp.printoptions(precision=2):
        assert str(np.array([1.23456])) == "[1.23]"


def test_python_numbers() -> None:
    x = np.array([3])
    assert int(x[0]) == 3 and float(x[0]) == 3.0 and complex(x[0]) == 3 and bool(x)
    assert [10, 20, 30, 40][x[0]] == 40
    assert x.item() == 3 and isinstance(x.item(), int)
    assert [int(v) for v in np.arange(3)] == [0, 1, 2]
    assert 3 in x and 4 not in x and len(x) == 1
    assert divmod(np.array([7]), 2)[1].item() == 1
    with pytest.raises(ValueError, match="ambiguous"):
        bool(np.zeros(2))
    with pytest.raises(TypeError):
        float(np.zeros(2))
    with pytest.raises(TypeError, match="unsized"):
        len(np.array(1))
    with pytest.raises(TypeError):
        [1, 2][np.array(1.0)]


def test_operators_take_objects_that_give_an_array() -> None:
    class Gives:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return onp.array([1.0, 2.0])

    class Describes:
        def __init__(self) -> None:
            self.data = onp.array([3.0, 4.0])
            self.__array_interface__ = self.data.__array_interface__

    class Above(Gives):
        __array_priority__ = 10.0

        def __rmul__(self, other: Any) -> str:
            return "its own"

    for m in (onp, np):
        x = m.array([5.0, 6.0])
        for given in (x * Gives(), Gives() * x, x * Describes(), Describes() * x):
            assert isinstance(given, m.ndarray)
        assert (x * Gives()).tolist() == [5, 12] and (x - Describes()).tolist() == [2, 2]
        assert (Gives() - x).tolist() == [-4, -4] and (x > Gives()).tolist() == [True, True]
        assert x * Above() == "its own"
        x += Gives()
        assert x.tolist() == [6, 8]


def test_arrays_of_arrays_are_stacked_without_a_read() -> None:
    x = np.arange(3.0)
    with lazyloom.options(reads="error"):
        y = np.array([x[0], x[1] * 2, 5])
        z = np.array([[x[2], 1.0], [2.0, x[0]]])
    same(y, onp.array([0.0, 2.0, 5.0]))
    same(z, onp.array([[2.0, 1.0], [2.0, 0.0]]))


def test_attributes() -> None:
    x, h = np.zeros((2, 3), "f4"), onp.zeros((2, 3), "f4")
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides"):
        assert getattr(x, name) == getattr(h, name)
        assert getattr(x.T, name) == getattr(h.T, name)
    assert x.dtype is onp.dtype("f4") and np.float32 is onp.float32
    assert x[0].base is x and x.base is None and x.T[0].base is x
    assert (x == None).shape == (2, 3)  # noqa: E711
    assert np.result_type(x, 1.0) == onp.float32 and np.promote_types("i4", "f4") == onp.float64
    assert np.can_cast("i4", "f8") and np.finfo(x.dtype).eps == onp.finfo("f4").eps


def test_gradients_of_this_frontend() -> None:
    def loss(w: np.ndarray, x: np.ndarray) -> np.ndarray:
        h = np.maximum(x @ w, 0)
        h[0] *= 2
        return (h.T.reshape(-1) ** 2).mean()

    w, x = data((3, 2), "float64", 1), data((4, 3), "float64", 2)
    g = lazyloom.grad(loss)(np.array(w), np.array(x))
    assert isinstance(g, np.ndarray)
    step = 1e-6
    for i in range(3):
        for j in range(2):
            d = onp.zeros((3, 2))
            d[i, j] = step
            up = float(loss(np.array(w + d), np.array(x)))
            down = float(loss(np.array(w - d), np.array(x)))
            assert abs(float(g[i, j]) - (up - down) / (2 * step)) < 1e-4
