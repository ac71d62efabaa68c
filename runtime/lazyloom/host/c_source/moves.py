"""Steps that move elements: other shapes, parts, places that are known when the function runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import positive
from .values import (
    Axis,
    CArray,
    CValue,
    FunctionWriter,
    InnerLoop,
    Lazy,
    NoCode,
    Shape,
    View,
    c_type,
    dim_text,
    same,
    total,
)

Rule = Callable[[FunctionWriter, Any, Sequence[CValue], Shape], CValue]


def _broadcast_in_dim(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x, places = xs[0], p["broadcast_dimensions"]
    grows = len(shape) > len(x.shape) and any(
        not same(n, 1) for k, n in enumerate(shape) if k not in places) or any(
        not same(n, shape[k]) for n, k in zip(x.shape, places, strict=True))
    if grows and x.cost:
        x = f.held(x)
    return x.mapped(shape, [
        Axis() if same(n, 1) else Axis(axis=k) for n, k in zip(x.shape, places, strict=True)])


def _without_ones(shape: Shape) -> list[int]:
    return [k for k, n in enumerate(shape) if not same(n, 1)]


def _reshape(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x = xs[0]
    if isinstance(x, CArray):
        return x.reshaped(shape)
    old, new = _without_ones(x.shape), _without_ones(shape)
    if len(old) == len(new) and all(
            same(x.shape[a], shape[b]) for a, b in zip(old, new, strict=True)):
        to = dict(zip(old, new, strict=True))
        return x.mapped(shape, [
            Axis(axis=to[k]) if k in to else Axis() for k in range(len(x.shape))])
    return f.held(x).reshaped(shape)


def _permuted(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    if p["dimensions"] is not None:
        raise NoCode("reshape of transposed dimensions")
    return _reshape(f, p, xs, shape)


def _transpose(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    order = list(p["permutation"])
    return xs[0].mapped(shape, [Axis(axis=order.index(k)) for k in range(len(order))])


def _slice(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    strides = p["strides"] or (1,) * len(shape)
    return xs[0].mapped(shape, [
        Axis(dim_text(start), dim_text(stride), k)
        for k, (start, stride) in enumerate(zip(p["start_indices"], strides, strict=True))])


def _rev(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    return xs[0].mapped(shape, [
        Axis(f"({dim_text(n)} - 1)", "(-1)", k) if k in p["dimensions"] else Axis(axis=k)
        for k, n in enumerate(shape)])


def _concatenate(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    if len(xs) == 1:
        return xs[0]
    found = f.buffer(shape, xs[0].dtype)
    d, start = p["dimension"], "0"
    for x in xs:
        part = found.mapped(x.shape, [
            Axis(start if k == d else "0", axis=k) for k in range(len(shape))])
        assert isinstance(part, View)
        f.store(part, x)
        start = total([start, dim_text(x.shape[d])])
        if not start.isdigit():
            start = f.index(f"({start})")
    return found


def split(p: Any, x: CValue, shapes: Sequence[Shape]) -> list[CValue]:
    """The parts of an array along an axis."""
    found: list[CValue] = []
    start: list[str] = []
    for shape in shapes:
        base = total(start)
        found.append(x.mapped(shape, [
            Axis(f"({base})" if k == p["axis"] else "0", axis=k) for k in range(len(shape))]))
        start.append(dim_text(shape[p["axis"]]))
    return found


def _pad(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x, filling = xs
    config = p["padding_config"]
    if any(isinstance(n, (int, np.integer)) and n < 0 for row in config for n in row) or any(
        not isinstance(n, (int, np.integer)) and not _not_negative(n) for row in config for n in row
    ):
        raise NoCode("pad by less than nothing")
    found = f.buffer(shape, x.dtype)
    f.store(found, filling.mapped(shape, []))
    part = found.mapped(x.shape, [
        Axis(dim_text(low), dim_text(inner + 1), k) for k, (low, _, inner) in enumerate(config)])
    assert isinstance(part, View)
    f.store(part, x)
    return found


def _not_negative(n: Any) -> bool:
    return positive(n) or positive(n + 1)


def _iota(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    kind, d = c_type(p["dtype"]), p["dimension"]
    return Lazy(shape, p["dtype"], lambda body, index: f"(({kind}){index[d]})", 0)


def number(n: Any, shape: Shape, dtype: Any) -> CValue:
    """An extent as a value."""
    text = f"(({c_type(dtype)}){dim_text(n)})"
    return Lazy(shape, dtype, lambda body, index: text, 0)


def _start(f: FunctionWriter, value: CValue, room: str) -> str:
    """A place from which on there is as much room, as close to the one given as can be."""
    body = InnerLoop(f)
    text = value.at(body, ())
    for line in body.lines:
        f.line(line)
    name = f.scalar("i64", f"(i64)({text})")
    return f.scalar("i64", f"{name} < 0 ? 0 : {name} > ({room}) ? ({room}) : {name}")


def _dynamic_slice(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x, *given = xs
    axes = [Axis(_start(f, s, f"{dim_text(n)} - {dim_text(m)}"), axis=k)
            for k, (s, n, m) in enumerate(zip(given, x.shape, shape, strict=True))]
    return x.mapped(shape, axes)


def _dynamic_update_slice(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x, update, *given = xs
    found = f.buffer(shape, x.dtype)
    f.store(found, x)
    part = found.mapped(update.shape, [
        Axis(_start(f, s, f"{dim_text(n)} - {dim_text(m)}"), axis=k)
        for k, (s, n, m) in enumerate(zip(given, shape, update.shape, strict=True))])
    assert isinstance(part, View)
    f.store(part, update)
    return found


def _mode(p: Any) -> str:
    mode = p["mode"]
    return "clip" if mode is None else str(getattr(mode, "name", mode)).lower()


def _gather(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
    x, indices = xs
    d = p["dimension_numbers"]
    mode, sizes = _mode(p), p["slice_sizes"]
    if mode == "one_hot":
        raise NoCode("gather by products")
    if indices.cost:
        indices = f.held(indices)
    if x.cost:
        x = f.held(x)
    inner = [k for k in range(len(x.shape))
             if k not in d.collapsed_slice_dims and k not in d.operand_batching_dims]
    outer = [k for k in range(len(shape)) if k not in d.offset_dims]
    filling = "0"
    if mode == "fill_or_drop":
        value = p["fill_value"]
        if value is None:
            if x.dtype.kind != "f" and x.dtype.kind != "b":
                info = np.iinfo(x.dtype)
                value = info.max if x.dtype.kind == "u" else info.min
            else:
                value = np.nan if x.dtype.kind == "f" else True
        from .values import number_text

        filling = number_text(value, x.dtype)

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


def _scatter(combine: str) -> Rule:
    def rule(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape) -> CValue:
        x, indices, updates = xs
        d = p["dimension_numbers"]
        mode = _mode(p)
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
                # nowhere in an array without elements
                inside.append(f"{wanted} >= 0 && {wanted} <= {room}")
            else:
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

    return rule


MOVES: Final[dict[str, Rule]] = {
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _permuted, "squeeze": _reshape,
    "expand_dims": _reshape, "transpose": _transpose, "slice": _slice, "rev": _rev,
    "concatenate": _concatenate, "pad": _pad, "iota": _iota, "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice, "gather": _gather, "scatter": _scatter("="),
    "scatter-add": _scatter("+="),
}  # fmt: skip
