"""Indexing: ``x[key]`` and ``x[key] = value`` with NumPy's rules.

Integers, slices, ``Ellipsis`` and ``None`` give views, and so does a number that the device
knows (a 0-d result). Integer arrays give copies through ``take`` or ``index``. A boolean mask
has a result whose shape depends on data: how many elements it has is read. Setting to what
broadcasts reads nothing, nor does ``x[mask] += 1``.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom
from lazyloom.errors import type_name
from lazyloom.frontend import (
    Reshape,
    Select,
    Slice,
    element_starts,
    element_value,
    index_key,
    known_index,
    same_view,
    write_element,
    write_lock,
)

from .._arguments import dtypes as dt
from .._arguments.assigning import assigned, fitted, no_fit_indexed, shape_text
from .._arguments.bounds import check
from .._arguments.convert import as_value, is_number, operand
from .._array.layout import (
    Hidden,
    ViewInfo,
    axis_order,
    is_writeable,
    keep_order,
    ordered_strides,
    set_info,
)  # fmt: skip
from .._array.ndarray import ScalarArray, alias, assign, element_strides, ndarray, wrap
from .._array.plans import keep, key_of, known, view_of
from .._ufuncs.ufunc import TABLE
from .keys import Entry, as_tuple, check_mask, copies, is_mask, parse
from .selection import full_for, select

record = lazyloom.record

# ------------------------------------------------------------------ basic views


def basic(x: ndarray, parsed: list[Entry]) -> ndarray:
    """The view that the integers, slices and new axes make; other entries' axes stay whole."""
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
        if e.kind == "gap":
            continue
        if e.kind == "new" or e.inserted:
            out_shape.append(1)
            out_strides.append(0)
            reshapes = True
            continue
        n = shape[axis]
        if e.kind == "array" or e.kind == "pick":
            start, length, step = 0, n, 1
        else:
            start, length, step = e.start, e.length, e.step
        starts.append(start)
        sizes.append(length)
        steps.append(step)
        restricts = restricts or length != n or step != 1
        if e.kind == "int":
            reshapes = True
        else:
            out_shape.append(length)
            out_strides.append(strides[axis] * step)
        axis += 1
    final = tuple(out_strides)
    # what is indexed is an array, of a scalar too
    result = ndarray.from_value(x.value) if type(x) is ScalarArray else x
    if restricts:
        middle = tuple(s * t for s, t in zip(strides, steps))
        result = alias(result, Slice(tuple(starts), tuple(sizes), tuple(steps)), middle)
    if reshapes or not restricts:
        result = alias(result, Reshape(tuple(out_shape)), final)
    return result


def _view(x: ndarray, parsed: list[Entry]) -> ndarray:
    """The view of a key without arrays: numbers that the device knows are one step each."""
    result = basic(x, parsed)
    axis = len(result.shape)
    for e in reversed(parsed):
        if e.kind == "int" or e.kind == "gap":
            continue
        axis -= 1
        if e.kind == "pick":
            strides = element_strides(result)
            result = alias(result, Select(axis, e.given, e.array),
                           strides[:axis] + strides[axis + 1:])  # fmt: skip
    return result


def _is_scalar(parsed: list[Entry], key: Any) -> bool:
    return all(e.kind in ("int", "pick") for e in parsed) and Ellipsis not in _plain(key)


def _plain(key: Any) -> list[Any]:
    """The items of a key that can be compared with ``in``."""
    return [k for k in as_tuple(key) if k is Ellipsis]


# ------------------------------------------------------------------------ getting


def get_item(x: ndarray, key: Any) -> Any:
    """``x[key]``."""
    if type(key) is ndarray and type(x) is ndarray and not (x.slow_path or key.slow_path):
        t, positions = x.tensor_type, key.tensor_type
        if t.shape and t.shape[0] and positions.shape and positions.dtype.kind in "iu":
            # rows, or elements of a vector
            where = check(key.value, t.shape[0], 0, "index")
            return wrap(record("take", (x.value, where), {"axis": 0}))
    starts = element_starts(key, x.tensor_type.shape)
    if starts is not None:
        return ScalarArray.from_value(element_value(x.value, starts))
    simple = index_key(key)
    if simple is not None and type(x) is not ScalarArray:
        plan_key = key_of(x, "index", simple)
        plan = known(plan_key)
        if plan is None:
            return _kept(x, key, plan_key)
        view = view_of(x, plan)
        return ScalarArray.from_value(view.value) if plan.scalar else view
    return _item(x, key)


def _kept(x: ndarray, key: Any, plan_key: Any) -> Any:
    """``x[key]`` for the first time: the way to it is kept."""
    parsed = parse(key, x.shape)
    scalar = _is_scalar(parsed, key)
    view = basic(x, parsed)
    plan = keep(plan_key, x, view)
    if plan is not None:
        plan.scalar = scalar
    return ScalarArray.from_value(view.value) if scalar else view


