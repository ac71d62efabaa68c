"""Steps that combine elements along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import positive
from ..c_values import (
    CValue,
    FunctionWriter,
    InnerLoop,
    NoCode,
    Shape,
    c_type,
    dim_text,
    number_text,
    same,
)
from ..writer import SERIAL, Expr, Unsupported, Writer, dtype_text
from .conversions import converted
from .entry import COMBINE, SELDOM, CValues, Emit, EmitInC, Exprs, Primitive

#: functions that compute, in the dtype that they are told
_ARITHMETIC: Final = ("add", "multiply")


def least(dtype: Any) -> Any:
    """The least number of a dtype."""
    return -math.inf if dtype.kind == "f" else dtype.kind != "b" and np.iinfo(dtype).min


def most(dtype: Any) -> Any:
    """The largest number of a dtype."""
    return math.inf if dtype.kind == "f" else dtype.kind == "b" or np.iinfo(dtype).max


def _reduce(function: str, start: Callable[[Any], Any] | None = None, logical: str = "") -> Emit:
    """A call that gives ``start`` of no elements; ``logical`` is the one for booleans."""

    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        x = w.full(xs[0])
        axes = tuple(sorted(int(a) for a in p["axes"]))
        if x.dtype.kind == "c" and start is not None:
            raise Unsupported(f"{function} of complex numbers")
        extra = ""
        if function in _ARITHMETIC:
            extra = f", {dtype_text(x.dtype)}"
        elif start is not None and not all(positive(x.shape[a]) for a in axes):
            extra = f", initial={w.literal(start(x.dtype), x.dtype).text}"
        # along an axis of one element there is nothing to combine
        axes = tuple(a for a in axes if x.shape[a] != 1)
        if not axes:
            return w.reshaped(x, shape, shape)
        where: Any = axes[0] if len(axes) == 1 else axes
        left = tuple(n for d, n in enumerate(x.shape) if d not in axes)
        name = logical if logical and x.dtype.kind == "b" else function
        text = f"{name}.reduce({x.text}, {where}{extra})"
        if function == "add" and x.dtype.kind in "fc" and _one_by_one(x.shape, axes):
            text = f"sum_over({x.text}, {axes}{extra})"
        if start is not None and left and axes == (len(x.shape) - 1,) and not extra:
            text = f"along_rows({function}, {x.text})"
        found = w.let(text, left, x.dtype)
        found = w.local(found, "reduce", [x], axes)
        return w.reshaped(found, shape, shape)

    return emit


def _one_by_one(shape: Sequence[Any], axes: Sequence[int]) -> bool:
    """Whether NumPy would add many numbers to one sum, one by one, along other axes than the last.

    So it does not where all is one sum.
    """
    if len(axes) == len(shape):
        return False
    numbers = [shape[a] for a in axes if a != len(shape) - 1]
    return not all(isinstance(n, int) for n in numbers) or math.prod(numbers) > SERIAL


def whole_index(
    shape: Shape, axes: Sequence[int], kept: Sequence[str], inner: Sequence[str]
) -> list[str]:
    """An index of the operand, of that of the result and those along the axes."""
    outer, along = iter(kept), iter(inner)
    return [next(along if k in axes else outer) for k in range(len(shape))]


def _reduce_in_c(sign: str, start: Any, extremum: str = "") -> EmitInC:
    def emit(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
        x, axes = xs[0], sorted(p["axes"])
        if p.get("out_sharding") is not None:
            raise NoCode("sharded")
        found = f.buffer(shape, dtype)
        first = start(dtype) if callable(start) else start
        if sign == "+" and dtype.kind == "f" and all(same(x.shape[k], 1) for k in axes):
            # the sum of one number is that number, -0.0 too
            first = -0.0
        if x.cost > 40:
            x = f.held(x)
        index = f.open(shape)
        kind = found.kind
        name = f.fresh("r")
        f.line(f"{kind} {name} = {number_text(first, dtype)};")
        real = bool(extremum) and dtype.kind == "f"
        if real:
            # a NaN is the result wherever it stands
            f.line(f"i32 {name}n = 0;")
        along, own, closing = opened(
            f, tuple(x.shape[k] for k in axes), name, "" if extremum else sign, dtype)
        text = f.element(x, whole_index(x.shape, axes, index, along))
        if extremum:
            if real:
                f.line(f"{name}n |= ({text} != {text});")
            f.line(f"{name} = {text} {extremum} {name} ? {text} : {name};")
        else:
            f.line(f"{own} {sign}= {text};")
        f.line(closing)
        at = found.at(InnerLoop(f), index)
        f.line(f"{at} = {name}n ? ({kind})NAN : {name};" if real else f"{at} = {name};")
        f.close(shape)
        return found

    return emit


#: numbers that are added to one before that is added to the rest, along the innermost axis, where
#: a vector has several sums, and along others
_ADDED: Final = {4: 1024, 8: 512}
_ADDED_OUTSIDE: Final = 128


def opened(
    f: FunctionWriter, shape: Shape, name: str, sign: str, dtype: Any
) -> tuple[list[str], str, str]:
    """Loops whose innermost is computed in parts by vectors.

    Long sums of floating-point numbers are sums of blocks, so that their error does not grow with
    their length.

    Returns:
        The index, what the elements are added to (or combined with) and what closes the loops.
    """
    long = [k for k, n in enumerate(shape) if not same(n, 1)]
    if not long:
        return f.open(shape), name, "}"
    index, closing = ["0"] * len(shape), ""
    blocks = sign == "+" and dtype.kind == "f"
    for k in long:
        index[k] = i = f.fresh("j")
        last = k == long[-1]
        first, end = "0", dim_text(shape[k])
        limit = _ADDED[dtype.itemsize] if last and blocks else _ADDED_OUTSIDE
        if blocks and not (isinstance(shape[k], int) and shape[k] <= limit):
            block, stop, part = f.fresh("j"), f.fresh("e"), f.fresh("r")
            f.line(f"for (i64 {block} = 0; {block} < {end}; {block} += {limit}) {{")
            f.line(f"i64 {stop} = {end} - {block} < {limit} ? {end} : {block} + {limit};")
            f.line(f"{c_type(dtype)} {part} = 0;")
            closing = f"{name} += {part}; }}" + closing
            name, first, end = part, block, stop
        if last and sign in ("+", "*", "|", "&"):
            f.line(f"#pragma omp simd reduction({sign}:{name})")
        f.line(f"for (i64 {i} = {first}; {i} < {end}; {i}++) {{")
        closing = "}" + closing
        if blocks and not last:
            part = f.fresh("r")
            f.line(f"{c_type(dtype)} {part} = 0;")
            closing = f"{name} += {part}; " + closing
            name = part
    return index, name, closing


def _arg(name: str) -> Emit:
    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        x = w.full(xs[0])
        (axis,) = p["axes"]
        found = w.let(f"{name}({x.text}, {int(axis)})", shape, np.dtype("int64"))
        return converted(w, found, dtype)

    return emit


def _arg_in_c(extremum: str) -> EmitInC:
    def emit(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
        x, (axis,) = xs[0], p["axes"]
        found = f.buffer(shape, dtype)
        index = f.open(shape)
        best, place, i = f.fresh("b"), f.fresh("p"), f.fresh("j")
        first = f.element(x, whole_index(x.shape, [axis], index, ["0"]))
        f.line(f"{x.kind} {best} = {first}; i64 {place} = 0;")
        f.line(f"for (i64 {i} = 1; {i} < {dim_text(x.shape[axis])}; {i}++) {{")
        text = f.element(x, whole_index(x.shape, [axis], index, [i]))
        better = f"{text} {extremum} {best}"
        if x.dtype.kind == "f":
            # the first NaN
            better = f"{best} == {best} && ({better} || {text} != {text})"
        f.line(f"if ({better}) {{ {best} = {text}; {place} = {i}; }}")
        f.line("}")
        f.line(f"{found.at(InnerLoop(f), index)} = ({found.kind}){place};")
        f.close(shape)
        return found

    return emit


def _cumulative(function: str) -> Emit:
    def emit(w: Writer, p: Any, xs: Exprs, shape: tuple[int, ...], dtype: Any) -> Expr:
        x = w.full(xs[0])
        # XLA multiplies the first one by 1, too, of which infinity times 0 is NaN
        if x.dtype.kind == "c" and function != "add":
            raise Unsupported(f"{function}.accumulate of complex numbers")
        axis = int(p["axis"])
        if function in _ARITHMETIC and x.dtype.kind in "fc":
            return w.let(f"accumulate({function}, {x.text}, {axis}, {p['reverse']})", x.shape,
                         x.dtype, None, p["reverse"])
        kind = f", {dtype_text(x.dtype)}" if function in _ARITHMETIC else ""
        if not p["reverse"]:
            return w.let(f"{function}.accumulate({x.text}, {axis}{kind})", x.shape, x.dtype)
        back = ", ".join("::-1" if d == axis else ":" for d in range(len(x.shape)))
        return w.let(f"{function}.accumulate({x.text}[{back}], {axis}{kind})[{back}]", x.shape,
                     x.dtype, None, True)

    return emit


def _cumulative_in_c(combine: str, from_zero: bool = False, computed: bool = False) -> EmitInC:
    """Of all elements so far: from the first one on, or from zero on, as sums are in XLA.

    What is ``computed`` of the first one, too, is no subnormal number.
    """

    def emit(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
        x, axis = xs[0], p["axis"]
        found = f.buffer(shape, dtype)
        outer = tuple(1 if k == axis else n for k, n in enumerate(shape))
        index = f.open(outer)
        last, i, length = f.fresh("r"), f.fresh("j"), dim_text(shape[axis])
        f.line(f"{found.kind} {last} = 0;")
        f.line(f"for (i64 {i} = 0; {i} < {length}; {i}++) {{")
        index[axis] = f.scalar("i64", f"{length} - 1 - {i}") if p["reverse"] else i
        text = f.element(x, index)
        joined = combine.format(last, text, kind=found.kind)
        started = from_zero and not same(shape[axis], 1)
        first = f"l_flushed_{found.kind}({text})" if computed and dtype.kind == "f" else text
        f.line(f"{last} = {joined};" if started else f"{last} = {i} ? {joined} : {first};")
        f.line(f"{found.at(InnerLoop(f), index)} = {last};")
        f.line("}")
        f.close(outer)
        return found

    return emit


COMBINED: Final[dict[str, Primitive]] = {
    "reduce_sum": Primitive(_reduce("add"), _reduce_in_c("+", 0), COMBINE, overflows=True),
    "reduce_prod": Primitive(_reduce("multiply"), _reduce_in_c("*", 1), COMBINE, overflows=True),
    "reduce_max": Primitive(_reduce("maximum", least), _reduce_in_c("", least, ">"), COMBINE),
    "reduce_min": Primitive(_reduce("minimum", most), _reduce_in_c("", most, "<"), COMBINE),
    "reduce_and": Primitive(
        _reduce("bitwise_and", logical="logical_and"),
        _reduce_in_c("&", lambda d: most(d) if d.kind in "bu" else -1), COMBINE),
    "reduce_or": Primitive(
        _reduce("bitwise_or", logical="logical_or"), _reduce_in_c("|", 0), COMBINE),
    "reduce_xor": Primitive(_reduce("bitwise_xor", logical="logical_xor"), SELDOM, COMBINE),
    "argmax": Primitive(_arg("argmax"), _arg_in_c(">"), COMBINE),
    "argmin": Primitive(_arg("argmin"), _arg_in_c("<"), COMBINE),
    "cumsum": Primitive(
        _cumulative("add"), _cumulative_in_c("{0} + {1}", from_zero=True, computed=True), COMBINE,
        overflows=True),
    "cumprod": Primitive(
        _cumulative("multiply"), _cumulative_in_c("{0} * {1}", computed=True), COMBINE,
        overflows=True),
    "cummax": Primitive(
        _cumulative("maximum"), _cumulative_in_c("l_max_{kind}({0}, {1})"), COMBINE),
    "cummin": Primitive(
        _cumulative("minimum"), _cumulative_in_c("l_min_{kind}({0}, {1})"), COMBINE),
}
