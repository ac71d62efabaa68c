"""Steps that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import positive
from ..c_values import NoCode, number_text
from ..subnormals import FLUSHED, KEEP_SUBNORMALS
from ..writer import Expr, Unsupported, Writer, common, extent
from .entry import COMPLEX, SELDOM, CValues, Emit, Exprs, Primitive, elementwise, in_numpy

#: more elements than this of what Python computes one by one in double precision take longer than
#: compiling
_FEW: Final = 1 << 18
#: functions of complex numbers that are NumPy's; XLA's sines lose digits near zero, and its arcs
#: are infinite near their poles, where NumPy's are not
_COMPLEX: Final = {"exp": "exp", "log": "complex_log", "sqrt": "sqrt"}
#: what an element costs in C of functions that are no single instruction
_DEAR: Final = 10

#: NumPy's functions that have an operator
_SIGNS: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "negative": "-",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "invert": "~", "equal": "==",
    "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip


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


def complex_product(
    w: Writer, x: Expr, y: Expr, shape: tuple[int, ...], dtype: Any
) -> Expr:
    """The product of complex numbers. One by 1 has products by 0, too, which may be NaN."""
    found = w.let(f"complex_product({x.text}, {y.text})", shape, dtype,
                  common([x.actual, y.actual]))
    return w.local(found, "elementwise", [x, y])


def _any(function: str) -> Emit:
    """A call for every dtype that the step takes."""
    return lambda w, p, xs, shape, dtype: call(w, function, xs, shape, dtype)


def _ordered(function: str, kinds: str = "", theirs: str = "") -> Emit:
    """A call for numbers that have an order, another one for dtypes of these kinds."""

    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        kind = xs[0].dtype.kind
        if kind == "c":
            raise Unsupported(f"{function} of complex numbers")
        return call(w, theirs if kind in kinds else function, xs, shape, dtype)

    return emit


def _formulas(
    formula: str, cost: int, kinds: str, theirs: str, their_cost: int
) -> Callable[[Any, CValues, Any], tuple[str, int]]:
    """The same in C."""
    return lambda p, xs, dtype: (theirs, their_cost) if dtype.kind in kinds else (formula, cost)


def _of_reals(function: str, slow: bool = False) -> Emit:
    """A call for real numbers, ``slow`` where Python computes one by one.

    For complex ones, too, where NumPy's function is as C99 has it: definitions say the same of
    zeros, infinities and NaN (``ops/complex_edges.py``).
    """

    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        if slow and xs[0].dtype != np.float32 and not w.names.at_most(xs[0].size, _FEW):
            raise Unsupported(f"{function} of {xs[0].size} elements")
        kinds = {x.dtype.kind for x in xs}
        if kinds == {"c"} and function in _COMPLEX:
            return call(w, _COMPLEX[function], xs, shape, dtype)
        if kinds != {"f"}:
            raise Unsupported(f"{function} of {', '.join(sorted({str(x.dtype) for x in xs}))}")
        flushed = function in KEEP_SUBNORMALS and xs[0].dtype.name in FLUSHED
        return call(w, f"flushed_{function}_{xs[0].dtype.name}" if flushed else function, xs,
                    shape, dtype)

    return emit


def _real(
    function: str, name: str = "", operands: str = "{0}", own: bool = False, slow: bool = False,
    overflows: bool = False, cheap: bool = False,
) -> Primitive:
    """A function of real numbers of the prelude or of C's library, which has that name there.

    ``own``: in float32 one of the prelude's, which compilers make vectors of. ``cheap``: it takes
    an instruction or two.
    """
    return elementwise(
        _of_reals(function, slow), f"l_{name or function}_{{kind}}({operands})",
        1 if cheap else _DEAR, True, overflows, library=0 if cheap else 8 if own else 4)


def _mul(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    return complex_product(w, xs[0], xs[1], shape, dtype) if dtype.kind == "c" else call(
        w, "multiply", xs, shape, dtype)


def _square(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    return complex_product(w, xs[0], xs[0], shape, dtype) if dtype.kind == "c" else call(
        w, "square", xs, shape, dtype)


def _round(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    even = p["rounding_method"].name == "TO_NEAREST_EVEN"
    return call(w, "rint" if even else "round_away", xs, shape, dtype)


def _round_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    if p["rounding_method"].name != "TO_NEAREST_EVEN":
        raise NoCode("round away from zero")
    return "l_rint_{kind}({0})", 1


def _is_finite_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    most = number_text(np.finfo(xs[0].dtype).max, xs[0].dtype)
    return f"(l_abs_{{kind}}({{0}}) <= {most})", 1


def _shift_signed(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    if dtype.kind == "u":
        raise Unsupported("shift_right_arithmetic of unsigned integers")
    return call(w, "right_shift", xs, shape, dtype)


def _shift_in_c(sign: str) -> Callable[[Any, CValues, Any], tuple[str, int]]:
    def formula(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
        if dtype.kind != "u" and sign == ">>":
            raise NoCode(f"shifts of {dtype}")
        return f"((uint64_t){{1}} < {8 * dtype.itemsize} ? {{0}} {sign} {{1}} : 0)", 1

    return formula


def _integer_pow(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
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


def _integer_pow_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    y = p["y"]
    if not isinstance(y, int) or abs(y) > 16 or (y < 0 and dtype.kind != "f"):
        raise NoCode(f"integer_pow {y} of {dtype}")
    if y == 0:
        return number_text(1, dtype), 0
    powers, n, square = [], abs(y), "{0}"
    while n:
        if n & 1:
            powers.append(square)
        n >>= 1
        square = f"({square}*{square})"
    whole = "(" + "*".join(powers) + ")"
    return whole if y > 0 else f"(1 / {whole})", 2


def _clamp(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    if dtype.kind == "c":
        raise Unsupported("clamp of complex numbers")
    low, x, high = xs
    return call(w, "minimum", [call(w, "maximum", [x, low], shape, dtype), high], shape, dtype)


def _clamp_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    kind = xs[1].kind
    return f"l_min_{kind}(l_max_{kind}({{1}}, {{0}}), {{2}})", 2


def _in_total_order(sign: str) -> Emit:
    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        if xs[0].dtype.kind == "c":
            raise Unsupported("the order of complex numbers")
        keys = [f"total_order({x.text})" if x.dtype.kind == "f" else x.text for x in xs]
        actual = common(x.actual for x in xs)
        return w.let(f"{keys[0]} {sign} {keys[1]}", shape, dtype, actual)

    return emit


ELEMENTS: Final[dict[str, Primitive]] = {
    "add": elementwise(_any("add"), "({0} + {1})", overflows=True),
    "add_any": elementwise(_any("add"), "({0} + {1})", overflows=True),
    "sub": elementwise(_any("subtract"), "({0} - {1})", overflows=True),
    "mul": elementwise(_mul, "({0} * {1})", overflows=True),
    "div": elementwise(
        _ordered("int_divide", "f", "divide"),
        _formulas("l_div_{kind}({0}, {1})", 3, "f", "({0} / {1})", 3), overflows=True),
    "rem": elementwise(
        _ordered("int_remainder", "f", "float_remainder"),
        _formulas("l_rem_{kind}({0}, {1})", _DEAR, "f", "l_fmod_{kind}({0}, {1})", _DEAR),
        library=4),
    "neg": elementwise(_any("negative"), "(-{0})"),
    "sign": elementwise(
        _ordered("sign", "f", "float_sign"),
        _formulas("l_sign_{kind}({0})", 2, "u", "({0} != 0)", 1)),
    "abs": elementwise(
        _any("absolute"), _formulas("l_abs_{kind}({0})", 1, "u", "{0}", 0)),
    "square": elementwise(_square, "({0} * {0})", overflows=True),
    "integer_pow": elementwise(_integer_pow, _integer_pow_in_c, overflows=True),
    "max": elementwise(_ordered("maximum"), "l_max_{kind}({0}, {1})"),
    "min": elementwise(_ordered("minimum"), "l_min_{kind}({0}, {1})"),
    "clamp": elementwise(_clamp, _clamp_in_c),
    "round": elementwise(_round, _round_in_c),
    "eq": elementwise(_any("equal"), "({0} == {1})"),
    "ne": elementwise(_any("not_equal"), "({0} != {1})"),
    "lt": elementwise(_ordered("less"), "({0} < {1})"),
    "le": elementwise(_ordered("less_equal"), "({0} <= {1})"),
    "gt": elementwise(_ordered("greater"), "({0} > {1})"),
    "ge": elementwise(_ordered("greater_equal"), "({0} >= {1})"),
    "lt_to": in_numpy(_in_total_order("<"), SELDOM),
    "le_to": in_numpy(_in_total_order("<="), SELDOM),
    "eq_to": in_numpy(_in_total_order("=="), SELDOM),
    "and": elementwise(_any("bitwise_and"), "({0} & {1})"),
    "or": elementwise(_any("bitwise_or"), "({0} | {1})"),
    "xor": elementwise(_any("bitwise_xor"), "({0} ^ {1})"),
    "not": elementwise(_any("invert"), _formulas("(~{0})", 1, "b", "(!{0})", 1)),
    "shift_left": elementwise(_any("left_shift"), _shift_in_c("<<")),
    "shift_right_logical": elementwise(
        _ordered("logical_right_shift", "u", "right_shift"), _shift_in_c(">>")),
    "shift_right_arithmetic": in_numpy(_shift_signed, SELDOM),
    "population_count": in_numpy(_any("population_count"), SELDOM),
    "is_finite": elementwise(_any("isfinite"), _is_finite_in_c),
    "nextafter": in_numpy(_of_reals("nextafter"), SELDOM, bits=True),
    "complex": in_numpy(_any("make_complex"), COMPLEX),
    "conj": in_numpy(_any("conjugate"), COMPLEX),
    "sqrt": _real("sqrt", cheap=True), "rsqrt": _real("rsqrt", cheap=True, overflows=True),
    "floor": _real("floor", cheap=True), "ceil": _real("ceil", cheap=True),
    "exp": _real("exp", own=True, overflows=True), "exp2": _real("exp2", overflows=True),
    "expm1": _real("expm1", overflows=True), "log": _real("log", own=True),
    "log1p": _real("log1p", own=True), "logistic": _real("logistic", own=True),
    "pow": _real("power", "pow", "{0}, {1}", overflows=True), "cbrt": _real("cbrt"),
    "sin": _real("sin"), "cos": _real("cos"), "tan": _real("tan", overflows=True),
    "asin": _real("arcsin", "asin"), "acos": _real("arccos", "acos"),
    "atan": _real("arctan", "atan"), "atan2": _real("arctan2", "atan2", "{0}, {1}"),
    "sinh": _real("sinh", overflows=True), "cosh": _real("cosh", overflows=True),
    "tanh": _real("tanh", own=True), "asinh": _real("arcsinh", "asinh"),
    "acosh": _real("arccosh", "acosh"), "atanh": _real("arctanh", "atanh"),
    "erf": _real("erf", slow=True), "erfc": _real("erfc", slow=True),
    "erf_inv": elementwise(
        _of_reals("erf_inv", slow=True),
        lambda p, xs, dtype: ("l_erf_inv_{kind}({0})", _DEAR)),
}
