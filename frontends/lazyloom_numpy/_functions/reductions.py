"""Reductions and cumulative functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.frontend import reduced

from .._arguments import dtypes as dt
from .._arguments.convert import argument, as_value, full_value, param, value_of
from .._array.hosted import again
from .._array.ndarray import ndarray, wrap
from .._ufuncs import errstate
from .._ufuncs.folds import reduced as fold
from .._ufuncs.outputs import finish, output, writing
from .._ufuncs.ufunc import TABLE, cast_values
from .joining import concatenate

record = lazyloom.record

_INT_SUM: Final = {"b": dt.INT64, "i": dt.INT64, "u": dt.internal(onp.uint64)}


def summed_in(source: DType) -> DType | None:
    """The dtype that sums and products of integers are computed in; None for other numbers."""
    return _INT_SUM.get(source.kind)


def _axes(axis: Any, ndim: int, strict: bool = False) -> tuple[int, ...] | None:
    """The op's ``axes``; None (all of them) stays None.

    A 0-d array counts as one with an axis, unless ``strict``, as where NumPy asks for its size.
    """
    if not ndim and axis in (0, -1) and not strict:
        return None
    return None if axis is None else dt.normalize_axes(axis, ndim)


def _masked(value: Any, where: Any, identity: Any) -> Any:
    """The value with the identity where the mask is false."""
    if where is True:
        return value
    mask = value_of(where, dt.BOOL)
    return record("where", (mask, value, dt.scalar(identity, value.type.dtype)))


#: the specs of reductions by op, axes and whether they are kept; none while floating-point errors
#: are looked for
_specs: Final[dict[Any, lazyloom.Spec]] = {}
errstate.on_switch(lambda on: _specs.clear())


def _reduced(op: str, a: Any, axis: Any, keepdims: Any) -> Any:
    """One reduction op on an array as it is; None where the axes need a closer look."""
    if axis is not None and type(axis) is not int or type(keepdims) is not bool:
        return None
    value = a.value
    if axis is not None:
        ndim = len(value.shape)
        if not -ndim <= axis < ndim:
            return None
        if axis < 0:
            axis += ndim
    ready = _specs.get((op, axis, keepdims))
    if ready is None:
        axes = None if axis is None else (axis,)
        ready = lazyloom.spec(op, 1, {"axes": axes, "keepdims": keepdims})
        if errstate.active():
            result = lazyloom.record_one(ready, value)
            return wrap(errstate.watch_reduction(value, result, axes, keepdims, "reduce"))
        _specs[op, axis, keepdims] = ready
    return wrap(lazyloom.record_one(ready, value))


def _accumulating(name: str, op: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool,
                  initial: Any, where: Any, identity: int) -> Any:  # fmt: skip
    if dtype is None and out is None and initial is None and where is True and (
        isinstance(a, ndarray) and a.tensor_type.dtype.is_inexact
    ):
        found = _reduced(op, a, axis, keepdims)
        if found is not None:
            return found
    value = argument(a)
    source = value.type.dtype
    if dtype is None and out is not None:
        target: DType | None = dt.promote(source, output(out, name).type.dtype)
    else:
        target = _INT_SUM.get(source.kind) if dtype is None else dt.internal(dtype)
    value = _masked(value, where, identity)
    attribute = target if target is not None and target is not source else None
    if source.kind == "b" and target is dt.BOOL:
        op, attribute = ("any" if op == "sum" else "all"), None
    elif attribute is not None and source.kind in "fc" and attribute.kind not in "fc":
        value = record("cast", (value,), {"dtype": attribute})
        attribute = None
    attributes: dict[str, Any] = {"axes": _axes(axis, len(value.type.shape)), "keepdims": keepdims}
    if op in ("sum", "prod"):
        attributes["dtype"] = attribute
    result = record(op, (value,), attributes)
    result = errstate.watch_reduction(value, result, attributes["axes"], keepdims, "reduce")
    if initial is not None:
        combine = "add" if op == "sum" else "multiply"
        result = record(combine, (result, param(initial, result.type.dtype)))
    return finish(result, out, name)


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """Sum over axes; integers in 64 bits. See ``numpy.sum``."""
    if dtype is None and out is None and initial is None and where is True:
        found = reduced(_specs, "sum", a, axis, keepdims, "fc")
        if found is not None:
            return found
    try:
        return _accumulating("sum", "sum", a, axis, dtype, out, keepdims, initial, where, 0)
    except dt.HostOnly:
        return again("sum", a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
                     where=where)


def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
         initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """Product over axes; integers in 64 bits. See ``numpy.prod``."""
    try:
        return _accumulating("prod", "prod", a, axis, dtype, out, keepdims, initial, where, 1)
    except dt.HostOnly:
        return again("prod", a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
                     where=where)


def _extremum(name: str, a: Any, axis: Any, out: Any, keepdims: bool, initial: Any,
              where: Any) -> Any:  # fmt: skip
    if out is None and initial is None and where is True and (
        isinstance(a, ndarray) and a.tensor_type.size and a.tensor_type.dtype.kind != "c"
    ):
        found = _reduced(name, a, axis, keepdims)
        if found is not None:
            return found
    value = argument(a)
    d = value.type.dtype
    if where is not True and initial is None:
        raise ValueError(
            f"reduction operation '{name}imum' does not have an identity, so to use a where mask "
            "one has to specify 'initial'")
    shape = value.type.shape
    axes = _axes(axis, len(shape))
    if where is not True:
        value = record("where", (value_of(where, dt.BOOL), value, param(initial, d)))
    reduced = range(len(shape)) if axes is None else axes
    if any_zero(shape, reduced):
        if initial is None:
            raise ValueError(
                f"zero-size array to reduction operation {name}imum which has no identity")
        left = tuple(1 if i in reduced else n for i, n in enumerate(shape)
                     if keepdims or i not in reduced)  # fmt: skip
        return finish(full_like_value(left, param(initial, d)), out, name)
    if d.kind == "c":
        every = tuple(range(len(shape))) if axes is None else axes
        result = fold(TABLE[f"{name}imum"], None, value, every, keepdims)
        if initial is not None:
            first = as_value(param(initial, d))
            result = TABLE[f"{name}imum"].compute_values([result, first])
        return finish(result, out, name)
    result = record(name, (value,), {"axes": axes, "keepdims": keepdims})
    if initial is not None:
        result = record(f"{name}imum", (result, param(initial, d)))
    return finish(result, out, name)


def any_zero(shape: Sequence[int], axes: Any) -> bool:
    """Whether one of the axes has size 0."""
    return 0 in [shape[i] for i in axes]


def full_like_value(shape: tuple[int, ...], x: Any) -> Any:
    """A Scalar or Value broadcast to a shape."""
    if isinstance(x, lazyloom.Scalar):
        return record("full", (x,), {"shape": shape})
    return record("broadcast_to", (x,), {"shape": shape})


def max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True) -> Any:  # fmt: skip
    """Largest element over axes; NaN wins. See ``numpy.max``."""
    if out is None and initial is None and where is True and isinstance(a, ndarray) and (
        a.tensor_type.size
    ):
        found = reduced(_specs, "max", a, axis, keepdims, "fiub")
        if found is not None:
            return found
    try:
        return _extremum("max", a, axis, out, keepdims, initial, where)
    except dt.HostOnly:
        return again("max", a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = True) -> Any:  # fmt: skip
    """Smallest element over axes; NaN wins. See ``numpy.min``."""
    if out is None and initial is None and where is True and isinstance(a, ndarray) and (
        a.tensor_type.size
    ):
        found = reduced(_specs, "min", a, axis, keepdims, "fiub")
        if found is not None:
            return found
    try:
        return _extremum("min", a, axis, out, keepdims, initial, where)
    except dt.HostOnly:
        return again("min", a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


amax = max
amin = min


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Largest minus smallest element. See ``numpy.ptp``."""
    result = max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)
    return finish(result.value, out, "ptp")


