"""Convolutions."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ..parameter import Parameter
from ._making import Shaped, fill_by_inputs
from .lazy import SizedByInput
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple


def _check_groups(groups: int, **channels: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, count in channels.items():
        if count % groups:
            raise ValueError(f"{name} must be divisible by groups")


class _ConvNd(Shaped):
    spatial = 0
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def _make(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, output_padding: Any, groups: int, bias: bool, padding_mode: str,
        device: Any, dtype: Any,
    ) -> None:
        Module.__init__(self)
        _check_groups(groups, in_channels=in_channels, out_channels=out_channels)
        many = _ntuple(self.spatial, "sizes")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = many(kernel_size), many(stride)
        self.padding = padding if isinstance(padding, str) else many(padding)
        self.dilation, self.output_padding = many(dilation), many(output_padding)
        self.groups, self.padding_mode = groups, padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(
                f"padding_mode must be one of {list(modes)}, but got padding_mode={padding_mode!r}")
        if any(k <= 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be positive, but got {self.kernel_size}")
        self._reversed_padding_repeated_twice = self._ends()
        self._make_parameters(device, dtype, weight=True, bias=bias)
        self.reset_parameters()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return {"weight": (first, second // self.groups, *self.kernel_size),
                "bias": (self.out_channels,)}

    def _ends(self) -> list[int]:
        """What to pad with at each end, from the last dimension backwards, as ``F.pad`` has it."""
        if not isinstance(self.padding, str):
            return list(_reverse_repeat_tuple(self.padding, 2))
        found = [0, 0] * self.spatial
        if self.padding == "same":
            for i, (d, k) in enumerate(zip(self.dilation, self.kernel_size, strict=True)):
                total = d * (k - 1)
                at = 2 * (self.spatial - 1 - i)
                found[at], found[at + 1] = total // 2, total - total // 2
        return found

    def reset_parameters(self) -> None:
        """New random values, uniform with bound ``1 / sqrt(inputs of a unit)``."""
        fill_by_inputs(self.weight, self.bias)

    def extra_repr(self) -> str:
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}")
        n = self.spatial
        if self.padding != (0,) * (len(self.padding) if isinstance(self.padding, str) else n):
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


class _Conv(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups,
                   bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        function = _CONV[self.spatial]
        if self.padding_mode == "zeros":
            return function(input, weight, bias, self.stride, self.padding, self.dilation,
                            self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
        return function(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        if "weight" in own and "bias" in own:  # the usual case, without __getattr__
            return self._conv_forward(input, own["weight"], own["bias"])  # type: ignore[arg-type]
        return self._conv_forward(input, self.weight, self.bias)


_CONV: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


class Conv1d(_Conv):
    """Convolution of (N, C, L) or (C, L)."""

    spatial = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W) or (C, H, W)."""

    spatial = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W)."""

    spatial = 3


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation,
                   output_padding, groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What to add at the end so that the result has a given size. ValueError if it cannot."""
        if output_size is None:
            return self.output_padding
        n = self.spatial
        wanted = [int(s) for s in output_size]
        lead = input.dim() - n
        if len(wanted) == n + lead:
            wanted = wanted[lead:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{n + lead} elements (got {len(output_size)})")
        least = [(input.size(i + lead) - 1) * self.stride[i] - 2 * self.padding[i]
                 + self.dilation[i] * (self.kernel_size[i] - 1) + 1 for i in range(n)]
        for size, low, stride in zip(wanted, least, self.stride, strict=True):
            if not low <= size <= low + stride - 1:
                most = [m + s - 1 for m, s in zip(least, self.stride, strict=True)]
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from {least} "
                    f"to {most} (for an input of {list(input.size()[2:])})")
        return tuple(size - low for size, low in zip(wanted, least, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        return _TRANSPOSED[self.spatial](
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation)


_TRANSPOSED: dict[int, Any] = {
    1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L) or (C, L)."""

    spatial = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W) or (C, H, W)."""

    spatial = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W)."""

    spatial = 3


class _LazyConvXdMixin(SizedByInput, _ConvNd):
    """A convolution that learns ``in_channels`` from its first input."""

    _size_name = "in_channels"

    def _size_of(self, input: Tensor) -> int:
        n = self.spatial
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {tuple(input.shape)}")
        channels = int(input.shape[-n - 1])
        _check_groups(self.groups, in_channels=channels)
        return channels


class _LazyConv(_LazyConvXdMixin, _Conv):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(0, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                         padding_mode, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d, with ``in_channels`` as the first input has them."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d, with ``in_channels`` as the first input has them."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d, with ``in_channels`` as the first input has them."""

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvXdMixin, _ConvTransposeNd):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(0, out_channels, kernel_size, stride, padding, output_padding, groups,
                         bias, dilation, padding_mode, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """ConvTranspose1d, with ``in_channels`` as the first input has them."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """ConvTranspose2d, with ``in_channels`` as the first input has them."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """ConvTranspose3d, with ``in_channels`` as the first input has them."""

    cls_to_become = ConvTranspose3d


__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]
