"""Tensor types: what is known of a value before it is computed."""

from __future__ import annotations

from typing import Final

from .dtypes import DType


class Placement:
    """Where a value lives: device, sharding, layout and memory space.

    Part of every type, of every program key and of the C ABI. Only one placement
    exists so far: the whole value, row-major, in the default memory of one device.
    """

    __slots__ = ("device", "sharding", "layout", "memory")

    def __init__(self, device: str, sharding: str, layout: str, memory: str) -> None:
        self.device: Final = device
        self.sharding: Final = sharding
        self.layout: Final = layout
        self.memory: Final = memory

    def __repr__(self) -> str:
        return f"{self.device}/{self.sharding}/{self.layout}/{self.memory}"


#: The first device of JAX's default platform, whole, row-major.
DEFAULT_PLACEMENT: Final = Placement("default:0", "whole", "row-major", "device")


class TensorType:
    """Shape, dtype and placement of a value. Interned: equal types are one object.

    Make one with :func:`tensor_type`.
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
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def mlir(self) -> str:
        """The StableHLO type, such as ``tensor<3x4xf32>``."""
        return f"tensor<{''.join(f'{d}x' for d in self.shape)}{self.dtype.mlir}>"

    def __repr__(self) -> str:
        return self.text


_interned: dict[tuple[tuple[int, ...], DType, Placement], TensorType] = {}


def tensor_type(
    shape: tuple[int, ...], dtype: DType, placement: Placement = DEFAULT_PLACEMENT
) -> TensorType:
    """The type of that shape (a tuple of non-negative ints) and dtype."""
    key = (shape, dtype, placement)
    found = _interned.get(key)
    if found is None:
        # setdefault keeps one object when two threads make the same type
        found = _interned.setdefault(key, TensorType(shape, dtype, placement))
    return found
