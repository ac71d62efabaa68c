"""Products of complex numbers are of the same class in every form, and four products of parts.

Each of the four is rounded, and infinite if it is too large, before two of them are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import rec

pytestmark = [
    pytest.mark.op_by_op, pytest.mark.xla,
    pytest.mark.once("kernels and lowerings are texts that are made outside the core")]

FORMS: list[dict[str, Any]] = [
    {"reproducible": False, "compiled_beside": 0}, {"reproducible": True}]


def numbers(dtype: Any) -> np.ndarray:
    """Complex numbers whose parts are at the ends of the dtype, and between them."""
    largest = np.finfo(dtype).max
    root = np.sqrt(largest) * 1.5
    parts = np.array([0, -0.0, 1, -1, 2, 0.5, np.inf, -np.inf, np.nan, largest, -largest,
                      largest / 2, root, -root], np.finfo(dtype).dtype)
    found = np.empty(len(parts) ** 2, dtype)
    found.real, found.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    return found


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        real, imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    found = np.empty(real.shape, a.dtype)
    found.real, found.imag = real, imag
    return found


def same(found: Any, expected: np.ndarray) -> None:
    found = np.asarray(found.read())
    assert found.shape == expected.shape
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.parametrize("options", FORMS, ids=("op_by_op", "compiled"))
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_each_part_is_made_of_rounded_products(dtype: Any, options: dict[str, Any]) -> None:
    some = numbers(dtype)
    x, y = np.repeat(some, len(some)), np.tile(some, len(some))
    with ll.options(**options):
        same(rec("multiply", ll.from_host(x), ll.from_host(y)), product(x, y))
        same(rec("square", ll.from_host(some)), product(some, some))
        same(rec("integer_power", ll.from_host(some), exponent=2), product(some, some))
        cube = product(some, product(some, some))
        same(rec("integer_power", ll.from_host(some), exponent=3), cube)
        # one number by many, and by 1, which has a part of 0
        one = np.ones((), dtype)
        same(rec("multiply", ll.from_host(some), ll.from_host(one)), product(some, one))


@pytest.mark.parametrize("options", FORMS, ids=("op_by_op", "compiled"))
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("left", "right"), [
    ((14, 1), (1, 14)), ((1,), (1, 14)), ((14, 1), (1,)), ((2, 7, 1), (2, 1, 7)), ((1,), (1,))])
def test_a_product_of_matrices_with_one_term_is_a_product(
    left: tuple[int, ...], right: tuple[int, ...], dtype: Any, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(1)
    some = numbers(dtype)
    some = some[~(np.isnan(some.real) | np.isnan(some.imag))]
    x, y = rng.choice(some, left), rng.choice(some, right)
    ends = x[..., None] if len(left) == 1 else x, y[:, None] if len(right) == 1 else y
    expected = product(*ends).reshape(np.matmul(np.ones(left), np.ones(right)).shape)
    with ll.options(**options):
        same(rec("matmul", ll.from_host(x), ll.from_host(y)), expected)


@pytest.mark.parametrize("options", FORMS, ids=("op_by_op", "compiled"))
def test_large_arrays_with_and_without_what_is_too_large(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=70_001) + 1j * rng.normal(size=70_001)
    with ll.options(**options):
        # of (x + xi) ** 2 the real part is 0
        x[::2].imag = x[::2].real
        same(rec("multiply", ll.from_host(x), ll.from_host(x)), product(x, x))
        same(rec("multiply", ll.from_host(x[::-1]), ll.from_host(x[:1])), product(x[::-1], x[:1]))
        x[12_345] = 1e200 + 1e200j
        expected = product(x, x)
        assert np.isnan(expected.real[12_345]) and np.isinf(expected.imag[12_345])
        same(rec("multiply", ll.from_host(x), ll.from_host(x)), expected)
