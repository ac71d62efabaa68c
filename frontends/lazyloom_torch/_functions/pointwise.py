"""Element-wise functions: tables of names, from which functions and methods are made.

Each function promotes by PyTorch's rules, records one op of the table, and exists as
``torch.f``, ``Tensor.f`` and, in place, ``Tensor.f_``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom import Scalar

from .. import _dtypes
from .._core import cast, record, record_number, record_one, record_two, scalar, spec
from .._dtypes import bool_, dtype
from .._grad_mode import is_grad_enabled
from .._promotion import combine, is_number, number_dtype
from .._tensor import Tensor, operand

#: torch name -> (op, kind). Kinds: "float" makes integers floating first; "same" keeps
#: the dtype; "test" gives bool.
UNARY: dict[str, tuple[str, str]] = {
    **{n: (n, "float") for n in (
        "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid")},
    **{n: (n, "same") for n in ("abs", "sign", "floor", "ceil", "trunc", "square", "relu")},
    "neg": ("negative", "same"), "negative": ("negative", "same"), "positive": ("positive", "same"),
    "absolute": ("abs", "same"), "fix": ("trunc", "same"), "sgn": ("sign", "same"),
    "arcsin": ("asin", "float"), "arccos": ("acos", "float"), "arctan": ("atan", "float"),
    "arcsinh": ("asinh", "float"), "arccosh": ("acosh", "float"), "arctanh": ("atanh", "float"),
    "bitwise_not": ("bitwise_not", "same"), "logical_not": ("logical_not", "test"),
    "isnan": ("isnan", "test"), "isinf": ("isinf", "test"), "isfinite": ("isfinite", "test"),
    "signbit": ("signbit", "test"),
}

#: torch name -> (op, kind). Kinds: "arith" promotes; "float" promotes and makes
#: integers floating; "compare" promotes and gives bool; "logic" takes any dtypes and
#: gives bool.
BINARY: dict[str, tuple[str, str]] = {
    "maximum": ("maximum", "arith"), "minimum": ("minimum", "arith"),
    "fmax": ("fmax", "arith"), "fmin": ("fmin", "arith"),
    "remainder": ("remainder", "arith"), "fmod": ("fmod", "arith"),
    "floor_divide": ("floor_divide", "arith"), "gcd": ("gcd", "arith"), "lcm": ("lcm", "arith"),
    "true_divide": ("divide", "float"),
    "atan2": ("atan2", "float"), "arctan2": ("atan2", "float"), "hypot": ("hypot", "arith"),
    "copysign": ("copysign", "float"), "nextafter": ("nextafter", "arith"),
    "logaddexp": ("logaddexp", "float"), "logaddexp2": ("logaddexp2", "float"),
    "heaviside": ("heaviside", "arith"), "xlogy": ("xlogy", "float"),
    "eq": ("equal", "compare"), "ne": ("not_equal", "compare"), "lt": ("less", "compare"),
    "le": ("less_equal", "compare"), "gt": ("greater", "compare"),
    "ge": ("greater_equal", "compare"), "not_equal": ("not_equal", "compare"),
    "less": ("less", "compare"), "less_equal": ("less_equal", "compare"),
    "greater": ("greater", "compare"), "greater_equal": ("greater_equal", "compare"),
    "logical_and": ("logical_and", "logic"), "logical_or": ("logical_or", "logic"),
    "logical_xor": ("logical_xor", "logic"),
    "bitwise_and": ("bitwise_and", "arith"), "bitwise_or": ("bitwise_or", "arith"),
    "bitwise_xor": ("bitwise_xor", "arith"),
    "bitwise_left_shift": ("shift_left", "arith"), "bitwise_right_shift": ("shift_right", "arith"),
}

#: the specs of binary ops
_pairs: dict[str, lazyloom.Spec] = {}
_BOOL_ARITHMETIC = {"add": "logical_or", "multiply": "logical_and"}
_wrap = Tensor._wrap


def ranked(x: Any) -> tuple[int, dtype]:
    """An operand's rank and dtype for promotion."""
    if isinstance(x, Tensor):
        kind = x._type
        return (2 if kind.shape else 1), _dtypes.of(kind.dtype)
    return 0, number_dtype(x)


