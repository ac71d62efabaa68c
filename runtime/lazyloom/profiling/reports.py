"""Reports: what a profile found, as text, as data, as a page and as a timeline."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from ..program.evaluations import evaluations
from .document import document_of
from .events import Events, Run, SeenProgram
from .findings import Finding
from .rules import found_in


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
        """The findings, and so many of the lines that took the longest."""
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
        return "\n".join(told)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (``.html``), the data (``.json``), a timeline for Perfetto
        (``.trace.json``), or text (any other name). Raises OSError."""
        name = os.fspath(path)
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
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def _short(file: str) -> str:
    """A file's name from the working directory on, if it is below it."""
    here = os.getcwd() + os.sep
    return file[len(here):] if file.startswith(here) else file


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
                structure, list(program.outputs), [e.site] * len(structure.specs)))
        run = Run(0, clock, e, number, (), 0)
        clock = run.ended = clock + e.seconds
        events.runs.append(run)
    events.ended = clock
    return ProfileReport(events, True)
