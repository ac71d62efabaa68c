"""Special values: every ufunc in every kind of dtype, every pair of values, against NumPy.

Subnormal numbers are zero in XLA's arithmetic on a CPU, so that results below the smallest normal
number may be zero. Where zeros of both signs meet in an extremum either may come out, in NumPy
too. Complex functions at their edges stand in ``tests/ops/test_complex_edges.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom_numpy._ufuncs import ufunc as _ufuncs
from tests.numpy.helpers import DTYPES

NAMES = sorted(n for n, f in _ufuncs.TABLE.items() if f.signature is None)
#: one dtype of each kind and of the sizes that differ, by NumPy's characters
CHARACTERS = "?bBlLefd"
#: complex loops that are no transcendental functions
OF_COMPLEX = frozenset("""
    add subtract multiply negative positive conjugate square absolute equal not_equal less
    less_equal greater greater_equal maximum minimum fmax fmin logical_and logical_or logical_not
    isnan isinf isfinite sign rint reciprocal""".split())
EXTREMA = ("maximum", "minimum", "fmax", "fmin")
#: units in the last place, where more than 4; XLA's exponential of an argument near 100
UNITS = {"logaddexp": 32, "logaddexp2": 32, "sinh": 16, "cosh": 16, "power": 8,
         "float_power": 8, "exp": 8}  # fmt: skip
REASONS = {
    "spacing": "of negative float16 NumPy gives the spacing towards zero, with either sign",
    "nextafter": "of float16 zeros NumPy gives the first, of all other floats the second",
}


def _special(d: Any) -> Any:
    d = onp.dtype(d)
    if d.kind == "b":
        return onp.array([True, False])
    if d.kind in "iu":
        limits, bits = onp.iinfo(d), d.itemsize * 8
        numbers = [0, 1, 2, 3, 7, bits - 1, bits, 100, limits.max, limits.max - 1]
        if d.kind == "i":
            numbers += [-1, -2, -3, -7, limits.min, limits.min + 1]
        return onp.array(numbers, d)
    if d.kind == "f":
        finfo = onp.finfo(d)
        numbers = [onp.nan, onp.inf, 0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 7.0, 100.0, 1e-3, 0.1,
                   finfo.max, finfo.tiny, finfo.eps]  # fmt: skip
        with onp.errstate(invalid="ignore"):
            return onp.concatenate([onp.array(numbers, d), -onp.array(numbers, d)])
    parts = [0.0, -0.0, 1.0, -2.5, onp.inf, -onp.inf, onp.nan]
    return onp.array([complex(a, b) for a in parts for b in parts], d)


def _loops(name: str) -> Iterator[list[Any]]:
    """The operands of each loop that is tested, broadcasting to every pair of values."""
    for types in getattr(onp, name).types:
        inputs = types.partition("->")[0]
        if any(c not in CHARACTERS and not (c == "D" and name in OF_COMPLEX) for c in inputs):
            continue
        if "e" in inputs and name in REASONS:
            continue
        operands = [_special(c) for c in inputs]
        if len(operands) == 2:
            operands[0] = operands[0][:, None]
            if name == "power" and operands[1].dtype.kind == "i":
                operands[1] = operands[1][operands[1] >= 0]
        yield operands


def _units(ours: Any, theirs: Any) -> Any:
    """The difference in units in the last place of the expected number."""
    unit = onp.spacing(onp.maximum(abs(theirs), onp.finfo(theirs.dtype).tiny)).astype("f8")
    return abs(ours.astype("f8") - theirs.astype("f8")) / unit


def _wrong(name: str, ours: Any, theirs: Any) -> Any:
    """Where our result is none that NumPy's tolerates."""
    if theirs.dtype.kind == "c":
        return _wrong(name, ours.real, theirs.real) | _wrong(name, ours.imag, theirs.imag)
    if theirs.dtype.kind != "f":
        return ours != theirs
    wrong = onp.isnan(ours) != onp.isnan(theirs)
    infinite = onp.isinf(ours) | onp.isinf(theirs)
    wrong |= infinite & (ours != theirs) & ~onp.isnan(theirs)
    finite = onp.isfinite(ours) & onp.isfinite(theirs)
    flushed = (ours == 0) & (abs(theirs) < 2 * onp.finfo(theirs.dtype).tiny)
    units = _units(onp.where(finite, ours, 0), onp.where(finite, theirs, 0))
    wrong |= finite & ~flushed & (units > UNITS.get(name, 4))
    signs = onp.signbit(ours) != onp.signbit(theirs)
    if name in ("power", "float_power"):
        signs &= ~flushed | (theirs == 0)  # the sign of what is subnormal is open
    if name in EXTREMA:
        signs &= theirs != 0
    return wrong | signs & ~onp.isnan(theirs)


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str) -> None:
    anchor = np.array(True)
    found = []
    for operands in _loops(name):
        with onp.errstate(all="ignore"):
            theirs = getattr(onp, name)(*operands)
        first, *rest = map(np.array, operands)
        # one program for all loops; a sum with a shared zero would change -0.0
        ours = getattr(np, name)(np.where(anchor, first, first), *rest)
        pairs = zip(ours, theirs) if isinstance(theirs, tuple) else [(ours, theirs)]
        found += [(operands, a, b) for a, b in pairs]
    lazyloom.sync(*[ours for _, ours, _ in found])
    assert found
    for operands, ours, theirs in found:
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        got = onp.asarray(ours)
        with onp.errstate(all="ignore"):
            wrong = _wrong(name, got, theirs)
        for place in onp.argwhere(wrong)[:3]:
            at = tuple(place)
            given = [x[at] for x in onp.broadcast_arrays(*operands)]
            raise AssertionError(f"{name}{given} is {got[at]!r}, NumPy has {theirs[at]!r}")


