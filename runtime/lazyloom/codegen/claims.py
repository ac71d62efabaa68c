"""What code generators claim of a program, and what they answer when they are asked about it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..interrupts import reraise_from_handler
from ..program.program import Instruction, Program, Structure
from ..program.regions import ProgramRegion
from ..program.stream import Leaf, Operand, Result, ScalarSlot, encode_operand
from ..trace.scalars import Baked
from ..types import TensorType, tensor_type
from .answers import YES, Answer, Call, No, Only, Wiring, Yes, sizes_of, value_of
from .extents import Extents, varies
from .faults import Failure, failed, not_alone, raised, told, why
from .generator import Generator, Region
from .mapped import of_element
from .merging import UnitGraph
from .patterns import MOST_BETWEEN, NOT_KNOWN, Finder, Found, Pattern
from .verdicts import Verdict, Verdicts, in_time
from .worth import at_any_size, estimates, of_any_size

Outputs = Sequence[tuple[int, int]]
#: the most operands and results of a region together, as what calls them has it
MOST_ARRAYS: Final = 4096


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


class FailedNo(No):
    """No, because the generator failed."""

    __slots__ = ()


class MappedNo(No):
    """No to a mapped op, though its generator does the op for one element."""

    __slots__ = ()


class UnbuiltNo(FailedNo):
    """No to a region that could not be built, though parts of it may be."""

    __slots__ = ()


def region_of(
    generator: str, region: Region, verdict: Verdict | None = None
) -> ProgramRegion:
    """Return a region for the record of its program."""
    return ProgramRegion(generator, names_of(region), region.program.key,
                         None if verdict is None else (verdict.seconds, verdict.of_xla))


def names_of(region: Region) -> tuple[str, ...]:
    """Return the names of a region's ops, in order."""
    return tuple(i.spec.op.name for i in region.program.structure.instructions)


def unit_key(region: Region) -> str:
    """Return the key of an op or a group as a region of its own, whatever uses its results."""
    return f"alone {Program(region.program.structure, [], []).key}"


def not_built(failure: Failure, region: Region) -> None:
    """Record that a region could not be built; a single op or group is not tried again."""
    failed(failure)
    count = len(names_of(region))
    if count == 1 or any(len(members) == count for _, members in region.composites):
        not_alone(failure.generator, unit_key(region))


def shown(answer: object) -> str:
    """Describe what a generator returned, for people."""
    try:
        return f"{answer!r:.80}"
    except Exception as error:
        reraise_from_handler(error)
        return f"a {type(answer).__name__}"


def asked(
    generator: Generator, source: str, ops: tuple[str, ...], question: Callable[[], Any]
) -> Answer:
    """Return a generator's answer; an error, or any other result, is a reason for no."""
    answer = _given(generator, source, ops, question)
    if isinstance(answer, (Yes, No)):
        return answer
    return _failed(generator, source, ops,
                   f"its predicate gave {shown(answer)}, expected YES or No(reason)")


def _given(
    generator: Generator, source: str, ops: tuple[str, ...], question: Callable[[], Any]
) -> Any:
    try:
        return question()
    except Exception as error:
        reraise_from_handler(error)
        failed(raised(
            generator.name, "", ops, "ask", error, f"{source}: its predicate raised "), source)
        return FailedNo(f"its predicate raised {told(error)}")


def asked_about(generator: Generator, region: Region) -> Answer | Only:
    """Return a generator's answer about a region, which may be that it wants a part of it."""
    ops = names_of(region)
    answer = _given(generator, "worthwhile", ops, lambda: generator.worthwhile(region))
    if isinstance(answer, (Yes, No)):
        return answer
    if isinstance(answer, Only):
        if all(isinstance(n, int) and 0 <= n < len(ops) for n in answer.ops):
            return answer
        return _failed(generator, "worthwhile", ops,
                       f"its predicate gave {shown(answer)}, expected numbers from 0 to "
                       f"{len(ops) - 1}")
    return _failed(generator, "worthwhile", ops, f"its predicate gave {shown(answer)}, expected "
                   "YES, No(reason) or Only(numbers, reason)")


def _failed(generator: Generator, source: str, ops: tuple[str, ...], reason: str) -> FailedNo:
    failed(Failure(generator.name, "", ops, "ask", f"{source}: {reason}"), source)
    return FailedNo(reason)


def _failed_before(generator: str, region: str) -> str:
    error = why(generator, region)
    return f"it failed here before{': ' if error else ''}{error}"


