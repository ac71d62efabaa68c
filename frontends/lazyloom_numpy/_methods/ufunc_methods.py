"""The methods of ufunc objects: reduce, accumulate, reduceat, outer, at."""

from __future__ import annotations

from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.frontend import write_lock

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, contains_tensor, host_array, operand, value_of
from .._array.ndarray import ScalarArray, assign, ndarray, wrap
from .._functions import reductions
from .._functions.creation import asarray
from .._indexing.items import set_item
from .._ufuncs import errstate
from .._ufuncs.folds import reduced, rows
from .._ufuncs.outputs import finish, writing
from .._ufuncs.ufunc import MISSING, cast_values, ufunc

record = lazyloom.record

#: ufuncs without an identity whose order does not matter
_REORDERABLE: Final = frozenset({"maximum", "minimum", "fmax", "fmin"})
#: what changes nothing as the second operand of ufuncs without an identity
_NEUTRAL: Final = {"subtract": 0, "divide": 1, "power": 1, "float_power": 1, "left_shift": 0,
                   "right_shift": 0, "lcm": 1}  # fmt: skip


def _check(function: ufunc, method: str) -> None:
    """The errors of functions that have no such method."""
    if function.signature is not None:
        if method == "outer":
            raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if function.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if function.nout != 1 and method != "outer":
        raise ValueError(f"{method} only supported for functions returning a single value")


def _loop(
    function: ufunc, source: DType, dtype: Any, method: str
) -> tuple[DType, DType, str | None]:
    """The dtypes of a running result and of what it meets, and the op that does it, if it is
    one op."""
    name = function.__name__
    wanted = None if dtype is None else dt.internal(dtype)
    if wanted is None and name in ("add", "multiply"):
        wanted = reductions.summed_in(source)
    given = source if wanted is None else wanted
    plan = function._plan_unchecked((given, given), wanted)
    if name in ("logical_and", "logical_or", "logical_xor"):
        return dt.BOOL, dt.BOOL, plan.op
    first, second = plan.inputs
    if plan.outputs[0] is not first or first is not second and method != "reduce":
        raise TypeError(
            f"The resolved dtypes are not compatible with {name}.{method}. The resulting dtypes "
            f"were ({', '.join(repr(d.numpy) for d in (first, second, plan.outputs[0]))})")
    return first, second, _op_of(plan) if first is second else None


def _op_of(plan: Any) -> str | None:
    """The one op that computes an element."""
    # what else integer powers record looks at the exponents, and is left out here
    return plan.op if plan.compute is None or plan.op == "power" else None


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
    given = None if initial is MISSING else initial
    if name in ("add", "multiply"):
        if initial is None and _empty(array, axis):
            raise ValueError(
                f"zero-size array to reduction operation {name} which has no identity")
        return (reductions.sum if name == "add" else reductions.prod)(
            array, axis, dtype, out, keepdims, given, where)
    if name in ("maximum", "minimum") and dtype is None:
        return (reductions.max if name == "maximum" else reductions.min)(
            array, axis, out, keepdims, given, where)
    if name in ("logical_and", "logical_or") and given is None and dtype is None:
        return (reductions.all if name == "logical_and" else reductions.any)(
            array, axis, out, keepdims, where=where)
    value = value_of(array)
    d, second, op = _loop(function, value.type.dtype, dtype, "reduce")
    value = cast_values(value, second)
    shape = value.type.shape
    axes = tuple(range(len(shape))) if axis is None else dt.normalize_axes(axis, len(shape))
    identity = None if initial is None else _identity(function, d)
    if _identity(function, d) is None and name not in _REORDERABLE and len(axes) > 1:
        raise ValueError(
            f"reduction operation '{name}' is not reorderable, so at most one axis may be "
            "specified")
    mask = None
    if where is not True:
        if identity is None and given is None:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask "
                "one has to specify 'initial'")
        neutral = given if name in _REORDERABLE else _NEUTRAL.get(name, identity)
        mask = value_of(where, dt.BOOL)
        if neutral is not None and d is second:
            value = record("where", (mask, value, as_value(operand(neutral), d)))
            mask = None
    result = reduced(function, op, value, axes, keepdims, identity, given, mask, d)
    return finish(result, out, name)


def _empty(array: Any, axis: Any) -> bool:
    shape = value_of(array).type.shape
    axes = range(len(shape)) if axis is None else dt.normalize_axes(axis, len(shape))
    return reductions.any_zero(shape, axes)


