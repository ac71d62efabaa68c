"""Indexing against NumPy's: chosen cases, and random keys for getting and setting."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import same

pytestmark = pytest.mark.usefixtures("quick_compiler")

SHAPES = ((5,), (3, 4), (2, 3, 4), (2, 1, 3, 2))


def _slice(rng: onp.random.Generator, n: int) -> slice:
    bound = [None, *range(-n - 1, n + 2)]
    step = [None, 1, 2, -1, -2, 3][rng.integers(6)]
    return slice(bound[rng.integers(len(bound))], bound[rng.integers(len(bound))], step)


def random_key(rng: onp.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random valid key: integers, slices, new axes, Ellipsis, integer and boolean arrays."""
    key: list[Any] = []
    axis = 0
    advanced = [(), (2,), (3, 1), (1,)][rng.integers(4)]
    used_ellipsis = False
    while axis < len(shape):
        n = shape[axis]
        kind = rng.choice(["int", "slice", "slice", "new", "array", "mask", "ellipsis", "stop"])
        if kind == "int":
            key.append(int(rng.integers(-n, n)))
            axis += 1
        elif kind == "slice":
            key.append(_slice(rng, n))
            axis += 1
        elif kind == "new" and len(key) < 6:
            key.append(None)
        elif kind == "array":
            key.append(rng.integers(-n, n, advanced))
            axis += 1
        elif kind == "mask" and advanced in ((), (1,)) and not any(
                isinstance(k, onp.ndarray) for k in key):
            key.append(onp.arange(n) == rng.integers(n))
            axis += 1
        elif kind == "ellipsis" and not used_ellipsis:
            key.append(Ellipsis)
            used_ellipsis = True
            axis = max(axis, len(shape) - int(rng.integers(0, 2)))
            if axis < len(shape):
                axis = len(shape) - 1
        elif kind == "stop":
            break
    if used_ellipsis:
        # what follows an Ellipsis counts from the end: keep only what fits
        count = sum(1 for k in key if k is not None and k is not Ellipsis)
        if count > len(shape):
            key = key[: len(shape)]
    return key[0] if len(key) == 1 and rng.integers(2) else tuple(key)


def ours(key: Any) -> Any:
    """The key with its arrays as ours (some of them), others as NumPy's or lists."""
    if isinstance(key, tuple):
        return tuple(ours(k) for k in key)
    return np.array(key) if isinstance(key, onp.ndarray) else key


@pytest.mark.parametrize("seed", range(40))
def test_random_get_and_set(seed: int) -> None:
    rng = onp.random.default_rng(seed)
    for _ in range(3):
        shape = SHAPES[rng.integers(len(SHAPES))]
        x = onp.arange(float(onp.prod(shape))).reshape(shape)
        key = random_key(rng, shape)
        try:
            expected = x[key]
        except IndexError:
            with pytest.raises(IndexError):
                np.array(x)[ours(key)]
            continue
        got = np.array(x)[ours(key) if rng.integers(2) else key]
        assert got.shape == expected.shape, (shape, key)
        same(got, expected, exact=True)
        y, z = x.copy(), np.array(x)
        if rng.integers(2):
            value: Any = -1.5
            y[key], z[ours(key)] = value, value
        else:
            value = -onp.arange(1.0, onp.size(expected) + 1).reshape(onp.shape(expected))
            if _repeats(x, key):
                value = value * 0 - 2
            y[key], z[ours(key)] = value, np.array(value)
        same(z, y, exact=True)


def _repeats(x: Any, key: Any) -> bool:
    positions = onp.arange(x.size).reshape(x.shape)[key]
    return onp.unique(positions).size != onp.size(positions)


def test_chosen_cases() -> None:
    x = onp.arange(24.0).reshape(2, 3, 4)
    t = np.array(x)
    i, j = onp.array([1, 0]), onp.array([[2], [0]])
    keys: list[Any] = [
        (0,), (0, 1, 2), (-1, ..., -1), (..., None), (None, 0, None), slice(None, None, -1),
        (slice(None), i), (i, slice(None), i), (i, i), (0, slice(None), i), (0, i), (i, 0, i),
        (slice(None), j, i), (None, i), (i, None, i), [0, 1], ([0, 1], [1, 2]),
        x > 5, (slice(None), (x > 5)[0]), (slice(None), onp.array([True, False, True])),
        (onp.array([True, False]), slice(None), i), True, False, (True, 0), onp.array(True),
        (slice(0, 0),), (slice(5, 1),), onp.array([], int), onp.zeros((2, 3), bool), [],
        (Ellipsis,), (), onp.int8(1), (slice(None), slice(None), slice(3, None, -2)),
        (i, slice(1, 3), 2), (slice(None), 1, i), ([True, False], 1), (slice(None), i, ..., i),
    ]  # fmt: skip
    for key in keys:
        same(t[ours(key)], x[key], exact=True)
        a, b = x.copy(), np.array(x)
        a[key], b[ours(key)] = 5, 5
        same(b, a, exact=True)


