"""Subnormal numbers count as zeros in every form, and nowhere in what is the user's.

XLA's threads run in the processor's mode for that; kernels of the host are run in it.
"""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lazyloom as ll
from lazyloom.execute.op_by_op import executor
from lazyloom.host import parts
from lazyloom.host.subnormals import flushing
from tests.contract.helpers import host, number, rec

pytestmark = [
    pytest.mark.op_by_op, pytest.mark.xla,
    pytest.mark.once("kernels and lowerings are texts that are made outside the core")]

TINY = np.array([1e-39, -1e-39, 1e-45, -1e-45, 1.1e-38, 0.0, -0.0, 1.2e-38, 1.0, -1.0, 3.0, np.inf,
                 -np.inf, np.nan], np.float32)  # fmt: skip
ONE = ["abs", "negative", "sign", "sqrt", "rsqrt", "reciprocal", "exp", "log", "square",
       "floor", "isnan", "isfinite", "signbit", "relu", "erf", "sigmoid", "cos", "sin", "tan",
       "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "expm1", "log1p",
       "log2", "log10", "exp2", "cbrt", "elu", "logical_not", "cumsum", "cumprod"]
TWO = ["add", "subtract", "multiply", "divide", "copysign", "nextafter", "remainder", "fmod",
       "hypot", "equal", "not_equal", "less", "greater_equal", "power", "atan2", "logical_and"]


def flushed() -> bool:
    """Whether this thread takes subnormal numbers for zeros."""
    return bool((np.full(1, 1e-39, np.float32) * np.float32(1) == 0).all())


def works() -> bool:
    with flushing():
        return flushed()


needed = pytest.mark.skipif(not works(), reason="this processor has no such mode")


def of_each(data: np.ndarray) -> dict[str, np.ndarray]:
    """The results of the functions above on numbers and on pairs of them."""
    few = data[:14]
    x, y = np.resize(np.repeat(few, len(few)), max(len(data), len(few) ** 2)), few
    y = np.resize(np.tile(few, len(few)), len(x))
    found = {name: rec(name, ll.from_host(data), **({"axis": 0} if name[:3] == "cum" else {}))
             for name in ONE}
    # with numbers that the compiler knows, and as another dtype
    found["== 0"] = rec("equal", ll.from_host(data), number(0.0, ll.from_host(data).dtype))
    found["bool"] = rec("cast", ll.from_host(data), dtype=ll.dtypes.bool_)
    found["float32 == 0"] = rec("cast", rec("cast", ll.from_host(data), dtype=ll.dtypes.float32),
                                dtype=ll.dtypes.bool_)
    found |= {name: rec(name, ll.from_host(x), ll.from_host(y)) for name in TWO}
    ll.sync(*found.values())
    return {name: np.asarray(value.read()) for name, value in found.items()}


def kinds(x: np.ndarray) -> list[Any]:
    if x.dtype.kind not in "fV":
        return x.tolist()
    tiny = float(ml_dtypes.finfo(x.dtype).tiny)
    wide = x.astype(np.float64)
    return [*zip(np.isnan(wide), np.signbit(wide) & ~np.isnan(wide), wide == 0, abs(wide) < tiny,
                 np.isinf(wide), strict=True)]


@needed
@pytest.mark.parametrize("count", [3, 16385])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16],
                         ids=["float32", "float64", "bfloat16"])
def test_they_are_the_same_op_by_op_and_compiled(dtype: Any, count: int) -> None:
    """Of a few numbers, too, for which XLA calls other functions than for many."""
    data = TINY.astype(dtype)
    if dtype is np.float64:
        data[:5] = [1e-310, -1e-310, 5e-324, -5e-324, 2.2e-308]
    if count < 15:
        data = data[:count]
    else:
        # at each place of a vector of the processor's, and in the rest
        data = np.resize(data, count)
    op_by_op = of_each(data)
    with ll.options(reproducible=True):
        whole = of_each(data)
    for name, found in op_by_op.items():
        assert kinds(found) == kinds(whole[name]), name


