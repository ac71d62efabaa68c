"""Element-wise functions: tables of names, from which functions and methods are made.

Each function promotes by PyTorch's rules, records one op of the table, and exists as
``torch.f``, ``Tensor.f`` and, in place, ``Tensor.f_``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom import Scalar
from lazyloom.errors import type_name

from .. import _dtypes, _errors
from .._core import cast, record, record_number, record_one, record_spec, record_two, scalar, spec
from .._dtypes import bool_, dtype
from .._elementwise import elementwise, follow, mapped, ordered
from .._errors import not_a_tensor
from .._foreign import again, together
from .._grad_mode import is_grad_enabled
from .._out import compute_into
from .._promotion import combine, is_number, number_dtype
from .._registry import declare
from .._tensor import Tensor, operand
from . import bounds
from .counting import nonzero
from .creation import as_tensor, ones_like

#: torch name -> (op, kind). Kinds: "float" makes integers floating first; "same" keeps
#: the dtype; "test" gives bool.
UNARY: dict[str, tuple[str, str]] = {
    **{n: (n, "float") for n in (
        "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid")},
    **{n: (n, "same") for n in ("abs", "sign", "floor", "ceil", "trunc", "square", "relu")},
    "neg": ("negative", "same"), "negative": ("negative", "same"),
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
    "copysign": ("copysign", "float"),
    "logaddexp2": ("logaddexp2", "arith"),
    "xlogy": ("xlogy", "float"),
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
_DIVISIONS = frozenset({"floor_divide", "remainder", "fmod"})
#: ops of two bools that are what they are called
_OF_BOOLS = frozenset({
    "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "logical_and", "logical_or", "logical_xor",
    "not_equal"})
#: ops that take two Python numbers, too
_OF_NUMBERS = frozenset({"add", "subtract", "multiply", "divide", "floor_divide"})
_wrap = Tensor.from_value


def ranked(x: Any) -> tuple[int, dtype]:
    """An operand's rank and dtype for promotion."""
    if isinstance(x, Tensor):
        kind = x.tensor_type
        return (2 if kind.shape else 1), _dtypes.of(kind.dtype)
    return 0, number_dtype(x)


def promoted(operands: tuple[Any, ...], floating: bool = False) -> tuple[list[Any], dtype]:
    """The operands as Values and Scalars of their common dtype, and that dtype.

    ``floating`` makes an integer or bool result the default floating-point dtype.
    """
    if not all(isinstance(x, Tensor) or is_number(x) for x in operands):
        operands = together(operands)
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
    if isinstance(a, Tensor):
        lazy = a.tensor_type.dtype
        if isinstance(b, Tensor):
            if lazy is not b.tensor_type.dtype or (kind == "float" and not lazy.is_inexact) or (
                not lazy.is_inexact and (
                    op in _DIVISIONS or (lazy.kind == "b" and op not in _OF_BOOLS))
            ):
                return ordered(_promoting(op, a, b, kind), a, b)
            special = a.slow_path or b.slow_path
            x: Any = a._operand() if special else a.value
            y: Any = b._operand() if special else b.value
            made: Tensor = _wrap(record_two(_pair(op), x, y))
            return follow(made, (a, b)) if special else made
        if _keeps_dtype(lazy, b) and (lazy.is_inexact or kind != "float" and (
            b or op not in _DIVISIONS
        )):
            special = a.slow_path
            x = a._operand() if special else a.value
            made = _wrap(record_number(_pair(op), x, Scalar(b, lazy), False))
            return follow(made, (a,)) if special else made
    elif isinstance(b, Tensor):
        lazy = b.tensor_type.dtype
        if _keeps_dtype(lazy, a) and (
            lazy.is_inexact or (kind != "float" and op not in _DIVISIONS)
        ):
            special = b.slow_path
            y = b._operand() if special else b.value
            made = _wrap(record_number(_pair(op), y, Scalar(a, lazy), True))
            return follow(made, (b,)) if special else made
    return ordered(_promoting(op, a, b, kind), a, b)