def _basic_target(x: ndarray, simple: Any, key: Any) -> ndarray:
    """The view that ``x[key] = ...`` writes to, for a key with an ``index_key``."""
    plan_key = key_of(x, "index", simple)
    plan = known(plan_key)
    if plan is not None:
        return view_of(x, plan)  # type: ignore[no-any-return]
    _kept(x, key, plan_key)
    return basic(x, parse(key, x.shape))


def _item(x: ndarray, key: Any) -> Any:
    mask = _only_mask(key)
    if mask is not None and isinstance(mask, lazyloom.Tensor) and mask.tensor_type.shape:
        if len(mask.tensor_type.shape) <= x.ndim:
            check_mask(mask.tensor_type.shape, x.shape, 0)
            return select(x, mask)
    parsed = parse(key, x.shape)
    if all(e.kind != "array" for e in parsed):
        view = _view(x, parsed)
        if _is_scalar(parsed, key):
            return ScalarArray.from_value(view.value)
        return view.copy("K") if copies(key) else view
    source = x if _keeps_everything(parsed, x.shape) else basic(x, parsed)
    axes, indices, group = _arrays(parsed)
    value = _gather(source.value, axes, indices, group)
    return _laid_out(value, source, axes, indices, group, key)


def _arrays(parsed: list[Entry]) -> tuple[tuple[int, ...], list[Any], int]:
    """The axes of the basic view that arrays index, these, and where their dimensions go.

    The last counts the basic view's axes before them; 0 where something stands between.
    """
    kinds = [e for e in parsed if e.kind != "int" and e.kind != "gap"]
    axes = tuple(i for i, e in enumerate(kinds) if e.kind in ("array", "pick"))
    indices = [e.array for e in kinds if e.kind in ("array", "pick")]
    positions = [i for i, e in enumerate(parsed) if e.kind in ("array", "pick", "int")]
    if positions[-1] - positions[0] + 1 != len(positions):
        return axes, indices, 0
    return axes, indices, sum(1 for e in parsed[: positions[0]] if e.kind in ("slice", "new"))


def _broadcast_shape(indices: list[Any]) -> tuple[int, ...]:
    try:
        return onp.broadcast_shapes(*(i.type.shape for i in indices))
    except ValueError:
        shapes = "".join(shape_text(i.type.shape) + " " for i in indices)
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + shapes) from None


def _gather(value: Any, axes: tuple[int, ...], indices: list[Any], group: int) -> Any:
    """Advanced indexing over ``axes``; the indices' dimensions end up at ``group``."""
    shape = _broadcast_shape(indices)
    if 0 in shape and any(value.type.shape[a] == 0 for a in axes):
        # nothing is taken, not even of an axis without elements
        rest = [n for a, n in enumerate(value.type.shape) if a not in axes]
        wanted = (*rest[:group], *shape, *rest[group:])
        return record("full", (dt.scalar(0, value.type.dtype),), {"shape": wanted})
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


def _laid_out(
    value: Any, source: ndarray, axes: tuple[int, ...], indices: list[Any], group: int, key: Any
) -> Any:
    """The result with the memory order of NumPy's: the indices' dimensions come first, the
    others follow in the order that they have in the source."""
    result = wrap(value)
    shape = value.type.shape
    ndim = len(shape)
    count = max(len(i.type.shape) for i in indices)
    if count == ndim:
        return keep_order(result, *(k for k in as_tuple(key) if isinstance(k, ndarray)))
    if ndim < 2 or not (source.slow_path or (group and count)):
        return result
    rest = [s for a, s in enumerate(element_strides(source)) if a not in axes]
    first = list(range(group, group + count))
    others = [a for a in range(ndim) if a not in first]
    order = [*first, *(others[i] for i in axis_order(tuple(shape[a] for a in others),
                                                     [tuple(rest)]))]  # fmt: skip
    if order != list(range(ndim)):
        base = Hidden([*first, *others]) if group and count else None
        set_info(result, ViewInfo(ordered_strides(shape, order), base, True))
    return result


# ------------------------------------------------------------------------ setting


def set_item(x: ndarray, key: Any, value: Any, mode: str = "set") -> None:
    """``x[key] = value`` (or, for ``ufunc.at``, an accumulating update)."""
    if not is_writeable(x):
        raise ValueError("assignment destination is read-only")
    if mode == "set" and write_element(x, key, value, True):
        return
    key = known_index(key)
    simple = index_key(key)
    if simple is not None and type(x) is not ScalarArray:
        _set_basic(_basic_target(x, simple, key), value, mode, key)
        return
    if mode == "set" and _set_by_mask(x, key, value):
        return
    parsed = parse(key, x.shape)
    if all(e.kind != "array" for e in parsed):
        # views of a scalar result are arrays of their own; its one element is the whole
        _set_basic(x if type(x) is ScalarArray else _view(x, parsed), value, mode, key)
        return
    whole = _keeps_everything(parsed, x.shape)
    target = x if whole else basic(x, parsed)
    axes, indices, group = _arrays(parsed)
    shape = _broadcast_shape(indices)
    kept = [n for a, n in enumerate(target.shape) if a not in axes]
    wanted = (*kept[:group], *shape, *kept[group:])
    update = fitted(value, wanted, target, True, _mask_error(x, key, no_fit_indexed))
    if 0 in wanted:
        return
    placed = axes[0] if len(axes) == 1 else _index_placement(axes)
    if placed != group and shape and isinstance(update, lazyloom.Value):
        order = list(range(group, group + len(shape)))
        others = [a for a in range(len(wanted)) if a not in order]
        moved = others[:placed] + order + others[placed:]
        update = record("transpose", (update,), {"axes": tuple(moved)})
    with write_lock(target):
        assign(target, record("index_update", (target.value, update, *indices),
                              {"axes": axes, "mode": mode}))  # fmt: skip


