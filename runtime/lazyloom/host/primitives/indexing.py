"""Steps whose places are data: slices, gathers, scatters, and what sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..c_values import (
    Axis,
    CValue,
    FunctionWriter,
    InnerLoop,
    Lazy,
    NoCode,
    Shape,
    dim_text,
    number_text,
    total,
)
from ..writer import Expr, Unsupported, Writer, dtype_of, extents
from .conversions import converted
from .entry import MOVE, OTHER, ROUTINE, SELDOM, CValues, Emit, EmitInC, Exprs, Primitive


def _starting(
    w: Writer, shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Expr]
) -> str:
    """The text of an index of slices whose starts, which are data, are moved inside."""
    parts: list[str] = []
    for n, size, start in zip(shape, sizes, starts, strict=True):
        if n == size:
            parts.append(":")
            continue
        at, last = w.names.fresh("i"), n - size
        w.line(f"{at} = int({start.text})")
        w.line(f"{at} = 0 if {at} < 0 else {last} if {at} > {last} else {at}")
        parts.append(f"{at}:{at} + {size}")
    while parts and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _start(f: FunctionWriter, value: CValue, room: str) -> str:
    """A place from which on there is as much room, as close to the one given as can be."""
    name = f.scalar("i64", f"(i64)({f.element(value, ())})")
    return f.scalar("i64", f"{name} < 0 ? 0 : {name} > ({room}) ? ({room}) : {name}")


def _part(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = w.full(xs[0])
    sizes = extents(p["slice_sizes"])
    index = _starting(w, x.shape, sizes, xs[1:])
    return w.let(f"{x.text}[{index}]", sizes, x.dtype, None, True) if index else x


def _part_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    x, *given = xs
    axes = [Axis(_start(f, s, f"{dim_text(n)} - {dim_text(m)}"), axis=k)
            for k, (s, n, m) in enumerate(zip(given, x.shape, shape, strict=True))]
    return x.mapped(shape, axes)


def _update(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    new = w.full(xs[1])
    index = _starting(w, xs[0].shape, new.shape, xs[2:])
    if not index:
        return new
    found = w.own(xs[0])
    w.line(f"{found.text}[{index}] = {new.text}")
    return found


def _update_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    x, update, *given = xs
    found = f.buffer(shape, x.dtype)
    f.store(found, x)
    part = found.mapped(update.shape, [
        Axis(_start(f, s, f"{dim_text(n)} - {dim_text(m)}"), axis=k)
        for k, (s, n, m) in enumerate(zip(given, shape, update.shape, strict=True))])
    f.store(part, update)
    return found


def _mode(p: Any, error: type[Exception]) -> str:
    """What becomes of places outside. Raises that error where it is none of what is known here."""
    name = str(p["mode"]).lower()
    for known in ("clip", "fill_or_drop", "promise_in_bounds"):
        if known in name:
            return known
    raise error(f"indexing mode {name}")


def _filling(p: Any, dtype: Any) -> Any:
    """What a gather gives for places outside."""
    given = p["fill_value"]
    if given is not None:
        return given
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if dtype.kind == "i" else info.max
    return dtype.kind == "b" or math.nan


def _taken(
    x: Expr, indices: Expr, plan: Any, sizes: tuple[int, ...], rank: int
) -> int | None:
    """The axis of a gather that is NumPy's ``take``; None if it is another one."""
    offset, collapsed, mapped, batching, _ = plan
    if batching or len(mapped) != 1 or collapsed != mapped or indices.dtype.kind != "i" or (
        indices.shape[-1:] != (1,) or 0 in x.shape
    ):
        return None
    axis: int = mapped[0]
    behind = axis + len(indices.shape) - 1
    if offset != (*range(axis), *range(behind, rank)) or any(
        n != x.shape[d] for d, n in enumerate(sizes) if d != axis
    ):
        return None
    return axis


