"""Universal functions against NumPy's: every function, every dtype that NumPy gives it."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom_numpy._ufuncs import ufunc as _ufuncs
from tests.numpy.helpers import DTYPES, both, data, same

pytestmark = pytest.mark.usefixtures("quick_compiler")

UNARY = sorted(n for n, f in _ufuncs.TABLE.items() if f.nin == 1)
BINARY = sorted(n for n, f in _ufuncs.TABLE.items() if f.nin == 2 and f.signature is None)
DIVISIONS = ("floor_divide", "remainder", "fmod", "divmod", "divide")
ARC = {"arcsin": 0.2, "arccos": 0.2, "arctanh": 0.2}


def _accepts(name: str, *dtypes: str) -> bool:
    try:
        onp_f = getattr(onp, name)
        with onp.errstate(all="ignore"):
            onp_f(*(onp.ones(1, d) for d in dtypes))
    except TypeError:
        return False
    return True


def _unary_input(name: str, dtype: str) -> Any:
    x = data((3, 4), dtype)
    if onp.dtype(dtype).kind in "fc":
        x = (x * ARC.get(name, 1)).astype(dtype)
    if name in ("log", "log2", "log10", "log1p", "sqrt") and x.dtype.kind == "f":
        x = abs(x)
    if name == "arccosh" and x.dtype.kind == "f":
        x = abs(x) + x.dtype.type(1)
    if name == "reciprocal" and x.dtype.kind in "biu":
        x = onp.where(x == 0, 1, x).astype(dtype)
    return x


def _joined(m: Any, array: Any, anchor: Any) -> Any:
    """The array, made part of one program with others by a sum with a shared zero."""
    return array if m is onp else array + anchor.astype(array.dtype)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    inputs = []
    for dtype in ("bool", "int8", "uint32", "float16", "float32", "float64", "complex64"):
        x = _unary_input(name, dtype)
        if _accepts(name, dtype):
            inputs.append(x)
        else:
            with pytest.raises(TypeError):
                getattr(np, name)(np.array(x))

    def program(m: Any, anchor: Any, *arrays: Any) -> Any:
        return [getattr(m, name)(_joined(m, x, anchor)) for x in arrays]

    both(program, onp.zeros((), "int8"), *inputs, scale=8)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    inputs: list[Any] = []
    for dtypes in (("bool", "bool"), ("int32", "int32"), ("uint8", "int8"), ("float32", "float32"),
                   ("float64", "int16"), ("complex64", "float32")):  # fmt: skip
        a, b = data((3, 4), dtypes[0], 1), data((4,), dtypes[1], 2)
        if not _accepts(name, *dtypes):
            with pytest.raises(TypeError):
                getattr(np, name)(np.array(a), np.array(b))
            continue
        if name in ("power", "float_power", "left_shift", "right_shift", "ldexp"):
            b = abs(b)
            if name == "float_power" or a.dtype.kind == "f":
                a = abs(a)
        if name in DIVISIONS and b.dtype.kind in "biu":
            b = onp.where(b == 0, 1, b).astype(b.dtype)
        inputs += [a, b]

    def program(m: Any, anchor: Any, *arrays: Any) -> Any:
        return [getattr(m, name)(_joined(m, a, anchor), b)
                for a, b in zip(arrays[::2], arrays[1::2])]  # fmt: skip

    both(program, onp.zeros((), "int8"), *inputs, scale=16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weak_scalars(dtype: str) -> None:
    both(lambda m, a: [a + number for number in (True, 2, 1.5, 1j)], data((5,), dtype, 3))
    x = data((5,), dtype, 3)
    for number in (True, 2, 1.5, 1j):
        assert (np.array(x) * number).dtype == (x * number).dtype
        assert (number - np.array(x) * 1).dtype == (number - x * 1).dtype


@pytest.mark.parametrize("first", [*DTYPES, "bfloat16"])
def test_promotion_of_arrays(first: str) -> None:
    bfloat16 = np.bfloat16
    one = onp.dtype(bfloat16 if first == "bfloat16" else first)
    for second in [*DTYPES, "bfloat16"]:
        two = onp.dtype(bfloat16 if second == "bfloat16" else second)
        x, y = onp.ones(2, one), onp.ones(2, two)
        for name in ("add", "multiply", "divide", "maximum", "less", "arctan2", "bitwise_or"):
            try:
                expected = getattr(onp, name)(x, y).dtype
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(np, name)(np.array(x), np.array(y))
                continue
            assert getattr(np, name)(np.array(x), np.array(y)).dtype == expected, (name, second)


def test_bfloat16() -> None:
    x = onp.array([1.5, -2.0, 3.25], np.bfloat16)
    both(lambda m, a: (a + a, a * 2, a / 3, m.exp(a), a > 0, a.sum(), a.max()), x)
    both(lambda m, a: a + 1.5, x)
    assert (np.array(x) @ np.array(x)).dtype == np.bfloat16


def test_python_integers_out_of_range() -> None:
    x = np.array([1, 200], np.uint8)
    with pytest.raises(OverflowError, match="300"):
        x + 300
    with pytest.raises(OverflowError):
        x + -1
    for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        for number in (300, -1):
            expected = getattr(onp.array([1, 200], onp.uint8), compare)(number)
            same(getattr(x, compare)(number), expected)
    with pytest.raises(ValueError, match="negative integer powers"):
        x ** -1


def test_int64_with_uint64() -> None:
    a = onp.array([-1, 0, 1, 2**62], onp.int64)
    b = onp.array([2**64 - 1, 0, 2**63, 2**62], onp.uint64)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        both(lambda m, x, y, name=name: (getattr(m, name)(x, y), getattr(m, name)(y, x)), a, b)
    both(lambda m, x, y: x + y, a, b)


def test_out_where_dtype() -> None:
    a, b = data((3, 4), "float32", 1), data((4,), "float32", 2)

    def program(m, x, y):
        out = m.zeros((3, 4), "float64")
        r = m.add(x, y, out=out)
        assert r is out
        m.multiply(x, y, out=out, where=x > 0)
        positional = m.empty((3, 4), "float32")
        m.subtract(x, y, positional)
        return out, positional, m.add(x, y, dtype="float64"), m.sqrt(m.array([4, 9]), dtype="f4")

    both(program, a, b)
    x = np.array(a)
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, 1.5, out=np.zeros((3, 4), int))
    with pytest.raises(ValueError, match="broadcast"):
        np.add(x, 1, out=np.zeros((4,), "f4"))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and",
                                  "logical_or", "bitwise_xor", "subtract", "gcd"])  # fmt: skip
def test_reduce_accumulate_outer(name: str) -> None:
    x = abs(data((3, 5), "int32", 4)) + 1

    def program(m, a):
        f = getattr(m, name)
        return f.reduce(a), f.reduce(a, axis=1, keepdims=True), f.outer(a[0], a[1])

    both(program, x)
    both(lambda m, a: getattr(m, name).accumulate(a, axis=1), x)


def test_at() -> None:
    def program(m, a):
        m.add.at(a, [0, 0, 2], 1.0)
        m.subtract.at(a, [1, 1], m.array([2.0, 3.0]))
        m.maximum.at(a, [3], 9.0)
        m.negative.at(a, [4])
        return a

    both(program, onp.arange(5.0))


def test_special_values() -> None:
    x = onp.array([onp.nan, onp.inf, -onp.inf, 0.0, -0.0, 1.0])
    for name in ("isnan", "isinf", "isfinite", "signbit", "sign", "spacing", "frexp", "modf"):
        both(lambda m, a, name=name: getattr(m, name)(a), x)
    for name in ("maximum", "minimum", "fmax", "fmin", "copysign", "nextafter", "heaviside"):
        both(lambda m, a, name=name: getattr(m, name)(a[:, None], a), x)
    z = onp.array([1 + 2j, 1 - 2j, 2 + 0j, 0j])
    for name in ("less", "greater_equal", "maximum", "minimum"):
        both(lambda m, a, name=name: getattr(m, name)(a[:, None], a), z)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_spacing_of_every_magnitude(dtype: str) -> None:
    """Which is subnormal where the numbers are small, in every form; of nothing's sum, too."""
    limits = onp.finfo(dtype)
    powers = 2.0 ** onp.arange(limits.minexp, limits.maxexp)
    x = onp.concatenate([powers, 1.5 * powers, [0.0, limits.max, limits.tiny / 4]]).astype(dtype)
    if dtype != "float16":
        # of which NumPy gives the distance towards zero
        x = onp.concatenate([x, -x[x >= limits.tiny]])
    with onp.errstate(all="ignore"):
        expected = onp.spacing(x)
    for reproducible in (False, True):
        with lazyloom.options(reproducible=reproducible):
            onp.testing.assert_array_equal(onp.asarray(np.spacing(np.array(x))), expected)
            nothing = np.sum(np.array(onp.zeros((2, 0), dtype)), axis=1)
            assert (onp.asarray(np.spacing(nothing)) == limits.smallest_subnormal).all()


def test_power() -> None:
    x = data((4,), "float32", 5)
    both(lambda m, a: (a**2, a**3, a**0, a**-1, abs(a) ** 0.5, 2**a, a**2.0), x, scale=4)
    both(lambda m, a: (a**2, m.power(a, 3), 2 ** abs(a)), data((4,), "int16", 5))
    both(lambda m: (m.power(m.float32(2), 3), m.power(m.array([2], "f4"), 3)))
    both(lambda m, a: a**2, onp.array([True, False]))


def test_call_errors() -> None:
    with pytest.raises(TypeError, match="positional"):
        np.add(1)
    with pytest.raises(TypeError):
        np.sin("a")
    with pytest.raises(ValueError, match="shape"):
        np.zeros(3) + np.zeros(4)