def _patterns(generator: Generator) -> list[Pattern] | No:
    """Return a generator's patterns, or why it has none."""
    try:
        patterns = list(generator.patterns())
    except Exception as error:
        reraise_from_handler(error)
        failed(raised(
            generator.name, "", (), "ask", error, "patterns: its patterns raised "), "patterns")
        return FailedNo(f"its patterns raised {told(error)}")
    if not all(isinstance(p, Pattern) for p in patterns):
        return _failed(generator, "patterns", (), "its patterns are not all Patterns")
    return patterns


class Claims:
    """A program, what was taken of it, and what generators said of the rest.

    Attributes:
        reasons: for each instruction, why each generator that was asked does not do it.
        deliberate: (instruction, generator that leaves it to XLA on purpose).
        mapped: the mapped ops that a generator does for one element only.
        failed: what a generator might have done if it had not failed.
        taken: the regions, as instructions, by the number of their last one.
    """

    def __init__(
        self, structure: Structure, outputs: Outputs, verdicts: Verdicts,
        candidates: list[Part] | None, refused: Iterable[tuple[str, str]],
        unbuilt: Iterable[tuple[str, str]], extents: Extents | None = None,
    ) -> None:  # fmt: skip
        self.verdicts: Final = verdicts
        self.extents: Final = extents
        self.candidates: Final = candidates
        self.structure: Final = structure
        self.instructions: Final = structure.instructions
        self.outputs: Final = set(outputs)
        self.wiring: Final = Wiring(self.instructions, outputs, extents=extents)
        self.unbuilt: Final = set(unbuilt)
        self.refused: Final = {*refused, *self.unbuilt}
        self.failing: Final = {name for name, _ in self.unbuilt}
        n = len(self.instructions)
        self.reasons: Final[list[dict[str, str]]] = [{} for _ in range(n)]
        self.deliberate: Final[set[tuple[int, str]]] = set()
        self.mapped: Final[set[int]] = set()
        self.failed: Final[list[ProgramRegion]] = []
        self.taken: Final[dict[int, tuple[int, ...]]] = {}
        self.is_taken: Final = [False] * n
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

    def barred(self, number: int, symbolic: bool) -> str:
        """Return why an instruction is not offered, to a generator that takes symbols or not."""
        extents = self.extents
        if self.excluded[number] or extents is None:
            return self.excluded[number]
        i = self.instructions[number]
        if number in extents.attributes:
            return "its attributes vary from run to run"
        sizes = [*(sizes_of(extents, o) for o in i.operands if o is not None),
                 *extents.results[number]]
        if any(each is None for each in sizes):
            return "an operand or result varies, and its valid elements are not the first ones"
        if not symbolic and any(map(varies, sizes)):
            return "its extents vary from run to run, which the generator does not take (symbolic)"
        return ""

    def take(self, part: Part) -> None:
        """Make the ops of a region unavailable to further generators."""
        self.taken[part.members[-1]] = part.members
        for n in part.members:
            self.is_taken[n] = True
            self.reasons[n].pop(part.generator.name, None)
            self.deliberate.discard((n, part.generator.name))

    def said(self, claim: Claim) -> None:
        """Keep why a generator does not do ops."""
        name = claim.generator.name
        for n, answer in claim.reasons.items():
            self.reasons[n][name] = answer.reason
            if answer.deliberate:
                self.deliberate.add((n, name))
            if isinstance(answer, MappedNo):
                self.mapped.add(n)
        self.failed.extend(claim.failed)

    def worth(self, claim: Claim, part: Part) -> Answer | Only:
        """Return YES if a region is worth a call, by its measurement or else its estimate."""
        possible = self._possible(claim, part)
        if not possible:
            return possible
        generator, region = part.generator, part.region
        answer = asked_about(generator, region)
        small = [no for n in part.members if (no := claim.small.get(n)) is not None]
        if answer and small:
            answer = small[0]
        verdict = self.verdicts.of(generator, region)
        decided = verdict is not None and verdict.clear
        if isinstance(answer, Yes) and not decided:
            answer = _estimated(generator, region)
        if isinstance(answer, No) and answer.deliberate:
            wanted = self.candidates is not None or (
                decided and verdict is not None and verdict.quicker)
            if wanted and at_any_size(lambda: asked_about(generator, region)):
                if self.candidates is not None:
                    self.candidates.append(part)
                return YES
        elif answer and decided and verdict is not None and verdict.seconds > verdict.of_xla:
            return No(verdict.text(), deliberate=True)
        return answer

    def _possible(self, claim: Claim, part: Part) -> Answer:
        """Return YES if a region can be made, or why not."""
        if not part.outputs:
            return No("nothing uses its results", deliberate=True)
        count = len(part.operands) + len(part.outputs)
        if count > MOST_ARRAYS:
            return No(f"{count} operands and results, expected at most {MOST_ARRAYS}")
        if self.refused:
            key = (part.generator.name, part.region.program.key)
            if key in self.refused:
                reason = _failed_before(*key)
                return UnbuiltNo(reason) if key in self.unbuilt else FailedNo(reason)
        return YES

    def name_of(self, number: int) -> str:
        """Name an instruction as reports do, with its op: "%3, exp,"."""
        return f"%{number}, {self.instructions[number].spec.op.name},"


