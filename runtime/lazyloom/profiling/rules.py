"""The rules by which a report finds faults. Each looks at what an observer noted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from ..codegen.report import explain
from ..program.reasons import PREPARATION, READ, SHAPE
from . import comparing, findings
from .comparing import Contrast, contrast
from .events import Events, RoundTrip, Run, UserLine
from .findings import OFTEN, FaultRule, Finding, noticeable
from .loops import made_in_pieces, reads_by_element, unrolled_loops
from .machine import bandwidth_here


def found_in(events: Events, least: float | None = None) -> list[Finding]:
    """All findings that cost at least so many seconds, the costliest first."""
    if least is None:
        least = noticeable(events)
    found: list[Finding] = []
    for rule in (
        _reads_in_steps, _computed_by_the_host, _programs_that_change, _unused_results,
        _captured_anew, _donated_kept, reads_by_element, unrolled_loops, made_in_pieces,
        _uploaded_again, _left_on_xla,
    ):  # fmt: skip
        found += [f for f in rule(events) if f.seconds >= least]
    found.sort(key=lambda f: -f.seconds)
    return _once(found)


def _once(found: list[Finding]) -> list[Finding]:
    """Of findings of one rule at one line, only the costliest."""
    seen: set[tuple[int, UserLine]] = set()
    kept: list[Finding] = []
    for f in found:
        if (f.rule.number, f.line) not in seen:
            seen.add((f.rule.number, f.line))
            kept.append(f)
    return kept


def _by_thread(events: Events) -> Iterator[list[Run]]:
    threads: defaultdict[int, list[Run]] = defaultdict(list)
    for run in events.runs:
        threads[run.thread].append(run)
    yield from threads.values()


def _producers(events: Events) -> dict[int, Run]:
    return {run.first + k: run for run in events.runs
            for k in range(len(events.programs[run.program].wanted))}


def _reads_in_steps(events: Events) -> Iterator[Finding]:
    """A program whose results the next one takes, whose results it takes in turn."""
    for runs in _by_thread(events):
        yield from _reads_of_thread(
            events, [run for run in runs if run.evaluation.cause != PREPARATION])
    shapes = Counter([run.line for run in events.runs if run.evaluation.cause == SHAPE])
    for line, count in shapes.items():
        reads = events.reads.get(line)
        if count >= OFTEN and reads is not None:
            yield Finding(
                findings.READ_IN_STEP, line, reads.seconds,
                f"the shape of a result depends on values, such as that of an index by a boolean "
                f"array: {count} programs ran so that these could be read",
                [f"seconds of waiting: {reads.seconds:.2f}"])


def _computed_by_the_host(events: Events) -> Iterator[Finding]:
    """Arrays read in the middle of a step, of which the host makes what the step goes on with."""
    taken: defaultdict[int, list[int]] = defaultdict(list)
    reading: defaultdict[UserLine, list[int]] = defaultdict(list)
    for run in events.runs:
        reading[run.line].append(run.program)
        for leaf in run.leaves:
            taken[leaf].append(run.program)
    trips: defaultdict[tuple[UserLine, UserLine, Any], list[RoundTrip]] = defaultdict(list)
    for trip in events.round_trips:
        if trip.number in taken:
            trips[trip.read, trip.upload, trip.code].append(trip)
    for (line, upload, code), seen in trips.items():
        if len(seen) < OFTEN:
            continue
        counts = Counter([n for trip in seen for n in taken[trip.number]])
        counts |= Counter(reading[line])
        # not what the first steps do besides
        programs = {n for n, count in counts.items() if 2 * count >= len(seen)}
        if upload != line and not _in_between(events, programs, line, upload, code):
            continue
        reads = events.reads[line]
        seconds = reads.seconds + sum(trip.seconds for trip in seen) + events.recording(line)
        yield Finding(
            findings.READ_IN_STEP, line, seconds,
            f"an array is read in the middle of a step, and what the host makes of it is uploaded "
            f"for the rest of the step, {len(seen)} times",
            [f"{size_text(seen[-1].read_bytes)} read here, {size_text(seen[-1].nbytes)} uploaded "
             f"by {upload}", f"seconds at this read, with what the host computes: {seconds:.2f}"])


def _in_between(
    events: Events, programs: set[int], line: UserLine, upload: UserLine, code: Any
) -> bool:
    """Whether a step records ops before a read, and others from the upload that follows on.

    Only the order of lines tells: a step that ends at a read and begins with an upload runs the
    same programs.
    """
    if code is None or upload.line < line.line:
        return False
    recorded = {n for program in programs for n in events.programs[program].lines_in(code)}
    return min(recorded, default=line.line) < line.line and (
        max(recorded, default=0) >= upload.line)


def _reads_of_thread(events: Events, runs: list[Run]) -> Iterator[Finding]:
    place = {id(run): n for n, run in enumerate(runs)}
    producer = _producers(events)
    consumers: defaultdict[int, list[int]] = defaultdict(list)
    for n, run in enumerate(runs):
        for leaf in run.leaves:
            source = producer.get(leaf)
            if source is not None and id(source) in place:
                consumers[leaf].append(n)
    splits: defaultdict[tuple[UserLine, int], list[tuple[Run, int, int]]] = defaultdict(list)
    for n, run in enumerate(runs[:-1]):
        if run.evaluation.cause != READ:
            continue
        after = runs[n + 1]
        if after.program == run.program or after.line == run.line:
            continue
        sizes = events.programs[run.program].result_bytes()
        # what is made here for the rest of the step alone
        handed = sum(
            size for k, size in enumerate(sizes)
            if consumers.get(run.first + k) == [n + 1]
            and run.first + k not in events.read_results)
        if handed:
            splits[run.line, run.program].append((run, handed, after.program))
    for (line, program), seen in splits.items():
        if len(seen) < OFTEN:
            continue
        reads = events.reads.get(line)
        waited = 0.0 if reads is None else reads.seconds
        seconds = waited + sum(run.seconds for run, _, _ in seen[1:])
        handed = seen[0][1]
        second = Counter([after for _, _, after in seen]).most_common(1)[0][0]
        ops = [len(events.programs[p].structure.specs) for p in (program, second)]
        yield Finding(
            findings.READ_IN_STEP, line, seconds,
            f"a read in the middle of a step runs the step as two programs, of {ops[0]} and "
            f"{ops[1]} ops, {len(seen)} times; the first hands {size_text(handed)} to the second",
            [f"seconds at this read: {seconds:.2f}"])


_CHANGES: Final[dict[str, tuple[FaultRule, str]]] = {
    comparing.SHAPE: (findings.SHAPES_CHANGE, "the shape changes"),
    comparing.ATTRIBUTE: (findings.ATTRIBUTE_CHANGES, "an attribute changes"),
    comparing.DTYPE: (findings.DTYPE_CHANGES, "the dtype changes"),
    comparing.LENGTH: (findings.GROWING_WORK, "the work grows"),
}


def _programs_that_change(events: Events) -> Iterator[Finding]:
    """Programs of one line that differ in shapes, attributes, dtypes, or in length."""
    lines: defaultdict[tuple[int, UserLine], list[Run]] = defaultdict(list)
    for run in events.runs:
        # what a read needs beforehand, such as first parameters, ran for other lines
        if run.evaluation.error is None and run.evaluation.cause != PREPARATION:
            lines[run.thread, run.line].append(run)
    for (_, line), runs in lines.items():
        by_kind: defaultdict[str, list[tuple[Run, str]]] = defaultdict(list)
        seen = {runs[0].program}
        before = runs[0]
        switches: Counter[str] = Counter()
        # a line that reads two values has two kinds of programs in turns
        alike = {_ops(events, before): before}
        for run in runs[1:]:
            if run.program == before.program:
                continue
            d = _contrast(events, before, run)
            other = alike.get(_ops(events, run), before)
            if d.kind != comparing.DTYPE and other is not before:
                d = _contrast(events, other, run)
            alike[_ops(events, run)] = run
            switches[d.kind] += 1
            if run.program not in seen or d.kind == comparing.DTYPE:
                seen.add(run.program)
                by_kind[d.kind].append((run, d.text))
            before = run
        for kind, (rule, text) in _CHANGES.items():
            changed = by_kind.get(kind, ())
            if len(changed) < OFTEN:
                continue
            if kind == comparing.LENGTH and not (
                # what filled a window of the last steps grows no more
                _grows(events, changed) and 2 * runs.index(changed[-1][0]) >= len(runs)
            ):
                continue
            seconds = _extra_seconds(runs, [run for run, _ in changed], kind)
            distinct = len({run.program for run, _ in changed})
            yield Finding(
                rule, line, seconds,
                f"{text} from run to run: {switches[kind]} times in {len(runs)} runs, "
                f"{distinct} programs of one line",
                [t for _, t in changed[:3]])


def _contrast(events: Events, before: Run, run: Run) -> Contrast:
    return contrast(events.programs[before.program].structure,
                    events.programs[run.program].structure)


def _ops(events: Events, run: Run) -> tuple[Any, ...]:
    """What a program's ops are, in order."""
    return tuple([s.op for s in events.programs[run.program].structure.specs])


