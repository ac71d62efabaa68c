"""``torch._utils``: small functions of PyTorch's own use that libraries call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import _absent, _dtypes
from ._functions.shaping import cat
from ._tensor import Tensor
from .nn.parameter import Parameter


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, of one dtype, as a vector."""
    found: Tensor = cat([t.contiguous().view(-1) for t in tensors])
    return found


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector with the shapes of tensors; the inverse of flattening them."""
    found, at = [], 0
    for t in tensors:
        found.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(found)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one dtype with at most so many bytes, or of one that is larger."""
    waiting: dict[Any, list[Tensor]] = {}
    for t in tensors:
        held = waiting.setdefault(t.dtype, [])
        if held and sum(h.nbytes for h in held) + t.nbytes > size_limit:
            yield held
            held = waiting[t.dtype] = []
        held.append(t)
    for held in waiting.values():
        if held:
            yield held


def _element_size(dtype: _dtypes.dtype) -> int:
    """The bytes of an element."""
    return dtype.itemsize


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter of a tensor; pickles of PyTorch's name this function."""
    made: Any = Parameter(data, requires_grad)
    made._backward_hooks = backward_hooks
    found: Parameter = made
    return found


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """-1 for the CPU, where it is allowed. ValueError for it otherwise, as for other devices."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if allow_cpu and _dtypes.device(device).type == "cpu":
        return -1
    raise ValueError(f"Expected a device with an index, but got: {device}; tensors live on the CPU")


def _get_available_device_type() -> None:
    """None: there is no accelerator."""


def _get_all_device_indices() -> None:
    """None: there is no accelerator."""


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Sequence[Tensor]
                        ) -> tuple[Tensor, ...]:
    """The tensors, of several dtypes, in the order that others of these dtypes have."""
    waiting: dict[Any, list[Tensor]] = {}
    for t in tensors:
        waiting.setdefault(t.dtype, []).append(t)
    rest = {kind: iter(held) for kind, held in waiting.items()}
    return tuple(next(rest[t.dtype]) for t in ordered_tensors)


__getattr__ = _absent.missing(__name__)
