"""Loops in a program: equal runs of instructions, each of which goes on from the one before.

What a host loop recorded (a recurrence by hand, a stack of equal layers, the steps of a solver, and
the derivative of each) stands in a program as many times as the loop went round, and compiling it
takes longer than in proportion. Here the runs are found that differ only in what they read, so that
a backend can write one of them as the body of a loop:

- what an iteration takes from itself is *local* to it;
- what it takes from the one before is *carried*;
- what all of them take from outside is *fixed*;
- what each takes of its own from outside is a *row*: one operand for each iteration;
- what anybody outside takes is a *result*, of the last iteration or stacked, of all of them.

The loops of a program follow from its structure alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from ..settings import WITHOUT, tuning
from ..types import TensorType
from .program import Instruction, Structure
from .stream import Operand, Result

#: a loop goes round so often at least
LEAST: Final = 4
#: repetitions of ops that are looked into in vain, before what is left is taken as it stands
TRIED: Final = 16
#: and takes at least so many instructions out of the program
SAVED: Final = 128
#: a body without a heavy op has so many instructions, of several rounds of the host's loop if need
#: be: what a compiler fuses into one pass over the data should not become many
LIGHT: Final = 160
#: seconds that compiling takes for each instruction, and for each pair of them
COMPILE_PER_OP: Final = 0.006
COMPILE_PER_PAIR: Final = 1.5e-5
#: seconds that a byte takes which the loop alone has to copy, and an iteration; so many runs are
#: to gain by it
COPY_PER_BYTE: Final = 0.5e-9
PER_ITERATION: Final = 1e-6
RUNS: Final = 1000


class Local(NamedTuple):
    """Result ``number`` of that instruction of the same iteration."""

    instruction: int
    number: int


class Carried(NamedTuple):
    """Number ``slot`` of what an iteration gets from the one before."""

    slot: int


class Row(NamedTuple):
    """Number ``slot`` of what each iteration has one of."""

    slot: int


class Fixed(NamedTuple):
    """Number ``slot`` of what is the same for all iterations."""

    slot: int


#: an operand of an instruction of the body
Taken = Local | Carried | Row | Fixed | None


class Carry(NamedTuple):
    """A value that goes from iteration to iteration: where it begins, and what it becomes.

    It begins as nothing in particular (None) where only the last iteration's is wanted.
    """

    first: Operand
    next: Local
    type: TensorType


class Rows(NamedTuple):
    """One operand for each iteration, of one type."""

    items: tuple[Operand, ...]
    type: TensorType


class Loop(NamedTuple):
    """``times`` equal runs of ``period`` instructions, from instruction ``start`` on.

    Attributes:
        body: what each instruction of an iteration takes.
        carries, rows, fixed: what the slots hold; fixed ones with their types.
        last: of what is wanted of the last iteration only, the slot of its carry.
        stacked: what is wanted of several iterations, in order.
    """

    start: int
    period: int
    times: int
    body: tuple[tuple[Taken, ...], ...]
    carries: tuple[Carry, ...]
    rows: tuple[Rows, ...]
    fixed: tuple[tuple[Operand, TensorType], ...]
    last: Mapping[Local, int]
    stacked: tuple[Local, ...]

    @property
    def end(self) -> int:
        """The first instruction behind it."""
        return self.start + self.period * self.times

    def place(self, item: Result) -> tuple[int, Local]:
        """The iteration that a result of the loop belongs to, and its place there."""
        iteration, at = divmod(item.instruction - self.start, self.period)
        return iteration, Local(at, item.number)


def rolled_size(structure: Structure) -> int:
    """How many instructions of a program a compiler has to do with, about."""
    instructions = structure.decode_instructions()
    program = Loops(instructions, (), {}, search=False)
    return len(instructions) - sum(
        (loop.times - 1) * loop.period for loop in program.search())


def compile_seconds(ops: int) -> float:
    """What compiling so many instructions is estimated to take."""
    return COMPILE_PER_OP * ops + COMPILE_PER_PAIR * ops * ops


class Loops:
    """The loops of a program, in order, and what stands behind its operands.

    Args:
        instructions: of the program.
        outputs: the results that leave it, as (instruction, result).
        same: results that are an operand of their instruction, as it is, and that operand.
        search: whether to look for loops; without, there are none.
    """

    def __init__(
        self, instructions: Sequence[Instruction], outputs: Sequence[tuple[int, int]],
        same: Mapping[Result, Operand], search: bool = True,
    ) -> None:  # fmt: skip
        self.instructions: Final = instructions
        self.outputs: Final = outputs
        self._known: Final[dict[Result, Operand]] = {}
        #: the operands of each instruction, looking through results that are an operand as it is
        self.operands: Final[list[tuple[Operand, ...]]] = []
        for n, i in enumerate(instructions):
            self.operands.append(tuple(map(self.behind, i.operands)))
            for r in range(len(i.types)):
                item = same.get(Result(n, r))
                if item is not None:
                    self._known[Result(n, r)] = self.behind(item)
        self.loops: Final[list[Loop]] = []
        #: of each instruction, the number of its loop, or -1
        self.owners: Final[list[int]] = [-1] * len(instructions)
        if search:
            self._find()

    def behind(self, item: Operand) -> Operand:
        """What an operand is: another one, where it is the result of an op that hands it on."""
        return self._known.get(item, item) if isinstance(item, Result) else item

    def owner(self, item: Operand) -> Loop | None:
        """The loop that computes an operand."""
        if not isinstance(item, Result) or self.owners[item.instruction] < 0:
            return None
        return self.loops[self.owners[item.instruction]]

    def search(self) -> list[Loop]:
        """Loops, whether they are worth it or not, without what anybody takes from them."""
        if len(self.instructions) < SAVED or "loops" in WITHOUT:
            return []
        return list(_Search(self).loops(0, len(self.instructions)))

    def _find(self) -> None:
        found = self.search()
        while True:
            self.owners[:] = [-1] * len(self.instructions)
            for number, loop in enumerate(found):
                self.owners[loop.start : loop.end] = [number] * (loop.end - loop.start)
            self.loops[:] = found
            self.loops[:] = self._with_results()
            worth = [loop for loop in self.loops if self._is_worth_it(loop)]
            if len(worth) == len(found):
                return
            # what is no loop after all is outside of those that are
            found = [loop for loop, whole in zip(found, self.loops, strict=True) if whole in worth]

    def _with_results(self) -> list[Loop]:
        """The loops with what anything outside of them takes."""
        taken: list[dict[Local, set[int]]] = [{} for _ in self.loops]

        def take(item: Operand, reader: int) -> None:
            loop = self.owner(item)
            if loop is not None and isinstance(item, Result):
                number = self.owners[item.instruction]
                if number != reader:
                    iteration, place = loop.place(item)
                    taken[number].setdefault(place, set()).add(iteration)

        for n, operands in enumerate(self.operands):
            for item in operands:
                take(item, self.owners[n])
        for n, r in self.outputs:
            take(self.behind(Result(n, r)), -1)
        return [self._completed(loop, found)
                for loop, found in zip(self.loops, taken, strict=True)]

    def _completed(self, loop: Loop, taken: dict[Local, set[int]]) -> Loop:
        carries = list(loop.carries)
        last: dict[Local, int] = {}
        stacked: list[Local] = []
        slots = {carry.next: slot for slot, carry in enumerate(carries)}
        for place, iterations in sorted(taken.items()):
            if iterations != {loop.times - 1}:
                stacked.append(place)
                continue
            slot = slots.get(place)
            if slot is None:
                slot = len(carries)
                carries.append(Carry(None, place, self.type_of(loop, place)))
            last[place] = slot
        return loop._replace(carries=tuple(carries), last=last, stacked=tuple(stacked))

    def type_of(self, loop: Loop, place: Local) -> TensorType:
        """The type of a result of an iteration."""
        return self.instructions[loop.start + place.instruction].types[place.number]

    def _is_worth_it(self, loop: Loop) -> bool:
        """Whether the compile time that a loop saves is more than what many runs lose by it."""
        total = len(self.instructions)
        # an op that only hands its operands on is no work
        ops = sum(any(Result(n, r) not in self._known for r in range(len(i.types)))
                  for n, i in enumerate(self.instructions[loop.start :][: loop.period], loop.start))
        less = (loop.times - 1) * ops
        if less < SAVED:
            return False
        saved = compile_seconds(total) - compile_seconds(total - less)
        copied = sum(rows.type.nbytes for rows in loop.rows if rows.type.shape and not all(
            self.owner(item) for item in rows.items))
        copied += sum(self.type_of(loop, place).nbytes for place in loop.stacked)
        return saved >= RUNS * loop.times * (COPY_PER_BYTE * copied + PER_ITERATION)


class _Search:
    """Looks for loops; what anybody takes from them is not yet known."""

    def __init__(self, program: Loops) -> None:
        self.instructions: Final = program.instructions
        self.operands: Final = program.operands
        numbers: dict[object, int] = {}
        #: equal for instructions that may be the same one of two iterations
        self.tokens: Final = np.array([
            -1 - n if i.spec.effect or i.spec.fallible
            else numbers.setdefault((i.spec.id, i.operand_types), len(numbers))
            for n, i in enumerate(self.instructions)])
        self.tries = TRIED

    def loops(self, begin: int, end: int) -> Iterator[Loop]:
        """The loops among some of the instructions, in order."""
        best = self.most_saving(begin, end)
        if best is None:
            return
        start, period, count = best
        loop = self.settled(start, period, count)
        if loop is None:
            # the ops alone repeat
            self.tries -= 1
            if self.tries > 0:
                yield from self.loops(begin, start)
                yield from self.loops(start + period, end)
            return
        yield from self.loops(begin, loop.start)
        yield loop
        yield from self.loops(loop.end, end)

    def most_saving(self, begin: int, end: int) -> tuple[int, int, int] | None:
        """(start, period, count) of the repetition that takes the most instructions out."""
        tokens = self.tokens[begin:end]
        size = len(tokens)
        best: tuple[int, int, int] | None = None
        most = SAVED - 1
        for period in range(1, min(size // LEAST, tuning.longest_period) + 1):
            differ = np.flatnonzero(tokens[period:] != tokens[:-period])
            edges = np.concatenate(([-1], differ, [size - period]))
            lengths = np.diff(edges) - 1
            at = int(lengths.argmax())
            count = (int(lengths[at]) + period) // period
            if count >= LEAST and (count - 1) * period > most:
                most = (count - 1) * period
                best = begin + int(edges[at]) + 1, period, count
        return best

    def settled(self, start: int, period: int, count: int) -> Loop | None:
        """The loop of these iterations, or of as many of them as are one."""
        while count >= LEAST and (count - 1) * period >= SAVED:
            body = _Body(self, start, period, count)
            if body.fails is None:
                longer = self.in_long_bodies(start, period, count)
                return body.loop() if longer is None else self.settled(start, *longer)
            if body.fails <= 1:
                # the first iteration is not like the others
                start, count = start + period, count - 1
            else:
                count = body.fails
        return None

    def in_long_bodies(self, start: int, period: int, count: int) -> tuple[int, int] | None:
        """Period and count with several iterations in one, where the ops are few and light."""
        together = min(-(-LIGHT // period), count // LEAST)
        if together < 2 or any(
            self.instructions[n].spec.heavy for n in range(start, start + period)
        ):
            return None
        return period * together, count // together


class _Body:
    """What the instructions of an iteration take, if all of the iterations agree."""

    def __init__(self, search: _Search, start: int, period: int, count: int) -> None:
        self.start: Final = start
        self.period: Final = period
        self.count: Final = count
        self.carries: Final[dict[tuple[Local, Operand], tuple[int, TensorType]]] = {}
        self.rows: Final[dict[tuple[Operand, ...], tuple[int, TensorType]]] = {}
        self.fixed: Final[dict[Operand, tuple[int, TensorType]]] = {}
        self.body: Final[list[tuple[Taken, ...]]] = []
        #: the first iteration that is not like the one before
        self.fails: int | None = None
        for at in range(period):
            taken = []
            for number, t in enumerate(search.instructions[start + at].operand_types):
                items = [search.operands[n][number]
                         for n in range(start + at, start + count * period, period)]
                taken.append(None if t is None else self.taken(items, t))
            self.body.append(tuple(taken))

    def taken(self, items: list[Operand], t: TensorType) -> Taken:
        """What an instruction of the body takes that takes these in turn."""
        second = items[1]
        if not isinstance(second, Result) or second.instruction < self.start:
            for k, item in enumerate(items):
                self.expect(k, not self.is_inside(item))
            if all(item == second for item in items):
                return Fixed(self.fixed.setdefault(second, (len(self.fixed), t))[0])
            return Row(self.rows.setdefault(tuple(items), (len(self.rows), t))[0])
        iteration, at = divmod(second.instruction - self.start, self.period)
        place = Local(at, second.number)
        back = 1 - iteration
        for k, item in enumerate(items[back:]):
            self.expect(k + back, item == Result(
                self.start + k * self.period + place.instruction, place.number))
        if not back:
            return place
        self.expect(0, not self.is_inside(items[0]))
        return Carried(self.carries.setdefault((place, items[0]), (len(self.carries), t))[0])

    def is_inside(self, item: Operand) -> bool:
        return isinstance(item, Result) and item.instruction >= self.start

    def expect(self, iteration: int, fits: bool) -> None:
        if not fits and (self.fails is None or iteration < self.fails):
            self.fails = iteration

    def loop(self) -> Loop:
        return Loop(
            self.start, self.period, self.count, tuple(self.body),
            tuple(Carry(first, after, t) for (after, first), (_, t) in self.carries.items()),
            tuple(Rows(items, t) for items, (_, t) in self.rows.items()),
            tuple((item, t) for item, (_, t) in self.fixed.items()), {}, ())
