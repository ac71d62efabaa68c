"""Reports: what a profile found, as text, as data, as a page and as a timeline."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from ..errors import printable
from ..files import replace
from ..program.evaluations import evaluations
from ..program.reasons import COLLECT, WAIT
from .document import document_of
from .events import Events, Run, SeenProgram
from .findings import Finding
from .machine import MachinePeaks
from .rules import found_in, size_text

#: so many programs are told as text
PROGRAMS: Final = 3


class ProfileReport:
    """What a profile found. Prints as text.

    Attributes:
        findings: the faults, the costliest first.
    """

    def __init__(self, events: Events, sources: bool) -> None:
        self._events: Final = events
        self._sources: Final = sources
        self.findings: Final[list[Finding]] = found_in(events)
        self._data: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return self.text()

    @property
    def data(self) -> dict[str, Any]:
        """The report as JSON has it; ``docs/why_slow.md`` says what is in it."""
        if self._data is None:
            self._data = document_of(self._events, self.findings, self._sources)
        return self._data

    def text(self, lines: int = 10) -> str:
        """The findings, so many of the lines that took the longest, the programs that did, what
        failed; ``lines=0``: no lines and no programs."""
        about = self.data["about"]
        told = [f"{about['seconds']:.2f} s, {about['processor_seconds']:.2f} s of processor time, "
                f"{about['runs']} runs of {len(self.data['programs'])} programs"]
        if not self.findings:
            told.append("no findings")
        for number, f in enumerate(self.data["findings"], 1):
            part = f["seconds"] / max(about["seconds"], 1e-9)
            told += ["", f"{number}. {f['rule']}  {_short(f['file'])}:{f['line']}  "
                     f"{f['seconds']:.2f} s, {part:.0%}"]
            if f["source"]:
                told.append(f"     {f['source']}")
            told.append(f"   {f['text']}")
            told += [f"     {item}" for item in f["evidence"]]
            told.append(f"   {f['advice']}")
        if lines:
            told += ["", "seconds by line:",
                     "    total  record compile     run    wait  upload   runs    reads"]
        for row in self.data["lines"][:lines]:
            running = row["running"] + row["scheduling"] + row["starting"]
            told.append(
                f"  {row['seconds']:7.3f} {row['recording']:7.3f} {row['compiling']:7.3f} "
                f"{running:7.3f} {row['waiting']:7.3f} {row['uploading']:7.3f} "
                f"{row['runs']:6d} {row['reads']:8d}  "
                f"{_short(row['file'])}:{row['line']}  {row['source'][:60]}")
        if lines:
            told += programs_text(self.data)
        told += _failures_text(self.data)
        return "\n".join(told)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (``.html``), the data (``.json``), a timeline for Perfetto
        (``.trace.json``), or text (any other name).

        A file that is there is replaced when all is written. Raises OSError."""
        name = os.fsdecode(path)
        if name.endswith(".trace.json"):
            from .timeline import timeline

            text = json.dumps(timeline(self.data))
        elif name.endswith(".json"):
            text = json.dumps(self.data)
        elif name.endswith((".html", ".htm")):
            from .page import page

            text = page(self.data)
        else:
            text = self.text() + "\n"
        # what has no encoding, such as a part of a file's name, is escaped
        replace(name, [text.encode("utf-8", "backslashreplace")])


def machine_text(peaks: MachinePeaks) -> str:
    """What a machine can do at best, in a line."""
    flops = ", ".join(f"{rate / 1e9:.1f} Gflop/s in {name}" for name, rate in peaks.flops.items())
    return f"{peaks.machine}: {flops}, {peaks.bandwidth / 1e9:.1f} GB/s"


