"""Partitioning: from the ops that generators claim to regions without cycles.

1. Each generator, the one of highest priority first, takes the groups that its patterns match and
   the ops that it does by themselves, among those that are not yet taken.
2. Adjacent ops of one generator are merged such that the program of regions and remaining ops has
   no cycle: ops are taken in waves. A wave takes what can run before anything that another
   generator or XLA must do with one of its results; the ops that it holds back begin the next wave.
   A wave is one step of an order in which everything can run, and so are its connected parts. The
   next generator works on the program in which those regions are single ops.
3. Regions that a generator finds too small go back to XLA.

Ops with effects, ops that can fail while they run, checks, and ops with an empty operand or result
are never offered. Time is linear in the program's size for each generator.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..interrupts import reraise_from_handler
from ..program.program import Instruction, Program, Structure
from ..program.regions import ProgramRegion
from ..program.stream import Leaf, Operand, Result, ScalarSlot, encode_operand
from ..trace.scalars import Baked
from ..types import TensorType, tensor_type
from .answers import YES, Answer, Call, No, Yes
from .faults import Failure, failed, told, why
from .generator import Generator, Region
from .patterns import Finder, Pattern
from .verdicts import NONE, Verdict, Verdicts
from .worth import at_any_size

Outputs = Sequence[tuple[int, int]]
#: the most operands and results of a region together
MOST_ARRAYS: Final = 1024


class Part(NamedTuple):
    """A region of a program.

    Attributes:
        generator: the code generator that runs it.
        members: its instructions, in order.
        operands: its operands, in order: results of others, leaves and run-time scalars.
        outputs: its results that others use or that the program returns, (instruction, result).
        region: it as a program of its own.
        verdict: its measured verdict, if there is one.
    """

    generator: Generator
    members: tuple[int, ...]
    operands: tuple[Operand, ...]
    outputs: tuple[tuple[int, int], ...]
    region: Region
    verdict: Verdict | None = None


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
        deliberate: the instructions that XLA keeps on purpose: a generator that could do them says
            that XLA is better at it, or none is ever asked.
    """

    __slots__ = ("parts", "steps", "owner", "reasons", "failed", "deliberate")

    def __init__(
        self, parts: list[Part], steps: list[int], owner: list[int], reasons: list[dict[str, str]],
        failed: Sequence[ProgramRegion] = (), deliberate: Iterable[int] = (),
    ) -> None:  # fmt: skip
        self.parts: Final = parts
        self.steps: Final = steps
        self.owner: Final = owner
        self.reasons: Final = reasons
        self.failed: Final = tuple(failed)
        self.deliberate: Final = frozenset(deliberate)

    def left_behind(self, instructions: Sequence[Instruction]) -> list[int]:
        """Return the heavy ops that XLA keeps, not on purpose, while there are regions."""
        if not self.parts:
            return []
        return [n for n, p in enumerate(self.owner)
                if p < 0 and instructions[n].spec.heavy and self.reasons[n]
                and n not in self.deliberate]


def partition(
    structure: Structure, outputs: Outputs, generators: Sequence[Generator],
    refused: Iterable[tuple[str, str]] = (), verdicts: Verdicts = NONE,
    candidates: list[Part] | None = None,
) -> Partition:  # fmt: skip
    """Divide a program among generators; where priorities are equal, the first one wins.

    ``refused`` are regions not to be made, as (generator's name, key of the region's program). If
    predicates or patterns raise an error, that is the reason why their op is left to XLA; it is
    reported once (:mod:`.faults`). ``verdicts`` decide about regions that were measured. With
    ``candidates``, all regions that are too small by estimate are made, and added to the list.
    """
    claims = _Claims(structure, outputs, verdicts, candidates)
    ordered = sorted(dict.fromkeys(generators), key=lambda g: -g.priority)
    for generator in ordered:
        claims.claim(generator)
    graph = _Graph(structure, claims.units)
    parts: list[Part] = []
    failed_before = set(refused)
    for generator in ordered:
        mine = [u for u, by in enumerate(claims.by) if by is generator]
        groups = graph.merged(mine, generator.merges)
        for group in groups:
            part = claims.part(generator, group)
            answer = claims.worth(part, failed_before)
            if answer:
                graph.join(group)
                parts.append(part._replace(verdict=verdicts.of(generator, part.region)))
            else:
                assert isinstance(answer, No)
                if isinstance(answer, _Failed):
                    claims.failed.append(region_of(generator.name, part.region))
                for n in part.members:
                    claims.no(n, generator, answer)
    return _ordered(structure, parts, claims)