def _pair(op: str) -> lazyloom.Spec:
    ready = _pairs.get(op)
    if ready is None:
        ready = _pairs[op] = spec(op, 2)
    return ready


def _keeps_dtype(tensor: lazyloom.DType, number: Any) -> bool:
    """Whether a tensor of that dtype and a Python number give one of the tensor's dtype."""
    kind = type(number)
    return kind is int and tensor.kind != "b" or kind is float and tensor.is_inexact


def _promoting(op: str, a: Any, b: Any, kind: str) -> Tensor:
    if not ((isinstance(a, Tensor) or is_number(a)) and (isinstance(b, Tensor) or is_number(b))):
        a, b = together((a, b))
    if kind == "logic":
        return _made(record(op, [operand(a), operand(b)]))
    if op in _OF_NUMBERS and not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = as_tensor(a)
    values, common = promoted((a, b), kind == "float")
    if op in _DIVISIONS and common.category < 2:
        values[1] = bounds.divisor(*values)
    if op == "subtract":
        _check_no_bool(a, b)
    if common is bool_ and kind == "arith":
        op = _BOOL_ARITHMETIC.get(op, op)
    return _made(record(op, values))


def _check_no_bool(a: Any, b: Any) -> None:
    bools = [x is True or x is False if is_number(x) else x.dtype is bool_ for x in (a, b)]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
            "`^` or `logical_xor()` operator instead.")
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead.")


def _made(value: Any) -> Tensor:
    made: Tensor = _wrap(value)
    return made


def copied(value: Any) -> Tensor:
    """A tensor of its own for a function that changes nothing."""
    return _made(value if is_grad_enabled() else value.detach())


def _again(function: Any, error: Exception, args: tuple[Any, ...], **named: Any) -> Any:
    """What :func:`mixing` does, for functions called so often that a wrapper would show."""
    return again(function, function.__name__, error, args, named)