def promoted(operands: tuple[Any, ...], floating: bool = False) -> tuple[list[Any], dtype]:
    """The operands as Values and Scalars of their common dtype, and that dtype.

    ``floating`` makes an integer or bool result the default floating-point dtype.
    """
    common = combine(ranked(x) for x in operands)
    if floating and common.category < 2:
        common = _dtypes.get_default_dtype()
    lazy = common.lazy
    found = [cast(operand(x), lazy) if isinstance(x, Tensor) else scalar(x, lazy)
             for x in operands]
    if not any(isinstance(x, Tensor) for x in operands):
        raise TypeError("expected at least one Tensor")
    return found, common


def binary(op: str, a: Any, b: Any, kind: str = "arith") -> Tensor:
    """Record a binary op on promoted operands."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        lazy = a._type.dtype
        if lazy is not b._type.dtype or (kind == "float" and not lazy.is_inexact) or (
            lazy.kind == "b"
        ):
            return _promoting(op, a, b, kind)
        x: Any = a._operand() if a._special else a.value
        y: Any = b._operand() if b._special else b.value
    elif isinstance(a, Tensor) and type(b) is float and a._type.dtype.is_inexact:
        x = operand(a)
        y = Scalar(b, a._type.dtype)
    else:
        return _promoting(op, a, b, kind)
    ready = _pairs.get(op)
    if ready is None:
        ready = _pairs[op] = spec(op, 2)
    made: Tensor = _wrap(
        record_number(ready, x, y) if type(y) is Scalar else record_two(ready, x, y))
    return made


def _promoting(op: str, a: Any, b: Any, kind: str) -> Tensor:
    if kind == "logic":
        return _made(record(op, [operand(a), operand(b)]))
    values, common = promoted((a, b), kind == "float")
    if common is bool_ and kind == "arith":
        if op == "subtract":
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                "`^` or `logical_xor()` operator instead.")
        op = _BOOL_ARITHMETIC.get(op, op)
    return _made(record(op, values))


def _made(value: Any) -> Tensor:
    made: Tensor = _wrap(value)
    return made


def _copied(value: Any) -> Tensor:
    """A tensor of its own for a function that changes nothing."""
    return _made(value if is_grad_enabled() else value.detach())




def _make_unary(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    if name in ("abs", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "fix", "absolute",
                "sign", "square", "signbit", "sgn", "relu"):
        return _make_lenient(name, op, kind)
    ready = spec(op, 1)
    floating = kind == "float"

    def function(input: Tensor) -> Tensor:
        v = operand(input)
        if floating and not v.dtype.is_inexact:
            v = cast(v, _dtypes.get_default_dtype().lazy)
        made: Tensor = _wrap(record_one(ready, v))
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _make_lenient(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    """For functions whose op has no integer or bool form, although PyTorch's has."""
    ready = spec(op, 1)

    def function(input: Tensor) -> Tensor:
        v = operand(input)
        if not v.dtype.is_inexact:
            if op in ("floor", "ceil", "trunc"):
                return _copied(v)
            if kind == "test" and op != "signbit":
                from .creation import full_like

                return full_like(input, op == "isfinite", dtype=bool_)
            if v.dtype.kind == "u" and op in ("abs", "relu"):
                return _copied(v)
            if v.dtype.kind == "b":
                raise RuntimeError(f'"{name}" is not implemented for torch.bool; use .int() first')
        return _made(record_one(ready, v))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _make_binary(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        return binary(op, input, other, kind)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}``, element by element, with broadcasting and promotion."
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: _make_unary(n, op, kind) for n, (op, kind) in UNARY.items()},
    **{n: _make_binary(n, op, kind) for n, (op, kind) in BINARY.items()},
}


