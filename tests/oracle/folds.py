"""What a shadow makes of the steps of a definition that take many elements to one: sums, products
of matrices, extrema, cumulative steps, sorts, windows, transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from . import elementwise
from .shades import (
    FUNCTION,
    Shade,
    flushed,
    folded,
    is_inexact,
    limits,
    part,
    ranged,
    wide,
)

#: products of more multiplications than this are computed in float64, and its own roundings added
LONG: Final = 20_000_000


def rule(name: str, xs: Sequence[Shade], params: Any, aval: Any, step: Any) -> Any:
    """The results of a fold, one or a list; None if this is none that is known here."""
    known = _FOLDS.get(name)
    return None if known is None else known(params, list(xs), aval, step)


def unit_of(dtype: Any) -> float:
    """What a rounding is while a sum is taken: sums of half precision are taken in float32."""
    return min(limits(dtype).unit, 2.0**-24)


def summed(
    v: Any, magnitude: Any, error: Any, count: int, dtype: Any, undecided: Any = None
) -> Shade:
    """A sum: its value, that of its terms' magnitudes and of their bounds, how many they are."""
    with np.errstate(all="ignore"):
        at = limits(dtype)
        magnitude = np.asarray(magnitude, np.float64)
        error = np.asarray(error, np.float64)
        found = ranged(np.asarray(v), dtype)
        e = error + unit_of(dtype) * folded(count) * magnitude
        if at.unit > unit_of(dtype):
            e = e + 2 * at.unit * np.abs(found).astype(np.float64)
        # terms that are subnormal on the way
        e = np.where(e > 0, e + count * float(at.least) * (1 if at.flushes else 0), e)
        finite = np.isfinite(np.asarray(v).astype(wide(dtype)))
        # in one order it overflows on its way, in another one not
        over = ~np.isnan(found) & (magnitude + error >= float(at.largest) * (1 - 1e-2))
        # zeros whose sign is not decided, and nothing that may be larger
        zero = (found == 0) & (magnitude == 0) & (error <= 2 * count * float(at.tiny))
        e = np.where(zero & (e > 0), float(at.tiny), e)
        e = np.where(over, np.inf, np.where(finite, e, 0))
        if undecided is not None:
            e = np.where(undecided, np.inf, e)
        if np.dtype(dtype).kind == "c":
            e = np.where(finite, e, np.nan)
    return Shade(dtype, found, e)


def finite_bounds(x: Shade) -> tuple[Any, Any]:
    """The bounds with 0 where nothing is decided, and where that is, or None."""
    unknown = ~np.isfinite(x.e)
    if not unknown.any():
        return x.e, None
    return np.where(unknown, 0, x.e), unknown


def magnitude_of(v: Any) -> Any:
    size = np.abs(v).astype(np.float64)
    return np.where(np.isfinite(size), size, 0)


def _alone(found: Shade, raw: Any) -> Shade:
    """A sum whose terms are zeros, or one subnormal number that may be moved as it is.

    ``raw`` is the sum of what was not flushed.
    """
    if found.dtype.kind == "c":
        return found
    at = limits(found.dtype)
    size = np.abs(raw)
    small = (found.v == 0) & (size > 0) & (size < at.least)
    e = np.where(found.v == 0, np.fmax(found.e, float(at.tiny)), found.e)
    return Shade(found.dtype, np.where(small, raw, found.v),
                 np.where(small, np.fmax(e, size.astype(np.float64)), e))


def _axes(p: Any) -> tuple[int, ...]:
    return tuple(p["axes"])


