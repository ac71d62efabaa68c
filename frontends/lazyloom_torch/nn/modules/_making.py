"""How modules make their parameters, and give them values to start from."""

from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ..._functions.creation import empty
from ..._tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module


def make_parameter(shape: tuple[int, ...], dtype: Any, device: Any = None) -> Parameter:
    """A parameter still to be initialised."""
    return Parameter(empty(shape, dtype=dtype, device=device))


def fill_by_inputs(weight: Tensor, bias: Tensor | None) -> None:
    """New values, uniform with bound ``1 / sqrt(n)``, n the inputs that an output is made of."""
    # Kaiming's bound is gain * sqrt(3 / n), and the gain of this slope is sqrt(1 / 3)
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        inputs, _ = init.fans(weight)
        bound = 1 / math.sqrt(inputs) if inputs else 0.0
        init.uniform_(bias, -bound, bound)


class Shaped(Module):
    """A module whose parameters have shapes that follow from its sizes."""

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each parameter that the module may have."""
        raise NotImplementedError

    def _make_parameters(self, device: Any, dtype: Any, **wanted: bool) -> None:
        """Make the wanted parameters, still to be initialised, and register None for the others."""
        _dtypes.check_device(device)
        for name, made in wanted.items():
            self.register_parameter(
                name, self._new_parameter(name, dtype, device) if made else None)

    def _new_parameter(self, name: str, dtype: Any, device: Any = None) -> Parameter:
        return make_parameter(self._shapes()[name], dtype, device)

    def reset_parameters(self) -> None:
        """New values to start from."""
        raise NotImplementedError


class Affine(Shaped):
    """A normalisation, after which ``* weight + bias`` may follow."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = getattr(self, name, None)
            if parameter is not None:
                fill(parameter)
