"""Normalisation over features, groups and neighbouring channels."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared
from ._making import Affine


class _ResponseNorm(Declared, declared=True):
    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm, function="local_response_norm"):
    """The input divided by a power of the mean square of neighbouring channels."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0


class CrossMapLRN2d(_ResponseNorm, function="local_response_norm"):
    """:class:`LocalResponseNorm` of (N, C, H, W)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(Affine):
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(device, dtype, weight=elementwise_affine,
                              bias=elementwise_affine and bias)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self.normalized_shape, "bias": self.normalized_shape}

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        if "weight" in own and "bias" in own:  # the usual case, without __getattr__
            return F.layer_norm(
                input, self.normalized_shape, own["weight"], own["bias"], self.eps)
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}")


class RMSNorm(Affine):
    """The input divided by its root mean square over the last dimensions, times weight."""

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(device, dtype, weight=elementwise_affine)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": self.normalized_shape}

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")


class GroupNorm(Affine):
    """Mean 0 and variance 1 over groups of channels, then ``* weight + bias``."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups "
                             f"({num_groups})")
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._make_parameters(device, dtype, weight=affine, bias=affine and bias)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.num_channels,), "bias": (self.num_channels,)}

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
