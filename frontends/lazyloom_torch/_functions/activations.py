"""Activation functions, softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Spec
from lazyloom.frontend import write_lock

from .. import _dtypes
from .._core import axis, cast, record, record_one, scalar, spec
from .._draws import drawn
from .._elementwise import elementwise, mapped, ordered
from .._out import compute_into, taking_out
from .._promotion import is_number
from .._registry import declare
from .._tensor import Tensor, operand
from . import convert, pointwise

_wrap = Tensor.from_value

#: torch name -> (op, {torch argument: op attribute}, defaults)
_TABLE: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "relu6": ("relu6", {}, {}),
    "mish": ("mish", {}, {}),
    "selu": ("selu", {}, {}),
    "elu": ("elu", {"alpha": "alpha"}, {"alpha": 1.0}),
    "celu": ("celu", {"alpha": "alpha"}, {"alpha": 1.0}),
    "leaky_relu": ("leaky_relu", {"negative_slope": "negative_slope"}, {"negative_slope": 0.01}),
    "hardtanh": ("hardtanh", {"min_val": "min", "max_val": "max"},
                 {"min_val": -1.0, "max_val": 1.0}),
    "hardsigmoid": ("hardsigmoid", {}, {}),
    "hardswish": ("hardswish", {}, {}),
    "softsign": ("softsign", {}, {}),
    "tanhshrink": ("tanhshrink", {}, {}),
    "softshrink": ("softshrink", {"lambd": "lambd"}, {"lambd": 0.5}),
    "hardshrink": ("hardshrink", {"lambd": "lambd"}, {"lambd": 0.5}),
    "threshold": ("threshold", {"threshold": "threshold", "value": "value"}, {}),
    "softplus": ("softplus", {"beta": "beta", "threshold": "threshold"},
                 {"beta": 1.0, "threshold": 20.0}),
    "logsigmoid": ("log_sigmoid", {}, {}),
    "relu": ("relu", {}, {}),
}

#: those that PyTorch has for integers too, by other means
_INTEGERS: dict[str, Callable[..., Tensor]] = {
    "hardtanh": lambda x, min_val, max_val: pointwise.clamp(x, int(min_val), int(max_val)),
    "relu6": lambda x: pointwise.clamp(x, 0, 6),
    "threshold": lambda x, threshold, value: pointwise.where(
        pointwise.FUNCTIONS["le"](x, threshold), type(value)(value), x).to(x.dtype),
    "softsign": lambda x: pointwise.div(x, pointwise.add(pointwise.FUNCTIONS["abs"](x), 1)),
    "tanhshrink": lambda x: pointwise.sub(x, pointwise.FUNCTIONS["tanh"](x)),
}
#: arguments that have to be positive, or not negative
_POSITIVE, _NOT_NEGATIVE = {"celu": "alpha"}, {"softshrink": "lambd"}


def _with_arguments(name: str) -> Callable[..., Tensor]:
    op, names, defaults = _TABLE[name]
    usual = spec(op, 1, {names[k]: float(v) for k, v in defaults.items()}) if (
        len(defaults) == len(names)) else None
    order = list(names)
    specs: dict[Any, Spec] = {}

    def function(input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        if usual is not None and not args and not kwargs and input.tensor_type.dtype.is_floating:
            if inplace:
                with write_lock(input):
                    return convert.store(input, record_one(usual, operand(input)))
            return mapped(usual, input)
        if len(args) > len(order):
            if len(args) > len(order) + 1:
                raise TypeError(f"{name}() takes at most {len(order) + 2} arguments")
            inplace, args = bool(args[-1]), args[:-1]
        given = dict(defaults)
        given.update(zip(order, args, strict=False))
        for key, number in kwargs.items():
            if key not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
            given[key] = number
        for key in names:
            if key not in given:
                raise TypeError(f"{name}() missing required argument: {key!r}")
            if not is_number(given[key]):
                if not isinstance(given[key], Tensor) or given[key].ndim:
                    raise TypeError(
                        f"{name}(): argument {key!r} must be a number, not {given[key]!r}")
                given[key] = given[key].item()
        _check(name, given)
        return made(input, given, inplace)

    def made(input: Tensor, given: dict[str, Any], inplace: bool) -> Tensor:
        if inplace:
            return convert.store_of(made, input, given, False)
        if not input.tensor_type.dtype.is_floating and name in _INTEGERS:
            return _INTEGERS[name](input, **given)
        key = tuple(float(given[k]) for k in order)
        ready = specs.get(key)
        if ready is None:
            ready = specs[key] = spec(op, 1, dict(zip(names.values(), key, strict=True)))
        return mapped(ready, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _check(name: str, given: dict[str, Any]) -> None:
    if name == "hardtanh" and given["min_val"] > given["max_val"]:
        raise ValueError(
            f"hardtanh: min_val cannot be greater than max_val, got {given['min_val']} and "
            f"{given['max_val']}")
    if name in _POSITIVE and given[_POSITIVE[name]] == 0:
        raise RuntimeError(f"ZeroDivisionError: {name}: {_POSITIVE[name]} cannot be 0")
    if name in _NOT_NEGATIVE and not given[_NOT_NEGATIVE[name]] >= 0:
        key = _NOT_NEGATIVE[name]
        raise RuntimeError(
            f"{name}: {key} must be greater or equal to 0, but found to be {given[key]}.")


def _plain(name: str) -> Callable[..., Tensor]:
    op = _TABLE[name][0]
    ready = spec(op, 1)
    whole = _INTEGERS.get(name)

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        if inplace:
            return convert.store_of(function, input)
        if whole is not None and not input.tensor_type.dtype.is_floating:
            return whole(input)
        return mapped(ready, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


_made = {n: _with_arguments(n) if _TABLE[n][1] else _plain(n) for n in _TABLE}


def _in_place(name: str) -> Callable[..., Tensor]:
    function = _made[name]

    def method(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"``{name}`` in place."
    return method


INPLACE = {f"{n}_": _in_place(n) for n in (
    "relu", "elu", "celu", "selu", "leaky_relu", "hardtanh", "threshold")}

_SILU, _SIGMOID, _TANH = (spec(op, 1) for op in ("silu", "sigmoid", "tanh"))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), of complex numbers too."""
    if inplace:
        return convert.store_of(silu, input)
    v = operand(input)
    value = record("multiply", [v, record_one(_SIGMOID, v)]) if v.dtype.is_complex else (
        record_one(_SILU, v))
    return ordered(_wrap(value), input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    if input.tensor_type.dtype.is_inexact:
        return mapped(_SIGMOID, input)
    return pointwise.FUNCTIONS["sigmoid"](input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    if input.tensor_type.dtype.is_inexact:
        return mapped(_TANH, input)
    return pointwise.FUNCTIONS["tanh"](input)


_GELU: dict[str, Spec] = {}


def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """x times the normal distribution function of x; approximate "none" or "tanh"."""
    if out is not None:
        return compute_into(out, gelu, input, approximate)
    ready = _GELU.get(approximate)
    if ready is None:
        if approximate not in ("none", "tanh"):
            raise RuntimeError(
                f"approximate argument must be either none or tanh, got {approximate!r}")
        ready = _GELU[approximate] = spec("gelu", 1, {"approximate": approximate})
    return mapped(ready, input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Leaky ReLU whose slope is one number, or one per channel (dimension 1)."""
    v, w = operand(input), operand(weight)
    if v.dtype is not w.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype!r} and {weight.dtype!r}")
    if len(w.shape) > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(w.shape)}")
    if w.type.size == 1:
        w = record("reshape", [w], {"shape": ()}) if w.shape else w
    else:
        if len(v.shape) < 2 or w.shape != (v.shape[1],):
            raise RuntimeError(
                f"prelu: weight has {w.type.size} elements, expected 1 or the number of channels "
                f"of the input of shape {list(v.shape)}")
        w = record("reshape", [w], {"shape": (w.shape[0], *(1,) * (len(v.shape) - 2))})
    return ordered(_wrap(record("prelu", [v, w])), input)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Leaky ReLU of slopes drawn uniformly from [lower, upper]; of their mean outside training."""
    if lower > upper:
        raise RuntimeError(
            f"rrelu: lower bound should be less than or equal to the upper bound, got {lower} and "
            f"{upper}")
    if not training:
        return _made["leaky_relu"](input, (lower + upper) / 2, inplace)
    if inplace:
        return convert.store_of(rrelu, input, lower, upper, True)
    v = operand(input)
    slope = drawn("random_uniform", [scalar(lower, v.dtype), scalar(upper, v.dtype)],
                  {"shape": v.shape}, step=True)
    return _wrap(record("prelu", [v, slope]))


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3,
           training: bool = False) -> Tensor:  # fmt: skip
    """:func:`rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    v = operand(input)
    if not v.shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    at = axis(dim, len(v.shape))
    size = v.shape[at]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {at} is size {size}")
    a, b = record("split", [v], {"sizes": (size // 2, size // 2), "axis": at})
    return _wrap(record("multiply", [a, record_one(_SIGMOID, b)]))


# Along a dimension


def _along(op: str) -> Callable[..., Tensor]:
    specs: dict[int, Spec] = {}

    def function(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
                 ) -> Tensor:
        if type(_stacklevel) is not int:  # torch.softmax(input, dim, dtype)
            _stacklevel, dtype = 3, _stacklevel
        v = operand(input)
        if dtype is not None:
            v = cast(v, _dtypes.as_dtype(dtype).lazy)
        if v.dtype.is_complex or not v.dtype.is_floating:
            raise NotImplementedError(
                f"{op} is not implemented for {input.dtype!r}; give dtype=torch.float32")
        if dim is None:
            dim = 0 if len(v.shape) in (0, 1, 3) else 1
        if not v.shape:
            axis(dim, 0)
            return _wrap(record("reshape", [record(op, [record("reshape", [v], {"shape": (1,)})], {
                "axis": 0})], {"shape": ()}))
        at = axis(dim, len(v.shape))
        if at == len(v.shape) - 1:
            at = -1
        ready = specs.get(at)
        if ready is None:
            ready = specs[at] = spec(op, 1, {"axis": at})
        return _wrap(record_one(ready, v))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op} along a dimension, of the input as ``dtype`` if that is given."
    return function


softmax, log_softmax = _along("softmax"), _along("log_softmax")


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Softmax of the negative."""
    return softmax(pointwise.FUNCTIONS["neg"](input), dim, _stacklevel, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution of temperature ``tau`` (arXiv 1611.01144).

    ``hard`` gives one-hot vectors with the gradient of the soft ones.
    """
    v = operand(logits)
    noise = drawn("random_gumbel", [], {"shape": v.shape, "dtype": v.dtype}, step=True)
    shifted = record("divide", [record("add", [v, noise]), scalar(tau, v.dtype)])
    soft = operand(softmax(_wrap(shifted), dim))
    if not hard:
        return _wrap(soft)
    at = axis(dim, len(v.shape))
    best = record("argmax", [soft], {"axis": at, "keepdims": True})
    places = record("iota", [], {"shape": v.shape, "axis": at, "dtype": best.dtype})
    one = cast(record("equal", [places, best]), v.dtype)
    return _wrap(record("straight_through", [soft, one]) if soft.requires_grad else one)


FUNCTIONS: dict[str, Any] = {
    **_made, **INPLACE,
    **{f.__name__: f for f in (
        silu, sigmoid, tanh, gelu, prelu, elementwise(rrelu), rrelu_, glu, softmax, log_softmax,
        softmin, gumbel_softmax)},
}
for _name in ("logsigmoid", "softshrink", "hardshrink", "softplus"):
    FUNCTIONS[_name] = taking_out(FUNCTIONS[_name])
declare({"method": [softmax, log_softmax]})

