"""The norm of gradients that are divided among processes."""

from __future__ import annotations

from typing import Any

import lazyloom

from .._core import cast
from .._functions.creation import zeros
from .._processes import calls
from .._tensor import Tensor, operand
from ..nn.modules.module import Module
from .modules import states_of


def clip_by_norm(module: Module, max_norm: float, norm_type: float) -> Tensor:
    """Scale a module's gradients so that their norm is at most ``max_norm``; the norm before."""
    with lazyloom.grad_mode(False):
        kept: dict[int, tuple[Any, list[Tensor]]] = {}
        own: set[int] = set()
        for state in states_of(module):
            group = state.meshes.shards
            _, gradients = kept.setdefault(id(group), (group, []))
            for p in state.params:
                local = p.local(p.held)
                own.add(id(p.held))
                if local.grad is not None:
                    gradients.append(local.grad)
        plain = [p.grad for p in module.parameters() if id(p) not in own and p.grad is not None]
        if plain:
            kept.setdefault(id(None), (None, []))[1].extend(plain)
        parts = [_power(gradients, norm_type, group) for group, gradients in kept.values()]
        total = _root(parts, norm_type)
        everything = [g for _, gradients in kept.values() for g in gradients]
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for g in everything:
            g.mul_(scale.to(g.dtype))
        return total


def _power(gradients: list[Tensor], norm_type: float, group: Any) -> Tensor:
    """The sum of powers of the elements of gradients, or the largest one, over a group."""
    total = zeros(())
    for g in gradients:
        size = g.abs()
        size = Tensor.from_value(cast(operand(size), total.tensor_type.dtype))
        if norm_type == float("inf"):
            total = total.maximum(size.max()) if g.numel() else total
        else:
            total = total + ((size * size).sum() if norm_type == 2 else (size**norm_type).sum())
    if group is None:
        return total
    kind = "max" if norm_type == float("inf") else "sum"
    return Tensor.from_value(calls.all_reduce(operand(total), kind, group))


def _root(parts: list[Tensor], norm_type: float) -> Tensor:
    total = zeros(())
    for part in parts:
        total = total.maximum(part) if norm_type == float("inf") else total + part
    if norm_type == float("inf"):
        return total
    found: Tensor = total.sqrt() if norm_type == 2 else total ** (1.0 / norm_type)
    return found
