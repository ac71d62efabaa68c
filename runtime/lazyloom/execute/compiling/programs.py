"""Lookup of a program's executable: in memory, on disk, or by compiling it."""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from ... import logs, memory_limits, settings, strict
from ...backends import fingerprint
from ...backends.backend import Executable, NotLoaded, NotLowered, Request
from ...backends.returned import check_executable, check_number
from ...backends.selection import backend
from ...cache import disk, memory
from ...codegen import registry, verdicts
from ...counters import counters
from ...host import storage
from ...interrupts import reraise_from_handler
from ...ops.spec import TABLE
from ...program.difference import RESULTS, Difference, difference_of
from ...program.donation import match_donations, program_of_plan
from ...program.evaluations import Evaluation
from ...program.plan import Plan
from ...program.program import Structure
from ...startup import starting
from ..history import History, history_of
from . import coverage, messages

_LENGTH: Final = struct.Struct("<Q")
#: what follows a structure in a description, whether its program keeps its inputs or donates them
_ENDS: Final = (b"\nkeep", b"\ndonate")
_GENERATORS: Final = b"\ngenerators "

Outputs = tuple[tuple[int, int], ...]


class DeadlyError(Exception):
    """To compile the program has ended the processes that did; this one would be the next."""


class _Stored(NamedTuple):
    outputs: Outputs
    aliases: dict[int, int]
    code: bytes


def prepared(entry: memory.Entry, plan: Plan, donate: bool) -> memory.DispatchInfo:
    """What a run of the plan needs; finds or compiles its program.

    Raises NotLowered, and whatever the backend raises that cannot compile the program.
    """
    plan.evaluation.backend = backend().name
    estimates = by_estimates()
    if not (estimates and (entry.verdicts is not None or _to_be_measured(entry))):
        with entry.lock:
            # another thread may have put one there meanwhile
            if not (estimates and entry.verdicts is not None):
                return _prepared(entry, plan, donate)
    entry = estimated(entry)
    with entry.lock:
        return _prepared(entry, plan, donate)


def by_estimates() -> bool:
    """Whether estimates alone divide this thread's programs, whatever was measured."""
    return verdicts.in_force() is verdicts.NONE


def _prepared(entry: memory.Entry, plan: Plan, donate: bool) -> memory.DispatchInfo:
    find(entry, plan.wanted, plan.donatable, donate, plan.evaluation, settings.watching[0])
    return dispatch_of(entry, plan.wanted, plan.donatable, donate)


def estimated(entry: memory.Entry) -> memory.Entry:
    """The entry of a program for runs with ``reproducible=True``: divided by estimates alone."""
    return entry if entry.choice.estimated else memory.entry_of(entry.structure, entry.donate, True)


def _to_be_measured(entry: memory.Entry) -> bool:
    """Whether the program that an entry is to have is divided by measurements."""
    if entry.program is not None or entry.choice.estimated:
        return False
    return bool(verdicts.current().key(entry.structure, generators_of(entry)))


def dispatch_of(
    entry: memory.Entry, wanted: list[tuple[int, int]], donatable: list[int], donate: bool
) -> memory.DispatchInfo:
    """What a run needs that wants this of the entry's program; the caller holds its lock."""
    position = entry.position
    aliases = entry.aliases
    given = set(donatable)
    taken = [k for k in aliases if k in given]
    copied = [k for k in aliases if k not in given]
    # the entry's structure is equal to the plan's and decoded once for all runs
    structure = entry.structure
    record = program_of_plan(structure, wanted, donatable if donate else [])
    found = memory.DispatchInfo(
        wanted, donatable, entry.program, [position[p] for p in wanted], taken, copied, record,
        backend().name, entry.outputs, entry.verdicts is not None)
    entry.keep(found)
    return found