def make_unary(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    """The function of one operand that records an op."""
    if name in ("abs", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "fix", "absolute",
                "sign", "square", "signbit", "sgn", "relu"):
        return _make_lenient(name, op, kind)
    ready = spec(op, 1)
    floating = kind == "float"

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        try:
            if out is not None:
                return compute_into(out, function, input)
            try:
                whole = floating and not input.tensor_type.dtype.is_inexact
            except AttributeError:
                raise not_a_tensor(input) from None
            if whole:
                return ordered(_wrap(record_one(
                    ready, cast(operand(input), _dtypes.get_default_dtype().lazy))), input)
            return mapped(ready, input)
        except (TypeError, AttributeError) as error:
            return _again(function, error, (input,), out=out)

    function.__dict__["mixes"] = True
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _make_lenient(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    """For functions whose op has no integer or bool form, although PyTorch's has."""
    ready = spec(op, 1)

    def whole(v: Any) -> Any:
        """The result for integers and bools, None where the op has it."""
        if op in ("floor", "ceil", "trunc") and v.dtype.kind != "b":
            return copied(v)
        if kind == "test" and (op != "signbit" or v.dtype.kind in "bu"):
            return _made(record("full", [scalar(op == "isfinite", bool_.lazy)], {
                "shape": v.shape}))
        if v.dtype.kind == "u" and op in ("abs", "relu"):
            return copied(v)
        if v.dtype.kind != "b":
            return None
        if op == "sign":
            return copied(v)
        if op == "square":
            return _made(record("square", [cast(v, _dtypes.int64.lazy)]))
        raise _errors.TorchDTypeError(
            f'"{name}" is not implemented for torch.bool; use .int() first')

    def function(input: Tensor, *, out: Any = None) -> Tensor:
        try:
            if out is not None:
                return compute_into(out, function, input)
            v = operand(input)
            made = None if v.dtype.is_inexact else whole(v)
            if name == "sign" and v.dtype.is_complex:
                raise _errors.TorchDTypeError("sign is not defined for complex tensors; use sgn()")
            if made is None:
                made = _made(
                    _sign(v) if op == "sign" and v.dtype.is_floating else record_one(ready, v))
            return follow(made, (input,)) if input.slow_path else made
        except (TypeError, AttributeError) as error:
            return _again(function, error, (input,), out=out)

    function.__dict__["mixes"] = True
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _sign(v: Any) -> Any:
    """-1, 0 or 1, 0 for NaN; its gradient is 0 and saves nothing, as that of ``floor``."""
    found = record("nan_to_num", [record("sign", [v.detach() if v.requires_grad else v])])
    return record("straight_through", [record("floor", [v]), found]) if v.requires_grad else found


#: functions that take no Python number, and those that take one as the second operand only
_TENSORS_ONLY = frozenset({
    "atan2", "arctan2", "fmax", "fmin", "gcd", "lcm", "hypot", "igamma", "igammac",
    "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
})
_TENSOR_FIRST = frozenset({
    "copysign", "fmod", *(n for n, (_, kind) in BINARY.items() if kind == "compare")})


def only_tensors(name: str, *operands: Any) -> None:
    """Raise TypeError unless all operands are Tensors."""
    for x in operands:
        if not isinstance(x, Tensor):
            if is_number(x):
                raise TypeError(f"{name}() takes a Tensor here, not {type_name(x)} ({x!r}); make "
                                "it one with torch.tensor()")
            raise not_a_tensor(x, f"{name}(): ")


def make_binary(name: str, op: str, kind: str) -> Callable[..., Tensor]:
    """The function of two operands that records an op."""

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return compute_into(out, function, input, other)
        return binary(op, input, other, kind)

    def tensor_first(input: Any, other: Any, *, out: Any = None) -> Tensor:
        only_tensors(name, input)
        if out is not None:
            return compute_into(out, tensor_first, input, other)
        return binary(op, input, other, kind)

    def tensors(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
        only_tensors(name, input, other)
        if out is not None:
            return compute_into(out, tensors, input, other)
        return binary(op, input, other, kind)

    found = tensors if name in _TENSORS_ONLY else (
        tensor_first if name in _TENSOR_FIRST else function)
    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"``{op}``, element by element, with broadcasting and promotion."
    return found


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: make_unary(n, op, kind) for n, (op, kind) in UNARY.items()},
    **{n: make_binary(n, op, kind) for n, (op, kind) in BINARY.items()},
}


def _scaled(input: Any, other: Any, alpha: Any) -> Any:
    if type(alpha) is int and alpha == 1:
        return other
    if not isinstance(alpha, Tensor):
        common, factor = combine(ranked(x) for x in (input, other)), number_dtype(alpha)
        if factor.category > max(common.category, 1) or factor is bool_ is not common:
            raise RuntimeError(
                f"alpha={alpha!r} is a {factor!r}, the operands are {common!r}; give an alpha of "
                "their kind")
        if common is bool_:
            alpha = bool(alpha)
        if isinstance(other, Tensor) and other.dtype is not common:
            other = other.to(common)  # the product is rounded as the sum is
    return mul(other, alpha)


def _too_many(name: str, more: tuple[Any, ...]) -> TypeError:
    return TypeError(f"{name}() takes 2 positional arguments but {2 + len(more)} were given")


def add(input: Any, other: Any, *more: Any, alpha: Any = 1, out: Any = None) -> Tensor:
    """``input + alpha * other``. Raises RuntimeError for an alpha of a higher kind."""
    if more:  # the scale comes first
        return again(add, "add", _too_many("add", more), (input, other, *more),
                     {"alpha": alpha, "out": out})
    try:
        if out is not None:
            return compute_into(out, add, input, other, alpha=alpha)
        return binary("add", input, _scaled(input, other, alpha))
    except (TypeError, AttributeError) as error:
        return _again(add, error, (input, other), alpha=alpha, out=out)


def sub(input: Any, other: Any, *more: Any, alpha: Any = 1, out: Any = None) -> Tensor:
    """``input - alpha * other``. Raises RuntimeError for bools and an alpha of a higher kind."""
    if more:  # the scale comes first
        return again(sub, "sub", _too_many("sub", more), (input, other, *more),
                     {"alpha": alpha, "out": out})
    try:
        if out is not None:
            return compute_into(out, sub, input, other, alpha=alpha)
        return binary("subtract", input, _scaled(input, other, alpha))
    except (TypeError, AttributeError) as error:
        return _again(sub, error, (input, other), alpha=alpha, out=out)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``. Raises RuntimeError for bools and an alpha of a higher kind."""
    only_tensors("rsub", input)
    return binary("subtract", other, _scaled(other, input, alpha))


def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """``input * other``."""
    try:
        if out is not None:
            return compute_into(out, mul, input, other)
        return binary("multiply", input, other)
    except (TypeError, AttributeError) as error:
        return _again(mul, error, (input, other), out=out)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """``input / other``; rounding_mode ``"floor"`` or ``"trunc"`` keeps integers integers.

    Raises RuntimeError for another rounding_mode.
    """
    try:
        if out is not None:
            return compute_into(out, div, input, other, rounding_mode=rounding_mode)
        return _quotient(input, other, rounding_mode)
    except (TypeError, AttributeError) as error:
        return _again(div, error, (input, other), rounding_mode=rounding_mode, out=out)


for _function in (add, sub, mul, div):
    _function.__dict__["mixes"] = True


def _quotient(input: Any, other: Any, rounding_mode: str | None) -> Tensor:
    if rounding_mode is None:
        return binary("divide", input, other, "float")
    if rounding_mode == "floor":
        return binary("floor_divide", input, other)
    if rounding_mode == "trunc":
        values, common = promoted((input, other))
        if common.category == 2:
            plain = [v.detach() if isinstance(v, lazyloom.Value) else v for v in values]
            whole = record("trunc", [record("divide", plain)])
            for v in values if lazyloom.grad_enabled() else ():
                if isinstance(v, lazyloom.Value) and v.requires_grad:
                    # the gradient is 0, also where that of the quotient is infinite
                    whole = record("where", [scalar(False, bool_.lazy), v, whole])
            return ordered(_made(whole), input, other)
        values[1] = bounds.divisor(*values)
        quotient = record("floor_divide", values)
        rest = record("fmod", values)
        # floor and truncation differ where there is a remainder and the signs differ
        zero = scalar(0, common.lazy)
        negative = record("logical_xor", [record("less", [values[0], zero]),
                                          record("less", [values[1], zero])])
        off = record("logical_and", [negative, record("not_equal", [rest, zero])])
        return ordered(_made(record("add", [quotient, cast(off, common.lazy)])), input, other)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"{rounding_mode!r}")


#: the specs of integer powers
_powers: dict[int, lazyloom.Spec] = {}


def pow(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``. Raises RuntimeError for an integer to a negative integer."""
    if isinstance(input, Tensor) and is_number(exponent) and not isinstance(exponent, bool):
        kind = input.tensor_type.dtype
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
            return mapped(ready, input)
    if isinstance(input, Tensor) and isinstance(exponent, bool) and (
        input.tensor_type.dtype.kind == "b"
    ):
        v = operand(input)
        return copied(v) if exponent else _made(
            record("full", [scalar(True, bool_.lazy)], {"shape": v.shape}))
    return binary("power", input, exponent)


def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in float64 (complex128 for complex operands)."""
    x = as_tensor(input)
    common = combine((ranked(x), ranked(exponent)))
    wide = _dtypes.complex128 if common.is_complex else _dtypes.float64
    y = exponent.to(wide) if isinstance(exponent, Tensor) else exponent
    return pow(x.to(wide), y)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round half to even."""
    v = operand(input)
    if v.dtype.kind == "b":
        raise _errors.TorchDTypeError('"round" is not implemented for torch.bool')
    if v.dtype.is_integer and decimals >= 0:
        return copied(v)
    return _made(record("round", [v], {"decimals": decimals}))


def frac(input: Tensor) -> Tensor:
    """The fractional part: ``input - trunc(input)``. Raises NotImplementedError for integers."""
    v = operand(input)
    if not v.dtype.is_floating:
        raise _errors.TorchDTypeError(f'"frac" is not implemented for {input.dtype!r}')
    # the gradient is that of the first alone, a zero's sign included
    whole = record("trunc", [v.detach() if v.requires_grad else v])
    return _made(record("subtract", [v, whole]))


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``input`` limited to ``[min, max]``; either may be a number, a tensor or None."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    only_tensors("clamp", input)
    given = [x for x in (input, min, max) if x is not None]
    values, _ = promoted(tuple(given))
    rest = values[1:]
    low = rest.pop(0) if min is not None else None
    high = rest.pop(0) if max is not None else None
    made = _made(record("clip", [values[0], low, high]))
    if input.slow_path or isinstance(min, Tensor) or isinstance(max, Tensor):
        return ordered(made, *given)
    return made


_WHERE = spec("where", 3)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere; alone, the indices."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    mask = operand(condition)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got {condition.dtype!r}")
    if isinstance(input, Tensor) and isinstance(other, Tensor) and (
        input.tensor_type.dtype is other.tensor_type.dtype
    ):
        values: list[Any] = [operand(input), operand(other)]
    else:
        common = combine(ranked(x) for x in (input, other)).lazy
        values = [cast(operand(v), common) if isinstance(v, Tensor) else scalar(v, common)
                  for v in (input, other)]
    made = _made(record_spec(_WHERE, [mask, *values]))
    if condition.slow_path or isinstance(input, Tensor) and input.slow_path or (
        isinstance(other, Tensor) and other.slow_path
    ):
        return ordered(made, condition, input, other)
    return made


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``. Raises RuntimeError for several dtypes, or integers."""
    only_tensors("lerp", input, end)
    kind = input.dtype
    for x in (end, weight):
        if isinstance(x, Tensor) and x.dtype is not kind and (x is end or x.ndim):
            raise RuntimeError(f"lerp: expected {kind!r} as the input is, got {x.dtype!r}")
    if kind.category < 2:
        raise _errors.TorchDTypeError(f'"lerp" is not implemented for {kind!r}')
    values, _ = promoted((input, end, weight))
    return ordered(_made(record("lerp", values)), input, end, weight)


def _product_added(op: str) -> Callable[..., Tensor]:
    def function(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        if op == "addcdiv" and tensor1.dtype.category < 2 and tensor2.dtype.category < 2:
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported; use input + value * "
                "torch.trunc(tensor1 / tensor2), or make the operands floating point")
        if isinstance(value, Tensor):
            return ordered(_made(record(op, promoted((input, tensor1, tensor2, value))[0])),
                           input, tensor1, tensor2)
        values, common = promoted((input, tensor1, tensor2))
        if type(value) not in (int, float) or value != 1:
            # the number takes the dtype of the tensors
            values.append(scalar(int(value) if common.category < 2 else value, common.lazy))
        return ordered(_made(record(op, values)), input, tensor1, tensor2)

    function.__name__ = function.__qualname__ = op
    sign = "*" if op == "addcmul" else "/"
    function.__doc__ = f"``input + value * tensor1 {sign} tensor2``."
    return function


addcmul, addcdiv = _product_added("addcmul"), _product_added("addcdiv")


def real(input: Tensor) -> Tensor:
    """The real part: a view for complex tensors, the tensor itself otherwise."""
    if not input.is_complex():
        return input
    from lazyloom.frontend import Real

    return input._share(Real(), tuple(2 * s for s in input.stride()), 2 * input.element_offset)


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view. Raises RuntimeError for a real tensor."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    from lazyloom.frontend import Imag

    return input._share(Imag(), tuple(2 * s for s in input.stride()), 2 * input.element_offset + 1)


def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate of each element, a tensor of its own."""
    v = operand(input)
    return _made(record("conj", [v])) if input.is_complex() else copied(v)