def _gather(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x, indices = w.full(xs[0]), w.full(xs[1])
    numbers, mode = p["dimension_numbers"], _mode(p, Unsupported)
    sizes = extents(p["slice_sizes"])
    fill = w.literal(_filling(p, x.dtype), x.dtype).text if mode == "fill_or_drop" else "None"
    plan = (extents(numbers.offset_dims), extents(numbers.collapsed_slice_dims),
            extents(numbers.start_index_map), extents(numbers.operand_batching_dims),
            extents(numbers.start_indices_batching_dims))
    axis = _taken(x, indices, plan, sizes, len(shape))
    if axis is not None and fill == "None":
        where = w.reshaped(indices, indices.shape[:-1], indices.shape[:-1])
        return w.let(f"take({x.text}, {where.text}, {axis}, None, 'clip')", shape, x.dtype)
    return w.let(f"gather({x.text}, {indices.text}, {plan}, {sizes}, {fill}, {shape})", shape,
                 x.dtype)


def _gather_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    x, indices = xs
    d = p["dimension_numbers"]
    mode, sizes = _mode(p, NoCode), p["slice_sizes"]
    if indices.cost:
        indices = f.held(indices)
    if x.cost:
        x = f.held(x)
    inner = [k for k in range(len(x.shape))
             if k not in d.collapsed_slice_dims and k not in d.operand_batching_dims]
    outer = [k for k in range(len(shape)) if k not in d.offset_dims]
    filling = number_text(_filling(p, x.dtype), x.dtype) if mode == "fill_or_drop" else "0"

    def element(body: InnerLoop, index: Sequence[str]) -> str:
        at = ["0"] * len(x.shape)
        for k, place in zip(inner, d.offset_dims, strict=True):
            at[k] = index[place]
        for k, of in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True):
            at[k] = index[outer[of]]
        outside: list[str] = []
        for number, k in enumerate(d.start_index_map):
            wanted = body.let("i64", "(i64)" + indices.at(
                body, [*(index[o] for o in outer), str(number)]))
            room = f"{dim_text(x.shape[k])} - {dim_text(sizes[k])}"
            if mode != "promise_in_bounds":
                outside.append(f"{wanted} < 0 || {wanted} > {room}")
            placed = body.let("i64", f"{wanted} < 0 ? 0 : {wanted} > {room} ? {room} : {wanted}")
            at[k] = total([at[k], placed])
        found = x.at(body, at)
        if mode == "fill_or_drop" and outside:
            return body.let(x.kind, f"({' || '.join(outside)}) ? {filling} : {found}")
        return found

    return Lazy(shape, x.dtype, element, 3)


def _scatter(function: str) -> Emit:
    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        x, indices, updates = w.own(xs[0]), w.full(xs[1]), w.full(xs[2])
        numbers, clip = p["dimension_numbers"], _mode(p, Unsupported) == "clip"
        if x.dtype.kind == "b" and function not in ("None", "maximum", "minimum"):
            raise Unsupported(f"scatter of booleans by {function}")
        plan = (extents(numbers.update_window_dims), extents(numbers.inserted_window_dims),
                extents(numbers.scatter_dims_to_operand_dims),
                extents(numbers.operand_batching_dims),
                extents(numbers.scatter_indices_batching_dims))
        window, inserted, mapped, batching, _ = plan
        rows = len(x.shape) - 1
        given = f"{x.text}, {indices.text}, {updates.text}"
        if not batching and mapped == inserted == (0,) and indices.shape[-1:] == (1,) and (
            window == tuple(range(len(updates.shape) - rows, len(updates.shape)))
            and updates.shape[len(updates.shape) - rows :] == x.shape[1:]
        ):
            return w.let(f"scatter_rows({given}, {clip}, {function})", x.shape, x.dtype)
        return w.let(f"scatter({given}, {plan}, {clip}, {function})", x.shape, x.dtype)

    return emit


