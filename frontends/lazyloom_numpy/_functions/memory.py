"""What NumPy says and does about an array's memory: sharing, strides given by hand, resizing.

There is no such memory. An array's twin is a NumPy array of the same strides over memory that
nobody touches; NumPy itself then says what overlaps.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.errors import type_name
from lazyloom.frontend import (
    Bitcast,
    Broadcast,
    Diagonal,
    Imag,
    Permute,
    Real,
    Reshape,
    Slice,
    Strided,
    hold,
    share_view,
    storage_of,
)

from .._arguments import dtypes as dt
from .._array.layout import ViewInfo, base_of, set_info, view_info
from .._array.ndarray import alias, c_strides, element_strides, ndarray
from .creation import asarray
from .manipulation import reshape_strides, resolve_shape, view_as

record = lazyloom.record

# ------------------------------------------------------------------------ sharing


def _root(x: ndarray) -> onp.ndarray[Any, Any]:
    """Untouched memory for everything that shares the array's storage."""
    owner = base_of(x)
    owner = x if owner is None else owner
    # an owner whose shape was set is a view of its storage
    if owner.view_steps:
        owner = ndarray.from_value(storage_of(owner).value)
    dtype = owner.dtype
    memory = onp.empty(max(owner.size, 1), dtype)
    strides = tuple(s * dtype.itemsize for s in element_strides(owner))
    return onp.lib.stride_tricks.as_strided(memory, owner.shape, strides)


def copied(x: ndarray) -> tuple[onp.ndarray[Any, Any], onp.ndarray[Any, Any]]:
    """A copy of the memory that an array lies in, and the part of it that is the array; reads.

    Both are read-only. Where only the device knows which part, the copy is of the array alone.
    """
    root = _root(x)
    owner = base_of(x)
    owner = x if owner is None else owner
    data = storage_of(owner).value.read() if owner.view_steps else owner.read()
    root[...] = data
    part = _twin(x, root)
    if part is None:
        root = part = x.read()
    memory = root if root.base is None or not isinstance(root.base, onp.ndarray) else root.base
    part.flags.writeable = memory.flags.writeable = False
    return memory, part


def _twin(x: ndarray, root: onp.ndarray[Any, Any]) -> onp.ndarray[Any, Any] | None:
    """The part of the memory that the array reads; None where only the device knows it."""
    t = root
    for step in x.view_steps:
        if isinstance(step, Slice):
            ends = (a + s * n for a, n, s in zip(step.starts, step.sizes, step.steps))
            t = t[tuple(slice(a, b if b >= 0 else None, s) if n else slice(0, 0) for a, b, s, n in
                        zip(step.starts, ends, step.steps, step.sizes))]  # fmt: skip
        elif isinstance(step, Permute):
            t = t.transpose(step.axes)
        elif isinstance(step, Reshape):
            try:
                t = onp.reshape(t, step.shape, copy=False)
            except ValueError:
                return None
        elif isinstance(step, Broadcast):
            t = onp.broadcast_to(t, step.shape)
        elif isinstance(step, Diagonal):
            t = t.diagonal(step.offset, step.axis1, step.axis2)
        elif isinstance(step, Real):
            t = t.real
        elif isinstance(step, Imag):
            t = t.imag
        elif isinstance(step, Bitcast):
            t = _bitcast(t, step.dtype.numpy)
        elif isinstance(step, Strided):
            strides = tuple(s * t.itemsize for s in step.steps)
            t = onp.lib.stride_tricks.as_strided(t.reshape(-1)[step.offset:], step.shape, strides)
        else:
            return None
    return t


def _bitcast(t: onp.ndarray[Any, Any], dtype: Any) -> onp.ndarray[Any, Any]:
    """As the step: a last axis of the ratio of the sizes comes or goes."""
    if t.dtype.itemsize == onp.dtype(dtype).itemsize:
        return t.view(dtype)
    if t.dtype.itemsize > onp.dtype(dtype).itemsize:
        return t[..., None].view(dtype)
    wider: onp.ndarray[Any, Any] = t.view(dtype)
    return wider.reshape(wider.shape[:-1])


