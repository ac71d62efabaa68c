"""Tensor types: what is known about a value before it is computed."""

from __future__ import annotations

import operator
from typing import Any, Final, final

from .compiled import mypyc_attr
from .dtypes import DType
from .errors import DTypeError, ShapeError
from .placements import (
    DEFAULT_PLACEMENT,
    Placement,
    check_divides,
    common,
    on_mesh,
    propagated,
    whole_on,
)

#: the bytes of a value are counted in a signed integer of 64 bits
MOST_BYTES: Final = 2**63
#: the most that NumPy's arrays, through which data comes in and goes out, can have
MOST_DIMENSIONS: Final = 64


@mypyc_attr(acyclic=True)
@final
class TensorType:
    """Shape, dtype and placement of a value. Interned: equal types are one object.

    Make one with :func:`tensor_type`.

    Example:

        >>> kind = lazyloom.tensor_type((2, 3), lazyloom.dtypes.int16)
        >>> kind.shape, kind.dtype, kind.nbytes
        ((2, 3), int16, 12)
    """

    __slots__ = ("shape", "dtype", "placement", "size", "text")

    def __init__(self, shape: tuple[int, ...], dtype: DType, placement: Placement) -> None:
        self.shape: Final = shape
        self.dtype: Final = dtype
        self.placement: Final = placement
        size = 1
        for d in shape:
            size *= d
        self.size: Final = size
        #: such as ``float32[3,4]``
        self.text: Final = f"{dtype.name}[{','.join(map(str, shape))}]"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def mlir(self) -> str:
        """The StableHLO type, such as ``tensor<3x4xf32>``."""
        return f"tensor<{''.join(f'{d}x' for d in self.shape)}{self.dtype.mlir}>"

    def like(self, shape: tuple[int, ...], dtype: DType) -> TensorType:
        """The type of that shape and dtype of what is computed of a value of this one.

        It lies on the same devices; how a mesh divides it is XLA's choice.
        """
        placement = self.placement
        if placement.mesh is not None:
            placement = propagated(placement)
        return tensor_type(shape, dtype, placement)

    def agrees(self, other: TensorType) -> bool:
        """Return True if shape and dtype are the same, wherever the values lie."""
        return self is other or self.shape == other.shape and self.dtype is other.dtype

    def __repr__(self) -> str:
        return self.text


_interned: Final[dict[tuple[tuple[int, ...], DType, Placement], TensorType]] = {}


def tensor_type(
    shape: Any, dtype: Any, placement: Placement = DEFAULT_PLACEMENT
) -> TensorType:
    """The type of that shape (a tuple of non-negative ints) and dtype (a DType).

    Raises ShapeError for a negative size, for more than 64 dimensions and for more bytes than XLA
    can address; DTypeError if the dtype is not a DType.

    Example:

        >>> kind = lazyloom.tensor_type((2, 3), lazyloom.dtypes.float32)
        >>> kind
        float32[2,3]
        >>> kind is lazyloom.tensor_type((2, 3), lazyloom.dtypes.float32)
        True
    """
    key = (shape, dtype, placement)
    interned = _interned.get(key)
    if interned is None:
        shape = _checked(shape, dtype)
        if placement is not DEFAULT_PLACEMENT:
            check_divides(placement, shape, dtype.name)
            if not _elsewhere:
                _elsewhere.append(None)
        key = (shape, dtype, placement)
        # setdefault keeps one object when two threads make the same type
        interned = _interned.setdefault(key, TensorType(shape, dtype, placement))
    return interned


#: not empty once a value was placed elsewhere than on the default device
_elsewhere: Final[list[None]] = []


def placed_elsewhere() -> bool:
    """Return True if this process has placed a value elsewhere than on the default device."""
    return bool(_elsewhere)


def whole_type(t: TensorType) -> TensorType:
    """The type of that shape and dtype on the default device."""
    return t if t.placement is DEFAULT_PLACEMENT else tensor_type(t.shape, t.dtype)


def placed_results(
    types: tuple[TensorType | None, ...], results: tuple[TensorType, ...], op: str
) -> tuple[TensorType, ...]:
    """An op's result types, placed as its operands' types are. Raises PlacementError."""
    placement = common([t.placement for t in types if t is not None], op)
    return tuple([tensor_type(t.shape, t.dtype, placement) for t in results])


def leaf_type(t: TensorType, chosen: Placement | None) -> TensorType:
    """The type of a computed value, divided as XLA chose if that was left to it."""
    if not t.placement.is_propagated:
        return t
    mesh = t.placement.mesh
    assert mesh is not None
    return tensor_type(t.shape, t.dtype, on_mesh(mesh, ()) if chosen is None else chosen)


def common_placement(types: tuple[TensorType, ...]) -> Placement | None:
    """The placement of whole values where types lie that are not of the default device.

    None if all are.
    """
    if _elsewhere:
        for t in types:
            if t.placement is not DEFAULT_PLACEMENT:
                return whole_on(t.placement)
    return None


def has_placed(types: tuple[TensorType | None, ...]) -> bool:
    """Return True if one of the types is not of the default device."""
    for t in types:  # noqa: SIM110  a generator takes longer in compiled code
        if t is not None and t.placement is not DEFAULT_PLACEMENT:
            return True
    return False


_scalars: Final[dict[DType, TensorType]] = {}


def scalar_type(dtype: DType) -> TensorType:
    """The 0-d type of that dtype."""
    type_ = _scalars.get(dtype)
    if type_ is None:
        type_ = _scalars[dtype] = tensor_type((), dtype)
    return type_


def _checked(shape: Any, dtype: Any) -> tuple[int, ...]:
    if not isinstance(dtype, DType):
        raise DTypeError(f"a dtype is {dtype!r}, expected a lazyloom.DType")
    sizes: tuple[int, ...] = tuple(map(operator.index, shape))
    if len(sizes) > MOST_DIMENSIONS:
        raise ShapeError(
            f"a shape has {len(sizes)} dimensions, expected at most {MOST_DIMENSIONS}")
    if any(d < 0 for d in sizes):
        raise ShapeError(f"shape {sizes} has a negative size, expected sizes of 0 or more")
    size = dtype.itemsize
    for d in sizes:
        # XLA multiplies the sizes in this order too, and rejects an empty shape of huge sizes
        # like a full one
        size *= max(d, 1)
    if size >= MOST_BYTES:
        raise ShapeError(
            f"shape {sizes} of {dtype.name} has sizes whose product is {size} bytes, expected "
            f"less than 2**63")
    return sizes
