"""Normalisation."""

from __future__ import annotations

from typing import Any

from ... import _dtypes
from ..._functions import activations
from ..._functions.creation import ones, zeros
from ..._tensor import Tensor
from ..parameter import Parameter
from .module import Module


class _Affine(Module):
    """Registers a weight of ones and a bias of zeros, or neither."""

    def _make(self, shape: Any, weight: bool, bias: bool, dtype: Any) -> None:
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if weight else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if bias else None)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else (
            tuple(normalized_shape))
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        if "weight" in own and "bias" in own:  # the usual case, without __getattr__
            return activations.layer_norm(
                input, self.normalized_shape, own["weight"], own["bias"], self.eps)
        return activations.layer_norm(input, self.normalized_shape, self.weight, self.bias,
                                      self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}")


class RMSNorm(_Affine):
    """The input divided by its root mean square over the last dimensions, times weight."""

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else (
            tuple(normalized_shape))
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(
            ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None)

    def forward(self, input: Tensor) -> Tensor:
        return activations.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups "
                             f"({num_groups})")
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._make((num_channels,), affine, affine, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return activations.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _BatchNorm(_Affine):
    ranks: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make((num_features,), affine, affine and bias, dtype)
        self.register_buffer(
            "running_mean", zeros(num_features, dtype=dtype) if track_running_stats else None)
        self.register_buffer(
            "running_var", ones(num_features, dtype=dtype) if track_running_stats else None)
        self.register_buffer(
            "num_batches_tracked",
            zeros((), dtype=_dtypes.int64) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Running mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"expected {' or '.join(f'{r}D' for r in self.ranks)} input (got {input.ndim}D "
                "input)")
        if input.shape[1] != self.num_features:
            raise RuntimeError(
                f"running_mean should contain {input.shape[1]} elements not {self.num_features}")
        momentum = 0.1 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked.item())
        training = self.training or not self.track_running_stats
        update = self.track_running_stats
        return activations.batch_norm(
            input, self.running_mean if update else None, self.running_var if update else None,
            self.weight, self.bias, training, momentum, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    ranks = (5,)


class _InstanceNorm(_Affine):
    rank = 0

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        if track_running_stats:
            raise ValueError(f"{type(self).__name__}: track_running_stats=True is not supported")
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self._make((num_features,), affine, affine, dtype)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != self.rank:
            raise ValueError(f"expected {self.rank}D input (got {input.ndim}D input)")
        return activations.instance_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, affine={self.affine}"


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L)."""

    rank = 3


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W)."""

    rank = 4


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W)."""

    rank = 5
