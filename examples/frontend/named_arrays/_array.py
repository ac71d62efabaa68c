"""The array class: names of dimensions, views, operators and writes in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom import Scalar, Value
from lazyloom.dtypes import DType, as_dtype
from lazyloom.frontend import (
    MATMUL,
    NAMES,
    Operators,
    Permute,
    Reshape,
    Slice,
    Tensor,
    hold,
    set_operators,
    view,
    write,
)

#: where the user's line is sought: not in this folder
lazyloom.skip_folder(__file__.rpartition("/")[0])

#: the runtime's op for each operator, in the order of NAMES
OPS = ("add", "subtract", "multiply", "divide", "dot", "less", "less_equal", "greater",
       "greater_equal", "negative")  # fmt: skip


class NamedArray(Tensor):
    """An array with a name for each dimension; made by :func:`array`.

    Attributes:
        dims: the names, in the order of the dimensions.
    """

    __slots__ = ("dims",)
    dims: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """How long each dimension is, by its name."""
        return dict(zip(self.dims, self.tensor_type.shape, strict=True))

    @property
    def dtype(self) -> DType:
        return self.tensor_type.dtype

    def axis(self, dim: str) -> int:
        """The position of a dimension. Raises KeyError for one that the array has not."""
        if dim not in self.dims:
            raise KeyError(f"dimension {dim!r} is not among {self.dims}")
        return self.dims.index(dim)

    # -- views: they share the array's memory ------------------------------------------------

    def transpose(self, *dims: str) -> NamedArray:
        """A view with the dimensions in another order."""
        axes = tuple(self.axis(d) for d in dims)
        return _named(view(self, Permute(axes)), dims)

    def rename(self, **names: str) -> NamedArray:
        """A view with other names for some dimensions, ``rename(old="new")``."""
        for dim in names:
            self.axis(dim)
        dims = tuple(names.get(d, d) for d in self.dims)
        return _named(view(self, Reshape(self.tensor_type.shape)), dims)

    def at(self, **where: int | slice) -> NamedArray:
        """A view of a part: an int takes a dimension away, a slice keeps it.

        Raises KeyError for a dimension that the array has not, IndexError for a position outside.
        """
        shape = self.tensor_type.shape
        starts, sizes, steps, kept = [0] * len(shape), list(shape), [1] * len(shape), []
        for dim in where:
            self.axis(dim)
        for i, dim in enumerate(self.dims):
            given = where.get(dim, slice(None))
            if isinstance(given, slice):
                part = range(shape[i])[given]
                starts[i], sizes[i], steps[i] = part.start, len(part), part.step
                kept.append(dim)
            elif -shape[i] <= given < shape[i]:
                starts[i], sizes[i] = given % shape[i], 1
            else:
                raise IndexError(f"position {given} is outside of dimension {dim!r}, of {shape[i]}")
        if 0 in sizes:
            starts = [0] * len(shape)
        found = view(self, Slice(tuple(starts), tuple(sizes), tuple(steps)))
        if len(kept) < len(shape):
            found = view(found, Reshape(tuple(sizes[self.axis(d)] for d in kept)))
        return _named(found, kept)

    # -- writes ------------------------------------------------------------------------------

    def assign(self, other: Any) -> NamedArray:
        """Write in place what aligns with the array. Raises ValueError for other dimensions."""
        write(self, aligned(other, self.dims, self.sizes, self.dtype))
        return self

    # -- reductions --------------------------------------------------------------------------

    def _reduce(self, op: str, dims: Sequence[str]) -> NamedArray:
        gone = dims or self.dims
        value = lazyloom.record(op, [self.value], {"axes": tuple(self.axis(d) for d in gone)})
        return wrap(value, [d for d in self.dims if d not in gone])

    def sum(self, *dims: str) -> NamedArray:
        """The sum over dimensions, or over all."""
        return self._reduce("sum", dims)

    def mean(self, *dims: str) -> NamedArray:
        """The mean over dimensions, or over all."""
        return self._reduce("mean", dims)

    def max(self, *dims: str) -> NamedArray:
        """The largest element along dimensions, or of all."""
        return self._reduce("max", dims)

    def __float__(self) -> float:
        return float(self.read())

    def __repr__(self) -> str:
        return f"NamedArray({self.sizes}, {self.dtype.name}\n{self.read()})"


def _named(made: NamedArray, dims: Sequence[str]) -> NamedArray:
    """An array that was just made, with its names; operators are to ask this frontend."""
    if len(set(dims)) != len(made.tensor_type.shape) or len(set(dims)) != len(dims):
        raise ValueError(f"{dims} were given for shape {made.tensor_type.shape}, expected a name "
                         "for each dimension, each another")
    made.dims = tuple(dims)
    made.slow_path = True
    return made


def wrap(value: Value, dims: Sequence[str]) -> NamedArray:
    """A recorded value as an array of those dimensions."""
    made = NamedArray.__new__(NamedArray)
    hold(made, value)
    return _named(made, dims)


def array(data: Any, *dims: str, dtype: Any = None) -> NamedArray:
    """An array of data that NumPy takes, with a name for each dimension.

    Raises ValueError where their number is not that of the dimensions.
    """
    value = lazyloom.from_host(data)
    if dtype is not None:
        value = lazyloom.record("cast", [value], {"dtype": as_dtype(dtype)})
    return wrap(value, dims)


def aligned(x: Any, dims: Sequence[str], sizes: dict[str, int], dtype: DType) -> Value:
    """An operand as the value of those dimensions: in their order, repeated along the missing.

    Python numbers take the dtype. Raises ValueError for sizes that differ, TypeError for
    operands of another dtype or kind.
    """
    full = tuple(sizes[d] for d in dims)
    if isinstance(x, (bool, int, float)):
        number: Value = lazyloom.record("full", [Scalar(x, dtype)], {"shape": full})
        return number
    if not isinstance(x, NamedArray):
        raise TypeError(f"a {type(x).__name__} was given, expected a NamedArray or a number")
    if x.dtype is not dtype:
        raise TypeError(f"dtypes {dtype.name} and {x.dtype.name} were given; cast one of them")
    for dim, size in x.sizes.items():
        if sizes.get(dim) != size:
            raise ValueError(f"dimension {dim!r} has size {size} in {x.sizes}, expected {sizes}")
    order = tuple(x.axis(d) for d in dims if d in x.dims)
    value = lazyloom.record("transpose", [x.value], {"axes": order})
    shape = tuple(sizes[d] if d in x.dims else 1 for d in dims)
    value = lazyloom.record("reshape", [value], {"shape": shape})
    spread: Value = lazyloom.record("broadcast_to", [value], {"shape": full})
    return spread


def elementwise(op: str, *operands: Any) -> NamedArray:
    """An op of each element, its operands aligned by the names of their dimensions."""
    arrays = [x for x in operands if isinstance(x, NamedArray)]
    sizes: dict[str, int] = {}
    for x in arrays:
        sizes |= {d: n for d, n in x.sizes.items() if d not in sizes}
    dims = tuple(sizes)
    values = [aligned(x, dims, sizes, arrays[0].dtype) for x in operands]
    return wrap(lazyloom.record(op, values), dims)


def _operator(op: str) -> Callable[..., Any]:
    def general(*operands: Any) -> Any:
        if not all(isinstance(x, (NamedArray, bool, int, float)) for x in operands):
            return NotImplemented
        if op == "dot":
            from ._functions import dot

            return dot(*operands)
        return elementwise(op, *operands)

    return general


def _operator_in_place(op: str) -> Callable[..., Any]:
    def general(target: NamedArray, other: Any) -> Any:
        found = _operator(op)(target, other)
        return found if found is NotImplemented else target.assign(found)

    return general


set_operators(NamedArray, Operators(
    NamedArray, NamedArray, [_operator(op) for op in OPS],
    [_operator_in_place(op) for op in OPS[: MATMUL + 1]], short_in_place=False))
assert len(OPS) == len(NAMES)
