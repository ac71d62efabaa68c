"""Views by strides, by parts of complex numbers and by bits; and storages of another size."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.frontend import (
    AsComplex,
    AsReal,
    Bitcast,
    Conj,
    Permute,
    Reshape,
    Strided,
    hold,
    share_view,
    storage_of,
    view_of_storage,
)

from .._core import axis, check_shape, numel, record, scalar, sequence_by_name, shape_of
from .._errors import as_torch
from .._grad_mode import is_grad_enabled
from .._inference import check_write, seen
from .._memory import take
from .._registry import declare
from .._strides import Ints, memory_order, row_major
from .._tensor import Tensor
from . import views


def _as_stored(input: Tensor) -> tuple[Any, ...]:
    """The steps that read a tensor's storage as elements of the tensor's dtype."""
    kind, here = storage_of(input).value.type, input.tensor_type.dtype
    if kind.dtype is here:
        return ()
    if kind.dtype.is_complex and here is kind.dtype.real:
        return (AsReal(),)
    if here.is_complex and kind.dtype is here.real and kind.size % 2 == 0:
        return (Reshape((kind.size // 2, 2)), AsComplex())
    if kind.dtype.itemsize == here.itemsize:
        return (Bitcast(here),)
    raise RuntimeError(
        f"as_strided() of a {input.dtype!r} view of a storage of {kind.dtype.name}: "
        "clone() the view first")


def _in_memory(input: Tensor) -> tuple[Any, ...]:
    """The steps that read a tensor's storage in the order of its memory."""
    root = input._root()
    if root.element_strides is None or root.view_steps or storage_of(root) is not storage_of(input):
        return ()
    order = memory_order(root.tensor_type.shape, root.element_strides)
    return () if order is None else (Permute(order),)


def _of_storage(input: Tensor, steps: tuple[Any, ...], strides: Ints, offset: int) -> Tensor:
    """A view of the storage of a tensor."""
    if input._own is not None and input.view_steps and input._operand().requires_grad:
        raise RuntimeError(
            "as_strided() of a view that has a gradient history of its own is not possible; "
            "clone() it first")
    kind = storage_of(input).value.type
    steps = (*_in_memory(input), *_as_stored(input), *steps)
    try:
        for step in steps:
            kind = step.out_type(kind)
    except lazyloom.LoomError as error:
        raise as_torch(error) from None
    found = input._view((), kind, strides, 0, False)
    owner, detached = found.alias_of, found.detached
    view_of_storage(found, storage_of(input), steps, kind)
    found.alias_of, found.detached = owner, detached
    if found._parent is not None:
        found._parent = None if input.view_steps else (input, steps)
        found._keep_own(None if input.view_steps else (-1, storage_of(input).value))
    found._lay(strides, offset)
    return found


def _has_all(input: Tensor, shape: Ints, strides: Ints, offset: int) -> bool:
    """Whether elements of a storage are those of a tensor that has a row of it in its order."""
    if not input.is_contiguous() or storage_of(input).value.dtype is not input.tensor_type.dtype:
        return False
    first = offset - input.element_offset
    last = first + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return first >= 0 and (0 in shape or last < input.tensor_type.size)


