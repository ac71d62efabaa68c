"""Sorting and searching.

The order is total: -0.0 equals 0.0, NaN comes after inf, and complex numbers are
compared by their real parts, then by their imaginary parts; those with a NaN come last,
first the ones whose real part is not NaN, then those whose imaginary part is not NaN.
Descending is the reverse of that order, so NaN comes first; equal elements stay in order
either way. Every form is stable, whether or not that is requested: each form of a program
would have another unstable order.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import DType
from ._jax import jax, jnp, lax
from .cases import Cases, case, distinct, rough
from .indexing import take_along_axis
from .kinds import Array, T
from .rules import sorting as rules
from .samples import Host
from .spec import op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Access, Derivative, Signature

#: XLA's CPU backend is fast at selection in float32: the 10 largest of 10,000 in 128 rows
#: take 2 to 12 ms, by a sort 300 to 400.
_EXACT_IN_FLOAT32 = frozenset(
    {"bool", "int8", "int16", "uint8", "uint16", "float16", "bfloat16", "float32"})


def _ascending(rng: np.random.Generator, dtype: DType) -> Host:
    return np.arange(0, 10, 2).astype(dtype.numpy)


def _ascending_rows(rng: np.random.Generator, dtype: DType) -> Host:
    return np.arange(12).reshape(2, 6).astype(dtype.numpy)


@op(
    rules.sorted_axis, source="array API sort", execution=HEAVY,
    derivative=Derivative(residuals=True),
    samples=Cases(
        case(distinct(3, 4)), case(distinct(3, 4), axis=0, descending=True),
        case(distinct(1)), case((0, 3), axis=0), case((3, 0)),
        rough(np.array([1.0, np.nan, -0.0, 0.0, np.inf, 1.0], np.float32)),
        rough(np.array([1.0, np.nan, -0.0, 0.0, np.inf, 1.0], np.float32), descending=True)),
)  # fmt: skip
def sort(x: T, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements of x in order along an axis. Raises ArgumentError.

    Equal elements keep their order: zeros of either sign and subnormal numbers are equal, as
    are NaN. ``stable`` changes nothing.
    """
    at = axis % x.ndim
    if x.dtype.kind == "c":
        *_, result = lax.sort((*_complex_keys(x), x), dimension=at, is_stable=True, num_keys=3)
    else:
        # equal integers have the same bits in any order, and an unstable sort is quicker
        result = lax.sort(x, dimension=at, is_stable=x.dtype.kind not in "iub")
    return lax.rev(result, (at,)) if descending else result


