"""Cases of sorting, searching, sets and counting."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import FLOATS, Case, case

FEW = ["bool", "int32", "float64"]
SHAPE = "how many there are decides on the shape"


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _whole(x: Any) -> Any:
    """Small whole numbers, so that some are equal."""
    return (x.real // 2 + (x.imag // 4) * 1j if x.dtype.kind == "c" else x // 2).astype(x.dtype)


def _partitioned(m: Any, x: Any, k: int) -> Any:
    """What a partition promises, whatever the order is inside of its parts."""
    p, i = m.partition(x, k, axis=1), m.argpartition(x, k, axis=1)
    q = m.take_along_axis(x, i, 1)
    return [(m.sort(y[:, :k], 1), y[:, k], m.sort(y[:, k + 1:], 1)) for y in (p, q)]


CASES: list[Case] = [
    case(_n("sort", "argsort"), lambda m, x: (
        m.sort(x), m.sort(x, 0), m.sort(x, None), m.sort(x, kind="stable"),
        m.argsort(_whole(x), kind="stable"), m.argsort(_whole(x), 0, stable=True),
        m.argsort(_whole(x), None, kind="mergesort"), m.sort(x, kind="heapsort")),
         shapes=[((3, 4),)], dtypes=["uint8", "float16", "complex64"]),
    case(_n("sort",), lambda m, x: (m.sort(m.where(x > 1, m.nan, x)), m.sort(x[:0]),
         m.argsort(m.where(x > 1, m.nan, x), kind="stable")), shapes=[((7,),)], dtypes=FLOATS),
    case("numpy.sort", lambda m, x: m.sort(x), shapes=[((),)]),
    case("numpy.sort", lambda m, x: m.sort(x, kind="none"), shapes=[((2,),)]),
    case("numpy.sort", lambda m, x: m.sort(x, order="a"), shapes=[((2,),)]),
    case(_n("partition", "argpartition"), lambda m, x: _partitioned(m, x, 2), shapes=[((2, 5),)],
         dtypes=["int32", "float64"]),
    case("numpy.partition", lambda m, x: m.partition(x, 7), shapes=[((3,),)]),
    case(_n("sort_complex", "lexsort"), lambda m, x, y: (
        m.sort_complex(x), m.lexsort((x, _whole(y))), m.lexsort(m.stack([x, y])),
        m.lexsort((x[None], y[None]), axis=0)), shapes=[((5,), (5,))],
         dtypes=["int8", "float32", "complex64"]),
    case(_n("searchsorted", "digitize"), lambda m, x, y: (
        m.searchsorted(m.sort(x), y), m.searchsorted(m.sort(x), y, "right"),
        m.searchsorted(x, y, sorter=m.argsort(x, kind="stable")), m.searchsorted(m.sort(x), 0),
        m.digitize(y, m.sort(x)), m.digitize(y, m.sort(x), right=True),
        m.digitize(y, m.sort(x)[::-1]), m.digitize(y, m.sort(x)[::-1], True)),
         shapes=[((5,), (2, 3))], dtypes=["uint8", ("int32", "float64")],
         reads="the order of the bins"),
    case("numpy.searchsorted", lambda m, x: m.searchsorted(m.sort(x), m.array([0, m.nan, m.inf])),
         shapes=[((4,),)]),
    case("numpy.searchsorted", lambda m, x: m.searchsorted(x, 1, "middle"), shapes=[((4,),)]),
    case(_n("nonzero", "flatnonzero", "argwhere", "where"), lambda m, x: (
        m.nonzero(x), m.flatnonzero(x), m.argwhere(x), m.where(x), m.argwhere(x * 0)),
         shapes=[((2, 3),)], dtypes=FEW, low=-1, high=2, reads=SHAPE),
    case("numpy.nonzero", lambda m, x: m.nonzero(x), shapes=[((),)], reads=SHAPE),
    case(_n("extract", "compress"), lambda m, x: (
        m.extract(x > 0, x), m.compress([True, False, True], x, axis=0),
        m.compress(x[:, 0] > 0, x, 0), m.compress([0, 1], x), m.extract([[1, 0]], x)),
         shapes=[((3, 2),)], dtypes=["int32", "float64"], reads=SHAPE),
    case("numpy.compress", lambda m, x: m.compress([1, 0, 0, 1], x, 0), shapes=[((2,),)]),
    case("numpy.unique", lambda m, x: (
        m.unique(_whole(x)), m.unique(_whole(x), True, True, True), m.unique(x[:0]),
        m.unique(_whole(x), return_counts=True, axis=0), m.unique(_whole(x), axis=1),
        m.unique(m.concatenate([x, x]), True, True, axis=0)),
         shapes=[((3, 4),)], dtypes=["bool", "float64"], reads=SHAPE),
    case("numpy.unique", lambda m, x: (
        m.unique(m.where(x > 0, m.nan, x)), m.unique(m.where(x > 0, m.nan, x), equal_nan=False),
        m.unique(m.where(x > 0, m.nan, x), True, True, True)), shapes=[((6,),)], reads=SHAPE),
    case(_n("unique_all", "unique_counts", "unique_inverse", "unique_values"), lambda m, x: (
        *m.unique_all(_whole(x)), *m.unique_counts(_whole(x)), *m.unique_inverse(_whole(x)),
        m.sort(m.unique_values(_whole(x)))), shapes=[((2, 3),)], dtypes=["int32", "float64"],
         reads=SHAPE),
    case(_n("intersect1d", "union1d", "setdiff1d", "setxor1d", "isin"), lambda m, x, y: (
        m.intersect1d(_whole(x), _whole(y)), m.union1d(_whole(x), _whole(y)),
        m.setdiff1d(_whole(x), _whole(y)), m.setxor1d(_whole(x), _whole(y)),
        m.isin(_whole(x), _whole(y)), m.isin(_whole(x), _whole(y), invert=True),
        m.intersect1d(_whole(x), _whole(y), return_indices=True), m.isin(x, [])),
         shapes=[((6,), (4,))], dtypes=["complex64", ("int32", "float64")],
         reads=SHAPE),
    case(_n("setdiff1d", "intersect1d"), lambda m: (
        m.setdiff1d(m.array([5, 1, 4]), m.array([4, 7]), assume_unique=True),
        m.intersect1d(m.array([5, 1, 4]), m.array([4, 5]), True, return_indices=True)),
         reads=SHAPE),
    case("numpy.isin", lambda m, x: (m.isin(x, [1, 2], kind="table"), m.isin(
         x, [1, 2], kind="sort")), shapes=[((5,),)], dtypes=["int32", "float64"]),
    case("numpy.bincount", lambda m, x: (
        m.bincount(x), m.bincount(x, minlength=8), m.bincount(x, m.arange(6) * 0.5)),
         shapes=[((6,),)], dtypes=["uint8", "int64"], low=0, high=5, reads=SHAPE),
    case("numpy.bincount", lambda m, x: m.bincount(x), shapes=[((3,),)],
         dtypes=["float64"], reads=SHAPE),
    case("numpy.bincount", lambda m: m.bincount(m.array([1, -1])), reads=SHAPE),
]  # fmt: skip
