"""Arrays joined, padded, and with elements put in or taken out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, operand
from .._arguments.options import casting_rule
from .._array.layout import keep_order
from .._array.ndarray import ndarray
from .._ufuncs.outputs import finish
from .manipulation import (
    _array,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    transpose,
)  # fmt: skip

record = lazyloom.record


def _common(arrays: Sequence[Any], dtype: Any, casting: str) -> list[Any]:
    operands, casting = [operand(a) for a in arrays], casting_rule(casting)
    # sequences and numbers count as arrays here, so nothing is weak
    values = [as_value(x) for x in operands]
    if dtype is None and len({v.dtype for v in values}) == 1:
        return values
    if dtype is not None:
        target = dt.internal(dtype)
    else:
        target = dt.promote(*dict.fromkeys(v.type.dtype for v in values))
    for v in values:
        if not dt.can_cast(v.type.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {v.type.dtype.numpy!r} to "
                            f"{target.numpy!r} according to the rule '{casting}'")  # fmt: skip
    return [as_value(v, target) for v in values]


def _sequence(arrays: Any) -> Sequence[Any]:
    if isinstance(arrays, ndarray):
        return list(arrays)
    if not (hasattr(arrays, "__len__") and hasattr(arrays, "__getitem__")):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.')
    found: Sequence[Any] = arrays
    return found


def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None,
                casting: str = "same_kind") -> ndarray:  # fmt: skip
    """Arrays joined along an axis, flattened for None. See ``numpy.concatenate``."""
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were "
                        "provided.")  # fmt: skip
    wanted = dtype if out is None else out.dtype
    values = _common(_sequence(arrays), wanted, casting) if len(arrays) else []
    if not values:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        values = [record("reshape", (v,), {"shape": (v.type.size,)}) for v in values]
        axis = 0
    ndim = len(values[0].type.shape)
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    position = dt.normalize_axis(axis, ndim)
    for i, v in enumerate(values):
        if len(v.type.shape) != ndim:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but the array at index 0 has {ndim} dimension(s) and the array at index "
                f"{i} has {len(v.type.shape)} dimension(s)")
    joined = finish(record("concatenate", values, {"axis": position}), out, "concatenate")
    return keep_order(joined, *arrays) if out is None and ndim > 1 else joined  # type: ignore[no-any-return]


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None,
          casting: str = "same_kind") -> ndarray:  # fmt: skip
    """Arrays of one shape joined along a new axis. See ``numpy.stack``."""
    values = _common(_sequence(arrays), dtype, casting) if len(arrays) else []
    if not values:
        raise ValueError("need at least one array to stack")
    if len({v.type.shape for v in values}) > 1:
        raise ValueError("all input arrays must have the same shape")
    position = dt.normalize_axis(axis, len(values[0].type.shape) + 1)
    return finish(record("stack", values, {"axis": position}), out, "stack")  # type: ignore[no-any-return]


def _many(result: Any) -> list[ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays stacked row-wise. See ``numpy.vstack``."""
    return concatenate(_many(atleast_2d(*_sequence(tup))), 0, dtype=dtype, casting=casting)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """:func:`vstack` by its deprecated name. See ``numpy.row_stack``."""
    warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.",
                  DeprecationWarning, stacklevel=2)  # fmt: skip
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays stacked column-wise. See ``numpy.hstack``."""
    arrays = _many(atleast_1d(*_sequence(tup)))
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


def dstack(tup: Any) -> ndarray:
    """Arrays stacked along the third axis. See ``numpy.dstack``."""
    return concatenate(_many(atleast_3d(*_sequence(tup))), 2)


def column_stack(tup: Any) -> ndarray:
    """1-d arrays as the columns of a 2-d array. See ``numpy.column_stack``."""
    arrays = [_array(a) for a in _sequence(tup)]
    return concatenate([transpose(atleast_2d(x)) if x.ndim < 2 else x for x in arrays], 1)


def block(arrays: Any) -> ndarray:
    """An array from nested lists of blocks. See ``numpy.block``."""
    depth = _depth(arrays, "arrays")
    ndim = max(depth, _deepest(arrays))

    def join(x: Any, level: int) -> ndarray:
        if isinstance(x, list):
            return concatenate([join(y, level + 1) for y in x], axis=ndim - depth + level)
        a = _array(x)
        return a.reshape((1,) * (ndim - a.ndim) + a.shape)

    result = join(arrays, 0)
    return result if depth else result.copy()


def _depth(x: Any, place: str) -> int:
    """How deep lists are nested, which is the same everywhere."""
    if isinstance(x, tuple):
        raise TypeError(
            f"{place} is a tuple. Only lists can be used to arrange blocks, and np.block does not "
            "allow implicit conversion from tuple to ndarray.")
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError(f"List at {place} cannot be empty")
    depths = [_depth(y, f"{place}[{i}]") for i, y in enumerate(x)]
    for i, depth in enumerate(depths):
        if depth != depths[0]:
            raise ValueError(
                f"List depths are mismatched. First element was at depth {depths[0] + 1}, but "
                f"there is an element at depth {depth + 1} ({place}[{i}])")
    return depths[0] + 1


def _deepest(x: Any) -> int:
    return max(map(_deepest, x)) if isinstance(x, list) else _array(x).ndim


def zeros_after(x: ndarray) -> ndarray:
    """One zero for each vector of the last axis."""
    shape = (*x.shape[:-1], 1)
    return ndarray.from_value(record("full", (dt.scalar(0, x.type.dtype),), {"shape": shape}))


def append(arr: Any, values: Any, axis: Any = None) -> ndarray:
    """Values joined to the end. See ``numpy.append``."""
    return concatenate([_array(arr), _array(values)], axis)