def test_set_values() -> None:
    def program(m: Any) -> Any:
        x = m.zeros((3, 4))
        x[1] = [1, 2, 3, 4]
        x[:, 1] = m.array([7, 8, 9])
        x[2, ::2] = True
        x[[0, 2], [3, 3]] = m.array([1.5, 2.5])
        x[x > 6] = -1
        x[x == -1] *= 2
        x[0, 0] += 3
        x[..., 0] -= 1
        x[1:, 2:] = [[1.0], [2.0]]
        y = m.zeros((2, 2), int)
        y[0] = 2.9
        y[1, 1] = m.array(3.7)
        z = m.zeros(3, complex)
        z[1] = 2
        z.real[2] = 5
        z.imag = 1
        return x, y, z

    same(program(np), program(onp))


def test_mask_assignment_reads_only_where_it_must() -> None:
    x, mask = np.arange(6.0).reshape(2, 3), np.array([[True, False, True]] * 2)
    with lazyloom.options(reads="error"):
        x[mask] = 1.0
        x[np.array([True, False])] = np.array([1.0, 2.0, 3.0])
    same(x, onp.array([[1.0, 2.0, 3.0], [1.0, 4.0, 1.0]]))
    x[mask] = [9.0, 8.0, 7.0, 6.0]
    same(x, onp.array([[9.0, 2.0, 8.0], [7.0, 4.0, 6.0]]))


@pytest.mark.parametrize(("key", "error", "message"), [
    (3, IndexError, "index 3 is out of bounds for axis 0 with size 3"),
    ((0, 4), IndexError, "axis 1 with size 4"),
    ((0, 0, 0), IndexError, "too many indices"),
    ((..., ...), IndexError, "single ellipsis"),
    (1.0, IndexError, "only integers"),
    ("a", IndexError, "only integers"),
    ([0, 3], IndexError, "out of bounds"),
    (onp.ones(2, bool), IndexError, "boolean index did not match"),
    (onp.array([1.0]), IndexError, "integer"),
    (([0, 1], [0, 1, 2]), IndexError, "broadcast"),
])  # fmt: skip
def test_errors(key: Any, error: type[Exception], message: str) -> None:
    x = np.zeros((3, 4))
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        x[key] = 1


def test_errors_of_assignment() -> None:
    x = np.zeros((3, 4))
    with pytest.raises(ValueError, match="could not broadcast"):
        x[0] = [1, 2, 3]
    with pytest.raises(TypeError):
        x[0, 0] = 1j
    with pytest.raises(ValueError, match="read-only"):
        np.broadcast_to(np.zeros(3), (2, 3))[0, 0] = 1
    element = x[0, 0]
    element[...] = 1  # where NumPy has an immutable scalar
    assert element == 1 and not x.any()


@pytest.mark.compiled
def test_an_index_in_a_loop_compiles_once() -> None:
    x = np.array(onp.arange(40.0).reshape(8, 5))
    total = float((x[2] * 2).sum())
    before = lazyloom.stats()["programs_compiled"]
    for i in range(3, 8):
        total += float((x[i] * 2).sum())
    after = lazyloom.stats()["programs_compiled"]
    assert after == before
    assert total == 2 * onp.arange(40.0).reshape(8, 5)[2:].sum()


def test_flat() -> None:
    def program(m: Any) -> Any:
        x = m.arange(6).reshape(2, 3).T
        x.flat[1] = 50
        x.flat[[2, 3]] = [7, 8]
        return x, x.flat[4], x.flat[1:5:2], [int(v) for v in x.flat], len(x.flat)

    same(program(np), program(onp))


def _computed(*indices: int) -> Any:
    return np.array(indices) + 0


@pytest.mark.parametrize("call", [
    lambda x, i: x[i], lambda x, i: x[i, 0], lambda x, i: x[:, i], lambda x, i: x[i[-1]],
    lambda x, i: x[i[-1], 1:], lambda x, i: np.take(x, i, axis=0), lambda x, i: x.take(i, axis=1),
    lambda x, i: np.take_along_axis(x, i[None], axis=1), lambda x, i: x.reshape(-1)[i * 4],
    lambda x, i: x[0][i - 3],
])  # fmt: skip
def test_computed_indices_are_checked_when_something_is_read(call: Any) -> None:
    x = np.array(onp.arange(12.0).reshape(3, 4))
    good, bad = call(x, _computed(0, 1, 2)), call(x, _computed(0, 1, 9))
    below = bad * 2
    other = x + 1
    assert onp.asarray(good).size and onp.asarray(other).size
    for value in (below, bad, below):
        with pytest.raises(IndexError, match="out of bounds for axis . with size"):
            onp.asarray(value)
    assert onp.asarray(x).sum() == 66


