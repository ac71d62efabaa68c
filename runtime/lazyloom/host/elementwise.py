"""Steps that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..jaxprs.walking import positive
from .routines import FLUSHED, KEEP_SUBNORMALS
from .writer import Expr, Unsupported, Writer, common, dtype_of, dtype_text, extent

#: one call for real numbers, with its name in the text
_REAL: Final = {
    "exp": "exp", "log": "log", "log1p": "log1p", "expm1": "expm1", "exp2": "exp2",
    "sqrt": "sqrt", "cbrt": "cbrt", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
    "floor": "floor", "ceil": "ceil", "nextafter": "nextafter", "pow": "power",
    "rsqrt": "rsqrt", "logistic": "logistic", "erf": "erf", "erfc": "erfc", "erf_inv": "erf_inv",
}  # fmt: skip
#: those that Python computes one by one in double precision; for more elements than this,
#: compiling takes less time
_SLOW: Final = frozenset(["erf", "erfc", "erf_inv"])
_FEW: Final = 1 << 18
#: one call for every dtype that the step takes
_ANY: Final = {
    "add": "add", "add_any": "add", "sub": "subtract", "neg": "negative", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "not": "invert", "is_finite": "isfinite",
    "eq": "equal", "ne": "not_equal", "conj": "conjugate", "shift_left": "left_shift",
    "population_count": "population_count",
}  # fmt: skip
#: one call for numbers that have an order
_ORDERED: Final = {
    "max": "maximum", "min": "minimum", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip

#: functions that have an operator
_SIGNS: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "negative": "-",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "invert": "~", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip

Emit = Callable[[Writer, Any, "list[Expr]", "tuple[int, ...]", Any], Expr]


def emit(w: Writer, step: Any, operands: list[Expr]) -> Expr | None:
    """Write an elementwise step; None if it is none."""
    name = step.primitive.name
    aval = step.outvars[0].aval
    rule = _RULES.get(name)
    if rule is not None:
        return rule(w, step.params, operands, tuple(aval.shape), dtype_of(aval))
    kinds = {x.dtype.kind for x in operands}
    function = _ANY.get(name)
    if function is None:
        function = _ORDERED.get(name)
        if function is not None and "c" in kinds:
            raise Unsupported(f"{name} of complex numbers")
    if function is None:
        function = _REAL.get(name)
        if function is None:
            return None
        if name in _SLOW and operands[0].dtype != np.float32 and (
            not w.names.at_most(operands[0].size, _FEW)
        ):
            raise Unsupported(f"{name} of {operands[0].size} elements")
        if kinds != {"f"}:
            raise Unsupported(f"{name} of {', '.join(sorted({str(x.dtype) for x in operands}))}")
        if function in KEEP_SUBNORMALS and operands[0].dtype.name in FLUSHED:
            function = f"flushed_{function}_{operands[0].dtype.name}"
    return call(w, function, operands, tuple(aval.shape), dtype_of(aval))


def call(
    w: Writer, function: str, operands: Sequence[Expr], shape: tuple[int, ...], dtype: Any
) -> Expr:
    """An elementwise function of values that are not spread out."""
    actual = common(x.actual for x in operands)
    names = [x.text for x in operands]
    same = _unchanged(w, function, operands, actual, dtype)
    if same is not None:
        return same._replace(shape=shape)
    sign = _SIGNS.get(function)
    if sign is not None:
        # a tenth of the ufunc's time for NumPy's scalars
        text = f"{sign}{names[0]}" if len(names) == 1 else f"{names[0]} {sign} {names[1]}"
    elif function == "choose" and not operands[0].actual and (
        operands[1].actual == operands[2].actual
    ):
        return w.let(f"{names[1]} if {names[0]} else {names[2]}", shape, dtype, actual, True)
    else:
        text = f"{function}({', '.join(names)})"
    return w.local(w.let(text, shape, dtype, actual), "elementwise", operands)


def _unchanged(
    w: Writer, function: str, operands: Sequence[Expr], actual: tuple[int, ...], dtype: Any
) -> Expr | None:
    """The operand that is the result, where the other one is 0 or 1."""
    neutral = w.names.zeros if function in ("add", "subtract") else (
        w.names.ones if function in ("multiply", "divide") else ())
    if not neutral:
        return None
    x, y = operands
    if y.text in neutral and x.actual == actual and x.dtype == dtype:
        return x
    if function in ("add", "multiply") and x.text in neutral and (
        y.actual == actual and y.dtype == dtype
    ):
        return y
    return None


def _mul(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return complex_product(w, xs[0], xs[1], shape, dtype) if dtype.kind == "c" else call(
        w, "multiply", xs, shape, dtype)


def _square(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return complex_product(w, xs[0], xs[0], shape, dtype) if dtype.kind == "c" else call(
        w, "square", xs, shape, dtype)


def complex_product(
    w: Writer, x: Expr, y: Expr, shape: tuple[int, ...], dtype: Any
) -> Expr:
    """The product of complex numbers. One by 1 has products by 0, too, which may be NaN."""
    found = w.let(f"complex_product({x.text}, {y.text})", shape, dtype,
                  common([x.actual, y.actual]))
    return w.local(found, "elementwise", [x, y])


def _div(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    if dtype.kind == "c":
        raise Unsupported("div of complex numbers")
    return call(w, "divide" if dtype.kind == "f" else "int_divide", xs, shape, dtype)


def _rem(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return call(w, "float_remainder" if dtype.kind == "f" else "int_remainder", xs, shape, dtype)


def _sign(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    if dtype.kind == "c":
        raise Unsupported("sign of complex numbers")
    return call(w, "float_sign" if dtype.kind == "f" else "sign", xs, shape, dtype)


def _abs(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return call(w, "absolute", xs, shape, dtype)


def _round(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    even = p["rounding_method"].name == "TO_NEAREST_EVEN"
    return call(w, "rint" if even else "round_away", xs, shape, dtype)


def _shift_right_logical(
    w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any
) -> Expr:
    return call(w, "right_shift" if dtype.kind == "u" else "logical_right_shift", xs, shape, dtype)


def _shift_right_arithmetic(
    w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any
) -> Expr:
    if dtype.kind == "u":
        raise Unsupported("shift_right_arithmetic of unsigned integers")
    return call(w, "right_shift", xs, shape, dtype)


def _integer_pow(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    y = extent(p["y"])
    if y == 1:
        return xs[0]
    if y == 2:
        return _square(w, p, xs, shape, dtype)
    if dtype.kind == "c" or (y != 0 and not positive(y) and dtype.kind != "f"):
        raise Unsupported(f"integer_pow {y} of {dtype}")
    x = xs[0]
    found = w.let(f"integer_power({x.text}, {y})", shape, dtype, x.actual)
    return w.local(found, "elementwise", [x])


def _clamp(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    if dtype.kind == "c":
        raise Unsupported("clamp of complex numbers")
    low, x, high = xs
    return call(w, "minimum", [call(w, "maximum", [x, low], shape, dtype), high], shape, dtype)


def _select(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    which, *cases = xs
    if len(cases) == 1:
        return cases[0]
    if which.dtype.kind == "b":
        return call(w, "choose", [which, cases[1], cases[0]], shape, dtype)
    found = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        at = w.literal(number, which.dtype)
        below = call(w, "less_equal", [which, at], which.shape, np.dtype(bool))
        found = call(w, "choose", [below, cases[number], found], shape, dtype)
    return found


def _convert(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return converted(w, xs[0], dtype)


def converted(w: Writer, x: Expr, dtype: Any) -> Expr:
    """A value in another dtype, as XLA converts: towards zero, out of range to the nearest."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return call(w, "not_equal", [x, w.literal(0, x.dtype)], x.shape, dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = w.let(f"{x.text}.real", x.shape, np.dtype(f"f{x.dtype.itemsize // 2}"), x.actual, True)
        return converted(w, x, dtype)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        text = f"float_to_int({x.text}, {dtype_text(dtype)})"
    else:
        text = f"{x.text}.astype({dtype_text(dtype)})"
    return w.local(w.let(text, x.shape, dtype, x.actual), "elementwise", [x])


def _real(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return w.let(f"{xs[0].text}.real", shape, dtype, xs[0].actual, True)


def _imag(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return w.let(f"{xs[0].text}.imag", shape, dtype, xs[0].actual, True)


def _complex(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
    return call(w, "make_complex", xs, shape, dtype)


def _reduce_precision(
    w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any
) -> Expr:
    info = np.finfo(dtype)
    if (p["exponent_bits"], p["mantissa_bits"]) != (info.nexp, info.nmant):
        raise Unsupported("reduce_precision")
    return xs[0]


def _in_total_order(sign: str) -> Emit:
    def emit(w: Writer, p: Any, xs: list[Expr], shape: tuple[int, ...], dtype: Any) -> Expr:
        if xs[0].dtype.kind == "c":
            raise Unsupported("the order of complex numbers")
        keys = [f"total_order({x.text})" if x.dtype.kind == "f" else x.text for x in xs]
        actual = common(x.actual for x in xs)
        return w.let(f"{keys[0]} {sign} {keys[1]}", shape, dtype, actual)

    return emit


_RULES: Final[dict[str, Emit]] = {
    "div": _div, "rem": _rem, "sign": _sign, "abs": _abs, "round": _round, "shift_right_logical":
    _shift_right_logical, "shift_right_arithmetic": _shift_right_arithmetic, "integer_pow":
    _integer_pow, "mul": _mul, "square": _square, "clamp": _clamp, "select_n": _select,
    "convert_element_type": _convert, "real": _real, "lt_to": _in_total_order("<"), "le_to":
    _in_total_order("<="), "eq_to": _in_total_order("=="), "imag": _imag, "complex": _complex,
    "reduce_precision": _reduce_precision,
}  # fmt: skip