def _scatter_in_c(combine: str) -> EmitInC:
    def emit(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
        x, indices, updates = xs
        d = p["dimension_numbers"]
        mode = _mode(p, NoCode)
        found = f.buffer(shape, x.dtype)
        f.store(found, x)
        indices = f.held(indices) if indices.cost else indices
        inner = [k for k in range(len(shape))
                 if k not in d.inserted_window_dims and k not in d.operand_batching_dims]
        window = [updates.shape[k] for k in d.update_window_dims]
        outer = [k for k in range(len(updates.shape)) if k not in d.update_window_dims]
        rows = f.open(tuple(updates.shape[k] for k in outer))
        body = InnerLoop(f)
        start = ["0"] * len(shape)
        for k, of in zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True):
            start[k] = rows[of]
        inside: list[str] = []
        for number, k in enumerate(d.scatter_dims_to_operand_dims):
            wanted = body.let("i64", "(i64)" + indices.at(body, [*rows, str(number)]))
            size = window[inner.index(k)] if k in inner else 1
            room = f"{dim_text(shape[k])} - {dim_text(size)}"
            if mode == "clip":
                wanted = body.let(
                    "i64", f"{wanted} < 0 ? 0 : {wanted} > {room} ? {room} : {wanted}")
            # with none in an array without elements
            inside.append(f"{wanted} >= 0 && {wanted} <= {room}")
            start[k] = wanted
        for text in body.lines:
            f.line(text)
        f.line(f"if ({' && '.join(inside) or '1'}) {{")

        def write(body: InnerLoop, index: list[str]) -> None:
            of_update = ["0"] * len(updates.shape)
            for k, i in zip(outer, rows, strict=True):
                of_update[k] = i
            for k, i in zip(d.update_window_dims, index, strict=True):
                of_update[k] = i
            at = list(start)
            for k, i in zip(inner, index, strict=True):
                at[k] = total([at[k], i])
            value = updates.at(body, of_update)
            place = found.at(body, at)
            body.lines.append(f"{place} {combine} {value};")

        f.loops(tuple(window), write)
        f.line("}")
        f.close(tuple(updates.shape[k] for k in outer))
        return found

    return emit


def _sort(w: Writer, step: Any, xs: Exprs) -> Exprs:
    values, p = [w.full(x) for x in xs], step.params
    if any(v.dtype.kind == "c" for v in values):
        raise Unsupported("sort of complex numbers")
    given = ", ".join(v.text for v in values)
    # results of a call that returns a tuple
    whole = w.let(f"sort(({given},), {int(p['dimension'])}, {int(p['num_keys'])})", (), None)
    return [w.let(f"{whole.text}[{k}]", v.shape, v.dtype) for k, v in enumerate(values)]


def _top_k(w: Writer, step: Any, xs: Exprs) -> Exprs:
    x, avals = w.full(xs[0]), [v.aval for v in step.outvars]
    whole = w.let(f"top_k({x.text}, {int(step.params['k'])})", (), None)
    found, at = (w.let(f"{whole.text}[{k}]", extents(aval.shape), dtype) for k, (aval, dtype) in
                 enumerate(zip(avals, (x.dtype, np.dtype("int64")), strict=True)))
    return [found, converted(w, at, dtype_of(avals[1]))]


_ADD: Final = Primitive(_scatter("add"), _scatter_in_c("+="), MOVE)
_SUBTRACT, _MULTIPLY, _LEAST, _LARGEST = (Primitive(_scatter(name), SELDOM, MOVE) for name in (
    "subtract", "multiply", "minimum", "maximum"))

INDEXING: Final[dict[str, Primitive]] = {
    "dynamic_slice": Primitive(_part, _part_in_c, MOVE),
    "dynamic_update_slice": Primitive(_update, _update_in_c, MOVE),
    "gather": Primitive(_gather, _gather_in_c, MOVE),
    "scatter": Primitive(_scatter("None"), _scatter_in_c("="), MOVE),
    # some versions of JAX have the first names, others the second
    "scatter-add": _ADD, "scatter_add": _ADD,
    "scatter-sub": _SUBTRACT, "scatter_sub": _SUBTRACT,
    "scatter-mul": _MULTIPLY, "scatter_mul": _MULTIPLY,
    "scatter-min": _LEAST, "scatter_min": _LEAST,
    "scatter-max": _LARGEST, "scatter_max": _LARGEST,
    "sort": Primitive(_sort, ROUTINE, OTHER, whole=True),
    "top_k": Primitive(_top_k, ROUTINE, OTHER, whole=True),
}
