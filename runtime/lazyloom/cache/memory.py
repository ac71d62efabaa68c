"""Compiled programs in memory, by exact structure, and what was learned about each.

For one structure the set of outputs only grows and the set of donated inputs only shrinks,
so temporaries that happen to be alive cost at most one compile per position.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..locks import new_lock
from ..placements import Placement
from ..program.program import Program, Structure
from ..program.regions import ProgramRegions
from ..settings import tuning
from ..types import common_placement


class Choice(NamedTuple):
    """Which code generators take parts of programs, and how (:mod:`lazyloom.codegen`).

    Attributes:
        names: their names; None for those that are in use by default.
        verify: their results are compared with XLA's.
        segmented: parts of a program run one by one.
        coverage: the least part of a program's ops that they have to run, NaN for one that the
            environment gives and that is no number from 0 to 1.
        estimated: of the entry that runs with ``reproducible=True`` have where others go by
            measurements: they get parts by their estimates alone.
    """

    names: tuple[str, ...] | None = None
    verify: bool = False
    segmented: bool = False
    coverage: float = 0.0
    estimated: bool = False

    @property
    def watched(self) -> bool:
        """True if programs are compiled before they run, and not kept on disk."""
        return self.verify or self.segmented or self.coverage != 0.0


class DispatchInfo:
    """Everything that a run needs if it makes the same request as an earlier run.

    Attributes:
        wanted, donatable: the request; a run with the same request can use this.
        loaded: the compiled program, a :class:`~lazyloom.backends.backend.Executable`.
        position: the number of the program's output for each wanted result.
        taken: leaves whose memory the program takes.
        copied: leaves whose memory it would take but which are alive: it gets copies.
        bytes_in, bytes_out, bytes_donated: sizes, for the record.
        program: for the record.
        needs: how much memory must be available before a run, 0 if it is little.
        backend: the name of the backend that compiled it, for the record.
        regions: the parts of the program that other code generators run, for the record.
        segmented: the program reports how long each of its parts took.
        measured: measurements may have divided the program otherwise than estimates.
        unchecked: the program's outputs until a run of it has returned what they should be.
    """

    __slots__ = ("wanted", "donatable", "loaded", "position", "taken", "copied", "bytes_in",
                 "bytes_out", "bytes_donated", "program", "needs", "backend", "unchecked",
                 "regions", "segmented", "measured")

    def __init__(
        self, wanted: list[tuple[int, int]], donatable: list[int], loaded: Any,
        position: list[int], taken: list[int], copied: list[int], program: Program, backend: str,
        outputs: tuple[tuple[int, int], ...], measured: bool = False,
    ) -> None:  # fmt: skip
        self.backend = backend
        self.measured = measured
        self.regions: ProgramRegions = loaded.regions
        self.segmented: bool = loaded.segmented
        self.unchecked: tuple[tuple[int, int], ...] | None = outputs
        self.wanted = wanted
        self.donatable = donatable
        self.loaded = loaded
        self.needs: int = loaded.needs
        self.position = position
        self.taken = taken
        self.copied = copied
        self.program = program
        structure = program.structure
        instructions = structure.instructions
        self.bytes_in = sum(t.nbytes for t in structure.leaf_types)
        self.bytes_out = sum(instructions[n].types[r].nbytes for n, r in wanted)
        self.bytes_donated = sum(structure.leaf_types[k].nbytes for k in taken)


class Entry:
    """One structure's program.

    Attributes:
        outputs: (instruction, result) pairs that the executable returns, in order.
        position: output number by pair.
        aliases: donated leaf -> number of the output that takes its memory.
        program: the compiled or loaded program, or None before.
        dispatches: what runs with different requests needed, for the next ones.
        scalars: the newest run's scalar vectors: dtype -> (numbers, device array).
        used: when it was last used, by :data:`_clock`.
        lock: held while the program is looked up on disk or compiled.
        looked: it was looked up on disk.
        verdicts: the :class:`~lazyloom.codegen.verdicts.Verdicts` that may have divided its program
            otherwise than estimates, or None.
        choice: which code generators may take parts of it, and how.
        placement: of whole values where its leaves are, if not on the default device: then it is
            never run op by op or padded.
        first_run: the number of the evaluation that ran it first, and where in the user's program,
            a :class:`~lazyloom.trace.source.Site`; None before that.
        history: measurements of its runs, a :class:`~lazyloom.execute.history.History`, or None.
    """

    __slots__ = ("structure", "donate", "outputs", "position", "aliases", "program", "dispatches",
                 "scalars", "used", "lock", "first_run", "looked", "choice",
                 "history", "verdicts", "placement")

    def __init__(self, structure: Structure, donate: bool, estimated: bool = False) -> None:
        self.structure = structure
        self.donate = donate
        self.verdicts: Any = None
        self.outputs: tuple[tuple[int, int], ...] = ()
        self.position: dict[tuple[int, int], int] = {}
        self.aliases: dict[int, int] = {}
        self.program: Any = None
        self.dispatches: list[DispatchInfo] = []
        self.scalars: dict[Any, tuple[list[Any], Any]] = {}
        self.used = 0
        self.lock = new_lock()
        self.first_run: tuple[int, Any] | None = None
        self.looked = False
        self.choice: Choice = _selected[0]
        if estimated:
            self.choice = self.choice._replace(estimated=True)
        self.history: Any = None
        self.placement: Final[Placement | None] = common_placement(structure.leaf_types)

    def ran_first(self, evaluation: Any) -> None:
        """Note the evaluation that is about to run it first."""
        self.first_run = evaluation.number, evaluation.site
        evaluation.ran_first(len(_entries[KEEPS]) + len(_entries[DONATES]) - 1)

    def dispatch_info(
        self, wanted: list[tuple[int, int]], donatable: list[int]
    ) -> DispatchInfo | None:
        """What a run with this request needs, if an earlier run made the same request."""
        for info in self.dispatches:
            if info.wanted == wanted and info.donatable == donatable:
                return info
        return None

    def keep(self, info: DispatchInfo) -> None:
        """Remember what a run needed; the caller holds the lock."""
        self.dispatches = [info, *self.dispatches[: tuning.requests_kept - 1]]

    def set(
        self, outputs: tuple[tuple[int, int], ...], aliases: dict[int, int], program: Any,
        verdicts: Any = None,
    ) -> None:  # fmt: skip
        """Take over a program; the caller holds the lock."""
        global _loaded
        _loaded += 1
        self.dispatches = []
        self.position = {pair: i for i, pair in enumerate(outputs)}
        self.aliases = aliases
        self.outputs = outputs
        self.verdicts = verdicts
        self.program = program


#: entries by structure: of programs that keep their inputs, and of those that may donate them; then
#: of those of both that are divided by estimates alone, beside one that is not
_Tables = tuple[
    dict[Structure, Entry], dict[Structure, Entry], dict[Structure, Entry], dict[Structure, Entry]]
KEEPS: Final = 0
DONATES: Final = 1
ESTIMATED: Final = 2


def _tables() -> _Tables:
    return {}, {}, {}, {}


_entries: _Tables = _tables()
#: environment variables that make programs be verified, and run in segments, from the start
VERIFY: Final = "LAZYLOOM_CODEGEN_VERIFY"
SEGMENTED: Final = "LAZYLOOM_CODEGEN_SEGMENTED"
#: environment variable for the least part of each program's ops that generators have to run
COVERAGE: Final = "LAZYLOOM_CODEGEN_COVERAGE"


def on(variable: str) -> bool:
    """Return True if an environment variable says yes."""
    return os.environ.get(variable, "0").lower() not in ("", "0", "off", "no", "false")


def _coverage() -> float:
    try:
        coverage = float(os.environ.get(COVERAGE, "").strip() or "0")
    except ValueError:
        coverage = -1.0
    return coverage if 0 <= coverage <= 1 else float("nan")


#: the choice of code generators of the entries' programs
_selected: Final[list[Choice]] = [Choice(None, on(VERIFY), on(SEGMENTED), _coverage())]
#: whether code generators in use ask for run-time numbers, which then are constants of programs
#: (:mod:`lazyloom.execute.known_numbers`): NONE, SOME, or UNKNOWN before they are imported
NONE: Final = 0
SOME: Final = 1
UNKNOWN: Final = 2
numbers_wanted: Final[list[int]] = [UNKNOWN]
#: the entries of other choices
_others: Final[dict[Choice, _Tables]] = {}
_lock: Final[Any] = new_lock()
_clock = 0
#: programs that were taken over since mappings were counted: what runs op by op has none
_loaded = 0


def mappings() -> int:
    """How many memory mappings the process has; 0 if the system does not say."""
    try:
        with open("/proc/self/maps", "rb") as f:
            return f.read().count(b"\n")
    except OSError:
        return 0


def most_mappings() -> int:
    """How many memory mappings the system allows a process."""
    try:
        with open("/proc/sys/vm/max_map_count", "rb") as f:
            return int(f.read())
    except (OSError, ValueError):
        return 65_530


def entry_of(structure: Structure, donate: bool, estimated: bool = False) -> Entry:
    """The entry of a structure, created if missing.

    ``estimated``: the one that is divided by estimates alone, beside one that is not.
    """
    global _clock, _loaded
    table = _entries[DONATES if donate else KEEPS]
    if estimated:
        table = _entries[ESTIMATED + DONATES if donate else ESTIMATED + KEEPS]
    entry = table.get(structure)
    if entry is None:
        with _lock:
            entry = table.get(structure)
            if entry is None:
                if len(table) >= tuning.programs_kept:
                    _forget(table)
                elif _loaded >= tuning.mappings_interval:
                    _loaded = 0
                    if mappings() > tuning.mappings_part * most_mappings():
                        for each in _entries:
                            _forget(each)
                entry = table[structure] = Entry(structure, donate, estimated)
    _clock += 1
    entry.used = _clock
    return entry


def known(structure: Structure, donate: bool) -> Entry | None:
    """The entry of a structure if there is one; the lookup does not count as a use."""
    return _entries[DONATES if donate else KEEPS].get(structure)


def _forget(table: dict[Structure, Entry]) -> None:
    """Drop the least recently used eighth of the entries."""
    oldest = sorted(table.values(), key=_by_use)
    for entry in oldest[: max(1, len(table) // 8)]:
        del table[entry.structure]


def _by_use(entry: Entry) -> int:
    return entry.used


def entries() -> list[Entry]:
    """All entries that were compiled or loaded, least recently used first."""
    with _lock:
        with_program = [e for table in _entries for e in table.values() if e.program is not None]
    return sorted(with_program, key=_by_use)


def ran_before(number: int) -> list[tuple[Structure, str]]:
    """The structures that ran first in an evaluation before one, and where; the newest last."""
    with _lock:
        found: list[tuple[int, Any, Structure]] = []
        for table in _entries:
            for e in table.values():
                first = e.first_run
                if first is not None and first[0] < number:
                    found.append((first[0], first[1], e.structure))
    found.sort(key=_by_number)
    return [(structure, str(site)) for _, site, structure in found]


def _by_number(found: tuple[int, Any, Structure]) -> int:
    return found[0]


def selected() -> Choice:
    """The choice of code generators with which programs are compiled."""
    return _selected[0]


def select(choice: Choice) -> None:
    """Use the programs of a choice of code generators from now on."""
    global _entries
    with _lock:
        if choice != _selected[0]:
            _others[_selected[0]] = _entries
            found = _others.pop(choice, None)
            _entries = _tables() if found is None else found
            _selected[0] = choice


def drop(unwanted: Callable[[Any], bool]) -> None:
    """Forget the entries whose program is not wanted any more; runs in progress continue."""
    with _lock:
        for tables in (_entries, *_others.values()):
            for table in tables:
                gone = [s for s, e in table.items()
                        if e.program is not None and unwanted(e.program)]
                for structure in gone:
                    del table[structure]


def clear() -> None:
    """Forget every program in memory."""
    with _lock:
        _others.clear()
        for table in _entries:
            table.clear()
