"""Sets: distinct elements, and what is in one array and not in another.

Everything is sorted and compared on the device; of the results' shapes, which depend on data,
the counts are read, and the evaluation's record says for which function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from .counting import flat_positions
from .joining import concatenate
from .manipulation import _array, moveaxis
from .sorting import argsort, searchsorted, sort, take, take_along_axis

record = lazyloom.record


class UniqueAllResult(NamedTuple):
    """What :func:`unique_all` returns, as ``numpy.unique_all``."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCountsResult(NamedTuple):
    """What :func:`unique_counts` returns, as ``numpy.unique_counts``."""

    values: ndarray
    counts: ndarray


class UniqueInverseResult(NamedTuple):
    """What :func:`unique_inverse` returns, as ``numpy.unique_inverse``."""

    values: ndarray
    inverse_indices: ndarray


def _flat(a: Any) -> ndarray:
    return _array(a).reshape(-1)


def _where(x: ndarray, mask: ndarray, function: str) -> ndarray:
    """The elements of a 1-d array where a mask holds; reads how many."""
    return take(x, _positions(mask, function))  # type: ignore[no-any-return]


def _positions(mask: ndarray, function: str) -> ndarray:
    return ndarray.from_value(flat_positions(mask.value, function))


def _full(shape: tuple[int, ...], number: Any, d: Any) -> ndarray:
    return ndarray.from_value(record("full", (dt.scalar(number, d),), {"shape": shape}))


def _starts(ordered: ndarray, equal_nan: bool) -> ndarray:
    """Where a sorted array (along its first axis) has another element than before."""
    after, before = ordered[1:], ordered[:-1]
    new = after != before
    if equal_nan and ordered.dtype.kind in "fc":
        isnan = TABLE["isnan"]
        new = new & ~(isnan(after) & isnan(before))
    return concatenate([_full((1, *ordered.shape[1:]), True, dt.BOOL), new])


def _put(order: ndarray, values: ndarray) -> ndarray:
    """An array that has ``values`` at the positions ``order``, along the first axis."""
    zeros = _full(values.shape, 0, dt.INT64)
    return wrap(record("scatter_along_axis", (zeros.value, order.value, values.value),  # type: ignore[no-any-return]
                       {"axis": 0, "mode": "set"}))  # fmt: skip


def _ranks(columns: ndarray) -> ndarray:
    """For each column the number of distinct smaller elements; NaN are distinct."""
    order = argsort(columns, 0, stable=True)
    ordered = take_along_axis(columns, order, 0)
    return _put(order, _starts(ordered, False).astype(onp.int64).cumsum(0) - 1)


def _row_ranks(rows: ndarray) -> ndarray:
    """The number of distinct smaller rows for each row, in lexicographic order.

    Neighbouring columns are ranked together, so the number of ops grows with the logarithm of
    the number of columns.
    """
    n, k = rows.shape
    if not k:
        return _full((n,), 0, dt.INT64)
    ranks = _ranks(rows)
    while k > 1:
        if k % 2:
            ranks = concatenate([_full((n, 1), 0, dt.INT64), ranks], 1)
        ranks = _ranks(ranks[:, 0::2] * n + ranks[:, 1::2])
        k = ranks.shape[1]
    return ranks[:, 0]  # type: ignore[no-any-return]


def _unique(x: ndarray, equal_nan: bool, function: str, index: bool, inverse: bool,
            counts: bool) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Distinct elements of a 1-d array, first positions, inverse and counts where wanted."""
    n = x.size
    if n == 0:
        nothing = _full((0,), 0, dt.INT64)
        return x.copy(), nothing, nothing, nothing
    order: Any = None
    if index or inverse:
        order = argsort(x, 0, stable=True)
        ordered = take(x, order)
    else:
        ordered = sort(x)
    new = _starts(ordered, equal_nan)
    positions = _positions(new, function)
    found: list[Any] = [take(ordered, positions), None, None, None]
    if index:
        found[1] = take(order, positions)
    if inverse:
        found[2] = _put(order, new.astype(onp.int64).cumsum() - 1)
    if counts:
        ends = concatenate([positions[1:], _full((1,), n, dt.INT64)])
        found[3] = ends - positions
    return found[0], found[1], found[2], found[3]


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: Any = None, *, equal_nan: bool = True,
           sorted: bool = True) -> Any:  # fmt: skip
    """The distinct elements or slices, sorted; reads how many there are.

    See ``numpy.unique``; with ``sorted=False`` they are sorted too.
    """
    x = _array(ar)
    if axis is not None and x.ndim == 1:
        dt.normalize_axis(axis, 1)
        axis = None  # elements, of which NaN are equal, and no slices
    if axis is None:
        found = _unique(x.reshape(-1), equal_nan, "unique", return_index, return_inverse,
                        return_counts)  # fmt: skip
        values, first, inverse, counts = found
        if return_inverse:
            inverse = inverse.reshape(x.shape)
    else:
        position = dt.normalize_axis(axis, x.ndim)
        moved = moveaxis(x, position, 0)
        rows = moved.reshape((moved.shape[0], -1 if moved.size else 0))
        _, first, inverse, counts = _unique(
            _row_ranks(rows), False, "unique", True, return_inverse, return_counts)
        values = moveaxis(take(moved, first, 0), 0, position)
    results = [values]
    results += [r for r, wanted in ((first, return_index), (inverse, return_inverse),
                                    (counts, return_counts)) if wanted]  # fmt: skip
    return tuple(results) if len(results) > 1 else values


def unique_all(x: Any) -> UniqueAllResult:
    """Distinct elements (NaN are), first indices, inverse and counts; reads how many.

    See ``numpy.unique_all``.
    """
    a = _array(x)
    values, first, inverse, counts = _unique(
        a.reshape(-1), False, "unique_all", True, True, True)
    return UniqueAllResult(values, first, inverse.reshape(a.shape), counts)


def unique_counts(x: Any) -> UniqueCountsResult:
    """Distinct elements and counts; reads how many. See ``numpy.unique_counts``."""
    values, _, _, counts = _unique(_flat(x), False, "unique_counts", False, False, True)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Distinct elements and the inverse; reads how many. See ``numpy.unique_inverse``."""
    a = _array(x)
    values, _, inverse, _ = _unique(a.reshape(-1), False, "unique_inverse", False, True, False)
    return UniqueInverseResult(values, inverse.reshape(a.shape))


