"""Sorting, searching, counting, sets, and taking and putting elements.

Functions whose result's shape depends on data (``nonzero``, ``unique``, set functions)
read their argument; each says so.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from . import _dtypes as dt
from ._array import ndarray, wrap
from ._convert import as_value, operand, operand_key, value_of
from ._layout import keep_order
from ._reductions import finish

record = lazyloom.record


def _array(a: Any) -> ndarray:
    if isinstance(a, ndarray):
        return a
    return ndarray._wrap(value_of(a))


def _host(a: Any) -> onp.ndarray[Any, Any]:
    return a.read() if isinstance(a, lazyloom.Tensor) else onp.asarray(a)


def _new(host: Any) -> ndarray:
    array = onp.asarray(host)
    return ndarray._wrap(lazyloom.from_host(onp.ascontiguousarray(array).reshape(array.shape)))


# -------------------------------------------------------------------------- sorting


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    value = value_of(a)
    if axis is None:
        return record("reshape", (value,), {"shape": (value.type.size,)}), 0
    return value, dt.normalize_axis(axis, len(value.type.shape))


def _is_stable(kind: Any, order: Any, stable: bool | None) -> bool:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return bool(stable) or kind in ("stable", "mergesort")


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
         stable: bool | None = None, descending: bool = False) -> ndarray:  # fmt: skip
    """A sorted copy, NaN last. See ``numpy.sort``.

    ``descending`` (the array API standard's) reverses the order, so that NaN comes first.
    """
    steady = _is_stable(kind, order, stable)
    value, position = _along(a, axis)
    attributes = {"axis": position, "descending": bool(descending), "stable": steady}
    return keep_order(
        ndarray._wrap(record("sort", (value,), attributes)), *(() if axis is None else (a,)))


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
            stable: bool | None = None, descending: bool = False) -> ndarray:  # fmt: skip
    """Indices that would sort, int64. See ``numpy.argsort``.

    Equal elements keep their order unless ``kind`` or ``stable`` leaves it open, with
    ``descending`` (the array API standard's) too.
    """
    if kind is None and stable is None:
        stable = True
    steady = _is_stable(kind, order, stable)
    value, position = _along(a, axis)
    attributes = {"axis": position, "descending": bool(descending), "stable": steady}
    return ndarray._wrap(record("argsort", (value,), attributes))


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect",
              order: Any = None) -> ndarray:  # fmt: skip
    """A copy with the kth element in its sorted place (it is sorted). See NumPy's."""
    value, position = _along(a, axis)
    n = value.type.shape[position]
    for k in onp.atleast_1d(kth):
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
    return sort(ndarray._wrap(value), position)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect",
                 order: Any = None) -> ndarray:  # fmt: skip
    """Indices that would partition. See ``numpy.argpartition``."""
    value, position = _along(a, axis)
    return argsort(ndarray._wrap(value), position)


def sort_complex(a: Any) -> ndarray:
    """A sorted copy as complex numbers. See ``numpy.sort_complex``."""
    x = sort(a)
    return x if x.dtype.kind == "c" else x.astype(onp.complex128)


def lexsort(keys: Any, axis: int = -1) -> ndarray:
    """Indices that sort by several keys, the last one first. See ``numpy.lexsort``."""
    arrays = [_array(k) for k in keys]
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    order: Any = None
    for key in arrays:
        if order is None:
            order = argsort(key, axis, stable=True)
        else:
            ranked = take_along_axis(key, order, axis)
            order = take_along_axis(order, argsort(ranked, axis, stable=True), axis)
    return order  # type: ignore[no-any-return]


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would go to keep order, int64. See ``numpy.searchsorted``."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    x = operand(a)
    if sorter is not None:
        x = take(wrap(as_value(x)), sorter).value
    y = operand(v)
    d = dt.promote(operand_key(as_value(x)), operand_key(y))
    return wrap(record("searchsorted", (as_value(x, d), as_value(y, d)), {"side": side}))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The bin of each element; the bins' order is read. See ``numpy.digitize``."""
    edges = _host(bins)
    if edges.size > 1 and edges[0] > edges[-1]:
        return len(edges) - searchsorted(_new(edges[::-1]), x, "left" if not right else "right")
    return searchsorted(bins, x, "left" if right else "right")


# ------------------------------------------------------------------- data-dependent


def nonzero(a: Any) -> tuple[ndarray, ...]:
    """Indices of the elements that are not zero; reads. See ``numpy.nonzero``."""
    host = _host(a)
    if not host.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero()")
    return tuple(map(_new, onp.nonzero(host)))


def argwhere(a: Any) -> ndarray:
    """Indices of the elements that are not zero, one a row; reads. See ``numpy.argwhere``."""
    return _new(onp.argwhere(_host(a)))


def flatnonzero(a: Any) -> ndarray:
    """Flat indices of the elements that are not zero; reads. See ``numpy.flatnonzero``."""
    return _new(onp.flatnonzero(_host(a)))


def _wrapped(result: Any) -> Any:
    if isinstance(result, tuple):
        arrays = [_new(r) for r in result]
        return type(result)(*arrays) if hasattr(result, "_fields") else tuple(arrays)
    return _new(result)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: Any = None, *, equal_nan: bool = True,
           sorted: bool = True) -> Any:  # fmt: skip
    """The distinct elements, sorted; reads. See ``numpy.unique``."""
    find: Any = onp.unique
    return _wrapped(find(_host(ar), return_index, return_inverse, return_counts, axis,
                               equal_nan=equal_nan))  # fmt: skip


