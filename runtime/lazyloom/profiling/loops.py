"""The rules about loops of the host: what is read, recorded or made piece by piece."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..program.reasons import COLLECT, CUT, LOOKUP, PREPARATION, READ, SHAPE, START
from . import findings
from .events import Events, Run, SeenProgram, UserLine
from .findings import OFTEN, Finding

#: as many reads of single numbers at one line
MANY_READS: Final = 400
#: a line that recorded as many ops of one program is in a loop
MANY_TURNS: Final = 64
#: as many programs that a read runs beforehand are pieces of something
MANY_PIECES: Final = 16
#: an array of a piece has at most as many bytes
PIECE_BYTES: Final = 4096
#: of one number of many, all that is computed for it has at most as many bytes
NUMBER_BYTES: Final = 16384


def reads_by_element(events: Events) -> Iterator[Finding]:
    """Many reads of single numbers at one line, of one array or each computed for itself."""
    runs: defaultdict[UserLine, list[Run]] = defaultdict(list)
    for run in events.runs:
        runs[run.line].append(run)
    made_by = {run.first + k: run.program for run in events.runs
               for k in range(len(events.programs[run.program].wanted))}
    runs_of = Counter([run.program for run in events.runs])
    for line, reads in events.reads.items():
        if reads.count < MANY_READS or reads.nbytes > 16 * reads.count:
            continue
        if reads.count >= 10 * len(runs[line]):
            seconds = reads.seconds + events.recording(line)
            yield Finding(
                findings.READS_BY_ELEMENT, line, seconds,
                f"{reads.count} numbers are read one by one",
                [f"{seconds / reads.count * 1e6:.1f} us each"])
            continue
        # what a read needs beforehand, such as random numbers, is not what is read
        own = [run for run in runs[line] if run.evaluation.cause == READ]
        for number, count in Counter([run.program for run in own]).items():
            of = [run for run in own if run.program == number]
            # a step that takes what the step before made is no part of a computation of arrays
            if count < MANY_READS or _bytes_of(events.programs[number]) > NUMBER_BYTES or any(
                4 * runs_of[made_by[leaf]] > count
                for run in of for leaf in run.leaves if leaf in made_by
            ):
                continue
            lines = {line, *events.programs[number].lines()}
            seconds = sum(run.seconds for run in of) + reads.seconds
            seconds += sum(map(events.recording, lines))
            ops = len(events.programs[number].structure.specs)
            yield Finding(
                findings.READS_BY_ELEMENT, line, seconds,
                f"{count} numbers are computed and read one by one, each by {ops} ops on small "
                "arrays",
                [f"{seconds / count * 1e6:.1f} us each"])


def _bytes_of(program: SeenProgram) -> int:
    """Bytes of all that a program computes."""
    return sum(t.nbytes for i in program.structure.instructions for t in i.types)


class _Loop(NamedTuple):
    """A loop whose turns were recorded by one program, or by parts of a trace."""

    #: those to name, the first recorded first
    lines: list[UserLine]
    #: all whose ops it has
    body: list[UserLine]
    #: besides those of recording
    seconds: float
    text: str
    evidence: list[str]
    #: it is all of a loop, whatever else that does
    whole: bool


def unrolled_loops(events: Events) -> Iterator[Finding]:
    """Programs most of whose ops were recorded by a loop of the host, or that were cut."""
    # what reads for a shape cannot be a body
    reading = {run.line for run in events.runs if run.evaluation.cause == SHAPE}
    loops = [*_cut_traces(events), *_long_programs(events)]
    loops = [loop for loop in loops if loop.whole or reading.isdisjoint(loop.body)]
    # several programs have one loop: those of a first step and others, or of a backward pass
    groups: list[list[_Loop]] = []
    for loop in loops:
        for group in groups:
            if any(not set(loop.lines).isdisjoint(other.lines) for other in group):
                group.append(loop)
                break
        else:
            groups.append([loop])
    for group in groups:
        body = {line for loop in group for line in loop.body}
        seconds = sum(map(events.recording, body)) + sum(loop.seconds for loop in group)
        first = max(group, key=lambda loop: loop.seconds)
        evidence = [*first.evidence, *(loop.text for loop in group[:3] if loop is not first)]
        if first.whole:
            # the loop of which a boolean index is a part has to do without it first
            evidence += [f"{line} reads for a shape; where() does not"
                         for line in sorted(reading.intersection(body))]
        yield Finding(
            findings.UNROLLED_LOOP, max(first.lines, key=events.at), seconds, first.text,
            evidence)


def _long_programs(events: Events) -> Iterator[_Loop]:
    runs: defaultdict[int, list[Run]] = defaultdict(list)
    for run in events.runs:
        runs[run.program].append(run)
    for number, program in enumerate(events.programs):
        ops = len(program.structure.specs)
        if ops < MANY_TURNS:
            continue
        often = program.turns()
        turns = often[0][1]
        if turns < MANY_TURNS:
            continue
        body = [line for line, count in often if 2 * count >= turns]
        of = runs[number]
        # what the first run took more than others is compiling, which is longer for all turns
        seconds = sum(map(_scheduling, of))
        seconds += max(0.0, _running(of[0]) - min(map(_running, of)))
        yield _Loop(
            [line for line in body if program.is_derivative(line)] or body, body, seconds,
            f"a loop around this line recorded its body {turns} times: a program of {ops} ops, "
            f"run {len(of)} times",
            [f"{count} times {place}" for place, count in often[:4]], False)


def _scheduling(run: Run) -> float:
    """Seconds that went into making recorded ops a program."""
    timings = run.evaluation.timings
    return float(timings.get(COLLECT, 0.0) + timings.get(LOOKUP, 0.0))


def _running(run: Run) -> float:
    """Seconds of a run besides scheduling, and without the start of the process."""
    return run.seconds - _scheduling(run) - float(run.evaluation.timings.get(START, 0.0))


def _cut_traces(events: Events) -> Iterator[_Loop]:
    """Traces that had grown so long that parts of them were run."""
    cuts = [run for run in events.runs if run.evaluation.cause == CUT]
    if len(cuts) < OFTEN:
        return
    lines: Counter[UserLine] = Counter()
    for number, count in Counter([run.program for run in cuts]).items():
        for line, ops in events.programs[number].lines().items():
            lines[line] += ops * count
    ops = sum(lines.values())
    body = [line for line, count in lines.most_common() if 100 * count >= ops]
    yield _Loop(
        body, body, sum(map(_scheduling, cuts)),
        f"what a loop around this line records grew so long that it was cut {len(cuts)} times, "
        f"{ops} ops in all; the seconds are those of recording",
        [f"{count} ops by {place}" for place, count in lines.most_common(4)], True)


def made_in_pieces(events: Events) -> Iterator[Finding]:
    """Small arrays, each of which is a program of its own that a later read runs beforehand."""
    pieces: defaultdict[tuple[int, UserLine], list[Run]] = defaultdict(list)
    mains: Counter[tuple[int, UserLine]] = Counter()
    small = [all(t.nbytes <= PIECE_BYTES for i in program.structure.instructions for t in i.types)
             for program in events.programs]
    for run in events.runs:
        if run.evaluation.cause != PREPARATION:
            mains[run.thread, run.line] += 1
        elif small[run.program]:
            pieces[run.thread, run.line].append(run)
    for place, runs in pieces.items():
        if len(runs) < MANY_READS or len(runs) < MANY_PIECES * max(1, mains[place]):
            continue
        lines: Counter[UserLine] = Counter()
        for number, count in Counter([run.program for run in runs]).items():
            for line, ops in events.programs[number].lines().items():
                lines[line] += ops * count
        ops = sum(lines.values())
        body = [line for line, count in lines.items() if 20 * count >= ops]
        seconds = sum(run.seconds for run in runs) + sum(map(events.recording, body))
        yield Finding(
            findings.MADE_IN_PIECES, max(body, key=lambda line: (events.at(line), lines[line])),
            seconds,
            f"{len(runs)} small arrays are made of {ops} ops in all, and each is a program of its "
            f"own, run for {place[1]}",
            [f"{count} ops by {line}" for line, count in lines.most_common(4)])
