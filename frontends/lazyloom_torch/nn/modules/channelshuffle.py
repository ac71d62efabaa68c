"""Channels in another order."""

from __future__ import annotations

from ._declared import Declared


class ChannelShuffle(Declared, function="channel_shuffle"):
    """Channels of (N, C, ...) dealt out among groups."""

    groups: int
    shown = ("groups",)


__all__ = ["ChannelShuffle"]
