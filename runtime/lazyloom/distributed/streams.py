"""The collectives that the processes of a group have run, and whether they are the same in all.

A group's collectives are numbered in the order in which a process hands them over, whatever
programs they are parts of: one process may read a value, which ends its program, where another does
not. A checksum goes along with the number; it says in every sign of life whether two processes
have run the same so far, and costs nothing else.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, Final, NamedTuple

#: the newest collectives of which a process can tell what and where they were
KEPT: Final = 4096


#: how it is said that a value went from each process to a mesh
COPIED: Final = "a copy to the mesh of a "


class Sites:
    """The user's lines of the ops of a program, in order, as a text of as many lines."""

    __slots__ = ("_sites",)

    def __init__(self, plan: Any) -> None:
        self._sites: Final = [n.site for n in plan.nodes]

    def __str__(self) -> str:
        return "\n".join(map(str, self._sites))


#: the number of an op in the text of a program
_NUMBER: Final = re.compile(r"\s*%(\d+) = ")


def _at(text: str, sites: str, k: int) -> tuple[str, str]:
    """Line ``k`` of the text of a program, and the user's line of its op."""
    lines, where = text.split("\n"), sites.split("\n")
    numbers = [int(m[1]) for line in lines[:k + 1] if (m := _NUMBER.match(line))]
    return lines[k].strip(), where[min(numbers[-1] if numbers else 0, len(where) - 1)]


def _first_difference(ours: str, site: str, theirs: str, their_site: str) -> tuple[str, ...]:
    """What differs first, with the user's lines: of two programs, an op."""
    mine, other = ours.split("\n"), theirs.split("\n")
    k = 0
    if len(mine) > 1 and len(other) > 1:
        while k < min(len(mine), len(other)) - 1 and mine[k] == other[k]:
            k += 1
    return *_at(ours, site, k), *_at(theirs, their_site, k)


class Ran(NamedTuple):
    """A collective that this process ran.

    Attributes:
        checksum: of all of the group up to it.
        described: what must be equal in all processes of the group.
        site: the user's line.
    """

    checksum: int
    described: str
    site: Any


class Stream:
    """The collectives of one group, as this process and the others have run them.

    Attributes:
        group: the ranks, in order.
        count: how many this process has handed over, or is about to.
        checksum: of these.
        reached: by rank, how many others have.
        sent: this process has told the others of those below this number...
        asked: ... and others want to know of those below this one.
    """

    def __init__(self, group: tuple[int, ...]) -> None:
        self.group: Final = group
        self.count: int = 0
        self.checksum: int = 0
        self.sent: int = 0
        self.asked: int = 0
        self.reached: Final[dict[int, int]] = {}
        self._ran: Final[dict[int, Ran]] = {}
        self._theirs: Final[dict[int, dict[int, tuple[str, str]]]] = {r: {} for r in group}

    def add(self, described: str, checksum: int, site: Any) -> None:
        """Count one more that this process hands over."""
        self.checksum = zlib.crc32(checksum.to_bytes(4, "little"), self.checksum)
        self._ran[self.count] = Ran(self.checksum, described, site)
        self._ran.pop(self.count - KEPT, None)
        self.count += 1

    def told(self, start: int) -> list[list[str]]:
        """Those of this process from a number on, as (described, line)."""
        return [[ran.described, str(ran.site)]
                for n in range(start, self.count) if (ran := self._ran.get(n))]

    def oldest(self) -> int:
        """The number of the oldest of which this process can tell."""
        return max(0, self.count - KEPT)

    def hear(self, rank: int, start: int, items: list[list[str]]) -> None:
        """Take note of what another process says that it has run, from a number on."""
        theirs = self._theirs[rank]
        for n, (described, site) in enumerate(items, start):
            theirs[n] = (described, site)
        self.reached[rank] = max(self.reached.get(rank, 0), start + len(items))

    def has_heard(self, rank: int, number: int) -> bool:
        """Return True if a process has told of that number, or has gone further."""
        return self.reached.get(rank, 0) > number

    def difference(self, me: int) -> str | None:
        """Say how what was heard differs from what ran here, at the first such place.

        What was compared is forgotten.
        """
        for rank, theirs in self._theirs.items():
            for n in sorted(theirs):
                if n >= self.count:
                    break
                described, site = theirs.pop(n)
                ours = self._ran.get(n)
                if ours is not None and ours.described != described:
                    mine, line, other, their_line = _first_difference(
                        ours.described, str(ours.site), described, site)
                    why = "every process of a group has to run the same collectives in the same " \
                        "order"
                    if mine.startswith(COPIED) and other.startswith(COPIED):
                        why = ("what each process computes by itself may differ in its last bits; "
                               "lazyloom.distributed.broadcast(x) before it is put onto the mesh "
                               "gives all of them the data of rank 0")
                    return (
                        f"collective {n + 1} of the group of ranks "
                        f"{', '.join(map(str, self.group))} is not the same in all of them: "
                        f"rank {me} runs {mine} at {line}, and rank {rank} runs "
                        f"{other} at {their_line}; {why}")
        return None

    def agrees(self, count: int, checksum: int) -> bool:
        """Return False if the first ``count`` of another process were not those of this one."""
        if count == self.count:
            return checksum == self.checksum
        ran = self._ran.get(count - 1)
        return ran is None or ran.checksum == checksum

    def state(self) -> list[int]:
        """What a sign of life carries along."""
        return [self.count, self.checksum]

    def behind(self) -> list[int]:
        """The other ranks that have handed over fewer than this process."""
        return [r for r in self.group if self.reached.get(r, 0) < self.count]


def key_of(group: tuple[int, ...]) -> str:
    """The name of a group in messages."""
    return ",".join(map(str, group))


def group_of(key: str) -> tuple[int, ...]:
    """The group of that name."""
    return tuple(map(int, key.split(",")))
