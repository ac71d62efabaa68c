"""Indexing: ``x[key]`` and ``x[key] = value`` with NumPy's rules.

Integers, slices, ``Ellipsis`` and ``None`` give views. Integer arrays give copies through
``take`` or ``index``. A boolean mask has a result whose shape depends on data, so getting
by a mask reads the mask; setting to something that broadcasts does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as onp

import lazyloom

from . import _dtypes as dt
from ._array import ScalarArray, alias, assign, element_strides, ndarray, wrap
from ._convert import as_value, operand
from ._layout import is_writeable
from ._plans import keep, key_of, known, view_of

record = lazyloom.record
views = lazyloom.views


class _Axis:
    """One entry of a parsed key: what happens to one axis (or a new one)."""

    __slots__ = ("kind", "start", "step", "length", "array")

    def __init__(self, kind: str, start: int = 0, step: int = 1, length: int = 1,
                 array: Any = None) -> None:  # fmt: skip
        self.kind: Final = kind  # "int", "slice", "new" or "array"
        self.start: Final = start
        self.step: Final = step
        self.length: Final = length
        self.array: Final = array  # a Value of integers, for "array"


def _is_array_like(k: Any) -> bool:
    return isinstance(k, (lazyloom.Tensor, onp.ndarray, list, lazyloom.Value))


def _is_mask(k: Any) -> bool:
    if isinstance(k, (bool, onp.bool_)):
        return True
    if isinstance(k, lazyloom.Tensor):
        return k.type.dtype is dt.BOOL
    if isinstance(k, (list, onp.ndarray)):
        return onp.asarray(k).dtype == bool if not _holds_tensor(k) else False
    return False


def _holds_tensor(k: Any) -> bool:
    from ._convert import contains_tensor

    return isinstance(k, list) and contains_tensor(k)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _width(k: Any) -> int:
    """How many axes of the array a key's entry consumes."""
    if k is None or k is Ellipsis:
        return 0
    if _is_mask(k):
        return len(k.type.shape) if isinstance(k, lazyloom.Tensor) else onp.ndim(k)
    return 1


def parse(key: Any, shape: tuple[int, ...]) -> list[_Axis]:
    """The key, entry by entry, with ``Ellipsis`` expanded. Raises IndexError as NumPy."""
    entries = _as_tuple(key)
    ellipses = sum(1 for k in entries if k is Ellipsis)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(map(_width, entries))
    ndim = len(shape)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    if not ellipses:
        entries = (*entries, Ellipsis)
    parsed: list[_Axis] = []
    axis = 0
    for k in entries:
        if k is Ellipsis:
            for _ in range(ndim - used):
                parsed.append(_Axis("slice", length=shape[axis]))
                axis += 1
        elif k is None:
            parsed.append(_Axis("new"))
        elif isinstance(k, slice):
            start, stop, step = _slice_bounds(k, shape[axis])
            length = len(range(start, stop, step))
            parsed.append(_Axis("slice", start if length else 0, step if length else 1, length))
            axis += 1
        elif _is_mask(k):
            for array in _mask_indices(k, shape[axis:], axis):
                parsed.append(_Axis("array", array=array))
                axis += 1
        elif _is_array_like(k):
            parsed.append(_index_entry(k, shape[axis], axis))
            axis += 1
        else:
            parsed.append(_Axis("int", _integer(k, shape[axis], axis)))
            axis += 1
    return parsed


def _slice_bounds(k: slice, n: int) -> tuple[int, int, int]:
    return k.indices(n)


def _integer(k: Any, n: int, axis: int) -> int:
    if type(k) is not int:
        try:
            k = k.__index__()
        except (AttributeError, TypeError):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
                f"integer or boolean arrays are valid indices, not {type(k).__name__}") from None
    if not -n <= k < n:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
    return int(k + n if k < 0 else k)


