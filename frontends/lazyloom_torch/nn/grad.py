"""Gradients of convolutions, as functions of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from .._functions.creation import zeros
from .._grad_mode import enable_grad
from .._tensor import Tensor
from . import functional as F  # noqa: N812


def _gradient(n: int, of: str) -> Callable[..., Tensor]:
    convolution = getattr(F, f"conv{n}d")

    def found(size: Any, other: Tensor, grad_output: Tensor, *options: Any) -> Tensor:
        # a convolution is linear in either operand: where its gradient is taken matters not
        at = zeros(tuple(size), dtype=grad_output.dtype).requires_grad_()
        with enable_grad():
            operands = (at, other) if of == "input" else (other, at)
            y = convolution(*operands, None, *options)
        (gradient,) = autograd.grad(y, at, grad_output)
        assert gradient is not None
        return gradient

    def of_input(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        return found(input_size, weight, grad_output, stride, padding, dilation, groups)

    def of_weight(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        return found(weight_size, input, grad_output, stride, padding, dilation, groups)

    function = of_input if of == "input" else of_weight
    function.__name__ = function.__qualname__ = f"conv{n}d_{of}"
    function.__doc__ = f"The gradient of conv{n}d with respect to its {of}."
    return function


conv1d_input, conv2d_input, conv3d_input = (_gradient(n, "input") for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_gradient(n, "weight") for n in (1, 2, 3))

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
           "conv3d_weight"]