def conj(input: Tensor) -> Tensor:
    """The complex conjugate; the tensor itself if it is real."""
    return _made(record("conj", [operand(input)])) if input.is_complex() else input


def angle(input: Tensor) -> Tensor:
    """The argument of each element, in radians: 0, pi or NaN for real ones."""
    v = operand(input)
    if v.dtype.is_complex:
        return _made(record("angle", [v]))
    if not v.dtype.is_inexact:
        v = cast(v, _dtypes.get_default_dtype().lazy)
    none = record("multiply", [record("sign", [v]), scalar(0, v.dtype)])
    below = record("less", [v, scalar(0, v.dtype)])
    return _made(record("where", [below, scalar(3.141592653589793, v.dtype), none]))


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its parts, which must have one floating-point dtype."""
    only_tensors("complex", real, imag)
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype!r} but got {imag.dtype!r} for second "
            "argument")
    return _made(record("complex", [operand(real), operand(imag)]))


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """A complex tensor from modulus and argument, which must have one floating-point dtype."""
    only_tensors("polar", abs, angle)
    return complex(abs * cos(angle), abs * sin(angle))


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 for negative elements and NaN, 1 for positive ones, ``values`` for 0."""
    only_tensors("heaviside", input, values)
    if input.dtype is not values.dtype or input.is_complex():
        raise RuntimeError("heaviside takes two tensors of one real dtype, not "
                           f"{input.dtype!r} and {values.dtype!r}")
    x, y = operand(input), operand(values)
    zero = scalar(0, x.dtype)
    step = cast(record("greater", [x, zero]), x.dtype)
    return _made(record("where", [record("equal", [x, zero]), y, step]))


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``input``, but not below min."""
    return clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``input``, but not above max."""
    return clamp(input, None, max)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like input of one number or the element of a 0-d tensor."""
    return input.clone().fill_(value)


def isreal(input: Tensor) -> Tensor:
    """Where elements have no imaginary part."""
    return eq(imag(input), 0) if input.is_complex() else ones_like(input, dtype=bool_)


def positive(input: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for bools."""
    if input.tensor_type.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


