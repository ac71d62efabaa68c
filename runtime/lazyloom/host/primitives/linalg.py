"""Factors and triangular systems of small matrices: NumPy's loops, and the prelude's in C.

Decompositions are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...jaxprs.walking import linear_solve, positive
from ..c_values import CArray, CValue, FunctionWriter, NoCode, View, dim_text, product, total
from ..writer import Expr, Unsupported, Writer
from .entry import OTHER, ROUTINE, CValues, Exprs, Primitive

#: rows times matrices from which compiling takes less time than NumPy's loops
MOST: Final = 256


def _size(x: Expr) -> int:
    return x.size // max(1, x.shape[-1])


def _lu(w: Writer, step: Any, xs: Exprs) -> Exprs:
    x = w.full(xs[0])
    if not w.names.at_most(_size(x), MOST) or not positive(x.size):
        raise Unsupported("lu of large matrices, or empty ones")
    whole = w.let(f"lu({x.text})", (), None)
    return [w.let(f"{whole.text}[{k}]", tuple(v.aval.shape), np.dtype(str(v.aval.dtype)))
            for k, v in enumerate(step.outvars)]


def _lu_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    _check(xs)
    found = _copied(f, xs[0])
    pivots, order = (_result(f, v) for v in step.outvars[1:])
    *batches, m, n = found.shape
    _call(f, batches, f"l_lu_{found.kind}", found, pivots, order, dim_text(m), dim_text(n))
    return found, pivots, order


def _permutation(w: Writer, step: Any, xs: Exprs) -> Exprs:
    shape = tuple(step.outvars[0].aval.shape)
    if not w.names.at_most(xs[0].size, MOST) or not positive(xs[0].size):
        raise Unsupported("lu_pivots_to_permutation of many rows, or none")
    return [w.let(f"pivots_to_permutation({w.full(xs[0]).text}, {shape[-1]})", shape,
                  np.dtype("int32"))]


def _permutation_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    pivots, order = f.held(xs[0]), _result(f, step.outvars[0])
    *batches, count = pivots.shape
    _call(f, batches, "l_order", pivots, order, dim_text(count), dim_text(order.shape[-1]))
    return [order]


def _triangular_solve(w: Writer, step: Any, xs: Exprs) -> Exprs:
    p = step.params
    a, b = (w.full(x) for x in xs)
    if not w.names.at_most(_size(a), MOST) or not positive(a.size):
        raise Unsupported("triangular_solve of large matrices")
    flags = ", ".join(repr(bool(p[name])) for name in (
        "left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"))
    return [w.let(f"triangular_solve({a.text}, {b.text}, {flags})", b.shape, b.dtype)]


def _triangular_solve_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    _check(xs)
    p = step.params
    a, x = f.viewed(xs[0]), _copied(f, xs[1])
    left, lower = bool(p["left_side"]), bool(p["lower"])
    rows, columns = a.strides[-2:]
    n, others = x.shape[-2:]
    along, beside = x.strides[-2:]
    if not left:
        n, others, along, beside = others, n, beside, along
    if bool(p["transpose_a"]) == left:
        rows, columns, lower = columns, rows, not lower
    _call(f, x.shape[:-2], f"l_solve_{x.kind}", a, rows, columns, x, along, beside, dim_text(n),
          dim_text(others), str(int(lower)), str(int(bool(p["unit_diagonal"]))))
    return [x]


def _cholesky(w: Writer, step: Any, xs: Exprs) -> Exprs:
    x = w.full(xs[0])
    if not positive(x.size):
        raise Unsupported("cholesky of empty matrices")
    return [w.let(f"cholesky({x.text})", x.shape, x.dtype)]


def _cholesky_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    _check(xs)
    found = _copied(f, xs[0])
    *batches, n = found.shape[:-1]
    _call(f, batches, f"l_cholesky_{found.kind}", found, dim_text(n))
    return [found]


def _check(xs: CValues) -> None:
    if any(x.dtype.kind != "f" for x in xs):
        raise NoCode(f"matrices of {xs[0].dtype}")


def _copied(f: FunctionWriter, x: CValue) -> CArray:
    """Memory of its own, which has the value's elements."""
    found = f.buffer(x.shape, x.dtype)
    f.store(found, x)
    return found