def _mask_error(x: ndarray, key: Any, otherwise: Any) -> Any:
    """The error where a value does not fit: a mask of all axes has one of its own."""
    mask = _only_mask(key)
    ndim = -1 if mask is None else len(onp.shape(mask) if not isinstance(
        mask, lazyloom.Tensor) else mask.type.shape)

    def error(given: tuple[int, ...], shape: tuple[int, ...]) -> ValueError:
        if ndim != x.ndim or len(given) > 1:
            return otherwise(given, shape)  # type: ignore[no-any-return]
        return ValueError(
            f"NumPy boolean array indexing assignment cannot assign {given[0]} input values to "
            f"the {shape[0]} output values where the mask is true")

    return error


def _set_basic(target: ndarray, value: Any, mode: str, key: Any) -> None:
    """Write to a view that an index of integers and slices makes."""
    if type(value) is type(target) and same_view(target, value):
        # the second half of x[key] += y: the view was written in place already
        return
    if mode != "set":
        name = {"add": "add", "multiply": "multiply", "max": "maximum", "min": "minimum"}[mode]
        with write_lock(target):
            assign(target, as_value(TABLE[name](target, value).value, target.type.dtype))
    elif isinstance(value, ndarray) and value.tensor_type is target.tensor_type:
        assign(target, value.value)
    elif not target.tensor_type.shape and not _plain(key) and _is_sequence(value):
        assign(target, fitted(_element(value, target.tensor_type.dtype), (), target))
    else:
        assign(target, fitted(value, target.shape, target))


def _element(value: Any, dtype: Any) -> bool:
    """A sequence as one element: its truth, or the error that NumPy has for the dtype."""
    listed = isinstance(value, (list, tuple))
    kind = type_name(value)
    if dtype.kind == "b" and (listed or value.size == 1):
        return bool(value)
    if dtype.kind == "c":
        raise TypeError(f"must be real number, not {kind}" if listed else
                        "only 0-dimensional arrays can be converted to Python scalars")  # fmt: skip
    if dtype.kind in "iu" and listed:
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not "
            f"'{kind}'")
    raise ValueError("setting an array element with a sequence.")


def _is_sequence(value: Any) -> bool:
    if isinstance(value, lazyloom.Tensor):
        return bool(value.tensor_type.shape)
    return isinstance(value, (list, tuple)) or isinstance(value, onp.ndarray) and value.ndim > 0


def _keeps_everything(parsed: list[Entry], shape: tuple[int, ...]) -> bool:
    if len(parsed) != len(shape):
        return False
    return all(
        e.kind == "array" and not e.inserted or e.kind == "pick"
        or (e.kind == "slice" and e.step == 1 and e.length == n)
        for e, n in zip(parsed, shape))


def _only_mask(key: Any) -> Any:
    """The mask of a key that is nothing else, save an Ellipsis after it; or None."""
    items = as_tuple(key)
    if len(items) == 2 and items[1] is Ellipsis:
        items = items[:1]
    if len(items) != 1 or not is_mask(items[0]):
        return None
    return items[0]


def _set_by_mask(x: ndarray, key: Any, value: Any) -> bool:
    """``x[mask] = value`` without a read, where the value broadcasts; False otherwise."""
    given_mask = _only_mask(key)
    if given_mask is None:
        return False
    if isinstance(given_mask, (bool, onp.bool_)) and is_number(given_mask):
        given_mask = onp.array(given_mask)
    mask = operand(given_mask)
    if len(mask.type.shape) > x.ndim:
        return False
    check_mask(mask.type.shape, x.shape, 0)
    with write_lock(x):
        full = full_for(value, x, mask)
        if full is not None:
            assign(x, full)
            return True
    rest = x.shape[len(mask.type.shape):]
    filled = assigned(value, x.type.dtype)
    if isinstance(filled, lazyloom.Value):
        original = shape = filled.type.shape
        while len(shape) > len(rest) and shape[0] == 1:
            shape = shape[1:]
        if len(shape) > len(rest) or any(
            a not in (1, b) for a, b in zip(reversed(shape), reversed(rest))
        ):
            return False
        if shape != original:
            filled = record("reshape", (filled,), {"shape": shape})
    if rest:
        mask = record("reshape", (mask,), {"shape": mask.type.shape + (1,) * len(rest)})
    with write_lock(x):
        assign(x, record("where", (mask, filled, x.value)))
    return True
