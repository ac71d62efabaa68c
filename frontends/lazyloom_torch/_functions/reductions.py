"""Reductions, cumulative functions and comparisons of whole tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom.frontend import reduced

from .. import _dtypes
from .._core import axes, axis, cast, record, record_one, scalar, spec
from .._errors import TorchDTypeError
from .._registry import declare
from .._tensor import Tensor, operand
from ..return_types import named
from . import pointwise, representation

_wrap = Tensor.from_value


def _axes(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes attribute: None for all; an empty list means all, as in PyTorch."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return () if ndim == 0 and axes(dim, 0) else axes(dim, ndim)


def _reduce(op: str, v: Any, dim: Any, keepdim: bool, **attributes: Any) -> Tensor:
    axes = None if dim is None else _axes(dim, len(v.shape))
    if attributes or type(keepdim) is not bool:
        attributes.update(axes=axes, keepdims=keepdim)
        return _wrap(record(op, [v], attributes))
    at = axes[0] if axes is not None and len(axes) == 1 else axes
    ready = _specs.get((op, at, keepdim))
    if ready is None:
        ready = _specs[op, at, keepdim] = spec(op, 1, {"axes": axes, "keepdims": keepdim})
    made: Tensor = _wrap(record_one(ready, v))
    return made


#: by op, dimension (an int, several, or None for all) and whether it is kept
_specs: dict[Any, lazyloom.Spec] = {}


def _plain(op: str, input: Any, dim: Any, keepdim: Any) -> Any:
    """A reduction of a plain tensor of inexact numbers that was met before; None for others."""
    if isinstance(input, Tensor) and not input.slow_path and input.tensor_type.size:
        kinds = "f" if op in ("max", "min") else "fc"
        return reduced(_specs, op, input, dim, keepdim, kinds)
    return None


def _accumulation(op: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
                 axis: Any = None, keepdims: bool = False) -> Tensor:
        if dtype is None and axis is None and keepdims is False:
            made: Tensor | None = _plain(op, input, dim, keepdim)
            if made is not None:
                return made
        v = operand(input)
        if dtype is not None:
            v = cast(v, _dtypes.as_dtype(dtype).lazy)
        elif v.dtype.kind in "biu":
            v = cast(v, lazyloom.dtypes.int64)
        return _reduce(op, v, dim if axis is None else axis, keepdim or keepdims)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"The {op} over dimensions (all if None); integers give int64."
    return function


sum, prod = _accumulation("sum"), _accumulation("prod")


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over dimensions. Raises RuntimeError for integers, as PyTorch does."""
    if dtype is None and axis is None and keepdims is False:
        made: Tensor | None = _plain("mean", input, dim, keepdim)
        if made is not None:
            return made
    v = operand(input)
    if dtype is not None:
        v = cast(v, _dtypes.as_dtype(dtype).lazy)
    if not v.dtype.is_inexact:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {input.dtype!r}")
    return _reduce("mean", v, dim if axis is None else axis, keepdim or keepdims)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over dimensions of what is not NaN. Raises RuntimeError for complex tensors."""
    pointwise.only_tensors("nansum", input)
    if input.is_complex():
        raise RuntimeError("nansum does not support complex inputs")
    if not input.is_floating_point():
        return sum(input, dim, keepdim, dtype=dtype)
    return sum(pointwise.where(pointwise.isnan(input), 0.0, input), dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
            ) -> Tensor:
    """The mean over dimensions of what is not NaN. Raises RuntimeError for integers."""
    pointwise.only_tensors("nanmean", input)
    if not input.is_floating_point():
        raise RuntimeError(
            f"nanmean(): expected input to have floating point dtype but got {input.dtype!r}")
    given = input.to(dtype or input.dtype)
    count = sum(pointwise.FUNCTIONS["logical_not"](pointwise.isnan(given)), dim, keepdim)
    # a count of half precision is infinite from 65,520 on
    wide = given.float() if given.dtype.itemsize == 2 else given
    return pointwise.div(nansum(wide, dim, keepdim), count).to(given.dtype)


def _some(name: str, v: Any, dim: Any) -> Any:
    """The value; IndexError if a dimension to reduce is given and has no element."""
    if v.type.size == 0 and not (dim is None or isinstance(dim, (tuple, list)) and not dim):
        for at in axes(dim, len(v.shape)):
            if v.shape[at] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {at} to have non-zero size.")
    return v


def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The maximum over dimensions; equal maxima share the gradient."""
    made: Tensor | None = _plain("max", input, dim, keepdim)
    if made is not None:
        return made
    return _reduce("max", _some("amax", operand(input), dim), dim, keepdim)