def _estimated(generator: Generator, region: Region) -> Answer:
    """Return YES unless a region is estimated to take longer than XLA's code for its ops."""
    if of_any_size():
        return YES
    seconds, of_xla = estimates(generator, region)
    if seconds is None or of_xla is None or seconds <= of_xla:
        return YES
    return No(f"estimated {in_time(seconds)}, XLA {in_time(of_xla)}", deliberate=True)


class Claim:
    """What one generator claims, of what nobody has taken. A unit is an op, a group that a pattern
    matched, or a region that was taken.

    Attributes:
        units: the instructions of each unit, at the place of its last one.
        names: the pattern of each group.
        mine: the units that the generator claims.
        small: ops that are too small, though their regions may be worthwhile after all, and why.
        reasons: why it does not do the others.
        failed: what it might have done if it had not failed.
    """

    def __init__(self, claims: Claims, generator: Generator) -> None:
        self.claims: Final = claims
        self.generator: Final = generator
        n = len(claims.instructions)
        self.units: Final[list[tuple[int, ...]]] = [(k,) for k in range(n)]
        for last, members in claims.taken.items():
            self._group(members, last)
        self.names: Final[dict[int, str]] = {}
        self.small: Final[dict[int, No]] = {}
        self.reasons: Final[dict[int, No]] = {}
        self.failed: Final[list[ProgramRegion]] = []
        #: groups with an inner result that others use
        self.open: Final[set[int]] = set()
        #: for each instruction, the group that it is in; -1 for none
        self.home: Final = [-1] * n
        self._patterns()

    @property
    def mine(self) -> list[int]:
        """The units that the generator claims, in order."""
        return [u for u, h in enumerate(self.home) if h == u]

    def _group(self, members: Sequence[int], last: int) -> None:
        for k in members:
            self.units[k] = ()
        self.units[last] = tuple(members)

    def no(self, number: int, answer: No, reason: str = "") -> None:
        """Record why the generator does not do an instruction; once deliberate, it stays so."""
        before = self.reasons.get(number)
        deliberate = answer.deliberate or (before is not None and before.deliberate)
        of = MappedNo if isinstance(answer, MappedNo) else No
        self.reasons[number] = of(reason or answer.reason, deliberate=deliberate)

    def _patterns(self) -> None:
        claims, generator = self.claims, self.generator
        patterns = _patterns(generator)
        if isinstance(patterns, No):
            for n in range(len(self.units)):
                if not claims.is_taken[n]:
                    self.no(n, patterns)
            self.failed.append(ProgramRegion(generator.name, (), ""))
            return
        finder = Finder(claims.instructions, claims.users, self._is_free)
        for pattern in patterns:
            try:
                self._find(finder, pattern)
            except RecursionError:
                self.failed.append(ProgramRegion(generator.name, (), ""))
                _failed(generator, f"the pattern {pattern.name}", (),
                        "it is nested too deeply, expected at most 100 ops in a row")

    def _find(self, finder: Finder, pattern: Pattern) -> None:
        for root in range(len(self.claims.instructions) - 1, -1, -1):
            for found in finder.at(pattern, root):
                if self._matched(found, pattern):
                    break

    def _is_free(self, number: int) -> bool:
        """Return True if an op may be part of a group."""
        claims = self.claims
        return not (claims.is_taken[number] or self.home[number] >= 0
                    or claims.barred(number, self.generator.symbolic))

    def _matched(self, found: Found, pattern: Pattern) -> bool:
        """Make a match a group of the generator, if possible."""
        claims, generator = self.claims, self.generator
        members = found.members
        if len(members) < 2:
            return False
        answer: Answer = YES
        if pattern.check is not None:
            calls = [claims.wiring.call(k) for k in members]
            ops = tuple(call.op for call in calls)
            answer = asked(generator, f"the check of {pattern.name}", ops,
                           functools.partial(pattern.check, calls))
            if isinstance(answer, FailedNo):
                self.failed.append(ProgramRegion(generator.name, ops, ""))
        if answer and found.escaping:
            answer = self._escapes(found, pattern)
        if isinstance(answer, No):
            for k in members:
                self.no(k, answer, f"{pattern.name}: {answer.reason}")
            return False
        last = members[-1]
        self._group(members, last)
        self.names[last] = pattern.name
        for k in members:
            self.home[k] = last
            self.reasons.pop(k, None)
        if found.escaping:
            self.open.add(last)
        return True

    def _escapes(self, found: Found, pattern: Pattern) -> Answer:
        """Return YES if a group may have inner results that others use, or who uses one."""
        claims = self.claims
        if pattern.shows:
            if found.between is None:
                return YES
            if found.between == NOT_KNOWN:
                return No(f"more than {MOST_BETWEEN} ops are recorded between its ops, of which "
                          "one may have to run between them")
            return No(f"{claims.name_of(found.between)} has to run between its ops")
        n, inside = found.escaping[0], set(found.members)
        text = f"the inner result of {claims.name_of(n)} is "
        user = next((k for r in range(len(claims.instructions[n].types))
                     for k in claims.readers.get((n, r), ()) if k not in inside), None)
        if user is not None:
            return No(f"{text}used by {claims.name_of(user)} too")
        return No(f"{text}a result of the program, which a variable or a gradient holds")

    def dissolve(self, groups: Iterable[int], answer: No) -> None:
        """Make single ops of some groups; why they are no groups is the reason."""
        for u in groups:
            members = self.units[u]
            name = self.names.pop(u)
            self.open.discard(u)
            for k in members:
                self.units[k] = (k,)
                self.home[k] = -1
                self.no(k, answer, f"{name}: {answer.reason}")

    def single(self, lost: Iterable[int] = ()) -> None:
        """Claim the ops that the generator does by themselves, but not some that another got."""
        claims, name = self.claims, self.generator.name
        answers: dict[object, Answer] = {}
        left = set(lost)
        for number, i in enumerate(claims.instructions):
            if claims.is_taken[number] or self.home[number] >= 0 or number in left:
                continue
            reason = claims.barred(number, self.generator.symbolic)
            if reason:
                self.no(number, No(reason, deliberate=True))
                continue
            key: tuple[object, ...] = (i.spec, i.operand_types, tuple(map(value_of, i.operands)))
            if claims.extents is not None:
                key += (tuple(sizes_of(claims.extents, o) for o in i.operands),
                        claims.extents.results[number])
            answer = answers.get(key)
            if answer is None:
                call = claims.wiring.call(number)
                answer = self._supports(call, i)
                if not call.looked:
                    answers[key] = answer
            if isinstance(answer, No) and self._tried(number, answer):
                self.small[number] = answer
                self.home[number] = number
            elif isinstance(answer, No):
                # the reason of a group that it did not take says more
                before = self.reasons.get(number)
                self.no(number, answer, before.reason if before is not None else "")
            else:
                self.home[number] = number
                self.reasons.pop(number, None)
        if name in claims.failing:
            self._leave_unbuilt()

    def _supports(self, call: Call, i: Instruction) -> Answer:
        generator = self.generator

        def ask(call: Call) -> Answer:
            return asked(
                generator, "supports", (call.op,), functools.partial(generator.supports, call))

        answer = ask(call)
        if isinstance(answer, FailedNo):
            self.failed.append(ProgramRegion(generator.name, (call.op,), ""))
        element = None if answer or isinstance(answer, FailedNo) else of_element(i)
        if element is not None and ask(element):
            return MappedNo(f"it does {element.op}, but not for each element of an axis, which is "
                            f"no {element.op} of one more axis")
        return answer

    def _leave_unbuilt(self) -> None:
        """Give up the units that could not be built by themselves."""
        for u in self.mine:
            part = self.part([u])
            if (self.generator.name, unit_key(part.region)) in self.claims.unbuilt:
                self.refuse(part, FailedNo(
                    _failed_before(self.generator.name, part.region.program.key)))
                for k in self.units[u]:
                    self.home[k] = -1

    def refuse(self, part: Part, answer: No) -> None:
        """Record why a region is not made."""
        if isinstance(answer, FailedNo):
            self.failed.append(region_of(self.generator.name, part.region))
        for n in part.members:
            self.no(n, answer)

    def _tried(self, number: int, answer: No) -> bool:
        """Return True if an op that is too small may be a region that is measured as worthwhile."""
        generator, claims = self.generator, self.claims
        if not answer.deliberate or generator.merges:
            return False
        if claims.candidates is None and not claims.verdicts.tries(
            generator, claims.instructions[number]
        ):
            return False
        call = claims.wiring.call(number)
        return bool(asked(generator, "supports", (call.op,), lambda: at_any_size(
            lambda: generator.supports(call))))

    def covering(self, members: Sequence[int]) -> list[int] | None:
        """Return the claimed units that consist of some ops; None if there are none."""
        inside = set(members)
        homes = {self.home[n] for n in members}
        if -1 in homes or any(not inside.issuperset(self.units[u]) for u in homes):
            return None
        return sorted(homes)

    def pieces(self, units: Sequence[int], graph: UnitGraph) -> list[list[int]]:
        """Return the units of a region, or of several if it has too many operands and results."""
        if sum(len(self.claims.instructions[n].operands) + len(self.claims.instructions[n].types)
               for u in units for n in self.units[u]) <= MOST_ARRAYS:
            return [list(units)]
        parts: dict[int, int] = {}
        number = 0
        count = _Arrays(self.claims)
        for u in graph.in_order(units):
            count.add(self.units[u])
            if count.number > MOST_ARRAYS:
                number += 1
                count = _Arrays(self.claims)
                count.add(self.units[u])
            parts[u] = number
        return graph.connected(parts) if number else [list(units)]

    def part(self, units: Sequence[int]) -> Part:
        """Return the region of some units."""
        claims = self.claims
        members = tuple(sorted(n for u in units for n in self.units[u]))
        inside = set(members)
        operands: dict[Operand, int] = {}
        renumbered = {old: new for new, old in enumerate(members)}
        stream: list[object] = []
        types: list[TensorType] = []
        for n in members:
            i = claims.instructions[n]
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
            (n, r) for n in members for r in range(len(claims.instructions[n].types))
            if (n, r) in claims.outputs or claims.readers.get((n, r), set()) - inside]
        program = Program(
            Structure(tuple(stream), tuple(types)), [(renumbered[n], r) for n, r in outputs], [])
        composites = tuple(
            (self.names[u], tuple(renumbered[n] for n in self.units[u]))
            for u in sorted(units) if u in self.names)
        results = [claims.instructions[n].types[r] for n, r in outputs]
        logical = tuple(tuple(range(t.ndim)) for t in (*types, *results))
        return Part(self.generator, members, tuple(operands), tuple(outputs),
                    Region(program, composites, logical, self._extents(members, operands)))

    def _extents(self, members: Sequence[int], operands: Iterable[Operand]) -> Extents | None:
        """Return what varies in a region, None if nothing does."""
        whole = self.claims.extents
        if whole is None:
            return None
        found = Extents(
            whole.lowest, whole.largest, tuple(sizes_of(whole, o) for o in operands),
            tuple(whole.results[n] for n in members))
        inside = (*found.leaves, *(sizes for each in found.results for sizes in each))
        return found if any(map(varies, inside)) else None


class _Arrays:
    """How many operands and results a region has, of which the ops are added one after the other.
    """

    def __init__(self, claims: Claims) -> None:
        self.claims: Final = claims
        self.number = 0
        self.operands: Final[set[Operand]] = set()
        #: for each op, how many uses of its results there are elsewhere
        self.elsewhere: Final[dict[int, int]] = {}

    def add(self, members: Sequence[int]) -> None:
        claims = self.claims
        for n in members:
            for item in claims.instructions[n].operands:
                if isinstance(item, Result) and item.instruction in self.elsewhere:
                    left = self.elsewhere[item.instruction] = self.elsewhere[item.instruction] - 1
                    if not left:
                        self.number -= len(claims.instructions[item.instruction].types)
                elif isinstance(item, (Result, Leaf, ScalarSlot)) and item not in self.operands:
                    self.operands.add(item)
                    self.number += 1
            self.elsewhere[n] = claims.users[n]
            self.number += len(claims.instructions[n].types) if claims.users[n] else 0


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