@pytest.mark.parametrize("write", [
    lambda x, i: x.__setitem__(i, 1), lambda x, i: x.__setitem__((slice(None), i), 1),
    lambda x, i: x.__setitem__(i[-1], 1), lambda x, i: np.put(x, i * 5, 1),
    lambda x, i: np.put_along_axis(x, i[None], 1, axis=1), lambda x, i: np.add.at(x, i, 1),
    lambda x, i: x[i[-1]].__iadd__(1),
])  # fmt: skip
def test_computed_indices_of_writes_are_checked_when_the_array_is_read(write: Any) -> None:
    for indices, fits in (((0, 1, 2), True), ((0, 1, -9), False)):
        x = np.array(onp.arange(12.0).reshape(3, 4))
        before = x.copy()
        write(x, _computed(*indices))
        if fits:
            assert not onp.array_equal(onp.asarray(x), onp.asarray(before))
            continue
        with pytest.raises(IndexError, match="index -(9|45) is out of bounds"):
            x.sum().item()
        assert onp.asarray(before).sum() == 66


def test_other_functions_of_computed_indices() -> None:
    for call, kind in (
        (lambda i: np.unravel_index(i, (2, 2))[0], ValueError),
        (lambda i: np.ravel_multi_index((i, i), (3, 2)), ValueError),
        (lambda i: np.digitize(0.5, i), ValueError),
    ):
        value = call(_computed(0, 7, 1))
        with pytest.raises(kind):
            value.tolist()
        assert call(_computed(0, 1, 1)).tolist() is not None


def test_indices_known_on_the_host_raise_at_the_call() -> None:
    x = np.zeros(3)
    index = np.array([0, 5])
    for _ in range(2):  # also when the index has been used, and is on the device
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
            x[index]
        assert np.zeros(6)[index].tolist() == [0, 0]
    with pytest.raises(IndexError):
        x[np.array([-4])] = 1
    before = lazyloom.stats()["ops_traced"]
    x[np.array([1, 2])]
    assert lazyloom.stats()["ops_traced"] == before + 1  # no check is recorded


def test_what_was_chosen_from_known_indices_is_not_all_of_them() -> None:
    known = np.array([5, 1, 0])
    x = np.arange(3)
    assert x[np.take(known, [1, 2])].tolist() == [1, 0]
    with pytest.raises(IndexError, match="5 is out of bounds"):
        x[np.take(known, [0, 1])].tolist()


def test_one_number_of_the_device_makes_a_view() -> None:
    def program(m: Any) -> Any:
        x = m.arange(12.0).reshape(3, 4)
        k = m.argmax(x.sum(1))
        row = x[k]
        row += 1
        row[1:] *= 2
        x[k] -= 0.5
        x[k, k] = 9
        x[:, k][0] = -1
        x[..., k, None] += 3
        copied = x[m.asarray(k) if m is onp else m.array(k)]
        copied[...] = 0
        return x, row, x[k, 1], x[k].base is x.base, x[k].strides, x[k, ..., 0]

    with lazyloom.options(reads="error"):
        got = program(np)
    same(got, program(onp))
    x = np.zeros((3, 4))
    assert x[np.argmax(x)].base is x


def test_masks_with_other_indices() -> None:
    x = onp.arange(24.0).reshape(2, 3, 4)
    t = np.array(x)
    rows, inner, whole = x[:, :, 0] > 3, x[0] > 4, x[0, 0] > 1
    keys: list[Any] = [
        (rows,), (rows, 0), (rows, slice(None, 2)), (rows, Ellipsis), (rows, None),
        (slice(None), inner), (0, inner), (Ellipsis, inner), (None, slice(None), inner),
        (Ellipsis, whole), (0, slice(None), whole), ([0, 1], slice(None), onp.arange(4) == 1),
        (rows, [1] * int(rows.sum())), (None, rows, None, 1), (True, rows), (rows, True),
        (slice(None), 0, whole), (1, [0, 2], slice(None)), (inner[:2, 0], 1),
    ]  # fmt: skip
    for key in keys:
        same(t[ours(key)], x[key], exact=True)
        a, b = x.copy(), np.array(x)
        a[key], b[ours(key)] = -1, -1
        same(b, a, exact=True)
        a[key], b[ours(key)] = x[key] * 2, t[ours(key)] * 2
        same(b, a, exact=True)
