"""Line 7: views alias as NumPy's do, and a gradient through an overwritten value is right."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import frontend as views
from tests.contract.helpers import host, number, tensor


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def total(v: Any) -> Any:
    return rec("sum", v, axes=None, keepdims=False)


def random_view(rng: random.Random, t: ll.Tensor, a: np.ndarray) -> tuple[ll.Tensor, np.ndarray]:
    """A random view of the tensor and the same of the array."""
    kind = rng.randrange(5)
    if kind == 0 and a.size:
        starts, sizes, steps, index = [], [], [], []
        for d in a.shape:
            step = rng.choice([1, 1, 1, 2, -1, -2])
            start = rng.randrange(d)
            most = len(range(start, d, step)) if step > 0 else len(range(start, -1, step))
            size = rng.randint(1, most)
            starts.append(start), sizes.append(size), steps.append(step)
            stop = start + step * size
            index.append(slice(start, stop if stop >= 0 else None, step))
        return t._alias(views.Slice(tuple(starts), tuple(sizes), tuple(steps))), a[tuple(index)]
    if kind == 1:
        axes = list(range(a.ndim))
        rng.shuffle(axes)
        return t._alias(views.Permute(tuple(axes))), a.transpose(axes)
    if kind == 2 and a.flags.c_contiguous:
        shape = rng.choice([(a.size,), (1, a.size), (a.size, 1)])
        return t._alias(views.Reshape(shape)), a.reshape(shape)
    if kind == 3 and a.ndim == 2 and min(a.shape):
        offset = rng.randint(-a.shape[0] + 1, a.shape[1] - 1)
        part = np.lib.stride_tricks.as_strided(
            a[max(-offset, 0) :, max(offset, 0) :],
            (min(a.shape[0] - max(-offset, 0), a.shape[1] - max(offset, 0)),),
            (a.strides[0] + a.strides[1],))
        return t._alias(views.Diagonal(offset, 0, 1)), part
    return t._alias(views.Slice((0,) * a.ndim, a.shape, (1,) * a.ndim)), a[...]


@pytest.mark.parametrize("seed", range(6))
def test_chains_of_views_alias_as_numpys(seed: int) -> None:
    rng = random.Random(seed)
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    base = tensor(array)
    known = [(base, array)]
    for step in range(30):
        t, a = rng.choice(known)
        move = rng.random()
        if move < 0.4 or len(known) < 3:
            known.append(random_view(rng, t, a))
            if len(known) > 8:
                known.pop(rng.randrange(1, len(known)))
        elif move < 0.8:
            new = ll.apply("add", [ll.apply("multiply", [t, 0.5]), float(step + 2)])
            t._write(new.value)
            a[...] = a * np.float32(0.5) + np.float32(step + 2)
        else:
            np.testing.assert_array_equal(t.read(), a)
    for t, a in known:
        np.testing.assert_array_equal(t.read(), a)


def test_a_write_of_a_view_into_an_overlapping_view_reads_the_old_contents() -> None:
    array = np.arange(6, dtype=np.float32)
    t = tensor(array)
    left, right = (t._alias(views.Slice((s,), (4,), (1,))) for s in (0, 2))
    right._write(left.value)
    array[2:6] = array[0:4].copy()
    np.testing.assert_array_equal(t.read(), array)


def test_real_and_imaginary_parts_alias() -> None:
    a = np.array([1 + 2j, 3 - 4j], np.complex64)
    t = tensor(a, np.complex64)
    re, im = t._alias(views.Real()), t._alias(views.Imag())
    re._write(host([9, 8]))
    a.real = [9, 8]
    np.testing.assert_array_equal(t.read(), a)
    im._write(ll.apply("add", [im, re]).value)
    a.imag += a.real
    np.testing.assert_array_equal(t.read(), a)


def test_a_bitcast_view_aliases() -> None:
    a = np.array([1.0, 2.0], np.float32)
    t = tensor(a)
    bits = t._alias(views.Bitcast(ll.dtypes.int32))
    np.testing.assert_array_equal(bits.read(), a.view(np.int32))
    bits._write(host([0x40400000, 0], np.int32))
    assert t.read().tolist() == [3.0, 0.0]


def test_versions_count_writes_through_any_view() -> None:
    t = tensor([1.0, 2.0, 3.0])
    part = t._alias(views.Slice((1,), (2,), (1,)))
    assert t.version == part.version == 0
    part._write(host([5, 6]))
    t._write(host([7, 8, 9]))
    assert t.version == part.version == 2
    assert part.read().tolist() == [8, 9]


def test_a_view_of_a_dropped_base_stays_alive() -> None:
    t = tensor([1.0, 2.0, 3.0])
    part = t._alias(views.Slice((1,), (2,), (1,)))
    del t
    part._write(ll.apply("multiply", [part, 2.0]).value)
    assert part.read().tolist() == [4, 6]


# Gradients through writes


def test_a_gradient_uses_the_value_that_the_forward_op_saw() -> None:
    x = np.array([0.5, -1.0, 2.0], np.float32)
    for read_between in (False, True):
        leaf = host(x).as_leaf("x")
        t = ll.Tensor(rec("multiply", leaf, leaf))
        y = ll.apply("sin", [t])
        t._write(rec("multiply", t.value, number(100.0)))
        loss = total(rec("add", y.value, t.value))
        if read_between:
            loss.read()
        (g,) = ll.gradients([loss], [leaf])
        assert g is not None
        np.testing.assert_allclose(
            g.read(), 2 * x * np.cos(x * x) + 200 * x, rtol=1e-5, atol=1e-5)


def test_a_gradient_through_a_written_slice() -> None:
    x = np.arange(1.0, 5.0).astype(np.float32)
    w = np.array([10.0, 20.0], np.float32)
    for read_between in (False, True):
        xl, wl = host(x).as_leaf("x"), host(w).as_leaf("w")
        t = ll.Tensor(rec("multiply", xl, number(3.0)))
        part = t._alias(views.Slice((1,), (2,), (1,)))
        part._write(rec("multiply", part.value, wl))
        loss = total(rec("multiply", t.value, t.value))
        if read_between:
            loss.read()
        gx, gw = ll.gradients([loss], [xl, wl])
        assert gx is not None and gw is not None
        scale = np.array([1, 10, 20, 1], np.float32)
        np.testing.assert_allclose(gx.read(), 18 * scale**2 * x, rtol=1e-5)
        np.testing.assert_allclose(gw.read(), 18 * x[1:3] ** 2 * w, rtol=1e-5)


def test_overwritten_data_carries_no_gradient() -> None:
    xl = host([1.0, 2.0]).as_leaf("x")
    t = ll.Tensor(rec("multiply", xl, number(3.0)))
    t._alias(views.Slice((0,), (1,), (1,)))._write(host([7.0]))
    loss = total(t.value)
    (g,) = ll.gradients([loss], [xl])
    assert g is not None
    np.testing.assert_array_equal(g.read(), [0.0, 3.0])


def test_a_detached_tensor_shares_data_and_carries_no_gradient() -> None:
    xl = host([1.0, 2.0]).as_leaf("x")
    t = ll.Tensor(rec("multiply", xl, number(3.0)))
    d = t._detached()
    assert t.value.requires_grad and not d.value.requires_grad
    d._write(host([5.0, 6.0]))
    assert t.read().tolist() == [5, 6]


def test_a_view_that_was_read_without_gradients_has_one_afterwards() -> None:
    leaf = ll.Tensor(host([1.0, 2.0, 3.0]).as_leaf("x"))
    view = leaf._alias(views.Slice((1,), (2,), (1,)))
    before = ll.set_grad_enabled(False)
    quiet = rec("multiply", view.value, view.value)
    ll.set_grad_enabled(before)
    assert not quiet.requires_grad
    ((_, g),) = ll.backward([total(rec("multiply", view.value, view.value))])
    np.testing.assert_allclose(g.read(), [0, 4, 6])
