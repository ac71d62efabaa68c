"""Elementwise ops and reductions where no sample is: gradients at kinks, limits of types."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.dtypes import as_dtype, float16, int8, int32, int64, uint8, uint32, uint64
from lazyloom.ops import lookup
from tests.ops.checks import run

INF, NAN = math.inf, math.nan


def gradients(name: str, *operands: Any, **attributes: Any) -> list[list[float]]:
    op = lookup(name)
    attributes = op.canonical_attributes(attributes)

    def loss(*given: Any) -> Any:
        return jax.numpy.sum(op.fn(*given, **attributes))

    with jax.enable_x64(True):
        given = [jax.numpy.asarray(o, "float64") for o in operands]
        found = jax.grad(loss, tuple(range(len(given))))(*given)
        return [np.asarray(g).tolist() for g in found]


GRADIENTS: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("maximum", [1, 1], {}, [0.5, 0.5]),
    ("minimum", [1, 1], {}, [0.5, 0.5]),
    ("fmax", [NAN, 2], {}, [0, 1]),
    ("fmin", [2, NAN], {}, [1, 0]),
    ("clip", [[0, 1, 2, 3, 4], 1, 3], {}, [[0, 1, 1, 1, 0], 1, 1]),
    ("where", [[1, 0], [2, INF], [NAN, 3]], {}, [[0, 0], [1, 0], [0, 1]]),
    ("relu", [[-1, 0, 1]], {}, [[0, 0, 1]]),
    ("relu6", [[-1, 0, 1, 6, 7]], {}, [[0, 0, 1, 0, 0]]),
    ("hardtanh", [[-1, 0, 1]], {}, [[0, 1, 0]]),
    ("elu", [[-1000, 1000]], {}, [[0, 1]]),
    ("selu", [[1000]], {}, [[1.0507009873554805]]),
    ("softplus", [[-1000, 0, 1000]], {}, [[0, 0.5, 1]]),
    ("log_sigmoid", [[-1000, 0, 1000]], {}, [[1, 0.5, 0]]),
    ("gelu", [[0, 50, -50]], {}, [[0.5, 1, 0]]),
    ("mish", [[1000, -1000]], {}, [[1, 0]]),
    ("sigmoid", [[-1000, 0, 1000]], {}, [[0, 0.25, 0]]),
    ("abs", [[-2, 0, 2]], {}, [[-1, 0, 1]]),
    ("hypot", [[0, 3], [0, 4]], {}, [[0, 0.6], [0, 0.8]]),
    ("xlogy", [[0, 0, 2], [0, 2, 1]], {}, [[0, math.log(2), 0], [0, 0, 2]]),
    ("logaddexp", [[-INF, INF, 0], [-INF, 1, 0]], {}, [[0.5, 1, 0.5], [0.5, 0, 0.5]]),
    ("power", [[0, 0, 2], [2, 1, 3]], {}, [[0, 1, 12], [0, 0, 8 * math.log(2)]]),
    ("power", [[0, 0, -2], [0, -1, 3]], {}, [[0, -INF, 12], [0, -INF, NAN]]),
    ("atan2", [[0, -0.0, 3], [0, -0.0, 4]], {}, [[0, 0, 0.16], [0, 0, -0.12]]),
    ("copysign", [[0, -2], [-1, 3]], {}, [[0, -1], [0, 0]]),
    ("l1_loss", [[1, 3], [1, 2]], {"reduction": "sum"}, [[0, 1], [0, -1]]),
    ("binary_cross_entropy_with_logits", [[0, 0], [0, 1]], {"reduction": "sum"},
     [[0.5, -0.5], [0, 0]]),
    ("integer_power", [[0, -3]], {"exponent": 2}, [[0, -6]]),
    ("floor_divide", [5.5, 2], {}, [0, 0]),
    ("remainder", [-5.5, 2], {}, [1, 3]),
    ("remainder", [[-2, 2], [2, -2]], {}, [[1, 1], [1, 1]]),
    ("digamma", [[-1.5]], {}, [[9.37924664498912]]),
    ("polygamma", [[-1.5]], {"order": 1}, [[-0.236204051641727]]),
    ("log_ndtr", [[-INF, INF]], {}, [[INF, 0]]),
    ("bessel_j1", [[0]], {}, [[0.5]]),
    ("fmod", [-5.5, 2], {}, [1, 2]),
    ("floor", [[0.5, 1]], {}, [[0, 0]]),
    ("round", [[0.5, 1.26]], {"decimals": 1}, [[0, 0]]),
    ("angle", [[0, -1]], {}, [[0, 0]]),
    ("prod", [[2, 0, 3]], {}, [[0, 6, 0]]),
    ("prod", [[0, 0, 3]], {}, [[0, 0, 0]]),
    ("cumprod", [[2, 0, 3]], {"axis": 0}, [[1, 8, 0]]),
    ("cumprod", [[2, 0, 3, 0, 5]], {"axis": 0}, [[1, 8, 0, 0, 0]]),
    ("cumprod", [[3, 0, 2]], {"axis": 0, "reverse": True}, [[0, 8, 1]]),
    ("cummax", [[1, 3, 2, 3, 4]], {"axis": 0}, [[1, 2, 0, 1, 1]]),
    ("cummin", [[1, 3, 2]], {"axis": 0, "reverse": True}, [[1, 0, 2]]),
    ("max", [[1, 3, 3]], {}, [[0, 0.5, 0.5]]),
    ("std", [[2, 2, 2]], {}, [[0, 0, 0]]),
    ("norm", [[0, 0]], {}, [[0, 0]]),
    ("norm", [[0, 0]], {"order": 3.0}, [[0, 0]]),
    ("sinc", [[0, 1]], {}, [[0, -1]]),
    ("softsign", [[0]], {}, [[1]]),
    ("logsumexp", [[0, -INF]], {}, [[1, 0]]),
    ("nan_to_num", [[NAN, INF, 1]], {}, [[0, 0, 1]]),
]


@pytest.mark.parametrize(("name", "operands", "attributes", "expected"), GRADIENTS)
def test_gradients_at_edges(
    name: str, operands: list[Any], attributes: dict[str, Any], expected: list[Any]
) -> None:
    if name == "where":
        op = lookup(name)
        condition = np.array(operands[0], bool)

        def loss(x: Any, y: Any) -> Any:
            return jax.numpy.sum(op.fn(condition, x, y))

        found = jax.grad(loss, (0, 1))(*[jax.numpy.asarray(o, "float32") for o in operands[1:]])
        expected = expected[1:]
    else:
        found = gradients(name, *operands, **attributes)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "attributes", "values"), [
    ("prod", {}, [2.0, 0.0, 3.0]), ("prod", {}, [2.0, 5.0, 3.0]), ("prod", {}, [0.0, 0.0, 3.0]),
    ("cumprod", {"axis": 0}, [2.0, 0.0, 3.0]), ("cumprod", {"axis": 0}, [2.0, 5.0, 3.0]),
])  # fmt: skip
def test_second_derivatives_of_products(
    name: str, attributes: dict[str, Any], values: list[float]
) -> None:
    op = lookup(name)
    attributes = op.canonical_attributes(attributes)

    def last(x: Any) -> Any:
        return jax.numpy.ravel(op.fn(x, **attributes))[-1]

    a, b, c = values
    expected = [[0, c, b], [c, 0, a], [b, a, 0]]
    with jax.enable_x64(True):
        found = jax.hessian(last)(jax.numpy.asarray(values))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "operands", "expected"), [
    ("softplus", [0], 0.25), ("log_sigmoid", [0], -0.25), ("logaddexp", [1, 1], 0.25),
    ("logaddexp2", [1, 1], math.log(2) / 4), ("mish", [0], 0.64), ("power", [0, 1], 0),
    ("binary_cross_entropy_with_logits", [0, 1], 0.25), ("l1_loss", [1, 1], 0),
])  # fmt: skip
def test_second_derivatives_at_edges(name: str, operands: list[Any], expected: float) -> None:
    op = lookup(name)
    attributes = op.canonical_attributes({})
    with jax.enable_x64(True):
        x, *rest = [jax.numpy.asarray(o, "float64") for o in operands]
        found = jax.grad(jax.grad(lambda x: op.fn(x, *rest, **attributes)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_gradient_of_complex_modulus_at_zero_is_zero() -> None:
    gradient = jax.grad(lambda x: lookup("abs").fn(x))(jax.numpy.zeros((), "complex64"))
    assert complex(gradient) == 0


def test_half_precision_accumulates_in_float32() -> None:
    ones = np.ones(5000, np.float16)
    assert run("sum", ones) == 5000
    assert run("mean", ones) == 1
    assert run("cumsum", ones, axis=0)[4095] == 4096
    assert run("arange", np.float16(0), np.float16(1), length=4097)[-1] == 4096


def test_integers_are_numpys_at_the_limits() -> None:
    low = np.int8(-128)
    assert run("floor_divide", low, np.int8(-1)) == -128
    assert run("floor_divide", low, np.int8(0)) == 0
    assert run("remainder", low, np.int8(0)) == 0
    assert run("abs", low) == -128
    assert run("negative", np.uint8(1)) == 255
    assert run("power", np.int32(2), np.int32(-1)) == 0
    assert run("power", np.int64(3), np.int64(41)) == 3**41 - 2**64 * 2 + 2**64 * (
        2 - (3**41 + 2**63) // 2**64)


def test_casts_out_of_range_are_as_on_x86() -> None:
    x = np.array([NAN, INF, -INF, 300.9, -300.9, -1.5, 3e9])
    least = -2**31
    for dtype, expected in (
        (int8, [0, 0, 0, 44, -44, -1, 0]), (uint8, [0, 0, 0, 44, 212, 255, 0]),
        (int32, [least, least, least, 300, -300, -1, least]),
        (uint32, [0, 0, 0, 300, 2**32 - 300, 2**32 - 1, 3 * 10**9]),
        (int64, [-2**63, -2**63, -2**63, 300, -300, -1, 3 * 10**9]),
    ):  # fmt: skip
        assert run("cast", x, dtype=dtype).tolist() == expected, dtype
    x = np.array([2.0**63, -2.0, 1.8e19])
    assert run("cast", x, dtype=uint64).tolist() == [2**63, 2**64 - 2, 18 * 10**18]
    assert run("cast", np.array([65520.0]), dtype=float16).tolist() == [INF]
    assert run("cast", np.array([0.0, NAN, 0.2]), dtype=as_dtype(bool)).tolist() == [
        False, True, True]