def unique_values(x: Any) -> ndarray:
    """Distinct elements, sorted; reads how many. See ``numpy.unique_values``."""
    return _unique(_flat(x), False, "unique_values", False, False, False)[0]  # type: ignore[no-any-return]


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False,
                return_indices: bool = False) -> Any:  # fmt: skip
    """Elements in both arrays, sorted; reads how many. See ``numpy.intersect1d``."""
    a, b = _flat(ar1), _flat(ar2)
    first: Any = None
    second: Any = None
    if not assume_unique:
        a, first, _, _ = _unique(a, True, "intersect1d", return_indices, False, False)
        b, second, _, _ = _unique(b, True, "intersect1d", return_indices, False, False)
    both = concatenate([a, b])
    if not return_indices:
        ordered = sort(both)
        return _where(ordered[:-1], ordered[1:] == ordered[:-1], "intersect1d")
    order = argsort(both, stable=True)
    ordered = take(both, order)
    found = _positions(ordered[1:] == ordered[:-1], "intersect1d")
    left, right = take(order, found), take(order, found + 1) - a.size
    if not assume_unique:
        left, right = take(first, left), take(second, right)
    return take(ordered, found), left, right


def union1d(ar1: Any, ar2: Any) -> ndarray:
    """Elements in either array, sorted; reads how many. See ``numpy.union1d``."""
    both = concatenate([_flat(ar1), _flat(ar2)])
    return _unique(both, True, "union1d", False, False, False)[0]  # type: ignore[no-any-return]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Elements in the first array only; reads how many. See ``numpy.setdiff1d``."""
    a = _flat(ar1)
    if not assume_unique:
        a = _unique(a, True, "setdiff1d", False, False, False)[0]
    return _where(a, isin(a, ar2, invert=True), "setdiff1d")


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Elements in exactly one array, sorted; reads how many. See ``numpy.setxor1d``."""
    a, b = _flat(ar1), _flat(ar2)
    if not assume_unique:
        a = _unique(a, True, "setxor1d", False, False, False)[0]
        b = _unique(b, True, "setxor1d", False, False, False)[0]
    both = concatenate([a, b])
    if not both.size:
        return both
    ordered = sort(both)
    new = _starts(ordered, False)
    last = concatenate([new[1:], _full((1,), True, dt.BOOL)])
    return _where(ordered, new & last, "setxor1d")


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: Any = None) -> Any:  # fmt: skip
    """Where elements are among the test elements. See ``numpy.isin``.

    Every ``kind`` sorts; ``"table"`` refuses what is no integer, as NumPy does.
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    x, tests = _array(element), _flat(test_elements)
    if kind == "table" and not (x.dtype.kind in "biu" and tests.dtype.kind in "biu"):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select "
            "'sort' or None for kind.")
    if not tests.size:
        return _full(x.shape, bool(invert), dt.BOOL)
    d = dt.promote(*dict.fromkeys((x.type.dtype, tests.type.dtype))).numpy
    given, among = x.astype(d), tests.astype(d)
    if given.dtype.kind == "c":
        # complex numbers are looked for by their rank among all
        ranks = _ranks(concatenate([given.reshape(-1), among]))
        given, among = ranks[:x.size].reshape(x.shape), ranks[x.size:]
    ordered = sort(among)
    place = TABLE["minimum"](searchsorted(ordered, given), tests.size - 1)
    found = take(ordered, place)
    result = (found != given) if invert else (found == given)
    return ndarray.from_value(result.value)  # of no dimensions, too