@needed
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16],
                         ids=["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [1, 5, 16385])
def test_what_is_left_of_a_division_is_not_subnormal(dtype: Any, count: int) -> None:
    """C's ``fmod`` knows no mode; by a subnormal number, as by zero, nothing is left."""
    least = float(ml_dtypes.finfo(dtype).smallest_normal)
    x = np.resize(np.array([1.5, -1.5, 1.75, 3.25, 1.0]) * least, count).astype(dtype)
    y = np.resize(np.array([1.0, 1.0, -1.25, 1.5, 0.5]) * least, count).astype(dtype)
    zeros = np.resize([0.0, -0.0, 0.0, 0.0, np.nan], count)
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            for name, signs in (("fmod", np.signbit(zeros)), ("remainder", np.signbit(y))):
                found = np.asarray(rec(name, ll.from_host(x), ll.from_host(y)).read())
                np.testing.assert_array_equal(found.astype(np.float64), zeros, name)
                whole = ~np.isnan(zeros)
                assert (np.signbit(found) == signs)[whole].all(), name


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape, axis", [((1,), 0), ((5,), 0), ((4, 3), 0), ((4, 3), 1)])
def test_sums_of_negative_zeros_have_one_sign(shape: Any, axis: int, dtype: Any) -> None:
    x = np.zeros(shape, dtype)
    if x.dtype.kind == "c":
        x.imag[...] = 1
    x.real[...] = -0.0
    signs = []
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            found = [rec("cumsum", ll.from_host(x), axis=axis, reverse=r) for r in (False, True)]
            found.append(rec("sum", ll.from_host(x), axes=(axis,)))
            signs.append([np.signbit(np.asarray(y.read()).real).tolist() for y in found])
    assert signs[0] == signs[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.complex64],
                         ids=["float32", "float64", "bfloat16", "complex64"])
def test_functions_of_a_sum_of_nothing_are_those_of_zero(dtype: Any) -> None:
    """Of 0.0, which the compiler knows the sum to be, and not of -0.0."""
    x = np.zeros((3, 0), dtype)
    real = x.dtype.kind != "c"
    names = ["sin", "tan", "tanh", "asin", "atan", "expm1", "log1p", "sinh", "asinh", "atanh",
             *(["cbrt", "signbit", "rsqrt", "reciprocal"] if real else ["sqrt", "square"])]
    found: list[dict[str, Any]] = []
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            zeros = {"sum": rec("sum", ll.from_host(x), axes=(1,))}
            if real:
                zeros["norm"] = rec("norm", ll.from_host(x), axes=(1,), order=2.0)
            of_each = {f"{name} of {zero}": np.asarray(rec(name, zeros[zero]).read())
                       for zero in zeros for name in names}
            for zero in zeros if real else ():
                below = rec("power", zeros[zero], number(-1.0, zeros[zero].type.dtype))
                of_each[f"power of {zero}"] = np.asarray(below.read())
            found.append(of_each)
    for name, expected in found[0].items():
        got = found[1][name]
        for part in ("real", "imag"):
            a, b = (np.asarray(getattr(z, part)).astype(np.float64) for z in (got, expected))
            np.testing.assert_array_equal(a, b, name)
            assert (np.signbit(a) == np.signbit(b)).all(), name


@needed
@pytest.mark.parametrize("before", ["float32", "bfloat16", "complex64"])
@pytest.mark.parametrize("after", ["float32", "bfloat16", "complex64"])
def test_what_float64_has_as_zeros_they_are_when_it_is_float32_again(
    before: str, after: str
) -> None:
    """Of both conversions compilers make one, which would keep them."""
    if (before == "complex64") != (after == "complex64"):
        return
    dtypes = {name: getattr(ll.dtypes, name) for name in (before, after)}
    wide = ll.dtypes.complex128 if before == "complex64" else ll.dtypes.float64
    least = np.finfo(np.float32).tiny
    with np.errstate(all="ignore"):
        x = np.append(TINY[:-1], [0.5 * least, -least, 0.999999 * least]).astype(
            dtypes[before].numpy)
    expected = np.where(np.abs(x) < least, 0, x.real).astype(np.float32).real
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            y = rec("cast", ll.from_host(x), dtype=wide)
            for again in (rec("cast", y, dtype=dtypes[after]),
                          rec("cast", rec("reshape", y, shape=(16, 1)), dtype=dtypes[after])):
                found = np.asarray(again.read()).real.astype(np.float32).reshape(-1)
                np.testing.assert_array_equal(
                    found, expected.astype(dtypes[after].numpy).real.astype(np.float32))
                assert (np.signbit(found) == np.signbit(x.real)).all()