WEAK = (True, 2, 1.5, 1j, onp.int8(1), onp.uint64(1), onp.float32(1), onp.float64(1),
        onp.complex64(1), onp.bool_(True))  # fmt: skip


@pytest.mark.compiled
def test_dtypes_of_every_pair() -> None:
    """Promotion, of arrays with each other, with NumPy's scalars and Python's; nothing runs."""
    ran = lazyloom.stats()["executions"]
    arrays = {onp.dtype(d): np.array(onp.ones(2, d)) for d in DTYPES}
    for name in NAMES:
        theirs, ours = getattr(onp, name), getattr(np, name)
        choices = [onp.ones(2, d) for d in arrays]
        others: list[Any] = [*choices, *WEAK] if theirs.nin == 2 else []
        pairs = [(x, y) for x in others for y in others
                 if isinstance(x, onp.ndarray) or isinstance(y, onp.ndarray)]  # fmt: skip
        for operands in pairs or [(x,) for x in choices]:
            mine = [arrays[x.dtype] if isinstance(x, onp.ndarray) else x for x in operands]
            with onp.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = theirs(*operands)
                except TypeError:
                    with pytest.raises(TypeError):
                        ours(*mine)
                    continue
            found = ours(*mine)
            expected = expected if isinstance(expected, tuple) else (expected,)
            found = found if isinstance(found, tuple) else (found,)
            assert [x.dtype for x in found] == [x.dtype for x in expected], (name, operands)
    assert lazyloom.stats()["executions"] == ran


def test_quotients_are_rounded_once() -> None:
    rng = onp.random.default_rng(0)
    for dtype in ("float16", "float32", "float64"):
        x = rng.uniform(0.1, 9, (50, 20)).astype(dtype)
        row = rng.uniform(0.1, 9, 20).astype(dtype)
        a, b = np.array(x), np.array(row)
        for ours, theirs in ((a / b, x / row), (a / 7.0, x / 7.0), (a / b[3], x / row[3]),
                             (3 / a, 3 / x)):  # fmt: skip
            onp.testing.assert_array_equal(onp.asarray(ours), theirs)


def test_bool_arrays_times_numbers() -> None:
    x = onp.array([True, False])
    for number in (onp.inf, -1.5, -0.0, onp.nan):
        with onp.errstate(all="ignore"):
            expected = (x * number, number * x, x - number)
        ours = np.array(x)
        for mine, theirs in zip((ours * number, number * ours, ours - number), expected):
            onp.testing.assert_array_equal(onp.asarray(mine), theirs)
            assert (onp.signbit(onp.asarray(mine)) == onp.signbit(theirs))[~onp.isnan(theirs)].all()


def test_integers_wrap() -> None:
    for name in ("int8", "uint8", "int64", "uint64"):
        x = _special(name)
        a = np.array(x)
        with onp.errstate(all="ignore"):
            expected = (x + x, x * x, x - 1, -x, x[:, None] * x, abs(x), x**3, x << 1, x.sum(),
                        x.prod(), x.cumsum())  # fmt: skip
        ours = (a + a, a * a, a - 1, -a, a[:, None] * a, abs(a), a**3, a << 1, a.sum(), a.prod(),
                a.cumsum())  # fmt: skip
        for mine, theirs in zip(ours, expected):
            assert mine.dtype == theirs.dtype
            onp.testing.assert_array_equal(onp.asarray(mine), theirs)


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64"])
def test_casts_of_numbers_out_of_range(target: str) -> None:
    x = onp.array([onp.nan, onp.inf, -onp.inf, 300.9, -300.9, -1.5, 3e9, -3e9, 0.9, -0.9])
    with onp.errstate(all="ignore"):
        expected = [x.astype(d).astype(target) for d in ("float32", "float64")]
        for d, theirs in zip(("float32", "float64"), expected):
            onp.testing.assert_array_equal(
                onp.asarray(np.array(x.astype(d)).astype(target)), theirs)


def test_counts_of_half_precision_are_not_too_large() -> None:
    x = onp.random.default_rng(0).standard_normal(70_001).astype("float16")
    x[5] = onp.nan
    wide = x.astype("float64")
    for name in ("nanmean", "nanvar", "nanstd"):
        found = getattr(np, name)(np.asarray(x))
        assert found.dtype == "float16"
        onp.testing.assert_allclose(float(found), getattr(onp, name)(wide), rtol=2e-3)


def test_variances_of_fewer_elements_than_are_taken_off() -> None:
    x, few = onp.arange(6.0).reshape(2, 3), onp.array([True, False, False])
    for where, ddof in ((few, 2), (few, 1), (~few, 3), (onp.zeros(3, bool), 1)):
        for name in ("var", "std"):
            with onp.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = getattr(onp, name)(x, axis=1, where=where, ddof=ddof)
                found = getattr(np, name)(np.asarray(x), axis=1, where=where, ddof=ddof)
                onp.testing.assert_array_equal(onp.asarray(found), expected)
