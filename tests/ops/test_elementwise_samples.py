"""Every elementwise, reduction, cast, creation and random op on its samples.

The rule's types are the definition's, its values NumPy's or SciPy's, and its
derivatives the numerical ones.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from lazyloom.dtypes import DType
from lazyloom.ops import lookup
from tests.ops import checks

MINE = checks.ops_of("elementwise", "functions", "activations", "compare", "casts", "reductions",
                     "cumulative", "creation", "random", "random_rejection", "special",
                     "quantization")


def _axes(axes: Any, x: np.ndarray) -> Any:
    return tuple(range(x.ndim)) if axes is None else axes


def _dtype(dtype: DType | None, x: np.ndarray) -> Any:
    return x.dtype if dtype is None else dtype.numpy


def _cast(x: np.ndarray, dtype: DType | None) -> np.ndarray:
    if dtype is None or x.dtype == dtype.numpy:
        return x
    if dtype.kind == "b":
        return x != 0
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    return x.astype(dtype.numpy)


def _sum(x: np.ndarray, *, axes: Any, dtype: Any, keepdims: bool) -> Any:
    x = _cast(x, dtype)
    wide = np.float64 if checks.is_half(x.dtype) else x.dtype
    return np.sum(x, axis=_axes(axes, x), dtype=wide, keepdims=keepdims)


def _prod(x: np.ndarray, *, axes: Any, dtype: Any, keepdims: bool) -> Any:
    x = _cast(x, dtype)
    wide = np.float64 if checks.is_half(x.dtype) else x.dtype
    return np.prod(x, axis=_axes(axes, x), dtype=wide, keepdims=keepdims)


def _reduced(f: Any) -> Any:
    def reference(x: np.ndarray, *, axes: Any, keepdims: bool) -> Any:
        return f(x, axis=_axes(axes, x), keepdims=keepdims)

    return reference


def _spread(f: Any) -> Any:
    def reference(x: np.ndarray, *, axes: Any, keepdims: bool, correction: float) -> Any:
        return f(x, axis=_axes(axes, x), keepdims=keepdims, ddof=correction)

    return reference


def _norm(x: np.ndarray, *, axes: Any, keepdims: bool, order: float) -> Any:
    axes = tuple(a % x.ndim for a in _axes(axes, x))
    shape = [1 if i in axes else d for i, d in enumerate(x.shape)]
    rest = [i for i in range(x.ndim) if i not in axes]
    flat = x.transpose(*rest, *axes).reshape(*[x.shape[i] for i in rest], -1) if x.size else (
        np.zeros([x.shape[i] for i in rest] + [0], x.dtype))
    if math.isinf(order) and not flat.shape[-1]:
        found = np.zeros(flat.shape[:-1])
    else:
        found = np.linalg.norm(flat, ord=order, axis=-1) if flat.ndim > 1 else (
            np.linalg.norm(flat, ord=order))
    return np.reshape(found, shape) if keepdims else found


def _cumulative(f: Any) -> Any:
    def reference(x: np.ndarray, *, axis: int, reverse: bool) -> Any:
        x = np.flip(x, axis) if reverse else x
        found = f(x, axis)
        return np.flip(found, axis) if reverse else found

    return reference


def _bitcast(x: np.ndarray, *, dtype: DType) -> Any:
    if not x.ndim:
        return x.reshape(1).view(dtype.numpy)[0]
    if dtype.itemsize < x.dtype.itemsize:
        return x[..., None].view(dtype.numpy)
    found = np.ascontiguousarray(x).view(dtype.numpy)
    return found[..., 0] if dtype.itemsize > x.dtype.itemsize else found


def _arg(f: Any) -> Any:
    return lambda x, *, axis, keepdims: f(x, axis=axis, keepdims=keepdims)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return np.where(beta * x > threshold, x, np.logaddexp(0, (beta * x).astype(x.dtype)) / beta)


def _elu(x: Any, alpha: float = 1.0, rate: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(x * rate))


def _shrink(x: Any, lambd: float) -> Any:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def _gelu(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * scipy.special.ndtr(x)


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    bits = 8 * x.dtype.itemsize

    def exact(a: int, b: int) -> int:
        if b < 0:
            found = {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
        else:
            found = pow(a, b, 1 << bits)
        found %= 1 << bits
        return found - (1 << bits) if x.dtype.kind == "i" and found >> (bits - 1) else found

    return np.vectorize(lambda a, b: exact(int(a), int(b)), otypes=[x.dtype])(x, y)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _hardsigmoid(x: Any) -> Any:
    return np.clip(x + 3, 0, 6) / 6


def _optional(x: Any, product: Any, value: Any) -> Any:
    return x + product if value is None else x + value * product


def _nan_to_num(x: Any, *, nan: float, posinf: float | None, neginf: float | None) -> Any:
    if x.dtype.kind == "c":
        return _nan_to_num(x.real, nan=nan, posinf=posinf, neginf=neginf) + (
            1j * _nan_to_num(x.imag, nan=nan, posinf=posinf, neginf=neginf))
    limits = ml_dtypes.finfo(x.dtype)
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(x == math.inf, limits.max if posinf is None else x.dtype.type(posinf), x)
    return np.where(x == -math.inf, limits.min if neginf is None else x.dtype.type(neginf), x)


def _chebyshev(x: Any, n: Any, *, kind: str) -> Any:
    n = np.trunc(n)
    if kind in "tu":
        return getattr(scipy.special, f"eval_cheby{kind}")(n.astype(int), x)
    of, sign = (x, 1) if kind == "w" else (-x, (-1.0) ** n)
    # the sum of two of the second kind
    u = scipy.special.eval_chebyu
    return sign * (u(n.astype(int), of) + np.where(n == 0, 0, u(n.astype(int) - 1, of)))


def _orthogonal(x: Any, n: Any, *, kind: str) -> Any:
    name = {"hermite_h": "hermite", "hermite_he": "hermitenorm", "laguerre_l": "laguerre",
            "legendre_p": "legendre"}[kind]
    return getattr(scipy.special, f"eval_{name}")(np.trunc(n).astype(int), x)


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and (math.isinf(x) or x == round(x)) else math.lgamma(x)


def _each(number: Any, x: np.ndarray, axis: int | None) -> Any:
    """A number, or one for each place along an axis, as it broadcasts to x."""
    if number is None:
        return 0
    if axis is None:
        return number
    return np.expand_dims(number, [i for i in range(x.ndim) if i != axis % x.ndim])


def _integers(x: np.ndarray, scale: Any, zero: Any, axis: int | None) -> np.ndarray:
    return np.round(x * (1 / _each(scale, x, axis))) + _each(zero, x, axis)


def _quantize(x: np.ndarray, scale: Any, zero: Any = None, *, axis: Any, dtype: DType) -> Any:
    limits = np.iinfo(dtype.numpy)
    found = np.clip(_integers(x, scale, zero, axis), limits.min, limits.max)
    return np.where(np.isnan(x), _each(zero, x, axis), found)


def _dequantize(x: np.ndarray, scale: Any, zero: Any = None, *, axis: Any) -> Any:
    return (x - _each(zero, x, axis).astype(scale.dtype) if zero is not None else
            x.astype(scale.dtype)) * _each(scale, x, axis)


def _fake_quantize(
    x: np.ndarray, scale: Any, zero: Any, *, axis: Any, low: int, high: int
) -> Any:
    limited = np.clip(_integers(x, scale, zero, axis), low, high)
    return (limited - _each(zero, x, axis)) * _each(scale, x, axis)


REFERENCES: dict[str, Any] = {
    "power": _power,
    "integer_power": lambda x, *, exponent: x**exponent,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": lambda x, *, decimals: np.round(x, decimals),
    "complex": lambda x, y: np.stack(np.broadcast_arrays(x, y), -1).view(
        np.result_type(x.dtype, 1j))[..., 0],
    "addcmul": lambda x, y, z, v=None: _optional(x, y * z, v),
    "addcdiv": lambda x, y, z, v=None: _optional(x, y / z, v),
    "lerp": lambda x, y, w: x + w * (y - x),
    "clip": _clip,
    "where": np.where,
    "nan_to_num": _nan_to_num,
    "sigmoid": lambda x: scipy.special.expit(x) if x.dtype.kind == "f" else _sigmoid(x),
    "lgamma": np.vectorize(_lgamma, otypes=[np.float64]),
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    "population_count": lambda x: np.vectorize(
        lambda v: (int(v) % (1 << 8 * x.dtype.itemsize)).bit_count(), otypes=[np.int64])(x),
    "polygamma": lambda x, *, order: scipy.special.polygamma(order, x),
    "cast": lambda x, *, dtype: _cast(x, dtype),
    "bitcast": _bitcast,
    "sum": _sum,
    "prod": _prod,
    "max": _reduced(np.max),
    "min": _reduced(np.min),
    "mean": _reduced(np.mean),
    "var": _spread(np.var),
    "std": _spread(np.std),
    "norm": _norm,
    "logsumexp": _reduced(lambda x, axis, keepdims: scipy.special.logsumexp(
        x, axis=axis, keepdims=keepdims) if axis and x.size else np.log(np.sum(
            np.exp(x), axis=axis, keepdims=keepdims))),
    "all": _reduced(np.all),
    "any": _reduced(np.any),
    "count_nonzero": _reduced(lambda x, axis, keepdims: np.sum(
        x != 0, axis=axis, keepdims=keepdims)),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "cumsum": _cumulative(lambda x, a: np.cumsum(x, a, dtype=x.dtype)),
    "cumprod": _cumulative(lambda x, a: np.cumprod(x, a, dtype=x.dtype)),
    "cummax": _cumulative(np.maximum.accumulate),
    "cummin": _cumulative(np.minimum.accumulate),
    "logcumsumexp": _cumulative(lambda x, a: np.logaddexp.accumulate(x, a) if x.dtype.kind == "f"
                                else np.log(np.cumsum(np.exp(x), a))),
    "airy_ai": lambda x: scipy.special.airy(x)[0],
    "spherical_bessel_j0": lambda x: scipy.special.spherical_jn(0, x),
    "chebyshev_polynomial": _chebyshev,
    "orthogonal_polynomial": _orthogonal,
    "arange": lambda a, s, *, length: a + s * np.arange(length).astype(a.dtype),
    "linspace": lambda a, b, *, num, endpoint: np.linspace(a, b, num, endpoint),
    "full": lambda v, *, shape: np.full(shape, v),
    "eye": lambda *, n, m, k, dtype: np.eye(n, m, k, dtype.numpy),
    "iota": lambda *, shape, axis, dtype: np.indices(shape)[axis].astype(dtype.numpy),
    "log_sigmoid": scipy.special.log_expit,
    "softplus": lambda x, *, beta, threshold: _softplus(x, beta, threshold),
    "relu": _relu,
    "relu6": lambda x: np.clip(x, 0, 6),
    "hardtanh": lambda x, *, min, max: np.clip(x, min, max),
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda x: x * _hardsigmoid(x),
    "gelu": lambda x, *, approximate: _gelu(x, approximate),
    "silu": lambda x: x * _sigmoid(x),
    "elu": lambda x, *, alpha: _elu(x, alpha),
    "celu": lambda x, *, alpha: _elu(x, alpha, 1 / alpha),
    "selu": lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772),
    "leaky_relu": lambda x, *, negative_slope: np.where(x > 0, x, negative_slope * x),
    "prelu": lambda x, s: np.where(x > 0, x, s * x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "softshrink": lambda x, *, lambd: _shrink(x, lambd),
    "hardshrink": lambda x, *, lambd: np.where(np.abs(x) <= lambd, 0, x),
    "threshold": lambda x, *, threshold, value: np.where(x <= threshold, value, x),
    "quantize": _quantize, "dequantize": _dequantize, "fake_quantize": _fake_quantize,
}

#: the reference is exact in the operands' own dtype only
OWN_DTYPE = {"nextafter", "bitcast", "cast", "sum", "prod", "full", "nan_to_num", "equal"}

#: the sign of a zero result is the reference's too
SIGNED_ZEROS = {"negative", "abs", "copysign", "floor", "ceil", "trunc", "round", "floor_divide",
                "remainder", "fmod", "sqrt", "cbrt", "sin", "tan", "asin", "atan",
                "atan2", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p", "erf", "add",
                "subtract", "multiply", "divide", "where", "hypot", "cast", "square"}


@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    op = lookup(name)
    reference = REFERENCES.get(name)
    if reference is None and op.reference is not None:
        reference = checks.dotted(op.reference)
    assert reference is not None or name.startswith("random_"), (
        f"{name}: give reference= in its entry, or a function in REFERENCES of this module")
    for run in checks.run_all(name):
        checks.check_types(run)
        if reference is not None:
            checks.check_values(run, reference, at_own_dtype=name in OWN_DTYPE,
                                signed_zeros=name in SIGNED_ZEROS)
        checks.check_slope(run)
