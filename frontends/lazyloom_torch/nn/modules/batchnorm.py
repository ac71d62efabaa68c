"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from ... import _dtypes
from ..._functions.creation import zeros
from ..._grad_mode import no_grad
from ..._processes.moments import combined_moments, joined
from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ..parameter import UninitializedBuffer
from ._making import Affine
from .lazy import SizedByInput
from .module import Module

#: the buffers of running moments, and what each holds before the first batch
_BEFORE = {"running_mean": 0, "running_var": 1, "num_batches_tracked": 0}


class _NormBase(Affine):
    """Parameters and running moments of batch and instance normalisation."""

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make_parameters(device, dtype, weight=affine, bias=affine and bias)
        for name in _BEFORE:
            self.register_buffer(name, self._new_buffer(name, dtype, device) if (
                track_running_stats) else None)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        each = (self.num_features,)
        return {"weight": each, "bias": each, "running_mean": each, "running_var": each,
                "num_batches_tracked": ()}

    def _new_buffer(self, name: str, dtype: Any, device: Any = None) -> Tensor:
        made: Tensor = zeros(
            self._shapes()[name], dtype=_dtypes.int64 if name == "num_batches_tracked" else dtype,
            device=device)
        return made

    def reset_running_stats(self) -> None:
        """Running mean 0, variance 1, no batches seen."""
        if self.track_running_stats:
            for name, value in _BEFORE.items():
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0 and new running moments."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and (
            key not in state_dict
        ):  # as checkpoints of long ago lack it
            state_dict[key] = zeros((), dtype=_dtypes.int64) if (
                self.num_batches_tracked is None) else self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        # buffers and parameters are taken from their tables: __getattr__ is slow
        kept, own = self._buffers, self._parameters
        mean, variance = kept["running_mean"], kept["running_var"]
        training = self.training
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        if training and self.track_running_stats:
            momentum = self._count()
        elif training:
            mean = variance = None
        else:
            training = mean is None and variance is None
        if "weight" in own and "bias" in own:
            return F.batch_norm(input, mean, variance, own["weight"], own["bias"], training,
                                momentum, self.eps)
        return F.batch_norm(input, mean, variance, self.weight, self.bias, training, momentum,
                            self.eps)

    def _count(self) -> Any:
        """Count a batch; the weight of its moments in the running ones."""
        seen, mean = self._buffers["num_batches_tracked"], self._buffers["running_mean"]
        if seen is not None:
            seen.add_(1)
            if self.momentum is None:  # the average of all batches
                return 1.0 / seen.to(_dtypes.float32 if mean is None else mean.dtype)
        return 0.0 if self.momentum is None else self.momentum

    def _drop_running_statistics(self) -> None:
        """Use the statistics of the batch from now on, and keep none."""
        self.running_mean = self.running_var = self.num_batches_tracked = None
        self.track_running_stats = False


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose moments are those of the batches of all processes together.

    In one process, or in evaluation mode, it is the module's own. It works on CPUs, too, where
    PyTorch's does not.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, process_group: Any = None,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype,
                         bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        of_batch = self.training or self.running_mean is None and self.running_var is None
        group = joined(self.process_group) if of_batch else None
        if group is None:
            return super().forward(input)
        self._check_input_dim(input)
        over = [d for d in range(input.dim()) if d != 1]
        shape = [-1 if d == 1 else 1 for d in range(input.dim())]
        x = input.float() if input.element_size() < 4 else input
        mean, variance, count = combined_moments(x, over, group)
        if self.training and self.track_running_stats:
            self._keep(mean.detach(), variance.detach() * (count / (count - 1)), self._count())
        scale = (variance + self.eps).rsqrt()
        found = (x - mean.reshape(shape)) * scale.reshape(shape)
        if self.weight is not None:
            found = found * self.weight.reshape(shape)
        if self.bias is not None:
            found = found + self.bias.reshape(shape)
        return found.to(input.dtype)

    def _keep(self, mean: Tensor, variance: Tensor, momentum: Any) -> None:
        with no_grad():
            for running, new in ((self.running_mean, mean), (self.running_var, variance)):
                if running is not None:
                    running.copy_(running * (1 - momentum) + new.to(running.dtype) * momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every BatchNorm in it made a SyncBatchNorm of the same state."""
        found = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine,
                       module.track_running_stats, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
            found = made
        for name, child in module.named_children():
            found.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return found


class _LazyNormBase(SizedByInput, _NormBase):
    """A normalisation that learns ``num_features`` from its first input."""

    _size_name = "num_features"

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _new_buffer(self, name: str, dtype: Any, device: Any = None) -> Tensor:
        if name == "num_batches_tracked":  # a number, whatever the input's size
            return super()._new_buffer(name, dtype, device)
        return UninitializedBuffer(device=device, dtype=dtype)

    def _size_of(self, input: Tensor) -> int:
        return input.size(1)


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d, with ``num_features`` as the first input has them."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d, with ``num_features`` as the first input has them."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d, with ``num_features`` as the first input has them."""

    cls_to_become = BatchNorm3d


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
           "LazyBatchNorm3d", "SyncBatchNorm"]