def _possible(part: Part, refused: set[tuple[str, str]]) -> Answer:
    """Return YES if a region can be made, or why not."""
    generator = part.generator
    if not part.outputs:
        return No("nothing uses its results", deliberate=True)
    count = len(part.operands) + len(part.outputs)
    if count > MOST_ARRAYS:
        return No(f"{count} operands and results, expected at most {MOST_ARRAYS}")
    if refused and (generator.name, part.region.program.key) in refused:
        error = why(generator.name, part.region.program.key)
        return _Failed(f"it failed here before{': ' if error else ''}{error}")
    return YES


def without_regions(partition: Partition) -> Partition:
    """Return a partition of the same program in which all is XLA's, since the regions failed."""
    n = len(partition.owner)
    return Partition(
        [], [-1 - k for k in range(n)], [-1] * n, partition.reasons,
        (*(region_of(p.generator.name, p.region) for p in partition.parts), *partition.failed))


class _Failed(No):
    """No, because the generator failed."""

    __slots__ = ()


def region_of(
    generator: str, region: Region, verdict: Verdict | None = None
) -> ProgramRegion:
    """Return a region for the record of its program."""
    return ProgramRegion(generator, _names(region), region.program.key,
                         None if verdict is None else (verdict.seconds, verdict.of_xla))


def _names(region: Region) -> tuple[str, ...]:
    return tuple(i.spec.op.name for i in region.program.structure.instructions)


def _asked(
    generator: Generator, source: str, ops: tuple[str, ...], question: Callable[[], Any]
) -> Answer:
    """Return a generator's answer; an error, or any other result, is a reason for no."""
    try:
        answer = question()
    except Exception as error:
        reraise_from_handler(error)
        return _failed(generator, source, ops, f"its predicate raised {told(error)}")
    if isinstance(answer, (Yes, No)):
        return answer
    return _failed(generator, source, ops,
                   f"its predicate gave {shown(answer)}, expected YES or No(reason)")


def _failed(generator: Generator, source: str, ops: tuple[str, ...], reason: str) -> _Failed:
    failed(Failure(generator.name, "", ops, "ask", f"{source}: {reason}"), source)
    return _Failed(reason)


def shown(answer: object) -> str:
    """Describe what a generator returned, for people."""
    try:
        return f"{answer!r:.80}"
    except Exception as error:
        reraise_from_handler(error)
        return f"a {type(answer).__name__}"


def _patterns(generator: Generator) -> list[Pattern] | No:
    """Return a generator's patterns, or why it has none."""
    try:
        patterns = list(generator.patterns())
    except Exception as error:
        reraise_from_handler(error)
        return _failed(generator, "patterns", (), f"its patterns raised {told(error)}")
    if not all(isinstance(p, Pattern) for p in patterns):
        return _failed(generator, "patterns", (), "its patterns are not all Patterns")
    return patterns


