"""Activations, and attention."""

from __future__ import annotations

from typing import Any

from ... import _dtypes
from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init as _init
from ..parameter import Parameter
from ._attention import MultiheadAttention
from ._declared import Declared
from ._making import make_parameter
from .module import Module


class Threshold(Declared):
    """The input where it is above ``threshold``, ``value`` elsewhere."""

    threshold: float
    value: float
    inplace: bool = False
    shown = ("threshold", "value")

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(Declared):
    """``max(x, 0)``."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(Declared):
    """Leaky ReLU whose slope is random in training, and the mean of the bounds otherwise."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False
    shown = ("lower", "upper")

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(Declared):
    """The input limited to ``[min_val, max_val]``. ValueError unless the first is smaller."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: Any = None
    max_value: Any = None
    shown = ("min_val", "max_val")

    def _take(self, arguments: dict[str, Any]) -> None:
        low, high = arguments.pop("min_value"), arguments.pop("max_value")
        if low is not None:
            arguments["min_val"] = low
        if high is not None:
            arguments["max_val"] = high
        if not arguments["min_val"] < arguments["max_val"]:
            raise AssertionError("min_val must be less than max_val")
        super()._take(arguments)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """The input limited to [0, 6]."""

    shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Hardsigmoid(Declared):
    """``relu6(x + 3) / 6``."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(Declared):
    """``x * sigmoid(x)``."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(Declared):
    """``x * tanh(softplus(x))``."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardswish(Declared):
    """``x * relu6(x + 3) / 6``."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class ELU(Declared):
    """The input where positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    alpha: float = 1.0
    inplace: bool = False
    shown = ("alpha",)

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(Declared):
    """ELU of ``x / alpha``, times alpha, so that the derivative is continuous."""

    alpha: float = 1.0
    inplace: bool = False
    shown = ("alpha",)

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(Declared):
    """ELU scaled so that activations tend to mean 0 and variance 1."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Declared):
    """The first half of a dimension times the sigmoid of the second."""

    dim: int = -1
    shown = ("dim",)

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class GELU(Declared):
    """x times the normal distribution function of x; approximate "none" or "tanh"."""

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Declared):
    """The input where its magnitude is above ``lambd``, 0 elsewhere."""

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Declared):
    """The input where positive, ``negative_slope * x`` elsewhere."""

    negative_slope: float = 1e-2
    inplace: bool = False
    shown = ("negative_slope",)

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Declared):
    """``log(1 + exp(beta * x)) / beta``, the input where ``beta * x`` is above threshold."""

    beta: float = 1.0
    threshold: float = 20.0
    shown = ("beta", "threshold")

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softshrink(Declared):
    """The input moved towards 0 by ``lambd``, and 0 where it would pass it."""

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """Leaky ReLU with learned slopes, one or one per channel."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.num_parameters = num_parameters
        self.init = init
        self.weight: Parameter = make_parameter((num_parameters,), dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes are what was given first."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmin(Declared):
    """Softmax of the negative."""

    dim: int | None = None
    shown = ("dim",)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(Declared):
    """``exp(x)`` divided by its sum along a dimension."""

    dim: int | None = None
    shown = ("dim",)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(Declared):
    """The logarithm of softmax."""

    dim: int | None = None
    shown = ("dim",)

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU",
    "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]