def _index_entry(k: Any, n: int, axis: int) -> _Axis:
    if isinstance(k, list) and not k:
        k = onp.zeros(0, onp.int64)
    if isinstance(k, onp.ndarray) or (isinstance(k, list) and not _holds_tensor(k)):
        host = onp.asarray(k)
        if host.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        if host.size and (host.min() < -n or host.max() >= n):
            bad = host[(host < -n) | (host >= n)][0]
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {n}")
    value = operand(k)
    if value.type.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return _Axis("array", array=value)


def _mask_indices(k: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    mask = k.read() if isinstance(k, lazyloom.Tensor) else onp.asarray(k)
    _check_mask(mask.shape, shape, axis)
    return [lazyloom.from_host(i) for i in onp.nonzero(mask)]


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    for i, (m, n) in enumerate(zip(mask, shape)):
        if m != n:
            raise IndexError(
                "boolean index did not match indexed array along axis "
                f"{axis + i}; size of axis is {n} but size of corresponding boolean axis is {m}")


# ------------------------------------------------------------------ basic views


def basic(x: ndarray, parsed: list[_Axis]) -> ndarray:
    """The view that the integers, slices and new axes make ("array" entries stay whole)."""
    shape = x.shape
    starts: list[int] = []
    sizes: list[int] = []
    steps: list[int] = []
    out_shape: list[int] = []
    out_strides: list[int] = []
    strides = element_strides(x)
    restricts = reshapes = False
    axis = 0
    for e in parsed:
        if e.kind == "new":
            out_shape.append(1)
            out_strides.append(0)
            reshapes = True
            continue
        n = shape[axis]
        if e.kind == "array":
            starts.append(0), sizes.append(n), steps.append(1)  # type: ignore[func-returns-value]
            out_shape.append(n)
            out_strides.append(strides[axis])
        elif e.kind == "int":
            starts.append(e.start), sizes.append(1), steps.append(1)  # type: ignore[func-returns-value]
            restricts = restricts or n != 1
            reshapes = True
        else:
            starts.append(e.start), sizes.append(e.length), steps.append(e.step)  # type: ignore[func-returns-value]
            restricts = restricts or e.length != n or e.step != 1
            out_shape.append(e.length)
            out_strides.append(strides[axis] * e.step)
        axis += 1
    final = tuple(out_strides)
    result = x
    if restricts:
        middle = tuple(s * t for s, t in zip(strides, steps))
        result = alias(result, views.Slice(tuple(starts), tuple(sizes), tuple(steps)), middle)
    if reshapes or not restricts:
        result = alias(result, views.Reshape(tuple(out_shape)), final)
    return result


def _group_axis(parsed: list[_Axis]) -> int:
    """Where the advanced indices' dimensions go, counted in the basic view's axes."""
    positions = [i for i, e in enumerate(parsed) if e.kind in ("array", "int")]
    if positions[-1] - positions[0] + 1 != len(positions):
        return 0
    return sum(1 for e in parsed[: positions[0]] if e.kind in ("slice", "new"))


def _array_axes(parsed: list[_Axis]) -> tuple[int, ...]:
    kinds = [e.kind for e in parsed if e.kind != "int"]
    return tuple(i for i, kind in enumerate(kinds) if kind == "array")


def get_item(x: ndarray, key: Any) -> Any:
    """``x[key]``."""
    simple = views.index_key(key)
    if simple is not None and type(x) is not ScalarArray:
        plan_key = key_of(x, "index", simple)
        plan = known(plan_key)
        if plan is None:
            return _kept(x, key, plan_key)
        view = view_of(x, plan)
        return ScalarArray._wrap(view.value) if plan.scalar else view
    return _item(x, key)


def _kept(x: ndarray, key: Any, plan_key: Any) -> Any:
    """``x[key]`` for the first time: the way to it is kept."""
    parsed = parse(key, x.shape)
    scalar = all(e.kind == "int" for e in parsed) and Ellipsis not in _as_tuple(key)
    view = basic(x, parsed)
    keep(plan_key, x, view, scalar)
    return ScalarArray._wrap(view.value) if scalar else view


def _basic_target(x: ndarray, simple: Any, key: Any) -> ndarray:
    """The view that ``x[key] = ...`` writes to, for a key with an ``index_key``."""
    plan_key = key_of(x, "index", simple)
    plan = known(plan_key)
    if plan is not None:
        return view_of(x, plan)  # type: ignore[no-any-return]
    _kept(x, key, plan_key)
    return basic(x, parse(key, x.shape))


def _item(x: ndarray, key: Any) -> Any:
    zero_d = _zero_d_mask(key)
    if zero_d is not None:
        rest = tuple(k for k in _as_tuple(key) if k is not zero_d)
        return get_item(x, rest + (Ellipsis,))[None][[0] * int(bool(zero_d))]
    parsed = parse(key, x.shape)
    if all(e.kind != "array" for e in parsed):
        entries = _as_tuple(key)
        if all(e.kind == "int" for e in parsed) and Ellipsis not in entries:
            if not x.shape:
                return ScalarArray._wrap(x.value)
            return ScalarArray._wrap(basic(x, parsed).value)
        return basic(x, parsed)
    source = x if _keeps_everything(parsed, x.shape) else basic(x, parsed)
    axes = _array_axes(parsed)
    indices = [e.array for e in parsed if e.kind == "array"]
    return wrap(_gather(source.value, axes, indices, _group_axis(parsed)))


def _zero_d_mask(key: Any) -> Any:
    for k in _as_tuple(key):
        if isinstance(k, (bool, onp.bool_)):
            return k
        if isinstance(k, (lazyloom.Tensor, onp.ndarray)) and _is_mask(k) and not _width(k):
            return k
    return None


def _broadcast_shape(indices: list[Any]) -> tuple[int, ...]:
    try:
        return onp.broadcast_shapes(*(i.type.shape for i in indices))
    except ValueError:
        shapes = " ".join(str(i.type.shape) for i in indices)
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + shapes) from None


