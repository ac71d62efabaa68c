"""Complex functions where a part is zero, infinite or NaN, compared with NumPy part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom

#: the op: NumPy's function
FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "reciprocal": np.reciprocal,
}  # fmt: skip
PARTS = (0.0, -0.0, 0.25, -0.25, 1.0, -1.0, 1.5, -1.5, 2.5, np.inf, -np.inf, np.nan)


def grid(dtype: Any) -> Any:
    x = np.empty((len(PARTS), len(PARTS)), dtype)
    x.real = np.array(PARTS)[:, None]
    x.imag = np.array(PARTS)
    return x.ravel()


def same_part(a: Any, b: Any, tolerance: float) -> Any:
    """Equal with the sign of zeros, up to rounding where both are finite and not zero."""
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= tolerance * np.abs(a)
    exact = (a == b) & (np.signbit(a) == np.signbit(b))
    return np.where(np.isfinite(a) & (a != 0), close, exact) | (np.isnan(a) & np.isnan(b))


def standard_expm1(x: Any, theirs: Any) -> Any:
    """What NumPy gives, but for NaN where the array API standard says more."""
    a, b = x.real, x.imag
    theirs = theirs.copy()
    unknown = ~np.isfinite(b)
    theirs.imag[b == 0] = b[b == 0]
    theirs.real[np.isposinf(a) & (unknown | (b == 0))] = np.inf
    low = np.isneginf(a) & unknown
    theirs.real[low] = -1.0
    theirs.imag[low] = np.where(np.isneginf(b[low]), -0.0, 0.0)
    return theirs


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_signed_zeros_infinities_and_nan(op: str, dtype: str) -> None:
    x = grid(dtype)
    with np.errstate(all="ignore"):
        theirs = FUNCTIONS[op](x)
    if op == "expm1":
        theirs = standard_expm1(x, theirs)
    ours = lazyloom.apply(op, [lazyloom.from_host(x)]).read()
    assert ours.dtype == theirs.dtype
    tolerance = 16 * np.finfo(dtype).eps
    right = same_part(theirs.real, ours.real, tolerance) & same_part(
        theirs.imag, ours.imag, tolerance)
    wrong = [f"{op}({x[i]}) is {ours[i]}, not {theirs[i]}" for i in np.flatnonzero(~right)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients(dtype: str) -> None:
    x, y = (v.ravel() for v in np.meshgrid(grid(dtype), grid(dtype)))
    with np.errstate(all="ignore"):
        theirs = x / y
    ours = lazyloom.apply("divide", [lazyloom.from_host(x), lazyloom.from_host(y)]).read()
    tolerance = 16 * np.finfo(dtype).eps
    right = same_part(theirs.real, ours.real, tolerance) & same_part(
        theirs.imag, ours.imag, tolerance)
    wrong = [f"{x[i]} / {y[i]} is {ours[i]}, not {theirs[i]}" for i in np.flatnonzero(~right)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers(dtype: str) -> None:
    """Of finite numbers with any exponent, of all with a whole one below 4."""
    x, y = (v.ravel() for v in np.meshgrid(grid(dtype), grid(dtype)))
    plain = (np.isfinite(x) & np.isfinite(y)) | np.isin(y, [0, 1, 2, 3])
    x, y = x[plain], y[plain]
    with np.errstate(all="ignore"):
        theirs = x**y
    ours = lazyloom.apply("power", [lazyloom.from_host(x), lazyloom.from_host(y)]).read()
    tolerance = 64 * np.finfo(dtype).eps
    with np.errstate(all="ignore"):
        close = np.abs(ours - theirs) <= tolerance * np.abs(theirs)
    right = same_part(theirs.real, ours.real, tolerance) & same_part(
        theirs.imag, ours.imag, tolerance) | close
    wrong = [f"{x[i]} ** {y[i]} is {ours[i]}, not {theirs[i]}" for i in np.flatnonzero(~right)]
    assert not wrong, "\n".join(wrong)


def test_whole_powers_are_products() -> None:
    x = np.array([1 + 2j, -3 + 0.5j, 0.1 - 7j])
    for n in (0, 1, 2, 3, 4, 7, 50, -1, -2, -5):
        y = np.full(3, n, "complex128")
        ours = lazyloom.apply("power", [lazyloom.from_host(x), lazyloom.from_host(y)]).read()
        np.testing.assert_allclose(ours, x**n, rtol=1e-14)
    squared = lazyloom.apply("power", [lazyloom.from_host(x), lazyloom.from_host(x * 0 + 2)])
    assert squared.read()[0] == -3 + 4j


@pytest.mark.parametrize("op", FUNCTIONS)
def test_gradients_do_not_see_the_corrections(op: str) -> None:
    """The derivative along both axes is f', also on the upper side of a branch cut."""
    cuts = op in ("log", "log2", "log10", "log1p", "sqrt", "acosh", "atanh", "asin", "acos")
    x = np.array([0.3 + 0.4j, -1.5 + 0.5j, 2.5 - 0.25j, -2.0 + 0.0j, 0.2 - 1.5j])
    given = lazyloom.Tensor(lazyloom.from_host(x))

    def total(v: Any) -> Any:
        return lazyloom.apply("sum", [lazyloom.apply("real", [lazyloom.apply(op, [v])])])

    found = lazyloom.grad(total)(given).read()
    f, step = FUNCTIONS[op], 1e-6
    along_real = (f(x + step) - f(x - step)).real / (2 * step)
    up, down = np.full(5, 1j * step), np.full(5, 1j * step)
    if cuts:  # from above only, with an error of first order
        down[3] = 0
    along_imag = (f(x + up) - f(x - down)).real / np.abs(up + down)
    np.testing.assert_allclose(found.real, along_real, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.imag, -along_imag, rtol=1e-4, atol=1e-5)