def find(
    entry: memory.Entry, wanted: list[tuple[int, int]], donatable: list[int], donate: bool,
    evaluation: Evaluation, tell: bool = False,
) -> None:
    """Have the entry's program return what is wanted; the caller holds its lock.

    Args:
        tell: the strict mode "compiles" is told if it has to be compiled.

    Raises DeadlyError, NewProgramError, and what :func:`compiled` raises.
    """
    if entry.program is not None and all(p in entry.position for p in wanted):
        evaluation.found = "memory"
        counters["program_hits"] += 1
        return
    by = _verdicts(entry)
    stored = look(entry, wanted, donate, evaluation, by)
    if stored is None:
        return
    if deadly(entry, donate):
        raise DeadlyError(
            f"the program is not compiled in this process, as {history_of(entry).failure}. "
            "It runs op by op without options(reproducible=True)")
    returns_less = entry.program is not None
    if tell and strict.asked("compiles") and (returns_less or never_ran(entry)):
        _tell(entry, evaluation)
    request = asked(entry, wanted, donatable, donate, by, stored)
    with messages.told(entry.structure, evaluation, entry.choice.watched):
        executable = compiled(request)
    least: float = entry.choice.coverage
    if least:
        coverage.check(request.structure, request.outputs, executable.regions, evaluation, least)
    evaluation.timings.update(executable.timings)
    if returns_less:
        evaluation.returns_less()
    evaluation.found = "compiled"
    if logs.hears("compile", logs.INFO):
        seconds = sum(executable.timings.values())
        logs.say("compile", logs.INFO, f"compiled {text_of(entry, evaluation)} in "
                 f"{seconds * 1e3:.0f} ms; {why_new(entry)}")
    keep(entry, request, donate, executable)


def never_ran(entry: memory.Entry) -> bool:
    """Whether this process has not run the entry's structure in any form."""
    history: History | None = entry.history
    return entry.program is None and (history is None or history.runs == 0)


def tell_new(entry: memory.Entry, plan: Plan, donate: bool) -> None:
    """Tell the strict mode "compiles" of a program that is neither in memory nor on disk.

    Raises NewProgramError.
    """
    with entry.lock:
        if entry.program is not None or look(
            entry, plan.wanted, donate, plan.evaluation, _verdicts(entry)) is None:
            return
    _tell(entry, plan.evaluation)


def _tell(entry: memory.Entry, evaluation: Evaluation) -> None:
    ops = len(entry.structure.instructions)
    try:
        strict.occurred(
            "compiles", evaluation.site,
            f"a new program of {ops} op{'s' if ops > 1 else ''} was to run for a "
            f"{evaluation.reason}", why_new(entry))
    except BaseException:
        if evaluation.is_new:
            # it does not run
            entry.first_run = None
        raise


def why_new(entry: memory.Entry) -> str:
    """Why a program is to be compiled, as a part of a sentence.

    It is compared with those that ran before it did first, or with all if it never ran by itself.
    """
    number, site = entry.first_run or (sys.maxsize, "")
    known = memory.ran_before(number)
    difference = Difference(RESULTS, len(known)) if entry.program is not None else (
        difference_of(entry.structure, str(site), known))
    return difference.in_one_line()


def text_of(entry: memory.Entry, evaluation: Evaluation) -> str:
    """A program and what it is for, in words."""
    ops = len(entry.structure.instructions)
    return (f"a program of {ops} op{'s' if ops > 1 else ''} for the {evaluation.reason} at "
            f"{evaluation.site}")


def _verdicts(entry: memory.Entry) -> verdicts.Verdicts:
    """The verdicts by which this thread has an entry's program divided."""
    return verdicts.NONE if entry.choice.estimated else verdicts.in_force()


def look(
    entry: memory.Entry, wanted: list[tuple[int, int]], donate: bool, evaluation: Evaluation,
    by: verdicts.Verdicts | None = None,
) -> Outputs | None:  # fmt: skip
    """Load the entry's program from disk; None where that was done, else what is stored there.

    It is the one that verdicts divide, or estimates without any. The caller holds the entry's lock.
    """
    stored: Outputs = ()
    description = None if entry.choice.watched else _description(
        entry.structure, donate, generators_of(entry), by)
    if description is not None and not (entry.looked and entry.program is None):
        kept = _from_disk(description, evaluation)
        if kept is not None:
            stored = kept.outputs
            if set(wanted) <= set(stored) and _load(entry, kept, evaluation, by):
                return None
    # not before: the handler of a signal may have raised meanwhile, so that the next run looks
    entry.looked = True
    return stored


def asked(
    entry: memory.Entry, wanted: list[tuple[int, int]], donatable: list[int], donate: bool,
    by: verdicts.Verdicts, stored: Outputs = (),
) -> Request:  # fmt: skip
    """A new program for the entry, which returns all that was ever wanted; its lock is held."""
    outputs = tuple(sorted({*wanted, *entry.outputs, *stored}))
    if entry.program is not None:
        donatable = [k for k in entry.aliases if k in donatable]
    elif not donate or entry.choice.segmented:
        donatable = []
    return Request(entry.structure, outputs, match_donations(entry.structure, outputs, donatable),
                   generators_of(entry), entry.choice.verify,
                   entry.choice.segmented and entry.placement is None, by)


