"""Limits for gradients."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

from lazyloom.errors import type_name

from ..._foreign import of_dtensor
from ..._functions import reductions, shaping
from ..._functions.creation import tensor
from ..._grad_mode import no_grad
from ..._tensor import Tensor


def _listed(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The norm of all elements of some tensors.

    Nothing is read, unless ``error_if_nonfinite`` asks for a RuntimeError.
    """
    given = _listed(tensors)
    if not given:
        return tensor(0.0)
    norm_type = float(norm_type)
    total: Tensor
    if any(t._is_dtensor for t in given):
        # of parts there are norms of parts, and one reduction at the end
        norms = [t.norm(norm_type) for t in given]
        total = of_dtensor[0](shaping.stack, "stack", (norms,), {}).norm(norm_type)
    else:
        norms = [reductions.norm(t, norm_type) for t in given]
        total = reductions.norm(shaping.stack(norms), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: Any = None
) -> None:
    """Scale all gradients by ``max_norm / total_norm``, where that is below 1."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for p in _listed(parameters):
        grad = p.grad
        if grad is not None:
            factor = scale if grad.dtype is scale.dtype else scale.to(grad.dtype)
            if factor._is_dtensor and not grad._is_dtensor:
                whole: Any = factor
                factor = whole.full_tensor()
            grad.mul_(factor)


@no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    """Scale all gradients so that their common norm is at most max_norm; returns the norm.

    Nothing is read, unless ``error_if_nonfinite`` asks for a RuntimeError.
    """
    empty = isinstance(parameters, types.GeneratorType)
    given = _listed(parameters)
    if empty and not given:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.",
                      stacklevel=3)
    grads = [p.grad for p in given if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    """:func:`clip_grad_norm_`, by its older name."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
                  "`torch.nn.utils.clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Limit every gradient element to [-clip_value, clip_value]."""
    limit = float(clip_value)
    for p in _listed(parameters):
        if p.grad is not None:
            p.grad.clamp_(-limit, limit)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened, in one vector."""
    parts = [p.reshape(-1) for p in parameters]
    found: Tensor = (of_dtensor[0](shaping.cat, "cat", (parts,), {})
                     if any(p._is_dtensor for p in parts) else shaping.cat(parts))
    return found


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parts of a vector be the data of parameters. TypeError for what is no tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type_name(vec)}")
    start = 0
    with no_grad():
        for p in parameters:
            p.copy_(vec[start:start + p.numel()].reshape(p.shape))
            start += p.numel()


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
           "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