def _grows(events: Events, changed: Any) -> bool:
    sizes = []
    for run, _ in changed:
        structure = events.programs[run.program].structure
        sizes.append(sum([1 + len(i.operands) for i in structure.instructions]))
    return sum(b > a for a, b in zip(sizes, sizes[1:], strict=False)) >= 0.8 * (len(sizes) - 1)


def _extra_seconds(runs: list[Run], changed: list[Run], kind: str) -> float:
    """What runs took that a change caused, beyond what runs of the line usually take."""
    others = [run.seconds for run in runs if run not in changed]
    usual = median(others) if len(others) >= OFTEN else min(run.seconds for run in runs)
    if kind == comparing.DTYPE:
        by_program: defaultdict[int, list[float]] = defaultdict(list)
        for run in runs:
            by_program[run.program].append(run.seconds)
        usual = min(median(s) for s in by_program.values())
        return sum(run.seconds - usual for run in runs)
    return sum(max(0.0, run.seconds - usual) for run in changed)


def _unused_results(events: Events) -> Iterator[Finding]:
    """Large results that no later program takes and nobody reads."""
    used = set(events.read_results)
    for run in events.runs:
        used.update(run.leaves)
    by_program: defaultdict[int, list[Run]] = defaultdict(list)
    for run in events.runs:
        by_program[run.program].append(run)
    rate, source = bandwidth_here()
    for number, runs in by_program.items():
        if len(runs) < OFTEN:
            continue
        program = events.programs[number]
        sizes = program.result_bytes()
        lines: defaultdict[UserLine, int] = defaultdict(int)
        for k, size in enumerate(sizes):
            # what the last runs made may be used after the profile
            if all(run.first + k not in used for run in runs[:-2]):
                lines[program.line(program.wanted[k][0])] += size
        total = sum(lines.values())
        if not total:
            continue
        line = max(lines, key=lambda place: lines[place])
        # a run op by op writes all values, whether something refers to them or not
        fused = [run for run in runs if run.evaluation.form != "op_by_op"]
        moved = sum(sizes) + sum(t.nbytes for t in program.structure.leaf_types)
        seconds = sum(min(total / rate, run.seconds * total / moved) for run in fused)
        yield Finding(
            findings.UNUSED_RESULT, line, seconds,
            f"values computed here are alive when their program runs, and nothing uses them: "
            f"{size_text(total)} a run, {len(fused)} runs; estimated from what writing them takes",
            [*[f"{size_text(size)} from {place}" for place, size in sorted(
                lines.items(), key=lambda item: -item[1])[:4]], source])


