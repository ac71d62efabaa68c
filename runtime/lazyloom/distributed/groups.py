"""Groups of processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..errors import ArgumentError
from . import processes


class Group:
    """Some of the processes, which run collectives among themselves."""

    __slots__ = ("_ranks",)

    def __init__(self, ranks: tuple[int, ...] | None) -> None:
        self._ranks: Final = ranks

    @property
    def ranks(self) -> tuple[int, ...]:
        """Their ranks, in the order in which results are put together."""
        return tuple(range(processes.world_size())) if self._ranks is None else self._ranks

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.ranks)

    @property
    def rank(self) -> int:
        """The position of this process among them; -1 if it is none of them."""
        me = processes.rank()
        return self.ranks.index(me) if me in self.ranks else -1

    def __repr__(self) -> str:
        return f"Group(ranks={self.ranks})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and other.ranks == self.ranks

    def __hash__(self) -> int:
        return hash(self.ranks)


#: all processes, as many as there are when it is used
WORLD: Final = Group(None)


def new_group(ranks: Iterable[int]) -> Group:
    """A group of these ranks, in this order; nothing is sent.

    Every process of it makes it alike. Raises ArgumentError for ranks that there are not.
    """
    listed = tuple([r.__index__() for r in ranks])
    world = processes.world_size()
    if not listed or len(set(listed)) != len(listed) or min(listed) < 0 or max(listed) >= world:
        raise ArgumentError(
            f"new_group: the ranks are {listed}, expected distinct ranks from 0 to {world - 1}")
    return Group(listed)