isnan, isfinite, eq, le, log, exp, neg, abs, logical_and, logical_or, cos, sin = (
    FUNCTIONS[n] for n in ("isnan", "isfinite", "eq", "le", "log", "exp", "neg", "abs",
                           "logical_and", "logical_or", "cos", "sin"))
FUNCTIONS.update({f.__name__: f for f in (
    add, sub, rsub, mul, div, pow, clamp, where, lerp, addcmul, addcdiv, clamp_min, clamp_max, fill,
    real, imag, conj, positive)})
FUNCTIONS.update({f.__name__: elementwise(f) for f in (
    float_power, round, frac, heaviside, conj_physical, angle, complex, polar, isreal)})
FUNCTIONS.update(subtract=sub, multiply=mul, divide=div, clip=clamp)
declare({f"{words} converting": [(n, FUNCTIONS[n]) for n in names.split()] for words, names in (
    ("function method inplace-function out", """sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10
        log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid abs floor
        ceil trunc square neg negative fix arcsin arccos arctan arcsinh arccosh arctanh gcd lcm
        xlogy round frac clamp clamp_min clamp_max clip"""),
    ("function method inplace out", """erfinv lgamma digamma sign absolute sgn bitwise_not
        logical_not remainder fmod floor_divide true_divide atan2 arctan2 hypot copysign eq ne lt le
        gt ge not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
        bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift pow float_power
        lerp addcmul addcdiv heaviside"""),
    ("function method inplace out fast", "add sub mul div subtract multiply divide"),
    ("function method out", "signbit maximum minimum fmax fmin logaddexp2 angle"),
    ("function method", "isnan isinf isfinite isreal positive"), ("method inplace", "relu"),
    ("function out", "where complex polar"), ("function", "rsub fill real imag"),
)})
