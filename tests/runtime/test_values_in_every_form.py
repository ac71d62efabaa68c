"""Values are of the same class in every form: op by op on the host, and compiled whole.

XLA takes two steps together where that is right for real numbers; what is infinite, a zero with a
sign, or not a number is then something else. Of small arrays nothing is ever compiled, so that what
is asked of the compiled form is asked with ``reproducible``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import number, rec

pytestmark = [
    pytest.mark.op_by_op, pytest.mark.xla,
    pytest.mark.once("kernels and lowerings are texts that are made outside the core")]

NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.7, 7.0, -33.0, 89.0, -89.0, 100.0, -100.0, 1e-5, -1e-5,
    1e-10, -1e-10, 1e10, -1e10, 1e19, 1e20, -1e20, 1e30, -1e30, 3e38, -3e38, 1e-19, -1e-20, 1e-30,
    2e-38, -2e-38, np.inf, -np.inf, np.nan,
]  # fmt: skip
#: where double precision ends
LARGE = [1e160, -1e160, 1e300, 1e-160, -1e-300, 710.0, -750.0]


def host(data: np.ndarray) -> ll.Value:
    """A value with that data."""
    return ll.from_host(data)


def _mask(x: Any) -> Any:
    return rec("cast", rec("greater", x, number(0.0, x.type.dtype)), dtype=x.type.dtype)


def _of(name: str, *operands: Any, **attributes: Any) -> Callable[..., Any]:
    return lambda x, y: rec(name, *[o(x, y) if callable(o) else o for o in operands], **attributes)


def chains(dtype: ll.DType) -> dict[str, Callable[[Any, Any], Any]]:
    """Programs of two operands in which XLA takes steps together."""
    one, zero, minus = number(1.0, dtype), number(0.0, dtype), number(-1.0, dtype)

    def x(a: Any, b: Any) -> Any:
        return a

    def y(a: Any, b: Any) -> Any:
        return b

    exp_x, exp_y, mask = _of("exp", x), _of("exp", y), lambda a, b: _mask(b)
    return {
        "log(exp(x))": _of("log", exp_x),
        "log2(exp2(x))": _of("log2", _of("exp2", x)),
        "log(exp(x)) of another shape": lambda a, b: rec("log", rec("transpose", rec(
            "reshape", rec("exp", a), shape=(1, a.type.size)), axes=(1, 0))),
        "asinh(exp(x))": _of("asinh", exp_x),
        "exp(x) * exp(y)": _of("multiply", exp_x, exp_y),
        "exp(x) / exp(y)": _of("divide", exp_x, exp_y),
        "x / exp(y)": _of("divide", x, exp_y),
        "exp(x) ** y": _of("power", exp_x, y),
        "exp(x) - exp(y)": _of("subtract", exp_x, exp_y),
        "x + exp(y)": _of("add", x, exp_y),
        "sqrt(exp(x))": _of("sqrt", exp_x),
        "sqrt(x * x)": _of("sqrt", _of("multiply", x, x)),
        "sqrt(square(x))": _of("sqrt", _of("square", x)),
        "log(sqrt(x))": _of("log", _of("sqrt", x)),
        "log(rsqrt(x))": _of("log", _of("rsqrt", x)),
        "1 / (1 / x)": _of("reciprocal", _of("reciprocal", x)),
        "x / (1 / y)": _of("divide", x, _of("reciprocal", y)),
        "(x / y) / x": _of("divide", _of("divide", x, y), x),
        "x / (y / x)": _of("divide", x, _of("divide", y, x)),
        "x / sqrt(y)": _of("divide", x, _of("sqrt", y)),
        "(x + 1) - 1": _of("subtract", _of("add", x, one), one),
        "(1 - x) - 1": _of("subtract", _of("subtract", one, x), one),
        "x + 0": _of("add", x, zero),
        "0 - x": _of("subtract", zero, x),
        "x * 0 * -1 + 0": _of("add", _of("multiply", _of("multiply", x, zero), minus), zero),
        "x * mask": _of("multiply", x, mask),
        "x / mask": _of("divide", x, mask),
        "-mask": _of("negative", mask),
        "abs(x) >= 0": _of("greater_equal", _of("abs", x), zero),
        "exp(x) >= 0": _of("greater_equal", exp_x, zero),
        "square(x) >= 0": _of("greater_equal", _of("square", x), zero),
        "x * y - x * y": _of("subtract", _of("multiply", x, y), lambda a, b: rec(
            "multiply", rec("negative", a), rec("negative", b))),
        "x * y + x": _of("add", _of("multiply", x, y), x),
        "x - x * y": _of("subtract", x, _of("multiply", x, y)),
        "-(x * y) + x": _of("add", _of("negative", _of("multiply", x, y)), x),
        "0 - x * y": _of("subtract", zero, _of("multiply", x, y)),
        "(x * y == x) - x": _of("equal", _of("subtract", _of("multiply", x, y), x), zero),
    }


def classes(x: np.ndarray) -> np.ndarray:
    """NaN, infinite, zero and normal numbers with their sign, subnormal ones."""
    if x.dtype == bool:
        return x.astype(int)
    tiny = np.finfo(x.dtype).tiny
    kind = np.select([np.isnan(x), np.isinf(x), x == 0, np.abs(x) < tiny], [0, 1, 2, 3], 4)
    return np.where(kind == 0, 0, 2 * kind + np.signbit(x))


def same(name: str, found: np.ndarray, expected: np.ndarray, given: Sequence[np.ndarray]) -> None:
    wrong = np.flatnonzero((classes(found) != classes(expected)).reshape(-1))
    at = wrong[:3]
    assert not wrong.size, (name, [x[at] for x in given], found.reshape(-1)[at],
                            expected.reshape(-1)[at])


def pairs(dtype: ll.DType) -> list[np.ndarray]:
    numbers = np.array(NUMBERS + (LARGE if dtype is ll.dtypes.float64 else []), dtype.numpy)
    return [np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))]


def op_by_op(chain: Callable[[Any, Any], Any], given: Sequence[np.ndarray]) -> np.ndarray:
    before = ll.stats()["executions"]
    found = np.asarray(chain(*map(host, given)).read())
    assert ll.stats()["executions"] == before, "it was to run op by op"
    return found


@pytest.mark.parametrize("dtype", [ll.dtypes.float32, ll.dtypes.float64], ids=lambda d: d.name)
def test_steps_that_xla_would_take_together(dtype: ll.DType) -> None:
    given = pairs(dtype)
    pieces = {name: op_by_op(chain, given) for name, chain in chains(dtype).items()}
    with ll.options(reproducible=True):
        operands = [host(x) for x in given]
        whole = {name: chain(*operands) for name, chain in chains(dtype).items()}
        ll.sync(*whole.values())
        for name, found in whole.items():
            same(name, np.asarray(found.read()), pieces[name], given)
    alone = chains(dtype)
    assert np.isinf(pieces["log(exp(x))"]).any() and len(alone) == len(pieces)


def test_alone_each_is_computed_so_too() -> None:
    """Where nothing else uses the first step's result."""
    # of other extents, for which nothing is compiled yet
    given = [x[1:] for x in pairs(ll.dtypes.float32)]
    for name in ("log(exp(x))", "exp(x) * exp(y)", "sqrt(x * x)", "(x + 1) - 1", "x + 0",
                 "x * mask", "abs(x) >= 0", "x - x * y"):
        chain = chains(ll.dtypes.float32)[name]
        expected = op_by_op(chain, given)
        with ll.options(reproducible=True):
            found = np.asarray(chain(*map(host, given)).read())
        same(name, found, expected, given)


