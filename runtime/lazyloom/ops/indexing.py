"""Indexing ops: elements taken from, or put to, positions that are data.

One rule holds for all of them: a negative position counts from the end, once; what
is still out of range is clamped to the axis where elements are taken (as XLA's
gather does) and dropped where they are put (as XLA's scatter does). An error is not
possible, since positions are known only while the program runs; a frontend that wants one
has its indices checked (``first_out_of_range`` and ``checked``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import ALL, bool_, float32, int64
from ._helpers import broadcast_to as _broadcast
from ._jax import jax, jnp, lax
from .cases import Cases, case, integers
from .kinds import AnyType, Array, Bool, DType, Index, Integer, Ints, T
from .rules import indexing as rules
from .spec import op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Access, Derivative


def _linear(operands: str) -> Any:
    """The operands in which an update is jointly linear, depending on its mode."""
    modes = {"set": operands, "add": operands, "multiply": "x"}
    return lambda attrs: modes.get(attrs["mode"], ())


def _piecewise(operands: str) -> Any:
    """The operands among which an update chooses, depending on its mode."""
    return lambda attrs: operands if attrs["mode"] in ("min", "max") else ()


@op(
    rules.dynamic_slice, source="StableHLO dynamic_slice",
    derivative=Derivative(differentiable=("x",), linear="x"),
    samples=Cases(
        case((4, 5), integers(1), integers(2), sizes=(2, 3)), case((), sizes=()),
        case((4, 5), integers(-2), integers(9), sizes=(2, 3)),
        case((4,), integers(3, np.int32), sizes=(0,)), case((5,), integers(-7), sizes=(2,))),
    access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def dynamic_slice(x: T, *starts: Index, sizes: Ints) -> Array:
    """A block of attribute ``sizes`` that begins at the 0-d operands ``starts``.

    A negative start counts from the end; then starts are clamped so that the block
    lies inside x. Raises ShapeError, ArgumentError.
    """
    if not starts:  # the text of a 0-d stablehlo.dynamic_slice cannot be parsed back
        return x
    return lax.dynamic_slice(x, _starts(starts, x.shape), sizes, allow_negative_indices=False)


@op(
    rules.dynamic_update_slice, source="StableHLO dynamic_update_slice",
    derivative=Derivative(differentiable=("x", "update"), linear="x update"),
    samples=Cases(
        case((4, 5), (2, 3), integers(1), integers(2)), case((), ()),
        case((4, 5), (2, 3), integers(-2), integers(9)), case((4,), (0,), integers(3, np.int32)),
        case((5,), (2,), integers(-7))),
)  # fmt: skip
def dynamic_update_slice(x: T, update: T, *starts: Index) -> Array:
    """x with the block that begins at the 0-d operands ``starts`` replaced by ``update``.

    A negative start counts from the end; then starts are clamped so that the block
    lies inside x. Raises ShapeError, ArgumentError.
    """
    if not starts:  # as above, in the derivative
        return update
    return lax.dynamic_update_slice(
        x, update, _starts(starts, x.shape), allow_negative_indices=False)


@op(
    rules.take, source="array API take", derivative=Derivative(differentiable=("x",), linear="x"),
    samples=Cases(
        case((3, 4), [2, 0, -1, 2], axis=1), case((3, 4), [[0, 9], [-9, 1]]),
        case((3,), integers(1, np.uint8)), case((0, 3), integers([])),
        case((2, 3), integers([1, -1], np.int8), axis=-1),
        case((2, 3), integers([0, 7], np.uint64), axis=-2), case((0, 3), [0, 2], axis=1)),
    access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def take(x: T, indices: Integer, *, axis: int = 0) -> Array:
    """The slices of x at ``indices`` along an axis; the indices' axes take its place.

    Negative indices count from the end; others out of range are clamped. The
    derivative adds up what each index took. Raises ArgumentError, ShapeError.
    """
    axis %= x.ndim
    rank = indices.ndim
    where = lax.expand_dims(_wrapped(indices, x.shape[axis]), (rank,))
    offset = (*range(axis), *range(axis + rank, x.ndim + rank - 1))
    return _gather(x, where, offset, (axis,))


@op(
    rules.take_along_axis, source="array API take_along_axis",
    derivative=Derivative(differentiable=("x",), linear="x"),
    samples=Cases(
        case((3, 4), [[2, 0, -1], [3, 3, 0], [1, 1, 1]], axis=1),
        case((3, 4), [[2, 0], [0, -3]], axis=0), case((3,), integers([0, 5, -9], np.int32)),
        case((0, 3), integers(np.zeros((0, 2))), axis=1)),
    access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def take_along_axis(x: T, indices: Integer, *, axis: int = -1) -> Array:
    """``result[i, j, k] = x[i, indices[i, j, k], k]`` for axis 1, and so on.

    ``indices`` has the rank of x and is nowhere longer than it but along ``axis``;
    elements of x beyond are not looked at (torch's rule). Nothing broadcasts.
    Negative indices count from the end; others out of range are clamped. Raises
    ArgumentError, ShapeError.
    """
    axis %= x.ndim
    x, batch = _along(x, indices.shape, axis)
    where = lax.expand_dims(_wrapped(indices, x.shape[axis]), (x.ndim,))
    if not indices.size:
        return lax.full(indices.shape, 0, x.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
        operand_batching_dims=batch, start_indices_batching_dims=batch)
    return lax.gather(x, where, numbers, (1,) * x.ndim, mode=lax.GatherScatterMode.CLIP)


@op(
    rules.scatter_along_axis, source="torch.Tensor.scatter", execution=HEAVY,
    derivative=Derivative(differentiable=("x", "updates"), linear=_linear("x updates"),
                          piecewise_linear=_piecewise("x updates")),
    samples=Cases(
        case((3, 4), [[2, 0, -1], [3, 1, 0], [1, 2, 3]], (3, 3), axis=1),
        case((3, 4), [[2, 0], [0, -2]], (2, 2), axis=0), case((3,), [0, 5, -9], ()),
        case((0, 3), integers(np.zeros((0, 2))), (0, 2), axis=1),
        *[case((3, 4), [[2, 2, -1], [0, 0, 0]], (2, 3), axis=1, mode=m) for m in rules.MODES[1:]]),
)  # fmt: skip
def scatter_along_axis(
    x: T, indices: Integer, updates: T, *, axis: int = -1, mode: str = "set"
) -> Array:
    """``x[i, indices[i, j, k], k] = updates[i, j, k]`` for axis 1, and so on, in a copy.

    ``mode`` is ``"set"``, ``"add"``, ``"multiply"``, ``"min"`` or ``"max"``. With
    ``"set"`` and equal positions one of the updates wins, which one is not said.
    ``indices`` has the rank of x and is nowhere longer than it but along ``axis``;
    ``updates`` broadcast to ``indices``. Negative indices count from the end; others
    out of range are dropped. Raises ArgumentError, ShapeError, DTypeError.
    """
    axis %= x.ndim
    updates = _broadcast(updates, indices.shape)
    if not indices.size:
        return x
    part, batch = _along(x, indices.shape, axis)
    where = lax.expand_dims(_wrapped(indices, x.shape[axis]), (x.ndim,))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(axis,),
        scatter_dims_to_operand_dims=(axis,), operand_batching_dims=batch,
        scatter_indices_batching_dims=batch)
    result = _scatter(mode, part, where, updates, numbers)
    if result.shape == x.shape:
        return result
    return lax.dynamic_update_slice(x, result, [lax.full((), 0, "int32")] * x.ndim)


@op(
    rules.index, source="NumPy advanced indexing",
    derivative=Derivative(differentiable=("x",), linear="x"),
    samples=Cases(
        case((3, 4, 2), [[0, -1], [2, 1]], [1, 3], axes=(0, 1)), case((3, 4), [2, 2, 9], axes=(1,)),
        case((2, 3, 4), [1, 0], [[3], [-1]], axes=(0, 2)), case((3,), integers(1), axes=(0,)),
        case((2, 3, 4), [1, 0], [2, 0], axes=(2, 1)), case((0, 3), integers([]), axes=(0,)),
        case((2, 3, 4), [1, 0], integers([2, 0], np.int32), axes=(1, 2))),
    access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def index(x: T, *indices: Integer, axes: Ints) -> Array:
    """The elements of x at broadcast indices, one operand for each of ``axes``.

    The axes of the indices take the place of ``axes`` where these follow each other
    in ascending order, and come first otherwise, as in NumPy. Negative indices count
    from the end; others out of range are clamped. The derivative adds up what each
    index took. Raises ArgumentError, ShapeError.
    """
    axes, where, before, shape = _positions(x, indices, axes)
    rank = len(shape)
    offset = (*range(before), *range(before + rank, rank + x.ndim - len(axes)))
    return _gather(x, where, offset, axes)


@op(
    rules.index_update, source="NumPy advanced assignment", execution=HEAVY,
    derivative=Derivative(differentiable=("x", "value"), linear=_linear("x value"),
                          piecewise_linear=_piecewise("x value")),
    samples=Cases(
        case((3, 4, 2), (2, 2, 2), [[0, -1], [2, 1]], [1, 3], axes=(0, 1)),
        case((3, 4), (), [2, 0, 9], axes=(1,)),
        case((2, 3, 4), (2, 2, 3), [1, 0], [[3], [-1]], axes=(0, 2)),
        case((3,), (), integers(1), axes=(0,)),
        case((2, 3, 4), (2, 2), [1, 0], [2, 0], axes=(2, 1)),
        case((0, 3), (0, 3), integers([]), axes=(0,)),
        *[case((4, 2), (5, 2), [2, 2, -1, 9, 0], axes=(0,), mode=m) for m in rules.MODES[1:]],
        case((2, 3, 4), (2, 2), [1, 0], integers([2, 0], np.int32), axes=(1, 2), mode="add")),
)  # fmt: skip
def index_update(x: T, value: T, *indices: Integer, axes: Ints, mode: str = "set") -> Array:
    """x with the elements that ``index`` of the same indices takes changed.

    ``mode`` is ``"set"``, ``"add"``, ``"multiply"``, ``"min"`` or ``"max"``; all but
    the first take account of every one of equal positions, with ``"set"`` one of them
    wins, which one is not said. ``value`` broadcasts to what ``index`` returns.
    Negative indices count from the end; others out of range are dropped. Second
    derivatives of ``"multiply"`` leave out terms where two zeros meet at one position.
    Raises ArgumentError, ShapeError, DTypeError.
    """
    axes, where, before, shape = _positions(x, indices, axes)
    rest, _ = rules.indices_last(x.ndim, axes)
    sizes = [x.shape[a] for a in rest]
    updates = _broadcast(value, (*sizes[:before], *shape, *sizes[before:]))
    rank = len(shape)
    if not updates.size:
        return x
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(*range(before), *range(before + rank, updates.ndim)),
        inserted_window_dims=tuple(sorted(axes)), scatter_dims_to_operand_dims=axes)
    return _scatter(mode, x, where, updates, numbers)


@op(
    rules.masked_fill, source="torch.Tensor.masked_fill",
    derivative=Derivative(differentiable=("x", "value"), linear="x value"),
    samples=Cases(
        case((2, 3), [[True, False, True], [False, True, False]], ()),
        case((2, 3), [True, False, True], (3,)), case((), np.array(True), ()),
        case((0, 3), [True, False, True], ())),
)  # fmt: skip
def masked_fill(x: T, mask: Bool, value: T) -> Array:
    """x where ``mask`` is false, ``value`` where it is true; both broadcast to x.

    Raises ShapeError.
    """
    return lax.select(_broadcast(mask, x.shape), _broadcast(value, x.shape), x)


@op(
    rules.one_hot, source="torch.nn.functional.one_hot", derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case([0, 2, -1, 5], depth=3, dtype=float32),
        case(integers(1, np.uint8), depth=3, dtype=bool_),
        *[case([[1, 0]], depth=2, dtype=d) for d in ALL], case([1], depth=0, dtype=int64),
        case(integers([]), depth=2, dtype=float32), smooth=False),
)  # fmt: skip
def one_hot(indices: Integer, *, depth: int, dtype: DType) -> Array:
    """A new last axis of size ``depth``: one at the index, zero elsewhere.

    An index outside ``0 .. depth - 1`` gives zeros only; negative ones do not wrap.
    Raises ArgumentError where ``depth`` is negative.
    """
    where = _wide(indices)
    shape = (*indices.shape, depth)
    classes = lax.broadcasted_iota(where.dtype, shape, indices.ndim)
    spread = lax.broadcast_in_dim(where, shape, tuple(range(indices.ndim)))
    return lax.convert_element_type(lax.eq(spread, classes), dtype.numpy)


@op(
    rules.flat_nonzero, source="NumPy flatnonzero, of a known size", derivative=NOT_DIFFERENTIABLE,
    execution=HEAVY,
    samples=Cases(
        case(np.array([[0, 1, 0], [2, 0, 3]]), size=3), case((0, 3), size=0), case((2, 3), size=9),
        case(np.array(1.0), size=1), case(np.array([True, False, True]), size=1), each=0),
)  # fmt: skip
def flat_nonzero(x: AnyType, *, size: int) -> Array:
    """The first ``size`` positions (int64), in row-major order, where x is not zero.

    Positions count in the flattened x. Where x has fewer, the rest of the result is
    ``x.size``. The number of results cannot depend on data: read ``count_nonzero``
    first. Raises ArgumentError where ``size`` is negative.
    """
    flat = lax.reshape(lax.ne(x, lax.full_like(x, 0)), (x.size,))
    if not x.size or not size:
        return lax.full((size,), x.size, "int64")
    rank = lax.cumsum(lax.convert_element_type(flat, "int64"))
    target = lax.select(flat, lax.sub(rank, lax.full_like(rank, 1)), lax.full_like(rank, size))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return lax.scatter(
        lax.full((size,), x.size, "int64"), lax.expand_dims(target, (1,)),
        lax.iota("int64", x.size), numbers, mode=lax.GatherScatterMode.FILL_OR_DROP)


@op(
    rules.bincount, T="number", source="NumPy bincount", execution=HEAVY,
    derivative=Derivative(differentiable=("weights",), linear="weights"),
    samples=Cases(
        case([0, 2, 2, 5, -1, 1], (6,), length=4), case([0, 2, 2, 5, -1], length=4),
        case(integers([0, 3, 3], np.uint8), length=4), case(integers([]), length=2),
        case([0, 1], length=0)),
)  # fmt: skip
def bincount(x: Integer, weights: T = None, *, length: int) -> Array:
    """How often each of ``0 .. length - 1`` occurs in x (1-d), or the sum of its weights.

    Counts are int64, sums have the weights' dtype. Values out of range, negative ones
    too, are left out. Raises ShapeError where the weights' shape differs from x's.
    """
    where = lax.expand_dims(_wide(x), (1,))
    low = lax.full_like(where, 0)
    where = lax.select(lax.lt(where, low), lax.full_like(where, length), where)
    if weights is None:
        weights = lax.full(x.shape, 1, "int64")
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return lax.scatter_add(
        lax.full((length,), 0, weights.dtype), where, weights, numbers,
        mode=lax.GatherScatterMode.FILL_OR_DROP)


def _wide(indices: Array) -> Array:
    """Indices as int32 or int64; values beyond int64 become its largest value."""
    kind = indices.dtype.name
    if kind in ("int32", "int64"):
        return indices
    if kind == "uint64":
        indices = lax.min(indices, lax.full_like(indices, 2**63 - 1))
    return lax.convert_element_type(
        indices, "int64" if kind in ("uint32", "uint64") else "int32")


def _wrapped(indices: Array, size: int) -> Array:
    """Indices with negative ones counted from the end, if their dtype has negative numbers."""
    wide = _wide(indices)
    if indices.dtype.kind == "u":
        return wide
    if wide.dtype.itemsize == 4 and size >= 2**31:
        wide = lax.convert_element_type(wide, "int64")
    moved = lax.add(wide, lax.full_like(wide, size))
    return lax.select(lax.lt(wide, lax.full_like(wide, 0)), moved, wide)


def _starts(starts: tuple[Array, ...], shape: Ints) -> list[Array]:
    # one dtype for all of them, as XLA requires
    wide = "int64" if any(s.dtype.name in ("int64", "uint32") for s in starts) else "int32"
    return [_wrapped(lax.convert_element_type(s, wide), d)
            for s, d in zip(starts, shape, strict=True)]


def _along(x: Array, shape: Ints, axis: int) -> tuple[Array, Ints]:
    """x cut to the indices' sizes except along ``axis``, and the other axes."""
    sizes = tuple(x.shape[a] if a == axis else s for a, s in enumerate(shape))
    if sizes != x.shape:
        x = lax.slice(x, (0,) * x.ndim, sizes)
    return x, tuple(a for a in range(x.ndim) if a != axis)


def _positions(
    x: Array, indices: tuple[Array, ...], axes: Ints
) -> tuple[Ints, Array, int, Ints]:
    """Axes from 0, index vectors in a last axis, axes before them, the broadcast shape."""
    axes = tuple(a % x.ndim for a in axes)
    _, before = rules.indices_last(x.ndim, axes)
    shape = jnp.broadcast_shapes(*[i.shape for i in indices])
    columns = [_wrapped(i, x.shape[a]) for i, a in zip(indices, axes, strict=True)]
    wide = "int64" if any(c.dtype.name == "int64" for c in columns) else "int32"
    columns = [
        lax.expand_dims(_broadcast(lax.convert_element_type(c, wide), shape), (len(shape),))
        for c in columns]
    where = columns[0] if len(columns) == 1 else lax.concatenate(columns, len(shape))
    return axes, where, before, shape


def _gather(x: Array, where: Array, offset: Ints, axes: Ints) -> Array:
    sizes = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    if 0 in x.shape or 0 in where.shape[:-1]:
        # a gather from an empty array is not a valid program, although its result is empty
        shape = list(where.shape[:-1])
        rest = [d for a, d in enumerate(x.shape) if a not in axes]
        for at, d in zip(offset, rest, strict=True):
            shape.insert(at, d)
        return lax.full(shape, 0, x.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=offset, collapsed_slice_dims=tuple(sorted(axes)), start_index_map=axes)
    return lax.gather(x, where, numbers, sizes, mode=lax.GatherScatterMode.CLIP)


def _scatter(mode: str, x: Array, where: Array, updates: Array, numbers: Any) -> Array:
    drop = lax.GatherScatterMode.FILL_OR_DROP
    if mode == "multiply" and x.dtype.kind not in "iu":
        return _scatter_multiply(x, where, updates, numbers)
    scatter = {
        "set": lax.scatter, "add": lax.scatter_add, "multiply": lax.scatter_mul,
        "min": lax.scatter_min, "max": lax.scatter_max,
    }[mode]  # fmt: skip
    return scatter(x, where, updates, numbers, mode=drop)


def _scatter_multiply(x: Array, where: Array, updates: Array, numbers: Any) -> Array:
    """lax.scatter_mul with a derivative that allows equal positions and zeros."""
    drop = lax.GatherScatterMode.FILL_OR_DROP

    def scatter_mul(into: Array, u: Array) -> Array:
        return lax.scatter_mul(into, where, u, numbers, mode=drop)

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def multiply(x: Array, updates: Array) -> Array:
        return scatter_mul(x, updates)

    @multiply.defjvp  # type: ignore[untyped-decorator]
    def multiply_jvp(primals: Any, tangents: Any) -> Any:
        x, updates = primals
        dx, du = tangents
        one, nothing = lax.full_like(updates, 1), lax.full_like(updates, 0)
        zero = lax.eq(updates, nothing)
        nonzero = lax.select(zero, one, updates)
        partial = multiply(lax.full_like(x, 1), nonzero)
        zeros = lax.scatter_add(
            lax.full_like(x, 0), where, lax.select(zero, one, nothing), numbers, mode=drop)
        here, met = _at(partial, where, numbers), _at(zeros, where, numbers)
        others = lax.select(
            lax.eq(met, lax.select(zero, one, nothing)), lax.div(here, nonzero), nothing)
        spread = lax.scatter_add(
            lax.full_like(x, 0), where, lax.mul(du, others), numbers, mode=drop)
        result = multiply(x, updates)
        whole = multiply(lax.full_like(x, 1), updates)
        return result, lax.add(lax.mul(dx, whole), lax.mul(x, spread))

    return multiply(x, updates)


def _at(x: Array, where: Array, numbers: Any) -> Array:
    """The elements at the positions of a scatter: the gather that reverses it."""
    back = lax.GatherDimensionNumbers(
        offset_dims=numbers.update_window_dims,
        collapsed_slice_dims=numbers.inserted_window_dims,
        start_index_map=numbers.scatter_dims_to_operand_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.scatter_indices_batching_dims)
    gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    sizes = tuple(1 if a in gone else d for a, d in enumerate(x.shape))
    return lax.gather(x, where, back, sizes, mode=lax.GatherScatterMode.FILL_OR_DROP)


