"""Steps that move, reduce, multiply or index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..jaxprs.walking import positive
from .elementwise import call, complex_product, converted
from .patterns import PaddedPart, Parts, apart
from .routines import SERIAL
from .transforms import fft
from .writer import (
    CONSTANT,
    Expr,
    Unsupported,
    Writer,
    dtype_of,
    dtype_text,
    extent,
    extents,
)

Emit = Callable[[Writer, Any, "list[Expr]", Any], Expr]


def _shape(out: Any) -> tuple[int, ...]:
    return extents(out.aval.shape)


# shapes


def _broadcast_in_dim(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, shape = xs[0], _shape(out)
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


def _reshape(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, shape = xs[0], _shape(out)
    if not x.actual:
        return x._replace(shape=shape)
    x = w.full(x)
    order = p.get("dimensions")
    if order is not None:
        # in the order of these axes
        order = tuple(int(d) for d in order)
        x = transposed(w, x, order, x.shape)
    return w.reshaped(x, shape, shape)


def _squeeze(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    return _reshape(w, {}, xs, out)


def _transpose(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
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


def _rev(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, axes = w.full(xs[0]), {int(d) for d in p["dimensions"]}
    index = ", ".join("::-1" if d in axes else ":" for d in range(len(x.shape)))
    return w.let(f"{x.text}[{index}]", x.shape, x.dtype, None, True) if index else x


def _slice(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, shape = xs[0], _shape(out)
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


def _concatenate(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    return joined(w, xs, int(p["dimension"]), _shape(out), dtype_of(out.aval))


def joined(w: Writer, xs: Sequence[Expr], axis: int, shape: tuple[int, ...], dtype: Any) -> Expr:
    """Values one after the other along an axis."""
    parts = [w.full(x) for x in xs if x.shape[axis]]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return w.let(f"empty({shape}, {dtype_text(dtype)})", shape, dtype)
    texts = ", ".join(x.text for x in parts)
    return w.let(f"concatenate(({texts}), {axis})", shape, dtype)


def _stack(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    parts = ", ".join(w.full(x).text for x in xs)
    return w.let(f"stack(({parts},), {int(p['axis'])})", _shape(out), dtype_of(out.aval))


def _pad(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    config = tuple(map(extents, p["padding_config"]))
    if all(edge == (0, 0, 0) for edge in config):
        return xs[0]
    x = w.full(xs[0])
    if xs[1].text in w.names.zeros and all(
        low >= 0 and high >= 0 and not between for low, high, between in config
    ):
        part = PaddedPart(x, list(x.shape), [low for low, _, _ in config], [1] * len(config))
        return assembled(w, [part], _shape(out), x.dtype)
    return w.let(f"pad({x.text}, {xs[1].text}, {config}, {_shape(out)})", _shape(out), x.dtype)


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


def _iota(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    shape, dtype, axis = _shape(out), dtype_of(out.aval), int(p["dimension"])
    size = shape[axis]
    actual = (size,) + (1,) * (len(shape) - axis - 1)
    text = f"arange({size}, dtype={dtype_text(dtype)}).reshape({actual})"
    if isinstance(size, int) and size <= CONSTANT:
        return Expr(w.names.constant(text), shape, actual, dtype, True)
    return w.let(text, shape, dtype, actual)


def _number(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    """An extent as a value."""
    dtype = dtype_of(out.aval)
    return w.let(f"{dtype_text(dtype)}.type({extent(p['dim'])})", (), dtype)


def _same(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    return xs[0]


def _bitcast(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, dtype = w.full(xs[0]), dtype_of(out.aval)
    if x.dtype.itemsize != dtype.itemsize or "b" in (x.dtype.kind, dtype.kind):
        raise Unsupported("bitcast_convert_type to another size")
    found = w.let(f"{x.text}.view({dtype_text(dtype)})", x.shape, dtype, None, True)
    return w.local(found, "elementwise", [x])


# reductions

_REDUCE: Final = {
    "reduce_sum": "add", "reduce_max": "maximum", "reduce_min": "minimum",
    "reduce_prod": "multiply",
}  # fmt: skip
_LOGIC: Final = {
    "reduce_and": "bitwise_and", "reduce_or": "bitwise_or", "reduce_xor": "bitwise_xor",
}


def _lowest(dtype: Any, sign: int) -> Any:
    if dtype.kind == "f":
        return -sign * math.inf
    if dtype.kind == "b":
        return sign < 0
    info = np.iinfo(dtype)
    return info.min if sign > 0 else info.max


def reduction(w: Writer, name: str, p: Any, xs: list[Expr], out: Any) -> Expr | None:
    """A reduction over axes; None if the step is none."""
    function = _REDUCE.get(name) or _LOGIC.get(name)
    if function is None:
        return None
    x = w.full(xs[0])
    axes = tuple(sorted(int(a) for a in p["axes"]))
    if x.dtype.kind == "c" and name in ("reduce_max", "reduce_min"):
        raise Unsupported(f"{name} of complex numbers")
    extra = ""
    if name in _LOGIC and x.dtype.kind == "b":
        function = {"bitwise_and": "logical_and", "bitwise_or": "logical_or",
                    "bitwise_xor": "logical_xor"}[function]
    if name in ("reduce_sum", "reduce_prod"):
        extra = f", {dtype_text(x.dtype)}"
    elif name in ("reduce_max", "reduce_min") and not all(positive(x.shape[a]) for a in axes):
        low = w.literal(_lowest(x.dtype, 1 if name == "reduce_max" else -1), x.dtype)
        extra = f", initial={low.text}"
    # along an axis of one element there is nothing to combine
    shape, axes = _shape(out), tuple(a for a in axes if x.shape[a] != 1)
    if not axes:
        return w.reshaped(x, shape, shape)
    where: Any = axes[0] if len(axes) == 1 else axes
    left = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    text = f"{function}.reduce({x.text}, {where}{extra})"
    if name == "reduce_sum" and x.dtype.kind in "fc" and _one_by_one(x.shape, axes):
        text = f"sum_over({x.text}, {axes}{extra})"
    if name in ("reduce_max", "reduce_min") and left and axes == (len(x.shape) - 1,) and not extra:
        text = f"along_rows({function}, {x.text})"
    found = w.let(text, left, x.dtype)
    found = w.local(found, "reduce", [x], axes)
    return w.reshaped(found, shape, shape)


def _one_by_one(shape: Sequence[Any], axes: Sequence[int]) -> bool:
    """Whether NumPy would add many numbers to one sum, one by one, along other axes than the last.

    So it does not where all is one sum.
    """
    if len(axes) == len(shape):
        return False
    numbers = [shape[a] for a in axes if a != len(shape) - 1]
    return not all(isinstance(n, int) for n in numbers) or math.prod(numbers) > SERIAL


def _arg(name: str) -> Emit:
    def emit(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
        x = w.full(xs[0])
        (axis,) = p["axes"]
        found = w.let(f"{name}({x.text}, {int(axis)})", _shape(out), np.dtype("int64"))
        return converted(w, found, dtype_of(out.aval))

    return emit


_CUMULATIVE: Final = {
    "cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum",
}


def cumulative(w: Writer, name: str, p: Any, xs: list[Expr], out: Any) -> Expr | None:
    function = _CUMULATIVE.get(name)
    if function is None:
        return None
    x = w.full(xs[0])
    # XLA multiplies the first one by 1, too, of which infinity times 0 is NaN
    if x.dtype.kind == "c" and name != "cumsum":
        raise Unsupported(f"{name} of complex numbers")
    axis = int(p["axis"])
    if name in ("cumsum", "cumprod") and x.dtype.kind in "fc":
        return w.let(f"accumulate({function}, {x.text}, {axis}, {p['reverse']})", x.shape, x.dtype,
                     None, p["reverse"])
    kind = f", {dtype_text(x.dtype)}" if name in ("cumsum", "cumprod") else ""
    if not p["reverse"]:
        return w.let(f"{function}.accumulate({x.text}, {axis}{kind})", x.shape, x.dtype)
    back = ", ".join("::-1" if d == axis else ":" for d in range(len(x.shape)))
    return w.let(f"{function}.accumulate({x.text}[{back}], {axis}{kind})[{back}]", x.shape, x.dtype,
                 None, True)


# products


#: multiplications of a product from which it may be computed on several threads
LONG: Final = 1 << 25


#: terms from which on a product may be summed in blocks
MANY: Final = 1024


def _dot_general(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    (left, right), (batch_left, batch_right) = p["dimension_numbers"]
    dtype = dtype_of(out.aval)
    x, y = (w.full(converted(w, v, dtype)) for v in xs)
    contract = [extents(left), extents(right)]
    batch = [extents(batch_left), extents(batch_right)]
    shape = _shape(out)

    def arranged(v: Expr, side: int, contracted_last: bool) -> tuple[Expr, tuple[int, ...]]:
        """The operand as (batch..., rows, columns), and the shape of its free axes."""
        free = tuple(d for d in range(len(v.shape))
                     if d not in contract[side] and d not in batch[side])
        inner = (*free, *contract[side]) if contracted_last else (*contract[side], *free)
        order = (*batch[side], *inner)
        sizes = tuple(v.shape[d] for d in batch[side])
        outer = tuple(v.shape[d] for d in free)
        depth = math.prod(v.shape[d] for d in contract[side])
        v = transposed(w, v, order, [v.shape[d] for d in order])
        matrix = (math.prod(outer), depth) if contracted_last else (depth, math.prod(outer))
        wanted = (*sizes, *matrix)
        if not sizes and not free and len(contract[side]) == 1:
            wanted = (depth,)
        return w.reshaped(v, wanted, wanted), outer

    a, _ = arranged(x, 0, True)
    b, _ = arranged(y, 1, False)
    function = "matmul" if batch[0] or dtype.kind not in "fc" else "dot"
    if dtype.kind == "b":
        raise Unsupported("dot_general of booleans")
    sizes = tuple(x.shape[d] for d in batch[0])
    rows = a.shape[len(sizes):-1] if len(a.shape) > len(sizes) + 1 else ()
    columns = b.shape[len(sizes) + 1:] if len(b.shape) > len(sizes) + 1 else ()
    natural = (*sizes, *rows, *columns)
    if dtype.kind == "c" and a.shape[-1] == 1:
        # BLAS multiplies the product by 1 as well, of which infinity times 0 is NaN
        sides = ((*sizes, *(rows or (1,)), 1), (*sizes, 1, *(columns or (1,))))
        found = complex_product(
            w, w.reshaped(a, sides[0], sides[0]), w.reshaped(b, sides[1], sides[1]),
            (*sizes, *(rows or (1,)), *(columns or (1,))), dtype)
        return w.reshaped(found, shape, shape)
    if dtype.kind == "f" and len(a.shape) == len(b.shape) == max(2, len(sizes) + 2) and (
        math.prod(natural) * a.shape[-1] >= LONG
    ):
        function = "product"
    elif dtype.kind in "fc" and not (isinstance(a.shape[-1], int) and a.shape[-1] < MANY):
        function = "product_in_blocks"
    found = w.let(f"{function}({a.text}, {b.text})", natural, dtype)
    return w.reshaped(found, shape, shape)


# indexing


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


def _dynamic_slice(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x = w.full(xs[0])
    sizes = extents(p["slice_sizes"])
    index = _starting(w, x.shape, sizes, xs[1:])
    return w.let(f"{x.text}[{index}]", sizes, x.dtype, None, True) if index else x


def _dynamic_update_slice(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    new = w.full(xs[1])
    index = _starting(w, xs[0].shape, new.shape, xs[2:])
    if not index:
        return new
    found = w.own(xs[0])
    w.line(f"{found.text}[{index}] = {new.text}")
    return found


def _mode(p: Any) -> str:
    name = str(p["mode"]).lower()
    for known in ("clip", "fill_or_drop", "promise_in_bounds"):
        if known in name:
            return known
    raise Unsupported(f"indexing mode {name}")


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


def _gather(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, indices = w.full(xs[0]), w.full(xs[1])
    numbers, mode = p["dimension_numbers"], _mode(p)
    sizes = extents(p["slice_sizes"])
    fill = "None"
    if mode == "fill_or_drop":
        given = p["fill_value"]
        if given is None:
            given = math.nan if x.dtype.kind in "fc" else (
                np.iinfo(x.dtype).min if x.dtype.kind == "i" else
                np.iinfo(x.dtype).max if x.dtype.kind == "u" else True)
        fill = w.literal(given, x.dtype).text
    plan = (extents(numbers.offset_dims), extents(numbers.collapsed_slice_dims),
            extents(numbers.start_index_map), extents(numbers.operand_batching_dims),
            extents(numbers.start_indices_batching_dims))
    shape = _shape(out)
    axis = _taken(x, indices, plan, sizes, len(shape))
    if axis is not None and fill == "None":
        where = w.reshaped(indices, indices.shape[:-1], indices.shape[:-1])
        return w.let(f"take({x.text}, {where.text}, {axis}, None, 'clip')", shape, x.dtype)
    return w.let(f"gather({x.text}, {indices.text}, {plan}, {sizes}, {fill}, {shape})", shape,
                 x.dtype)


_SCATTER: Final = {
    "scatter": "None", "scatter-add": "add", "scatter-mul": "multiply", "scatter-min": "minimum",
    "scatter-max": "maximum", "scatter_add": "add", "scatter_mul": "multiply",
    "scatter_min": "minimum", "scatter_max": "maximum", "scatter-sub": "subtract",
    "scatter_sub": "subtract",
}  # fmt: skip


def scatter(w: Writer, name: str, p: Any, xs: list[Expr], out: Any) -> Expr | None:
    function = _SCATTER.get(name)
    if function is None:
        return None
    x, indices, updates = w.own(xs[0]), w.full(xs[1]), w.full(xs[2])
    numbers, mode = p["dimension_numbers"], _mode(p)
    if x.dtype.kind == "b" and function not in ("None", "maximum", "minimum"):
        raise Unsupported(f"{name} of booleans")
    plan = (extents(numbers.update_window_dims), extents(numbers.inserted_window_dims),
            extents(numbers.scatter_dims_to_operand_dims), extents(numbers.operand_batching_dims),
            extents(numbers.scatter_indices_batching_dims))
    window, inserted, mapped, batching, _ = plan
    rows = len(x.shape) - 1
    if not batching and mapped == inserted == (0,) and indices.shape[-1:] == (1,) and (
        window == tuple(range(len(updates.shape) - rows, len(updates.shape)))
        and updates.shape[len(updates.shape) - rows :] == x.shape[1:]
    ):
        text = f"scatter_rows({x.text}, {indices.text}, {updates.text}, {mode == 'clip'}, "
        return w.let(f"{text}{function})", x.shape, x.dtype)
    return w.let(
        f"scatter({x.text}, {indices.text}, {updates.text}, {plan}, {mode == 'clip'}, {function})",
        x.shape, x.dtype)


def several(w: Writer, name: str, p: Any, xs: list[Expr], outs: list[Any]) -> list[Expr] | None:
    """A step with several results; None if it is none of those known here."""
    if name == "optimization_barrier":
        return xs
    if name == "split":
        x, at, found = w.full(xs[0]), 0, []
        axis = int(p["axis"])
        for out, size in zip(outs, p["sizes"], strict=True):
            index = [f"{at}:{at + extent(size)}" if d == axis else ":" for d in range(len(x.shape))]
            found.append(w.let(f"{x.text}[{w.index(index)}]", _shape(out), x.dtype, None, True))
            at += extent(size)
        return found
    if name == "sort":
        values = [w.full(x) for x in xs]
        if any(v.dtype.kind == "c" for v in values):
            raise Unsupported("sort of complex numbers")
        given = ", ".join(v.text for v in values)
        # results of a call that returns a tuple
        whole = w.let(f"sort(({given},), {int(p['dimension'])}, {int(p['num_keys'])})", (), None)
        return [w.let(f"{whole.text}[{k}]", v.shape, v.dtype) for k, v in enumerate(values)]
    if name == "top_k":
        x = w.full(xs[0])
        whole = w.let(f"top_k({x.text}, {int(p['k'])})", (), None)
        return [w.let(f"{whole.text}[0]", _shape(outs[0]), x.dtype),
                converted(w, w.let(f"{whole.text}[1]", _shape(outs[1]), np.dtype("int64")),
                          dtype_of(outs[1].aval))]
    return None


# windows


def _convolution(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, kernel = (w.full(v) for v in xs)
    if x.dtype.kind != "f":
        raise Unsupported(f"conv_general_dilated of {x.dtype}")
    numbers = p["dimension_numbers"]
    plan = (extents(numbers.lhs_spec), extents(numbers.rhs_spec),
            extents(numbers.out_spec), extents(p["window_strides"]),
            tuple(map(extents, p["padding"])), extents(p["lhs_dilation"]),
            extents(p["rhs_dilation"]), int(p["feature_group_count"]),
            int(p["batch_group_count"]))
    return w.let(f"convolution({x.text}, {kernel.text}, {plan})", _shape(out), x.dtype)


_WINDOWS: Final = {
    "reduce_window_sum": ("add", "0"), "reduce_window_max": ("maximum", "low"),
    "reduce_window_min": ("minimum", "high"),
}


def windows(w: Writer, name: str, p: Any, xs: list[Expr], out: Any) -> Expr | None:
    if name == "select_and_scatter_add":
        if str(p["select_prim"]) not in ("ge", "le"):
            raise Unsupported(f"select_and_scatter_add by {p['select_prim']}")
        source, x = (w.full(v) for v in xs)
        moves = (extents(p["window_dimensions"]), extents(p["window_strides"]),
                 tuple(map(extents, p["padding"])))
        which = "argmax" if str(p["select_prim"]) == "ge" else "argmin"
        low = w.literal(_lowest(x.dtype, 1 if which == "argmax" else -1), x.dtype)
        return w.let(f"select_and_scatter({source.text}, {x.text}, {moves}, {which}, {low.text})",
                     _shape(out), x.dtype)
    found = _WINDOWS.get(name)
    if found is None:
        return None
    function, start = found
    x = w.full(xs[0])
    if x.dtype.kind == "c":
        raise Unsupported(f"{name} of complex numbers")
    number = 0 if start == "0" else _lowest(x.dtype, 1 if start == "low" else -1)
    plan = (extents(p["window_dimensions"]), extents(p["window_strides"]),
            tuple(map(extents, p["padding"])), extents(p["base_dilation"]),
            extents(p["window_dilation"]))
    return w.let(
        f"reduce_window({x.text}, {function}, {w.literal(number, x.dtype).text}, {plan})",
        _shape(out), x.dtype)


SINGLE: Final[dict[str, Emit]] = {
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "squeeze": _squeeze,
    "expand_dims": _reshape, "transpose": _transpose, "rev": _rev, "slice": _slice,
    "concatenate": _concatenate, "stack": _stack, "pad": _pad, "iota": _iota, "copy": _same,
    "copy_p": _same, "stop_gradient": _same, "bitcast_convert_type": _bitcast,
    "argmax": _arg("argmax"), "argmin": _arg("argmin"), "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice,
    "dim_as_value": _number, "gather": _gather, "conv_general_dilated": _convolution,
    "fft": fft,
}  # fmt: skip

__all__ = ["SINGLE", "call", "cumulative", "reduction", "scatter", "several", "windows"]
