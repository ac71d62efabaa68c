"""Linear maps."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from ._making import Shaped, fill_by_inputs
from .lazy import SizedByInput
from .module import Module


class Identity(Module):
    """Returns its input; takes and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()  # without the arguments, which a Module refuses

    def forward(self, input: Tensor) -> Tensor:
        return input


class _Map(Shaped):
    """A map that is linear in each of its inputs, plus a bias."""

    weight: Parameter
    bias: Parameter | None
    _sizes: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        sizes = [f"{name}={getattr(self, name)}" for name in self._sizes]
        return ", ".join([*sizes, f"bias={self.bias is not None}"])


class Linear(_Map):
    """``x @ weight.T + bias``, weight of shape (out_features, in_features).

    Initial values are uniform with bound ``1 / sqrt(in_features)``.
    """

    _sizes = ("in_features", "out_features")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._make_parameters(device, dtype, weight=True, bias=bias)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}

    def reset_parameters(self) -> None:
        """New random values."""
        fill_by_inputs(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        if "weight" in own and "bias" in own:  # the usual case, without __getattr__
            return F.linear(input, own["weight"], own["bias"])  # type: ignore[arg-type]
        return F.linear(input, self.weight, self.bias)


class Bilinear(_Map):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k."""

    _sizes = ("in1_features", "in2_features", "out_features")

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self._make_parameters(device, dtype, weight=True, bias=bias)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in1_features, self.in2_features),
                "bias": (self.out_features,)}

    def reset_parameters(self) -> None:
        """New random values, with bound ``1 / sqrt(in1_features)``."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters(recurse=False):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear; the class that PyTorch's attention projects with."""


class LazyLinear(SizedByInput, Linear):
    """Linear, with ``in_features`` as the first input has them."""

    cls_to_become = Linear
    _size_name = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)

    def _size_of(self, input: Tensor) -> int:
        return input.size(-1)


__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]
