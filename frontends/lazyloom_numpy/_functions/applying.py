"""Functions applied to the vectors along an axis, or over axes one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray
from .joining import stack
from .manipulation import _array, expand_dims, moveaxis, reshape


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any,
                     **kwargs: Any) -> Any:  # fmt: skip
    """A function of every vector along an axis. See ``numpy.apply_along_axis``.

    The function is called, and recorded, once for each vector.
    """
    a = _array(arr)
    position = dt.normalize_axis(axis, a.ndim)
    x = moveaxis(a, position, -1)
    outer = x.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = [_array(func1d(row, *args, **kwargs)) for row in reshape(x, (-1, x.shape[-1]))]
    # the first result decides the dtype
    result = stack([r.astype(rows[0].dtype, copy=False) for r in rows])
    result = reshape(result, (*outer, *result.shape[1:]))
    source = tuple(range(len(outer), result.ndim))
    return moveaxis(result, source, tuple(range(position, position + len(source))))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> ndarray:
    """A function such as ``sum`` over several axes, which are kept. See NumPy's."""
    x = _array(a)
    ndim = x.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        position = int(axis) + ndim if axis < 0 else int(axis)
        result = _array(func(x, position))
        if result.ndim != x.ndim:
            result = expand_dims(result, position)
            if result.ndim != x.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        x = result
    return x
