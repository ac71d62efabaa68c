"""Views and in-place operations against NumPy's: chosen cases.

``test_aliasing_property`` has random programs.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from tests.numpy.helpers import same


def test_views_and_copies_of_functions() -> None:
    calls: list[Any] = [
        lambda m, x: x.T, lambda m, x: x[1:], lambda m, x: x.reshape(6),
        lambda m, x: x.T.reshape(6),
        lambda m, x: m.ravel(x), lambda m, x: m.ravel(x.T), lambda m, x: x.flatten(),
        lambda m, x: m.squeeze(x), lambda m, x: m.split(x, 2)[0], lambda m, x: x[[0, 1]],
        lambda m, x: x[x > 0], lambda m, x: m.atleast_3d(x), lambda m, x: m.asarray(x),
        lambda m, x: m.array(x), lambda m, x: x.astype("f8"),
        lambda m, x: x.astype("f8", copy=False),
        lambda m, x: m.rot90(x), lambda m, x: m.moveaxis(x, 0, 1), lambda m, x: x.view("i8"),
        lambda m, x: x.swapaxes(0, 1)[::-1], lambda m, x: x + 0, lambda m, x: m.roll(x, 0),
        lambda m, x: x.reshape(3, 2, order="F"), lambda m, x: x.T.ravel("F"), lambda m, x: x.mT,
    ]  # fmt: skip
    for number, call in enumerate(calls):
        results = []
        for m in (np, onp):
            x = m.array([[1.0, 2, 3], [4, 5, 6]])
            call(m, x)[...] = 0
            results.append(x)
        same(*results, exact=True)
        assert number >= 0


def test_results_keep_the_order_of_their_operands() -> None:
    """Strides decide what a reshape aliases, so they are those of NumPy's results."""
    calls: list[Any] = [
        lambda m, x: x + 1, lambda m, x: x + m.ones(x.shape), lambda m, x: x[::-1, 1:] * 2,
        lambda m, x: x + x[:1, :, :1], lambda m, x: m.where(x > 3, x, 0.0), lambda m, x: m.sort(x),
        lambda m, x: m.concatenate([x, x]), lambda m, x: x.clip(0, 3), lambda m, x: -x,
        lambda m, x: x.astype("f4"), lambda m, x: m.zeros_like(x), lambda m, x: m.array(x),
        lambda m, x: x.copy(), lambda m, x: x.copy("F"), lambda m, x: m.modf(x)[1],
        lambda m, x: m.zeros((2, 3), order="F"), lambda m, x: m.round(x),
    ]  # fmt: skip
    h = onp.arange(24.0).reshape(2, 3, 4)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)):
        for number, call in enumerate(calls):
            got = call(np, np.array(h).transpose(order))
            expected = call(onp, h.transpose(order))
            assert got.strides == expected.strides, (number, order)
        results = []
        for m in (np, onp):
            x = m.array(h).transpose(order) + 1
            x.reshape(-1)[:2] = 0
            x.ravel("K")[-1] = -1
            results.append(x)
        same(*results, exact=True)


def test_complex_parts_are_views() -> None:
    def program(m: Any) -> Any:
        z = m.array([1 + 2j, 3 + 4j])
        z.real += 1
        z.imag[0] = 9
        z.real[::-1][0] = 7
        return z, z.real, z.imag

    same(program(np), program(onp))


def test_bits_are_views() -> None:
    def program(m: Any) -> Any:
        x = m.array([1.0, -2.0], "f4")
        x.view("i4")[0] += 1 << 23
        y = m.arange(4, dtype="i4")
        y.view("i2")[0] = 5
        y.view("i8")[1] = 7
        return x, y, y.view("i8")

    same(program(np), program(onp))


def test_scalars_do_not_alias() -> None:
    for m in (np, onp):
        x = m.array([1.0, 2.0])
        a, s = x[0], x.sum()
        t = s
        x[0] = 5
        s += 1
        assert float(a) == 1 and float(t) == 3 and float(s) == 4
        zero_d = x[0, ...]
        zero_d += 1
        assert float(x[0]) == 6
        y = z = m.array(1.0)
        y += 1
        assert float(z) == 2
    assert {np.array([3])[0]: 1}[3] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(np.zeros(1))


def test_in_place_errors() -> None:
    x = np.arange(3)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        x += 1.5
    with pytest.raises(TypeError, match="divide"):
        x /= 2
    with pytest.raises(ValueError, match="non-broadcastable output"):
        x += np.ones((2, 3), int)
    x += np.array([1, 2, 3], np.int8)
    same(x, onp.array([1, 3, 5]))
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    with pytest.raises(ValueError, match="read-only"):
        x[1:][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.diagonal(np.eye(2))[0] = 1
    assert not x.flags.writeable and not x[1:].flags["WRITEABLE"]


def test_overlapping_writes() -> None:
    def program(m: Any) -> Any:
        x = m.arange(10.0)
        x[1:] = x[:-1]
        x[::2] += x[1::2]
        x[:] = x[::-1]
        y = m.arange(9.0).reshape(3, 3)
        y += y.T
        y @= y.T
        return x, y

    same(program(np), program(onp))


def test_copies_are_independent() -> None:
    x = np.arange(4.0).reshape(2, 2)
    copies = [x.copy(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), np.array(x)]
    view = pickle.loads(pickle.dumps(x.T))
    x[...] = 0
    for c in copies:
        same(c, onp.arange(4.0).reshape(2, 2))
    same(view, onp.arange(4.0).reshape(2, 2).T)
    assert type(pickle.loads(pickle.dumps(x.sum()))) is type(x.sum())