def _gather(value: Any, axes: tuple[int, ...], indices: list[Any], group: int) -> Any:
    """Advanced indexing over ``axes``; the indices' dimensions end up at ``group``."""
    shape = _broadcast_shape(indices)
    if len(axes) == 1:
        result = record("take", (value, indices[0]), {"axis": axes[0]})
        placed = axes[0]
    else:
        result = record("index", (value, *indices), {"axes": axes})
        placed = _index_placement(axes)
    if placed == group or not shape:
        return result
    count = len(shape)
    order = [a for a in range(len(result.type.shape)) if not placed <= a < placed + count]
    moved = order[:group] + list(range(placed, placed + count)) + order[group:]
    return record("transpose", (result,), {"axes": tuple(moved)})


def _index_placement(axes: tuple[int, ...]) -> int:
    """Where the op ``index`` puts the indices' dimensions."""
    return axes[0] if axes[-1] - axes[0] + 1 == len(axes) else 0


# ------------------------------------------------------------------- assignment


def set_item(x: ndarray, key: Any, value: Any, mode: str = "set") -> None:
    """``x[key] = value`` (or, for ``ufunc.at``, an accumulating update)."""
    if not is_writeable(x):
        raise ValueError("assignment destination is read-only")
    simple = views.index_key(key)
    if simple is not None and type(x) is not ScalarArray:
        _set_basic(_basic_target(x, simple, key), value, mode)
        return
    if mode == "set" and _set_by_mask(x, key, value):
        return
    if _zero_d_mask(key) is not None:
        if bool(_zero_d_mask(key)):
            mask = _zero_d_mask(key)
            rest = tuple(k for k in _as_tuple(key) if k is not mask)
            set_item(x, rest + (Ellipsis,), value, mode)
        return
    parsed = parse(key, x.shape)
    if all(e.kind != "array" for e in parsed):
        _set_basic(basic(x, parsed), value, mode)
        return
    whole = _keeps_everything(parsed, x.shape)
    target = x if whole else basic(x, parsed)
    axes = _array_axes(parsed)
    indices = [e.array for e in parsed if e.kind == "array"]
    shape = _broadcast_shape(indices)
    kept = [n for a, n in enumerate(target.shape) if a not in axes]
    group = _group_axis(parsed)
    wanted = (*kept[:group], *shape, *kept[group:])
    update = fitted(value, wanted, target, keep_scalar=True)
    placed = axes[0] if len(axes) == 1 else _index_placement(axes)
    if placed != group and shape and isinstance(update, lazyloom.Value):
        order = list(range(group, group + len(shape)))
        others = [a for a in range(len(wanted)) if a not in order]
        moved = others[:placed] + order + others[placed:]
        update = record("transpose", (update,), {"axes": tuple(moved)})
    assign(target, record("index_update", (target.value, update, *indices),
                          {"axes": axes, "mode": mode}))  # fmt: skip