def test_products_of_complex_numbers_so_far_are_of_one_class() -> None:
    """The first one, too, which is multiplied by 1."""
    x = np.array([complex(-np.inf, 1), complex(2, np.nan), complex(1e-39, -0.0)], np.complex64)
    found = []
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            found.append(np.asarray(rec("cumprod", ll.from_host(x), axis=0).read()))
    np.testing.assert_array_equal(*found)
    assert (np.isnan(found[0].real) == np.isnan(found[1].real)).all()
    assert (np.isnan(found[0].imag) == np.isnan(found[1].imag)).all()


def asked_twice(x: ll.Value) -> dict[str, Any]:
    """Of the same number, whether it is zero, and whether it is infinite."""
    zero = number(0.0, x.type.dtype)
    finite, is_zero = rec("isfinite", x), rec("equal", x, zero)
    return {
        "zero or infinite": rec("logical_or", is_zero, rec("isinf", x)),
        "positive and finite": rec("logical_and", rec("greater", x, zero), finite),
        "neither": rec("logical_xor", is_zero, finite),
        "its size": rec("logical_and", rec("greater", rec("abs", x), zero), finite),
        "not zero, or none": rec("logical_or", rec("not_equal", x, zero), rec("isnan", x)),
    }


@needed
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16],
                         ids=["float32", "float64", "bfloat16"])
def test_they_are_zeros_where_it_is_asked_whether_they_are_finite_too(dtype: Any) -> None:
    """LLVM makes one instruction of both, which looks at the class that the bits have."""
    data = TINY.astype(dtype)
    if dtype is np.float64:
        data[:5] = [1e-310, -1e-310, 5e-324, -5e-324, 2.2e-308]
    asked: list[dict[str, list[bool]]] = []
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            asked.append({name: np.asarray(x.read()).tolist()
                          for name, x in asked_twice(ll.from_host(data)).items()})
    assert asked[0] == asked[1]
    assert asked[1]["zero or infinite"][:7] == [True] * 7


@needed
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_of_them_have_logarithms(dtype: Any) -> None:
    """Their angle is that of zeros, and not none."""
    tiny = np.finfo(dtype).tiny / 8
    parts = np.array([tiny, -tiny, 0.0, -0.0, 2.0, -2.0, np.inf])
    x = np.empty(49, dtype)
    x.real, x.imag = np.repeat(parts, 7), np.tile(parts, 7)
    zeros = x.copy()
    for part in (zeros.real, zeros.imag):
        part[...] = np.where(np.abs(part) == tiny, np.copysign(0, part), part)
    with ll.options(reproducible=True):
        for name in ("log", "log1p"):
            found, expected = (np.asarray(rec(name, ll.from_host(z)).read()) for z in (x, zeros))
            for part in ("real", "imag"):
                a, b = getattr(found, part), getattr(expected, part)
                assert not np.isnan(a).any(), name
                np.testing.assert_array_equal(a, b, name)
                assert (np.signbit(a) == np.signbit(b)).all(), name


@needed
def test_what_is_subnormal_is_zero_in_every_form() -> None:
    x = np.full(4096, 1.0, np.float32)

    def zeros(x: Any) -> Any:
        return rec("sum", rec("cast", rec("equal", rec("multiply", x, number(1e-39)), number(0.0)),
                              dtype=ll.dtypes.int64))

    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            assert int(zeros(host(x)).read()) == 4096
            assert np.isinf(rec("rsqrt", host([1e-39])).read()).all()
            wide = ll.from_host(np.array([1e-39, -1e-39, 1e-30]))
            narrow = np.asarray(rec("cast", wide, dtype=ll.dtypes.float32).read())
            assert narrow.tolist() == [0.0, -0.0, np.float32(1e-30)]
            assert np.signbit(narrow).tolist() == [False, True, False]


