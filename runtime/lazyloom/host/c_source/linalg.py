"""Factors and triangular systems of small matrices, whose loops the prelude has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .values import CArray, CValue, FunctionWriter, NoCode, Shape, View, dim_text, product, total

Rule = Callable[[FunctionWriter, Any, Sequence[CValue], Sequence[tuple[Shape, Any]]],
    Sequence[CValue]]


def _lu(f: FunctionWriter, p: Any, xs: Sequence[CValue],
        outs: Sequence[tuple[Shape, Any]]) -> Sequence[CValue]:  # fmt: skip
    _check(xs)
    found = _copied(f, xs[0])
    pivots, order = (f.buffer(*out) for out in outs[1:])
    *batches, m, n = found.shape
    batch = f.open(tuple(batches))
    f.line(f"l_lu_{found.kind}({_address(found, batch)}, {_address(pivots, batch)}, "
           f"{_address(order, batch)}, {dim_text(m)}, {dim_text(n)});")  # fmt: skip
    f.close(tuple(batches))
    return found, pivots, order


def _permutation(f: FunctionWriter, p: Any, xs: Sequence[CValue],
                 outs: Sequence[tuple[Shape, Any]]) -> Sequence[CValue]:  # fmt: skip
    pivots, order = f.held(xs[0]), f.buffer(*outs[0])
    *batches, count = pivots.shape
    batch = f.open(tuple(batches))
    f.line(f"l_order({_address(pivots, batch)}, {_address(order, batch)}, {dim_text(count)}, "
           f"{dim_text(order.shape[-1])});")  # fmt: skip
    f.close(tuple(batches))
    return [order]


def _triangular_solve(f: FunctionWriter, p: Any, xs: Sequence[CValue],
                      outs: Sequence[tuple[Shape, Any]]) -> Sequence[CValue]:  # fmt: skip
    _check(xs)
    a, x = f.viewed(xs[0]), _copied(f, xs[1])
    left, lower = bool(p["left_side"]), bool(p["lower"])
    rows, columns = a.strides[-2:]
    n, others = x.shape[-2:]
    along, beside = x.strides[-2:]
    if not left:
        n, others, along, beside = others, n, beside, along
    if bool(p["transpose_a"]) == left:
        rows, columns, lower = columns, rows, not lower
    batches = tuple(x.shape[:-2])
    batch = f.open(batches)
    f.line(f"l_solve_{x.kind}({_address(a, batch)}, {rows}, {columns}, {_address(x, batch)}, "
           f"{along}, {beside}, {dim_text(n)}, {dim_text(others)}, {int(lower)}, "
           f"{int(bool(p['unit_diagonal']))});")  # fmt: skip
    f.close(batches)
    return [x]


def _cholesky(f: FunctionWriter, p: Any, xs: Sequence[CValue],
              outs: Sequence[tuple[Shape, Any]]) -> Sequence[CValue]:  # fmt: skip
    _check(xs)
    found = _copied(f, xs[0])
    *batches, n = found.shape[:-1]
    batch = f.open(tuple(batches))
    f.line(f"l_cholesky_{found.kind}({_address(found, batch)}, {dim_text(n)});")
    f.close(tuple(batches))
    return [found]


def _check(xs: Sequence[CValue]) -> None:
    if any(x.dtype.kind != "f" for x in xs):
        raise NoCode(f"matrices of {xs[0].dtype}")


def _copied(f: FunctionWriter, x: CValue) -> CArray:
    """Memory of its own, which has the value's elements."""
    found = f.buffer(x.shape, x.dtype)
    f.store(found, x)
    return found


def _address(x: View, batch: Sequence[str]) -> str:
    """Where one of the matrices of an array starts, or one of its rows."""
    strides = x.strides[: len(batch)]
    places = [product([i, s]) for i, s in zip(batch, strides, strict=True)]
    return f"{x.name} + {total([x.offset, *places])}"


LINALG: Final[dict[str, Rule]] = {
    "lu": _lu, "lu_pivots_to_permutation": _permutation, "triangular_solve": _triangular_solve,
    "cholesky": _cholesky,
}  # fmt: skip