def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The minimum over dimensions; equal minima share the gradient."""
    made: Tensor | None = _plain("min", input, dim, keepdim)
    if made is not None:
        return made
    return _reduce("min", _some("amin", operand(input), dim), dim, keepdim)


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The minima and maxima, along a dimension or of all elements."""
    pointwise.only_tensors("aminmax", input)
    where = () if dim is None else axis(dim, input.ndim)
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity; give dim= of a dimension that is not empty")
    return named("aminmax", "min", "max")(
        amin(input, where, keepdim), amax(input, where, keepdim))


def _indexed(name: str, arg: str) -> Callable[..., Any]:
    pair = named(name, "values", "indices")
    whole, two = ("max", "maximum") if name == "max" else ("min", "minimum")

    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None
                 ) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            second = dim if other is None else other
            pointwise.only_tensors(name, input, second)
            return pointwise.binary(two, input, second)
        v = operand(input)
        if dim is None:
            return _reduce(whole, v, None, False)
        return pair(*_pick(v, arg, dim, keepdim))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``{name}(x)``, ``{name}(x, dim) -> (values, indices)`` or ``{name}(x, y)``.")
    return function


def _pick(v: Any, arg: str, dim: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The element that an arg-reduction names, and its index: the gradient goes there only."""
    if not v.shape:
        axis(dim, 0)
        return _wrap(v), _wrap(record("full", [scalar(0, lazyloom.dtypes.int64)], {"shape": ()}))
    at = axis(dim, len(v.shape))
    if v.shape[at] == 0:
        raise IndexError(f"{arg}(): Expected reduction dim {at} to have non-zero size.")
    ordered = v if v.dtype.kind != "b" else cast(v, lazyloom.dtypes.uint8)
    where = record(arg, [ordered], {"axis": at, "keepdims": True})
    found = record("take_along_axis", [v, where], {"axis": at})
    if not keepdim:
        shape = (*v.shape[:at], *v.shape[at + 1:])
        found, where = (record("reshape", [x], {"shape": shape}) for x in (found, where))
    return _wrap(found), _wrap(where)


max, min = _indexed("max", "argmax"), _indexed("min", "argmin")


def _arg(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        v = operand(input)
        if v.dtype.kind == "b":
            raise TorchDTypeError(f'"{name}" is not implemented for torch.bool; use .int() first')
        if not v.shape:
            if dim is not None:
                axis(dim, 0)
            v = record("reshape", [v], {"shape": (1,)})
            return _wrap(record(name, [v], {"axis": 0, "keepdims": False}))
        if v.type.size == 0 and dim is None:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() "
                             "== 0. Specify the reduction dim with the 'dim' argument.")
        at = None if dim is None else axis(dim, len(v.shape))
        _some(name, v, dim)
        return _wrap(record(name, [v], {"axis": at, "keepdims": keepdim}))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} along a dimension, or into the flattened tensor; int64."
    return function


argmax, argmin = _arg("argmax"), _arg("argmin")


def _truth(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        v = operand(input)
        found = _reduce(name, v, dim, keepdim)
        # a relic of the time before bool tensors
        return _wrap(cast(found.value, v.dtype)) if v.dtype is lazyloom.dtypes.uint8 else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Whether {name} elements are true, over dimensions or all; uint8 gives uint8.")
    return function


all, any = _truth("all"), _truth("any")  # noqa: A001


def count_nonzero(
    input: Tensor, dim: Any = None, *more: int
) -> Tensor:
    """The number of elements that are not zero, over dimensions or of all; int64."""
    return _reduce("count_nonzero", operand(input), (dim, *more) if more else dim, False)


def _spread(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
                 correction: Any = None) -> Tensor:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        v = operand(input)
        if not v.dtype.is_inexact:
            raise RuntimeError(f"{name} only support floating point and complex dtypes")
        return _reduce(name, v, dim, keepdim, correction=float(correction))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} over dimensions, with Bessel's correction of 1 by default."
    return function


var, std = _spread("var"), _spread("std")


def _with_mean(name: str, spread: Callable[..., Tensor]) -> Callable[..., Any]:
    def function(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
                 correction: Any = None) -> tuple[Tensor, Tensor]:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        found = spread(input, dim, unbiased, keepdim, correction=correction)
        return found, mean(input, dim, keepdim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{spread.__name__}`` and ``mean`` over dimensions."
    return function


var_mean, std_mean = _with_mean("var_mean", var), _with_mean("std_mean", std)


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over dimensions, without overflow."""
    v = operand(input)
    if not v.dtype.is_inexact:
        v = cast(v, _dtypes.get_default_dtype().lazy)
    return _reduce("logsumexp", v, dim, keepdim)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:
    """The vector norm of order p over dimensions, or of all elements."""
    v = operand(input)
    if dtype is not None:
        v = cast(v, _dtypes.as_dtype(dtype).lazy)
    if p == "nuc":
        raise RuntimeError("norm: 'nuc' is not supported; expected 'fro' or a number")
    if not v.dtype.is_inexact:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype!r}")
    order = 2.0 if p in ("fro", None) else float(p)
    return _reduce("norm", v, dim, keepdim, order=order)


