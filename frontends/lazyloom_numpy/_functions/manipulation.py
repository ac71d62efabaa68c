"""Shapes and layouts: views where NumPy gives views, copies where it copies."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.errors import type_name
from lazyloom.frontend import Bitcast, Broadcast, Diagonal, Permute, Reshape, one_step

from .._arguments import dtypes as dt
from .._arguments.assigning import fitted, shape_text
from .._arguments.convert import argument, operand, operand_key, value_of
from .._arguments.options import memory_order
from .._array.array_api import elsewhere, onto
from .._array.hosted import again
from .._array.layout import axis_order, hide_owner
from .._array.ndarray import (
    ScalarArray,
    alias,
    assign,
    c_strides,
    element_strides,
    ndarray,
)  # fmt: skip
from .._array.plans import keep, key_of, known, view_of

record = lazyloom.record
_INT = frozenset({int})


def _array(a: Any) -> ndarray:
    if isinstance(a, ndarray):
        return a
    return ndarray.from_value(argument(a))


# ------------------------------------------------------------------------ reshape


def reshape_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides that make a reshape a view, or None where NumPy has to copy."""
    if 0 in wanted:
        return c_strides(wanted)
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    result: list[int] = []
    i = j = 0
    while i < len(old) and j < len(wanted):
        old_count, new_count = old[i][0], wanted[j]
        oi, nj = i + 1, j + 1
        while old_count != new_count:
            if new_count < old_count:
                new_count *= wanted[nj]
                nj += 1
            else:
                old_count *= old[oi][0]
                oi += 1
        for k in range(i, oi - 1):
            if old[k][1] != old[k + 1][0] * old[k + 1][1]:
                return None
        step = old[oi - 1][1]
        part = []
        for n in reversed(wanted[j:nj]):
            part.append(step)
            step *= n
        result += reversed(part)
        i, j = oi, nj
    last = result[-1] if result else 1
    result += [last] * (len(wanted) - len(result))
    return tuple(result)


def resolve_shape(shape: Any, size: int) -> tuple[int, ...]:
    """A shape for that many elements, of which one size may be unknown (negative)."""
    if hasattr(shape, "__index__") and not (isinstance(shape, ndarray) and shape.shape):
        shape = (shape,)
    dims = tuple(operator.index(n) for n in shape)
    dt.check_dimensions(len(dims))
    unknown = [i for i, n in enumerate(dims) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = math.prod(n for n in dims if n >= 0)
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape_text(dims)}")
        dims = tuple(size // known if n < 0 else n for n in dims)
    if math.prod(dims) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape_text(dims)}")
    return dims


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> ndarray:
    """The same elements in another shape, a view where possible. See ``numpy.reshape``."""
    try:
        x = _array(a)
    except dt.HostOnly:
        return again("reshape", a, shape, order=order, copy=copy)  # type: ignore[no-any-return]
    if order == "C" and copy is None and type(x) is ndarray:
        wanted = (shape,) if type(shape) is int else shape
        if type(wanted) is tuple and {*map(type, wanted)} <= _INT:
            key = key_of(x, "reshape", wanted)
            plan = known(key)
            if plan is not None:
                return view_of(x, plan)  # type: ignore[no-any-return]
            made = _reshape(x, wanted, order, copy)
            keep(key, x, made)
            return made
    return _reshape(x, shape, order, copy)


def _reshape(x: ndarray, shape: Any, order: str, copy: bool | None) -> ndarray:
    order = memory_order(order)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if order == "F" or (order == "A" and x.flags.fnc):
        wanted = resolve_shape(shape, x.size)
        return transpose(reshape(transpose(x), wanted[::-1], copy=copy))
    wanted = resolve_shape(shape, x.size)
    strides = None if copy else reshape_strides(x.shape, element_strides(x), wanted)
    if strides is None:
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return hide_owner(ndarray.from_value(record("reshape", (x.value,), {"shape": wanted})))
    return alias(x, Reshape(wanted), strides)


def ravel(a: Any, order: str = "C") -> ndarray:
    """One-dimensional, a view where possible. See ``numpy.ravel``."""
    x = _array(a)
    order = memory_order(order)
    if order == "K":
        return ravel(transpose(x, axis_order(x.shape, [element_strides(x)])))
    if order in ("F", "A") and (order == "F" or x.flags.fnc):
        return ravel(transpose(x))
    if x.flags.c_contiguous:
        return alias(x, Reshape((x.size,)), (1,))
    return ndarray.from_value(record("reshape", (x.value,), {"shape": (x.size,)}))


