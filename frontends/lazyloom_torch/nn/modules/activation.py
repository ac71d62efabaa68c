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


class Threshold(Declared, function="threshold"):
    """The input where it is above ``threshold``, ``value`` elsewhere."""

    threshold: float
    value: float
    inplace: bool = False
    shown = ("threshold", "value")


class ReLU(Declared, function="relu"):
    """``max(x, 0)``."""

    inplace: bool = False


class RReLU(Declared, function="rrelu", passes=("lower", "upper", "training", "inplace")):
    """Leaky ReLU whose slope is random in training, and the mean of the bounds otherwise."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False
    shown = ("lower", "upper")


class Hardtanh(Declared, function="hardtanh", passes=("min_val", "max_val", "inplace")):
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


class ReLU6(Hardtanh):
    """The input limited to [0, 6]."""

    shown: Any = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(Declared, function="sigmoid"):
    """``1 / (1 + exp(-x))``."""


class Hardsigmoid(Declared, function="hardsigmoid"):
    """``relu6(x + 3) / 6``."""

    inplace: bool = False
    shown = None


class Tanh(Declared, function="tanh"):
    """The hyperbolic tangent."""


class SiLU(Declared, function="silu"):
    """``x * sigmoid(x)``."""

    inplace: bool = False


class Mish(Declared, function="mish"):
    """``x * tanh(softplus(x))``."""

    inplace: bool = False


class Hardswish(Declared, function="hardswish"):
    """``x * relu6(x + 3) / 6``."""

    inplace: bool = False
    shown = None


class ELU(Declared, function="elu"):
    """The input where positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    alpha: float = 1.0
    inplace: bool = False
    shown = ("alpha",)


class CELU(Declared, function="celu"):
    """ELU of ``x / alpha``, times alpha, so that the derivative is continuous."""

    alpha: float = 1.0
    inplace: bool = False
    shown = ("alpha",)


class SELU(Declared, function="selu"):
    """ELU scaled so that activations tend to mean 0 and variance 1."""

    inplace: bool = False


class GLU(Declared, function="glu"):
    """The first half of a dimension times the sigmoid of the second."""

    dim: int = -1
    shown = ("dim",)


class GELU(Declared, function="gelu"):
    """x times the normal distribution function of x; approximate "none" or "tanh"."""

    approximate: str = "none"
    shown = ("approximate",)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class _Shrink(Declared, declared=True):
    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink, function="hardshrink"):
    """The input where its magnitude is above ``lambd``, 0 elsewhere."""


class LeakyReLU(Declared, function="leaky_relu"):
    """The input where positive, ``negative_slope * x`` elsewhere."""

    negative_slope: float = 1e-2
    inplace: bool = False
    shown = ("negative_slope",)


class LogSigmoid(Declared, function="logsigmoid"):
    """The logarithm of the sigmoid."""


class Softplus(Declared, function="softplus"):
    """``log(1 + exp(beta * x)) / beta``, the input where ``beta * x`` is above threshold."""

    beta: float = 1.0
    threshold: float = 20.0
    shown = ("beta", "threshold")


class Softshrink(_Shrink, function="softshrink"):
    """The input moved towards 0 by ``lambd``, and 0 where it would pass it."""


class PReLU(Declared, function="prelu", passes=("weight",)):
    """Leaky ReLU with learned slopes, one or one per channel."""

    shown = ("num_parameters",)

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.num_parameters = num_parameters
        self.init = init
        self.weight: Parameter = make_parameter((num_parameters,), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes are what was given first."""
        _init.constant_(self.weight, self.init)


class Softsign(Declared, function="softsign"):
    """``x / (1 + |x|)``."""


class Tanhshrink(Declared, function="tanhshrink"):
    """``x - tanh(x)``."""


class _AlongDimension(Declared, declared=True):
    """A function of all elements along ``dim``, which it chooses by the input if that is None."""

    dim: int | None = None
    shown = ("dim",)

    def forward(self, input: Tensor) -> Tensor:
        # the level at which a warning about a missing dim shows the program's own line
        made: Tensor = getattr(F, self._function)(input, self.dim, _stacklevel=5)
        return made


class Softmin(_AlongDimension, function="softmin"):
    """Softmax of the negative."""


class Softmax(_AlongDimension, function="softmax"):
    """``exp(x)`` divided by its sum along a dimension."""


class LogSoftmax(_AlongDimension, function="log_softmax"):
    """The logarithm of softmax."""


class Softmax2d(Declared):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if not 3 <= input.ndim <= 4:
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU",
    "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]
