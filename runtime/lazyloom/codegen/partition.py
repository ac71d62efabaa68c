"""Partitioning: from the ops that generators claim to regions without cycles.

Generators are asked one after the other, in order of preference. Of each:

1. It claims the groups that its patterns match and the ops that it does by themselves, among those
   that nobody has taken (:mod:`.claims`).
2. Adjacent units of it are merged such that the program of regions and remaining ops has no cycle
   (:mod:`.merging`). Regions that were taken before are single units there.
3. It is asked about each region. What it wants only a part of, what is too large, and what it could
   not build is divided further; what it refuses is offered to the next generator.

4. The functions of loops and branches that no generator does as an op are divided in turn
   (:mod:`.bodies`).

Ops with effects, ops that can fail while they run, checks, and ops with an empty operand or result
are never offered. Time is linear in the program's size for each generator.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ..program.program import Instruction, Structure
from ..program.regions import ProgramRegion
from ..program.stream import Result
from .answers import No, Only
from .bodies import BodyProgram, loops_of
from .claims import Claim, Claims, Outputs, Part, UnbuiltNo, region_of
from .extents import Extents
from .generator import Generator
from .merging import UnitGraph, effects_of
from .verdicts import MARGIN, NONE, Verdicts, in_time
from .worth import estimates


class Partition:
    """A program in regions.

    Attributes:
        parts: the regions, in an order in which they can run.
        steps: all steps in an order in which they can run: the number of a region, or
            ``-1 - n`` for instruction ``n``, which is XLA's.
        owner: for each instruction, the number of its region, -1 for XLA's.
        reasons: for each instruction, why each generator that was asked does not do it.
        failed: what a generator might have done if it had not failed: refused regions, and ops that
            it raised an error about when it was asked.
        mapped: the mapped ops that a generator does for one element of their axis, but not mapped.
        deliberate: the instructions that XLA keeps on purpose: a generator that could do them says
            that XLA is better at it, or none is ever asked.
        loops: the loops and branches that XLA runs, with the divisions of their functions.
        unoffered: for each loop whose functions are offered to no generator, why.
    """

    __slots__ = ("parts", "steps", "owner", "reasons", "failed", "deliberate", "mapped", "loops",
                 "unoffered")

    def __init__(
        self, parts: list[Part], steps: list[int], owner: list[int], reasons: list[dict[str, str]],
        failed: Sequence[ProgramRegion] = (), deliberate: Iterable[int] = (),
        mapped: Iterable[int] = (), loops: Sequence[DividedLoop] = (),
        unoffered: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        self.parts: Final = parts
        self.steps: Final = steps
        self.owner: Final = owner
        self.reasons: Final = reasons
        self.failed: Final = tuple(failed)
        self.deliberate: Final = frozenset(deliberate)
        self.mapped: Final = frozenset(mapped)
        self.loops: Final = tuple(loops)
        self.unoffered: Final = dict(unoffered or {})

    def every_part(self) -> Iterator[Part]:
        """Yield the regions, and then those in the functions of loops."""
        yield from self.parts
        for loop in self.loops:
            for body in loop.bodies:
                yield from body.partition.every_part()

    def counts(self) -> tuple[int, int]:
        """Return how many ops are in regions, and of how many.

        A loop whose functions are offered counts as their ops.
        """
        done, total = sum(p >= 0 for p in self.owner), len(self.owner)
        for loop in self.loops:
            total -= len(loop.instructions)
            for body in loop.bodies:
                inside, of = body.partition.counts()
                done, total = done + inside, total + of
        return done, total

    def left_behind(self, instructions: Sequence[Instruction]) -> list[int]:
        """Return the heavy ops that XLA keeps, not on purpose, while there are regions.

        Mapped ops that a generator does for one element are told of without regions, too.
        """
        divided = {n for loop in self.loops for n in loop.instructions
                   if any(any(body.partition.every_part()) for body in loop.bodies)}
        regions = bool(self.parts or divided)
        return [n for n, p in enumerate(self.owner)
                if p < 0 and instructions[n].spec.heavy and self.reasons[n] and n not in divided
                and n not in self.deliberate and (regions or n in self.mapped)]

    def left_in_bodies(self) -> list[str]:
        """Return the heavy ops that XLA keeps in functions of loops: ``matmul in %3.body``."""
        left: list[str] = []
        for loop in self.loops:
            for body in loop.bodies:
                instructions = body.program.structure.instructions
                left += [f"{instructions[n].spec.op.name} in {body.program.path}"
                         for n in body.partition.left_behind(instructions)]
                left += [f"{name} in {body.program.path}"
                         for name in body.partition.left_in_bodies()]
        return left


class DividedBody(NamedTuple):
    """A function of a loop, or its derivative, in regions."""

    program: BodyProgram
    partition: Partition


class DividedLoop(NamedTuple):
    """A loop or branch that XLA runs, whose functions are divided.

    Attributes:
        instructions: the loop; or the half of it that gives residuals, and those that take them.
        bodies: its functions, and those of its derivative.
    """

    instructions: tuple[int, ...]
    bodies: tuple[DividedBody, ...]


def partition(
    structure: Structure, outputs: Outputs, generators: Sequence[Generator],
    refused: Iterable[tuple[str, str]] = (), verdicts: Verdicts = NONE,
    candidates: list[Part] | None = None, *, unbuilt: Iterable[tuple[str, str]] = (),
    by_gain: bool = False, extents: Extents | None = None,
) -> Partition:  # fmt: skip
    """Divide a program among generators; of two that do the same, the first one gets it.

    Args:
        refused: regions not to be made, as (generator's name, key of the region's program).
        verdicts: decide about regions that were measured.
        candidates: if given, all regions that are too small or too slow by estimate are made, and
            added to this list.
        unbuilt: regions that could not be built: halves of them are tried.
        by_gain: if two generators do the same group or region, the one that was measured to take
            less time gets it, or else the one that is estimated to; then the first one.
        extents: what varies, in a program for many extents; generators that do not take symbols
            are asked about what does not vary.

    If predicates or patterns raise an error, that is the reason why their op is left to XLA; it is
    reported once (:mod:`.faults`).
    """
    refused, unbuilt = list(refused), list(unbuilt)
    claims = Claims(structure, outputs, verdicts, candidates, refused, unbuilt, extents)
    ordered = list(dict.fromkeys(generators))
    parts: list[Part] = []
    for at, generator in enumerate(ordered):
        claim = Claim(claims, generator)
        rivals = _Rivals(claims, ordered[at + 1 :] if by_gain else ())
        graph = _graph(claim, rivals)
        made = _regions(claim, graph, rivals)
        claims.said(claim)
        for part in made:
            claims.take(part)
        parts += made

    def inside(body: BodyProgram) -> DividedBody:
        return DividedBody(body, partition(
            body.structure, body.outputs, ordered, refused, verdicts, candidates, unbuilt=unbuilt,
            by_gain=by_gain))

    return _ordered(structure, parts, claims, inside if ordered and extents is None else None)


def _graph(claim: Claim, rivals: _Rivals) -> UnitGraph:
    """Let a claim have its ops and groups, such that the graph of its units has no cycle."""
    lost: list[int] = []
    for u in list(claim.names):
        part = claim.part([u])
        answer = rivals.better(part)
        if answer is not None:
            lost += part.members
            claim.dissolve([u], answer)
    structure = claim.claims.structure
    graph = UnitGraph(structure, claim.units)
    # groups of which only the last op's result is used are never on a cycle
    if claim.open and (crossing := claim.open & graph.cyclic()):
        claim.dissolve(crossing, No("another group has to run between its ops"))
        graph = UnitGraph(structure, claim.units)
    claim.single(lost)
    return graph


def _regions(claim: Claim, graph: UnitGraph, rivals: _Rivals) -> list[Part]:
    """Return the regions of one generator that are made; what it does not do, it is told why."""
    mine = claim.mine
    groups: deque[list[int]] = deque()

    def add(found: Iterable[list[int]]) -> None:
        for group in found:
            groups.extend(claim.pieces(group, graph))

    add(graph.merged(mine) if claim.generator.merges else [[u] for u in mine])
    made: list[Part] = []
    while groups:
        group = groups.popleft()
        part = claim.part(group)
        answer = claim.claims.worth(claim, part)
        if answer and (better := rivals.better(part)) is not None:
            answer = better
        if isinstance(answer, UnbuiltNo) and len(group) > 1:
            add(graph.halves(group))
        elif isinstance(answer, Only) and (left := [
            u for u in group if not answer.wants(part.members, claim.units[u])
        ]):
            claim.refuse(claim.part(left), answer.rest)
            unwanted = set(left)
            add(graph.merged([u for u in group if u not in unwanted], group))
        elif isinstance(answer, No):
            claim.refuse(part, answer)
        else:
            made.append(part._replace(
                verdict=claim.claims.verdicts.of(claim.generator, part.region)))
    return made


class _Rivals:
    """The generators that are asked later, and may take less time."""

    def __init__(self, claims: Claims, generators: Sequence[Generator]) -> None:
        self.claims: Final = claims
        self.generators: Final = generators
        self.found: list[Claim] | None = None

    def better(self, part: Part) -> No | None:
        """Return why another generator gets the ops of a region or group; None if none does."""
        if not self.generators or self.claims.candidates is not None:
            return None
        if self.found is None:
            self.found = []
            for generator in self.generators:
                claim = Claim(self.claims, generator)
                claim.single()
                self.found.append(claim)
        for claim in self.found:
            units = claim.covering(part.members)
            if units is None:
                continue
            other = claim.part(units)
            times = self._times(part, other)
            if times is not None and self.claims.worth(claim, other):
                how, mine, theirs = times
                return No(f"{how} {in_time(mine)}, {claim.generator.name} {in_time(theirs)}",
                          deliberate=True)
        return None

    def _times(self, part: Part, other: Part) -> tuple[str, float, float] | None:
        """Return how it is known that another region takes less time, and both times."""
        of = self.claims.verdicts.of
        first, second = of(part.generator, part.region), of(other.generator, other.region)
        if first is not None and second is not None:
            quicker = second.seconds * MARGIN < first.seconds
            return ("measured", first.seconds, second.seconds) if quicker else None
        mine, _ = estimates(part.generator, part.region)
        theirs, _ = estimates(other.generator, other.region)
        if mine is None or theirs is None or theirs >= mine:
            return None
        return "estimated", mine, theirs


def without_regions(partition: Partition) -> Partition:
    """Return a partition of the same program in which all is XLA's, since the regions failed."""
    n = len(partition.owner)
    return Partition(
        [], [-1 - k for k in range(n)], [-1] * n, partition.reasons,
        (*(region_of(p.generator.name, p.region) for p in partition.every_part()),
         *partition.failed))


