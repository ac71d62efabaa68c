"""Quantisation: rounding, limits, gradients and errors."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.dtypes import float32, int8, int16, uint8
from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops import lookup
from tests.ops import checks


def test_halves_go_to_the_even_number_and_what_is_too_large_to_the_limit() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, np.inf, -np.inf, np.nan], np.float32)
    found = checks.run("quantize", x, np.float32(1), np.int8(1), dtype=int8)
    assert found.dtype == np.int8
    assert found.tolist() == [1, 3, 3, 1, -1, 127, -128, 127, -128, 1]
    found = checks.run("quantize", x, np.float32(1), dtype=uint8)
    assert found.tolist() == [0, 2, 2, 0, 0, 255, 0, 255, 0, 0]


@pytest.mark.parametrize("dtype", [int8, uint8])
@pytest.mark.parametrize("scale", [1.0, 0.1, 3e-5, 7.7e12])
def test_every_integer_comes_back(dtype: Any, scale: float) -> None:
    limits = np.iinfo(dtype.numpy)
    x = np.arange(limits.min, limits.max + 1).astype(dtype.numpy)
    zero = np.array(5, dtype.numpy)
    number = checks.run("dequantize", x, np.float32(scale), zero)
    assert number.dtype == np.float32
    again = checks.run("quantize", number, np.float32(scale), zero, dtype=dtype)
    np.testing.assert_array_equal(again, x)


def test_a_fake_quantisation_is_the_two_others() -> None:
    x = np.random.default_rng(0).normal(0, 30, (4, 3, 5)).astype(np.float32)
    scale, zero = np.array([0.1, 0.2, 0.3], np.float32), np.array([0, 3, -3], np.int8)
    given = checks.run("fake_quantize", x, scale, zero, axis=1, low=-128, high=127)
    integers = checks.run("quantize", x, scale, zero, axis=1, dtype=int8)
    np.testing.assert_array_equal(
        given, checks.run("dequantize", integers, scale, zero, axis=1))


def test_the_gradient_passes_within_the_limits() -> None:
    x = np.array([-5, -4.6, -4.4, 0, 3.4, 3.6, 9], np.float32)

    def total(x: Any) -> Any:
        return jax.numpy.sum(lookup("fake_quantize").fn(
            x, jax.numpy.float32(1), jax.numpy.int32(0), low=-4, high=3))

    assert jax.grad(total)(x).tolist() == [0, 0, 1, 1, 1, 0, 0]


ERRORS: list[tuple[str, list[str | None], dict[str, Any], type[Exception], str]] = [
    ("quantize", ["float32 3", "float32"], {"dtype": float32}, ArgumentError,
     "quantize: attribute 'dtype' is float32, expected int8 or uint8"),
    ("quantize", ["float32 2 3", "float32 2"], {"dtype": int8}, ShapeError,
     "quantize: operand 'scale' has shape (2,), expected (): one number, as attribute 'axis' is "
     "None"),
    ("quantize", ["float32 2 3", "float32 2"], {"dtype": int8, "axis": 1}, ShapeError,
     "quantize: operand 'scale' has shape (2,), expected (3,): one for each place along axis 1 of "
     "operand 'x' of shape (2, 3)"),
    ("quantize", ["float32 2", "float32 2", "int8"], {"dtype": int8, "axis": 0}, ShapeError,
     "quantize: operand 'zero_point' has shape (), expected (2,): one for each place along axis 0 "
     "of operand 'x' of shape (2,)"),
    ("quantize", ["float32", "float32", "int32"], {"dtype": int8}, DTypeError,
     "quantize: operand 'zero_point' has dtype int32, expected int8, which attribute 'dtype' is; "
     "cast it first"),
    ("quantize", ["float32 2", "float32 2"], {"dtype": int8, "axis": 1}, ArgumentError,
     "quantize: attribute 'axis' has 1, expected -1 to 0 for an operand with 1 axis"),
    ("dequantize", ["int16 2", "float32"], {}, DTypeError,
     "dequantize: operand 'x' has dtype int16, expected int8, uint8 or int32; cast it first"),
    ("dequantize", ["int8 2", "float32", "uint8"], {}, DTypeError,
     "dequantize: operand 'zero_point' has dtype uint8, expected int8, which operand 'x' has; "
     "cast it first"),
    ("fake_quantize", ["float32 2", "float32", "int32"], {"low": 3, "high": 3}, ArgumentError,
     "fake_quantize: attributes 'low' and 'high' are 3 and 3, expected low < high within "
     "-16777216 to 16777216"),
]


@pytest.mark.parametrize("name, types, attributes, error, text", ERRORS)
def test_errors(
    name: str, types: list[str | None], attributes: dict[str, Any], error: type[Exception],
    text: str,
) -> None:  # fmt: skip
    checks.refuses(name, types, attributes, error, text)


def test_results_have_the_dtype_that_is_asked_for() -> None:
    assert checks.infer("quantize", ["bfloat16 2", "bfloat16"], {"dtype": uint8})[0].dtype is uint8
    assert checks.infer("dequantize", ["int32 2", "float16"])[0].text == "float16[2]"
    with pytest.raises(ArgumentError):
        checks.infer("quantize", ["float32", "float32"], {"dtype": int16})
