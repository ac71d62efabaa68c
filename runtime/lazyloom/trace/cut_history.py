"""The history of a trace's cuts, for the trace that continues from there."""

from __future__ import annotations

from typing import Any, final

from ..settings import tuning


@final
class CutHistory:
    """What is known about a trace that was cut, for its continuation.

    Attributes:
        history: ids of the specs recorded so far, the newest last, up to twice ``longest_period``.
        misses: number of blocks so far that repeated nothing.
        blocks: sizes of the blocks to come, in turn; empty while no period is known.
        margin: how many ops beyond a block must be there before it is cut.
        turn: index of the next block.
        seen: the tokens of each block when it was last cut.
    """

    __slots__ = ("history", "misses", "blocks", "margin", "turn", "seen")

    def __init__(
        self, history: list[int], misses: int, blocks: tuple[int, ...] = (), margin: int = 0,
        turn: int = 0, seen: dict[int, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        self.history = history
        self.misses = misses
        self.blocks = blocks
        self.margin = margin
        self.turn = turn
        self.seen = seen if seen is not None else {}

    @property
    def block(self) -> int:
        """The number of ops of the block to cut next, or 0 if no period is known."""
        return self.blocks[self.turn] if self.blocks else 0

    @property
    def check_at(self) -> int:
        """The number of ops at which a component that continues from here is examined next."""
        return self.block + self.margin if self.blocks else tuning.cut_ops
