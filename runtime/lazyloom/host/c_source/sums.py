"""Steps that combine elements: reductions, cumulative steps, products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .values import (
    CValue,
    FunctionWriter,
    InnerLoop,
    NoCode,
    Shape,
    View,
    c_type,
    dim_text,
    number_text,
    product,
    same,
)

Rule = Callable[[FunctionWriter, Any, Sequence[CValue], Shape, Any], CValue]


def whole_index(
    shape: Shape, axes: Sequence[int], kept: Sequence[str], inner: Sequence[str]
) -> list[str]:
    """An index of the operand, of that of the result and those along the axes."""
    found = []
    outer, along = iter(kept), iter(inner)
    for k in range(len(shape)):
        found.append(next(along) if k in axes else next(outer))
    return found


def _reduce(sign: str, start: Any, extremum: str = "") -> Rule:
    def rule(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape, dtype: Any) -> CValue:
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
        along, own, closing = _opened(
            f, tuple(x.shape[k] for k in axes), name, "" if extremum else sign, dtype)
        body = InnerLoop(f)
        text = x.at(body, whole_index(x.shape, axes, index, along))
        for line in body.lines:
            f.line(line)
        if extremum:
            if real:
                f.line(f"{name}n |= ({text} != {text});")
            f.line(f"{name} = {text} {extremum} {name} ? {text} : {name};")
        else:
            f.line(f"{own} {sign}= {text};")
        f.line(closing)
        at = found.at(body, index)
        f.line(f"{at} = {name}n ? ({kind})NAN : {name};" if real else f"{at} = {name};")
        f.close(shape)
        return found

    return rule


#: numbers that are added to one before that is added to the rest, along the innermost axis, where
#: a vector has several sums, and along others
_ADDED: Final = {4: 1024, 8: 512}
_ADDED_OUTSIDE: Final = 128
#: rows that a product adds one by one, at most, and work that is left to NumPy however many its
#: calls are
_ROWS: Final = 512
_TOO_MUCH: Final = 1 << 30


def _opened(
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
        most = _ADDED[dtype.itemsize] if last and blocks else _ADDED_OUTSIDE
        if blocks and not (isinstance(shape[k], int) and shape[k] <= most):
            block, stop, part = f.fresh("j"), f.fresh("e"), f.fresh("r")
            f.line(f"for (i64 {block} = 0; {block} < {end}; {block} += {most}) {{")
            f.line(f"i64 {stop} = {end} - {block} < {most} ? {end} : {block} + {most};")
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


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind != "b" else False


def _most(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max if dtype.kind != "b" else True


def _arg(extremum: str) -> Rule:
    def rule(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape, dtype: Any) -> CValue:
        x, (axis,) = xs[0], p["axes"]
        found = f.buffer(shape, dtype)
        index = f.open(shape)
        body = InnerLoop(f)
        best, place, i = f.fresh("b"), f.fresh("p"), f.fresh("j")
        first = x.at(body, whole_index(x.shape, [axis], index, ["0"]))
        for line in body.lines:
            f.line(line)
        f.line(f"{x.kind} {best} = {first}; i64 {place} = 0;")
        f.line(f"for (i64 {i} = 1; {i} < {dim_text(x.shape[axis])}; {i}++) {{")
        body = InnerLoop(f)
        text = x.at(body, whole_index(x.shape, [axis], index, [i]))
        for line in body.lines:
            f.line(line)
        better = f"{text} {extremum} {best}"
        if x.dtype.kind == "f":
            # the first NaN
            better = f"{best} == {best} && ({better} || {text} != {text})"
        f.line(f"if ({better}) {{ {best} = {text}; {place} = {i}; }}")
        f.line("}")
        f.line(f"{found.at(body, index)} = ({found.kind}){place};")
        f.close(shape)
        return found

    return rule


def _cumulative(combine: str, from_zero: bool = False, computed: bool = False) -> Rule:
    """Of all elements so far: from the first one on, or from zero on, as sums are in XLA.

    What is ``computed`` of the first one, too, is no subnormal number.
    """

    def rule(f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape, dtype: Any) -> CValue:
        x, axis = xs[0], p["axis"]
        found = f.buffer(shape, dtype)
        outer = tuple(1 if k == axis else n for k, n in enumerate(shape))
        index = f.open(outer)
        last, i, length = f.fresh("r"), f.fresh("j"), dim_text(shape[axis])
        f.line(f"{found.kind} {last} = 0;")
        f.line(f"for (i64 {i} = 0; {i} < {length}; {i}++) {{")
        index[axis] = f.scalar("i64", f"{length} - 1 - {i}") if p["reverse"] else i
        body = InnerLoop(f)
        text = x.at(body, index)
        for line in body.lines:
            f.line(line)
        joined = combine.format(last, text, kind=found.kind)
        started = from_zero and not same(shape[axis], 1)
        first = f"l_flushed_{found.kind}({text})" if computed and dtype.kind == "f" else text
        f.line(f"{last} = {joined};" if started else f"{last} = {i} ? {joined} : {first};")
        f.line(f"{found.at(body, index)} = {last};")
        f.line("}")
        f.close(outer)
        return found

    return rule


def _dot_general(
    f: FunctionWriter, p: Any, xs: Sequence[CValue], shape: Shape, dtype: Any
) -> CValue:
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
        along, own, closing = _opened(f, summed, name, "+", dtype)
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


COMBINED: Final[dict[str, Rule]] = {
    "reduce_sum": _reduce("+", 0), "reduce_prod": _reduce("*", 1),
    "reduce_max": _reduce("", _least, ">"), "reduce_min": _reduce("", _most, "<"),
    "reduce_and": _reduce("&", lambda d: _most(d) if d.kind in "bu" else -1),
    "reduce_or": _reduce("|", 0), "argmax": _arg(">"), "argmin": _arg("<"),
    "cumsum": _cumulative("{0} + {1}", from_zero=True, computed=True),
    "cumprod": _cumulative("{0} * {1}", computed=True),
    "cummax": _cumulative("l_max_{kind}({0}, {1})"),
    "cummin": _cumulative("l_min_{kind}({0}, {1})"), "dot_general": _dot_general,
}  # fmt: skip