def _call(
    f: FunctionWriter, batches: Sequence[Any], function: str, *arguments: View | str
) -> None:
    """Call one of the prelude's functions for each of the matrices that arrays have, or rows."""
    batch = f.open(tuple(batches))
    given = []
    for x in arguments:
        if isinstance(x, View):
            places = [product([i, s]) for i, s in zip(batch, x.strides, strict=False)]
            x = f"{x.name} + {total([x.offset, *places])}"
        given.append(x)
    f.line(f"{function}({', '.join(given)});")
    f.close(tuple(batches))


def _result(f: FunctionWriter, variable: Any) -> CArray:
    return f.buffer(tuple(variable.aval.shape), np.dtype(str(variable.aval.dtype)))


def _linear_solve(w: Writer, step: Any, xs: Exprs) -> Exprs:
    closed, given = linear_solve(step.params, xs)
    return w.body(closed.jaxpr, closed.consts, given)


def _linear_solve_in_c(f: FunctionWriter, step: Any, xs: CValues) -> CValues:
    closed, given = linear_solve(step.params, xs)
    return f.inner(closed.jaxpr, closed.consts, given)


def _decomposition(
    function: str, flags: Sequence[str], *without: str
) -> Callable[[Writer, Any, Exprs], Exprs]:
    """A call of LAPACK for double precision, with some of the step's parameters.

    ``without``: those that NumPy does not know, which have to be absent or false.
    """

    def emit(w: Writer, step: Any, xs: Exprs) -> Exprs:
        x, p = w.full(xs[0]), step.params
        name = step.primitive.name
        if x.dtype not in _DOUBLE or not positive(x.size):
            raise Unsupported(f"{name} of {x.dtype}, or of empty matrices")
        if any(p.get(each) for each in without):
            raise Unsupported(f"{name} with {', '.join(without)}")
        given = ", ".join([x.text, *(str(bool(p[each])) for each in flags)])
        whole = w.let(f"{function}({given})", (), None)
        return [w.let(f"{whole.text}[{k}]", tuple(v.aval.shape), np.dtype(str(v.aval.dtype)))
                for k, v in enumerate(step.outvars)]

    return emit


_DOUBLE: Final = (np.dtype(np.float64), np.dtype(np.complex128))

_QR: Final = _decomposition("qr", ["full_matrices"], "pivoting")
_SVD: Final = _decomposition(
    "svd", ["full_matrices", "compute_uv"], "subset_by_index", "algorithm")
_EIGH: Final = _decomposition("eigh", ["lower"], "subset_by_index", "algorithm")
_EIG: Final = _decomposition(
    "eig", ["compute_right_eigenvectors"], "compute_left_eigenvectors", "implementation")

LINALG: Final[dict[str, Primitive]] = {
    "lu": Primitive(_lu, _lu_in_c, OTHER, whole=True),
    "lu_pivots_to_permutation": Primitive(_permutation, _permutation_in_c, OTHER, whole=True),
    "triangular_solve": Primitive(_triangular_solve, _triangular_solve_in_c, OTHER, whole=True),
    "cholesky": Primitive(_cholesky, _cholesky_in_c, OTHER, whole=True),
    "qr": Primitive(_QR, ROUTINE, OTHER, whole=True),
    "svd": Primitive(_SVD, ROUTINE, OTHER, whole=True),
    "eigh": Primitive(_EIGH, ROUTINE, OTHER, whole=True),
    "eig": Primitive(_EIG, ROUTINE, OTHER, whole=True),
    "custom_linear_solve": Primitive(_linear_solve, _linear_solve_in_c, OTHER, whole=True),
}