def _ask(a: Any, b: Any, question: Any) -> bool:
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)):
        hosts = isinstance(a, onp.ndarray) and isinstance(b, onp.ndarray)
        return hosts and bool(question(a, b))
    if not a.size or not b.size or a.shared is None or a.shared is not b.shared:
        return a is b and a.size > 0
    root = _root(a)
    first, second = _twin(a, root), _twin(b, root)
    return first is None or second is None or bool(question(first, second))


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether two arrays have an element in common. See ``numpy.shares_memory``.

    True where a position that only the device knows decides it.
    """
    return _ask(a, b, lambda x, y: onp.shares_memory(x, y, max_work))


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether the memory bounds of two arrays overlap. See ``numpy.may_share_memory``."""
    return _ask(a, b, lambda x, y: onp.may_share_memory(x, y, max_work))


# ------------------------------------------------------------------ shape, in place


def _become(x: ndarray, view: ndarray) -> None:
    """Turn an array into a view of itself, as an owner if it is one."""
    info = view_info(x)
    base, writeable = base_of(x), info is None or info.writeable
    strides = element_strides(view)
    share_view(x, view)
    set_info(x, ViewInfo(strides, base, writeable))


def set_shape(x: ndarray, shape: Any) -> None:
    """``x.shape = shape``: AttributeError where the elements would have to move."""
    wanted = resolve_shape(shape, x.size)
    strides = reshape_strides(x.shape, element_strides(x), wanted)
    if strides is None:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
            "the desired shape.")
    _become(x, alias(x, Reshape(wanted), strides))


def set_dtype(x: ndarray, dtype: Any) -> None:
    """``x.dtype = dtype``: the same bytes as other numbers."""
    _become(x, view_as(x, dtype))


def resize(x: ndarray, shape: Any, refcheck: bool) -> None:
    """``ndarray.resize``: cut, or lengthened by zeros, in place."""
    dims = dt.shape_tuple(shape) if not hasattr(shape, "__index__") else (operator.index(shape),)
    if any(n < 0 for n in dims):
        raise ValueError("negative dimensions not allowed")
    size = math.prod(dims)
    info = view_info(x)
    if size == x.size:
        set_shape(x, dims)
        return
    if base_of(x) is not None:
        raise ValueError("cannot resize this array: it does not own its data")
    shared = x.shared
    # the array itself and the argument of getrefcount
    if refcheck and shared is not None and sys.getrefcount(shared) > 3:
        raise ValueError(
            "cannot resize an array that references or is referenced\nby another object in this "
            "way.\nUse the np.resize function to get a new resized copy or\n set refcheck=False "
            "to disable this check")
    column_major = x.flags.fnc
    value = record("reshape", ((x.T if column_major else x).value,), {"shape": (x.size,)})
    if size < x.size:
        value = record("slice", (value,), {"starts": (0,), "stops": (size,), "strides": (1,)})
    else:
        zeros = record("full", (dt.scalar(0, x.type.dtype),), {"shape": (size - x.size,)})
        value = record("concatenate", (value, zeros), {"axis": 0})
    value = record("reshape", (value,), {"shape": dims[::-1] if column_major else dims})
    if info is not None:
        del x._info
    if column_major and len(dims) > 1:
        value = record("transpose", (value,), {"axes": tuple(range(len(dims)))[::-1]})
        hold(x, value)
        set_info(x, ViewInfo(c_strides(dims[::-1])[::-1], None, True))
    else:
        hold(x, value)


# ------------------------------------------------------------- strides given by hand


def strided(x: ndarray, offset: int, shape: tuple[int, ...], steps: tuple[int, ...],
            writeable: bool = True) -> ndarray:  # fmt: skip
    """A view by positions in the array's elements, which lie one after another in memory.

    Raises ValueError where it would leave them.
    """
    first = offset + sum(s * (n - 1) for n, s in zip(shape, steps) if s < 0 and n)
    last = offset + sum(s * (n - 1) for n, s in zip(shape, steps) if s > 0 and n)
    if 0 not in shape and (first < 0 or last >= x.size):
        raise ValueError(
            f"strides {steps} (in elements) and shape {shape} lead outside of the {x.size} "
            "elements of the array; they must stay inside")
    return alias(x, Strided(offset, shape, steps), steps, writeable)


