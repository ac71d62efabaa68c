"""Errors of ops and their type rules, in full: op, operand, what was given and what is expected."""

from __future__ import annotations

from typing import Any

import pytest

from lazyloom.dtypes import float32
from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from tests.ops import checks

ERRORS: list[tuple[str, list[str | None], dict[str, Any], type[Exception], str]] = [
    ("add", ["float32 3", "float32 4"], {}, ShapeError,
     "add: shapes x (3,), y (4,) do not broadcast: axis -1 has size 3 in 'x' and 4 in 'y';"
     " expected equal sizes or 1, reshape one of them"),
    ("add", ["float32 2 3", "float32 3 3"], {}, ShapeError,
     "add: shapes x (2, 3), y (3, 3) do not broadcast: axis -2 has size 2 in 'x' and 3 in "
     "'y'; expected equal sizes or 1, reshape one of them"),
    ("where", ["bool 5", "int8 2 3", "int8"], {}, ShapeError,
     "where: shapes condition (5,), x (2, 3), y () do not broadcast: axis -1 has size 5 in"
     " 'condition' and 3 in 'x'; expected equal sizes or 1, reshape one of them"),
    ("add", ["float32", "float64"], {}, DTypeError,
     "add: operand 'y' has dtype float64, expected float32 as operand 'x' has; ops never "
     "promote, cast one of them"),
    ("divide", ["int32", "int32"], {}, DTypeError,
     "divide: operand 'x' has dtype int32, expected a floating-point or complex type; cast"
     " it first"),
    ("bitwise_and", ["float32", "float32"], {}, DTypeError,
     "bitwise_and: operand 'x' has dtype float32, expected bool or an integer type; cast "
     "it first"),
    ("add", ["float32"], {}, ArgumentError,
     "add: 1 operands were given, expected 2 (x, y); operand 'y' is missing"),
    ("sum", ["float32 2 3"], {"axes": (5,)}, ArgumentError,
     "sum: attribute 'axes' has 5, expected -2 to 1 for an operand with 2 axes"),
    ("sum", ["float32 2 3"], {"axes": (0, -2)}, ArgumentError,
     "sum: attribute 'axes' is (0, -2), which names an axis twice; expected distinct axes"),
    ("sum", ["float32"], {"axes": (0,)}, ArgumentError,
     "sum: attribute 'axes' has 0, but the operand is 0-d and has no axis"),
    ("max", ["float32 0 3"], {"axes": (0,)}, ShapeError,
     "max: axis 0 of operand 'x' of shape (0, 3) has size 0, expected 1 or more: there is "
     "no result over nothing"),
    ("argmax", ["float32 0"], {}, ShapeError,
     "argmax: axis 0 of operand 'x' of shape (0,) has size 0, expected 1 or more: there is"
     " no result over nothing"),
    ("argmax", ["float32 2"], {"axis": 1}, ArgumentError,
     "argmax: attribute 'axis' has 1, expected -1 to 0 for an operand with 1 axis"),
    ("cumsum", ["float32"], {"axis": 0}, ArgumentError,
     "cumsum: attribute 'axis' has 0, but the operand is 0-d and has no axis"),
    ("cumsum", ["float32 3"], {}, ArgumentError,
     "cumsum: attribute 'axis' is missing, expected an integer"),
    ("clip", [None, "float32", None], {}, ArgumentError,
     "clip: operand 'x' is missing"),
    ("complex", ["float16", "float16"], {}, DTypeError,
     "complex: operand 'real' has dtype float16, expected float32 or float64; cast it "
     "first"),
    ("integer_power", ["int32"], {"exponent": -1}, ArgumentError,
     "integer_power: attribute 'exponent' is -1 for operand 'x' of dtype int32, expected 0"
     " or more; cast to a floating-point type first"),
    ("gelu", ["float32"], {"approximate": "erf"}, ArgumentError,
     "gelu: attribute 'approximate' is 'erf', expected one of 'none', 'tanh'"),
    ("bitcast", ["uint8 3"], {"dtype": "float32"}, ShapeError,
     "bitcast: operand 'x' has shape (3,) and dtype uint8, expected a last axis of size 4 "
     "to make one float32 of"),
    ("full", ["float32 1"], {"shape": (2,)}, ShapeError,
     "full: operand 'value' has shape (1,), expected a 0-d operand"),
    ("full", ["float32"], {"shape": (2, -1)}, ArgumentError,
     "full: attribute 'shape' is (2, -1), expected sizes of 0 or more"),
    ("arange", ["int32 2", "int32"], {"length": 3}, ShapeError,
     "arange: operand 'start' has shape (2,), expected a 0-d operand"),
    ("arange", ["int32", "int32"], {"length": -3}, ArgumentError,
     "arange: attribute 'length' is -3, expected 0 or more"),
    ("eye", [], {"n": -1, "dtype": "float32"}, ArgumentError,
     "eye: attribute 'n' is -1, expected 0 or more"),
    ("iota", [], {"shape": (2,), "axis": 1, "dtype": "int32"}, ArgumentError,
     "iota: attribute 'axis' has 1, expected -1 to 0 for an operand with 1 axis"),
    ("iota", [], {"shape": (2,), "axis": 0, "dtype": "bool"}, DTypeError,
     "iota: attribute 'dtype' is bool, expected a number's; cast the result"),
    ("random_bits", ["uint32 2"], {"shape": (1,), "dtype": "int32"}, DTypeError,
     "random_bits: attribute 'dtype' is int32, expected uint8, uint16, uint32 or uint64; "
     "bitcast the result for another"),
    ("random_normal", ["uint32 3"], {"shape": ()}, ArgumentError,
     "random_normal: operand 'key' is uint32[3], expected a random key, uint32[2]"),
    ("random_normal", ["uint32 2"], {"shape": (), "dtype": "int32"}, DTypeError,
     "random_normal: attribute 'dtype' is int32, expected a floating-point type; cast the "
     "result for another"),
    ("random_normal", ["uint32 2", "float64"], {"shape": ()}, DTypeError,
     "random_normal: operand 'mean' has dtype float64, expected float32 as attribute "
     "'dtype' says; cast it first"),
    ("random_uniform", ["uint32 2", "float32 4", "float32"], {"shape": (3,)}, ShapeError,
     "random_uniform: operand 'low' has shape (4,), which does not broadcast to attribute "
     "'shape' (3,); give the shape that the parameters broadcast to"),
    ("random_multinomial", ["uint32 2", "int64", "float64"], {"shape": (3,)}, ShapeError,
     "random_multinomial: operand 'p' has shape (), expected a last axis of size 1 or more, a "
     "class each"),
    ("random_multinomial", ["uint32 2", "int64 2", "float64 4"], {"shape": (3,)}, ShapeError,
     "random_multinomial: operand 'n' has shape (2,), which does not broadcast to attribute "
     "'shape' (3,); give the shape that the parameters broadcast to"),
    ("random_multivariate_hypergeometric", ["uint32 2", "int64", "int64 2 4"], {"shape": (3,)},
     ShapeError, "random_multivariate_hypergeometric: operand 'colors' has shape (2, 4), which "
     "does not broadcast to attribute 'shape' (3,); give the shape that the parameters "
     "broadcast to"),
    ("random_categorical", ["uint32 2", "float32 4 3"], {"shape": (3,)}, ShapeError,
     "random_categorical: attribute 'shape' is (3,), expected it to end in (4,), the shape"
     " of operand 'logits' without its last axis"),
    ("random_categorical", ["uint32 2", "float32"], {"shape": (3,)}, ShapeError,
     "random_categorical: operand 'logits' has shape (), expected a last axis of size 1 or"
     " more, a class each"),
    ("round", ["float32"], {"decimals": 1.5}, ArgumentError,
     "round: attribute 'decimals' has 1.5, expected an integer"),
    ("sum", ["int8 2"], {"dtype": "int7"}, DTypeError,
     "dtype 'int7' is not supported; expected one of bool, int8, int16, int32, int64, "
     "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, "
     "complex128"),
    ("sum", ["int8 2"], {"axis": 0}, ArgumentError,
     "sum: attribute 'axis' is not known, expected: axes, dtype, keepdims"),
    ("sin", ["int32"], {}, DTypeError,
     "sin: operand 'x' has dtype int32, expected a floating-point or complex type; cast it"
     " first"),
    ("maximum", ["complex64", "complex64"], {}, DTypeError,
     "maximum: operand 'x' has dtype complex64, expected an ordered type (not complex); "
     "cast it first"),
]


@pytest.mark.parametrize(("name", "types", "attributes", "error", "text"), ERRORS)
def test_errors(name: str, types: list[str | None], attributes: dict[str, Any],
                error: type[Exception], text: str) -> None:  # fmt: skip
    with pytest.raises(error) as caught:
        checks.infer(name, types, attributes)
    assert str(caught.value) == text


def test_inference_is_exact_in_dtype() -> None:
    result = checks.infer("sum", ["float16 2 3"], {"axes": (0,), "dtype": float32})
    assert [t.text for t in result] == ["float32[3]"]
