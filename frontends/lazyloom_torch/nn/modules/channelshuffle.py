"""Channels in another order."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared


class ChannelShuffle(Declared):
    """Channels of (N, C, ...) dealt out among groups."""

    groups: int
    shown = ("groups",)

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)


__all__ = ["ChannelShuffle"]