def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False,
               writeable: bool = True) -> ndarray:  # fmt: skip
    """A view of a shape and strides given by hand, inside of the array that owns the memory.

    See ``numpy.lib.stride_tricks.as_strided``; leaving that array is a ValueError. An array
    whose elements do not lie one after another can be given if it is a slice of such a one.
    """
    a = asarray(x)
    wanted = a.shape if shape is None else dt.shape_tuple(shape)
    given = a.strides if strides is None else tuple(operator.index(s) for s in strides)
    if len(given) != len(wanted):
        raise ValueError("strides and shape must have the same length")
    if any(s % a.itemsize for s in given):
        raise ValueError("strides must be multiples of the size of an element")
    steps = tuple(s // a.itemsize for s in given)
    offset, owner = _place(a)
    return strided(owner, offset, wanted, steps, writeable)


def _place(a: ndarray) -> tuple[int, ndarray]:
    """Where an array's first element is among those of the array that owns the memory."""
    owner = base_of(a)
    if owner is None:
        return 0, a
    root = _root(a)
    twin = _twin(a, root)
    if twin is None or not owner.flags.c_contiguous or owner.type.dtype is not a.type.dtype:
        raise ValueError("as_strided: the memory of this array is not in row-major order; copy it")
    start = twin.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return start // a.itemsize, owner


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False,
                        writeable: bool = False) -> ndarray:  # fmt: skip
    """All windows of a shape, a read-only view. See NumPy's, in ``lib.stride_tricks``."""
    a = asarray(x)
    window = dt.shape_tuple(window_shape)
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(a.ndim))
        if len(window) != a.ndim:
            raise ValueError(
                "Since axis is None, must provide window_shape for all dimensions of `x`; got "
                f"{len(window)} window_shape elements and `x.ndim` is {a.ndim}.")
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple(dt.normalize_axis(i, a.ndim) for i in given)
        if len(window) != len(axes):
            raise ValueError(
                "Must provide matching length window_shape and axis; got "
                f"{len(window)} window_shape elements and {len(axes)} axes elements.")
    sizes = list(a.shape)
    for i, n in zip(axes, window):
        if sizes[i] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        sizes[i] -= n - 1
    inner = c_strides(a.shape)
    memory = element_strides(a)
    result = strided(a, 0, (*sizes, *window), (*inner, *(inner[i] for i in axes)), writeable)
    # positions count elements in row-major order; strides are those of the memory
    set_info(result, ViewInfo((*memory, *(memory[i] for i in axes)), result.base, writeable))
    return result


def over_buffer(shape: Any, dtype: Any, buffer: Any, offset: int, strides: Any) -> ndarray:
    """``ndarray(shape, dtype, buffer, ...)``: a view of an array of ours."""
    if not isinstance(buffer, ndarray):
        raise TypeError(
            f"ndarray: the memory of a {type_name(buffer)} cannot be shared this way, expected "
            "an array of this module; use frombuffer or asarray to copy it")
    if not buffer.flags.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    dims = dt.shape_tuple(shape)
    d = dt.internal(dtype)
    flat = view_as(buffer.reshape(-1), d)
    if offset % d.itemsize:
        raise ValueError(f"ndarray: offset {offset} is not a multiple of the element's size")
    steps = c_strides(dims) if strides is None else tuple(s // d.itemsize for s in strides)
    start = offset // d.itemsize
    if start < 0 or strides is None and start + math.prod(dims) > flat.size:
        raise TypeError("buffer is too small for requested array")
    if strides is None:
        return flat[start : start + math.prod(dims)].reshape(dims)  # type: ignore[no-any-return]
    return strided(flat, start, dims, steps)