def _inexact(value: Any, dtype: Any) -> Any:
    """The value in the dtype that mean and variance compute in."""
    d = value.type.dtype
    if dtype is not None:
        target = dt.internal(dtype)
    else:
        target = d if d.kind in "fc" else dt.FLOAT64
    return value if d is target else record("cast", (value,), {"dtype": target})


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
         where: Any = True) -> Any:  # fmt: skip
    """Arithmetic mean over axes; of integers in float64. See ``numpy.mean``."""
    if dtype is None and out is None and where is True and (
        isinstance(a, ndarray) and a.tensor_type.dtype.is_inexact and a.tensor_type.size
    ):
        found = reduced(_specs, "mean", a, axis, keepdims, "fc")
        if found is None:
            found = _reduced("mean", a, axis, keepdims)
        if found is not None:
            return found
    try:
        return _mean(a, axis, dtype, out, keepdims, where)
    except dt.HostOnly:
        return again("mean", a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where)


def _mean(a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, where: Any) -> Any:
    if dtype is None and out is not None:
        dtype = dt.promote(argument(a).type.dtype, output(out, "mean").type.dtype).numpy
        dtype = dtype if dtype.kind in "fc" else None
    if dtype is not None and dt.internal(dtype).kind in "iub":
        # NumPy sums in that dtype, divides, and cuts the quotient
        total = sum(a, axis, dtype, None, keepdims, where=where)
        count = sum(_as_mask(where, argument(a).type.shape), axis, keepdims=keepdims)
        return finish((total / count).astype(dtype).value, out, "mean")
    value = _inexact(argument(a), dtype)
    axes = _axes(axis, len(value.type.shape), True)
    if where is not True:
        d, value = value.type.dtype, _in_single(value)
        count = _count(where, value.type.shape, axes, keepdims, value.type.dtype)
        total = record("sum", (_masked(value, where, 0),), {"axes": axes, "keepdims": keepdims})
        return finish(_rounded(record("divide", (total, count)), d), out, "mean")
    result = record("mean", (value,), {"axes": axes, "keepdims": keepdims})
    if result.type.size and _how_many(value, axes) == 0:
        result = _warned(result, "empty mean", "mean")
    return finish(result, out, "mean")


