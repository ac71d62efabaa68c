"""What depends on how numbers are represented: neighbours, exponents, infinities, closeness."""

from __future__ import annotations

from typing import Any

from .. import _dtypes
from .._core import cast, record, scalar
from .._elementwise import elementwise
from .._promotion import combine
from .._registry import declare
from .._tensor import Tensor, operand
from ..return_types import named
from . import pointwise
from .pointwise import copied, only_tensors, promoted

_wrap = Tensor.from_value


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    """NaN and infinities replaced by numbers, by default 0 and the dtype's limits."""
    v = operand(input)
    if not v.dtype.is_inexact:
        return copied(v)
    return _wrap(record("nan_to_num", [v], {
        "nan": float(nan or 0.0), "posinf": None if posinf is None else float(posinf),
        "neginf": None if neginf is None else float(neginf)}))


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``pointwise.log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` if eps is given."""
    (v,), _ = promoted((input,), floating=True)
    x = _wrap(v)
    if eps is not None:
        x = pointwise.clamp(x, eps, 1 - eps)
    return _wrap(record("logit", [operand(x)]))


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``, or both are equal.

    Raises RuntimeError for two dtypes and for negative tolerances.
    """
    pointwise.only_tensors("isclose", input, other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype!r} did not match {other.dtype!r}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"tolerances must not be negative, but rtol={rtol}, atol={atol}")
    if not input.is_floating_point() and not input.is_complex():
        input, other = input.double(), other.double()
    limit = pointwise.add(pointwise.mul(pointwise.abs(other), float(rtol)), float(atol))
    near = pointwise.le(pointwise.abs(pointwise.sub(input, other)), limit)
    both = _both(pointwise.isfinite, input, other)
    close = pointwise.logical_or(pointwise.eq(input, other), pointwise.logical_and(near, both))
    if equal_nan:
        close = pointwise.logical_or(close, _both(pointwise.isnan, input, other))
    return close


def _both(test: Any, x: Tensor, y: Tensor) -> Tensor:
    return pointwise.logical_and(test(x), test(y))


def _infinite(input: Tensor, which: float) -> Tensor:
    if input.is_complex():
        raise RuntimeError("isposinf and isneginf do not support complex inputs")
    if not input.is_floating_point():
        return pointwise.FUNCTIONS["isinf"](input)
    return pointwise.eq(input, which)


def isposinf(input: Tensor) -> Tensor:
    """Where elements are infinite and positive. Raises RuntimeError for complex tensors."""
    return _infinite(input, float("inf"))


def isneginf(input: Tensor) -> Tensor:
    """Where elements are infinite and negative. Raises RuntimeError for complex tensors."""
    return _infinite(input, float("-inf"))


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number after input towards other.

    The gradient goes to input where the two differ, as in PyTorch.
    """
    only_tensors("nextafter", input, other)
    (x, y), _ = promoted((input, other))
    data = record("nextafter", [x, y])
    moved = record("where", [record("equal", [x, y]), x.detach(), x])
    return _wrap(record("straight_through", [moved, data]))


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow."""
    only_tensors("logaddexp", input, other)
    (x, y), common = promoted((input, other))
    if not common.is_complex:
        return _wrap(record("logaddexp", [x, y]))
    # around the one of the larger real part, whose imaginary part is not brought into (-pi, pi]
    behind = record("less", [record("real", [x]), record("real", [y])])
    least, most = record("where", [behind, x, y]), record("where", [behind, y, x])
    rest = record("log1p", [record("exp", [record("subtract", [least, most])])])
    finite = record("isfinite", [record("real", [most])])
    return _wrap(record("where", [finite, record("add", [most, rest]), most]))


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``."""
    only_tensors("ldexp", input, other)
    common = combine(pointwise.ranked(x) for x in (input, other))
    # the power in the result's dtype: 2**200 is no float32
    power = other.to(common if common.category > 1 else _dtypes.get_default_dtype())
    return pointwise.mul(input, pointwise.pow(2.0, power))


def frexp(input: Tensor) -> Any:
    """Mantissas in [0.5, 1) and exponents (int32) with ``input = mantissa * 2 ** exponent``."""
    v = operand(input)
    if not v.dtype.is_floating:
        raise RuntimeError(f"frexp takes floating-point dtypes only, not {input.dtype!r}")
    double, whole = _dtypes.float64.lazy, _dtypes.int64.lazy
    # in float64 every narrower number is normal; those that are not normal there are brought near
    wide = record("abs", [cast(v.detach(), double)])
    tiny = record("less", [wide, scalar(2.0**-1000, double)])
    scaled = record("where", [tiny, record("multiply", [wide, scalar(2.0**200, double)]), wide])
    bits = record("shift_right", [record("bitcast", [scaled], {"dtype": whole}),
                                  scalar(52, whole)])
    bias = record("where", [tiny, scalar(1222, whole), scalar(1022, whole)])
    plain = record("logical_and", [record("isfinite", [wide]),
                                   record("not_equal", [wide, scalar(0, double)])])
    exponent = cast(record("where", [plain, record("subtract", [bits, bias]), scalar(0, whole)]),
                    _dtypes.int32.lazy)
    mantissa = record("ldexp", [v, record("negative", [exponent])])
    return named("frexp", "mantissa", "exponent")(_wrap(mantissa), _wrap(exponent))


def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians. Raises RuntimeError for complex tensors."""
    return _turned(input, 0.017453292519943295)


def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees. Raises RuntimeError for complex tensors."""
    return _turned(input, 57.29577951308232)


def _turned(input: Tensor, factor: float) -> Tensor:
    if input.is_complex():
        raise RuntimeError("angles of complex tensors cannot be converted")
    return pointwise.mul(input, factor)


declare({
    "function method inplace-function out": map(
        elementwise, (nan_to_num, logit, ldexp, deg2rad, rad2deg)),
    "function method inplace out": [elementwise(nextafter)],
    "function method out": map(elementwise, (isposinf, isneginf, logaddexp, frexp)),
    "function method": [elementwise(isclose)],
})
