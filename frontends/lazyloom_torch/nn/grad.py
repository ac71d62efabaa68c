"""Gradients of convolutions, as functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from .._functions.creation import zeros
from .._grad_mode import enable_grad
from .._tensor import Tensor
from . import functional as F  # noqa: N812


def _of_input(n: int) -> Callable[..., Tensor]:
    convolution = getattr(F, f"conv{n}d")

    def function(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        x = zeros(tuple(input_size), dtype=grad_output.dtype).requires_grad_()
        with enable_grad():
            y = convolution(x, weight, None, stride, padding, dilation, groups)
        (found,) = autograd.grad(y, x, grad_output)
        assert found is not None
        return found

    function.__name__ = function.__qualname__ = f"conv{n}d_input"
    function.__doc__ = f"The gradient of conv{n}d with respect to its input."
    return function


def _of_weight(n: int) -> Callable[..., Tensor]:
    convolution = getattr(F, f"conv{n}d")

    def function(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        weight = zeros(tuple(weight_size), dtype=grad_output.dtype).requires_grad_()
        with enable_grad():
            y = convolution(input, weight, None, stride, padding, dilation, groups)
        (found,) = autograd.grad(y, weight, grad_output)
        assert found is not None
        return found

    function.__name__ = function.__qualname__ = f"conv{n}d_weight"
    function.__doc__ = f"The gradient of conv{n}d with respect to its weight."
    return function


conv1d_input, conv2d_input, conv3d_input = (_of_input(n) for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_of_weight(n) for n in (1, 2, 3))

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
           "conv3d_weight"]