def distances(differences: Tensor, p: float, dim: int) -> Tensor:
    """The norms of order p along a dimension, as distances have them.

    Of the largest differences each has the whole gradient, where a norm's share it.
    """
    if p != math.inf or not differences.requires_grad:
        return norm(differences, p, dim)
    found = operand(norm(differences.detach(), p, dim, True))
    size = record("abs", [operand(differences)])
    largest = record("where", [record("equal", [size, found]), size, scalar(0, size.dtype)])
    at = {"axes": (axis(dim, differences.ndim),)}
    return _wrap(record("straight_through", [
        record("sum", [largest], at), record("sum", [found], at)]))


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of order p of ``input - other``."""
    return norm(pointwise.sub(input, other), p)


def _cumulative(op: str) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        v = operand(input)
        if dtype is not None:
            v = cast(v, _dtypes.as_dtype(dtype).lazy)
        elif v.dtype.kind in "biu":
            v = cast(v, lazyloom.dtypes.int64)
        at = axis(dim, len(v.shape))
        if not v.shape:
            return _wrap(v)
        ready = by_axis.get(at)
        if ready is None:
            ready = by_axis[at] = spec(op, 1, {"axis": at})
        return _wrap(record_one(ready, v))

    by_axis: dict[int, lazyloom.Spec] = {}
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op} along a dimension."
    return function


cumsum, cumprod, logcumsumexp = (_cumulative(n) for n in ("cumsum", "cumprod", "logcumsumexp"))


def _cumulative_extremum(name: str) -> Callable[..., Any]:
    pair = named(name, "values", "indices")

    def function(input: Tensor, dim: int) -> Any:
        v = operand(input)
        at = axis(dim, len(v.shape))
        whole = lazyloom.dtypes.int64
        if not v.shape:
            return pair(pointwise.copied(v), _wrap(record(
                "full", [scalar(0, whole)], {"shape": ()})))
        found = record(name, [v], {"axis": at})
        here = record("iota", [], {"shape": v.shape, "axis": at, "dtype": whole})
        hit = record("equal", [v, found])
        if v.dtype.is_inexact:
            hit = record("logical_or", [hit, record("isnan", [v])])
        where = record("where", [hit, here, scalar(0, whole)])
        return pair(_wrap(found), _wrap(record("cummax", [where], {"axis": at})))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} along a dimension, and the last index of each extremum."
    return function


cummax, cummin = _cumulative_extremum("cummax"), _cumulative_extremum("cummin")


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and equal elements; reads the answer."""
    if input.tensor_type.shape != other.tensor_type.shape:
        return False
    return bool(all(pointwise.eq(input, other)).item())


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> bool:
    """Whether all elements are close; reads the answer."""
    return bool(all(representation.isclose(input, other, rtol, atol, equal_nan)).item())


FUNCTIONS = declare({
    "function method inplace out": [cumsum, cumprod],
    "function method out": [
        sum, prod, mean, nansum, nanmean, amax, amin, aminmax, max, min, argmax, argmin, all, any,
        var, std, logsumexp, logcumsumexp, cummax, cummin],
    "function method": [count_nonzero, dist, equal, allclose],
    "function out": [var_mean, std_mean],
})
