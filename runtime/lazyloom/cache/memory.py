"""Compiled programs in memory, by exact structure, and what was learned of each.

For one structure the set of outputs only grows and the set of donated inputs only shrinks,
so that temporaries which happen to be alive cost at most one compile a position.
"""

from __future__ import annotations

import threading
from typing import Any

from ..program import Structure

#: programs kept in memory; the least recently used go first
CAPACITY = 4096


class Entry:
    """One structure's program.

    Attributes:
        outputs: (instruction, result) pairs that the executable returns, in order.
        position: output number by pair.
        aliases: donated leaf -> number of the output that takes its memory.
        executable: the loaded executable, or None before the first compile.
        lock: held while the program is looked up on disk or compiled.
    """

    __slots__ = ("structure", "donate", "outputs", "position", "aliases", "executable", "lock",
                 "site", "looked")

    def __init__(self, structure: Structure, donate: bool) -> None:
        self.structure = structure
        self.donate = donate
        self.outputs: tuple[tuple[int, int], ...] = ()
        self.position: dict[tuple[int, int], int] = {}
        self.aliases: dict[int, int] = {}
        self.executable: Any = None
        self.lock = threading.Lock()
        self.site = ""
        self.looked = False

    def set(
        self, outputs: tuple[tuple[int, int], ...], aliases: dict[int, int], executable: Any
    ) -> None:
        self.position = {pair: i for i, pair in enumerate(outputs)}
        self.aliases = aliases
        self.outputs = outputs
        self.executable = executable


_entries: dict[tuple[Structure, bool], Entry] = {}
_lock = threading.Lock()


def entry_of(structure: Structure, donate: bool) -> Entry:
    """The entry of a structure, made if missing."""
    key = (structure, donate)
    with _lock:
        found = _entries.pop(key, None)
        if found is None:
            found = Entry(structure, donate)
            if len(_entries) >= CAPACITY:
                del _entries[next(iter(_entries))]
        # insertion order is the order of use
        _entries[key] = found
        return found


def entries() -> list[Entry]:
    """All entries that were compiled or loaded, least recently used first."""
    with _lock:
        return [e for e in _entries.values() if e.executable is not None]


def clear() -> None:
    """Forget every program in memory."""
    with _lock:
        _entries.clear()
