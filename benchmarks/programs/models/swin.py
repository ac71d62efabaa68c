"""A shifted-window transformer (Liu and others, "Swin Transformer", 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..weights import initialise

#: the tiny one of the paper
DEPTHS, HEADS, WIDTH, WINDOW = (2, 2, 6, 2), (3, 6, 12, 24), 96, 7


def relative_places(window: int) -> Any:
    """For each pair of a window's tokens the row of the table of position biases, [n, n]."""
    at = numpy.stack(numpy.meshgrid(numpy.arange(window), numpy.arange(window), indexing="ij"))
    at = at.reshape(2, -1)
    apart = at[:, :, None] - at[:, None, :] + window - 1
    return apart[0] * (2 * window - 1) + apart[1]


def shifted_mask(side: int, window: int, shift: int) -> Any:
    """What a shifted window's tokens may not see of each other, [windows, n, n]: 0 or -100."""
    region = numpy.zeros((side, side), int)
    ends = (0, side - window, side - shift, side)
    bounds = [slice(a, b) for a, b in zip(ends, ends[1:])]
    for i, rows in enumerate(bounds):
        for j, columns in enumerate(bounds):
            region[rows, columns] = 3 * i + j
    count = side // window
    parts = region.reshape(count, window, count, window).transpose(0, 2, 1, 3)
    parts = parts.reshape(count * count, window * window)
    return numpy.where(parts[:, :, None] == parts[:, None, :], 0.0, -100.0).astype(numpy.float32)


def model_of(
    torch: Any, size: int = 224, depths: Sequence[int] = DEPTHS, heads: Sequence[int] = HEADS,
    width: int = WIDTH, window: int = WINDOW, classes: int = 1000,
) -> Any:  # fmt: skip
    """Images [n, 3, size, size] to logits [n, classes]."""
    nn = torch.nn

    class WindowAttention(nn.Module):
        def __init__(self, channels: int, count: int) -> None:
            super().__init__()
            self.count = count
            self.qkv = nn.Linear(channels, 3 * channels)
            self.joined = nn.Linear(channels, channels)
            self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, count))
            places = torch.from_numpy(relative_places(window).ravel())
            self.register_buffer("places", places)

        def forward(self, x: Any, mask: Any) -> Any:
            """Windows [n, tokens, channels]; the mask is [windows, tokens, tokens] or None."""
            n, tokens, channels = x.shape
            parts = self.qkv(x).reshape(n, tokens, 3, self.count, channels // self.count)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            scores = (q * (channels // self.count) ** -0.5) @ k.transpose(-2, -1)
            bias = self.table[self.places].view(tokens, tokens, self.count).permute(2, 0, 1)
            scores = scores + bias.unsqueeze(0)
            if mask is not None:
                windows = mask.shape[0]
                scores = scores.view(n // windows, windows, self.count, tokens, tokens)
                scores = (scores + mask[None, :, None]).view(n, self.count, tokens, tokens)
            mixed = torch.softmax(scores, dim=-1) @ v
            return self.joined(mixed.transpose(1, 2).reshape(n, tokens, channels))

    class Block(nn.Module):
        def __init__(self, channels: int, count: int, side: int, shift: int) -> None:
            super().__init__()
            self.side, self.shift = side, shift
            self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
            self.attention = WindowAttention(channels, count)
            self.dense = nn.Sequential(
                nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
            mask = torch.from_numpy(shifted_mask(side, window, shift)) if shift else None
            self.register_buffer("mask", mask)

        def forward(self, x: Any) -> Any:
            """[n, side, side, channels]"""
            n, side, _, channels = x.shape
            count = side // window
            y = self.norm1(x)
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), dims=(1, 2))
            y = y.view(n, count, window, count, window, channels).permute(0, 1, 3, 2, 4, 5)
            y = self.attention(y.reshape(-1, window * window, channels), self.mask)
            y = y.view(n, count, count, window, window, channels).permute(0, 1, 3, 2, 4, 5)
            y = y.reshape(n, side, side, channels)
            if self.shift:
                y = torch.roll(y, (self.shift, self.shift), dims=(1, 2))
            x = x + y
            return x + self.dense(self.norm2(x))

    class Merging(nn.Module):
        """Four neighbours become one token of twice the channels."""

        def __init__(self, channels: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(4 * channels)
            self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)

        def forward(self, x: Any) -> Any:
            parts = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
            return self.reduction(self.norm(torch.cat(parts, dim=-1)))

    class Swin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, stride=4)
            self.norm = nn.LayerNorm(width)
            side, channels, parts = size // 4, width, []
            for stage, (depth, count) in enumerate(zip(depths, heads)):
                if stage:
                    parts.append(Merging(channels))
                    side, channels = side // 2, 2 * channels
                for k in range(depth):
                    shift = window // 2 if k % 2 and side > window else 0
                    parts.append(Block(channels, count, side, shift))
            self.blocks = nn.Sequential(*parts)
            self.last = nn.LayerNorm(channels)
            self.output = nn.Linear(channels, classes)

        def forward(self, images: Any) -> Any:
            x = self.norm(self.patches(images).permute(0, 2, 3, 1))
            x = self.last(self.blocks(x))
            return self.output(x.mean(dim=(1, 2)))

    return initialise(torch, Swin(), 10)