def unique_all(x: Any, /) -> Any:
    """Distinct elements, indices, inverse and counts; reads. See ``numpy.unique_all``."""
    return _wrapped(onp.unique_all(_host(x)))


def unique_counts(x: Any, /) -> Any:
    """Distinct elements and counts; reads. See ``numpy.unique_counts``."""
    return _wrapped(onp.unique_counts(_host(x)))


def unique_inverse(x: Any, /) -> Any:
    """Distinct elements and inverse; reads. See ``numpy.unique_inverse``."""
    return _wrapped(onp.unique_inverse(_host(x)))


def unique_values(x: Any, /) -> Any:
    """Distinct elements; reads. See ``numpy.unique_values``."""
    return _wrapped(onp.unique(_host(x)))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False,
                return_indices: bool = False) -> Any:  # fmt: skip
    """Elements in both; reads. See ``numpy.intersect1d``."""
    find: Any = onp.intersect1d
    return _wrapped(find(_host(ar1), _host(ar2), assume_unique, return_indices))


def union1d(ar1: Any, ar2: Any) -> ndarray:
    """Elements in either; reads. See ``numpy.union1d``."""
    return _new(onp.union1d(_host(ar1), _host(ar2)))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Elements in the first only; reads. See ``numpy.setdiff1d``."""
    return _new(onp.setdiff1d(_host(ar1), _host(ar2), assume_unique))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """Elements in one only; reads. See ``numpy.setxor1d``."""
    return _new(onp.setxor1d(_host(ar1), _host(ar2), assume_unique))


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices whose condition is true; reads it. See ``numpy.compress``."""
    from ._manipulation import ravel, take_host

    x = _array(a)
    chosen = _host(condition).astype(bool)
    if chosen.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        x, axis = ravel(x), 0
    position = dt.normalize_axis(axis, x.ndim)
    indices = onp.flatnonzero(chosen)
    if indices.size and indices[-1] >= x.shape[position]:
        raise IndexError(
            f"index {indices[-1]} is out of bounds for axis {position} with size "
            f"{x.shape[position]}")
    return finish(take_host(x, indices, position).value, out, "compress")


def extract(condition: Any, arr: Any) -> Any:
    """The elements whose condition is true; reads it. See ``numpy.extract``."""
    return compress(_host(condition).reshape(-1), arr)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: Any = None) -> Any:  # fmt: skip
    """Where elements are among the test elements. See ``numpy.isin``."""
    from ._ufuncs import TABLE

    x, tests = _array(element), _array(test_elements).reshape(-1)
    d = dt.promote(x.type.dtype, tests.type.dtype)
    if tests.size == 0:
        return wrap(record("full", (dt.scalar(invert, dt.BOOL),), {"shape": x.shape}))
    ordered = sort(tests.astype(d.numpy))
    given = x.astype(d.numpy)
    position = TABLE["minimum"](searchsorted(ordered, given), tests.size - 1)
    found = take(ordered, position) == given
    return ~found if invert else found


# ----------------------------------------------------------------- taking, putting


def _checked(indices: Any, n: int, axis: Any, mode: str) -> Any:
    """Indices as a Value; those on the host are checked, those on the device clamped."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if not isinstance(indices, lazyloom.Tensor):
        host = onp.asarray(indices)
        if host.size == 0:
            host = host.astype(onp.int64)
        if mode == "raise" and host.size and host.dtype.kind in "iu" and (
                host.min() < -n or host.max() >= n):
            bad = host[(host < -n) | (host >= n)].flat[0]
            place = "" if axis is None else f"axis {axis} with "
            raise IndexError(f"index {bad} is out of bounds for {place}size {n}")
        indices = host
    value = as_value(operand(indices))
    d = value.type.dtype
    if d.kind not in "iub":
        raise TypeError(
            f"Cannot cast array data from {d.numpy!r} to dtype('int64') according to the rule "
            "'safe'")
    if d is dt.BOOL:
        value = record("cast", (value,), {"dtype": dt.INT64})
        d = dt.INT64
    if mode == "wrap":
        return record("remainder", (as_value(value, dt.INT64), dt.scalar(n, dt.INT64)))
    if mode == "clip":
        wide = as_value(value, dt.INT64)
        return record("clip", (wide, dt.scalar(0, dt.INT64), dt.scalar(n - 1, dt.INT64)))
    return value


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Elements at indices along an axis, of the flattened array for None.

    See ``numpy.take``. Indices on the device that are out of range are clamped, as no
    error is possible there without a read.
    """
    value, position = _along(a, axis)
    chosen = _checked(indices, value.type.shape[position], axis, mode)
    return finish(record("take", (value, chosen), {"axis": position}), out, "take")