def test_products_are_rounded_before_they_are_added() -> None:
    """Equal to the last bit, as what is computed of four operations is in NumPy."""
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(4099).astype(np.float32) for _ in "xy")
    z = x * y

    def program(x: Any, y: Any, z: Any) -> Any:
        return rec("subtract", rec("multiply", x, y), z)

    assert not np.asarray(program(host(x), host(y), host(z)).read()).any()
    with ll.options(reproducible=True):
        assert not np.asarray(program(host(x), host(y), host(z)).read()).any()
    a, b = (x + 1j * y).astype(np.complex64), (z - 1j * x).astype(np.complex64)
    with ll.options(reproducible=True):
        product = np.asarray(rec("multiply", host(a), host(b)).read())
        found = np.asarray(
            rec("subtract", rec("multiply", host(a), host(b)), host(product)).read())
    assert not found.any()


@pytest.mark.parametrize("name", ["exp", "sqrt", "power"])
def test_products_of_all_elements_are_of_the_elements_as_they_are(name: str) -> None:
    """LLVM would multiply first, and take one root, power or exponential of the product."""
    x = np.array([-1.0, -2.0, 3.0, 4.0], np.float32)
    if name == "exp":
        x = np.array([400.0, -400.0, 2.0], np.float32)  # inf * 0 is NaN, exp(2) is not

    def program(x: Any) -> Any:
        return rec("prod", rec(name, x, *[number(0.5)] * (name == "power")))

    assert np.isnan(np.asarray(program(host(x)).read()))
    with ll.options(reproducible=True):
        assert np.isnan(np.asarray(program(host(x)).read()))