def view_as(x: ndarray, dtype: Any) -> ndarray:
    """``ndarray.view``."""
    if dtype is None or dt.internal(dtype) is x.type.dtype:
        return alias(x, Reshape(x.shape), element_strides(x))
    target, source = dt.internal(dtype), x.type.dtype
    strides = element_strides(x)
    if target.itemsize == source.itemsize:
        return alias(x, Bitcast(target), strides)
    if not x.shape or (strides[-1] != 1 and x.shape[-1] != 1):
        raise ValueError(
            "To change to a dtype of a different size, the last axis must be contiguous" if x.shape
            else "Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if target.itemsize < source.itemsize:
        ratio = source.itemsize // target.itemsize
        whole = (*x.shape[:-1], x.shape[-1] * ratio)
        outer = tuple(s * ratio for s in strides[:-1])
        result = alias(x, Bitcast(target), (*outer, ratio, 1))
        return alias(result, Reshape(whole), (*outer, 1))
    ratio = target.itemsize // source.itemsize
    if x.shape[-1] % ratio:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array.")
    split_ = (*x.shape[:-1], x.shape[-1] // ratio, ratio)
    result = alias(x, Reshape(split_), (*strides[:-1], ratio, 1))
    return alias(result, Bitcast(target), (*(s // ratio for s in strides[:-1]), 1))


def squeeze(a: Any, axis: Any = None) -> ndarray:
    """Axes of size 1 taken out; a view. See ``numpy.squeeze``."""
    x = _array(a)
    if axis is None or not x.ndim and axis in (0, -1):  # as NumPy has it for no dimensions
        axes = tuple(i for i, n in enumerate(x.shape) if n == 1)
    else:
        axes = dt.normalize_axes(axis, x.ndim)
        if any(x.shape[i] != 1 for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not axes:
        return x
    kept = [i for i in range(x.ndim) if i not in axes]
    strides = element_strides(x)
    return alias(x, Reshape(tuple(x.shape[i] for i in kept)),
                 tuple(strides[i] for i in kept))  # fmt: skip


def expand_dims(a: Any, axis: Any) -> ndarray:
    """New axes of size 1; a view. See ``numpy.expand_dims``."""
    x = _array(a)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x.ndim + len(given)
    axes = dt.normalize_axes(given, ndim)
    shape = iter(x.shape)
    return reshape(x, tuple(1 if i in axes else next(shape) for i in range(ndim)))


def atleast_1d(*arys: Any) -> Any:
    """Each argument with at least one dimension. See ``numpy.atleast_1d``."""
    results = tuple(x if x.ndim else x.reshape(1) for x in map(_array, arys))
    return results[0] if len(results) == 1 else results


def atleast_2d(*arys: Any) -> Any:
    """Each argument with at least two dimensions. See ``numpy.atleast_2d``."""
    results = tuple(
        x if x.ndim >= 2 else expand_dims(atleast_1d(x), 0) for x in map(_array, arys))
    return results[0] if len(results) == 1 else results


def atleast_3d(*arys: Any) -> Any:
    """Each argument with at least three dimensions. See ``numpy.atleast_3d``."""
    results = tuple(x if x.ndim >= 3 else expand_dims(atleast_2d(x), 2) for x in map(_array, arys))
    return results[0] if len(results) == 1 else results


# ---------------------------------------------------------------------- transpose


def transpose(a: Any, axes: Any = None) -> ndarray:
    """Axes in another order (reversed for None); a view. See ``numpy.transpose``."""
    x = _array(a)
    if type(x) is ndarray and (
        axes is None or type(axes) is tuple and {*map(type, axes)} <= _INT
    ):
        key = key_of(x, "transpose", axes)
        plan = known(key)
        if plan is not None:
            return view_of(x, plan)  # type: ignore[no-any-return]
        made = _transpose(x, axes)
        keep(key, x, made)
        return made
    return _transpose(x, axes)


def _transpose(x: ndarray, axes: Any) -> ndarray:
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        given = tuple(axes)
        if len(given) != x.ndim:
            raise ValueError("axes don't match array")
        order = tuple(dt.normalize_axis(a, x.ndim) for a in given)
        if len(set(order)) != len(order):
            raise ValueError("repeated axis in transpose")
    strides = element_strides(x)
    if order == tuple(range(x.ndim)):
        return alias(x, Reshape(x.shape), strides)
    return alias(x, Permute(order), tuple(strides[i] for i in order))


permute_dims = transpose


def matrix_transpose(x: Any, /) -> ndarray:
    """The last two axes swapped. See ``numpy.matrix_transpose``."""
    return _array(x).mT


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Two axes swapped; a view. See ``numpy.swapaxes``."""
    x = _array(a)
    order = list(range(x.ndim))
    i, j = dt.normalize_axis(axis1, x.ndim, "axis1"), dt.normalize_axis(axis2, x.ndim, "axis2")
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> ndarray:
    """Axes moved to other positions; a view. See ``numpy.moveaxis``."""
    x = _array(a)
    origin = dt.normalize_axes(source, x.ndim, "source")
    target = dt.normalize_axes(destination, x.ndim, "destination")
    if len(origin) != len(target):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(x.ndim) if i not in origin]
    for to, from_ in sorted(zip(target, origin)):
        order.insert(to, from_)
    return transpose(x, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> ndarray:
    """An axis moved before position start. See ``numpy.rollaxis``."""
    x = _array(a)
    i = dt.normalize_axis(axis, x.ndim)
    to = start + x.ndim if start < 0 else start
    if not 0 <= to <= x.ndim:
        raise dt.AxisError(start, x.ndim, "start")
    return moveaxis(x, i, to - 1 if i < to else to)


def flip(m: Any, axis: Any = None) -> Any:
    """The elements along axes in reverse; a view. See ``numpy.flip``."""
    x = _array(m)
    axes = range(x.ndim) if axis is None else dt.normalize_axes(axis, x.ndim)
    key = tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))
    return x[key]


def fliplr(m: Any) -> Any:
    """Columns in reverse. See ``numpy.fliplr``."""
    if _array(m).ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Rows in reverse. See ``numpy.flipud``."""
    if _array(m).ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Rotated by 90 degrees k times; a view. See ``numpy.rot90``."""
    x = _array(m)
    given = tuple(axes)
    if len(given) != 2:
        raise ValueError("len(axes) must be 2.")
    i, j = (dt.normalize_axis(a, x.ndim) for a in given)
    if i == j:
        raise ValueError("Axes must be different.")
    k %= 4
    if k == 0:
        return x[...]
    if k == 2:
        return flip(flip(x, i), j)
    order = list(range(x.ndim))
    order[i], order[j] = order[j], order[i]
    return transpose(flip(x, j), order) if k == 1 else flip(transpose(x, order), j)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """The diagonal of two axes; a read-only view. See ``numpy.diagonal``."""
    x = _array(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = dt.normalize_axis(axis1, x.ndim, "axis1"), dt.normalize_axis(axis2, x.ndim, "axis2")
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    return diagonal_view(x, int(offset), i, j, False)


def diagonal_view(x: ndarray, offset: int, i: int, j: int, writeable: bool) -> ndarray:
    """The diagonal of two axes, as the last axis of a view."""
    strides = element_strides(x)
    rest = [s for n, s in enumerate(strides) if n not in (i, j)]
    step = Diagonal(offset, i, j)
    return alias(x, step, (*rest, strides[i] + strides[j]), writeable)


# ---------------------------------------------------------------------- broadcast


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> ndarray:
    """The array repeated to a shape; a read-only view. See ``numpy.broadcast_to``."""
    x = _array(array)
    wanted = dt.shape_tuple(shape)
    try:
        fits = onp.broadcast_shapes(x.shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            "input operand has more dimensions than allowed by the axis remapping"
            if x.ndim > len(wanted) else
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{shape_text(x.shape)}  and requested shape {shape_text(wanted)}")
    extra = len(wanted) - x.ndim
    strides = (0,) * extra + tuple(
        0 if n == 1 != w else s for n, s, w in zip(x.shape, element_strides(x), wanted[extra:]))
    if wanted == x.shape:
        if type(x) is ScalarArray:  # an array of it, not a scalar
            x = ndarray.from_value(x.value)
        return alias(x, Reshape(wanted), strides, False)
    return alias(x, Broadcast(wanted), strides, False)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[ndarray, ...]:
    """All arguments broadcast to their common shape. See ``numpy.broadcast_arrays``."""
    arrays = [_array(a) for a in args]
    shape = onp.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(x if x.shape == shape and type(x) is not ScalarArray else broadcast_to(x, shape)
                 for x in arrays)


broadcast_shapes = onp.broadcast_shapes


@one_step
def copyto(dst: ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write ``src`` into ``dst``, where a mask says so. See ``numpy.copyto``."""
    x = operand(src)
    key = operand_key(x)
    d = key if isinstance(key, DType) else dt.DEFAULT_OF_WEAK[key]
    if not dt.can_cast(d, dst.type.dtype, casting) and (
        isinstance(key, DType) or not dt.can_cast(d, dst.type.dtype, "same_kind")
    ):
        raise TypeError(f"Cannot cast array data from {d.numpy!r} to {dst.dtype!r} according to "
                        f"the rule '{casting}'")  # fmt: skip
    value = fitted(src, dst.shape, dst)
    if where is not True:
        value = record("where", (value_of(where, dt.BOOL), value, dst.value))
    assign(dst, value)


# ------------------------------------------------------------- splitting, repeating


def _cuts(given: Any) -> list[int] | None:
    """Where to split; None where it is a number of parts, which has no length."""
    try:
        len(given)
    except TypeError:
        return None
    if isinstance(given, ndarray):
        given = given.tolist()
    return [operator.index(i) for i in given]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Parts (views) at indices, or of nearly equal size. See ``numpy.array_split``."""
    x = _array(ary)
    position = dt.normalize_axis(axis, x.ndim)
    n = x.shape[position]
    cuts = _cuts(indices_or_sections)
    if cuts is None:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + each + (i < extra))
    else:
        bounds = [0, *cuts, n]
    before = (slice(None),) * position
    return [x[(*before, slice(a, b))] for a, b in zip(bounds[:-1], bounds[1:])]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Parts (views) at indices, or of equal size. See ``numpy.split``."""
    if _cuts(indices_or_sections) is None:
        n = _array(ary).shape[axis]
        if n % int(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split along columns. See ``numpy.hsplit``."""
    x = _array(ary)
    if not x.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split along rows. See ``numpy.vsplit``."""
    if _array(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split along the third axis. See ``numpy.dsplit``."""
    if _array(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """The slices along an axis. See ``numpy.unstack``."""
    a = _array(x)
    if not a.ndim:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(a, axis, 0))


def take_host(x: ndarray, order: Any, axis: int) -> ndarray:
    """``take`` of indices that are known on the host."""
    indices = lazyloom.from_host(onp.ascontiguousarray(order, dtype=onp.int64))
    return ndarray.from_value(record("take", (x.value, indices), {"axis": axis}))


def tile(A: Any, reps: Any) -> ndarray:
    """The whole array repeated along axes. See ``numpy.tile``."""
    x = _array(A)
    counts = dt.shape_tuple(reps)
    if len(counts) < x.ndim:
        counts = (1,) * (x.ndim - len(counts)) + counts
    elif len(counts) > x.ndim:
        x = x.reshape((1,) * (len(counts) - x.ndim) + x.shape)
    return ndarray.from_value(record("tile", (x.value,), {"repeats": counts}))


def resize(a: Any, new_shape: Any) -> ndarray:
    """Another size: the elements are repeated or cut. See ``numpy.resize``."""
    x = ravel(a)
    dims = dt.shape_tuple(new_shape)
    size = math.prod(dims)
    if x.size == 0 or size == 0:
        return ndarray.from_value(record("full", (dt.scalar(0, x.type.dtype),), {"shape": dims}))
    if size > x.size:
        x = tile(x, -(-size // x.size))
    return reshape(x[:size], dims).copy()


def _plain(numbers: Any) -> Any:
    """Python's numbers for those of an array (reads); what is none as it is."""
    given = isinstance(numbers, (ndarray, onp.ndarray)) and numbers.ndim
    return numbers.tolist() if given else numbers


def roll(a: Any, shift: Any, axis: Any = None) -> ndarray:
    """Elements moved along axes, those that fall off re-enter. See ``numpy.roll``."""
    x = _array(a)
    shift, axis = _plain(shift), _plain(axis)
    if axis is None:
        total = sum(shift) if isinstance(shift, (tuple, list)) else shift
        attributes: dict[str, Any] = {"shifts": (int(total),), "axes": None}
        return ndarray.from_value(record("roll", (x.value,), attributes))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    if len(axes) != len(shifts):
        axes = axes * len(shifts) if len(axes) == 1 else axes
        shifts = shifts * len(axes) if len(shifts) == 1 else shifts
        if len(axes) != len(shifts):
            raise ValueError(
                "shape mismatch: objects cannot be broadcast to a single shape: as many shifts as "
                f"axes are expected, got {len(shifts)} and {len(axes)}")
    moved = [0] * x.ndim
    for s, i in zip(shifts, axes):
        moved[dt.normalize_axis(i, x.ndim)] += int(s)
    used = tuple(i for i, s in enumerate(moved) if s) or (0,) * bool(x.ndim)
    attributes = {"shifts": tuple(moved[i] for i in used), "axes": used}
    return ndarray.from_value(record("roll", (x.value,), attributes))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The array in another dtype. See ``numpy.astype``."""
    if device is not None and elsewhere(device, "astype"):
        return onto(device, astype(x, dtype, copy=copy))
    if not isinstance(x, ndarray):
        raise TypeError(f"astype: x is a {type_name(x)}, expected an array")
    return x.astype(dtype, copy=copy)


def isfortran(a: ndarray) -> bool:
    """Whether the strides are column-major and not row-major. See ``numpy.isfortran``."""
    return a.flags.fnc


def shape(a: Any) -> tuple[int, ...]:
    """The shape. See ``numpy.shape``."""
    return a.shape if isinstance(a, ndarray) else tuple(value_of(a).type.shape)


def ndim(a: Any) -> int:
    """The number of dimensions. See ``numpy.ndim``."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, along an axis or axes if given. See ``numpy.size``."""
    dims = shape(a)
    axes = range(len(dims)) if axis is None else dt.normalize_axes(axis, len(dims))
    return math.prod(dims[i] for i in axes)
