"""Folds: an elementwise op of two operands applied in turn along an axis.

Sums, products and extrema have ops of their own, which are faster; these serve every other op,
whose order matters. Attribute ``function`` names the op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype, float64, int64
from ..errors import ArgumentError, DTypeError, ShapeError
from ..types import TensorType, tensor_type
from . import rules
from ._helpers import constant, convert
from ._jax import jnp, lax
from .cases import Cases, case
from .casts import cast_to
from .kinds import AnyType, Array, Integer, T
from .spec import OpDef, lookup, op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Derivative

Types = tuple[TensorType, ...]


def _check_function(entry: OpDef, name: str, elements: tuple[TensorType, ...]) -> TensorType:
    """The type of the function's result for these elements. Raises ArgumentError."""
    function = lookup(name)
    arity = len(elements)
    if function.max_operands != arity or function.min_operands != arity or (
        function.execution.fallible or function.execution.effect
    ):
        raise ArgumentError(
            f"{entry.name}: attribute 'function' is {name!r}, expected an elementwise op of "
            f"{arity} operands", op=entry.name)
    results = function.infer(elements, function.canonical_attributes({}))
    if len(results) != 1 or results[0].shape:
        raise ArgumentError(
            f"{entry.name}: attribute 'function' is {name!r}, expected an elementwise op with one "
            "result", op=entry.name)
    return results[0]


def _along(entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]) -> int:
    x = rules.operand(types, 0)
    element = tensor_type((), x.dtype)
    result = _check_function(entry, attrs["function"], (element, element))
    if result is not element:
        raise DTypeError(
            f"{entry.name}: {attrs['function']!r} of {x.dtype.name} gives {result.dtype.name}, "
            f"expected {x.dtype.name}", op=entry.name)
    return rules.normalize_axis(entry, "axis", attrs["axis"], x.ndim)


def folded(entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]) -> Types:
    """The operand's type without the axis, which has at least one element."""
    x = rules.operand(types, 0)
    axis = _along(entry, types, attrs)
    if x.shape[axis] == 0:
        raise ShapeError(
            f"{entry.name}: axis {axis} of operand 'x' of shape {x.shape} has size 0, expected 1 "
            "or more", op=entry.name)
    return rules.one(x.shape[:axis] + x.shape[axis + 1:], x.dtype)


def running(entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]) -> Types:
    """The operand's own type."""
    _along(entry, types, attrs)
    return (rules.operand(types, 0),)


def in_segments(
    entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]
) -> Types:
    """The operand's type, with as many elements along the axis as there are starts."""
    x = rules.operand(types, 0)
    axis = _along(entry, types, attrs)
    starts = rules.check_ndim(entry, types, 1, 1)
    if x.shape[axis] == 0 and starts.shape[0]:
        raise ShapeError(
            f"{entry.name}: axis {axis} of operand 'x' of shape {x.shape} has size 0, expected 1 "
            "or more", op=entry.name)
    return rules.one(x.shape[:axis] + starts.shape + x.shape[axis + 1:], x.dtype)


def at_positions(
    entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]
) -> Types:
    """The operand's own type; positions and update are vectors of one size."""
    x = rules.check_ndim(entry, types, 0, 1)
    positions = rules.check_ndim(entry, types, 1, 1)
    update = types[2] if len(types) > 2 else None
    inside = tensor_type((), attrs["dtype"] or x.dtype)
    if update is None:
        _check_function(entry, attrs["function"], (inside,))
    else:
        _check_function(entry, attrs["function"], (inside, tensor_type((), update.dtype)))
    if update is not None and update.shape != positions.shape:
        raise ShapeError(
            f"{entry.name}: operand 'update' has shape {update.shape}, expected {positions.shape} "
            "as operand 'positions' has", op=entry.name)
    if positions.shape[0] and not x.shape[0]:
        raise ShapeError(
            f"{entry.name}: operand 'x' has no elements, expected 1 or more", op=entry.name)
    return (x,)


def _function(name: str) -> Any:
    entry = lookup(name)
    attributes = entry.canonical_attributes({})
    return lambda *xs: entry.fn(*xs, **attributes)