def generators_of(entry: memory.Entry) -> tuple[str, ...]:
    """The names of the code generators that may take parts of an entry's program."""
    names = entry.choice.names
    if names is None:
        names = registry.chosen_at_first()
    return () if entry.placement is not None else names


def compiled(request: Request) -> Executable:
    """Compile a program. Raises NotLowered, and whatever the backend raises."""
    memory_limits.to_compile()
    try:
        found = backend().compile(request)
    except NotLowered as error:
        check_number(error, len(request.structure.instructions))
        raise
    executable = check_executable(found, "compile")
    counters["programs_compiled"] += 1
    return executable


def loaded(code: bytes, request: Request) -> Executable:
    """The program of stored machine code. Raises whatever the backend raises."""
    return check_executable(backend().load(code, request), "load")


def take(entry: memory.Entry, request: Request, executable: Executable) -> None:
    """Give the entry a program, which is compared with earlier runs; the caller holds the lock."""
    put(entry, request, executable)
    history: History | None = entry.history
    if history is not None:
        history.has_program()


def put(entry: memory.Entry, request: Request, executable: Executable) -> None:
    """Give the entry a program, as that which it had; the caller holds its lock."""
    by: verdicts.Verdicts | None = request.verdicts
    if by is not None and not by.key(request.structure, request.generators):
        by = None
    entry.set(request.outputs, dict(request.aliases), executable, by)


def request_of(entry: memory.Entry) -> Request:
    """What an entry's program was compiled for; the caller holds its lock."""
    return Request(entry.structure, entry.outputs, dict(entry.aliases), generators_of(entry),
                   entry.choice.verify, entry.choice.segmented and entry.placement is None,
                   entry.verdicts)


def keep(
    entry: memory.Entry, request: Request, donate: bool, executable: Executable
) -> None:
    """Make a compiled program the entry's, and store it; the caller holds the entry's lock.

    One without a region that failed here is not stored: it would be that for ever, for all.
    """
    take(entry, request, executable)
    store_executable(request, donate, executable)


def store_executable(request: Request, donate: bool, executable: Executable) -> None:
    """Keep a program on disk that was compiled here, unless a region failed."""
    if disk.enabled() and not executable.regions.failed and not (
        request.verify or request.segmented
    ):
        try:
            # a backend may give anything
            code = bytes(memoryview(executable.serialize()))
        except Exception as error:
            reraise_from_handler(error)
            counters["disk_errors"] += 1
            return
        store(request, donate, code)


def store(request: Request, donate: bool, code: bytes) -> None:
    """Keep a program's machine code on disk, if it can be told from others there."""
    description = _description(request.structure, donate, request.generators, request.verdicts)
    if description is not None:
        packed = _packed(request.outputs, request.aliases, code)
        fingerprint.store("program", description, packed)
        if logs.hears("cache", logs.DEBUG):
            ops = len(request.structure.instructions)
            logs.say("cache", logs.DEBUG, f"stored a program of {ops} ops, {len(packed)} bytes")


def _packed(outputs: Outputs, aliases: Mapping[int, int], code: bytes) -> bytes:
    head = json.dumps({"outputs": outputs, "aliases": sorted(aliases.items())}).encode()
    return _LENGTH.pack(len(head)) + head + code


def stored(entry: memory.Entry) -> tuple[bytes, bytes] | None:
    """The description and the payload of an entry's program as :func:`store` keeps them.

    None where it is none that is kept. Raises what the backend raises.
    """
    with entry.lock:
        executable, outputs, aliases = entry.program, entry.outputs, dict(entry.aliases)
        by = entry.verdicts
    if executable is None or entry.choice.watched or executable.regions.failed:
        return None
    description = _description(entry.structure, entry.donate, generators_of(entry), by)
    if description is None:
        return None
    return fingerprint.fingerprint() + description, _packed(
        outputs, aliases, bytes(memoryview(executable.serialize())))


def serves_more(payload: bytes, other: bytes) -> bool:
    """Whether a stored program returns all that another one of its structure does, and more."""
    one, two = _unpack(payload), _unpack(other)
    return one is not None and (two is None or set(one.outputs) > set(two.outputs))


def generators_text(description: bytes) -> str:
    """What a program's description says of the code generators that it was compiled with."""
    of_structure = max(map(description.rfind, _ENDS))
    _, found, text = description[of_structure:].partition(_GENERATORS)
    return text.split(b"\nmeasured ")[0].decode(errors="replace") if found else ""


def deadly(entry: memory.Entry, donate: bool) -> bool:
    """Whether to compile the entry's program ends processes, as this or an earlier one knows."""
    history = history_of(entry)
    if not history.deadly:
        description = _description(
            entry.structure, donate, generators_of(entry), verdicts.current())
        why = None if description is None else fingerprint.load("deadly", description)
        if why is not None:
            history.is_deadly(why.decode(errors="replace"))
    return history.deadly


