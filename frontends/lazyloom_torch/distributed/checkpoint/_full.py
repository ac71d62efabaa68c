"""Whole tensors of DTensors, and DTensors of whole ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._processes import groups
from ..._processes.objects import broadcast_object_list
from ..._tensor import Tensor
from ._parts import is_distributed


def _mapped(value: Any, change: Any) -> Any:
    """A nested state with ``change(tensor)`` in place of each tensor."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _mapped(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [_mapped(v, change) for v in value]
    return value


def gathered(state: Any, full: bool, only_first: bool) -> Any:
    """A state with whole tensors if ``full``; empty but in rank 0 if ``only_first``."""
    if not full:
        return state
    found = _mapped(state, lambda t: t.full_tensor().detach() if is_distributed(t) else t)
    if only_first and groups.is_initialized() and groups.world_rank():
        return {}
    return found


def as_part(whole: Tensor, like: Any) -> Any:
    """A DTensor as ``like`` is one, of a tensor that this process has all of."""
    if like.device_mesh.get_coordinate() is None:
        return like
    part = whole.detach()
    for d, (length, begin) in enumerate(zip(*like._offsets(), strict=True)):
        if begin or length != part.shape[d]:
            part = part.narrow(d, begin, length)
    return like.detach()._with(part.to(like.dtype).clone())


def cut_like(state: Any, like: Any) -> Any:
    """A state with DTensors where another one has them; of tensors that all processes have."""
    if isinstance(state, Mapping):
        return {k: cut_like(v, like[k]) if isinstance(like, Mapping) and k in like else v
                for k, v in state.items()}
    if isinstance(state, Tensor) and not is_distributed(state) and is_distributed(like):
        return as_part(state, like)
    return state


def broadcast_from_first(state: Any, like: Any, strict: bool) -> Any:
    """:func:`cut_like` of the state that rank 0 has."""
    if not groups.is_initialized() or groups.world_size() == 1:
        return cut_like(state, like)
    first = groups.world_rank() == 0
    held = [_mapped(state, _on_host) if first else None]
    broadcast_object_list(held, 0)
    if strict and not held[0]:
        raise RuntimeError("rank 0, which is to have the state, was given an empty one")
    return cut_like(state if first else held[0], like)


def _on_host(tensor: Tensor) -> Tensor:
    if is_distributed(tensor):
        raise ValueError("broadcast_from_rank0 takes whole tensors: get the state with "
                         "StateDictOptions(full_state_dict=True)")
    return tensor.detach()
