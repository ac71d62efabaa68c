"""Sorting, searching, counting, sets, and taking and putting elements.

Functions whose result's shape depends on data stand in ``_selecting`` and ``_sets``.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom
from lazyloom.errors import ArgumentError, type_name
from lazyloom.frontend import one_step

from .._arguments import dtypes as dt
from .._arguments.assigning import assigned, fitted, repeated
from .._arguments.bounds import check, check_host
from .._arguments.convert import as_value, host_array, operand, operand_key, value_of
from .._arguments.options import clip_mode, search_side, selection_kind, sorts_stably
from .._array.layout import is_writeable, keep_order
from .._array.ndarray import assign, ndarray, wrap
from .._ufuncs.outputs import finish
from .conditions import unless
from .joining import stack
from .manipulation import broadcast_arrays

record = lazyloom.record


def _array(a: Any) -> ndarray:
    if isinstance(a, ndarray):
        return a
    return ndarray.from_value(value_of(a))


# -------------------------------------------------------------------------- sorting


def _along(a: Any, axis: Any, single: bool = False) -> tuple[Any, int]:
    """The Value and the axis, that of the flattened array for None.

    With ``single`` a 0-d array counts as one with an axis.
    """
    value = value_of(a)
    if single and not value.type.shape and axis in (0, -1):
        axis = None
    if axis is None:
        return record("reshape", (value,), {"shape": (value.type.size,)}), 0
    return value, dt.normalize_axis(axis, len(value.type.shape))


def _is_stable(a: Any, kind: Any, order: Any, stable: bool | None) -> bool:
    if order is not None:
        problem = "Cannot specify order when the array has no fields."
        # records are NumPy's
        raise ValueError(problem) if isinstance(a, ndarray) else dt.HostOnly(problem)
    steady = kind is not None and sorts_stably(kind)
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use "
                         "only one of them.")  # fmt: skip
    return bool(stable) or steady


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
         stable: bool | None = None, descending: bool = False) -> ndarray:  # fmt: skip
    """A sorted copy, NaN last. See ``numpy.sort``.

    ``descending`` (the array API standard's) reverses the order, so that NaN comes first.
    """
    steady = _is_stable(a, kind, order, stable)
    value, position = _along(a, axis)
    attributes = {"axis": position, "descending": bool(descending), "stable": steady}
    return keep_order(
        ndarray.from_value(record("sort", (value,), attributes)), *(() if axis is None else (a,)))


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
            stable: bool | None = None, descending: bool = False) -> ndarray:  # fmt: skip
    """Indices that would sort, int64. See ``numpy.argsort``.

    Equal elements keep their order unless ``kind`` or ``stable`` leaves it open, with
    ``descending`` (the array API standard's) too.
    """
    if kind is None and stable is None:
        stable = True
    steady = _is_stable(a, kind, order, stable)
    if axis in (-1, 0) and not _array(a).ndim:
        axis = None  # as if a 0-d array had one axis
    value, position = _along(a, axis)
    attributes = {"axis": position, "descending": bool(descending), "stable": steady}
    return ndarray.from_value(record("argsort", (value,), attributes))


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect",
              order: Any = None) -> ndarray:  # fmt: skip
    """A copy with the kth element in its sorted place (it is sorted). See NumPy's."""
    value, position = _along(a, axis)
    _check_kth(kth, value.type.shape[position], kind, value.type.size)
    return sort(ndarray.from_value(value), position)


def _check_kth(kth: Any, n: int, kind: Any, size: int) -> None:
    selection_kind(kind)
    if not size:
        return  # nothing is selected from
    if isinstance(kth, lazyloom.Tensor):
        check(as_value(operand(kth)), n, 0, "partition")
        return
    host = onp.atleast_1d(kth)
    if host.dtype.kind not in "iub":
        raise TypeError("Partition index must be integer")
    for k in host.ravel():
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect",
                 order: Any = None) -> ndarray:  # fmt: skip
    """Indices that would partition. See ``numpy.argpartition``."""
    value, position = _along(a, axis, True)
    _check_kth(kth, value.type.shape[position], kind, value.type.size)
    return argsort(ndarray.from_value(value), position)


def sort_complex(a: Any) -> ndarray:
    """A sorted copy as complex numbers. See ``numpy.sort_complex``."""
    x = sort(a)
    if x.dtype.kind == "c":
        return x
    small = x.dtype.kind in "iu" and x.itemsize <= 2
    return x.astype(onp.complex64 if small else onp.complex128)


def lexsort(keys: Any, axis: int = -1) -> ndarray:
    """Indices that sort by several keys, the last one first. See ``numpy.lexsort``."""
    arrays = [_array(k) for k in keys]
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({k.shape for k in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    if not arrays[0].ndim:
        return wrap(record("full", (dt.scalar(0, dt.INT64),), {"shape": ()}))  # type: ignore[no-any-return]
    order: Any = None
    for key in arrays:
        if order is None:
            order = argsort(key, axis, stable=True)
        else:
            ranked = take_along_axis(key, order, axis)
            order = take_along_axis(order, argsort(ranked, axis, stable=True), axis)
    return order  # type: ignore[no-any-return]


def _comes_before(x: Any, y: Any) -> Any:
    """Whether complex numbers come before others in the order of sorting: NaN parts last."""
    sides = []
    for z in (x, y):
        real, imag = z.real, z.imag
        unknown = (real != real, imag != imag)
        number = 2 * unknown[0].astype("int64") + unknown[1].astype("int64")
        zero = lazyloom.Scalar(0.0, real.value.dtype)
        sides.append((number, *[
            wrap(record("where", (no.value, zero, part.value)))
            for no, part in zip(unknown, (real, imag), strict=True)]))
    (which, real, imag), (other, other_real, other_imag) = sides
    later = (real == other_real) & (imag < other_imag)
    return (which < other) | ((which == other) & ((real < other_real) | later))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would go to keep order, int64. See ``numpy.searchsorted``."""
    side = search_side(side)
    x = operand(a)
    if sorter is not None:
        order = _array(sorter)
        if order.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.shape != as_value(x).type.shape:
            raise ValueError("sorter.size must equal a.size")
        try:
            x = take(wrap(as_value(x)), sorter).value
        except IndexError:
            raise ValueError("Sorter index out of range.") from None
    y = as_value(operand(v))
    d = dt.promote(operand_key(as_value(x)), operand_key(y))
    if d is dt.BOOL:
        d = dt.INT64
    if d.kind == "c":  # the op orders real numbers only: how many come before each
        keys, values = wrap(as_value(x, d)), wrap(as_value(y, d))
        if keys.ndim != 1:
            raise ValueError("object of too small depth for desired array" if not keys.ndim else
                             "object too deep for desired array")  # fmt: skip
        values = values[..., None]
        if side == "left":
            return _comes_before(keys, values).sum(-1)
        return (~_comes_before(values, keys)).sum(-1)
    return wrap(record("searchsorted", (as_value(x, d), as_value(y, d)), {"side": side}))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The bin of each element, int64. See ``numpy.digitize``."""
    given, edges = operand(x), value_of(bins)
    if as_value(given).type.dtype.kind == "c" or edges.type.dtype.kind == "c":
        raise TypeError("x may not be complex, nor may bins")
    if len(edges.type.shape) != 1:
        raise ValueError("object too deep for desired array" if edges.type.shape else
                         "object of too small depth for desired array")  # fmt: skip
    d = dt.promote(operand_key(as_value(given)), operand_key(edges))
    given, edges = as_value(given, d), as_value(edges, d)
    n = edges.type.shape[0]
    side = "left" if right else "right"
    rising = record("searchsorted", (edges, given), {"side": side})
    if n < 2:
        return wrap(rising)
    known = onp.asarray(bins) if not isinstance(bins, lazyloom.Tensor) else None
    if known is not None:
        # NaN is neither: the first bins that differ say which way they go
        first = int((known[1:] != known[0]).argmax()) + 1
        up = known[0] == known[first] or bool(known[0] < known[first])
        if (known[1:] < known[:-1] if up else known[1:] > known[:-1]).any():
            raise ValueError("bins must be monotonically increasing or decreasing")
        if up:
            return wrap(rising)
    backwards = record("flip", (edges,), {"axes": (0,)})
    other = record("searchsorted", (backwards, given), {"side": side})
    falling = record("subtract", (dt.scalar(n, dt.INT64), other))
    if known is not None:
        return wrap(falling)
    ends = (record("slice", (edges,), {"starts": (s,), "stops": (e,), "strides": (1,)})
            for s, e in ((1, n), (0, n - 1)))
    later, earlier = ends
    head = record("slice", (edges,), {"starts": (0,), "stops": (1,), "strides": (1,)})
    differ = record("not_equal", (later, head))
    other = record("take", (later, record("argmax", (differ,), {"axis": 0})), {"axis": 0})
    head = record("reshape", (head,), {"shape": ()})
    level = record("logical_not", (record("not_equal", (head, other)),))
    up = record("logical_or", (level, record("less", (head, other))))
    falls = record("any", (record("less", (later, earlier)),))
    rises = record("any", (record("greater", (later, earlier)),))
    neither = record("where", (up, falls, rises))
    result = record("where", (up, rising, falling))
    return wrap(record("checked", (result, neither), {"kind": "bins of digitize"})[0])


def _not_monotonic(data: Any, check: lazyloom.Check) -> ArgumentError:
    return ArgumentError(
        f"bins must be monotonically increasing or decreasing (digitize, recorded at "
        f"{check.site})", op="digitize", site=str(check.site))


lazyloom.register_check("bins of digitize", _not_monotonic)


# ----------------------------------------------------------------- taking, putting


def _checked(indices: Any, n: int, axis: int, mode: str, of: str) -> Any:
    """Indices as a Value. Raises IndexError for one that is out of range, now or when read."""
    mode = clip_mode(mode)
    if not isinstance(indices, lazyloom.Tensor):
        host = host_array(indices)
        if not isinstance(indices, (onp.ndarray, onp.generic)) and host.dtype.kind == "f":
            host = host.astype(onp.int64)  # a list of numbers is converted whatever they are
        indices = host.astype(onp.int64) if host.size == 0 else host
        if mode == "raise" and host.dtype.kind in "iu":
            check_host(host, n, axis)
    value = as_value(operand(indices))
    d = value.type.dtype
    if d.kind not in "iub" or d.numpy == onp.uint64:
        raise TypeError(
            f"Cannot cast array data from {d.numpy!r} to dtype('int64') according to the rule "
            "'safe'")
    if d is dt.BOOL:
        value = as_value(value, dt.INT64)
    if mode == "wrap":
        return record("remainder", (as_value(value, dt.INT64), dt.scalar(n, dt.INT64)))
    if mode == "clip":
        wide = as_value(value, dt.INT64)
        return record("clip", (wide, dt.scalar(0, dt.INT64), dt.scalar(n - 1, dt.INT64)))
    return check(value, n, axis, of)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Elements at indices along an axis, of the flattened array for None. See ``numpy.take``."""
    value, position = _along(a, axis, True)
    n = value.type.shape[position]
    if n == 0 and _array(indices).size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    chosen = _checked(indices, n, position, mode, "take")
    return finish(record("take", (value, chosen), {"axis": position}), out, "take")


@one_step
def put(a: ndarray, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values, repeated, at flat indices. See ``numpy.put``."""
    if not isinstance(a, ndarray):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type_name(a)}")
    if not is_writeable(a):
        raise ValueError("put: output array is read-only")
    chosen = _checked(ind, a.size, 0, mode, "put")
    values = as_value(assigned(v, a.type.dtype))
    if not values.type.size or not chosen.type.size:
        return
    if not a.size:
        raise IndexError("cannot replace elements of an empty array")
    count = chosen.type.size
    chosen = record("reshape", (chosen,), {"shape": (count,)})
    values = repeated(values, count)
    flat = record("reshape", (a.value,), {"shape": (a.size,)})
    flat = record("index_update", (flat, values, chosen), {"axes": (0,), "mode": "set"})
    assign(a, record("reshape", (flat,), {"shape": a.shape}))


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
    chosen = check(chosen, value.type.shape[position], position, "take_along_axis")
    return wrap(record("take_along_axis", (value, chosen), {"axis": position}))


@one_step
def put_along_axis(arr: ndarray, indices: Any, values: Any, axis: Any) -> None:
    """Write values matched by index along an axis. See ``numpy.put_along_axis``."""
    if axis is None:
        arr.flat[indices] = values
        return
    position = dt.normalize_axis(axis, arr.ndim)
    chosen = as_value(operand(indices))
    if chosen.type.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    _, chosen = _aligned(arr.value, chosen, position)
    chosen = check(chosen, arr.shape[position], position, "put_along_axis")
    update = fitted(values, chosen.type.shape, arr)
    arr[...] = wrap(record("scatter_along_axis", (arr.value, chosen, update),
                           {"axis": position, "mode": "set"}))  # fmt: skip


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element the choice of that number. See ``numpy.choose``."""
    operands = [operand(c) for c in choices]
    if not operands:
        raise ValueError("invalid number of arguments")
    d = dt.promote(*dict.fromkeys(map(operand_key, operands)))
    items = [ndarray.from_value(as_value(c, d)) for c in operands]
    arrays = broadcast_arrays(_array(a), *items)
    number = arrays[0]
    if mode == "raise":
        if not dt.can_cast(number.type.dtype, dt.INT64, "safe"):
            raise TypeError(f"Cannot cast array data from {number.dtype!r} to dtype('int64') "
                            "according to the rule 'safe'")  # fmt: skip
        number = number.astype(onp.int64)
        bad = (number < 0) | (number >= len(items))
        if not isinstance(a, lazyloom.Tensor):
            host = host_array(a)
            if host.size and (host.min() < 0 or host.max() >= len(items)):
                raise ValueError("invalid entry in choice array")
        else:
            number = unless(bad, "choice", "choose", number)
    chosen = _checked(number, len(items), 0, "clip" if mode == "raise" else mode, "choose")
    stacked = stack(arrays[1:])
    chosen = record("reshape", (chosen,), {"shape": (1, *chosen.type.shape)})
    picked = record("take_along_axis", (stacked.value, chosen), {"axis": 0})
    shape = picked.type.shape[1:]
    return finish(record("reshape", (picked,), {"shape": shape}), out, "choose")


@one_step
def putmask(a: ndarray, mask: Any, values: Any) -> None:
    """Write values (repeated to the array's size) where a mask is true. See NumPy's."""
    if not isinstance(a, ndarray):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type_name(a)}")
    if not is_writeable(a):
        raise ValueError("putmask: output array is read-only")
    if isinstance(values, (ndarray, onp.ndarray)) and not dt.can_cast(
        dt.internal(values.dtype), a.type.dtype, "safe"
    ):
        raise TypeError(f"Cannot cast array data from {values.dtype!r} to {a.dtype!r} according to "
                        "the rule 'safe'")  # fmt: skip
    given = assigned(values, a.type.dtype)
    where = value_of(mask, dt.BOOL)
    if where.type.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if where.type.shape != a.shape:
        where = record("reshape", (where,), {"shape": a.shape})
    if isinstance(given, lazyloom.Value) and given.type.shape != a.shape:
        if not given.type.size or not a.size:
            return
        given = record("reshape", (repeated(given, a.size),), {"shape": a.shape})
    assign(a, record("where", (where, given, a.value)))