def _scaled(other: Any, alpha: Any) -> Any:
    return other if alpha == 1 and not isinstance(alpha, Tensor) else other * alpha


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``."""
    return binary("add", input, _scaled(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``."""
    return binary("subtract", input, _scaled(other, alpha))


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``."""
    return binary("subtract", other, _scaled(input, alpha))


def mul(input: Any, other: Any) -> Tensor:
    """``input * other``."""
    return binary("multiply", input, other)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``; rounding_mode ``"floor"`` or ``"trunc"`` keeps integers integers."""
    if rounding_mode is None:
        return binary("divide", input, other, "float")
    if rounding_mode == "floor":
        return binary("floor_divide", input, other)
    if rounding_mode == "trunc":
        values, common = promoted((input, other))
        if common.category == 2:
            return _made(record("trunc", [record("divide", values)]))
        quotient = record("floor_divide", values)
        rest = record("fmod", values)
        # floor and truncation differ where there is a remainder and the signs differ
        zero = scalar(0, common.lazy)
        negative = record("logical_xor", [record("less", [values[0], zero]),
                                          record("less", [values[1], zero])])
        off = record("logical_and", [negative, record("not_equal", [rest, zero])])
        return _made(record("add", [quotient, cast(off, common.lazy)]))
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"{rounding_mode!r}")


#: the specs of integer powers
_powers: dict[int, lazyloom.Spec] = {}


def pow(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``. Raises RuntimeError for an integer to a negative integer."""
    if isinstance(input, Tensor) and is_number(exponent) and not isinstance(exponent, bool):
        kind = input._type.dtype
        if isinstance(exponent, float) and exponent.is_integer() and kind.is_inexact:
            whole = int(exponent)
        elif isinstance(exponent, int):
            whole = exponent
        else:
            whole = 1000
        if kind.kind in "iub" and isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if -64 <= whole <= 64 and kind.kind != "b":
            ready = _powers.get(whole)
            if ready is None:
                ready = _powers[whole] = spec("integer_power", 1, {"exponent": whole})
            return _made(record_one(ready, operand(input)))
    return binary("power", input, exponent)


def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in float64 (complex128 for complex operands)."""
    from .creation import as_tensor

    x = as_tensor(input)
    wide = _dtypes.complex128 if x.dtype.is_complex else _dtypes.float64
    y = exponent.to(wide) if isinstance(exponent, Tensor) else exponent
    return pow(x.to(wide), y)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round half to even."""
    v = operand(input)
    if v.dtype.kind in "iub":
        return _copied(v)
    return _made(record("round", [v], {"decimals": decimals}))


def frac(input: Tensor) -> Tensor:
    """The fractional part: ``input - trunc(input)``."""
    v = operand(input)
    return _made(record("subtract", [v, record("trunc", [v])]))


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``input`` limited to ``[min, max]``; either may be a number, a tensor or None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [x for x in (input, min, max) if x is not None]
    values, _ = promoted(tuple(given))
    rest = values[1:]
    low = rest.pop(0) if min is not None else None
    high = rest.pop(0) if max is not None else None
    return _made(record("clip", [values[0], low, high]))


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere; alone, the indices."""
    if input is None and other is None:
        from .sorting import nonzero

        return nonzero(condition, as_tuple=True)
    mask = operand(condition)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got {condition.dtype!r}")
    common = combine(ranked(x) for x in (input, other)).lazy
    x, y = (cast(operand(v), common) if isinstance(v, Tensor) else scalar(v, common)
            for v in (input, other))
    return _made(record("where", [mask, x, y]))


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``."""
    values, _ = promoted((input, end, weight))
    return _made(record("lerp", values))


def _product_added(op: str) -> Callable[..., Tensor]:
    def function(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        more = () if type(value) in (int, float) and value == 1 else (value,)
        values, _ = promoted((input, tensor1, tensor2, *more), op == "addcdiv")
        return _made(record(op, values))

    function.__name__ = function.__qualname__ = op
    sign = "*" if op == "addcmul" else "/"
    function.__doc__ = f"``input + value * tensor1 {sign} tensor2``."
    return function


addcmul, addcdiv = _product_added("addcmul"), _product_added("addcdiv")


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    """NaN and infinities replaced by numbers, by default 0 and the dtype's limits."""
    v = operand(input)
    if not v.dtype.is_inexact:
        return _copied(v)
    return _made(record("nan_to_num", [v], {
        "nan": float(nan or 0.0), "posinf": None if posinf is None else float(posinf),
        "neginf": None if neginf is None else float(neginf)}))


def real(input: Tensor) -> Tensor:
    """The real part: a view for complex tensors, the tensor itself otherwise."""
    if not input.is_complex():
        return input
    from lazyloom.views import Real

    return input._share(Real(), tuple(2 * s for s in input.stride()), 2 * input._offset)


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view. Raises RuntimeError for a real tensor."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    from lazyloom.views import Imag

    return input._share(Imag(), tuple(2 * s for s in input.stride()), 2 * input._offset + 1)


def conj(input: Tensor) -> Tensor:
    """The complex conjugate; the tensor itself if it is real."""
    return _made(record("conj", [operand(input)])) if input.is_complex() else input


def angle(input: Tensor) -> Tensor:
    """The argument of each element, in radians."""
    v = operand(input)
    if not v.dtype.is_inexact:
        v = cast(v, _dtypes.get_default_dtype().lazy)
    return _made(record("angle", [v]))


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its parts, which must have one floating-point dtype."""
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype!r} but got {imag.dtype!r} for second "
            "argument")
    return _made(record("complex", [operand(real), operand(imag)]))


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """A complex tensor from modulus and argument."""
    return complex(abs * cos(angle), abs * sin(angle))


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` if eps is given."""
    x = input if eps is None else clamp(input, eps, 1 - eps)
    return sub(log(x), log1p(neg(x)))


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``, or both are equal."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype!r} did not match {other.dtype!r}")
    if not input.dtype.is_floating_point and not input.dtype.is_complex:
        input, other = input.double(), other.double()
    near = le(abs(sub(input, other)), add(mul(abs(other), float(rtol)), float(atol)))
    both = logical_and(isfinite(input), isfinite(other))
    close = logical_or(eq(input, other), logical_and(near, both))
    if equal_nan:
        close = logical_or(close, logical_and(isnan(input), isnan(other)))
    return close