def accumulate(function: ufunc, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.accumulate``."""
    _check(function, "accumulate")
    with writing(out):
        return _accumulated(function, array, axis, dtype, out)


def _accumulated(function: ufunc, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    name = function.__name__
    value = value_of(array)
    if not value.type.shape:
        raise TypeError("cannot accumulate on a scalar")
    op = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}.get(
        name)
    if op is not None and not (op in ("cummax", "cummin") and value.type.dtype.kind == "c"):
        return reductions.cumulative(op, value, axis, dtype, out)
    d, _, op = _loop(function, value.type.dtype, dtype, "accumulate")
    value = cast_values(value, d)
    position = dt.normalize_axis(axis, len(value.type.shape))
    if op is not None:
        result = record("running_fold", (value,), {"function": op, "axis": position})
        result = errstate.watch_reduction(value, result, None, False, "accumulate")
        return finish(result, out, name)
    moved = record("moveaxis", (value,), {"source": (position,), "destination": (0,)})
    results = [rows(moved, i, i + 1) for i in range(moved.type.shape[0])]
    for i in range(1, len(results)):
        results[i] = function.compute_values([results[i - 1], results[i]])
    if results:
        value = record("concatenate", results, {"axis": 0})
        value = record("moveaxis", (value,), {"source": (0,), "destination": (position,)})
    return finish(value, out, name)


def reduceat(function: ufunc, array: Any, indices: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.reduceat``."""
    _check(function, "reduceat")
    name = function.__name__
    value = value_of(array)
    if not value.type.shape:
        raise TypeError("cannot reduceat on a scalar")
    position = dt.normalize_axis(axis, len(value.type.shape))
    size = value.type.shape[position]
    known = None if isinstance(indices, lazyloom.Tensor) else host_array(indices)
    if known is not None and not known.size:
        known = known.astype(onp.int64)
    ndim = indices.ndim if known is None else known.ndim
    if ndim != 1:
        raise ValueError("object of too small depth for desired array" if ndim == 0
                         else "object too deep for desired array")
    if known is None:
        starts = _checked_starts(cast_values(indices.value, dt.INT64), size, position, name)
    else:
        known = known.astype(onp.int64)
        starts = lazyloom.from_host(known)
        _in_range(known, size, name)
    d, _, op = _loop(function, value.type.dtype, dtype, "reduceat")
    value = cast_values(value, d)
    if op is None:
        if known is None:
            raise TypeError(
                f"{name}.reduceat: of dtype {d.numpy} it takes only indices that the host knows; "
                "read them first")
        return finish(_part_by_part(function, value, known, position), out, name)
    result = record("segment_fold", (value, starts), {"function": op, "axis": position})
    result = errstate.watch_reduction(value, result, None, False, "reduceat")
    return finish(result, out, name)


def _in_range(numbers: Any, size: int, name: str) -> None:
    for bad in [i for i in numbers if not 0 <= i < size][:1]:
        raise IndexError(f"index {int(bad)} out-of-bounds in {name}.reduceat [0, {size})")


def _checked_starts(starts: Any, size: int, axis: int, name: str) -> Any:
    """Starts that the device knows; out of range they are an error of who reads the result."""
    known = lazyloom.known_range(starts)
    if known is not None:
        _in_range(known, size, name)
    if known is not None or not starts.type.size or not size:
        return starts
    negative = record("less", (starts, dt.scalar(0, dt.INT64)))
    moved = record("subtract", (starts, dt.scalar(size, dt.INT64)))
    flag = record(
        "first_out_of_range", (record("where", (negative, moved, starts)),), {"size": size})
    return record("checked", (starts, flag), {
        "kind": "index", "of": f"{name}.reduceat", "info": (axis, size)})[0]


def _part_by_part(function: ufunc, value: Any, starts: Any, axis: int) -> Any:
    """Segments one after the other, for functions of several ops."""
    moved = record("moveaxis", (value,), {"source": (axis,), "destination": (0,)})
    size, parts = moved.type.shape[0], [rows(moved, 0, 0)]
    for first, after in zip(starts, [*starts[1:], size]):
        segment = rows(moved, int(first), int(max(after, first + 1)))
        parts.append(reduced(function, None, segment, (0,), True))
    joined = record("concatenate", parts, {"axis": 0})
    return record("moveaxis", (joined,), {"source": (0,), "destination": (axis,)})


def outer(function: ufunc, a: Any, b: Any, options: dict[str, Any]) -> Any:
    """``ufunc.outer``."""
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
    if (b is MISSING) != (function.nin == 1):
        raise ValueError("second operand needed for ufunc" if function.nin == 2 else
                         "second operand provided when ufunc is unary")  # fmt: skip
    if isinstance(a, onp.ndarray):
        raise dt.HostOnly(f"{name}.at: the array is NumPy's, which NumPy writes to")
    if not isinstance(a, ndarray) or type(a) is ScalarArray:
        raise TypeError("first operand must be array")
    # the second operand is no weak number here, and everything is cast as it has to be
    operands = [a.value] if b is MISSING else [a.value, value_of(b)]
    plan = function._plan_unchecked(tuple([x.type.dtype for x in operands]), None)
    if _at_once(name, plan, *operands):
        update = as_value(operands[1], a.type.dtype)
        if name == "subtract":
            update = record("negative", (update,))
        set_item(a, indices, wrap(update), mode=_AT_ONCE[name])
    else:
        _in_turn(function, plan, a, indices, operands[1:])


def _at_once(name: str, plan: Any, x: Any, update: Any = None) -> bool:
    """Whether one scatter does what NumPy does position after position.

    An update of a wider dtype of the same kind is rounded once, before it is used.
    """
    if name not in _AT_ONCE or plan.compute is not None:
        return False
    mine, other, loop = x.type.dtype, update.type.dtype, plan.inputs[0]
    if mine.kind == "b" or mine.kind == "c" and name in ("maximum", "minimum"):
        return False
    if name in ("maximum", "minimum"):
        return bool(loop is mine)
    return loop is mine or mine.kind == other.kind or mine.is_integer and other.is_integer


def _in_turn(function: ufunc, plan: Any, a: ndarray, indices: Any, others: list[Any]) -> None:
    """The function at one position after the other."""
    with write_lock(a):
        _one_by_one(function, plan, a, indices, others)


def _one_by_one(
    function: ufunc, plan: Any, a: ndarray, indices: Any, others: list[Any]
) -> None:
    op, loop = _op_of(plan), plan.inputs[0]
    name = function.__name__
    second = plan.inputs[-1]
    if name in _SCALES:
        op, others = "multiply", [record("full", (dt.scalar(_SCALES[name], loop),), {"shape": ()})]
    elif name == "rint":
        op = "round"
    elif name == "ldexp":
        op = "ldexp"
    if op is None:
        _in_rounds(function, a, indices, others)
        return
    size = a.type.size
    numbers = ndarray.from_value(lazyloom.from_host(onp.arange(size).reshape(a.shape)))
    chosen = numbers[indices]
    positions = record("reshape", (chosen.value,), {"shape": (chosen.size,)})
    operands = [record("reshape", (a.value,), {"shape": (size,)}), positions]
    for x in others:
        update = record("broadcast_to", (cast_values(x, second),), {"shape": chosen.shape})
        operands.append(record("reshape", (update,), {"shape": (chosen.size,)}))
    result = record("apply_at", operands, {
        "function": op, "dtype": None if loop is a.type.dtype else loop})
    assign(a, record("reshape", (result,), {"shape": a.shape}))


def _in_rounds(function: ufunc, a: ndarray, indices: Any, others: list[Any]) -> None:
    """The function, of several ops, at all positions once, then at those that come twice, ..."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    if contains_tensor(parts):
        raise TypeError(
            f"{function.__name__}.at: of dtype {a.dtype} it takes only indices that the host "
            "knows, since repeated ones are taken in turn; read them first")
    chosen = onp.arange(a.type.size).reshape(a.shape)[indices]
    positions = chosen.reshape(-1)
    order = onp.argsort(positions, kind="stable")
    ordered = positions[order]
    turn = onp.empty_like(positions)
    turn[order] = onp.arange(ordered.size) - onp.searchsorted(ordered, ordered)
    flat = record("reshape", (a.value,), {"shape": (a.type.size,)})
    updates = []
    for x in others:
        update = record("broadcast_to", (x,), {"shape": chosen.shape})
        updates.append(record("reshape", (update,), {"shape": (chosen.size,)}))
    for number in range(int(turn.max(initial=-1)) + 1):
        now = onp.flatnonzero(turn == number)
        where, which = lazyloom.from_host(positions[now]), lazyloom.from_host(now)
        old = record("take", (flat, where), {"axis": 0})
        new = function.compute_values(
            [old, *(record("take", (u, which), {"axis": 0}) for u in updates)])
        new = cast_values(new, flat.type.dtype)
        flat = record("index_update", (flat, new, where), {"axes": (0,), "mode": "set"})
    assign(a, record("reshape", (flat,), {"shape": a.shape}))


_SCALES: Final = {"degrees": 180.0 / onp.pi, "rad2deg": 180.0 / onp.pi,
                  "radians": onp.pi / 180.0, "deg2rad": onp.pi / 180.0}  # fmt: skip