def _loops(
    structure: Structure, outputs: Outputs, owner: Sequence[int],
    inside: Callable[[BodyProgram], DividedBody] | None,
) -> tuple[list[DividedLoop], dict[int, str]]:
    """Return the loops that XLA runs with their functions divided, and of others why not."""
    if inside is None or not any(i.spec.op.root.signature.bodies for i in structure.instructions):
        return [], {}
    loops, why = loops_of(structure, outputs)
    mine = [loop for loop in loops if all(owner[n] < 0 for n in loop.instructions)]
    return ([DividedLoop(loop.instructions, tuple(map(inside, loop.bodies))) for loop in mine],
            {n: reason for n, reason in why.items() if owner[n] < 0})


def _ordered(
    structure: Structure, parts: list[Part], claims: Claims,
    inside: Callable[[BodyProgram], DividedBody] | None,
) -> Partition:  # fmt: skip
    """Return the partition in an order in which it can run, close to the recorded order."""
    n = len(structure.instructions)
    owner = [-1] * n
    for p, part in enumerate(parts):
        for k in part.members:
            owner[k] = p
    # a node is one of XLA's instructions, or a region, represented by its last instruction
    node = [parts[p].members[-1] if p >= 0 else k for k, p in enumerate(owner)]
    needs: dict[int, set[int]] = {k: set() for k in node}
    feeds: dict[int, set[int]] = {k: set() for k in node}
    for k, i in enumerate(structure.instructions):
        for item in i.operands:
            if isinstance(item, Result) and node[item.instruction] != node[k]:
                needs[node[k]].add(node[item.instruction])
                feeds[node[item.instruction]].add(node[k])
    effects = effects_of(structure)
    for before, after in zip(effects, effects[1:], strict=False):
        needs[after].add(before)
        feeds[before].add(after)
    missing = {k: len(before) for k, before in needs.items()}
    ready = [k for k, count in missing.items() if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        k = heapq.heappop(ready)
        order.append(k)
        for v in feeds[k]:
            missing[v] -= 1
            if not missing[v]:
                heapq.heappush(ready, v)
    assert len(order) == len(needs), "regions depend on each other in a circle"
    place = {k: at for at, k in enumerate(order)}
    numbered = sorted(range(len(parts)), key=lambda p: place[parts[p].members[-1]])
    renumbered = {old: new for new, old in enumerate(numbered)}
    owner = [renumbered[p] if p >= 0 else -1 for p in owner]
    steps = [owner[k] if owner[k] >= 0 else -1 - k for k in order]
    loops, unoffered = _loops(structure, list(claims.outputs), owner, inside)
    failed = [*claims.failed, *(f for loop in loops for b in loop.bodies
                                for f in b.partition.failed)]
    return Partition([parts[p] for p in numbered], steps, owner, claims.reasons, failed,
                     {n for n, _ in claims.deliberate}, claims.mapped, loops, unoffered)
