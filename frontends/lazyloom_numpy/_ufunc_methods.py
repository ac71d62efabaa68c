"""The methods of ufunc objects: reduce, accumulate, reduceat, outer, at."""

from __future__ import annotations

from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from . import _dtypes as dt
from . import _errstate, _reductions
from ._array import ScalarArray, assign, ndarray, wrap
from ._convert import as_value, host_array, operand, operand_key, value_of
from ._indexing import set_item
from ._ufuncs import _MISSING, cast_output, cast_values, full_value, ufunc

record = lazyloom.record

#: ufuncs without an identity whose order does not matter
_REORDERABLE: Final = frozenset({"maximum", "minimum", "fmax", "fmin"})
#: associative ones that are reduced by halves
_BY_HALVES: Final = frozenset({
    "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "logaddexp",
    "logaddexp2", "logical_xor", "maximum", "minimum"})  # fmt: skip
#: what changes nothing as the second operand of ufuncs without an identity
_NEUTRAL: Final = {"subtract": 0, "divide": 1, "power": 1, "float_power": 1, "left_shift": 0,
                   "right_shift": 0, "lcm": 1}  # fmt: skip


def _check(function: ufunc, method: str) -> None:
    """The errors of functions that have no such method."""
    if function.signature is not None:
        raise RuntimeError(
            "Reduction not defined on ufunc with signature" if method != "outer" else
            "method outer is not allowed in ufunc with non-trivial signature")
    if function.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if function.nout != 1 and method != "outer":
        raise ValueError(f"{method} only supported for functions returning a single value")


def _loop(function: ufunc, source: DType, dtype: Any, method: str) -> tuple[DType, str | None]:
    """The dtype that a method computes in, and the op that does it, if it is one op."""
    name = function.__name__
    wanted = None if dtype is None else dt.internal(dtype)
    if wanted is None and name in ("add", "multiply"):
        wanted = _reductions.summed_in(source)
    plan = function._plan_unchecked((source, source), wanted)
    if name in ("logical_and", "logical_or", "logical_xor"):
        return dt.BOOL, plan.op
    first, second = plan.inputs
    if plan.outputs[0] is not first or first is not second:
        raise TypeError(
            f"The resolved dtypes are not compatible with {name}.{method}. The resulting dtypes "
            f"were ({', '.join(repr(d.numpy) for d in (first, second, plan.outputs[0]))})")
    return first, plan.op if plan.compute is None else None


def _identity(function: ufunc, d: DType) -> Any:
    """The value that changes nothing, as a number of the dtype; None where there is none."""
    identity = {"logaddexp": -onp.inf, "logaddexp2": -onp.inf, "hypot": 0.0}.get(
        function.__name__, function.identity)
    if identity is not None and d.kind == "u" and identity < 0:
        return int(onp.iinfo(d.numpy).max)
    return identity


def reduce(function: ufunc, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool,
           initial: Any, where: Any) -> Any:  # fmt: skip
    """``ufunc.reduce``."""
    _check(function, "reduce")
    name = function.__name__
    given = None if initial is _MISSING else initial
    if name in ("add", "multiply"):
        if initial is None and _empty(array, axis):
            raise ValueError(
                f"zero-size array to reduction operation {name} which has no identity")
        return (_reductions.sum if name == "add" else _reductions.prod)(
            array, axis, dtype, out, keepdims, given, where)
    if name in ("maximum", "minimum") and dtype is None:
        return (_reductions.max if name == "maximum" else _reductions.min)(
            array, axis, out, keepdims, given, where)
    if name in ("logical_and", "logical_or") and given is None and dtype is None:
        return (_reductions.all if name == "logical_and" else _reductions.any)(
            array, axis, out, keepdims, where=where)
    value = value_of(array)
    d, op = _loop(function, value.type.dtype, dtype, "reduce")
    value = cast_values(value, d)
    shape = value.type.shape
    axes = tuple(range(len(shape))) if axis is None else dt.normalize_axes(axis, len(shape))
    identity = _identity(function, d)
    if identity is None and name not in _REORDERABLE and len(axes) > 1:
        raise ValueError(
            f"reduction operation '{name}' is not reorderable, so at most one axis may be "
            "specified")
    if initial is None:
        identity = None
    if where is not True:
        value = _masked(function, value, where, identity, given)
    result = reduced(function, op, value, axes, keepdims, identity, given)
    return _reductions.finish(result, out, name)


