"""Products that contract axes.

Sums run in the operands' dtype unless ``accumulate`` says otherwise; integers wrap,
and for bool a product is "and" and a sum "or". Half-precision products are summed in
float32 inside XLA where the hardware has no better, and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import int32
from ._helpers import broadcast, broadcast_to
from ._jax import jnp, lax
from .cases import Cases, case, integers
from .kinds import Array, DType, Ints, T
from .rules import contraction as rules
from .spec import op
from .traits import HEAVY, Derivative


@op(
    rules.matmul, source="array API matmul", execution=HEAVY, reference="numpy.matmul",
    samples=Cases(
        case((2, 3), (3, 4)), case((3,), (3,)), case((3,), (2, 3, 4)), case((2, 2, 3), (3,)),
        case((5, 1, 2, 3), (4, 3, 2)), case((2, 2, 3), (2, 3, 1)), case((1, 2, 3), (2, 3, 1)),
        case((2, 0), (0, 3)), case((0, 3), (3, 2)), case((2, 2, 3), (3, 4)),
        case((2, 3), (2, 3, 4)),
        case((2, 1, 2, 3), (1, 3, 3, 2))), derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def matmul(x: T, y: T) -> Array:
    """The matrix product (..., m, k) @ (..., k, n) -> (..., m, n).

    Leading axes broadcast. A 1-d operand is one row on the left, one column on the
    right, and its axis goes from the result. Raises ShapeError.
    """
    return product_of(x, y)


@op(
    rules.dot_general, source="StableHLO dot_general", execution=HEAVY,
    samples=Cases(
        case((2, 3), (3, 4), lhs_contract=(1,), rhs_contract=(0,)),
        case((2, 3, 4), (2, 4, 5), lhs_contract=(-1,), rhs_contract=(1,), lhs_batch=(0,),
             rhs_batch=(0,)),
        case((2, 3), (2, 3), lhs_contract=(0, 1), rhs_contract=(0, 1)),
        case((2,), (3,), lhs_contract=(), rhs_contract=()),
        case(integers([[100, 50, 2]], np.int8), integers([[100], [3], [1]], np.int8),
             lhs_contract=(1,), rhs_contract=(0,), accumulate=int32),
        case((2, 0), (0, 4), lhs_contract=(1,), rhs_contract=(0,))),
    derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def dot_general(
    x: T, y: T, *, lhs_contract: Ints, rhs_contract: Ints, lhs_batch: Ints = (),
    rhs_batch: Ints = (), accumulate: DType | None = None,
) -> Array:  # fmt: skip
    """The sum of products over pairs of axes; pairs of batch axes stay, and come first.

    Then follow the other axes of x, then those of y, in order. ``accumulate`` is the
    dtype to sum in and to return, of the same kind and at least as wide: int8 by int8
    in int32, for example. Raises ShapeError, ArgumentError, DTypeError.
    """
    def axes(positions: Ints, ndim: int) -> Ints:
        return tuple(a % ndim for a in positions)

    numbers = ((axes(lhs_contract, x.ndim), axes(rhs_contract, y.ndim)),
               (axes(lhs_batch, x.ndim), axes(rhs_batch, y.ndim)))
    wide = None if accumulate is None else accumulate.numpy
    return lax.dot_general(x, y, numbers, preferred_element_type=wide)


@op(
    rules.einsum, source="NumPy einsum", execution=HEAVY,
    samples=Cases(
        case((2, 3), (3, 4), equation="ij,jk->ik"), case((2, 3), (3, 4), equation="ij,jk"),
        case((3, 3), equation="ii->i"), case((3, 3), equation="ii"),
        case((2, 3), equation="ij->ji"),
        case((2, 2, 3), (3, 4), equation="...ij,jk->...ik"), case((), (2,), equation=",i->i"),
        case((2, 1, 3), (4, 3), equation="...i,...i->..."), case((2,), (3,), (2, 3),
                                                                equation="i,j,ij->"),
        case((2, 3, 4), (2, 4, 5), equation="bij, bjk -> bki"), case((0, 3), (3,),
                                                                     equation="ij,j->i"),
        case((2, 1), (3, 2), equation="ij,jk->ik"), case((1, 3), (2, 3), equation="ij,ij->ij")),
    derivative=Derivative(multilinear="xs"),
)  # fmt: skip
def einsum(*xs: T, equation: str) -> Array:
    """Einstein's sum: letters name axes, letters that the result lacks are summed over.

    ``"ij,jk->ik"`` is the matrix product. A letter twice in one term takes a diagonal;
    ``...`` stands for axes that broadcast, as axes of size 1 do; without ``->`` the result
    has the letters that occur once, in alphabetical order, after the ``...``. Raises
    ShapeError, ArgumentError.
    """
    labels = rules.parse_einsum(equation, [x.ndim for x in xs])[0]
    sizes: dict[str, int] = {}
    for x, term in zip(xs, labels, strict=True):
        for c, d in zip(term, x.shape, strict=True):
            sizes[c] = d if sizes.get(c, 1) == 1 else sizes[c]
    xs = tuple([
        broadcast_to(x, [sizes[c] if c.isalpha() else d for c, d in zip(term, x.shape)])
        for x, term in zip(xs, labels)])
    return jnp.einsum(equation, *xs, preferred_element_type=xs[0].dtype)


@op(
    rules.cross, T="number", source="array API cross",
    samples=Cases(
        case((2, 3), (2, 3)), case((3, 2), (3, 1), axis=0), case((3,), (2, 3)),
        case((0, 3), (3,))), derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def cross(x: T, y: T, *, axis: int = -1) -> Array:
    """The cross product of vectors of 3 elements along an axis; the other axes broadcast.

    Operands are aligned at the last axis; ``axis`` counts in each of them. Raises
    ShapeError.
    """
    x, y = broadcast(x, y)
    at = axis % x.ndim

    def part(v: Array, i: int) -> Array:
        return lax.slice_in_dim(v, i, i + 1, axis=at)

    return lax.concatenate([
        lax.sub(lax.mul(part(x, i), part(y, j)), lax.mul(part(x, j), part(y, i)))
        for i, j in ((1, 2), (2, 0), (0, 1))], at)  # fmt: skip


@op(
    rules.vecdot, T="number", source="array API vecdot", execution=HEAVY,
    samples=Cases(
        case((2, 3), (2, 3)), case((3, 2), (3, 1), axis=-2), case((3,), (2, 3)),
        case((2, 0), (0,))), derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def vecdot(x: T, y: T, *, axis: int = -1) -> Array:
    """The sum of conj(x) * y along an axis, a negative one; the other axes broadcast.

    Raises ShapeError, ArgumentError.
    """
    x, y = broadcast(x, y)
    at = x.ndim + axis
    others = tuple(a for a in range(x.ndim) if a != at)
    left = lax.conj(x) if x.dtype.kind == "c" else x
    return lax.dot_general(left, y, (((at,), (at,)), (others, others)))


@op(
    rules.outer, T="number", source="NumPy multiply.outer",
    samples=Cases(
        case((2,), (3,)), case((), (3,)), case((2, 2), (3,)), case((0,), (3,))),
    derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def outer(x: T, y: T) -> Array:
    """All products of an element of x and one of y: the axes of x, then those of y."""
    shape = (*x.shape, *y.shape)
    left = lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))
    return lax.mul(left, broadcast_to(y, shape))


@op(
    rules.kron, T="number", source="NumPy kron", reference="numpy.kron",
    samples=Cases(
        case((2, 3), (3, 2)), case((2,), (2, 3)), case((), (3,)), case((0, 2), (2, 2))),
    derivative=Derivative(multilinear="x y"),
)  # fmt: skip
def kron(x: T, y: T) -> Array:
    """Kronecker's product: each element of x times the whole of y, side by side.

    The shorter shape is extended by ones in front.
    """
    ndim = max(x.ndim, y.ndim)
    left = (1,) * (ndim - x.ndim) + tuple(x.shape)
    right = (1,) * (ndim - y.ndim) + tuple(y.shape)
    x = lax.reshape(x, [d for n in left for d in (n, 1)])
    y = lax.reshape(y, [d for n in right for d in (1, n)])
    return lax.reshape(lax.mul(*broadcast(x, y)), [a * b for a, b in zip(left, right, strict=True)])


def product_of(x: Array, y: Array, dtype: Any = None) -> Array:
    """The matrix product of ``matmul``, summed and returned in ``dtype`` if that is not None."""
    last, inner = x.ndim - 1, max(y.ndim - 2, 0)
    nx, ny = max(x.ndim - 2, 0), max(y.ndim - 2, 0)
    total = max(nx, ny)
    # an axis that only one side has (or only one with more than one element) stays a free
    # axis of that side: nothing is copied to make the other side as large
    both: list[int] = []
    squeeze_x: list[int] = []
    squeeze_y: list[int] = []
    for d in range(total):
        i, j = d - (total - nx), d - (total - ny)
        if i < 0 or j < 0:
            continue
        if x.shape[i] == y.shape[j]:
            both.append(d)
        elif x.shape[i] == 1:
            squeeze_x.append(i)
        else:
            squeeze_y.append(j)
    keep_x = [i for i in range(nx) if i not in squeeze_x]
    keep_y = [j for j in range(ny) if j not in squeeze_y]
    if squeeze_x:
        x = lax.squeeze(x, squeeze_x)
        last -= len(squeeze_x)
    if squeeze_y:
        y = lax.squeeze(y, squeeze_y)
        inner -= len(squeeze_y)
    at_x = {i + total - nx: n for n, i in enumerate(keep_x)}
    at_y = {j + total - ny: n for n, j in enumerate(keep_y)}
    batch = ([at_x[d] for d in both], [at_y[d] for d in both])
    product = lax.dot_general(
        x, y, (((last,), (inner,)), batch), preferred_element_type=dtype)
    free_x = [d for d in at_x if d not in both] + (["m"] if x.ndim > 1 else [])
    free_y = [d for d in at_y if d not in both] + (["n"] if y.ndim > 1 else [])
    axes = [*both, *free_x, *free_y]
    wanted = [*range(total), *(c for c in ("m", "n") if c in axes)]
    order = [axes.index(d) for d in wanted]
    return product if order == list(range(len(order))) else lax.transpose(product, order)
