"""Steps that multiply and add: products, convolutions, windows, transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...jaxprs.walking import positive
from ..c_values import (
    CValue,
    FunctionWriter,
    InnerLoop,
    NoCode,
    Shape,
    View,
    dim_text,
    product,
    same,
)
from ..writer import Expr, Unsupported, Writer, extents
from .conversions import converted
from .elementwise import complex_product
from .entry import COMBINE, COMPLEX, ROUTINE, CValues, Emit, Exprs, Primitive
from .reductions import least, most, opened
from .shapes import transposed

#: multiplications of a product from which it may be computed on several threads
LONG: Final = 1 << 25
#: terms from which on a product may be summed in blocks
MANY: Final = 1024

#: rows that a product adds one by one, at most, and work that is left to NumPy however many its
#: calls are
_ROWS: Final = 512
_TOO_MUCH: Final = 1 << 30


def _product(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    (left, right), (batch_left, batch_right) = p["dimension_numbers"]
    x, y = (w.full(converted(w, v, dtype)) for v in xs)
    contract = [extents(left), extents(right)]
    batch = [extents(batch_left), extents(batch_right)]

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
    elif dtype.kind in "fc" and not isinstance(a.shape[-1], int):
        # asked of the arrays, so that one kernel serves all extents
        function = f"({function} if {a.text}.shape[-1] < {MANY} else product_in_blocks)"
    elif dtype.kind in "fc" and a.shape[-1] >= MANY:
        function = "product_in_blocks"
    found = w.let(f"{function}({a.text}, {b.text})", natural, dtype)
    return w.reshaped(found, shape, shape)


def _product_in_c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
    if any(x.dtype != dtype for x in xs) or dtype.kind == "b":
        raise NoCode("a product in another dtype")
    if len(shape) > 3:
        # most of these are large
        raise NoCode("a product of many matrices")
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = p["dimension_numbers"]
    a, b = (f.viewed(x) for x in xs)
    m = [k for k in range(len(a.shape)) if k not in (*lhs_contract, *lhs_batch)]
    n = [k for k in range(len(b.shape)) if k not in (*rhs_contract, *rhs_batch)]
    found = f.buffer(shape, dtype)
    summed = tuple(a.shape[k] for k in lhs_contract)
    f.work.append(product(map(dim_text, (*shape, *summed))))
    batches = tuple(a.shape[k] for k in lhs_batch)
    rows, columns = tuple(a.shape[k] for k in m), tuple(b.shape[k] for k in n)

    def placed(of: View, parts: Sequence[tuple[Sequence[int], Sequence[str]]]) -> str:
        at = [""] * len(of.shape)
        for places, index in parts:
            for k, i in zip(places, index, strict=True):
                at[k] = i
        return of.at(InnerLoop(f), at)

    batch, row = f.open(batches), f.open(rows)
    if _side_by_side(b, n) and not _side_by_side(b, rhs_contract):
        # a row of the result is a sum of rows, which are added one by one: long ones by NumPy
        f.work.append(f"({product(map(dim_text, summed))} > {_ROWS}) * {_TOO_MUCH}")
        column = f.open(columns)
        f.line(f"{found.at(InnerLoop(f), [*batch, *row, *column])} = 0;")
        f.close(columns)
        along = f.open(summed)
        left = f.scalar(
            found.kind, placed(a, [(lhs_batch, batch), (m, row), (lhs_contract, along)]))
        column = f.open(columns)
        right = placed(b, [(rhs_batch, batch), (n, column), (rhs_contract, along)])
        f.line(f"{found.at(InnerLoop(f), [*batch, *row, *column])} += {left} * {right};")
        f.close(columns)
        f.close(summed)
    else:
        column = f.open(columns)
        name = f.fresh("r")
        f.line(f"{found.kind} {name} = 0;")
        along, own, closing = opened(f, summed, name, "+", dtype)
        left = placed(a, [(lhs_batch, batch), (m, row), (lhs_contract, along)])
        right = placed(b, [(rhs_batch, batch), (n, column), (rhs_contract, along)])
        f.line(f"{own} += {left} * {right};")
        f.line(closing)
        f.line(f"{found.at(InnerLoop(f), [*batch, *row, *column])} = {name};")
        f.close(columns)
    f.close(rows)
    f.close(batches)
    return found


def _side_by_side(x: View, axes: Sequence[int]) -> bool:
    """Whether elements along the last of the axes that has several lie one after the other."""
    long = [k for k in axes if not same(x.shape[k], 1)]
    return bool(long) and x.strides[long[-1]] == "1"


def _convolution(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x, kernel = (w.full(v) for v in xs)
    if x.dtype.kind != "f":
        raise Unsupported(f"conv_general_dilated of {x.dtype}")
    numbers = p["dimension_numbers"]
    plan = (extents(numbers.lhs_spec), extents(numbers.rhs_spec),
            extents(numbers.out_spec), extents(p["window_strides"]),
            tuple(map(extents, p["padding"])), extents(p["lhs_dilation"]),
            extents(p["rhs_dilation"]), int(p["feature_group_count"]),
            int(p["batch_group_count"]))
    return w.let(f"convolution({x.text}, {kernel.text}, {plan})", shape, x.dtype)


def _select_and_scatter(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    if str(p["select_prim"]) not in ("ge", "le"):
        raise Unsupported(f"select_and_scatter_add by {p['select_prim']}")
    source, x = (w.full(v) for v in xs)
    moves = (extents(p["window_dimensions"]), extents(p["window_strides"]),
             tuple(map(extents, p["padding"])))
    which, start = ("argmax", least) if str(p["select_prim"]) == "ge" else ("argmin", most)
    low = w.literal(start(x.dtype), x.dtype)
    return w.let(f"select_and_scatter({source.text}, {x.text}, {moves}, {which}, {low.text})",
                 shape, x.dtype)


def _windows(function: str, start: Callable[[Any], Any]) -> Emit:
    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        x = w.full(xs[0])
        if x.dtype.kind == "c":
            raise Unsupported(f"{function} of windows of complex numbers")
        plan = (extents(p["window_dimensions"]), extents(p["window_strides"]),
                tuple(map(extents, p["padding"])), extents(p["base_dilation"]),
                extents(p["window_dilation"]))
        number = w.literal(start(x.dtype), x.dtype).text
        return w.let(f"reduce_window({x.text}, {function}, {number}, {plan})", shape, x.dtype)

    return emit


def _fft(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = w.full(xs[0])
    if not positive(x.size):
        raise Unsupported("fft of arrays without elements")
    counts = extents(p["fft_lengths"])
    return w.let(f"transform({x.text}, {int(p['fft_type'])}, {counts})", shape, dtype)


PRODUCTS: Final[dict[str, Primitive]] = {
    "dot_general": Primitive(_product, _product_in_c, COMBINE, overflows=True),
    "conv_general_dilated": Primitive(_convolution, ROUTINE, COMBINE, overflows=True),
    "reduce_window_sum": Primitive(
        _windows("add", lambda dtype: 0), ROUTINE, COMBINE, overflows=True),
    "reduce_window_max": Primitive(_windows("maximum", least), ROUTINE, COMBINE),
    "reduce_window_min": Primitive(_windows("minimum", most), ROUTINE, COMBINE),
    "select_and_scatter_add": Primitive(_select_and_scatter, ROUTINE, COMBINE),
    "fft": Primitive(_fft, COMPLEX, COMBINE),
}
