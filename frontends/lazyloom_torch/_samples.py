"""Random numbers that are differentiable by the parameters of their distribution."""

from __future__ import annotations

from typing import Any

import lazyloom

from ._draws import Generator, drawn
from ._dtypes import finfo
from ._functions import pointwise
from ._tensor import Tensor, operand


def draw(op: str, operands: list[Tensor], shape: Any, dtype: Any = None,
         generator: Generator | None = None) -> Tensor:  # fmt: skip
    """A tensor of that shape drawn by a random op; part of the program around it if it is on
    the tape, data otherwise."""
    attributes: dict[str, Any] = {"shape": tuple(shape)}
    if dtype is not None:
        attributes["dtype"] = dtype.lazy
    value = drawn(op, [operand(t) for t in operands], attributes, generator,
                  step=lazyloom.grad_enabled())
    return Tensor.from_value(value)


def gamma(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of unit rate, differentiable by their concentrations."""
    tiny = finfo(concentration.dtype).tiny
    found = draw("random_gamma", [concentration], concentration.shape, None, generator)
    return pointwise.where(found > tiny, found, tiny)


def dirichlet(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Points of a simplex, differentiable by the concentrations of its last dimension."""
    numbers = gamma(concentration, generator)
    limits = finfo(numbers.dtype)
    points = numbers / numbers.sum(-1, keepdim=True)
    return points.clamp(min=limits.tiny, max=1 - limits.eps / 2)