def _captured_anew(events: Events) -> Iterator[Finding]:
    """One function's code, captured as many function objects at one line."""
    groups: defaultdict[tuple[UserLine, Any], list[Any]] = defaultdict(list)
    for call in events.calls:
        if call.code is not None:
            groups[call.line, call.code].append(call)
    for (line, _), calls in groups.items():
        first = sum(call.first for call in calls)
        if first < OFTEN:
            continue
        # a function that is made once has its first call recorded as well; what recorded ops
        # run for is to be done in any case
        seconds = sum(call.seconds for call in calls[1:])
        what = ("captures began at this line, of the same ops" if isinstance(calls[0].code, tuple)
                else "calls at this line were the first of a function that was just made, and so "
                "recorded")
        yield Finding(
            findings.CAPTURED_ANEW, line, seconds,
            f"{calls[0].name} is captured anew: {first} {what}",
            [f"{seconds / max(1, len(calls) - 1) * 1e6:.1f} us of recording each"])


def _donated_kept(events: Events) -> Iterator[Finding]:
    """Programs that had to copy inputs whose memory they reuse."""
    groups: defaultdict[int, list[Run]] = defaultdict(list)
    for run in events.runs:
        if run.evaluation.copied:
            groups[run.program].append(run)
    rate, source = bandwidth_here()
    for number, runs in groups.items():
        if len(runs) < OFTEN:
            continue
        types = events.programs[number].structure.leaf_types
        copied = Counter(k for run in runs for k in run.evaluation.copied)
        nbytes = sum(types[k].nbytes * count for k, count in copied.items())
        # a copy reads and writes them
        seconds = 2 * nbytes / rate
        yield Finding(
            findings.DONATED_KEPT, runs[-1].line, seconds,
            f"{len(runs)} runs copied inputs whose memory their program reuses, since something "
            "still referred to them; estimated from what copying takes",
            [*[f"input {k}, {types[k].text}: {count} times"
               for k, count in copied.most_common(4)], source])