def _empty(array: Any, axis: Any) -> bool:
    shape = value_of(array).type.shape
    axes = range(len(shape)) if axis is None else dt.normalize_axes(axis, len(shape))
    return _reductions.any_zero(shape, axes)


def _masked(function: ufunc, value: Any, where: Any, identity: Any, initial: Any) -> Any:
    """The value with what changes nothing where the mask is false."""
    name = function.__name__
    d = value.type.dtype
    neutral = identity
    if neutral is None:
        if initial is None:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask "
                "one has to specify 'initial'")
        neutral = initial if name in _REORDERABLE else _NEUTRAL.get(name)
        if neutral is None:
            raise TypeError(
                f"{name}.reduce: a where mask is supported only for functions that some second "
                "operand makes do nothing")
    other = as_value(operand(neutral), d)
    return record("where", (value_of(where, dt.BOOL), value, other))


def reduced(function: ufunc, op: str | None, value: Any, axes: tuple[int, ...], keepdims: bool,
            identity: Any = None, initial: Any = None) -> Any:  # fmt: skip
    """The function over axes of a Value in the loop's dtype, starting from ``initial``."""
    shape, d = value.type.shape, value.type.dtype
    kept = [i for i in range(len(shape)) if i not in axes]
    value = record("transpose", (value,), {"axes": (*axes, *kept)})
    rest = tuple(shape[i] for i in kept)
    count = 1
    for i in axes:
        count *= shape[i]
    value = record("reshape", (value,), {"shape": (count, *rest)})
    if initial is not None:
        first = record("broadcast_to", (as_value(operand(initial), d),), {"shape": (1, *rest)})
        value = record("concatenate", (first, value), {"axis": 0})
        count += 1
    if count == 0:
        if identity is None:
            raise ValueError(
                f"zero-size array to reduction operation {function.__name__} which has no identity")
        value = full_value(rest, identity, d)
    elif op is None or function.__name__ in _BY_HALVES:
        value = _by_halves(function, value, count)
        value = record("reshape", (value,), {"shape": rest})
    else:
        before = value
        value = record("fold", (value,), {"function": op, "axis": 0})
        value = _errstate.watch_reduction(before, value, (0,), False, "reduce")
    if keepdims:
        full = tuple(1 if i in axes else n for i, n in enumerate(shape))
        value = record("reshape", (value,), {"shape": full})
    return value


def _by_halves(function: ufunc, value: Any, count: int) -> Any:
    while count > 1:
        half = count // 2
        merged = function.compute_values([rows(value, 0, half), rows(value, half, 2 * half)])
        if count % 2:
            merged = record("concatenate", (merged, rows(value, 2 * half, count)), {"axis": 0})
        value, count = merged, half + count % 2
    return value


def rows(value: Any, start: int, stop: int) -> Any:
    """Part of a Value along axis 0."""
    shape = value.type.shape
    return record("slice", (value,), {
        "starts": (start,) + (0,) * (len(shape) - 1), "stops": (stop, *shape[1:]),
        "strides": (1,) * len(shape)})  # fmt: skip