def _in_single(value: Any) -> Any:
    """Numbers of half precision, whose counts and squares are too large for it, as float32."""
    half = value.type.dtype.itemsize == 2
    return record("cast", (value,), {"dtype": lazyloom.dtypes.float32}) if half else value


def _rounded(value: Any, d: DType) -> Any:
    """The value in the dtype that it was computed for."""
    return value if value.type.dtype == d else record("cast", (value,), {"dtype": d})


def _as_mask(mask: Any, shape: tuple[int, ...]) -> ndarray:
    """A mask in the shape of what it is for."""
    return ndarray.from_value(record("broadcast_to", (value_of(mask, dt.BOOL),), {"shape": shape}))


def _how_many(value: Any, axes: Any) -> int:
    """How many elements each result over the axes is of."""
    shape = value.type.shape
    return math.prod(shape if axes is None else [shape[i] for i in axes])


def _warned(value: Any, kind: str, of: str) -> Any:
    """The value, whose readers are warned in any case: what is wrong is known of the shape."""

    flag = full_value((), True, dt.BOOL)
    return record("checked", (value, flag), {"kind": kind, "of": of})[0]


def _count(where: Any, shape: tuple[int, ...], axes: Any, keepdims: bool, d: DType) -> Any:
    mask = record("broadcast_to", (value_of(where, dt.BOOL),), {"shape": shape})
    return record("sum", (record("cast", (mask,), {"dtype": d}),),
                  {"axes": axes, "keepdims": keepdims})  # fmt: skip