class _Claims:
    """The claims of generators, before regions are made. A unit is an op, or a group that a pattern
    matched."""

    def __init__(
        self, structure: Structure, outputs: Outputs, verdicts: Verdicts,
        candidates: list[Part] | None,
    ) -> None:  # fmt: skip
        self.verdicts: Final = verdicts
        self.candidates: Final = candidates
        #: ops that are too small, though their regions may be worthwhile after all, and why
        self.small: Final[dict[int, No]] = {}
        self.structure: Final = structure
        self.instructions: Final = structure.instructions
        self.outputs: Final = set(outputs)
        n = len(self.instructions)
        self.units: Final[list[tuple[int, ...]]] = [(k,) for k in range(n)]
        self.by: Final[list[Generator | None]] = [None] * n
        self.names: Final[list[str]] = [""] * n
        self.reasons: Final[list[dict[str, str]]] = [{} for _ in range(n)]
        users = [0] * n
        #: for each result that is used, the instructions that use it
        self.readers: Final[dict[tuple[int, int], set[int]]] = {}
        for number, i in enumerate(self.instructions):
            for item in i.operands:
                if isinstance(item, Result):
                    users[item.instruction] += 1
                    self.readers.setdefault((item.instruction, item.number), set()).add(number)
        for n_, _ in self.outputs:
            users[n_] += 1
        self.users: Final = users
        self.excluded: Final = [_excluded(i) for i in self.instructions]
        self.failed: Final[list[ProgramRegion]] = []
        #: (instruction, generator that leaves it to XLA on purpose)
        self.deliberate: Final[set[tuple[int, str]]] = set()

    def no(self, number: int, generator: Generator, answer: No, reason: str = "") -> None:
        """Record why a generator does not do an instruction."""
        self.reasons[number][generator.name] = reason or answer.reason
        if answer.deliberate:
            self.deliberate.add((number, generator.name))

    def yes(self, number: int, generator: Generator) -> None:
        """Record that a generator does an instruction, whatever it said before."""
        self.by[number] = generator
        self.reasons[number].pop(generator.name, None)
        self.deliberate.discard((number, generator.name))

    def claim(self, generator: Generator) -> None:
        name = generator.name
        patterns = _patterns(generator)
        if isinstance(patterns, No):
            for reasons in self.reasons:
                reasons[name] = patterns.reason
            self.failed.append(ProgramRegion(name, (), ""))
            patterns = []
        finder = Finder(self.instructions, self.users)
        for pattern in patterns:
            for root in range(len(self.instructions) - 1, -1, -1):
                for members in finder.at(pattern, root):
                    if self._taken(members, generator, pattern):
                        break
        answers: dict[object, Answer] = {}
        for number, i in enumerate(self.instructions):
            if self.by[number] is not None or not self.units[number]:
                continue
            reason = self.excluded[number]
            if reason:
                self.no(number, generator, No(reason, deliberate=True))
                continue
            key = (i.spec, i.operand_types)
            answer = answers.get(key)
            if answer is None:
                call = Call.of(i)
                answer = answers[key] = _asked(
                    generator, "supports", (call.op,), functools.partial(generator.supports, call))
                if isinstance(answer, _Failed):
                    self.failed.append(ProgramRegion(name, (call.op,), ""))
            if isinstance(answer, No) and self._tried(generator, i, answer):
                self.small[number] = answer
                self.yes(number, generator)
            elif isinstance(answer, No):
                # the reason of a group that it did not take says more
                self.no(number, generator, answer, self.reasons[number].get(name, ""))
            else:
                self.yes(number, generator)

    def _tried(self, generator: Generator, i: Instruction, answer: No) -> bool:
        """Return True if an op that is too small may be a region that is measured as worthwhile."""
        if not answer.deliberate or generator.merges:
            return False
        if self.candidates is None and not self.verdicts.tries(generator, i):
            return False
        call = Call.of(i)
        return bool(_asked(generator, "supports", (call.op,), lambda: at_any_size(
            lambda: generator.supports(call))))

    def worth(self, part: Part, refused: set[tuple[str, str]]) -> Answer:
        """Return YES if a region is worth a call, by its measurement or else its estimate."""
        possible = _possible(part, refused)
        if not possible:
            return possible
        generator, region = part.generator, part.region

        def asked() -> Answer:
            return _asked(generator, "worthwhile", _names(region),
                          lambda: generator.worthwhile(region))

        answer = asked()
        small = [no for n in part.members if (no := self.small.get(n)) is not None]
        if answer and small:
            answer = small[0]
        verdict = self.verdicts.of(generator, region)
        if isinstance(answer, No) and answer.deliberate:
            wanted = self.candidates is not None or (
                verdict is not None and verdict.clear and verdict.seconds < verdict.of_xla)
            if wanted and at_any_size(asked):
                if self.candidates is not None:
                    self.candidates.append(part)
                return YES
        elif answer and verdict is not None and verdict.clear and verdict.seconds > verdict.of_xla:
            return No(verdict.text(), deliberate=True)
        return answer

    def _taken(
        self, members: tuple[int, ...], generator: Generator, pattern: Pattern
    ) -> bool:
        """Make a match a group of the generator, if possible."""
        if len(members) < 2 or any(
            self.by[k] is not None or self.excluded[k] for k in members
        ):
            return False
        if pattern.check is not None:
            calls = [Call.of(self.instructions[k]) for k in members]
            ops = tuple(call.op for call in calls)
            answer = _asked(generator, f"the check of {pattern.name}", ops,
                            functools.partial(pattern.check, calls))
            if isinstance(answer, No):
                if isinstance(answer, _Failed):
                    self.failed.append(ProgramRegion(generator.name, ops, ""))
                for k in members:
                    self.no(k, generator, answer, f"{pattern.name}: {answer.reason}")
                return False
        self._group(members, generator, pattern.name)
        return True

    def _group(self, members: tuple[int, ...], generator: Generator, name: str) -> None:
        """Make the group of a match a unit, in place of its last op."""
        for k in members:
            self.units[k] = ()
            self.yes(k, generator)
        last = members[-1]
        self.units[last] = members
        self.names[last] = name

    def part(self, generator: Generator, units: Sequence[int]) -> Part:
        """Return the region of some units."""
        members = tuple(sorted(n for u in units for n in self.units[u]))
        inside = set(members)
        operands: dict[Operand, int] = {}
        renumbered = {old: new for new, old in enumerate(members)}
        stream: list[object] = []
        types: list[TensorType] = []
        for n in members:
            i = self.instructions[n]
            stream.append(i.spec)
            for item, t in zip(i.operands, i.operand_types, strict=True):
                if item is None or isinstance(item, Baked):
                    stream.append(encode_operand(item))
                elif isinstance(item, Result) and item.instruction in inside:
                    stream.append(encode_operand(Result(renumbered[item.instruction], item.number)))
                else:
                    if item not in operands:
                        operands[item] = len(operands)
                        types.append(
                            tensor_type((), item.dtype) if isinstance(item, ScalarSlot)
                            else _present(t))
                    stream.append(encode_operand(Leaf(operands[item])))
        outputs = [
            (n, r) for n in members for r in range(len(self.instructions[n].types))
            if (n, r) in self.outputs or self.readers.get((n, r), set()) - inside]
        program = Program(
            Structure(tuple(stream), tuple(types)), [(renumbered[n], r) for n, r in outputs], [])
        composites = tuple(
            (self.names[u], tuple(renumbered[n] for n in self.units[u]))
            for u in sorted(units) if self.names[u])
        results = [self.instructions[n].types[r] for n, r in outputs]
        logical = tuple(tuple(range(t.ndim)) for t in (*types, *results))
        return Part(generator, members, tuple(operands), tuple(outputs),
                    Region(program, composites, logical))