def test_in_the_body_of_a_loop() -> None:
    """A chain that repeats becomes a while loop, whose body has the same pairs."""
    start = np.array([1.0, 1e-10, -0.0, 5.0, 100.0, np.inf, np.nan], np.float32)

    def program(x: Any) -> Any:
        for _ in range(60):
            x = rec("log", rec("exp", x))
            x = rec("subtract", rec("add", x, number(1.0)), number(1.0))
        return x

    expected = np.asarray(program(host(start)).read())
    with ll.options(reproducible=True):
        found = program(host(start))
        ll.sync(found)
        record = ll.last_evaluation()
        assert record is not None and "loops" in record.text()
        same("a loop", np.asarray(found.read()), expected, [start])


HALVES = "elu celu selu sigmoid silu asin acos acosh atanh expm1 log1p sinh tanh softplus".split()


@pytest.mark.parametrize("dtype", [ll.dtypes.float16, ll.dtypes.bfloat16], ids=lambda d: d.name)
def test_functions_of_all_half_precision_numbers(dtype: ll.DType) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)
    if dtype is ll.dtypes.bfloat16:
        # those that count as zeros in arithmetic may be kept
        size = np.abs(x.astype(np.float32))
        x = x[~((size > 0) & (size < np.finfo(np.float32).tiny))]
    with ll.options(reproducible=False, compiled_beside=0):
        pieces = [np.asarray(rec(name, host(x)).read()) for name in HALVES]
    with ll.options(reproducible=True):
        whole = [rec(name, host(x)) for name in HALVES]
        ll.sync(*whole)
        for name, expected, found in zip(HALVES, pieces, whole, strict=True):
            same(name, np.asarray(found.read()).astype(np.float64), expected.astype(np.float64),
                 [x])


@pytest.mark.parametrize("dtype", [ll.dtypes.float32, ll.dtypes.float64], ids=lambda d: d.name)
def test_the_least_numbers_have_an_arc_sine(dtype: ll.DType) -> None:
    least = np.finfo(dtype.numpy).smallest_normal
    x = np.array([least, -least, 1.5 * least, 4 * least, -0.0, 1.0, -1.0], dtype.numpy)
    forms: list[dict[str, Any]] = [
        {"reproducible": False, "compiled_beside": 0}, {"reproducible": True}]
    for options in forms:
        with ll.options(**options):
            found = np.asarray(rec("asin", host(x)).read())
        np.testing.assert_array_almost_equal_nulp(found, np.arcsin(x), 4)
        assert np.signbit(found[4])


def test_a_product_that_is_known_to_be_zero_is_added() -> None:
    """That of no terms and a +0 have no sign, though a -0.0 keeps the product from being fused."""
    nothing = np.zeros((0, 3), np.float32)
    with ll.options(reproducible=True):
        x = host(nothing)
        product = rec("dot_general", x, x, lhs_contract=(0,), rhs_contract=(0,))
        total = rec("add", rec("multiply", product, product), rec(
            "broadcast_to", rec("sum", x, axes=(0,)), shape=(3, 3)))
        found = np.asarray(total.read())
    assert not np.signbit(found).any() and not found.any()