def _set_basic(target: ndarray, value: Any, mode: str) -> None:
    """Write to a view that an index of integers and slices makes."""
    if value.__class__ is target.__class__ and target._same_place(value):
        # the second half of x[key] += y: the view was written in place already
        return
    if mode != "set":
        from ._ufuncs import TABLE

        name = {"add": "add", "multiply": "multiply", "max": "maximum", "min": "minimum"}[mode]
        assign(target, as_value(TABLE[name](target, value).value, target.type.dtype))
    elif isinstance(value, ndarray) and value._type is target._type:
        assign(target, value.value)
    else:
        assign(target, fitted(value, target.shape, target))


def _keeps_everything(parsed: list[_Axis], shape: tuple[int, ...]) -> bool:
    if len(parsed) != len(shape):
        return False
    return all(e.kind == "array" or (e.kind == "slice" and e.step == 1 and e.length == n)
               for e, n in zip(parsed, shape))


def fitted(
    given: Any, shape: tuple[int, ...], target: Any, keep_scalar: bool = False
) -> Any:
    """What is assigned, cast (as NumPy's assignment casts) and broadcast to a shape.

    With ``keep_scalar`` a number stays a parameter, for ops that broadcast it themselves.
    """
    dtype = target.type.dtype
    x = operand(given)
    if not isinstance(x, lazyloom.Value):
        if isinstance(x, lazyloom.Scalar):
            x = x if x.type.dtype is dtype else dt.unchecked_scalar(x.number, dtype)
        elif dtype.kind in "iub" and not isinstance(x, int):
            if isinstance(x, complex):
                raise TypeError("int() argument must be a real number, not 'complex'")
            x = dt.scalar(int(x) if dtype.kind != "b" else bool(x), dtype)
        elif isinstance(x, complex) and dtype.kind == "f":
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        else:
            x = dt.scalar(x, dtype)
        return x if keep_scalar else record("full", (x,), {"shape": shape})
    value = as_value(x, dtype)
    given_shape = value.type.shape
    if given_shape == shape:
        return value
    while len(given_shape) > len(shape) and given_shape[0] == 1:
        given_shape = given_shape[1:]
    if given_shape != value.type.shape:
        value = record("reshape", (value,), {"shape": given_shape})
    try:
        fits = onp.broadcast_shapes(given_shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {x.type.shape} into shape {shape}")
    if given_shape == shape:
        return value
    return record("broadcast_to", (value,), {"shape": shape})


def _set_by_mask(x: ndarray, key: Any, value: Any) -> bool:
    """``x[mask] = value`` without a read, where the value broadcasts; False otherwise."""
    entries = tuple(k for k in _as_tuple(key) if k is not Ellipsis)
    if len(entries) != 1 or len(entries) != len(_as_tuple(key)) or not _is_mask(entries[0]):
        return False
    mask = operand(entries[0])
    if isinstance(mask, lazyloom.Scalar):
        return False
    if len(mask.type.shape) > x.ndim or not mask.type.shape:
        return False
    _check_mask(mask.type.shape, x.shape, 0)
    rest = x.shape[len(mask.type.shape):]
    given = operand(value)
    dtype = x.type.dtype
    if not isinstance(given, lazyloom.Value):
        filled = fitted(value, (), x, keep_scalar=True)
    else:
        shape = given.type.shape
        while len(shape) > len(rest) and shape[0] == 1:
            shape = shape[1:]
        try:
            if onp.broadcast_shapes(shape, rest) != rest:
                return False
        except ValueError:
            return False
        filled = as_value(given, dtype)
        if shape != given.type.shape:
            filled = record("reshape", (filled,), {"shape": shape})
    if rest:
        mask = record("reshape", (mask,), {"shape": mask.type.shape + (1,) * len(rest)})
    assign(x, record("where", (mask, filled, x.value)))
    return True


# ------------------------------------------------------------------------- flat


class flatiter:
    """A one-dimensional, row-major look at an array, as ``numpy.ndarray.flat``."""

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._next = 0

    @property
    def base(self) -> ndarray:
        return self._array

    def _flat(self) -> ndarray:
        shape = (self._array.size,)
        return ndarray._wrap(record("reshape", (self._array.value,), {"shape": shape}))

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self._flat()[self._next - 1]

    def __getitem__(self, key: Any) -> Any:
        result = self._flat()[key]
        return result if isinstance(result, ScalarArray) else result.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = self._flat()
        if isinstance(flat, ScalarArray):
            flat = ndarray._wrap(flat.value)
        if isinstance(key, slice):
            # NumPy repeats the values to the length of the selection
            n = len(range(*_slice_bounds(key, len(self))))
            from ._creation import asarray
            from ._manipulation import resize

            value = resize(asarray(value).astype(self._array.dtype), (n,))
        flat[key] = value
        shape = self._array.shape
        assign(self._array, record("reshape", (flat.value,), {"shape": shape}))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> onp.ndarray[Any, Any]:
        return self._flat().__array__(dtype)

    def copy(self) -> ndarray:
        return self._flat()


# ------------------------------------------------------------- index helpers


def ix_(*args: Any) -> tuple[Any, ...]:
    """An open mesh from sequences, as ``numpy.ix_``; boolean sequences are read."""
    from ._creation import asarray
    from ._sorting import nonzero

    arrays = []
    for i, given in enumerate(args):
        a = asarray(given)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.size == 0:
            a = a.astype(onp.intp)
        if a.dtype == bool:
            (a,) = nonzero(a)
        arrays.append(a.reshape((1,) * i + (a.size,) + (1,) * (len(args) - i - 1)))
    return tuple(arrays)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Coordinates of flat indices, as ``numpy.unravel_index``."""
    from ._creation import asarray
    from ._ufuncs import TABLE

    rest = asarray(indices).astype(onp.int64)
    dims = dt.shape_tuple(shape)
    coordinates = []
    for n in reversed(dims) if order == "C" else dims:
        coordinates.append(TABLE["remainder"](rest, n))
        rest = TABLE["floor_divide"](rest, n)
    return tuple(reversed(coordinates)) if order == "C" else tuple(coordinates)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Flat indices of coordinates, as ``numpy.ravel_multi_index``."""
    from ._creation import asarray
    from ._ufuncs import TABLE

    shape = dt.shape_tuple(dims)
    strides = onp.cumprod((1, *shape[:0:-1]))[::-1] if order == "C" else onp.cumprod(
        (1, *shape[:-1]))
    total: Any = None
    for coordinate, n, stride in zip(multi_index, shape, strides):
        c = asarray(coordinate).astype(onp.int64)
        if mode == "wrap":
            c = TABLE["remainder"](c, n)
        elif mode == "clip":
            c = c.clip(0, n - 1)
        part = c * int(stride)
        total = part if total is None else total + part
    return total
