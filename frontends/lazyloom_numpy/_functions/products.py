"""Products of arrays: dot, inner, outer, tensordot, einsum, cross, trace, kron."""

from __future__ import annotations

import operator
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, value_of
from .._arguments.options import memory_order
from .._array.layout import lay_out
from .._array.ndarray import ndarray, wrap
from .._ufuncs.outputs import finish
from .._ufuncs.ufunc import TABLE, cast_values
from .joining import concatenate, zeros_after
from .manipulation import diagonal, diagonal_view, moveaxis

record = lazyloom.record


def _array(a: Any) -> ndarray:
    return a if isinstance(a, ndarray) else ndarray.from_value(value_of(a))


def common(*arrays: Any) -> tuple[DType, list[Any]]:
    """The promoted dtype, and the arguments as Values of it; numbers count as arrays."""
    values = [value_of(a) for a in arrays]
    d = dt.promote(*(v.type.dtype for v in values))
    return d, [as_value(v, d) for v in values]


def _boolean(value: Any, was: DType) -> Any:
    return record("not_equal", (value, dt.scalar(0, dt.INT64))) if was is dt.BOOL else value


def _numeric(d: DType, values: list[Any]) -> list[Any]:
    """bool products are computed in int64 and come back by :func:`_boolean`."""
    return [as_value(v, dt.INT64) for v in values] if d is dt.BOOL else values