def put(a: ndarray, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at flat indices. See ``numpy.put``."""
    from ._manipulation import resize

    flat = ndarray._wrap(record("reshape", (a.value,), {"shape": (a.size,)}))
    chosen = ndarray._wrap(_checked(ind, a.size, None, mode)).reshape(-1)
    values = resize(_array(v).astype(a.dtype), (chosen.size,))
    flat[chosen] = values
    a[...] = flat.reshape(a.shape)


def _aligned(value: Any, indices: Any, position: int) -> tuple[Any, Any]:
    """Both broadcast against each other along the other axes."""
    shape, given = list(value.type.shape), list(indices.type.shape)
    if len(shape) != len(given):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if shape == given:
        return value, indices
    rest = onp.broadcast_shapes(
        tuple(n for i, n in enumerate(shape) if i != position),
        tuple(n for i, n in enumerate(given) if i != position))
    results = []
    for x, dims in ((value, shape), (indices, given)):
        wanted = (*rest[:position], dims[position], *rest[position:])
        if wanted != x.type.shape:
            x = record("broadcast_to", (x,), {"shape": wanted})
        results.append(x)
    return results[0], results[1]


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Elements matched by index along an axis. See ``numpy.take_along_axis``."""
    value, position = _along(arr, axis)
    chosen = as_value(operand(indices))
    if chosen.type.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    value, chosen = _aligned(value, chosen, position)
    return wrap(record("take_along_axis", (value, chosen), {"axis": position}))


def put_along_axis(arr: ndarray, indices: Any, values: Any, axis: Any) -> None:
    """Write values matched by index along an axis. See ``numpy.put_along_axis``."""
    from ._indexing import fitted

    if axis is None:
        arr.flat[indices] = values
        return
    position = dt.normalize_axis(axis, arr.ndim)
    chosen = as_value(operand(indices))
    if chosen.type.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    _, chosen = _aligned(arr.value, chosen, position)
    update = fitted(values, chosen.type.shape, arr)
    arr[...] = wrap(record("scatter_along_axis", (arr.value, chosen, update),
                           {"axis": position, "mode": "set"}))  # fmt: skip


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element the choice of that number. See ``numpy.choose``."""
    from ._joining import stack
    from ._manipulation import broadcast_arrays

    items = list(choices)
    arrays = broadcast_arrays(_array(a), *(_array(c) for c in items))
    chosen = _checked(arrays[0], len(items), None, mode)
    stacked = stack(arrays[1:])
    chosen = record("reshape", (chosen,), {"shape": (1, *chosen.type.shape)})
    picked = record("take_along_axis", (stacked.value, chosen), {"axis": 0})
    shape = picked.type.shape[1:]
    return finish(record("reshape", (picked,), {"shape": shape}), out, "choose")


def putmask(a: ndarray, mask: Any, values: Any) -> None:
    """Write values (repeated to the array's size) where a mask is true. See NumPy's."""
    from ._manipulation import resize

    given = _array(values)
    if given.shape != a.shape:
        given = resize(given, a.shape) if given.size else given
    if not given.size:
        return
    new = as_value(given.value, a.type.dtype)
    a[...] = wrap(record("where", (value_of(mask, dt.BOOL), new, a.value)))


def place(arr: ndarray, mask: Any, vals: Any) -> None:
    """Write the first values where a mask is true, in order; reads it. See ``numpy.place``."""
    from ._manipulation import resize

    indices = onp.flatnonzero(_host(mask))
    if indices.size:
        if _array(vals).size == 0:
            raise ValueError("Cannot insert from an empty array!")
        put(arr, indices, resize(vals, (indices.size,)))


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> ndarray:
    """How often each non-negative int occurs; reads the largest. See ``numpy.bincount``."""
    a = _array(x)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array" if a.ndim > 1 else
                         "object of too small depth for desired array")  # fmt: skip
    if a.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {a.dtype!r} to dtype('int64') according to "
                        "the rule 'safe'")  # fmt: skip
    if a.size and a.dtype.kind == "i" and int(a.min()) < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(int(a.max()) + 1 if a.size else 0, minlength)
    value = a.value if a.dtype.kind != "b" else a.astype(onp.int64).value
    if weights is None:
        return ndarray._wrap(record("bincount", (value,), {"length": length}))
    w = value_of(weights, dt.FLOAT64)
    if w.type.shape != a.shape:
        raise ValueError("The weights and list don't have the same length.")
    return ndarray._wrap(record("bincount", (value, w), {"length": length}))
