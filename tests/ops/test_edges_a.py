"""What samples do not reach: errors in full, gradients at kinks, ranges of random numbers."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.dtypes import as_dtype, float16, float32, int8, int32, int64, uint8, uint32, uint64
from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops import lookup
from tests.ops import checks

INF, NAN = math.inf, math.nan


def run(name: str, *operands: Any, **attributes: Any) -> np.ndarray:
    op = lookup(name)
    with jax.enable_x64(True):
        given = [None if o is None else jax.numpy.asarray(o) for o in operands]
        return np.asarray(op.fn(*given, **op.canonical_attributes(attributes)))


def gradients(name: str, *operands: Any, **attributes: Any) -> list[list[float]]:
    op = lookup(name)
    attributes = op.canonical_attributes(attributes)

    def loss(*given: Any) -> Any:
        return jax.numpy.sum(op.fn(*given, **attributes))

    with jax.enable_x64(True):
        given = [jax.numpy.asarray(o, "float64") for o in operands]
        found = jax.grad(loss, tuple(range(len(given))))(*given)
        return [np.asarray(g).tolist() for g in found]


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
     "cumsum: attribute 'axis' (int) is missing"),
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


# Random numbers

KEY = np.array([3, 5], np.uint32)


def test_threefry_test_vector() -> None:
    """The vector of Random123's kat_vectors for Threefry-2x32 with 20 rounds, halves mixed."""
    found = run("random_bits", np.zeros(2, np.uint32), shape=(1,), dtype=uint32)
    assert found.tolist() == [0x6B200159 ^ 0x99BA4EFE]


def test_numbers_do_not_depend_on_jax_configuration() -> None:
    usual = run("random_normal", KEY, shape=(4,))
    with jax.threefry_partitionable(False):
        np.testing.assert_array_equal(run("random_normal", KEY, shape=(4,)), usual)
    with jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(run("random_normal", KEY, shape=(4,)), usual)


def test_bits_are_those_of_jax() -> None:
    with jax.threefry_partitionable(True), jax.enable_x64(True):
        key = jax.random.wrap_key_data(KEY, impl="threefry2x32")
        for name in ("uint8", "uint16", "uint32", "uint64"):
            expected = np.asarray(jax.random.bits(key, (3, 5), name))
            np.testing.assert_array_equal(
                run("random_bits", KEY, shape=(3, 5), dtype=name), expected)
        expected = np.asarray(jax.random.key_data(jax.random.split(key, 3)))
        np.testing.assert_array_equal(run("random_split", KEY, num=3), expected)
        expected = np.asarray(jax.random.key_data(jax.random.fold_in(key, 9)))
        np.testing.assert_array_equal(run("random_fold_in", KEY, np.int64(9)), expected)


def test_keys_give_independent_numbers() -> None:
    keys = run("random_split", KEY, num=3)
    folded = [run("random_fold_in", KEY, np.int64(i)) for i in (7, 8)]
    drawn = [run("random_uniform", k, np.float32(0), np.float32(1), shape=(50,))
             for k in [KEY, *keys, *folded]]
    for i in range(len(drawn)):
        for j in range(i):
            assert abs(np.corrcoef(drawn[i], drawn[j])[0, 1]) < 0.6
            assert not np.array_equal(drawn[i], drawn[j])


@pytest.mark.parametrize(("name", "params", "mean", "std"), [
    ("random_uniform", [1.0, 3.0], 2.0, 2 / math.sqrt(12)),
    ("random_normal", [], 0.0, 1.0),
    ("random_normal", [2.0, 3.0], 2.0, 3.0),
    ("random_truncated_normal", [0.0, INF], math.sqrt(2 / math.pi), math.sqrt(1 - 2 / math.pi)),
    ("random_exponential", [], 1.0, 1.0),
    ("random_gumbel", [], 0.5772156649, math.pi / math.sqrt(6)),
    ("random_laplace", [], 0.0, math.sqrt(2)),
    ("random_logistic", [], 0.0, math.pi / math.sqrt(3)),
    ("random_gamma", [4.0], 4.0, 2.0),
    ("random_beta", [2.0, 2.0], 0.5, math.sqrt(0.05)),
    ("random_poisson", [4.0], 4.0, 2.0),
    ("random_geometric", [0.5], 2.0, math.sqrt(2)),
    ("random_bernoulli", [0.25], 0.25, math.sqrt(0.1875)),
])
def test_moments(name: str, params: list[float], mean: float, std: float) -> None:
    n = 20000
    drawn = run(name, KEY, *map(np.float32, params), shape=(n,)).astype(float)
    assert abs(drawn.mean() - mean) < 5 * std / math.sqrt(n)
    assert abs(drawn.std() - std) < 0.05 * std


def test_ranges() -> None:
    drawn = run("random_integers", KEY, np.int8(-3), np.int8(4), shape=(2000,))
    assert sorted(set(drawn.tolist())) == list(range(-3, 4))
    drawn = run("random_integers", KEY, np.int8(-3), np.int8(4), shape=(2000,), endpoint=True)
    assert sorted(set(drawn.tolist())) == list(range(-3, 5))
    # all there are, and three quarters of them: the upper third is as frequent as the others
    low, high = np.int64(-(2**63)), np.int64(2**63 - 1)
    drawn = run("random_integers", KEY, low, high, shape=(3000,), endpoint=True)
    assert abs((drawn < 0).mean() - 0.5) < 0.05
    drawn = run("random_integers", KEY, np.uint64(0), np.uint64(3 * 2**62), shape=(3000,))
    assert abs((drawn >= np.uint64(2**63)).mean() - 1 / 3) < 0.05
    assert run("random_integers", KEY, np.int32(5), np.int32(5), shape=(2,)).tolist() == [5, 5]
    uniform = run("random_uniform", KEY, np.float32(-1), np.float32(2), shape=(5000,))
    assert -1 <= uniform.min() < -0.9 and 1.9 < uniform.max() < 2
    assert sorted(run("random_permutation", KEY, n=50).tolist()) == list(range(50))
    logits = np.log(np.array([0.5, 0.5, 1e-30], np.float32))
    drawn = run("random_categorical", KEY, logits, shape=(4000,))
    counts = np.bincount(drawn, minlength=3)
    assert counts[2] == 0 and abs(counts[0] - 2000) < 200
    complex_ = run("random_normal", KEY, shape=(5000,), dtype="complex64")
    assert abs(complex_.real.std() - math.sqrt(0.5)) < 0.03


def test_random_numbers_have_gradients_in_their_parameters() -> None:
    def of(name: str, *params: float) -> list[float]:
        op = lookup(name)

        def loss(*given: Any) -> Any:
            attributes = op.canonical_attributes({"shape": (2000,)})
            return jax.numpy.mean(op.fn(KEY, *given, **attributes))

        given = [jax.numpy.float32(p) for p in params]
        return [float(g) for g in jax.grad(loss, tuple(range(len(given))))(*given)]

    np.testing.assert_allclose(of("random_uniform", 0.0, 1.0), [0.5, 0.5], atol=0.03)
    np.testing.assert_allclose(of("random_normal", 0.0, 1.0), [1.0, 0.0], atol=0.1)
    np.testing.assert_allclose(of("random_gamma", 3.0), [1.0], atol=0.1)


def test_inference_is_exact_in_dtype() -> None:
    result = checks.infer("sum", ["float16 2 3"], {"axes": (0,), "dtype": float32})
    assert [t.text for t in result] == ["float32[3]"]
