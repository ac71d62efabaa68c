"""Instance normalisation: each channel of each sample by itself."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    spatial = 0

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype,
                         bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self.spatial
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.dim() == self.spatial + 2:
            return self._normalized(input)
        return self._normalized(input.unsqueeze(0)).squeeze(0)

    def _normalized(self, input: Tensor) -> Tensor:
        if input.size(1) != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim=1 to match num_features ({self.num_features}), but "
                f"got: {input.size(1)}.")
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            # long ago these were kept in any case
            old = [prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if old:
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(map(repr, old))} for "
                    f"{type(self).__name__} with track_running_stats=False: the checkpoint was "
                    "saved when instance norm always had them; remove them from it")
                for key in old:
                    state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys,
                                      unexpected_keys, error_msgs)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L)."""

    spatial = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W)."""

    spatial = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W)."""

    spatial = 3


class _LazyInstanceNorm(_LazyNormBase):
    spatial = 0

    def _size_of(self, input: Tensor) -> int:
        return input.size(1 if input.dim() == self.spatial + 2 else 0)


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """InstanceNorm1d, with ``num_features`` as the first input has them."""

    cls_to_become = InstanceNorm1d
    spatial = 1


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """InstanceNorm2d, with ``num_features`` as the first input has them."""

    cls_to_become = InstanceNorm2d
    spatial = 2


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """InstanceNorm3d, with ``num_features`` as the first input has them."""

    cls_to_become = InstanceNorm3d
    spatial = 3


__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d",
           "LazyInstanceNorm2d", "LazyInstanceNorm3d"]