def _spread_in_integers(op: str, a: Any, axis: Any, dtype: Any, amount: float, keepdims: bool,
                        where: Any) -> Any:  # fmt: skip
    """Variance and deviation by an integer dtype, in which NumPy keeps what it has at each step."""
    x = wrap(argument(a))
    apart = x - mean(a, axis, dtype, None, True, where=where)
    squares = (apart * apart.conj()).real
    total = sum(squares, axis, dtype, None, keepdims, where=where)
    count = sum(_as_mask(where, x.shape), axis, keepdims=keepdims)
    found = (total / (count - amount).clip(0, None)).astype(dtype)
    if op == "std" and found.ndim:
        raise TypeError(
            f"Cannot cast ufunc 'sqrt' output from dtype('float64') to {found.dtype!r} with "
            "casting rule 'same_kind'")
    if op == "std":
        found = ndarray.from_value(record("sqrt", (value_of(found, dt.FLOAT64),))).astype(dtype)
    return found


def _spread(op: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool,
            where: Any = True, mean: Any = None, correction: Any = None) -> Any:  # fmt: skip
    if correction is not None and ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    if dtype is not None and dt.internal(dtype).kind in "iu" and mean is None:
        amount = float(ddof if correction is None else correction)
        return finish(_spread_in_integers(
            op, a, axis, dtype, amount, keepdims, where).value, out, op)
    value = _inexact(argument(a), dtype)
    if dtype is not None and value.type.dtype.kind == "c":
        real = _spread(op, a, axis, None, None, ddof, keepdims, where, mean, correction)
        return finish(record("cast", (real.value,), {"dtype": value.type.dtype}), out, op)
    axes = _axes(axis, len(value.type.shape), True)
    amount = float(ddof if correction is None else correction)
    if where is True and mean is None:
        attributes = {"axes": axes, "keepdims": keepdims, "correction": amount}
        result = record(op, (value,), attributes)
        result = errstate.watch_reduction(value, result, axes, keepdims, "subtract")
        if result.type.size and _how_many(value, axes) <= amount:
            result = _warned(result, "too few to vary", op)
        return finish(result, out, op)
    wanted = value.type.dtype.real
    value = _in_single(value)
    d = value.type.dtype
    if mean is None:
        count = _count(where, value.type.shape, axes, True, d)
        total = record("sum", (_masked(value, where, 0),), {"axes": axes, "keepdims": True})
        middle = record("divide", (total, count))
    else:
        middle = value_of(mean, d)
    centred = _masked(record("subtract", (value, middle)), where, 0)
    size = record("abs", (centred,)) if d.kind == "c" else centred
    squares = record("sum", (record("square", (size,)),), {"axes": axes, "keepdims": keepdims})
    real = squares.type.dtype
    count = _count(where, value.type.shape, axes, keepdims, real)
    left = record("subtract", (count, dt.scalar(amount, real)))
    result = record("divide", (squares, record("maximum", (left, dt.scalar(0.0, real)))))
    result = record("sqrt", (result,)) if op == "std" else result
    return finish(_rounded(result, wanted), out, op)


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None,
        correction: Any = None) -> Any:  # fmt: skip
    """Variance over axes, divided by N - ddof. See ``numpy.var``."""
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None,
        correction: Any = None) -> Any:  # fmt: skip
    """Standard deviation over axes. See ``numpy.std``."""
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *,
        where: Any = True) -> Any:  # fmt: skip
    """Whether all elements over axes are true. See ``numpy.all``."""
    value = argument(a)
    if where is not True:
        value = _masked(cast_values(value, dt.BOOL), where, True)
    attributes = {"axes": _axes(axis, len(value.type.shape)), "keepdims": keepdims}
    return finish(record("all", (value,), attributes), out, "all")


