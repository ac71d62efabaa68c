"""What this process has used of the disk cache: entries that it found there or put there.

A file of the cache that is made to be carried (:mod:`.carried`) has these. Those of the process
that compiles for this one are told with its answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple


class Used(NamedTuple):
    """An entry.

    Attributes:
        kind: the folder that it lies in.
        name: of its file there, in hexadecimal.
        fingerprint: of the environment in which it is valid, in hexadecimal.
    """

    kind: str
    name: str
    fingerprint: str


#: in the order of their first use; a dict, to which another thread may add meanwhile
_used: Final[dict[Used, None]] = {}


def note(one: Used) -> None:
    """Remember that an entry was used."""
    _used[one] = None


def entries(start: int = 0) -> list[Used]:
    """Those that were used, in order, from one on."""
    return list(islice(list(_used), start, None))


def join(told: Iterable[Iterable[str]]) -> None:
    """Remember what another process has used for this one."""
    for kind, name, fingerprint in told:
        note(Used(kind, name, fingerprint))


def forget() -> None:
    """Begin anew, as another process would."""
    _used.clear()