def note_deadly(entry: memory.Entry, donate: bool, why: str) -> None:
    """Remember that to compile the entry's program ends processes, for later ones, too.

    They know it for as long as nothing changes of what its machine code depends on.
    """
    history_of(entry).is_deadly(why)
    description = _description(
        entry.structure, donate, generators_of(entry), verdicts.current())
    if description is not None:
        fingerprint.store("deadly", description, f"{why}, in an earlier process".encode())


def known_as_slower(entry: memory.Entry) -> bool:
    """Whether an earlier process found the entry's program slower than its ops one by one."""
    # neither this nor what is asked needs the device: what is known here saves starting its client
    description = _of_structure(entry.structure, entry.donate)
    return description is not None and (
        storage.load("slower", description) == b"1")


def note_slower(entry: memory.Entry, slower: bool) -> None:
    """Remember whether the entry's program was, for later processes.

    Another one may find that it is not, on a machine with less to do.
    """
    history_of(entry).asked_disk = True
    if disk.enabled():
        description = _of_structure(entry.structure, entry.donate)
        if description is not None:
            storage.store("slower", description, b"1" if slower else b"0")


def storable(structure: Structure) -> bool:
    """Whether another process knows all ops of a program."""
    return all(spec.versioned for spec in structure.specs)


def _description(
    structure: Structure, donate: bool, generators: tuple[str, ...],
    by: verdicts.Verdicts | None,
) -> bytes | None:  # fmt: skip
    """What an executable on disk is found by; None where the program cannot be told from others."""
    description = _of_structure(structure, donate)
    versions = _versions(generators)
    if description is not None and versions:
        description += _GENERATORS + versions.encode()
        measured = "" if by is None else by.key(structure, generators)
        if measured:
            description += f"\nmeasured {measured}".encode()
    return description


def _versions(generators: tuple[str, ...]) -> str:
    """The versions of code generators; those in use are imported for it."""
    global _imported
    if _imported:
        return registry.versions(generators)
    with starting():
        found = registry.versions(generators)
    _imported = True
    return found


_imported = False


def _of_structure(structure: Structure, donate: bool) -> bytes | None:
    """What is known of a program on disk, whoever compiles it, is found by; None as above."""
    ops = {op for spec in set(structure.specs) for op in spec.ops}
    if any(op.version is None for op in ops):
        return None
    description = structure.serialized + _ENDS[donate]
    # what the structure does not say: the definitions of ops from outside the package
    for name, version in sorted((op.name, str(op.version)) for op in ops):
        if version != TABLE:
            description += f"\n{name} {version}".encode()
    return description


def _from_disk(description: bytes, evaluation: Evaluation) -> _Stored | None:
    """What is stored for a description, if anything that can be read."""
    started = time.perf_counter()
    data = fingerprint.load("program", description)
    evaluation.timings["lookup"] = time.perf_counter() - started
    if data is None:
        return None
    found = _unpack(data)
    if found is None:
        counters["disk_errors"] += 1
    return found


def _load(
    entry: memory.Entry, stored: _Stored, evaluation: Evaluation, by: verdicts.Verdicts | None
) -> bool:
    """Whether the stored program could be loaded; then it is the entry's."""
    started = time.perf_counter()
    request = Request(
        entry.structure, stored.outputs, stored.aliases, generators_of(entry), verdicts=by)
    memory_limits.to_compile()
    try:
        executable = loaded(stored.code, request)
    except Exception as error:
        reraise_from_handler(error)
        # Verified bytes that the backend still refuses, such as from another build: compile again.
        if not isinstance(error, NotLoaded):
            counters["disk_errors"] += 1
        return False
    take(entry, request, executable)
    evaluation.found = "disk"
    evaluation.timings["load"] = time.perf_counter() - started
    counters["programs_from_disk"] += 1
    if logs.hears("cache", logs.INFO):
        logs.say("cache", logs.INFO, f"loaded {text_of(entry, evaluation)} from disk in "
                 f"{evaluation.timings['load'] * 1e3:.0f} ms")
    return True


def _unpack(data: bytes) -> _Stored | None:
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        outputs = tuple((int(a), int(b)) for a, b in head["outputs"])
        aliases = {int(a): int(b) for a, b in head["aliases"]}
    except (struct.error, ValueError, KeyError, TypeError):
        return None
    return _Stored(outputs, aliases, data[_LENGTH.size + length :])
