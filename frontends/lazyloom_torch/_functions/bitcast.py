"""Views of the bytes of elements as another dtype."""

from __future__ import annotations

from typing import Any

from lazyloom.frontend import Bitcast, Reshape

from .._dtypes import dtype as torch_dtype
from .._strides import seen
from .._tensor import Tensor


def view_dtype(input: Tensor, dtype: torch_dtype) -> Tensor:
    """The bytes of the elements read as another dtype, a view.

    Where the sizes differ the last dimension is longer or shorter by their ratio.
    """
    if dtype is input.dtype:
        return input._share(
            Reshape(input.tensor_type.shape), input.element_strides, input.element_offset)
    old, new = input.itemsize, dtype.itemsize
    if old == new:
        return input._share(Bitcast(dtype.lazy), input.element_strides, input.element_offset)
    shape, strides = input.tensor_type.shape, input.stride()
    if not shape:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {input.dtype!r} as {dtype!r} (different element "
            "sizes)")
    if strides[-1] != 1 and shape[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {input.dtype!r} as {dtype!r} (different element "
            f"sizes), but got {strides[-1]}")
    if new < old:
        ratio = old // new
        steps: tuple[Any, ...] = (Bitcast(dtype.lazy), Reshape((*shape[:-1], shape[-1] * ratio)))
        strides, offset = (*[s * ratio for s in strides[:-1]], 1), input.element_offset * ratio
    else:
        ratio = new // old
        if any(n % ratio for n in (shape[-1], input.element_offset, *strides[:-1])):
            raise RuntimeError(
                f"self.size(-1), self.storage_offset() and the other strides must be divisible by "
                f"{ratio} to view {input.dtype!r} as {dtype!r} (different element sizes), but got "
                f"{shape[-1]}, {input.element_offset} and {list(strides[:-1])}")
        steps = (Reshape((*shape[:-1], shape[-1] // ratio, ratio)), Bitcast(dtype.lazy))
        strides, offset = (*[s // ratio for s in strides[:-1]], 1), input.element_offset // ratio
    kind = input.tensor_type
    for step in steps:
        kind = step.out_type(kind)
    strides, reordered = seen(kind.shape, strides)
    return input._view(steps, kind, strides, offset, reordered)
