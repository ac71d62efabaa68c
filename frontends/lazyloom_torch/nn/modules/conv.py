"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ..._functions import windows
from ..._tensor import Tensor
from .. import init
from .basic import make_parameter
from .module import Module


class _ConvBase(Module):
    spatial = 0
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        n = self.spatial
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"in_channels ({in_channels}) and out_channels ({out_channels}) must be divisible "
                f"by groups ({groups})")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of 'zeros', 'reflect', 'replicate', 'circular', but got "
                f"padding_mode={padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = windows.ntuple(kernel_size, n, "kernel_size")
        self.stride = windows.ntuple(stride, n, "stride")
        self.padding = padding if isinstance(padding, str) else windows.ntuple(padding, n)
        self.dilation = windows.ntuple(dilation, n, "dilation")
        self.output_padding = windows.ntuple(output_padding, n, "output_padding")
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (
            out_channels, in_channels)
        self.weight = make_parameter((first, second // groups, *self.kernel_size), dtype)
        self.register_parameter("bias", make_parameter((out_channels,), dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform with bound ``1 / sqrt(inputs of a unit)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan, _ = init.fans(self.weight)
            if fan:
                init.uniform_(self.bias, -1 / math.sqrt(fan), 1 / math.sqrt(fan))

    def extra_repr(self) -> str:
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}")
        n = self.spatial
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvBase):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        function = windows.FUNCTIONS[f"conv{self.spatial}d"]
        padding = self.padding
        if self.padding_mode != "zeros":
            if isinstance(padding, str):
                total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
                if padding == "valid":
                    total = [0] * self.spatial
                ends = [(t // 2, t - t // 2) for t in total]
            else:
                ends = [(p, p) for p in padding]
            input = windows.pad(input, [x for e in reversed(ends) for x in e], self.padding_mode)
            padding = 0
        made: Tensor = function(input, self.weight, self.bias, self.stride, padding, self.dilation,
                                self.groups)
        return made


class _ConvTranspose(_ConvBase):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype, output_padding)

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = windows.FUNCTIONS[f"conv_transpose{self.spatial}d"](
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            self.groups, self.dilation)
        return made


class Conv1d(_Conv):
    """Convolution of (N, C, L)."""

    spatial = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W)."""

    spatial = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W)."""

    spatial = 3


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of (N, C, L)."""

    spatial = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of (N, C, H, W)."""

    spatial = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of (N, C, D, H, W)."""

    spatial = 3