def _present(t: TensorType | None) -> TensorType:
    assert t is not None, "an absent operand is no operand of a region"
    return t


def _excluded(i: Instruction) -> str:
    """Return why an instruction is never offered, or ""."""
    spec = i.spec
    if spec.effect:
        return "it has effects of its own"
    if spec.fallible or spec.checked:
        return "it can fail while it runs"
    if any(t is not None and t.size == 0 for t in (*i.operand_types, *i.types)):
        return "an operand or result is empty"
    return ""


def _effects(structure: Structure) -> list[int]:
    """Return the instructions with effects, in order; none is in a region."""
    return [n for n, i in enumerate(structure.instructions) if i.spec.effect]


class _Graph:
    """Units and what they need, in which regions become single nodes."""

    def __init__(self, structure: Structure, units: Sequence[tuple[int, ...]]) -> None:
        n = len(units)
        #: for each instruction, its unit
        home = [0] * n
        for u, members in enumerate(units):
            for k in members:
                home[k] = u
        self.alive: Final = [bool(members) for members in units]
        self.needs: Final[list[set[int]]] = [set() for _ in range(n)]
        self.feeds: Final[list[set[int]]] = [set() for _ in range(n)]
        for number, i in enumerate(structure.instructions):
            u = home[number]
            for item in i.operands:
                if isinstance(item, Result) and home[item.instruction] != u:
                    self.needs[u].add(home[item.instruction])
                    self.feeds[home[item.instruction]].add(u)
        # effects happen in the order in which they were recorded
        effects = _effects(structure)
        for before, after in zip(effects, effects[1:], strict=False):
            self.needs[home[after]].add(home[before])
            self.feeds[home[before]].add(home[after])

    def merged(self, mine: Sequence[int], merges: bool) -> list[list[int]]:
        """Return the units of one generator in groups, each of which can become a node."""
        if not merges:
            return [[u] for u in mine if self.alive[u]]
        wave = self._waves({u for u in mine if self.alive[u]})
        parent = {u: u for u in wave}

        def root(u: int) -> int:
            while parent[u] != u:
                parent[u] = parent[parent[u]]
                u = parent[u]
            return u

        for u, w in wave.items():
            for v in self.needs[u]:
                if wave.get(v) == w:
                    parent[root(u)] = root(v)
        groups: dict[int, list[int]] = {}
        for u in sorted(wave):
            groups.setdefault(root(u), []).append(u)
        return list(groups.values())

    def _waves(self, mine: set[int]) -> dict[int, int]:
        """Return the wave in which each unit of a generator is taken."""
        missing = [len(needs) for needs in self.needs]
        #: units of others that use a result of the wave
        border: set[int] = set()
        waves: dict[int, int] = {}
        number = 0
        others = [u for u, alive in enumerate(self.alive) if alive and not missing[u]]
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
            for v in self.feeds[u]:
                missing[v] -= 1
                if not missing[v]:
                    others.append(v)
        return waves

    def join(self, group: Sequence[int]) -> None:
        """Merge a group into one node, that of its first unit."""
        first, *rest = group
        inside = set(group)
        for u in rest:
            self.alive[u] = False
            for v in self.needs[u]:
                self.feeds[v].discard(u)
                self.feeds[v].add(first)
            for v in self.feeds[u]:
                self.needs[v].discard(u)
                self.needs[v].add(first)
            self.needs[first] |= self.needs[u]
            self.feeds[first] |= self.feeds[u]
            self.needs[u], self.feeds[u] = set(), set()
        self.needs[first] -= inside
        self.feeds[first] -= inside


def _ordered(structure: Structure, parts: list[Part], claims: _Claims) -> Partition:
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
    effects = _effects(structure)
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
    return Partition([parts[p] for p in numbered], steps, owner, claims.reasons, claims.failed,
                     {n for n, _ in claims.deliberate})