def isposinf(input: Tensor) -> Tensor:
    return eq(input, float("inf"))


def isneginf(input: Tensor) -> Tensor:
    return eq(input, float("-inf"))


def isreal(input: Tensor) -> Tensor:
    from .creation import ones_like

    return eq(imag(input), 0) if input.is_complex() else ones_like(input, dtype=bool_)


def deg2rad(input: Tensor) -> Tensor:
    return mul(input, 0.017453292519943295)


def rad2deg(input: Tensor) -> Tensor:
    return mul(input, 57.29577951308232)


isnan, isfinite, eq, le, log, log1p, neg, abs, logical_and, logical_or, cos, sin = (
    FUNCTIONS[n] for n in ("isnan", "isfinite", "eq", "le", "log", "log1p", "neg", "abs",
                           "logical_and", "logical_or", "cos", "sin"))
FUNCTIONS.update({f.__name__: f for f in (
    add, sub, rsub, mul, div, pow, float_power, round, frac, clamp, where, lerp, addcmul, addcdiv,
    nan_to_num, real, imag, conj, angle, complex, polar, logit, isclose, isposinf, isneginf, isreal,
    deg2rad, rad2deg)})
FUNCTIONS.update(subtract=sub, multiply=mul, divide=div, clip=clamp)

#: functions that also exist in place, with a trailing underscore
INPLACE: tuple[str, ...] = (
    *UNARY, *BINARY, "add", "sub", "mul", "div", "pow", "round", "frac", "clamp", "lerp", "addcmul",
    "addcdiv", "nan_to_num", "logit", "subtract", "multiply", "divide", "clip",
)