def _check_strides(name: str, size: Any, stride: Any, offset: int) -> tuple[Ints, Ints]:
    shape, strides = shape_of((size,)), shape_of((stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"{name}: size {list(shape)} and stride {list(strides)} differ in length")
    if any(s < 0 for s in strides):
        raise RuntimeError(f"{name}: negative strides are not supported, got {list(strides)}")
    if offset < 0:
        raise RuntimeError(f"{name}: storage_offset must not be negative, got {offset}")
    return check_shape(shape), strides


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the input's storage: element ``i`` is at ``storage_offset + sum(i * stride)``.

    Without an offset it is the input's. Elements may be there several times; what is written to
    such a view goes to each of their places, where it makes a difference. Raises RuntimeError
    where it leaves the storage.
    """
    offset = input.element_offset if storage_offset is None else int(storage_offset)
    shape, strides = _check_strides("as_strided", size, stride, offset)
    if input.view_steps and input.requires_grad and _has_all(input, shape, strides, offset):
        # gradients pass by the input
        step = Strided(offset - input.element_offset, shape, strides)
        return input._share(step, strides, offset)
    return _of_storage(input, (Strided(offset, shape, strides),), strides, offset)


def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """:func:`as_strided`, of which the tensor itself becomes the view."""
    return become(self, as_strided(self, size, stride, storage_offset), "as_strided_")


def become(self: Tensor, view: Tensor, name: str) -> Tensor:
    """Make a tensor the view that is given. Raises RuntimeError for a leaf where gradients are
    recorded."""
    if self._leaf is not None and not is_grad_enabled():
        take(self, view.detach())
        return self
    parent = self._parent
    if self._leaf is not None or (
        parent is None and self._own is not None and self._own[1].requires_grad
    ):
        raise RuntimeError(f"{name}() on a leaf that requires grad is not possible")
    owner = self.alias_of
    share_view(self, view)
    self.alias_of = owner
    self._own = None
    self._lay(view.element_strides, view.element_offset)
    if parent is not None and view._parent is not None:
        self._parent = (parent[0], (*parent[1], *view._parent[1]))
        self._keep_own((-1, storage_of(view).value))
    return self


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` elements, ``step`` apart, of a dimension: a new last dimension.

    A view: shape ``[..., (n - size) // step + 1, ..., size]``.
    """
    at = axis(dimension, input.ndim)
    shape, strides = input.tensor_type.shape or (1,), input.stride() or (1,)
    length = shape[at]
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    count = (length - size) // step + 1
    new_strides = (*strides[:at], step * strides[at], *strides[at + 1:], strides[at])
    if not input.ndim:
        return input._share(Reshape((size,)), None, input.element_offset) if size else views.narrow(
            views.reshape(input, 1), 0, 0, 0)
    if step == size:
        # windows that do not overlap are a reshape
        parts = views.narrow(input, at, 0, count * size)
        middle = parts._share(
            Reshape((*shape[:at], count, size, *shape[at + 1:])),
            (*strides[:at], step * strides[at], strides[at], *strides[at + 1:]),
            input.element_offset)
        found: Tensor = views.movedim(middle, at + 1, -1)
        return found
    own = row_major(shape)
    steps = (*own[:at], step * own[at], *own[at + 1:], own[at])
    new = (*shape[:at], count, *shape[at + 1:], size)
    return input._share(Strided(0, new, steps), new_strides, input.element_offset)


def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts as a last dimension of size 2, a view."""
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors; use "
            "view_as_real(x.resolve_conj()), which copies")
    strides = (*[2 * s for s in input.stride()], 1)
    return input._share(AsReal(), strides, 2 * input.element_offset)


def view_as_complex(input: Tensor) -> Tensor:
    """A complex tensor from a last dimension of size 2, a view."""
    if input.tensor_type.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for float and double tensors, but got a tensor of "
            f"{input.dtype!r}")
    if not input.ndim or input.tensor_type.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = input.stride()
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if input.element_offset % 2 or any(s % 2 for s in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return input._share(AsComplex(), tuple(s // 2 for s in strides[:-1]), input.element_offset // 2)


def conj(input: Tensor) -> Tensor:
    """The complex conjugates, as a view; the tensor itself if it is real."""
    if not input.is_complex():
        return input
    return input._share(Conj(), input.element_strides, input.element_offset)


def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a view of its storage's conjugates."""
    return input.is_complex() and sum(type(s) is Conj for s in input.view_steps) % 2 == 1


def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a view of conjugates; any other tensor itself."""
    return views.clone(input) if is_conj(input) else input


def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugates, as a copy; a real tensor itself."""
    return views.clone(conj(input)) if input.is_complex() else input


def is_neg(input: Tensor) -> bool:
    """False: no tensor here is a view of its storage's negatives."""
    return False


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself."""
    return input


def _check_resizable(self: Tensor) -> None:
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")


@sequence_by_name
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape, contiguous; its first elements stay what they are.

    Elements that are new are zero. A tensor that grows beyond its storage gets a larger one,
    and views that were taken of it before keep the old one.
    """
    if seen.mode:
        check_write(self)
    _check_resizable(self)
    shape = check_shape(shape_of(size))
    if shape == self.tensor_type.shape:
        return self
    storage, count = storage_of(self), numel(shape)
    if self.element_offset + count <= storage.value.type.size:
        step = Strided(self.element_offset, shape, row_major(shape))
        steps: tuple[Any, ...] = (step,)
        if self.element_offset == 0 and count == storage.value.type.size:
            steps = (Reshape(shape),)
        resized = _of_storage(self, steps, row_major(shape), self.element_offset)
        return become(self, resized, "resize_")
    flat = as_strided(self, (storage.value.type.size - self.element_offset,), (1,))
    grown = record("pad", [flat.value, scalar(0, self.tensor_type.dtype)], {
        "low": (0,), "high": (count - flat.tensor_type.size,), "interior": (0,)})
    value = record("reshape", [grown], {"shape": shape})
    hold(self, value)
    self._lay(None, 0)
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """:func:`resize_` to the shape of another tensor."""
    return resize_(self, the_template.tensor_type.shape)


declare({
    "function method inplace-function out": [conj_physical],
    "function method": [
        as_strided, as_strided_, conj, is_conj, resolve_conj, is_neg, resolve_neg],
    "function": [view_as_real, view_as_complex, resize_as_],
    "function as-is": [Tensor.detach_],
    "method": [unfold, resize_],
    "method as-is": [resize_as_],
})
