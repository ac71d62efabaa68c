"""Steps that move elements: other shapes, orders and parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import positive
from ..c_values import (
    Axis,
    CArray,
    CValue,
    FunctionWriter,
    Lazy,
    NoCode,
    Shape,
    c_type,
    dim_text,
    same,
    total,
)
from ..patterns import PaddedPart, Parts, apart
from ..writer import CONSTANT, Expr, Writer, dtype_text, extent, extents
from .entry import MOVE, OTHER, RESHAPE, SELDOM, CValues, Exprs, Primitive


def _broadcast(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = xs[0]
    if not x.actual:
        return x._replace(shape=shape)
    x = w.padded(x)
    dims = [int(d) for d in p["broadcast_dimensions"]]
    actual = [1] * len(shape)
    for d, n in zip(dims, x.actual, strict=True):
        actual[d] = n
    first = next((d for d, n in enumerate(actual) if n != 1), len(actual))
    # leading axes of one element need not be there
    kept = tuple(actual[first:]) if tuple(actual) != shape else shape
    return w.reshaped(x, kept, shape)


def _broadcast_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    x, places = xs[0], p["broadcast_dimensions"]
    grows = len(shape) > len(x.shape) and any(
        not same(n, 1) for k, n in enumerate(shape) if k not in places) or any(
        not same(n, shape[k]) for n, k in zip(x.shape, places, strict=True))
    if grows and x.cost:
        x = f.held(x)
    return x.mapped(shape, [
        Axis() if same(n, 1) else Axis(axis=k) for n, k in zip(x.shape, places, strict=True)])


def _reshape(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = xs[0]
    if not x.actual:
        return x._replace(shape=shape)
    x = w.full(x)
    order = p.get("dimensions")
    if order is not None:
        # in the order of these axes
        order = tuple(int(d) for d in order)
        x = transposed(w, x, order, x.shape)
    return w.reshaped(x, shape, shape)


def _permuted_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    if p["dimensions"] is not None:
        raise NoCode("reshape of transposed dimensions")
    return _reshape_in_c(f, p, xs, shape, dtype)


def _reshape_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
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


def _without_ones(shape: Shape) -> list[int]:
    return [k for k, n in enumerate(shape) if not same(n, 1)]


def _transpose(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x, order = xs[0], tuple(int(d) for d in p["permutation"])
    shape = tuple(x.shape[d] for d in order)
    if not x.actual or order == tuple(range(len(order))):
        return x._replace(shape=shape)
    return transposed(w, w.padded(x), order, shape)


def transposed(w: Writer, x: Expr, order: Sequence[int], shape: Sequence[int]) -> Expr:
    """The value with the axes of its array in another order."""
    actual = [x.actual[d] for d in order]
    moved = [d for d in order if x.actual[d] != 1]
    if moved == sorted(moved):
        # only axes of one element change their place
        return w.reshaped(x, actual, shape)
    text = f"{x.text}.T" if tuple(order) == (1, 0) else f"{x.text}.transpose({tuple(order)})"
    return w.let(text, shape, x.dtype, actual, True)


def _transpose_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    order = list(p["permutation"])
    return xs[0].mapped(shape, [Axis(axis=order.index(k)) for k in range(len(order))])


def _rev(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x, axes = w.full(xs[0]), {int(d) for d in p["dimensions"]}
    index = ", ".join("::-1" if d in axes else ":" for d in range(len(x.shape)))
    return w.let(f"{x.text}[{index}]", x.shape, x.dtype, None, True) if index else x


def _rev_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    return xs[0].mapped(shape, [
        Axis(f"({dim_text(n)} - 1)", "(-1)", k) if k in p["dimensions"] else Axis(axis=k)
        for k, n in enumerate(shape)])


def _slice(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = xs[0]
    if not x.actual:
        return x._replace(shape=shape)
    x = w.padded(x)
    steps = p["strides"] or (1,) * len(x.shape)
    index, actual = [], []
    for n, have, size, a, b, s in zip(
        shape, x.actual, x.shape, p["start_indices"], p["limit_indices"], steps, strict=True
    ):
        if have != size:
            index.append(":")
            actual.append(1)
        else:
            index.append(f"{extent(a)}:{extent(b)}" + (f":{extent(s)}" if s != 1 else ""))
            actual.append(n)
        if index[-1] == f"0:{size}":
            index[-1] = ":"
    if shape == x.shape and all(s == 1 for s in steps):
        return x
    return w.let(f"{x.text}[{w.index(index)}]", shape, x.dtype, actual, True)


def _slice_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    strides = p["strides"] or (1,) * len(shape)
    return xs[0].mapped(shape, [
        Axis(dim_text(start), dim_text(stride), k)
        for k, (start, stride) in enumerate(zip(p["start_indices"], strides, strict=True))])


def _concatenate(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    return joined(w, xs, int(p["dimension"]), shape, dtype)


def joined(w: Writer, xs: Sequence[Expr], axis: int, shape: tuple[int, ...], dtype: Any) -> Expr:
    """Values one after the other along an axis."""
    parts = [w.full(x) for x in xs if x.shape[axis]]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return w.let(f"empty({shape}, {dtype_text(dtype)})", shape, dtype)
    texts = ", ".join(x.text for x in parts)
    return w.let(f"concatenate(({texts}), {axis})", shape, dtype)


def _concatenate_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    if len(xs) == 1:
        return xs[0]
    found = f.buffer(shape, xs[0].dtype)
    d, start = p["dimension"], "0"
    for x in xs:
        part = found.mapped(x.shape, [
            Axis(start if k == d else "0", axis=k) for k in range(len(shape))])
        f.store(part, x)
        start = total([start, dim_text(x.shape[d])])
        if not start.isdigit():
            start = f.index(f"({start})")
    return found


def _stack(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    parts = ", ".join(w.full(x).text for x in xs)
    return w.let(f"stack(({parts},), {int(p['axis'])})", shape, dtype)


def _split(w: Writer, step: Any, xs: Exprs) -> Exprs:
    p, x, at, found = step.params, w.full(xs[0]), 0, []
    axis = int(p["axis"])
    for out, size in zip(step.outvars, p["sizes"], strict=True):
        index = [f"{at}:{at + extent(size)}" if d == axis else ":" for d in range(len(x.shape))]
        found.append(w.let(f"{x.text}[{w.index(index)}]", extents(out.aval.shape), x.dtype, None,
                           True))
        at += extent(size)
    return found


def _split_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    axis, (x,) = step.params["axis"], xs
    found: list[CValue] = []
    start: list[str] = []
    for shape in [tuple(v.aval.shape) for v in step.outvars]:
        base = total(start)
        found.append(x.mapped(shape, [
            Axis(f"({base})" if k == axis else "0", axis=k) for k in range(len(shape))]))
        start.append(dim_text(shape[axis]))
    return found


def _pad(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    config = tuple(map(extents, p["padding_config"]))
    if all(edge == (0, 0, 0) for edge in config):
        return xs[0]
    x = w.full(xs[0])
    if xs[1].text in w.names.zeros and all(
        low >= 0 and high >= 0 and not between for low, high, between in config
    ):
        part = PaddedPart(x, list(x.shape), [low for low, _, _ in config], [1] * len(config))
        return assembled(w, [part], shape, x.dtype)
    return w.let(f"pad({x.text}, {xs[1].text}, {config}, {shape})", shape, x.dtype)


def assembled(w: Writer, parts: Parts, shape: tuple[int, ...], dtype: Any) -> Expr:
    """The sum of parts, which are values, in an array of zeros."""
    along = [d for d, n in enumerate(shape) if any(part.sizes[d] != n for part in parts)]
    separate = apart(parts)
    if len(along) == 1 and separate:
        axis = along[0]
        parts = sorted(parts, key=lambda part: part.starts[axis])
        if sum(part.sizes[axis] for part in parts) == shape[axis]:
            return joined(w, [part.of for part in parts], axis, shape, dtype)
    found = w.let(f"zeros({shape}, {dtype_text(dtype)})", shape, dtype, written=True)
    sign = "=" if separate else "+="
    for x, sizes, starts, strides in parts:
        index = [
            ":" if size == n else f"{a}:{a + (size - 1) * step + 1}" + (
                f":{step}" if step > 1 else "")
            for size, a, step, n in zip(sizes, starts, strides, shape, strict=True)]
        if x.size:
            w.line(f"{found.text}[{w.index(index)}] {sign} {x.text}")
    return found


def _pad_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    x, filling = xs
    config = p["padding_config"]
    if not all(n >= 0 if isinstance(n, (int, np.integer)) else positive(n) or positive(n + 1)
               for row in config for n in row):
        raise NoCode("pad by less than nothing")
    found = f.buffer(shape, x.dtype)
    f.store(found, filling.mapped(shape, []))
    part = found.mapped(x.shape, [
        Axis(dim_text(low), dim_text(inner + 1), k) for k, (low, _, inner) in enumerate(config)])
    f.store(part, x)
    return found


def _iota(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    axis = int(p["dimension"])
    size = shape[axis]
    actual = (size,) + (1,) * (len(shape) - axis - 1)
    text = f"arange({size}, dtype={dtype_text(dtype)}).reshape({actual})"
    if isinstance(size, int) and size <= CONSTANT:
        return Expr(w.names.constant(text), shape, actual, dtype, True)
    return w.let(text, shape, dtype, actual)


def _iota_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    kind, d = c_type(dtype), p["dimension"]
    return Lazy(shape, dtype, lambda body, index: f"(({kind}){index[d]})", 0)


def _number(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    """An extent as a value."""
    return w.let(f"{dtype_text(dtype)}.type({extent(p['dim'])})", (), dtype)


def _number_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    text = f"(({c_type(dtype)}){dim_text(p['dim'])})"
    return Lazy(shape, dtype, lambda body, index: text, 0)


SHAPES: Final[dict[str, Primitive]] = {
    "reshape": Primitive(_reshape, _permuted_in_c, RESHAPE),
    "squeeze": Primitive(
        lambda w, p, xs, *of: _reshape(w, {}, xs, *of), _reshape_in_c, RESHAPE),
    "expand_dims": Primitive(_reshape, _reshape_in_c, RESHAPE),
    "broadcast_in_dim": Primitive(_broadcast, _broadcast_in_c, RESHAPE),
    "transpose": Primitive(_transpose, _transpose_in_c, MOVE),
    "rev": Primitive(_rev, _rev_in_c, MOVE),
    "slice": Primitive(_slice, _slice_in_c, MOVE),
    "split": Primitive(_split, _split_in_c, MOVE, whole=True),
    "concatenate": Primitive(_concatenate, _concatenate_in_c, MOVE),
    "stack": Primitive(_stack, SELDOM, MOVE),
    "pad": Primitive(_pad, _pad_in_c, MOVE),
    "iota": Primitive(_iota, _iota_in_c, MOVE),
    "dim_as_value": Primitive(_number, _number_in_c, OTHER),
}
