"""Which units of one generator become one region: waves, without cycles.

A unit is an op, a group of ops that a pattern matched, or a region that is there already. A wave
takes the units of a generator that can run before anything that others must do with one of its
results; the units that it holds back begin the next. Then a unit that nothing but later waves uses
moves to the earliest of these, so that what prepares an operand is in the region that takes it. A
wave is one step of an order in which everything can run, and so are its connected parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ..program.program import Structure
from ..program.stream import Result


def effects_of(structure: Structure) -> list[int]:
    """Return the instructions with effects, in order; none is in a region."""
    return [n for n, i in enumerate(structure.instructions) if i.spec.effect]


class UnitGraph:
    """Units by the number of their last instruction, and what they need.

    ``units`` has the instructions of each unit at that place, and nothing at all others.
    """

    def __init__(self, structure: Structure, units: Sequence[tuple[int, ...]]) -> None:
        n = len(units)
        #: for each instruction, its unit
        home = [0] * n
        for u, members in enumerate(units):
            for k in members:
                home[k] = u
        self.alive: Final = [u for u, members in enumerate(units) if members]
        self.needs: Final[list[set[int]]] = [set() for _ in range(n)]
        self.feeds: Final[list[set[int]]] = [set() for _ in range(n)]
        for number, i in enumerate(structure.instructions):
            u = home[number]
            for item in i.operands:
                if isinstance(item, Result) and home[item.instruction] != u:
                    self.needs[u].add(home[item.instruction])
                    self.feeds[home[item.instruction]].add(u)
        # effects happen in the order in which they were recorded
        effects = effects_of(structure)
        for before, after in zip(effects, effects[1:], strict=False):
            self.needs[home[after]].add(home[before])
            self.feeds[home[before]].add(home[after])

    def merged(self, mine: Collection[int], within: Sequence[int] | None = None) -> list[list[int]]:
        """Return the units of one generator in groups, each of which can become one unit.

        Args:
            mine: the units.
            within: units that can become one, of which some are left; None for the whole program.
        """
        nodes = self.alive if within is None else within
        waves, order = self._waves(nodes, set(mine))
        return self.connected(self._sunk(waves, order))

    def connected(self, waves: Mapping[int, int]) -> list[list[int]]:
        """Return the connected parts of each wave, given that of each unit; in order of their first
        units."""
        parent = {u: u for u in waves}

        def root(u: int) -> int:
            while parent[u] != u:
                parent[u] = parent[parent[u]]
                u = parent[u]
            return u

        for u, w in waves.items():
            for v in self.needs[u]:
                if waves.get(v) == w:
                    parent[root(u)] = root(v)
        groups: dict[int, list[int]] = {}
        for u in sorted(waves):
            groups.setdefault(root(u), []).append(u)
        return list(groups.values())

    def _waves(
        self, nodes: Sequence[int], mine: set[int]
    ) -> tuple[dict[int, int], list[int]]:
        """Return the wave in which each unit of a generator is taken, and an order of running."""
        inside = set(nodes)
        missing = {u: len(self.needs[u] & inside) for u in nodes}
        #: units of others that use a result of the wave
        border: set[int] = set()
        waves: dict[int, int] = {}
        order: list[int] = []
        number = 0
        others = [u for u in nodes if not missing[u]]
        ours: list[int] = []
        postponed: list[int] = []
        while others or ours or postponed:
            # units of others first, so that as many of ours as possible are ready
            if others:
                u = others.pop()
                if u in mine:
                    ours.append(u)
                    continue
                if u in border:
                    postponed.append(u)
                    continue
            elif ours:
                u = ours.pop()
                waves[u] = number
                border.update(v for v in self.feeds[u] if v not in mine)
            else:
                number += 1
                border.clear()
                others, postponed = postponed, []
                continue
            order.append(u)
            for v in self.feeds[u]:
                if v in inside:
                    missing[v] -= 1
                    if not missing[v]:
                        others.append(v)
        return waves, order

    def _sunk(self, waves: dict[int, int], order: Sequence[int]) -> dict[int, int]:
        """Return waves in which units that only later ones use are in the first of these.

        ``order`` has all units in an order of running. What others do with a result of the unit may
        run after that wave if nothing of that wave or an earlier one needs it.
        """
        sunk = dict(waves)
        #: for each unit, the first wave that needs what it does
        needed: dict[int, int] = {}
        last = len(order)
        for u in reversed(order):
            first, others = last, last
            for v in self.feeds[u]:
                if v in sunk:
                    first = min(first, sunk[v])
                else:
                    # what is not of these units runs after them
                    others = min(others, needed.get(v, last))
            if u not in sunk:
                needed[u] = min(first, others)
            elif first < others and first > sunk[u] and first < last:
                sunk[u] = first
        return sunk

    def cyclic(self) -> set[int]:
        """Return the units on cycles, or between two of them; none if everything can run."""
        left = set(self.alive)
        for forward, backward in ((self.needs, self.feeds), (self.feeds, self.needs)):
            missing = {u: len(forward[u] & left) for u in left}
            ready = [u for u, count in missing.items() if not count]
            while ready:
                u = ready.pop()
                left.discard(u)
                for v in backward[u]:
                    if v in left:
                        missing[v] -= 1
                        if not missing[v]:
                            ready.append(v)
        return left

    def halves(self, group: Iterable[int]) -> list[list[int]]:
        """Return a group of units in two, each in its connected parts: what runs first, the rest.

        Each can become one unit, if the group can.
        """
        order = self.in_order(group)
        middle = (len(order) + 1) // 2
        return self.connected({u: int(at >= middle) for at, u in enumerate(order)})

    def in_order(self, group: Iterable[int]) -> list[int]:
        """Return the units of a group in an order in which they can run, as near as possible to the
        recorded one."""
        inside = set(group)
        missing = {u: len(self.needs[u] & inside) for u in inside}
        ready = [u for u, count in missing.items() if not count]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            u = heapq.heappop(ready)
            order.append(u)
            for v in self.feeds[u]:
                if v in inside:
                    missing[v] -= 1
                    if not missing[v]:
                        heapq.heappush(ready, v)
        return order