def accumulate(function: ufunc, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.accumulate``."""
    _check(function, "accumulate")
    name = function.__name__
    value = value_of(array)
    if not value.type.shape:
        raise TypeError("cannot accumulate on a scalar")
    op = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}.get(
        name)
    if op is not None and not (op in ("cummax", "cummin") and value.type.dtype.kind == "c"):
        return _reductions.cumulative(op, value, axis, dtype, out)
    d, op = _loop(function, value.type.dtype, dtype, "accumulate")
    value = cast_values(value, d)
    position = dt.normalize_axis(axis, len(value.type.shape))
    if op is not None:
        result = record("running_fold", (value,), {"function": op, "axis": position})
        result = _errstate.watch_reduction(value, result, None, False, "accumulate")
        return _reductions.finish(result, out, name)
    moved = record("moveaxis", (value,), {"source": (position,), "destination": (0,)})
    results = [rows(moved, i, i + 1) for i in range(moved.type.shape[0])]
    for i in range(1, len(results)):
        results[i] = function.compute_values([results[i - 1], results[i]])
    if results:
        value = record("concatenate", results, {"axis": 0})
        value = record("moveaxis", (value,), {"source": (0,), "destination": (position,)})
    return _reductions.finish(value, out, name)


def reduceat(function: ufunc, array: Any, indices: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.reduceat``."""
    _check(function, "reduceat")
    name = function.__name__
    value = value_of(array)
    if not value.type.shape:
        raise TypeError("cannot reduceat on a scalar")
    d, op = _loop(function, value.type.dtype, dtype, "reduceat")
    if op is None:
        raise TypeError(f"{name}.reduceat: not supported for dtype {d.numpy}")
    value = cast_values(value, d)
    position = dt.normalize_axis(axis, len(value.type.shape))
    size = value.type.shape[position]
    known = None if isinstance(indices, lazyloom.Tensor) else host_array(indices)
    if known is not None and not known.size:
        known = known.astype(onp.int64)
    starts = indices.value if known is None else known
    kind = starts.type.dtype.kind if known is None else known.dtype.kind
    if kind not in "iub":
        raise TypeError("Cannot cast array data from the indices' dtype to dtype('int64') "
                        "according to the rule 'safe'")  # fmt: skip
    if known is not None:
        if known.ndim != 1:
            raise ValueError("object of too small depth for desired array" if known.ndim == 0
                             else "object too deep for desired array")
        for i in known:
            if not 0 <= i < size:
                raise IndexError(f"index {int(i)} out-of-bounds in {name}.reduceat [0, {size})")
        if (onp.diff(known) > 0).all() and known.size and name in _SCATTERED:
            result = _scattered(name, value, known.astype(onp.int64), position)
            return _reductions.finish(
                _errstate.watch_reduction(value, result, None, False, "reduceat"), out, name)
        starts = lazyloom.from_host(known.astype(onp.int64))
    result = record("segment_fold", (value, starts), {"function": op, "axis": position})
    result = _errstate.watch_reduction(value, result, None, False, "reduceat")
    return _reductions.finish(result, out, name)


_SCATTERED: Final = {"add": "add", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def _scattered(name: str, value: Any, starts: Any, axis: int) -> Any:
    """Segments in order, as one update of the elements that they start with."""
    shape = value.type.shape
    if value.type.dtype.kind in "bc" and name in ("maximum", "minimum") or (
        value.type.dtype.kind == "b"
    ):
        return record("segment_fold", (value, lazyloom.from_host(starts)), {
            "function": name, "axis": axis})
    first = record("take", (value, lazyloom.from_host(starts)), {"axis": axis})
    others = onp.setdiff1d(onp.arange(starts[0], shape[axis]), starts)
    if not others.size:
        return first
    segment = onp.searchsorted(starts, others, side="right") - 1
    rest = record("take", (value, lazyloom.from_host(others)), {"axis": axis})
    return record("index_update", (first, rest, lazyloom.from_host(segment)), {
        "axes": (axis,), "mode": _SCATTERED[name]})


def outer(function: ufunc, a: Any, b: Any, options: dict[str, Any]) -> Any:
    """``ufunc.outer``."""
    from ._creation import asarray

    if function.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    _check(function, "outer")
    x, y = asarray(a), asarray(b)
    return function(x.reshape(x.shape + (1,) * y.ndim), y, **options)


# ------------------------------------------------------------------------------ at

#: modes of the op that updates all positions at once
_AT_ONCE: Final = {"add": "add", "subtract": "add", "multiply": "multiply", "maximum": "max",
                   "minimum": "min"}  # fmt: skip


def at(function: ufunc, a: Any, indices: Any, b: Any) -> None:
    """``ufunc.at``."""
    name = function.__name__
    if function.signature is not None:
        raise TypeError(
            "ufunc.at does not support ufunc with non-trivial signature: "
            f"{name} has signature {function.signature}.")
    if function.nin > 2 or function.nout > 1:
        raise ValueError("Only single output ufuncs supported at this time")
    if (b is _MISSING) != (function.nin == 1):
        raise ValueError("second operand needed for ufunc" if function.nin == 2 else
                         "second operand provided when ufunc is unary")  # fmt: skip
    if not isinstance(a, ndarray) or type(a) is ScalarArray:
        raise TypeError("first operand must be array")
    target = a.type.dtype
    operands = [a.value] if b is _MISSING else [a.value, operand(b)]
    plan = function._plan_unchecked(tuple(operand_key(x) for x in operands), None)
    loop = plan.inputs[0]
    for d, x in zip(plan.inputs, operands):
        key = operand_key(x)
        if isinstance(key, DType) and not dt.can_cast(key, d, "same_kind"):
            raise dt.UFuncTypeError(
                f"Cannot cast ufunc '{name}' input from {key.numpy!r} to {d.numpy!r} with casting "
                "rule 'same_kind'")
    if not dt.can_cast(plan.outputs[0], target, "same_kind"):
        raise dt.UFuncTypeError(
            f"Cannot cast ufunc '{name}' output from {plan.outputs[0].numpy!r} to "
            f"{target.numpy!r} with casting rule 'same_kind'")
    if name in _AT_ONCE and target.kind not in "b" and loop is target and not (
        target.kind == "c" and name in ("maximum", "minimum")
    ):
        update = as_value(operands[1], target)
        if name == "subtract":
            update = record("negative", (update,))
        set_item(a, indices, wrap(update), mode=_AT_ONCE[name])
        return
    _in_turn(function, plan, a, indices, operands[1:])


def _in_turn(function: ufunc, plan: Any, a: ndarray, indices: Any, others: list[Any]) -> None:
    """The function at one position after the other."""
    op, others = _op_of(function, plan, others)
    loop = plan.inputs[0] if plan.outputs[0] is not dt.BOOL else dt.BOOL
    if op is None or plan.outputs[0] is not loop:
        raise TypeError(
            f"{function.__name__}.at: not supported for dtype {a.dtype}; repeated indices would "
            "have to be taken in turn")
    size = a.type.size
    numbers = ndarray._wrap(lazyloom.from_host(onp.arange(size).reshape(a.shape)))
    chosen = numbers[indices]
    positions = record("reshape", (chosen.value,), {"shape": (chosen.size,)})
    flat = record("reshape", (a.value,), {"shape": (size,)})
    flat = flat if flat.type.dtype is loop else record("cast", (flat,), {"dtype": loop})
    operands = [flat, positions]
    for x in others:
        update = record("broadcast_to", (as_value(x, loop),), {"shape": chosen.shape})
        operands.append(record("reshape", (update,), {"shape": (chosen.size,)}))
    result = record("apply_at", operands, {"function": op})
    result = record("reshape", (result,), {"shape": a.shape})
    assign(a, cast_output(function.__name__, result, a.type.dtype))


def _op_of(function: ufunc, plan: Any, others: list[Any]) -> tuple[str | None, list[Any]]:
    """The op that computes one element, and its further operands."""
    name = function.__name__
    if name in ("degrees", "rad2deg", "radians", "deg2rad"):
        factor = 180.0 / onp.pi if name in ("degrees", "rad2deg") else onp.pi / 180.0
        return "multiply", [factor]
    if name == "rint":
        return "round", others
    return (plan.op if plan.compute is None else None), others