def _scan(f: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """The last result and all of them, along axis 0."""
    rows = jnp.moveaxis(x, axis, 0)

    def step(total: Any, row: Any) -> tuple[Any, Any]:
        total = f(total, row)
        return total, total

    last, rest = lax.scan(step, rows[0], rows[1:])
    return last, lax.concatenate([rows[:1], rest], 0)


@op(folded, T="any", source="NumPy ufunc.reduce", execution=HEAVY,
    derivative=Derivative(residuals=True),
    samples=Cases(case((3, 2), function="multiply", axis=0),
                  case((2, 4), function="subtract", axis=-1),
                  case((2, 1), function="divide", axis=1)))  # fmt: skip
def fold(x: T, *, function: str, axis: int) -> Array:
    """``f(f(x0, x1), x2) ...`` along an axis, from the first element to the last.

    ``function`` is an elementwise op of two operands whose result has the dtype of x.
    ShapeError for an axis of size 0.
    """
    return _scan(_function(function), x, axis)[0]


@op(running, T="any", source="NumPy ufunc.accumulate", execution=HEAVY,
    derivative=Derivative(residuals=True),
    samples=Cases(case((3, 2), function="multiply", axis=0),
                  case((2, 4), function="subtract", axis=-1),
                  case((0, 2), function="divide", axis=0)))  # fmt: skip
def running_fold(x: T, *, function: str, axis: int) -> Array:
    """All the results of ``fold`` on its way along an axis, the first element included."""
    if x.shape[axis] == 0:
        return x
    return jnp.moveaxis(_scan(_function(function), x, axis)[1], 0, axis)


@op(in_segments, T="any", source="NumPy ufunc.reduceat", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(case((5, 2), [0, 3], function="multiply", axis=0),
                  case((2, 6), [0, 4, 1, 1, 5], function="subtract", axis=-1),
                  case((6,), [1, 2, 4], function="add", axis=0),
                  case((3,), [], function="add", axis=0)))  # fmt: skip
def segment_fold(x: T, starts: Integer, *, function: str, axis: int) -> Array:
    """``fold`` of segments along an axis: from each of ``starts`` to the next one.

    The last segment runs to the end. Where the next start is not larger, the segment is one
    element. Starts outside the axis are taken as the nearest element.
    """
    axis %= x.ndim
    rows = jnp.moveaxis(x, axis, 0)
    size = rows.shape[0]
    if not starts.shape[0]:
        return jnp.moveaxis(rows[:0], 0, axis)
    first = lax.clamp(jnp.int64(0), convert(starts, int64), jnp.int64(size - 1))
    after = lax.concatenate([first[1:], lax.full((1,), size, jnp.int64)], 0)
    length = lax.max(lax.sub(after, first), constant(first, 1))
    f = _function(function)

    def pending(state: tuple[Any, Any]) -> Any:
        return lax.lt(state[0], lax.reduce_max(length, (0,)))

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        done, total = state
        row = jnp.take(rows, lax.add(first, lax.broadcast(done, first.shape)), axis=0, mode="clip")
        more = lax.lt(lax.broadcast(done, first.shape), length)
        more = lax.broadcast_in_dim(more, total.shape, (0,))
        return lax.add(done, jnp.int64(1)), lax.select(more, f(total, row), total)

    total = lax.while_loop(pending, step, (jnp.int64(1), jnp.take(rows, first, axis=0)))[1]
    return jnp.moveaxis(total, 0, axis)


@op(at_positions, source="NumPy ufunc.at", execution=HEAVY, derivative=NOT_DIFFERENTIABLE,
    samples=Cases(case((4,), [0, 2, 0, -1], (4,), function="multiply"),
                  case(np.arange(4), [1, 1, 2], np.array([0.5, 1.5, 3.0]), function="divide",
                       dtype=float64),
                  case(np.array([1.5, 0.0, 2.0]), [0, 1, 0], [3, 0, 1], function="logical_xor"),
                  case((4,), [1, 1, 3], (3,), function="divide"),
                  case((4,), [1, 1, 3], None, function="square"),
                  case((4,), [], (0,), function="subtract")))  # fmt: skip
def apply_at(
    x: AnyType, positions: Integer, update: AnyType = None, *, function: str,
    dtype: DType | None = None,
) -> Array:  # fmt: skip
    """The vector x with ``f(x[p], u)`` written to each position p in turn; ``f(x[p])`` without
    an update.

    What a repeated position has become is what its next turn starts from. An element is cast to
    ``dtype`` for the function, x's own if None, and what it gives is cast to that of x.
    Negative positions count from the end; others out of range are taken as the nearest element.
    """
    if not positions.shape[0]:
        return x
    size = jnp.int64(x.shape[0])
    where = convert(positions, int64)
    where = lax.select(lax.lt(where, constant(where, 0)), lax.add(where, constant(where, size)),
                       where)  # fmt: skip
    where = lax.clamp(jnp.int64(0), where, lax.sub(size, jnp.int64(1)))
    f = _function(function)
    x_dtype = as_dtype(x.dtype)

    def step(i: Any, x: Any) -> Any:
        p = lax.dynamic_index_in_dim(where, i, 0, False)
        old = cast_to(lax.dynamic_index_in_dim(x, p, 0, False), dtype or x_dtype)
        new = f(old) if update is None else f(
            old, lax.dynamic_index_in_dim(update, i, 0, False))
        return lax.dynamic_update_index_in_dim(x, cast_to(new, x_dtype), p, 0)

    return lax.fori_loop(0, positions.shape[0], step, x)
