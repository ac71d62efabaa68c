"""What a ufunc's loop is in ops: the op of the table, or a composition of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, full_value

record = lazyloom.record
#: from the operands in the loop's dtypes, and those, to the result
Compute = Callable[[Sequence[Any], tuple[DType, ...]], Any]

ANY_OPERANDS: Final = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
COMPARISONS: Final = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def compare_out_of_range(name: str, operands: Sequence[Any]) -> Any:
    # NumPy compares Python ints that the dtype cannot hold exactly
    first, second = operands
    weak, array = (first, second) if isinstance(first, int) else (second, first)
    low = weak < 0
    array_is_less = not low
    if weak is first:
        array_is_less = not array_is_less
    answer = {"equal": False, "not_equal": True, "less": array_is_less,
              "less_equal": array_is_less, "greater": not array_is_less,
              "greater_equal": not array_is_less}[name]  # fmt: skip
    return full_value(array.type.shape, answer, dt.BOOL)


def _identity(v: Sequence[Any], _: Any) -> Any:
    return as_value(v[0])


def _like(x: Any, number: Any) -> Any:
    d = x.type.dtype
    return dt.scalar(number, d)


def _integer_reciprocal(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    """1, -1 or 0; of 0 the smallest integer of 32 or 64 bits, as x86 has it, and 0 of others."""
    x = as_value(v[0])
    one = record("equal", (record("abs", (x,)) if d[0].kind == "i" else x, _like(x, 1)))
    found = record("where", (one, x, _like(x, 0)))
    if d[0].kind != "i" or d[0].itemsize < 4:
        return found
    least = _like(x, int(onp.iinfo(d[0].numpy).min))
    return record("where", (record("equal", (x, _like(x, 0))), least, found))


def _integer_power(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    """Powers of integers, whose readers hear of a negative exponent."""
    exponent = v[1]
    if isinstance(exponent, lazyloom.Scalar):
        if exponent.number < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return record("power", v)
    negative = record("less", (exponent, _like(exponent, 0)))
    flag = record("any", (negative,), {"axes": None, "keepdims": False})
    return record("checked", (record("power", v), flag), {
        "kind": "negative power", "of": "power"})[0]


def _scaled(factor: float) -> Compute:
    return lambda v, d: record("multiply", (v[0], dt.scalar(factor, d[0])))


def _rint(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("round", v)


def _divmod(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    return record("floor_divide", v), record("remainder", v)


def _modf(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    x = as_value(v[0])
    whole = record("trunc", (x,))
    infinite = record("isinf", (x,))
    rest = record("where", (infinite, dt.scalar(0.0, d[0]), record("subtract", (x, whole))))
    return record("copysign", (rest, x)), whole


def _frexp(v: Sequence[Any], d: tuple[DType, ...]) -> tuple[Any, Any]:
    x = as_value(v[0])
    # in float64 the exponent of every narrower type is exact; float64's own subnormals
    # are brought into range first
    wide = record("cast", (x,), {"dtype": dt.FLOAT64})
    size = record("abs", (wide,))
    tiny = record("less", (size, dt.scalar(2.0**-1000, dt.FLOAT64)))
    scaled = record("where", (tiny, record("multiply", (wide, dt.scalar(2.0**200, dt.FLOAT64))),
                              wide))  # fmt: skip
    bits = record("bitcast", (scaled,), {"dtype": dt.INT64})
    field = record("bitwise_and", (record("shift_right", (bits, dt.scalar(52, dt.INT64))),
                                   dt.scalar(0x7FF, dt.INT64)))  # fmt: skip
    bias = record("where", (tiny, dt.scalar(1222, dt.INT64), dt.scalar(1022, dt.INT64)))
    exponent = record("subtract", (field, bias))
    kept = record("bitwise_and", (bits, dt.scalar(~(0x7FF << 52), dt.INT64)))
    mantissa = record("bitcast", (
        record("bitwise_or", (kept, dt.scalar(1022 << 52, dt.INT64))),), {"dtype": dt.FLOAT64})
    plain = record("logical_and", (record("isfinite", (wide,)),
                                   record("not_equal", (wide, dt.scalar(0, dt.FLOAT64)))))
    mantissa = record("where", (plain, mantissa, wide))
    exponent = record("where", (plain, exponent, dt.scalar(0, dt.INT64)))
    int32 = dt.internal(onp.int32)
    return (record("cast", (mantissa,), {"dtype": d[0]}),
            record("cast", (exponent,), {"dtype": int32}))


def _ldexp(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("ldexp", v)


def _spacing(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    # a power of two by its bits, since a difference is no subnormal number
    x = as_value(v[0])
    info = onp.finfo(d[0].numpy)
    integer = dt.internal(onp.dtype(f"i{info.bits // 8}"))

    def of(op: str, a: Any, b: int) -> Any:
        return record(op, (a, dt.scalar(b, integer)))

    size = record("abs", (x,))
    bits = record("bitcast", (size,), {"dtype": integer})
    exponent = of("shift_right", bits, info.nmant)
    normal = of("shift_left", of("maximum", of("subtract", exponent, info.nmant), 0), info.nmant)
    place = of("minimum", of("maximum", of("subtract", exponent, 1), 0), info.nmant - 1)
    small = record("shift_left", (dt.scalar(1, integer), place))
    found = record("where", (of("greater", exponent, info.nmant), normal, small))
    found = record("bitcast", (found,), {"dtype": d[0]})
    # after the largest number comes infinity, and after that nothing
    beyond = record("subtract", (dt.scalar(float("inf"), d[0]), size))
    within = record("less", (size, dt.scalar(float(info.max), d[0])))
    found = record("where", (within, found, beyond))
    # that of -0.0 is positive
    below = record("less", (x, dt.scalar(0.0, d[0])))
    return record("where", (below, record("negative", (found,)), found))


def _compare_64(name: str) -> Compute:
    """Exact comparison of int64 with uint64, which share no dtype."""

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = v
        u64 = dt.internal(onp.uint64)
        signed, unsigned = (a, b) if d[0].kind == "i" else (b, a)
        signed = as_value(signed)
        negative_ = record("less", (signed, dt.scalar(0, dt.INT64)))
        cast = record("cast", (signed,), {"dtype": u64})
        pair = (cast, unsigned) if d[0].kind == "i" else (unsigned, cast)
        plain = record(name, pair)
        when_negative = {"equal": False, "not_equal": True, "less": d[0].kind == "i",
                         "less_equal": d[0].kind == "i", "greater": d[0].kind != "i",
                         "greater_equal": d[0].kind != "i"}[name]  # fmt: skip
        return record("where", (negative_, dt.scalar(when_negative, dt.BOOL), plain))

    return compute


def _bitwise_count(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    x = as_value(v[0])
    if d[0].kind == "b":
        return record("cast", (x,), {"dtype": dt.internal(onp.uint8)})
    if d[0].kind == "i":
        x = record("abs", (x,))
    x = record("population_count", (x,))
    return record("cast", (x,), {"dtype": dt.internal(onp.uint8)})


_DEG: Final = 180.0 / onp.pi

def _complex_order(name: str) -> Compute:
    """Complex numbers compare by real part, then by imaginary part; NaN parts as in NumPy."""
    strict = "less" if name.startswith("less") else "greater"

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = as_value(v[0]), as_value(v[1])
        ar, br = record("real", (a,)), record("real", (b,))
        ai, bi = record("imag", (a,)), record("imag", (b,))
        # whether neither imaginary part is NaN
        known = record("logical_and", (record("equal", (ai, ai)), record("equal", (bi, bi))))
        first = record("logical_and", (record(strict, (ar, br)), known))
        same = record("logical_and", (record("equal", (ar, br)), record(name, (ai, bi))))
        return record("logical_or", (first, same))

    return compute


def _complex_extremum(name: str) -> Compute:
    better = _complex_order("greater_equal" if name in ("maximum", "fmax") else "less_equal")

    def compute(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        a, b = as_value(v[0]), as_value(v[1])
        # a NaN stays, or in fmax and fmin gives way to the other one
        kept = record("isnan", (a if name in ("maximum", "minimum") else b,))
        return record("where", (record("logical_or", (better((a, b), d), kept)), a, b))

    return compute


#: by (ufunc, kind of the loop's first dtype): what differs from the op of that name
BY_KIND: Final[dict[tuple[str, str], Compute]] = {
    ("absolute", "b"): _identity,
    ("power", "i"): _integer_power,
    ("reciprocal", "i"): _integer_reciprocal, ("reciprocal", "u"): _integer_reciprocal,
    ("floor", "b"): _identity, ("ceil", "b"): _identity, ("trunc", "b"): _identity,
    **{(n, "c"): _complex_order(n) for n in ("less", "less_equal", "greater", "greater_equal")},
    **{(n, "c"): _complex_extremum(n) for n in ("maximum", "minimum", "fmax", "fmin")},
}  # fmt: skip

#: loops whose operands differ in dtype
MIXED: Final[dict[str, Compute]] = {
    **{name: _compare_64(name) for name in COMPARISONS},
}

#: NumPy's name: the op's
DIRECT: Final = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "floor_divide": "floor_divide", "remainder": "remainder", "fmod": "fmod", "power": "power",
    "float_power": "power", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax",
    "fmin": "fmin", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "nextafter": "nextafter", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2",
    "heaviside": "heaviside", "gcd": "gcd", "lcm": "lcm", "equal": "equal",
    "not_equal": "not_equal", "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "logical_not": "logical_not", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "invert": "bitwise_not",
    "left_shift": "shift_left", "right_shift": "shift_right", "absolute": "abs",
    "fabs": "abs", "negative": "negative", "positive": "positive", "sign": "sign",
    "square": "square", "sqrt": "sqrt", "cbrt": "cbrt", "reciprocal": "reciprocal",
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "signbit": "signbit", "conjugate": "conj",
}  # fmt: skip

COMPOSED: Final[dict[str, Compute]] = {
    "rint": _rint, "degrees": _scaled(_DEG), "rad2deg": _scaled(_DEG),
    "radians": _scaled(1 / _DEG), "deg2rad": _scaled(1 / _DEG), "divmod": _divmod,
    "modf": _modf, "frexp": _frexp, "ldexp": _ldexp, "spacing": _spacing,
    "bitwise_count": _bitwise_count,
}  # fmt: skip
