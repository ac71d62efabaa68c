"""Cases of reductions and cumulative functions, with NaN and without."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import FLOATS, NUMERIC, REALS, Case, case

SMALL = ["int32", "float16", "complex128"]


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _holed(m: Any, x: Any) -> Any:
    """The array with NaN where it is large, and a whole column of NaN."""
    y = m.where(x.real > 2, m.nan, x).astype(x.dtype)
    y[..., 0] = m.nan
    return y


def _mask(m: Any, x: Any) -> Any:
    return m.arange(x.shape[-1]) % 2 == 0


CASES: list[Case] = [
    case(_n("sum", "prod", "mean"), lambda m, x: [
        r for f in (m.sum, m.prod, m.mean) for r in (
            f(x), f(x, 0), f(x, axis=-1, keepdims=True), f(x, axis=(0, 1)), f(x, 0, "f4"),
            f(x, axis=1, where=_mask(m, x)), f(x, axis=()))],
         shapes=[((2, 3),)], dtypes=["bool", "uint8", "float16", "complex64"], scale=4),
    case(_n("sum", "prod"), lambda m, x: (
        m.sum(x, initial=3), m.prod(x, axis=0, initial=2), m.sum(x[:0]), m.prod(x[:0], axis=0),
        m.sum(x, dtype="c16"), m.sum(x, out=m.zeros(())), m.sum(x.T, 0, None, m.zeros(2))),
         shapes=[((2, 3),)], dtypes=REALS[:2]),
    case("numpy.sum", lambda m, x: m.sum(x, axis=2), shapes=[((2, 3),)]),
    case("numpy.sum", lambda m, x: (m.sum(x, axis=0), m.sum(x, axis=-1)), shapes=[((),)]),
    case("numpy.sum", lambda m, x: m.sum(x, axis=(0, 0)), shapes=[((2, 3),)]),
    case("numpy.mean", lambda m, x: m.mean(x, axis=0, out=m.zeros(3)), shapes=[((2, 3),)],
         dtypes=REALS),
    case(_n("std", "var"), lambda m, x: [
        r for f in (m.std, m.var) for r in (
            f(x), f(x, 0, ddof=1), f(x, 1, keepdims=True), f(x, axis=(0, 1), correction=0.5),
            f(x, 1, where=_mask(m, x)), f(x, 1, mean=m.mean(x, 1, keepdims=True)),
            f(x, 0, dtype="c16" if x.dtype.kind == "c" else "f4"))],
         shapes=[((3, 4),)], dtypes=SMALL, scale=16),
    case(_n("max", "min", "amax", "amin", "ptp"), lambda m, x: (
        m.max(x), m.min(x), m.amax(x, 0), m.amin(x, -1, keepdims=True), m.max(x, (0, 1)),
        m.min(x, 0, initial=0), m.max(x, 1, where=_mask(m, x), initial=-1), m.ptp(x, 0), m.ptp(x)),
         shapes=[((2, 3),)], dtypes=["int32", "float16", "complex64"], exact=True),
    case(_n("max",), lambda m, x: (m.max(_holed(m, x), 0), m.min(_holed(m, x), 0)),
         shapes=[((3, 4),)], dtypes=FLOATS),
    case("numpy.max", lambda m, x: m.max(x), shapes=[((0,),), ((2, 0),)]),
    case("numpy.max", lambda m, x: m.max(x, axis=0), shapes=[((2, 0),)]),
    case("numpy.max", lambda m, x: m.max(x, where=x > 0), shapes=[((2,),)]),
    case(_n("argmax", "argmin"), lambda m, x: [
        r for f in (m.argmax, m.argmin) for r in (
            f(x), f(x, 0), f(x, axis=-1, keepdims=True), f(x.T))],
         shapes=[((3, 4),)], dtypes=["bool", "int32", "float16", "complex64"]),
    case("numpy.argmax", lambda m, x: m.argmax(_holed(m, x), 1), shapes=[((3, 4),)],
         dtypes=["float32", "complex128"]),
    case("numpy.argmax", lambda m, x: m.argmax(x), shapes=[((0,),)]),
    case("numpy.argmax", lambda m, x: (m.argmax(x), m.argmin(x, 0)), shapes=[((),)]),
    case(_n("all", "any", "count_nonzero"), lambda m, x: (
        m.all(x), m.any(x), m.all(x, 0), m.any(x, axis=-1, keepdims=True), m.all(x, (0, 1)),
        m.any(x, 1, where=_mask(m, x)), m.count_nonzero(x), m.count_nonzero(x, 0),
        m.count_nonzero(x, axis=1, keepdims=True), m.all(x[:0]), m.any(x[:0])),
         shapes=[((2, 3),)], dtypes=["bool", "float64", "complex128"], low=0, high=2),
    case(_n("cumsum", "cumprod", "cumulative_sum", "cumulative_prod"), lambda m, x: (
        m.cumsum(x), m.cumsum(x, 0), m.cumprod(x, axis=-1), m.cumsum(x, 1, dtype="f8"),
        m.cumulative_sum(x, axis=0), m.cumulative_prod(x, axis=1, include_initial=True),
        m.cumulative_sum(x.ravel(), include_initial=True)),
         shapes=[((2, 3),)], dtypes=["bool", "uint8", "complex64"], scale=4),
    case("numpy.cumulative_sum", lambda m, x: m.cumulative_sum(x), shapes=[((2, 3),)]),
    case("numpy.cumsum", lambda m, x: m.cumsum(x), shapes=[((),), ((0,),)]),
    case(_n("nansum", "nanprod", "nancumsum", "nancumprod", "nanmean"), lambda m, x: [
        r for f in (m.nansum, m.nanprod, m.nanmean) for r in (
            f(_holed(m, x)), f(_holed(m, x), 0), f(_holed(m, x), axis=1, keepdims=True),
            f(_holed(m, x), 1, where=_mask(m, x)))] + [
        m.nancumsum(_holed(m, x), 0), m.nancumprod(_holed(m, x)), m.nansum(x, initial=2)],
         shapes=[((3, 4),)], dtypes=["float32", "complex128"], scale=8),
    case(_n("nansum", "nanmean", "nanmax", "nanvar", "nanmedian", "nancumsum"), lambda m, x: (
        m.nansum(x, 0), m.nanmean(x), m.nanmax(x, 1), m.nanvar(x), m.nanmedian(x, 0),
        m.nancumsum(x)), shapes=[((2, 3),)], dtypes=["bool", "int32"]),
    case(_n("nanmax", "nanmin"), lambda m, x: [
        r for f in (m.nanmax, m.nanmin) for r in (
            f(_holed(m, x)), f(_holed(m, x), 0), f(_holed(m, x), axis=1, keepdims=True),
            f(_holed(m, x), 1, where=_mask(m, x), initial=0))],
         shapes=[((3, 4),)], dtypes=FLOATS),
    case(_n("nanargmax", "nanargmin"), lambda m, x: (
        m.nanargmax(_holed(m, x)), m.nanargmin(_holed(m, x), 1),
        m.nanargmax(_holed(m, x), axis=1, keepdims=True)), shapes=[((3, 4),)],
         dtypes=["float32", "complex128"]),
    case(_n("nanstd", "nanvar"), lambda m, x: [
        r for f in (m.nanstd, m.nanvar) for r in (
            f(_holed(m, x)), f(_holed(m, x), 0, ddof=1), f(_holed(m, x), axis=1, keepdims=True),
            f(_holed(m, x), 1, correction=0.5), f(_holed(m, x), 1, where=_mask(m, x)))],
         shapes=[((3, 4),)], dtypes=["float32", "complex128"], scale=32),
    case(_n("median", "nanmedian"), lambda m, x: (
        m.median(x), m.median(x, 0), m.median(x, axis=(0, 1), keepdims=True), m.median(x, -1),
        m.nanmedian(x, 0), m.nanmedian(x, 1, keepdims=True)),
         shapes=[((3, 4),)], dtypes=["int32", "float16"]),
    case(_n("median", "nanmedian"), lambda m, x: (
        m.median(_holed(m, x), 0), m.median(_holed(m, x)), m.nanmedian(_holed(m, x), 0),
        m.nanmedian(_holed(m, x)), m.median(x[:, :0]), m.nanmedian(x[:0], 0)),
         shapes=[((3, 4),)], dtypes=["float32", "complex64"]),
    case(_n("sum", "mean", "max", "all"), lambda m, x: (
        m.sum(x, axis=(0, 2)), m.mean(x, axis=(-1, 0)), m.max(x, axis=(1, 2), keepdims=True),
        m.all(x, axis=(0, 2))), shapes=[((2, 3, 2),)], dtypes=NUMERIC[:2], scale=4),
]  # fmt: skip
