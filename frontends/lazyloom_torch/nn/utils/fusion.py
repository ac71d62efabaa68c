"""Batch normalisation folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ..._functions.creation import ones_like, zeros_like
from ..._tensor import Tensor
from ..parameter import Parameter


def _fused(
    w: Tensor, b: Tensor | None, mean: Tensor, var: Tensor, eps: float, weight: Tensor | None,
    bias: Tensor | None, at: int,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    keep = w.requires_grad, b.requires_grad if b is not None else w.requires_grad
    b = zeros_like(mean) if b is None else b
    weight = ones_like(mean) if weight is None else weight
    bias = zeros_like(mean) if bias is None else bias
    scale = weight * (var + eps).rsqrt()
    shape = [1] * w.dim()
    shape[at] = -1
    new_w = (w * scale.reshape(shape)).to(w.dtype)
    new_b = ((b - mean) * scale + bias).to(b.dtype)
    return Parameter(new_w.detach(), keep[0]), Parameter(new_b.detach(), keep[1])


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """A convolution's weight and bias with what batch normalisation does after it."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and batch normalisation do in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose)
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor, bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """A linear map's weight and bias with what batch normalisation does after it."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear map that does what it and batch normalisation do in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or "
                             "bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
           "fuse_linear_bn_weights"]
