"""What the shape, indexing and network ops promise where definitions differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.ops import lookup

INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        yield


def run(name: str, *operands: Any, **attributes: Any) -> Any:
    op = lookup(name)
    given = [None if o is None else jax.numpy.asarray(o) for o in operands]
    return op.fn(*given, **op.canonical_attributes(attributes))


def slope(name: str, x: Any, *rest: Any, **attributes: Any) -> np.ndarray:
    """The gradient of the sum of the first result with respect to the first operand."""
    def loss(x: Any) -> Any:
        found = run(name, x, *rest, **attributes)
        return jax.numpy.sum(found[0] if isinstance(found, tuple) else found)

    return np.asarray(jax.grad(loss)(jax.numpy.asarray(x)))


def test_negative_positions_wrap_once_then_clamp_or_drop() -> None:
    x = np.arange(4.0)
    where = np.array([-1, -4, -5, 4, 99])
    np.testing.assert_array_equal(run("take", x, where), [3, 0, 0, 3, 3])
    np.testing.assert_array_equal(run("index", x, where, axes=(0,)), [3, 0, 0, 3, 3])
    np.testing.assert_array_equal(run("take_along_axis", x, where), [3, 0, 0, 3, 3])
    ones = np.ones(5)
    added = run("index_update", np.zeros(4), ones, where, axes=(0,), mode="add")
    np.testing.assert_array_equal(added, [1, 0, 0, 1])
    added = run("scatter_along_axis", np.zeros(4), where, ones, mode="add")
    np.testing.assert_array_equal(added, [1, 0, 0, 1])


def test_gradients_of_clamped_positions_reach_the_clamped_element() -> None:
    where = np.array([-1, 99, 0])
    np.testing.assert_array_equal(slope("take", np.zeros(3), where), [1, 0, 2])
    np.testing.assert_array_equal(slope("index", np.zeros(3), where, axes=(0,)), [1, 0, 2])


@pytest.mark.slow
def test_gradient_of_set_is_zero_where_it_was_overwritten() -> None:
    where = np.array([2, 2])
    np.testing.assert_array_equal(
        slope("index_update", np.zeros(4), np.ones(2), where, axes=(0,)), [1, 1, 0, 1])
    strided: dict[str, Any] = {"starts": (3,), "stops": (-1,), "strides": (-2,)}
    np.testing.assert_array_equal(
        slope("slice_update", np.zeros(4), np.ones(2), **strided), [1, 0, 1, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64])
def test_narrow_and_unsigned_positions(dtype: Any) -> None:
    x = np.arange(300)
    top = np.iinfo(dtype).max
    np.testing.assert_array_equal(
        run("take", x, np.array([0, top], dtype)), [0, min(int(top), 299)])
    hot = run("one_hot", np.array([top], dtype), depth=300, dtype="int32")
    assert int(hot.sum()) == (top < 300)


def test_sorting_puts_nan_last_and_first_when_descending() -> None:
    x = np.array([1.0, NAN, -INF, INF, -0.0, 0.0])
    np.testing.assert_array_equal(run("sort", x), [-INF, -0.0, 0.0, 1, INF, NAN])
    np.testing.assert_array_equal(run("sort", x, descending=True), [NAN, INF, 1, 0, 0, -INF])
    np.testing.assert_array_equal(run("argsort", x), [2, 4, 5, 0, 3, 1])
    np.testing.assert_array_equal(run("argsort", x, descending=True), [1, 3, 0, 4, 5, 2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_top_k_orders_as_sort_does(dtype: str) -> None:
    x = jax.numpy.asarray(np.array([1.0, NAN, -INF, INF, -0.0, 0.0, -NAN]), dtype)
    values, where = run("top_k", x, k=7)
    np.testing.assert_array_equal(where, [1, 6, 3, 0, 4, 5, 2])
    np.testing.assert_array_equal(values.astype("float64"), [NAN, NAN, INF, 1, -0.0, 0.0, -INF])
    values, where = run("top_k", x, k=6, largest=False)
    np.testing.assert_array_equal(where, [2, 4, 5, 0, 3, 1])
    assert slope("top_k", x, k=3, largest=False).tolist() == [0, 0, 1, 0, 1, 1, 0]
    numbers = jax.numpy.asarray(np.array([[0, 255, 7], [7, 7, 1]], np.uint8))
    values, where = run("top_k", numbers, k=1, axis=0, largest=False)
    np.testing.assert_array_equal(values, [[0, 7, 1]])
    np.testing.assert_array_equal(where, [[0, 1, 1]])


def test_softmax_of_large_and_infinite_numbers() -> None:
    np.testing.assert_allclose(run("softmax", np.array([1e4, 1e4, -INF])), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(
        run("log_softmax", np.array([-1e4, 0.0, -INF])), [-1e4, 0.0, -INF])
    assert np.isnan(run("softmax", np.array([-INF, -INF]))).all()


@pytest.mark.parametrize("mask", [np.array([[False, False], [True, False]]),
                                  np.array([[-INF, -INF], [0.0, -INF]])])
def test_attention_that_sees_nothing_is_zero_and_has_a_zero_gradient(mask: np.ndarray) -> None:
    q, k, v = np.random.default_rng(0).normal(size=(3, 2, 4))
    name = "scaled_dot_product_attention"
    np.testing.assert_allclose(run(name, q, k, v, mask), [np.zeros(4), v[0]])
    np.testing.assert_allclose(slope(name, q, k, v, mask), np.zeros((2, 4)), atol=1e-12)


@pytest.mark.parametrize("window", [(2, 2), (5, 5)])
def test_max_pool_gives_nan_and_the_gradient_to_the_first_of_equals(window: Any) -> None:
    x = np.zeros((1, 5, 5))
    found = slope("max_pool", x, window=window, strides=(5, 5))
    assert found[0, 0, 0] == 1.0 and found.sum() == 1.0
    x[0, 1, 1] = NAN
    assert np.isnan(run("max_pool", x, window=window, strides=(5, 5))).all()


def test_max_pool_adds_its_gradient_in_float32() -> None:
    """An element that several windows choose: in bfloat16, 1 + 2**-8 would be 1 each time."""
    x = np.zeros((1, 3, 3))
    x[0, 1, 1] = 1.0
    weights = jax.numpy.asarray([[[1.0, 2**-8], [2**-8, 2**-8]]], "bfloat16")

    def loss(x: Any) -> Any:
        return jax.numpy.sum(run("max_pool", x, window=(2, 2), strides=(1, 1)) * weights)

    found = jax.jit(jax.grad(loss))(jax.numpy.asarray(x, "bfloat16"))
    assert found.dtype == "bfloat16"
    assert float(found[0, 1, 1]) == 1 + 2**-6 and float(abs(found).sum()) == 1 + 2**-6


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_gradient_of_what_broadcasts_adds_up_in_float32(dtype: str) -> None:
    weights = jax.numpy.asarray(np.random.default_rng(0).normal(size=(300, 40)), dtype)

    def loss(bias: Any) -> Any:
        return jax.numpy.sum(run("add", weights * 0, bias) * weights)

    found = jax.jit(jax.grad(loss))(jax.numpy.zeros((40,), dtype))
    wanted = np.asarray(weights, np.float64).sum(0).astype(found.dtype)
    assert found.dtype == dtype
    # float64 and float32 may round a tie to either side
    assert (np.asarray(found) == wanted).sum() >= 38


def test_ignored_labels_neither_count_nor_get_a_gradient() -> None:
    logits = np.array([[1.0, 2.0, 3.0], [NAN, 0.0, 0.0]])
    labels = np.array([2, -100])
    loss = run("cross_entropy", logits, labels, ignore_index=-100)
    expected = -np.log(np.exp(3.0) / np.exp([1.0, 2.0, 3.0]).sum())
    np.testing.assert_allclose(loss, expected)
    finite = np.nan_to_num(logits)
    assert not slope("cross_entropy", finite, labels, ignore_index=-100)[1].any()
    assert np.isnan(run("cross_entropy", finite, np.array([-100, -100]), ignore_index=-100))


def test_integer_and_bool_products_wrap_and_saturate() -> None:
    x = np.array([[100, 100]], np.int8)
    assert int(run("matmul", x, x.T)[0, 0]) == (20000 + 128) % 256 - 128
    wide = run("dot_general", x, x, lhs_contract=(1,), rhs_contract=(1,), accumulate="int32")
    assert wide.dtype == np.int32 and int(wide[0, 0]) == 20000
    truth = np.array([[True, False], [False, False]])
    np.testing.assert_array_equal(run("matmul", truth, truth), truth @ truth)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_statistics_are_computed_in_float32(dtype: str) -> None:
    x = jax.numpy.asarray(np.full((1, 4096), 0.1), dtype)
    assert float(run("softmax", x).astype("float64").sum()) == pytest.approx(1.0, rel=1e-2)
    large = jax.numpy.asarray(np.linspace(200, 300, 4096)[None], dtype)
    power = run("rms_norm", large).astype("float64")
    assert np.isfinite(power).all() and float((power**2).mean()) == pytest.approx(1.0, rel=1e-2)


@pytest.mark.slow
def test_second_derivatives_exist() -> None:
    def curvature(name: str, *rest: Any, **attributes: Any) -> Any:
        def loss(x: Any) -> Any:
            found = run(name, x, *rest, **attributes)
            return jax.numpy.sum((found[0] if isinstance(found, tuple) else found) ** 2)

        x = jax.numpy.asarray(np.array([[1.0, 3.0, 2.0], [0.5, -1.0, 4.0]]))
        d = jax.numpy.asarray(np.array([[0.3, -0.2, 0.1], [1.0, 0.4, -0.6]]))
        gradient = jax.grad(loss)
        exact = jax.jvp(gradient, (x,), (d,))[1]
        step = 1e-6
        numerical = (gradient(x + step * d) - gradient(x - step * d)) / (2 * step)
        np.testing.assert_allclose(exact, numerical, rtol=1e-5, atol=1e-6)

    curvature("softmax")
    curvature("log_softmax")
    curvature("layer_norm")
    curvature("cross_entropy", np.array([2, 0]))
    curvature("sort")
    curvature("take", np.array([1, 1, 0]), axis=1)
    curvature("max_pool", window=(2,))
    curvature("matmul", np.arange(6.0).reshape(3, 2))