@pytest.mark.parametrize("dtype", [ll.dtypes.float32, ll.dtypes.float64], ids=lambda d: d.name)
def test_the_angle_of_a_subnormal_number_is_on_its_side(dtype: ll.DType) -> None:
    least = np.finfo(dtype.numpy).smallest_subnormal
    some = np.array([least, -least, 5 * least, -7 * least, 0.0, -0.0], dtype.numpy)
    y = np.repeat(some, 8)
    x = np.tile(np.array([-1, 1, -1, 2, *some[:4]], dtype.numpy), 6)
    z = np.empty(x.shape, np.result_type(x, np.complex64))
    z.real, z.imag = x, y
    zero = dtype.numpy.type(0)
    expected = np.arctan2(np.copysign(zero, y), np.where(np.abs(x) < 1, np.copysign(zero, x), x))
    forms: list[dict[str, Any]] = [
        {"reproducible": False, "compiled_beside": 0}, {"reproducible": True}]
    for options in forms:
        with ll.options(**options):
            for found in (rec("atan2", host(y), host(x)), rec("angle", host(z))):
                given = np.asarray(found.read())
                # near zero the angle may be y
                given = np.where(np.abs(given) < 1, np.copysign(zero, given), given)
                np.testing.assert_array_max_ulp(given, expected, 1)
                np.testing.assert_array_equal(np.signbit(given), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_sums_of_products_that_are_too_large(axes: tuple[int, ...], dtype: Any) -> None:
    """Infinities of both signs make NaN, and one that is not rounded yet would make none."""
    rng = np.random.default_rng(5)
    largest = np.finfo(dtype).max
    # sums of those that are not too large are not, either, in any order
    x = rng.standard_normal((16, 17)).astype(dtype) * dtype(largest / 1e6)
    y = np.abs(rng.standard_normal((16, 17))).astype(dtype) + 3
    x[rng.random(x.shape) < 0.1] = largest / 2
    x[rng.random(x.shape) < 0.1] = -largest / 2
    found = {}
    for form in (False, True):
        with ll.options(reproducible=form):
            product = rec("multiply", ll.from_host(x), ll.from_host(y))
            scaled = rec("multiply", ll.from_host(x), number(5.0, product.type.dtype))
            found[form] = [np.asarray(rec("sum", p, axes=axes).read()) for p in (product, scaled)]
    for op_by_op, compiled in zip(found[False], found[True], strict=True):
        assert (classes(op_by_op) == classes(compiled)).all()
    assert np.isnan(found[False][0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_one_term_are_multiplications(dtype: Any) -> None:
    """XLA makes one of it, and exp(a) * exp(b) would be exp(a + b)."""
    x = np.linspace(0.4, 0.6, 40, dtype=dtype) * np.log(np.finfo(dtype).max)
    found = []
    for form in (False, True):
        with ll.options(reproducible=form):
            column = rec("exp", ll.from_host(x.reshape(-1, 1)))
            row = rec("exp", ll.from_host(x.reshape(1, -1)))
            found.append(np.asarray(rec("log", rec("matmul", column, row)).read()))
    assert (classes(found[0]) == classes(found[1])).all()
    assert np.isinf(found[0]).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("form", [False, True], ids=["op_by_op", "compiled"])
def test_sums_of_negated_zeros_begin_at_zero(dtype: str, form: bool) -> None:
    """XLA would negate the sum, which makes -0.0 of it."""
    with ll.options(reproducible=form):
        x = ll.from_host(np.zeros((4, 8), dtype))
        negated = rec("negative", x)
        for found in (
            rec("sum", negated, axes=(0,)), rec("sum", negated, axes=(0, 1)),
            rec("mean", negated, axes=(1,)), rec("sum", rec("reshape", negated, shape=(2, 16))),
            rec("sum", rec("negative", rec("abs", x)), axes=(1,)),
            *([rec("sum", rec("imag", rec("conj", x)))] if dtype == "complex64" else []),
        ):
            values = np.atleast_1d(np.asarray(found.read()))
            for part in (values.real, values.imag if dtype == "complex64" else values):
                assert not np.signbit(part.astype("float32")).any()


@pytest.mark.parametrize("form", [False, True], ids=["op_by_op", "compiled"])
def test_cumulative_sums_of_one_complex_number_are_that_number(form: bool) -> None:
    x = np.array([[complex(1, np.inf), complex(2, -0.0), complex(-0.0, -0.0)]])
    with ll.options(reproducible=form):
        found = np.asarray(rec("cumsum", ll.from_host(x), axis=0).read())
    assert (classes(found.real) == classes(x.real)).all()
    assert (classes(found.imag) == classes(x.imag)).all()
