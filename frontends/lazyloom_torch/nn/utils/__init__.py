"""Helpers for parameters and gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._functions import reductions, shaping
from ..._grad_mode import no_grad
from ..._tensor import Tensor
from . import rnn


def _with_grads(parameters: Any) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p for p in given if p.grad is not None]


@no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    """Scale all gradients so that their common norm is at most max_norm; returns the norm.

    Nothing is read, unless ``error_if_nonfinite`` asks for a RuntimeError.
    """
    params = _with_grads(parameters)
    if not params:
        from ..._functions.creation import tensor

        return tensor(0.0)
    norms = [reductions.norm(p.grad, norm_type) for p in params]
    total = reductions.norm(shaping.stack(norms), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped")
    scale = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    for p in params:
        p.grad.mul_(scale.to(p.grad.dtype))
    return total


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Limit every gradient element to [-clip_value, clip_value]."""
    for p in _with_grads(parameters):
        p.grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened, in one vector."""
    return shaping.cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the parts of a vector into parameters."""
    start = 0
    for p in parameters:
        p.copy_(vec[start:start + p.numel()].reshape(p.shape))
        start += p.numel()


__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "rnn",
           "vector_to_parameters"]