def _uploaded_again(events: Events) -> Iterator[Finding]:
    """The same data of the host, copied again and again by one line."""
    for (line, _), uploads in events.uploads.items():
        if uploads.count < OFTEN:
            continue
        seconds = uploads.seconds - uploads.longest
        yield Finding(
            findings.UPLOADED_AGAIN, line, seconds,
            f"the same {uploads.text} is copied from the host {uploads.count} times, "
            f"{size_text(uploads.nbytes)} in all", [])


def _left_on_xla(events: Events) -> Iterator[Finding]:
    """Heavy ops that no code generator takes, in programs of which one takes others."""
    seconds: defaultdict[int, float] = defaultdict(float)
    first: dict[int, Run] = {}
    for run in events.runs:
        seconds[run.program] += run.seconds
        first.setdefault(run.program, run)
    for number, took in seconds.items():
        if took < noticeable(events):
            continue
        program = first[number].evaluation.program
        if program is None:
            continue
        report = explain(program)
        left = report.left_behind()
        if not left:
            continue
        instructions = program.structure.instructions
        work = {n: work_of(i) for n, i in enumerate(instructions) if i.spec.heavy}
        heaviest = max(left, key=lambda n: work[n])
        part = sum(work[n] for n in left) / sum(work.values())
        yield Finding(
            findings.LEFT_ON_XLA, events.programs[number].line(heaviest), took * part,
            f"{len(left)} of {len(work)} products, convolutions and their like stay with XLA, with "
            f"{part:.0%} of that work, where a code generator takes the others; the seconds are of "
            "these ops as they run now",
            [report.line(n) for n in left[:4]])


def work_of(i: Any) -> float:
    """Floating-point operations of a heavy op, as of a product of its first two operands."""
    product = float(i.types[0].size)
    for t in i.operand_types[:2]:
        product *= 1 if t is None else t.size
    return 2 * math.sqrt(product)


def size_text(nbytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"