def matmul(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    """The matrix product. See ``numpy.matmul``."""
    return TABLE["matmul"](x1, x2, out=out, **kwargs)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Sum product over the last axis of a and the second last of b. See ``numpy.dot``."""
    x, y = _array(a), _array(b)
    if not x.ndim or not y.ndim:
        result = TABLE["multiply"](x, y)
    elif y.ndim <= 2 and x.ndim <= 2 or y.ndim == 1:
        _match(x.shape[-1], y.shape[-2 if y.ndim > 1 else -1], x, y)
        result = x @ y
    else:
        _match(x.shape[-1], y.shape[-2], x, y)
        result = tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))
    return result if out is None else finish(result.value, out, "dot")


def _match(m: int, n: int, x: ndarray, y: ndarray) -> None:
    if m != n:
        raise ValueError(f"shapes {x.shape} and {y.shape} not aligned: {m} != {n}")


def vdot(a: Any, b: Any, /) -> Any:
    """The dot product of the flattened arguments, the first conjugated. See ``numpy.vdot``."""
    x, y = _array(a).reshape(-1), _array(b).reshape(-1)
    if x.size != y.size:
        raise ValueError("cannot reshape array: vdot takes arguments of one size")
    return TABLE["matmul"](x.conj() if x.dtype.kind == "c" else x, y)


def inner(a: Any, b: Any, /) -> Any:
    """Sum product over the last axes. See ``numpy.inner``."""
    x, y = _array(a), _array(b)
    if not x.ndim or not y.ndim:
        return TABLE["multiply"](x, y)
    _match(x.shape[-1], y.shape[-1], x, y)
    if x.ndim == 1 and y.ndim == 1:
        return TABLE["matmul"](x, y)
    return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,)))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of elements of the flattened arguments. See ``numpy.outer``."""
    flat = [x if x.ndim == 1 else x.reshape(-1) for x in map(_array, (a, b))]
    d, values = common(*flat)
    return finish(_boolean(record("outer", _numeric(d, values)), d), out, "outer")


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over axes. See ``numpy.tensordot``."""
    x, y = _array(a), _array(b)
    if hasattr(axes, "__index__"):
        count = operator.index(axes)
        if count > min(x.ndim, y.ndim):
            raise IndexError(f"tensordot: axes is {count}, but the arrays have {x.ndim} and "
                             f"{y.ndim} dimensions")  # fmt: skip
        pairs: tuple[Any, Any] = (tuple(range(x.ndim - count, x.ndim)), tuple(range(count)))
    else:
        pairs = tuple(axes)
    left = dt.normalize_axes(tuple(pairs[0]) if not hasattr(pairs[0], "__index__") else pairs[0],
                             x.ndim)  # fmt: skip
    right = dt.normalize_axes(tuple(pairs[1]) if not hasattr(pairs[1], "__index__") else pairs[1],
                              y.ndim)  # fmt: skip
    if [x.shape[i] for i in left] != [y.shape[i] for i in right]:
        raise ValueError("shape-mismatch for sum")
    d, values = common(x, y)
    result = record("dot_general", _numeric(d, values), {
        "lhs_contract": left, "rhs_contract": right, "lhs_batch": (), "rhs_batch": ()})  # fmt: skip
    return wrap(_boolean(result, d))


def _equation(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The sublist form of einsum as a string."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def term(sublist: Any) -> str:
        return "".join("..." if s is Ellipsis else letters[s] for s in sublist)

    pairs, rest = list(operands), None
    if len(pairs) % 2:
        rest = pairs.pop()
    arrays, terms = pairs[::2], [term(s) for s in pairs[1::2]]
    equation = ",".join(terms)
    return (equation if rest is None else f"{equation}->{term(rest)}"), arrays


def einsum(*operands: Any, out: Any = None, dtype: Any = None, order: str = "K",
           casting: str = "safe", optimize: Any = False) -> Any:  # fmt: skip
    """Einstein's sum. See ``numpy.einsum``."""
    if isinstance(operands[0], str):
        equation, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        equation, arrays = _equation(operands)
    order = memory_order(order, "K")
    if len(arrays) == 1 and dtype is None and out is None and order == "K":
        view = _einsum_view(equation, arrays[0])
        if view is not None:
            return view
    d, values = common(*arrays)
    if dtype is not None or out is not None:
        # NumPy computes in the type of the output
        d = dt.internal(dtype) if dtype is not None else dt.promote(d, out.type.dtype)
        values = [cast_values(v, d, casting) for v in values]
    result = _boolean(record("einsum", _numeric(d, values), {"equation": equation}), d)
    if out is not None and not dt.can_cast(d, out.type.dtype, casting):
        raise TypeError(f"einsum: the result has dtype {d.name}, which casting '{casting}' does "
                        f"not allow to be written into {out.type.dtype.name}")  # fmt: skip
    made = finish(result, out, "einsum")
    return made if out is not None or order == "K" else lay_out(made, order)


def _einsum_view(equation: str, x: Any) -> ndarray | None:
    """The writeable view where an array's axes are put in order or on a diagonal, not summed."""
    given, _, wanted = equation.partition("->")
    if (not isinstance(x, ndarray) or not wanted.isalpha() or set(given) != set(wanted)
            or len(given) != x.ndim or len(set(wanted)) < len(wanted)):  # fmt: skip
        return None
    for letter in wanted:
        while given.count(letter) > 1:
            i = given.index(letter)
            j = given.index(letter, i + 1)
            if x.shape[i] != x.shape[j]:
                return None
            x = diagonal_view(x, 0, i, j, True)
            given = given[:i] + given[i + 1 : j] + given[j + 1 :] + letter
    view: ndarray = x.transpose([given.index(letter) for letter in wanted])
    return view


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product. See ``numpy.kron``."""
    d, values = common(a, b)
    return wrap(_boolean(record("kron", _numeric(d, values)), d))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
          out: Any = None) -> Any:  # fmt: skip
    """The sum along the diagonal. See ``numpy.trace``."""
    return diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype, out=out)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: int | None = None) -> Any:  # fmt: skip
    """The cross product of vectors of 2 or 3 elements. See ``numpy.cross``."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(_array(a), axisa, -1), moveaxis(_array(b), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if x.shape[-1] == 2 == y.shape[-1]:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (v if v.shape[-1] == 3 else concatenate([v, zeros_after(v)], -1) for v in (x, y))
    _, values = common(x, y)
    result = wrap(record("cross", values, {"axis": -1}))
    return moveaxis(result, -1, axisc)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """The contraction order that NumPy proposes. See ``numpy.einsum_path``."""
    if isinstance(operands[0], str):
        equation, arrays = operands[0], list(operands[1:])
    else:
        equation, arrays = _equation(operands)
    stand_ins = [onp.broadcast_to(onp.zeros((), a.dtype), a.shape) for a in map(_array, arrays)]
    return onp.einsum_path(equation, *stand_ins, optimize=optimize)
