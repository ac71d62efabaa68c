"""Views and in-place operations: random programs run with NumPy and with lazyloom.

After every program all arrays that it made are compared, so that a write that reached too
few or too many of them shows.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import same


def _random_slices(rng: onp.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    key: list[Any] = []
    for n in shape[: rng.integers(len(shape) + 1)]:
        choice = rng.integers(4)
        if choice == 0 and n:
            key.append(int(rng.integers(n)))
        elif choice == 1:
            key.append(slice(None, None, -1))
        elif choice == 2:
            key.append(slice(int(rng.integers(max(n, 1))), None, int(rng.integers(1, 3))))
        else:
            key.append(slice(None))
    return (*key, Ellipsis)


def _view(rng: onp.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random step from one array to a view (or a copy, where NumPy makes one)."""
    ndim, size = len(shape), int(onp.prod(shape))
    kind = rng.integers(10)
    if kind <= 1:
        key = _random_slices(rng, shape)
        return lambda m, x: x[key]
    if kind == 2:
        return lambda m, x: x.T
    if kind == 3:
        return lambda m, x: x.reshape(-1)
    if kind == 4:
        order = tuple(int(i) for i in rng.permutation(ndim))
        return lambda m, x: x.transpose(order)
    if kind == 5 and size % 2 == 0 and size:
        return lambda m, x: x.reshape(2, -1)
    if kind == 6:
        return lambda m, x: m.expand_dims(x, 0).squeeze(0) if ndim else x[None]
    if kind == 7:
        return lambda m, x: x.ravel()
    if kind == 8 and ndim:
        axis = int(rng.integers(ndim))
        return lambda m, x: m.flip(m.moveaxis(x, axis, 0), 0)
    if kind == 9 and ndim:
        return lambda m, x: m.array_split(x, 2)[-1]
    return lambda m, x: x.copy() if rng is None else x.view()


def _write(rng: onp.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random write through one array."""
    number = float(rng.integers(1, 9))
    kind = rng.integers(7)
    if kind == 0:
        return lambda m, x: x.__iadd__(number)
    if kind == 1:
        return lambda m, x: x.__imul__(number)
    if kind == 2:
        key = _random_slices(rng, shape)
        return lambda m, x: x.__setitem__(key, number)
    if kind == 3:
        return lambda m, x: x.__setitem__(x > number, -number)
    if kind == 4 and shape and shape[0]:
        rows = onp.unique(rng.integers(0, shape[0], 2))
        return lambda m, x: x.__setitem__(m.array(rows), number)
    if kind == 5 and shape:
        return lambda m, x: x.__setitem__(slice(None), m.flip(x, 0) + number)
    return lambda m, x: m.multiply(x, 2.0, out=x)


def _run(m: Any, seed: int) -> list[Any]:
    rng = onp.random.default_rng(seed)
    shape = [(6,), (2, 3), (4, 2), (2, 3, 2)][rng.integers(4)]
    arrays = [m.array(onp.arange(float(onp.prod(shape))).reshape(shape))]
    for _ in range(9):
        x = arrays[rng.integers(len(arrays))]
        if rng.integers(3):
            _write(rng, x.shape)(m, x)
        else:
            y = _view(rng, x.shape)(m, x)
            if isinstance(y, (onp.ndarray, np.ndarray)):
                arrays.append(y)
    return arrays


@pytest.mark.parametrize("block", range(20))
def test_random_programs(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        expected, got = _run(onp, seed), _run(np, seed)
        assert len(expected) == len(got)
        lazyloom.sync(*got)  # all of them as one program
        for a, b in zip(got, expected):
            same(a, b, exact=True)
            assert a.strides == b.strides or 0 in b.shape or 1 in b.shape, (seed, a.shape)
            assert a.flags.c_contiguous == b.flags.c_contiguous


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
