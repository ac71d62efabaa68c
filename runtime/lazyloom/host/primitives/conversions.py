"""Steps that choose elements, or give them in another dtype."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..c_values import NoCode, constant
from ..writer import Expr, Unsupported, Writer, dtype_text
from .elementwise import call
from .entry import COMPLEX, SELDOM, CValues, Emit, Exprs, Primitive, elementwise, in_numpy


def _select(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    which, *cases = xs
    if len(cases) == 1:
        return cases[0]
    if which.dtype.kind == "b":
        return call(w, "choose", [which, cases[1], cases[0]], shape, dtype)
    found = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        at = w.literal(number, which.dtype)
        below = call(w, "less_equal", [which, at], which.shape, np.dtype(bool))
        found = call(w, "choose", [below, cases[number], found], shape, dtype)
    return found


def _select_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    if len(xs) == 2:
        return "{1}", 0
    if len(xs) != 3:
        raise NoCode(f"select_n of {len(xs) - 1} cases")
    return f"({{0}}{'' if xs[0].dtype.kind == 'b' else ' > 0'} ? {{2}} : {{1}})", 1


def converted(w: Writer, x: Expr, dtype: Any) -> Expr:
    """A value in another dtype, as XLA converts: towards zero, out of range to the nearest."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return call(w, "not_equal", [x, w.literal(0, x.dtype)], x.shape, dtype)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = w.let(f"{x.text}.real", x.shape, np.dtype(f"f{x.dtype.itemsize // 2}"), x.actual, True)
        return converted(w, x, dtype)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        text = f"float_to_int({x.text}, {dtype_text(dtype)})"
    else:
        text = f"{x.text}.astype({dtype_text(dtype)})"
    return w.local(w.let(text, x.shape, dtype, x.actual), "elementwise", [x])


def _convert_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    x = xs[0]
    if x.dtype == dtype:
        return "{0}", 0
    if dtype.kind == "b":
        return "({0} != 0)", 1
    kind = constant(0, dtype).kind
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return f"l_{kind}_of_{{kind}}({{0}})", 3
    return f"(({kind}){{0}})", 1


def _bitcast(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    x = w.full(xs[0])
    if not _same_size(x.dtype, dtype):
        raise Unsupported("bitcast_convert_type to another size")
    found = w.let(f"{x.text}.view({dtype_text(dtype)})", x.shape, dtype, None, True)
    return w.local(found, "elementwise", [x])


def _bitcast_in_c(p: Any, xs: CValues, dtype: Any) -> tuple[str, int]:
    x = xs[0]
    if not _same_size(x.dtype, dtype):
        raise NoCode(f"bits of {x.dtype} as {dtype}")
    kind, bits = constant(0, dtype).kind, f"u{8 * dtype.itemsize}"
    if x.dtype.kind == "f":
        return f"(({kind}){bits}_of({{0}}))" if dtype.kind != "f" else "{0}", 0
    return f"{kind}_of(({bits}){{0}})" if dtype.kind == "f" else f"(({kind}){{0}})", 0


def _same_size(x: Any, dtype: Any) -> bool:
    """Whether the bits of a number are those of one of another dtype."""
    return bool(x.itemsize == dtype.itemsize and "b" not in (x.kind, dtype.kind))


def _same(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    return xs[0]


def _part(name: str) -> Emit:
    return lambda w, p, xs, shape, dtype: w.let(
        f"{xs[0].text}.{name}", shape, dtype, xs[0].actual, True)


def _precision(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
    info = np.finfo(dtype)
    if (p["exponent_bits"], p["mantissa_bits"]) != (info.nexp, info.nmant):
        raise Unsupported("reduce_precision")
    return xs[0]


CONVERSIONS: Final[dict[str, Primitive]] = {
    "reduce_precision": in_numpy(_precision, SELDOM, bits=True),
    "select_n": elementwise(_select, _select_in_c),
    "convert_element_type": elementwise(
        lambda w, p, xs, shape, dtype: converted(w, xs[0], dtype), _convert_in_c),
    "bitcast_convert_type": elementwise(_bitcast, _bitcast_in_c, bits=True),
    "copy": elementwise(_same, "{0}", 0),
    "copy_p": in_numpy(_same, SELDOM),
    "stop_gradient": elementwise(_same, "{0}", 0),
    "real": in_numpy(_part("real"), COMPLEX),
    "imag": in_numpy(_part("imag"), COMPLEX),
}
