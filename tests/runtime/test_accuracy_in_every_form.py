"""Sums, statistics and functions keep their bounds op by op and compiled whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import lazyloom as ll
from lazyloom import codegen
from tests.contract.helpers import rec

pytestmark = [
    pytest.mark.op_by_op, pytest.mark.xla,
    pytest.mark.once("kernels and lowerings are texts that are made outside the core")]

EPS = float(np.finfo(np.float32).eps)


@pytest.fixture(params=[False, True], ids=["op_by_op", "compiled"], autouse=True)
def form(request: pytest.FixtureRequest) -> Iterator[None]:
    with ll.options(reproducible=request.param):
        yield


def read(value: Any) -> np.ndarray:
    return np.asarray(value.read())


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((200_003, 2), (0,)), ((2, 100_003, 3), (1,)), ((500, 500, 3), (0, 1)), ((3001, 5, 7), (0, 2)),
     ((400_003,), (0,)), ((129, 5), (0,)), ((3, 70_000), (1,)), ((256, 1, 300), (0, 1))],
    ids=str)  # fmt: skip
def test_sums_do_not_lose_more_with_more_numbers(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = np.random.default_rng(2).random(shape).astype(np.float32)
    for name in ("sum", "mean"):
        expected = getattr(np, name)(x.astype(np.float64), axes)
        found = read(rec(name, ll.from_host(x), axes=axes))
        assert found.shape == expected.shape
        assert np.max(abs(found / expected - 1)) < 8 * EPS, name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((4096,), (0,)), ((32_767,), (0,)), ((65_535,), (0,)), ((32_767, 2), (0, 1)),
     ((3, 20_011), (1,)), ((20_011, 3), (0,)), ((181, 3, 119), (0, 1, 2)), ((5, 8191, 1), (1, 2)),
     ((200_003,), (0,))],
    ids=str)  # fmt: skip
def test_sums_of_equal_numbers(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    """Their roundings all go one way, so that adding them one by one is off without bound."""
    terms = math.prod([shape[a] for a in axes])
    for number in (1 / 3, 0.8, 3.3, 999.123):
        x = np.full(shape, number, dtype)
        exact = np.longdouble(x.flat[0]) * terms
        clipped = rec("minimum", ll.from_host(x), ll.from_host(np.full(shape, 1e6, dtype)))
        for name, found in (
            ("sum", rec("sum", ll.from_host(x), axes=axes)),
            ("mean", rec("mean", clipped, axes=axes)),
            ("norm", rec("norm", ll.from_host(np.sqrt(x)), axes=axes, order=2.0)),
        ):
            wide = read(found).astype(np.longdouble)
            total = {"sum": wide, "mean": wide * terms, "norm": wide**2}[name]
            if name == "norm":
                exact = np.longdouble(np.sqrt(x).flat[0]) ** 2 * terms
            units = np.max(abs(total / exact - 1)) / (np.finfo(dtype).eps / 2)
            assert units <= 128 * np.log2(terms) / 7, (name, number)


def test_sums_of_little_are_what_they_were() -> None:
    """Of few, of none, of complex numbers and of integers, in any layout."""
    rng = np.random.default_rng(4)
    z = (rng.random((1000, 3)) + 1j * rng.random((1000, 3))).astype(np.complex64)
    np.testing.assert_allclose(read(rec("sum", ll.from_host(z), axes=(0,))), z.sum(0), rtol=1e-5)
    for shape in ((0, 3), (300, 0)):
        nothing = read(rec("sum", ll.from_host(np.zeros(shape, np.float32)), axes=(0,)))
        assert nothing.tolist() == [0] * shape[1]
    n = rng.integers(-9, 9, (1000, 3))
    assert (read(rec("sum", ll.from_host(n), axes=(0,))) == n.sum(0)).all()
    x = rng.random((3, 1000)).astype(np.float32)
    found = rec("sum", rec("transpose", ll.from_host(x), axes=(1, 0)), axes=(0,))
    np.testing.assert_allclose(read(found), x.sum(1), rtol=1e-6)
    specials = np.ones((300, 3), np.float32)
    specials[5, 0], specials[200, 1], specials[201, 1] = np.nan, np.inf, -np.inf
    assert np.isnan(read(rec("sum", ll.from_host(specials), axes=(0,)))).tolist() == [
        True, True, False]


def far_from_zero(shape: tuple[int, ...]) -> np.ndarray:
    return (1000 + np.random.default_rng(6).standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "axes"), [((64, 512), (1,)), ((4096, 16), (0,)), ((70_003,), (0,))], ids=str)
def test_variances_of_what_is_far_from_zero(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = far_from_zero(shape)
    wide = x.astype(np.float64)
    for name, expected in (("var", wide.var(axes)), ("std", wide.std(axes))):
        found = read(rec(name, ll.from_host(x), axes=axes))
        assert np.max(abs(found / expected - 1)) < 32 * EPS, name


def norms() -> dict[str, Callable[[np.ndarray], tuple[Any, np.ndarray]]]:
    """Normalisations, each with its axes: the recorded result, and the exact one."""

    def exact(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        wide = x.astype(np.float64)
        return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(
            wide.var(axes, keepdims=True) + 1e-5)

    def of_groups(x: np.ndarray) -> tuple[Any, np.ndarray]:
        parts = x.reshape(x.shape[0], 2, -1)
        return rec("group_norm", ll.from_host(x), None, None, groups=2), exact(
            parts, (2,)).reshape(x.shape)

    def of_batches(x: np.ndarray) -> tuple[Any, np.ndarray]:
        found = rec("batch_norm_train", ll.from_host(x), None, None)[0]
        return found, exact(x, (0, *range(2, x.ndim)))

    return {
        "layer_norm": lambda x: (
            rec("layer_norm", ll.from_host(x), None, None), exact(x, (x.ndim - 1,))),
        "batch_norm_train": of_batches, "group_norm": of_groups,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm_train", "group_norm"])
@pytest.mark.parametrize("shape", [(700, 4, 96), (8, 512)], ids=str)
def test_normalisations_of_what_is_far_from_zero(name: str, shape: tuple[int, ...]) -> None:
    found, expected = norms()[name](far_from_zero(shape))
    with codegen.use("xla"):  # oneDNN's loses the digits that the mean has before the point
        assert np.max(abs(read(found) - expected)) < 128 * EPS


def test_gradients_of_normalisations_far_from_zero() -> None:
    """The same as of data near zero that has as much precision."""
    near = np.random.default_rng(8).integers(-64, 64, (40, 300)).astype(np.float32) / 16
    weight = np.random.default_rng(9).standard_normal((40, 300)).astype(np.float32)

    def of(name: str, *operands: Any, **attributes: Any) -> Any:
        return ll.apply(name, operands, attributes)

    def loss(x: Any) -> Any:
        normal = of("layer_norm", x, None, None)
        spread = of("sum", of("var", x, axes=(1,)))
        return of("add", of("sum", of("multiply", normal, ll.Tensor(ll.from_host(weight)))), spread)

    gradients = [read(ll.grad(loss)(ll.Tensor(ll.from_host(x)))) for x in (near, near + 1024)]
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-3, atol=2e-5)


def test_what_is_constant_or_infinite_has_the_variance_that_it_had() -> None:
    x = np.full((3, 1000), 1000.1, np.float32)
    assert (read(rec("var", ll.from_host(x), axes=(1,))) == 0).all()
    assert (read(rec("std", ll.from_host(x), axes=(1,))) == 0).all()
    x[0, 3], x[1, 5] = np.inf, np.nan
    assert np.isnan(read(rec("var", ll.from_host(x), axes=(1,)))).tolist() == [True, True, False]
    assert np.isnan(read(rec("layer_norm", ll.from_host(x), None, None))).any(1).tolist() == [
        True, True, False]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "log1p": np.log1p, "atanh": np.arctanh, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "exp": np.exp, "log": np.log, "asinh": np.arcsinh, "cbrt": np.cbrt, "sin": np.sin,
}  # fmt: skip


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="needs wider numbers")
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_functions_are_within_4_units(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(10)
    far = 37 if dtype is np.float32 else 300
    signs = rng.choice([-1, 1], 2000)
    x = np.concatenate([
        rng.uniform(-1, 1, 4000), rng.uniform(-0.42, -0.40, 500), rng.uniform(-30, 30, 4000),
        signs * 10.0 ** rng.uniform(-far, far, 2000), signs * rng.uniform(0, 88, 2000),
        rng.uniform(-709, 709, 2000)]).astype(dtype)  # fmt: skip
    function = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.longdouble))
        rounded = exact.astype(dtype)
    # what is subnormal counts as zero, and near the largest number float32's exp is 4.4 off
    valid = np.isfinite(rounded) & (abs(exact) >= np.finfo(dtype).tiny) & (
        abs(exact) < np.finfo(dtype).max / 2)
    found = read(rec(name, ll.from_host(x)))
    units = abs(found[valid] - exact[valid]) / np.spacing(abs(rounded[valid]))
    assert np.max(units) < 4.25, x[valid][np.argmax(units)]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e4, -1e4, np.inf, -np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = function(edges)
    ends = read(rec(name, ll.from_host(edges)))
    np.testing.assert_allclose(ends, expected, rtol=5 * np.finfo(dtype).eps)
    numbers = ~np.isnan(expected)
    assert (np.signbit(ends) == np.signbit(expected))[numbers].all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_erfinv_is_within_5_units_near_1(dtype: Any) -> None:
    rng = np.random.default_rng(11)
    digits = 7 if dtype is np.float32 else 15
    size = np.concatenate([1 - 10.0 ** -rng.uniform(0, digits, 5000), rng.uniform(0, 1, 3000),
                           10.0 ** -rng.uniform(0, 30, 500)]).astype(dtype)  # fmt: skip
    x = size * rng.choice([-1, 1], size.shape).astype(dtype)
    # 1 - size is exact where it counts
    exact = np.where(size > 0.5, scipy.special.erfcinv(1 - size.astype(np.float64)),
                     scipy.special.erfinv(size.astype(np.float64)))  # fmt: skip
    found = read(rec("erfinv", ll.from_host(x)))
    assert (np.signbit(found) == np.signbit(x)).all()
    inside = size < 1
    units = abs(abs(found) - exact)[inside] / np.spacing(exact[inside].astype(dtype))
    # SciPy's own are 1 off
    assert np.max(units) < 5.25, x[inside][np.argmax(units)]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, np.nan], dtype)
    ends = read(rec("erfinv", ll.from_host(edges)))
    np.testing.assert_array_equal(ends, [0, 0, np.inf, -np.inf, np.nan, np.nan, np.nan])
    assert np.signbit(ends[:4]).tolist() == [False, True, False, True]


def test_erfc_of_float64_is_within_7_units() -> None:
    rng = np.random.default_rng(12)
    x = np.concatenate([np.linspace(-7, 26.5, 5000), rng.choice([-1, 1], 500) * (
        10.0 ** -rng.uniform(0, 30, 500)), [27.0, 30.0, 1e300, np.inf, -30.0, -np.inf]])
    # SciPy's are 490 off, C's 2
    expected = np.array([math.erfc(number) for number in x])
    found = read(rec("erfc", ll.from_host(x)))
    normal = expected >= np.finfo(np.float64).tiny
    units = abs(found - expected)[normal] / np.spacing(expected[normal])
    assert np.max(units) < 7.25, x[normal][np.argmax(units)]
    assert (found[~normal] == 0).all()
    assert np.isnan(read(rec("erfc", ll.from_host(np.array([np.nan]))))).all()


def test_a_mean_that_is_taken_off_is_one_number() -> None:
    """In each loop that computes what is left: rounded before it is taken off."""
    rng = np.random.default_rng(1)
    for count in (9, 33, 100):
        x = (1000 + rng.standard_normal(count)).astype(np.float32)
        wide = x.astype(np.longdouble) - x.astype(np.longdouble).mean()
        expected = wide / np.sqrt((wide**2).mean() + np.longdouble(1e-5))
        normal = rec("layer_norm", ll.from_host(x), normalized_ndim=1, eps=1e-5)
        for name, step in (("max", np.max), ("min", np.min)):
            place = rec(f"arg{name}", normal)
            found = read(rec("take_along_axis", normal, rec("reshape", place, shape=(1,)), axis=0))
            assert abs(found[0] - step(expected)) < 2e-6