def _reduce_sum(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
    (x,) = xs
    axes = _axes(p)
    if not is_inexact(x.dtype):
        v = np.sum(x.v, axes, dtype=aval.dtype)
        return Shade(aval.dtype, v, np.where(x.e.any(axes), np.inf, 0.0))
    e, unknown = finite_bounds(x)
    v = flushed(x.v, x.dtype)
    with np.errstate(all="ignore"):
        found = summed(
            np.sum(v, axes), np.sum(magnitude_of(v), axes), np.sum(e, axes),
            int(np.prod([x.shape[a] for a in axes])), aval.dtype,
            None if unknown is None else unknown.any(axes))
    if v.size:
        # zeros alone: of one sign they have it, or else that of 0.0, at which sums start; a number
        # alone may be moved
        found = _alone(found, np.sum(x.v, axes))
    return found


def _reduce_extreme(largest: bool) -> Callable[..., Shade]:
    f = np.max if largest else np.min

    def apply(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
        (x,) = xs
        axes = _axes(p)
        if 0 in [x.shape[a] for a in axes]:
            least: Any
            if is_inexact(x.dtype):
                least = -np.inf if largest else np.inf
            elif x.dtype == bool:
                least = not largest
            else:
                info = np.iinfo(x.dtype)
                least = info.min if largest else info.max
            return Shade(aval.dtype, np.full(aval.shape, least, x.v.dtype))
        v = f(x.v, axes)
        if not is_inexact(x.dtype):
            return Shade(aval.dtype, v, np.where(x.e.any(axes), np.inf, 0.0))
        small = np.max(subnormal(x), axes)
        e = _bound_of_extreme(x, v, small, axes, aval.dtype)
        return Shade(aval.dtype, _or_subnormal(v, small), e)

    return apply


def subnormal(x: Shade) -> Any:
    """The magnitudes of subnormal numbers that arithmetic takes for zeros, and 0 for others."""
    at = limits(x.dtype)
    size = np.abs(x.v)
    return np.where(at.flushes & (size < at.least), size, 0)


def _or_subnormal(v: Any, small: Any) -> Any:
    """Extrema that are zeros, or subnormal numbers that are as large as a zero is, as they are."""
    return np.where((v == 0) & (small > 0), small, v)


def _bound_of_extreme(x: Shade, v: Any, small: Any, axes: tuple[int, ...], dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        kept = np.expand_dims(v, axes)
        e, unknown = finite_bounds(x)
        # only what may be the extreme counts
        near = (np.abs(x.v - kept) <= e + np.max(e, axes, keepdims=True)) | (x.v == kept)
        found = np.max(np.where(near, e, 0), axes, initial=0.0)
        if unknown is not None:
            found = np.where(unknown.any(axes), np.inf, found)
        at = limits(dtype)
        found = np.where(np.abs(v) < at.least, found + small.astype(np.float64), found)
        zeros = (v == 0) & ((x.v == 0) & np.signbit(x.v)).any(axes) & (
            (x.v == 0) & ~np.signbit(x.v)).any(axes)
        found = np.where(zeros, np.fmax(found, float(at.tiny)), found)
        nan = np.isnan(v) & ~np.isinf(found)
    return np.where(nan, 0, found)


def _reduce_prod(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
    (x,) = xs
    axes = _axes(p)
    if not is_inexact(x.dtype):
        return Shade(aval.dtype, np.prod(x.v, axes, dtype=aval.dtype),
                     np.where(x.e.any(axes), np.inf, 0.0))
    count = int(np.prod([x.shape[a] for a in axes]))
    found = _product(np.prod(flushed(x.v, x.dtype), axes), x, axes, count, aval.dtype)
    # one number may be moved
    return _alone(found, np.prod(x.v, axes)) if count == 1 else found


def _product(v: Any, x: Shade, axes: tuple[int, ...], count: int, dtype: Any) -> Shade:
    with np.errstate(all="ignore"):
        at = limits(dtype)
        size = np.abs(flushed(x.v, x.dtype)).astype(np.float64)
        e, unknown = finite_bounds(x)
        relative = np.where(size > 0, e / size, np.where(e > 0, np.inf, 0))
        found = ranged(v, dtype)
        off = np.expm1(np.sum(np.log1p(relative), axes)) + 2 * max(0, count - 1) * at.unit
        bound = np.where(found == 0, 0, np.abs(found).astype(np.float64) * off)
        logs = np.where(size > 0, np.log2(size), 0)
        up, down = np.sum(np.fmax(logs, 0), axes), np.sum(np.fmin(logs, 0), axes)
        # in one order it overflows, or becomes a zero, on its way
        wild = (up >= np.log2(float(at.largest)) - 1) | (down <= np.log2(float(at.least)) + 1)
        some = np.isfinite(size).all(axes) & ~((size == 0) & (e == 0)).any(axes)
        bound = np.where(wild | ((relative == np.inf).any(axes)), np.inf, bound)
        bound = np.where(~some & ~wild, 0, bound)
        if unknown is not None:
            bound = np.where(unknown.any(axes), np.inf, bound)
        if np.dtype(dtype).kind == "c":
            bound = np.where(np.isfinite(found), bound, np.nan)
    return Shade(dtype, found, bound)


def _reduce_truth(f: Callable[..., Any], settles: bool | None) -> Callable[..., Shade]:
    def apply(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
        (x,) = xs
        axes = _axes(p)
        v = f(x.v, axis=axes) if axes else x.v
        e = np.where(x.e.any(axes), np.inf, 0.0)
        if settles is not None and x.dtype == bool:
            e = np.where(((x.v == settles) & (x.e == 0)).any(axes), 0, e)
        return Shade(aval.dtype, v, e)

    return apply


def _bitwise(f: Any) -> Callable[..., Any]:
    def apply(v: Any, axis: tuple[int, ...]) -> Any:
        for a in sorted(axis, reverse=True):
            v = f.reduce(v, a)
        return v

    return apply


def _arg(largest: bool) -> Callable[..., Shade]:
    def apply(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
        (x,) = xs
        (axis,) = p["axes"]
        v = flushed(x.v, x.dtype) if is_inexact(x.dtype) else (
            x.v.astype(np.int8) if x.dtype == bool else x.v)
        # the first NaN, or the first of the largest
        found = (np.argmax if largest else np.argmin)(v, axis)
        if x.is_exact:
            return Shade(aval.dtype, found.astype(aval.dtype))
        best = np.take_along_axis(v, np.expand_dims(found, axis), axis)
        bounds = np.take_along_axis(x.e, np.expand_dims(found, axis), axis)
        with np.errstate(all="ignore"):
            near = ~(np.abs(v - best) > x.e + bounds) & ~((v == best) & (x.e == 0) & (bounds == 0))
        others = near.sum(axis) > 1
        nan = np.isnan(best).squeeze(axis) if is_inexact(x.dtype) else False
        e = np.where((others & ~nan) | np.isinf(x.e).any(axis), np.inf, 0.0)
        return Shade(aval.dtype, found.astype(aval.dtype), e)

    return apply


def _cumulative(kind: str) -> Callable[..., Shade]:
    def apply(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
        (x,) = xs
        axis, reverse = p["axis"], p["reverse"]
        if reverse:
            x = x.moved(lambda a: np.flip(a, axis))
        found = _forward(kind, x, axis, aval)
        return found.moved(lambda a: np.flip(a, axis)) if reverse else found

    return apply


def _forward(kind: str, x: Shade, axis: int, aval: Any) -> Shade:
    accumulate = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
    count = x.shape[axis]
    if not is_inexact(x.dtype):
        f = accumulate[kind]
        if x.dtype == bool and kind in ("sum", "prod"):
            f = np.logical_or if kind == "sum" else np.logical_and
        v = f.accumulate(x.v, axis, dtype=x.v.dtype) if count else x.v
        bad = np.logical_or.accumulate(x.e != 0, axis) if count else x.e != 0
        return Shade(aval.dtype, v, np.where(bad, np.inf, 0.0))
    if not count:
        return x
    e, unknown = finite_bounds(x)
    bad = None if unknown is None else np.logical_or.accumulate(unknown, axis)
    with np.errstate(all="ignore"):
        v = flushed(x.v, x.dtype)
        if kind == "sum":
            sums = np.cumsum(v, axis)
            # one after the other: each partial sum is rounded
            serial = limits(aval.dtype).unit * np.cumsum(magnitude_of(sums), axis)
            found = summed(sums, np.cumsum(magnitude_of(v), axis),
                           np.cumsum(e, axis), count, aval.dtype, bad)
            found = Shade(found.dtype, found.v, np.where(
                found.e > 0, np.fmax(found.e, serial + np.cumsum(e, axis)), found.e))
            # the first one of a sum is moved, or added to zero
            return _alone(found, np.cumsum(x.v, axis))
        if kind == "prod":
            size = np.abs(v).astype(np.float64)
            logs = np.where(size > 0, np.log2(size), 0)
            at = limits(aval.dtype)
            wild = (np.cumsum(np.fmax(logs, 0), axis) >= np.log2(float(at.largest)) - 1) | (
                np.cumsum(np.fmin(logs, 0), axis) <= np.log2(float(at.least)) + 1)
            relative = np.where(size > 0, e / size, np.where(e > 0, np.inf, 0))
            off = np.expm1(np.cumsum(np.log1p(relative), axis)) + 2 * count * at.unit
            numbers = ranged(np.cumprod(v, axis), aval.dtype)
            bound = np.where(numbers == 0, 0, np.abs(numbers).astype(np.float64) * off)
            bound = np.where(np.isnan(bound), 0, bound)
            bound = np.where(wild | np.isinf(off), np.inf, bound)
            bound = np.where(~np.isfinite(numbers) & ~wild, 0, bound)
            if bad is not None:
                bound = np.where(bad, np.inf, bound)
            if aval.dtype in (np.complex64, np.complex128):
                bound = np.where(np.isfinite(numbers), bound, np.nan)
                return Shade(aval.dtype, numbers, bound)
            # the first one is moved
            first = (slice(None),) * axis + (slice(1),)
            raw = np.zeros(numbers.shape, numbers.dtype)
            raw[first] = x.v[first]
            small = (raw != 0) & (np.abs(raw) < at.least)
            return Shade(aval.dtype, np.where(small, raw, numbers),
                         np.where(small, np.abs(raw).astype(np.float64), bound))
        if kind == "logsumexp":
            top = np.maximum.accumulate(np.where(np.isnan(v), -np.inf, v), axis)
            numbers = np.logaddexp.accumulate(v, axis)
            bound = np.maximum.accumulate(e, axis) + unit_of(aval.dtype) * (
                4 * FUNCTION * (1 + np.abs(numbers) + np.abs(top)) + 2 * folded(count) + 2 * count
            ).astype(np.float64)
            bound = np.where(np.isfinite(numbers), bound, 0)
            if bad is not None:
                bound = np.where(bad, np.inf, bound)
            return Shade(aval.dtype, numbers, bound)
        f = accumulate[kind]
        numbers = _or_subnormal(
            f.accumulate(x.v, axis), np.maximum.accumulate(subnormal(x), axis))
        bound = np.maximum.accumulate(e, axis)
        at = limits(aval.dtype)
        small = (np.abs(numbers) < at.least)
        bound = np.where(small, np.fmax(bound, float(at.least if at.flushes else at.tiny)), bound)
        bound = np.where(np.isnan(numbers), 0, bound)
        if bad is not None:
            bound = np.where(bad, np.inf, bound)
        return Shade(aval.dtype, numbers, bound)


def _sort(p: Any, xs: list[Shade], aval: Any, step: Any) -> list[Shade]:
    axis, keys = p["dimension"], p["num_keys"]
    columns = []
    for x in xs[:keys]:
        v = x.v
        if x.dtype.kind == "c":
            columns += [v.real, v.imag]
            continue
        if is_inexact(x.dtype):
            v = flushed(v, x.dtype)
            v = np.where(v == 0, 0 * np.abs(v), v)
            # NaN come last, as one
            columns += [np.isnan(v), np.where(np.isnan(v), 0, v)]
        else:
            columns.append(v)
    order = np.lexsort(columns[::-1], axis)
    moved = [x.moved(lambda a: np.take_along_axis(a, order, axis)) for x in xs]
    if all(x.is_exact for x in xs[:keys]) and (p["is_stable"] or len(xs) == 1):
        return moved
    first = moved[0]
    extent = first.shape[axis]
    low = first.moved(lambda a: np.take(a, range(extent - 1), axis))
    high = first.moved(lambda a: np.take(a, range(1, extent), axis))
    with np.errstate(all="ignore"):
        gaps = np.abs(high.v.astype(np.longdouble) - low.v.astype(np.longdouble)) if (
            first.dtype.kind != "c") else np.abs(high.v - low.v)
        ties = ~(gaps > low.e + high.e)
        if not p["is_stable"]:
            ties |= high.v == low.v
        unsettled = ties.any(axis, keepdims=True)
        widest = np.max(first.e, axis, keepdims=True, initial=0.0)
        out = [Shade(first.dtype, first.v, np.where(unsettled, np.maximum(
            widest if is_inexact(first.dtype) else np.where(widest > 0, np.inf, 0), 0), first.e))]
        if keys > 1 or first.dtype.kind == "c":
            out = [Shade(m.dtype, m.v, np.where(unsettled, np.inf, m.e)) for m in moved[:keys]]
        nans = is_inexact(first.dtype) and np.isnan(first.v).any() and not first.is_exact
        out = [Shade(o.dtype, o.v, np.inf) for o in out] if nans else out
        out += [Shade(m.dtype, m.v, np.where(unsettled, np.inf, m.e)) for m in moved[len(out):]]
    return out


def _top_k(p: Any, xs: list[Shade], aval: Any, step: Any) -> list[Shade]:
    (x,) = xs
    k = p["k"]
    axis = p.get("axis", x.v.ndim - 1) % x.v.ndim
    v = flushed(x.v, x.dtype) if is_inexact(x.dtype) else x.v
    if is_inexact(x.dtype) and (np.isnan(v).any() or not x.is_exact):
        return [Shade(o.aval.dtype, np.zeros(o.aval.shape, wide(o.aval.dtype)), np.inf)
                for o in step.outvars]
    order = np.flip(np.argsort(np.flip(v, axis), axis, kind="stable"), axis)
    order = v.shape[axis] - 1 - order
    order = np.take(order, range(k), axis)
    return [x.moved(lambda a: np.take_along_axis(a, order, axis)),
            Shade(step.outvars[1].aval.dtype, order.astype(step.outvars[1].aval.dtype))]


def _dot_general(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
    (left, right), (batch_left, batch_right) = p["dimension_numbers"]
    x, y = xs

    def arranged(a: Any, contracted: Any, batch: Any, first: bool) -> Any:
        free = [k for k in range(a.ndim) if k not in contracted and k not in batch]
        order = [*batch, *free, *contracted] if first else [*batch, *contracted, *free]
        a = a.transpose(order)
        shape = a.shape
        nb, nf = len(batch), len(free)
        batches = shape[:nb]
        frees = shape[nb:nb + nf] if first else shape[nb + len(contracted):]
        k = int(np.prod(shape[nb + nf:] if first else shape[nb:nb + len(contracted)]))
        f = int(np.prod(frees))
        return a.reshape((*batches, f, k) if first else (*batches, k, f)), batches, frees

    def product(a: Any, b: Any) -> Any:
        rows, batches, frees = arranged(a, left, batch_left, True)
        columns, _, others = arranged(b, right, batch_right, False)
        with np.errstate(all="ignore"):
            return np.matmul(rows, columns).reshape((*batches, *frees, *others))

    count = int(np.prod([x.shape[k] for k in left]))
    if not is_inexact(aval.dtype):
        v = product(x.v.astype(aval.dtype), y.v.astype(aval.dtype))
        e = None
        if not (x.is_exact and y.is_exact):
            e = np.where(product((x.e != 0) * 1.0, np.ones(y.shape)) + product(
                np.ones(x.shape), (y.e != 0) * 1.0) > 0, np.inf, 0.0)
        return Shade(aval.dtype, v.astype(aval.dtype), e)
    kind: Any = wide(aval.dtype)
    if aval.dtype.kind == "c" and count == 1:
        # no sum, but a product of two numbers
        rows, batches, frees = arranged(
            np.arange(x.v.size).reshape(x.shape), left, batch_left, True)
        columns, _, others = arranged(
            np.arange(y.v.size).reshape(y.shape), right, batch_right, False)
        made = elementwise.rule("mul", [x.moved(lambda v: v.reshape(-1)[rows]),
                                        y.moved(lambda v: v.reshape(-1)[columns])], {}, aval)
        assert made is not None
        return made.moved(lambda v: v.reshape((*batches, *frees, *others)))
    a, b = flushed(x.v, x.dtype).astype(kind), flushed(y.v, y.dtype).astype(kind)
    narrowed = False
    if kind in (np.longdouble, np.clongdouble) and a.size * max(1, b.size // max(1, count)) > LONG:
        kind, narrowed = np.dtype(np.float64 if kind == np.longdouble else np.complex128), True
        a, b = a.astype(kind), b.astype(kind)
    v = product(a, b)
    sizes = [magnitude_of(a), magnitude_of(b)]
    (ex, no_x), (ey, no_y) = finite_bounds(x), finite_bounds(y)
    magnitude = product(*sizes)
    error: Any = np.zeros(v.shape)
    if ex.any():
        error = error + product(ex, sizes[1] + ey)
    if ey.any():
        error = error + product(sizes[0], ey)
    unknown = None
    for bad, other, first in ((no_x, y, True), (no_y, x, False)):
        if bad is not None:
            ones = np.ones(other.shape)
            touched = product(bad * 1.0, ones) if first else product(ones, bad * 1.0)
            unknown = (touched > 0) | (False if unknown is None else unknown)
    if narrowed:
        error = error + 2.0**-52 * count * magnitude
    found = summed(v.astype(wide(aval.dtype)), magnitude, error, max(2, count) + 1, aval.dtype,
                   unknown)
    if not limits(aval.dtype).flushes:
        # a subnormal number is rounded by more than its own unit
        found = Shade(found.dtype, found.v, np.where(
            found.e > 0, found.e + float(limits(aval.dtype).tiny), found.e))
    # whether a zero is negative depends on where a sum starts
    zero = (found.v == 0) & (found.e == 0)
    bound = np.where(zero, float(limits(aval.dtype).tiny), found.e)
    if aval.dtype.kind == "c":
        # BLAS multiplies what is infinite by 1, whose other part is 0; a part of a sum may overflow
        with np.errstate(all="ignore"):
            large = [~np.isfinite(np.abs(z).astype(np.float64)) * 1.0 for z in (a, b)]
            met = product(large[0], np.ones(b.shape)) + product(np.ones(a.shape), large[1])
            bound = np.where((met > 0) | (2 * magnitude >= float(limits(aval.dtype).largest)),
                             np.inf, bound)
    return Shade(found.dtype, found.v, bound)


#: folds whose result is linear in one operand, or in each of two
_LINEAR: Final = {
    "conv_general_dilated": (0, 1), "reduce_window_sum": (0,), "scatter-add": (0, 2),
    "scatter_add": (0, 2), "select_and_scatter_add": (0,),
}  # fmt: skip


def scattered(f: Callable[..., Any], arrays: Sequence[Any], p: Any) -> Any:
    """A scatter of arrays of another dtype than the step's own."""
    return f(*arrays, p["dimension_numbers"], indices_are_sorted=p["indices_are_sorted"],
             unique_indices=p["unique_indices"], mode=p["mode"])


def _linear(name: str) -> Callable[..., Shade]:
    def apply(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
        import jax

        params = dict(p)
        if "preferred_element_type" in params:
            params["preferred_element_type"] = np.dtype(np.float64)

        def run(given: list[Any]) -> Any:
            with jax.enable_x64(True):
                arrays = [jax.numpy.asarray(g) for g in given]
                if name.startswith("scatter"):
                    return np.asarray(scattered(jax.lax.scatter_add, arrays, params))
                return np.asarray(step.primitive.bind(*arrays, **params))

        places = [x for k, x in enumerate(xs) if k not in _LINEAR[name]]
        if any(not x.is_exact for x in places):
            return Shade(aval.dtype, np.zeros(aval.shape, wide(aval.dtype)), np.inf)
        if not is_inexact(aval.dtype):
            v = run([x.v for x in xs])
            return Shade(aval.dtype, v, np.inf if any(not x.is_exact for x in xs) else None)
        if np.dtype(aval.dtype).kind == "c":
            return Shade(aval.dtype, np.zeros(aval.shape, wide(aval.dtype)), np.nan)
        moving = _LINEAR[name]
        numbers = [flushed(x.v, x.dtype).astype(np.float64) if k in moving else x.v
                   for k, x in enumerate(xs)]
        plain = all(np.isfinite(numbers[k]).all() for k in moving) and all(
            np.isfinite(xs[k].e).all() for k in moving)
        v = run(numbers)
        if not plain:
            return Shade(aval.dtype, v.astype(wide(aval.dtype)), np.inf)
        sizes = [np.abs(n) if k in moving else n for k, n in enumerate(numbers)]
        magnitude = run(sizes)
        error: Any = np.zeros(v.shape)
        if name == "conv_general_dilated":
            if xs[0].e.any():
                error = error + run([xs[0].e, sizes[1] + xs[1].e])
            if xs[1].e.any():
                error = error + run([sizes[0], xs[1].e])
        elif any(xs[k].e.any() for k in moving):
            error = run([xs[k].e if k in moving else n for k, n in enumerate(numbers)])
        count = max(2, xs[moving[-1]].v.size if name != "reduce_window_sum" else int(
            np.prod(p["window_dimensions"])))
        if wide(aval.dtype) == np.longdouble:
            error = error + 2.0**-53 * folded(count) * magnitude
        found = summed(v.astype(wide(aval.dtype)), magnitude, error, count, aval.dtype)
        zero = (found.v == 0) & (found.e == 0)
        return Shade(found.dtype, found.v, np.where(zero, float(limits(aval.dtype).tiny), found.e))

    return apply


def _fft(p: Any, xs: list[Shade], aval: Any, step: Any) -> Shade:
    import scipy.fft

    (x,) = xs
    lengths = tuple(p["fft_lengths"])
    axes = tuple(range(x.v.ndim - len(lengths), x.v.ndim))
    kind = p["fft_type"].name
    function = {"FFT": scipy.fft.fftn, "IFFT": scipy.fft.ifftn, "RFFT": scipy.fft.rfftn,
                "IRFFT": scipy.fft.irfftn}[kind]
    if not (np.isfinite(x.v).all() and np.isfinite(x.e).all()):
        return Shade(aval.dtype, np.zeros(aval.shape, wide(aval.dtype)), np.inf)
    v = function(flushed(x.v, x.dtype), s=lengths, axes=axes)
    count = int(np.prod(lengths))
    scale = 1 / count if "I" == kind[0] else 1.0
    twice = 2 if kind == "IRFFT" else 1
    size = twice * scale * magnitude_of(x.v).sum(axes, keepdims=True)
    error = twice * scale * np.asarray(x.e).sum(axes, keepdims=True)
    at = limits(part(aval.dtype))
    e = error + 2 * at.unit * (8 + 4 * np.log2(max(2, count))) * size
    return Shade(aval.dtype, v.astype(wide(aval.dtype)), np.broadcast_to(e, aval.shape))


_FOLDS: Final[dict[str, Callable[..., Any]]] = {
    "reduce_sum": _reduce_sum, "reduce_max": _reduce_extreme(True),
    "reduce_min": _reduce_extreme(False), "reduce_prod": _reduce_prod,
    "reduce_and": _reduce_truth(_bitwise(np.bitwise_and), False),
    "reduce_or": _reduce_truth(_bitwise(np.bitwise_or), True),
    "reduce_xor": _reduce_truth(_bitwise(np.bitwise_xor), None),
    "argmax": _arg(True), "argmin": _arg(False),
    **{f"cum{kind}": _cumulative(kind) for kind in ("sum", "prod", "max", "min", "logsumexp")},
    "sort": _sort, "top_k": _top_k, "dot_general": _dot_general, "fft": _fft,
    **{name: _linear(name) for name in _LINEAR},
}  # fmt: skip