@op(
    rules.sorted_positions, source="array API argsort", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(distinct(3, 4)), case((3, 4), axis=0, descending=True), case((0, 3), axis=0),
        case(np.array([2, 1, 2, 1, 1])), case(np.array([2, 1, 2, 1, 1]), descending=True),
        case(np.array([1.0, np.nan, 0.0, np.inf, 1.0], np.float32), descending=True)),
    access=Access(positions=0),
)  # fmt: skip
def argsort(x: T, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The positions (int64) that put x in order along an axis. Raises ArgumentError.

    Equal elements keep their order, descending too; ``stable`` changes nothing.
    """
    return _sorted_pair(x, axis % x.ndim, descending)[1]


@op(
    rules.sorted_pair, source="torch.sort", execution=HEAVY, derivative=Derivative(residuals=True),
    signature=Signature(outputs=("values", "indices")),
    samples=Cases(
        case(distinct(3, 4)), case(distinct(3, 4), axis=0, descending=True), case((0, 3), axis=0),
        rough(np.array([2, 1, 2, 1, 1]), descending=True)), access=Access(positions=1),
)  # fmt: skip
def sort_with_indices(
    x: T, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """What ``sort`` and ``argsort`` give, by one sort. Raises ArgumentError."""
    return _sorted_pair(x, axis % x.ndim, descending)


@op(
    rules.top_k, T="ordered", source="torch.topk", execution=HEAVY,
    derivative=Derivative(residuals=True), signature=Signature(outputs=("values", "indices")),
    samples=Cases(
        case(distinct(3, 4), k=2), case(distinct(3, 4), k=1, axis=0, largest=False),
        case(distinct(3, 4), k=0), case(distinct(4), k=4, largest=False), case((0, 3), k=2),
        rough(np.array([2, 1, 2, 1, 1]), k=3), rough(np.array([2, 1, 2, 1, 1]), k=4, largest=False),
        rough(np.array([1.0, np.nan, 0.0, np.inf, 1.0], np.float32), k=3),
        rough(np.array([np.nan, 2.0, -np.inf, np.nan, 1.0], np.float32), k=4, largest=False)),
)  # fmt: skip
def top_k(x: T, *, k: int, axis: int = -1, largest: bool = True) -> Array:
    """The ``k`` largest elements along an axis, in descending order, and their positions.

    With ``largest`` false the smallest, in ascending order. Of equal elements the
    first comes first. NaN is larger than inf. Raises ArgumentError.
    """
    at = axis % x.ndim
    if x.dtype.name in _EXACT_IN_FLOAT32 and k and x.size:
        indices = _largest_float32(x, k, at, largest)
        return take_along_axis(x, indices, axis=at), lax.convert_element_type(indices, "int64")
    values, indices = _sorted_pair(x, at, largest)
    return (lax.slice_in_dim(values, 0, k, axis=at), lax.slice_in_dim(indices, 0, k, axis=at))


@op(
    rules.searchsorted, T="real", source="array API searchsorted", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(_ascending, (2, 3)),
        case(_ascending, np.array([2.0, 4.0, 9.0, np.nan, -1.0], np.float32), side="right"),
        case(_ascending, ()), case((0,), (3,)), case(_ascending, (0,)),
        case(_ascending_rows, (2, 3)), case(_ascending_rows, (2, 4), side="right")),
)  # fmt: skip
def searchsorted(sorted: T, values: T, *, side: str = "left") -> Array:
    """Where each of ``values`` would go into ``sorted``, which ascends along its last axis, int64.

    A ``sorted`` of one dimension serves values of any shape; one of more serves those whose
    shape is its own but for the last axis, row by row. ``side`` is ``"left"`` (before equal
    elements) or ``"right"`` (after them). Raises ShapeError, ArgumentError.
    """
    if not sorted.size or not values.size:
        return lax.full(values.shape, 0, "int64")

    def search(row: Array, values: Array) -> Array:
        return lax.convert_element_type(jnp.searchsorted(row, values, side=side), "int64")

    for _ in sorted.shape[:-1]:
        search = jax.vmap(search)
    return search(sorted, values)


def _largest_float32(x: Array, k: int, axis: int, largest: bool) -> Array:
    """Positions (int32) of the k largest or smallest elements, by XLA's selection.

    XLA orders by the bits: -0.0 below 0.0, and NaN by its sign.
    """
    key = lax.convert_element_type(lax.stop_gradient(x), "float32")
    key = key if largest else lax.neg(key)
    key = lax.select(lax.eq(key, lax.full_like(key, 0.0)), lax.full_like(key, 0.0), key)
    nan = np.float32(np.copysign(np.nan, 1.0 if largest else -1.0))
    key = lax.select(lax.ne(key, key), lax.full_like(key, nan), key)
    if axis == x.ndim - 1:
        return lax.top_k(key, k)[1]
    order = rules.swapped_last(x.ndim, axis)
    return lax.transpose(lax.top_k(lax.transpose(key, order), k)[1], order)


def _complex_keys(x: Array) -> tuple[Array, Array, Array]:
    """The sort keys of complex numbers: which part is NaN, the real and the imaginary part."""
    real, imag = lax.real(lax.stop_gradient(x)), lax.imag(lax.stop_gradient(x))
    which = lax.add(lax.mul(lax.convert_element_type(lax.ne(real, real), "int32"), np.int32(2)),
                    lax.convert_element_type(lax.ne(imag, imag), "int32"))
    return which, real, imag


def _sorted_pair(x: Array, axis: int, descending: bool) -> tuple[Array, Array]:
    position = lax.broadcasted_iota("int32" if x.shape[axis] < 2**31 else "int64", x.shape, axis)
    if descending:
        # sorting backwards and reversing the result keeps equal elements in order
        x, position = lax.rev(x, (axis,)), lax.rev(position, (axis,))
    if x.dtype.kind == "c":
        *_, values, indices = lax.sort(
            (*_complex_keys(x), x, position), dimension=axis, is_stable=True, num_keys=3)
    else:
        values, indices = lax.sort((x, position), dimension=axis, is_stable=True, num_keys=1)
    if descending:
        values, indices = lax.rev(values, (axis,)), lax.rev(indices, (axis,))
    return values, lax.convert_element_type(indices, "int64")
