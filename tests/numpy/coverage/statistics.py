"""Cases of statistics, histograms, differences, interpolation and element-wise helpers."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import FLOATS, Case, case

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
)  # fmt: skip
RULES = ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt")


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _holed(m: Any, x: Any) -> Any:
    y = m.where(x > 2, m.nan, x).astype(x.dtype)
    y[..., 0] = m.nan
    return y


CASES: list[Case] = [
    case(_n("quantile", "percentile"), lambda m, x: [
        m.quantile(x, [0, 0.3, 1], axis=0, method=k) for k in METHODS] + [
        m.percentile(x, 40, method=k) for k in METHODS],
         shapes=[((4, 3),)], dtypes=["int32", "float32"]),
    case(_n("quantile", "percentile", "nanquantile", "nanpercentile"), lambda m, x: (
        m.quantile(x, 0.5), m.quantile(x, [[0.1], [0.9]], axis=(0, 1), keepdims=True),
        m.quantile(x, 1), m.quantile(x, m.array([0.25])), m.percentile(x, [25, 75], axis=1),
        m.nanquantile(_holed(m, x), 0.3, axis=0), m.nanpercentile(_holed(m, x), [10, 60]),
        m.quantile(_holed(m, x), 0.3, axis=1), m.quantile(x, 0.2, out=m.zeros((), x.dtype)),
        m.quantile(x, [0.2, 0.7], weights=m.abs(x) + 1, method="inverted_cdf"),
        m.nanquantile(_holed(m, x), 0.6, axis=1, weights=m.abs(x) + 1, method="inverted_cdf")),
         shapes=[((3, 4),)], dtypes=FLOATS),
    case("numpy.quantile", lambda m, x: m.quantile(x, 1.5), shapes=[((3,),)]),
    case("numpy.quantile", lambda m, x: m.quantile(x, 0.5, method="none"), shapes=[((3,),)]),
    case("numpy.quantile", lambda m, x: m.quantile(x, 0.5, weights=x), shapes=[((3,),)]),
    case("numpy.quantile", lambda m, x: m.quantile(x, 0.5), shapes=[((3,),)], dtypes=["complex64"]),
    case("numpy.percentile", lambda m, x: m.percentile(x, -1), shapes=[((3,),)]),
    case("numpy.average", lambda m, x, w: (
        m.average(x), m.average(x, 0), m.average(x, 1, keepdims=True), m.average(x, weights=w + 5),
        m.average(x, axis=1, weights=w[0] + 5), m.average(x, 0, w + 5, returned=True),
        m.average(x, 0, returned=True), m.average(x, (0, 1), w + 5)),
         shapes=[((2, 3), (2, 3))], dtypes=["int64", "complex128"], scale=8),
    case("numpy.average", lambda m, x: m.average(x, weights=[1, 2]), shapes=[((2, 3),)]),
    case(_n("cov", "corrcoef"), lambda m, x, y: (
        m.cov(x), m.cov(x, y), m.cov(x, rowvar=False), m.cov(x, bias=True), m.cov(x, ddof=2),
        m.cov(x, fweights=[1, 2, 1, 3]), m.cov(x, aweights=[0.5, 1, 2, 1]), m.cov(x[0]),
        m.cov(x, fweights=[1, 2, 1, 3], aweights=[0.5, 1, 2, 1]), m.corrcoef(x), m.corrcoef(x[0]),
        m.corrcoef(x, y, rowvar=False), m.cov(x[:1]), m.cov(x, dtype="c16")),
         shapes=[((3, 4), (3, 4))], dtypes=["float32", "complex128"], scale=64),
    case(_n("histogram", "histogram_bin_edges"), lambda m, x: (
        m.histogram(x), m.histogram(x, 4, range=(-2, 3)), m.histogram(x, [-3, 0, 0.5, 2]),
        m.histogram(x, 3, density=True), m.histogram(x, 3, weights=m.abs(x)),
        m.histogram(x, [-1, 0, 3], weights=m.arange(9.0), density=True), m.histogram(x[:0]),
        m.histogram_bin_edges(x, 5), m.histogram(x * 0, 2)),
         shapes=[((9,),)], dtypes=["int32", "float32"]),
    case(_n("histogram", "histogram_bin_edges"), lambda m, x: [
        m.histogram_bin_edges(x, rule) for rule in RULES] + [m.histogram(x, "auto", range=(-1, 2))],
         shapes=[((20,),)], dtypes=["int32", "float64"], reads="the number of bins is a shape"),
    case("numpy.histogram", lambda m, x: m.histogram(x, 0), shapes=[((3,),)]),
    case("numpy.histogram", lambda m, x: m.histogram(x, [3, 2]), shapes=[((3,),)]),
    case("numpy.histogram", lambda m, x: m.histogram(x, "none"), shapes=[((3,),)]),
    case("numpy.histogram", lambda m, x: m.histogram(x, range=(1, 0)), shapes=[((3,),)]),
    case(_n("histogramdd", "histogram2d"), lambda m, x: (
        m.histogramdd(x, 3), m.histogramdd(x, (2, [-1, 0, 1]), density=True),
        m.histogramdd(x, 2, range=[(-1, 1), None], weights=m.arange(8)),
        m.histogram2d(x[:, 0], x[:, 1], 3), m.histogram2d(x[:, 0], x[:, 1], [-2, 0, 1, 2]),
        m.histogram2d(x[:, 0], x[:, 1], [2, [-1, 0, 3]], density=True)),
         shapes=[((8, 2),)], dtypes=["int32", "float32"]),
    case(_n("diff", "ediff1d", "trapezoid"), lambda m, x: (
        m.diff(x), m.diff(x, 2, axis=0), m.diff(x, prepend=0), m.diff(x, append=x[:, :1]),
        m.diff(x, n=0), m.ediff1d(x), m.ediff1d(x, to_begin=x[0], to_end=[7]), m.trapezoid(x),
        m.trapezoid(x, dx=0.5, axis=0), m.trapezoid(x[0], dx=[0.5, 2.0, 1.0]),
        m.trapezoid(x, x=[0, 1, 3, 4]), m.diff(x, 9)),
         shapes=[((3, 4),)], dtypes=["uint8", "float32", "complex128"]),
    case("numpy.diff", lambda m, x: m.diff(x), shapes=[((4,),)], dtypes=["bool"]),
    case("numpy.diff", lambda m, x: m.diff(x), shapes=[((),)]),
    case("numpy.gradient", lambda m, x: (
        m.gradient(x), m.gradient(x, 2.0), m.gradient(x, 1, 2), m.gradient(x, axis=1),
        m.gradient(x, edge_order=2), m.gradient(x, [0, 1, 3], axis=0, edge_order=2),
        m.gradient(x, [0.0, 1, 3], 0.5), m.gradient(x, m.array([0, 1, 3, 4.5]), axis=-1)),
         shapes=[((3, 4),)], dtypes=["int32", "complex128"], scale=8),
    case("numpy.gradient", lambda m, x: m.gradient(x), shapes=[((1,),)]),
    case("numpy.gradient", lambda m, x: m.gradient(x, 1, 2), shapes=[((4,),)]),
    case(_n("interp", "unwrap"), lambda m, x, y: (
        m.interp(x, m.sort(y), y), m.interp(x, [0, 1, 2], [3, 5, 4], left=-1, right=9),
        m.interp(x, y, m.arange(5), period=3), m.interp(0.5, [0, 1], [1j, 2]),
        m.unwrap(y), m.unwrap(x, axis=0), m.unwrap(y, discont=4), m.unwrap(y, period=3),
        m.interp([-1, 0.5, 9], [0.0], [7.0])),
         shapes=[((2, 3), (5,))], dtypes=["int64", "float64"], scale=8),
    case("numpy.interp", lambda m: m.interp(1, [], [])),
    case(_n("convolve", "correlate"), lambda m, x, y: [
        f(a, b, mode) for f in (m.convolve, m.correlate) for mode in ("full", "same", "valid")
        for a, b in ((x, y), (y, x))],
         shapes=[((5,), (4,))], dtypes=["int32", "float32", "complex128"], scale=16),
    case("numpy.convolve", lambda m, x: m.convolve(x, []), shapes=[((3,),)]),
    case("numpy.convolve", lambda m, x: m.convolve(x, x), shapes=[((2, 2),)]),
    case(_n("round", "around", "fix", "nan_to_num", "angle"), lambda m, x: (
        m.round(x), m.round(x, 1), m.around(x, -1), m.fix(x.real), m.nan_to_num(x / 0),
        m.nan_to_num(x / 0, nan=1, posinf=2, neginf=-3), m.angle(x), m.angle(x, deg=True)),
         shapes=[((6,),)], dtypes=["int32", "float32", "complex128"], scale=8),
    case("numpy.round", lambda m, x: (m.round(x), m.round(x, 2), m.round(x, -1)),
         shapes=[((3,),)], dtypes=["bool", "uint8", "float16"]),
    case(_n("real", "imag", "real_if_close", "iscomplex", "isreal", "iscomplexobj", "isrealobj"),
         lambda m, x: (
             m.real(x), m.imag(x), m.real_if_close(x), m.real_if_close(x + 1e-20j), m.iscomplex(x),
             m.isreal(x), m.iscomplexobj(x), m.isrealobj(x), m.real(3 + 1j), m.isreal([1, 1j])),
         shapes=[((3,),)], dtypes=["int32", "float32", "complex64"],
         reads="real_if_close decides on the dtype"),
    case(_n("isposinf", "isneginf", "isclose", "allclose", "array_equal", "array_equiv"),
         lambda m, x: (
             m.isposinf(x / 0), m.isneginf(x / 0), m.isclose(x, x + 1e-9), m.isclose(x, 1, 1),
             m.isclose(m.array([m.nan, m.inf]), m.array([m.nan, m.inf]), equal_nan=True),
             m.allclose(x, x * (1 + 1e-7)), m.array_equal(x, x), m.array_equal(x, x[:2]),
             m.array_equal([1, m.nan], [1, m.nan], equal_nan=True), m.array_equiv(x, x[None]),
             m.array_equiv(x, 3)),
         shapes=[((3,),)], dtypes=["int32", "float64"], reads="the answer is a bool"),
    case("numpy.isposinf", lambda m, x: m.isposinf(x), shapes=[((2,),)], dtypes=["complex64"]),
]  # fmt: skip
