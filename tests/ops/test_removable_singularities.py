"""Functions that are smooth where the formula for them is 0 / 0: values and derivatives there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
from lazyloom import Value

pytestmark = pytest.mark.usefixtures("quick_compiler")

TINY = (0.0, 1e-30, 1e-20, 1e-15, 1e-8, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03)
#: about the places where a definition goes from one formula to another
PLACES = np.array([s * x for x in (
    *TINY, 0.1, 0.25, 0.3, 0.317, 0.319, 0.5, 0.9, 0.999, 1.001, 1.5, 1.999, 2.001, 3.0, 4.5)
    for s in (1, -1)])


def _power_series(coefficients: list[float], x: Any) -> list[Any]:
    """A power series and its first two derivatives."""
    found = []
    for order in range(3):
        total = np.zeros_like(x)
        for k in range(len(coefficients) - 1, order - 1, -1):
            total = total + math.perm(k, order) * coefficients[k] * x ** (k - order)
        found.append(total)
    return found


def _even(of: Callable[[int], float], shift: int = 0) -> list[float]:
    """Coefficients of x**(2 k + shift)."""
    found = [0.0] * (2 * 45 + 1 + shift)
    for k in range(45):
        found[2 * k + shift] = of(k)
    return found


SERIES: dict[str, list[float]] = {
    "sinc": _even(lambda k: (-(math.pi**2)) ** k / math.factorial(2 * k + 1)),
    "spherical_bessel_j0": _even(lambda k: (-1) ** k / math.factorial(2 * k + 1)),
    "bessel_j0": _even(lambda k: (-0.25) ** k / math.factorial(k) ** 2),
    "bessel_j1": _even(lambda k: 0.5 * (-0.25) ** k / math.factorial(k) / math.factorial(k + 1), 1),
    "bessel_i0": _even(lambda k: 0.25**k / math.factorial(k) ** 2),
    "bessel_i1": _even(lambda k: 0.5 * 0.25**k / math.factorial(k) / math.factorial(k + 1), 1),
    "expm1": [0.0, *(1 / math.factorial(k) for k in range(1, 60))],
}  # fmt: skip


def _reference(op: str, x: Any) -> list[Any]:
    scaled = {"bessel_i0e": "bessel_i0", "bessel_i1e": "bessel_i1"}.get(op)
    if scaled is None:
        return _power_series(SERIES[op], x)
    f, slope, bend = _power_series(SERIES[scaled], x)
    sign, decay = np.sign(x), np.exp(-np.abs(x))
    return [decay * f, decay * (slope - sign * f), decay * (bend - 2 * sign * slope + sign**2 * f)]


def with_derivatives(op: str, x: Any) -> list[Any]:
    """The values of an op at x, and its first two derivatives."""
    leaf = lazyloom.from_host(x).as_leaf("x")
    found: list[Value] = [lazyloom.record(op, [leaf])]
    for _ in range(2):
        ones = lazyloom.record("full", [lazyloom.Scalar(1, leaf.dtype)], {"shape": leaf.shape})
        (slope,) = lazyloom.gradients([found[-1]], [leaf], [ones], create_graph=True)
        assert slope is not None
        found.append(slope)
    return [v.read() for v in found]


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [*SERIES, "bessel_i0e", "bessel_i1e"])
def test_values_and_derivatives_near_zero(op: str, dtype: str, reproducible: bool) -> None:
    x = PLACES.astype(dtype)
    if op == "sinc":
        x = x[np.abs(x) < 2]
    with lazyloom.options(reproducible=reproducible):
        found = with_derivatives(op, x)
    wide = x.astype("float64")
    close = 3e-5 if dtype == "float32" else 2e-12
    for order, (f, expected) in enumerate(zip(found, _reference(op, wide), strict=True)):
        assert f.dtype == x.dtype
        near = np.abs(wide) < 0.02
        # where a derivative is odd it is as small as x is, and as exact
        np.testing.assert_allclose(f[near], expected[near], rtol=close, atol=1e-37,
                                   err_msg=f"derivative {order}")
        np.testing.assert_allclose(f, expected, rtol=close, atol=close,
                                   err_msg=f"derivative {order}")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sinc_of_complex_numbers_near_zero(dtype: str) -> None:
    size = np.array([0.0, 1e-20, 1e-10, 1e-5, 1e-3, 0.02, 0.3, 0.318, 0.32, 0.7])
    x = (size * np.exp(0.7j)).astype(dtype)
    found = with_derivatives("sinc", x)
    close = 3e-5 if dtype == "complex64" else 2e-12
    for f, expected in zip(found, _power_series(SERIES["sinc"], x.astype("complex128"))):
        np.testing.assert_allclose(f, expected, rtol=close, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["sinc", "spherical_bessel_j0", "bessel_i1", "bessel_j1"])
def test_halves(op: str, dtype: str) -> None:
    from lazyloom.dtypes import as_dtype

    x = np.array([0.0, 6e-8, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.7]).astype(as_dtype(dtype).numpy)
    close = 2e-3 if dtype == "float16" else 2e-2
    for f, expected in zip(with_derivatives(op, x), _reference(op, x.astype("float64"))):
        np.testing.assert_allclose(f.astype("float64"), expected, rtol=close, atol=2e-7)


@pytest.mark.parametrize("op", ["expm1", "elu", "celu"])
def test_the_derivative_of_an_exponential_does_not_cancel(op: str) -> None:
    x = np.array([-1.0, -8.0, -15.0, -20.0, -50.0, -80.0], np.float32)
    _, slope, bend = with_derivatives(op, x)
    np.testing.assert_allclose(slope, np.exp(x.astype("float64")), rtol=1e-5)
    np.testing.assert_allclose(bend, np.exp(x.astype("float64")), rtol=1e-5)


def test_the_logarithm_of_the_normal_distribution_far_out() -> None:
    x = np.array([-60.0, -10.0, -1.0, 0.0, 1.0, 10.0, 30.0, 50.0, np.inf], np.float64)
    value, slope, bend = with_derivatives("log_ndtr", x)
    # the second derivative is -r (x + r) with r the first
    np.testing.assert_allclose(slope[:2], [60.01665742, 10.09809323], rtol=1e-8)
    np.testing.assert_allclose(bend[1:5], -slope[1:5] * (x[1:5] + slope[1:5]), rtol=1e-12)
    assert np.isfinite(bend).all() and (bend[-2:] == 0).all() and (slope[-2:] == 0).all()
    assert np.isfinite(with_derivatives("log_ndtr", x.astype("float32"))[2]).all()