def any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *,
        where: Any = True) -> Any:  # fmt: skip
    """Whether any element over axes is true. See ``numpy.any``."""
    value = argument(a)
    if where is not True:
        value = _masked(cast_values(value, dt.BOOL), where, False)
    attributes = {"axes": _axes(axis, len(value.type.shape)), "keepdims": keepdims}
    return finish(record("any", (value,), attributes), out, "any")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero, int64. See ``numpy.count_nonzero``."""
    value = argument(a)
    attributes = {"axes": _axes(axis, len(value.type.shape)), "keepdims": keepdims}
    return wrap(record("count_nonzero", (value,), attributes))


def _arg(name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> Any:
    value = argument(a)
    shape = value.type.shape
    if not shape and axis in (0, -1):
        axis = None
    position = None if axis is None else dt.normalize_axis(axis, len(shape))
    if any_zero(shape, range(len(shape)) if position is None else (position,)):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if value.type.dtype.kind == "c":
        value, name = _complex_extremes(value, name, position), "argmax"
    return finish(record(name, (value,), {"axis": position, "keepdims": keepdims}), out, name)


def _complex_extremes(value: Any, name: str, position: int | None) -> Any:
    """Where complex numbers are the largest (by real part, then by imaginary part) or NaN."""
    axes = {"axes": None if position is None else (position,), "keepdims": True}
    nan = record("isnan", (value,))
    found = record("logical_not", (record("any", (nan,), axes),))
    found = record("broadcast_to", (found,), {"shape": value.type.shape})
    worst, best = (-onp.inf, "max") if name == "argmax" else (onp.inf, "min")
    for part in ("real", "imag"):
        x = record(part, (value,))
        x = record("where", (found, x, dt.scalar(worst, x.type.dtype)))
        same = record("equal", (x, record(best, (x,), axes)))
        found = record("logical_and", (found, same))
    return record("cast", (record("logical_or", (nan, found)),), {"dtype": dt.internal(onp.int8)})


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis, int64. See ``numpy.argmax``."""
    try:
        return _arg("argmax", a, axis, out, keepdims)
    except dt.HostOnly:
        return again("argmax", a, axis=axis, out=out, keepdims=keepdims)


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Index of the first smallest element along an axis, int64. See ``numpy.argmin``."""
    try:
        return _arg("argmin", a, axis, out, keepdims)
    except dt.HostOnly:
        return again("argmin", a, axis=axis, out=out, keepdims=keepdims)


# ------------------------------------------------------------------- cumulative


def cumulative(op: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if out is None:
        return _cumulated(op, a, axis, dtype, out)
    with writing(out):
        return _cumulated(op, a, axis, dtype, out)


def _cumulated(op: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    value = argument(a)
    d = value.type.dtype
    target = _INT_SUM.get(d.kind, d) if dtype is None else dt.internal(dtype)
    if op in ("cummax", "cummin") and dtype is None:
        target = d
    value = cast_values(value, target)
    ndim = len(value.type.shape)
    if axis is None or not ndim and axis in (0, -1):
        if ndim != 1:
            value = record("reshape", (value,), {"shape": (value.type.size,)})
        axis, ndim = 0, 1
    position = dt.normalize_axis(axis, ndim)
    result = record(op, (value,), {"axis": position, "reverse": False})
    return finish(errstate.watch_reduction(value, result, None, False, "accumulate"), out, op)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along an axis, of the flattened array for None. See ``numpy.cumsum``."""
    return cumulative("cumsum", a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along an axis. See ``numpy.cumprod``."""
    return cumulative("cumprod", a, axis, dtype, out)


def _cumulative_array_api(op: str, start: int, x: Any, axis: Any, dtype: Any, out: Any,
                          include_initial: bool) -> Any:  # fmt: skip
    x = wrap(value_of(x))
    if not x.ndim:
        x = x.reshape(1)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is "
                             "required.")  # fmt: skip
        axis = 0
    result = cumulative(op, x, axis, dtype, None)
    if include_initial:
        position = dt.normalize_axis(axis, x.ndim)
        shape = tuple(1 if i == position else n for i, n in enumerate(x.shape))
        first = ndarray.from_value(full_value(shape, start, result.type.dtype))
        result = concatenate([first, result], axis=position)
    return finish(result.value, out, op)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                   include_initial: bool = False) -> Any:  # fmt: skip
    """Running sums. See ``numpy.cumulative_sum``."""
    return _cumulative_array_api("cumsum", 0, x, axis, dtype, out, include_initial)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
                    include_initial: bool = False) -> Any:  # fmt: skip
    """Running products. See ``numpy.cumulative_prod``."""
    return _cumulative_array_api("cumprod", 1, x, axis, dtype, out, include_initial)