def programs_text(data: dict[str, Any]) -> list[str]:
    """The programs that took the longest: form, memory, work, and the bound beside the time."""
    told = ["", "programs that took the longest:"]
    longest = sorted(enumerate(data["programs"]), key=lambda item: -item[1]["seconds"])
    for number, p in longest[:PROGRAMS]:
        if p["details"] is None:
            continue
        told.append(f"  program {number}, {_many(p['ops'], 'op')}, {_many(p['runs'], 'run')}, "
                    f"{p['seconds']:.3f} s, first at {_short(p['file'])}:{p['line']}")
        for ran in p["ran"]:
            captured = ", a captured call" if ran["captured"] else ""
            told.append(f"    {_many(ran['runs'], 'run')} {ran['form'].replace('_', ' ')}{captured}"
                        + (f": {ran['why']}" if ran["why"] else ""))
        memory, cost = p["details"]["memory"], p["details"]["cost"]
        used = memory["compiled"]
        told.append("    memory: " + (
            f"{size_text(used['peak'])} (inputs {size_text(used['arguments'])}, results "
            f"{size_text(used['outputs'])}, of which {size_text(used['aliased'])} over inputs, "
            f"temporaries {size_text(used['temporaries'])})" if used is not None else
            f"{size_text(memory['plan']['peak'])} at most, op by op"))
        told.append(f"    work: {_cost_text(cost)}")
        generators = p["details"]["generators"]
        # one is in use with every installation, and takes nothing of most programs
        if generators is not None and (generators["regions"] or generators["left"]):
            told.append(f"    generators: {generators['summary']}")
            told += [f"      {row['ops']} ops stay with XLA, {row['reason']}"
                     for row in generators["reasons"][:3]]
    told.append(f"  {data['machine']['name']}: " + (
        data["machine"]["note"] or "bounds are what was measured of it"))
    return told if len(told) > 3 else []


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _cost_text(cost: dict[str, Any]) -> str:
    text = (f"{cost['flops'] / 1e6:.2f} Mflop, {size_text(cost['bytes'])} moved, as the "
            f"{cost['source']} counts" if cost["source"] != "XLA" else
            f"{cost['flops'] / 1e6:.2f} Mflop, {size_text(cost['bytes'])} moved, as XLA counts")
    measured = cost["measured"]
    text += "; no run was waited for" if measured is None else f"; {measured * 1e3:.3f} ms a run"
    if cost["bound"] is not None:
        text += f", at least {cost['bound'] * 1e3:.3f} ms by {cost['limit']}"
    return text


def _failures_text(data: dict[str, Any]) -> list[str]:
    told: list[str] = []
    if data["failures"]:
        told += ["", f"failures and refused donations: {len(data['failures'])}"]
        told += [f"  {f['kind']}" + (f" at {_short(f['file'])}:{f['line']}" if f["file"] else "")
                 + f": {f['text']}" for f in data["failures"][:10]]
    for row in data["restarts"]:
        told.append(f"  {row['times']} times: {row['text']}")
    return told


def _short(file: str) -> str:
    """A file's name from the working directory on, if it is below it."""
    try:
        here = os.getcwd() + os.sep
    except OSError:
        # it was removed
        return printable(file)
    return printable(file[len(here):] if file.startswith(here) else file)


def report() -> ProfileReport:
    """Return a report of the evaluations whose records are kept (the option ``records_kept``).

    It finds less than a profile does: who reads what, and where time goes between evaluations, is
    only noted while one is made.
    """
    events = Events()
    numbers: dict[Any, int] = {}
    records = [e for e in evaluations() if e.program is not None]
    clock = 0.0
    for e in records:
        program = e.program
        assert program is not None
        structure = program.structure
        number = numbers.get(structure)
        if number is None:
            number = numbers[structure] = len(events.programs)
            events.programs.append(SeenProgram(
                structure, list(program.outputs), [e.site] * len(structure.specs),
                program.donated))
        run = Run(0, clock, e, number, (), 0)
        # as a profile has it: from after the collecting to before the wait
        run.ended = clock + e.seconds - e.timings.get(COLLECT, 0.0) - e.timings.get(WAIT, 0.0)
        clock += e.seconds
        events.runs.append(run)
    events.ended = clock
    return ProfileReport(events, True)