def test_what_only_moves_is_as_it_was() -> None:
    bits = TINY.view(np.uint32)
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            x = host(TINY)
            for moved in (rec("reshape", x, shape=(2, 7)), rec("concatenate", x, x, axis=0),
                          rec("negative", rec("negative", x)),
                          rec("where", ll.from_host(np.ones(14, bool)), x, x)):
                found = np.asarray(moved.read()).reshape(-1)[:14]
                assert (found.view(np.uint32)[:-1] == bits[:-1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, ml_dtypes.bfloat16],
                         ids=["float32", "float64", "complex64", "bfloat16"])
@pytest.mark.parametrize("count", [2, 3000])
def test_one_number_that_is_spread_is_as_it_was(dtype: Any, count: int) -> None:
    """And not the zero that it counts as."""
    numbers = [0.0, -0.0, float(ml_dtypes.finfo(dtype).smallest_normal) / 4]
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            for x in [np.full((), number).astype(dtype) for number in numbers]:
                one = ll.from_host(x.reshape(1))
                for spread in (rec("repeat", one, repeats=count, axis=0),
                               rec("broadcast_to", one, shape=(count,)),
                               rec("broadcast_to", ll.from_host(x), shape=(count,))):
                    found = np.asarray(spread.read())
                    assert found.tobytes() == x.tobytes() * count


@needed
def test_the_users_thread_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not flushed()
    x = host(np.arange(6.0))
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible):
            for _ in range(3):
                rec("add", rec("multiply", x, x), x).read()
                assert not flushed()

    seen: list[bool] = []

    def broken(*arguments: Any) -> Any:
        seen.append(flushed())
        raise KeyboardInterrupt

    op = executor.op_kernel_of(ll.spec_of(ll.ops.lookup("multiply"), {}, 2), (x.type, x.type))
    monkeypatch.setattr(op, "kernel", broken)
    with pytest.raises(KeyboardInterrupt):
        rec("subtract", rec("multiply", x, x), rec("exp", x)).read()
    assert seen == [True] and not flushed()


@needed
def test_threads_for_parts_are_in_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[bool, bool]] = []
    both = threading.Barrier(2, timeout=60)

    def work(start: int, end: int) -> None:
        both.wait()
        found.append((threading.current_thread() is threading.main_thread(), flushed()))

    monkeypatch.setattr(parts.allowed, "threads", 2)
    with flushing():
        parts.in_parts(2, work)
    assert sorted(found) == [(False, True), (True, True)]
    assert not flushed()


@needed
def test_blocks_within_blocks() -> None:
    with flushing():
        with flushing():
            assert flushed()
        assert flushed()
    assert not flushed()


@needed
@pytest.mark.parametrize("stable", [False, True])
def test_they_are_sorted_as_zeros_in_every_form(stable: bool) -> None:
    """Whether or not a stable order is asked for: what is equal stays as it was."""
    rng = np.random.default_rng(4)
    x = rng.choice(TINY[~np.isnan(TINY)], (600, 3))
    order = np.argsort(np.where(np.abs(x) < np.finfo(np.float32).tiny, 0, x), 0, kind="stable")
    for reproducible in (False, True):
        with ll.options(reproducible=reproducible, compiled_beside=0):
            attributes = {"axis": 0, "stable": stable}
            values = np.asarray(rec("sort", ll.from_host(x), **attributes).read())
            both = rec("sort_with_indices", ll.from_host(x), **attributes)
            for found in (rec("argsort", ll.from_host(x), **attributes), both[1]):
                assert (np.asarray(found.read()) == order).all()
            for found in (values, np.asarray(both[0].read())):
                assert (found.view(np.uint32) == np.take_along_axis(x, order, 0).view(
                    np.uint32)).all()
