"""Run a plan: find or compile its program, feed it, and attach the results."""

from __future__ import annotations

import json
import math
import struct
import threading
import time
from typing import Any, Final

import numpy as np

from ...cache import disk, memory
from ...compiled import COMPILED
from ...counters import counters
from ...dtypes import DType
from ...interrupts import Deferred, deliver, late, let_pass
from ...ops.spec import TABLE
from ...program.difference import explain
from ...program.donation import match_donations
from ...program.evaluations import Evaluation
from ...program.plan import Plan
from ...program.program import Program, Structure
from ...trace.graph import Buffer
from . import compilation_cache, jax_compat, memory_limits
from .assemble import module_text
from .lowering import NotLowered, lower

_LENGTH: Final = struct.Struct("<Q")
#: programs of values smaller than this altogether are not asked how much memory they need
_SMALL: Final = 1 << 16
#: a run that asks for less is not checked
_LITTLE: Final = 1 << 24


def run(plan: Plan, donate: bool) -> None:
    """Dispatch the plan's program; fills ``plan.results``. Raises what goes wrong."""
    evaluation: Evaluation = plan.evaluation
    started = time.perf_counter()
    entry = memory.entry_of(plan.structure, donate)
    ready = entry.ready_for(plan.wanted, plan.donatable)
    if ready is None:
        ready = _ready(entry, plan, donate)
    else:
        evaluation.found = "memory"
        counters["program_hits"] += 1
    looked = time.perf_counter()
    leaves = plan.leaves
    arguments: list[Any] = []
    for buffer in leaves:
        array = buffer.array
        arguments.append(device_array(buffer) if array is None else array)
    if ready.copied:
        for k in ready.copied:
            with jax_compat.x64():
                arguments[k] = jax_compat.copy(arguments[k])
        evaluation.copied = list(ready.copied)
        counters["donated_copies"] += len(ready.copied)
    if plan.scalars:
        _add_scalars(arguments, entry, plan.scalars)
    if ready.needs or memory_limits.limited:
        memory_limits.to_run(ready.needs)
    evaluation.bytes_in = ready.bytes_in
    evaluation.bytes_donated = ready.bytes_donated
    counters["executions"] += 1
    counters["ops_executed"] += len(plan.nodes)
    if COMPILED and ready.loaded.direct:
        _launch(plan, ready, arguments)
    else:
        with Deferred(True):
            _launch(plan, ready, arguments)
    if not donate:
        _wait(plan)
    evaluation.bytes_out = ready.bytes_out
    evaluation.program = ready.program
    timings = evaluation.timings
    if "lookup" not in timings:
        timings["lookup"] = looked - started
    timings["dispatch"] = time.perf_counter() - looked


def _launch(plan: Plan, ready: memory.Ready, arguments: list[Any]) -> None:
    """Run; once the program has taken its donated inputs, its results arrive."""
    try:
        arrays: list[Any] = ready.loaded.run(*arguments)
        for target, number in zip(plan.results, ready.position, strict=True):
            target.array = arrays[number]
        leaves = plan.leaves
        for k in ready.taken:
            leaves[k].array = None
        plan.attached = True
    finally:
        # the dispatch may have asked interpreted code about arguments of a kind new to it
        if late:
            deliver()


def _wait(plan: Plan) -> None:
    """Wait for the results, so that a run that fails fails while its inputs are there."""
    try:
        for target in plan.results:
            jax_compat.wait(target.array)
    except Exception:
        for target in plan.results:
            target.array = None
        plan.attached = False
        raise


def _add_scalars(
    arguments: list[Any], entry: memory.Entry, scalars: dict[DType, list[Any]]
) -> None:
    """Add the vector of each dtype's run-time scalars; one that is as last time is not uploaded."""
    for dtype, numbers in scalars.items():
        known = entry.scalars.get(dtype)
        if known is not None and known[0] == numbers and _zeros_agree(known[0], numbers):
            arguments.append(known[1])
            continue
        array = jax_compat.upload(scalar_vector(numbers, dtype.numpy))
        if dtype.kind != "c":
            entry.scalars[dtype] = (numbers, array)
        arguments.append(array)


def _zeros_agree(before: list[Any], numbers: list[Any]) -> bool:
    """Whether numbers that are equal are the same bits: zeros may differ by their sign."""
    if 0 not in numbers:
        return True
    for a, b in zip(before, numbers, strict=True):
        if b == 0 and math.copysign(1.0, a) != math.copysign(1.0, b):
            return False
    return True


def scalar_vector(numbers: list[Any], dtype: Any) -> Any:
    """Run-time scalars of one dtype as a vector; integers wrap as C's do."""
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        mask = (1 << bits) - 1
        unsigned = np.array([int(n) & mask for n in numbers], dtype=f"u{dtype.itemsize}")
        return unsigned.view(dtype)
    if dtype.kind == "V":  # ml_dtypes takes no integers from 2**63 on
        numbers = [float(n) for n in numbers]
    # a number too large for the dtype is an infinity, whatever the program set np.seterr() to
    with np.errstate(all="ignore"):
        return np.array(numbers, dtype=dtype)


#: one upload at a time; a signal's handler may read a value while its thread uploads another
_uploading: Final = threading.RLock()


def device_array(buffer: Buffer) -> Any:
    """The buffer's device array; uploads host data on first use."""
    found = buffer.array
    if found is not None:
        return found
    with _uploading:
        found = buffer.array
        if found is None:
            host = buffer.host
            if host is None:
                raise AssertionError("a buffer without data was used")
            # never in the place of another thread's: the compiled setter releases what it replaces
            # while it can still be read, and JAX lets other threads run meanwhile
            buffer.array = found = jax_compat.upload(host)
            counters["bytes_uploaded"] += host.nbytes
            buffer.host = None
    return found


def _ready(entry: memory.Entry, plan: Plan, donate: bool) -> memory.Ready:
    """What a run of the plan needs; finds or compiles its program."""
    with entry.lock:
        _find(entry, plan, donate)
        position = entry.position
        aliases = entry.aliases
        donatable = set(plan.donatable)
        taken = [k for k in aliases if k in donatable]
        copied = [k for k in aliases if k not in donatable]
        # the entry's structure is equal to the plan's and decoded once for all runs
        structure = entry.structure
        record = Program(structure, plan.wanted, sorted(match_donations(
            structure, plan.wanted, plan.donatable if donate else [])))
        ready = memory.Ready(
            plan.wanted, plan.donatable, entry.program, [position[p] for p in plan.wanted],
            taken, copied, record)
        entry.keep(ready)
        return ready


def _find(entry: memory.Entry, plan: Plan, donate: bool) -> None:
    """Have the entry's program return what the plan wants; the caller holds its lock."""
    evaluation: Evaluation = plan.evaluation
    if entry.program is not None and all(p in entry.position for p in plan.wanted):
        evaluation.found = "memory"
        counters["program_hits"] += 1
        return
    ops = {i.spec.op for i in plan.structure.instructions}
    storable = all(op.version is not None for op in ops)
    description = plan.structure.serialized + (b"\ndonate" if donate else b"\nkeep")
    # what the structure does not say: the definitions of ops from outside the package
    for name, version in sorted((op.name, str(op.version)) for op in ops):
        if version != TABLE:
            description += f"\n{name} {version}".encode()
    stored: tuple[tuple[int, int], ...] = ()
    if storable and not (entry.looked and entry.executable is None):
        started = time.perf_counter()
        data = compilation_cache.load("program", description)
        evaluation.timings["lookup"] = time.perf_counter() - started
        if data is not None:
            found = _unpack(data)
            if found is None:
                counters["disk_errors"] += 1
            else:
                stored, aliases, code = found
                if set(plan.wanted) <= set(stored) and _load(entry, stored, aliases, code):
                    evaluation.found = "disk"
                    entry.site = str(evaluation.site)
                    evaluation.timings["load"] = time.perf_counter() - started
                    counters["programs_from_disk"] += 1
                    return
        # not before: the handler of a signal may have raised meanwhile, so that the next run looks
        entry.looked = True
    evaluation.difference = _difference(entry)
    wanted = set(plan.wanted) | set(entry.outputs) | set(stored)
    outputs = tuple(sorted(wanted))
    if entry.executable is not None:
        donatable = [k for k in entry.aliases if k in plan.donatable]
    else:
        donatable = plan.donatable if donate else []
    aliases = match_donations(plan.structure, outputs, donatable)
    started = time.perf_counter()
    for number, i in enumerate(plan.structure.instructions):
        try:
            lower(i.spec, i.operand_types)
        except Exception as error:
            let_pass(error)
            raise NotLowered(number, error) from error
    with jax_compat.x64():
        text = module_text(plan.structure, outputs, aliases)
        assembled = time.perf_counter()
        executable = jax_compat.compile_text(text)
    evaluation.timings["lower"] = assembled - started
    evaluation.timings["compile"] = time.perf_counter() - assembled
    evaluation.found = "compiled"
    counters["programs_compiled"] += 1
    entry.set(outputs, aliases, _program(plan.structure, outputs, executable))
    entry.site = str(evaluation.site)
    if storable and disk.enabled():
        _store(description, outputs, aliases, executable)


def _difference(entry: memory.Entry) -> str:
    """Why the entry's program has to be compiled."""
    if entry.executable is not None:
        return "a result was wanted that the known program does not return"
    return explain(
        entry.structure, [(e.structure, e.site) for e in memory.entries() if e is not entry])


def _load(
    entry: memory.Entry, outputs: tuple[tuple[int, int], ...], aliases: dict[int, int], code: bytes
) -> bool:
    try:
        executable = jax_compat.deserialize(code)
    except Exception as error:
        let_pass(error)
        # Verified bytes that XLA still refuses, such as from another build: compile again.
        counters["disk_errors"] += 1
        return False
    entry.set(outputs, aliases, _program(entry.structure, outputs, executable))
    return True


def _program(
    structure: Structure, outputs: tuple[tuple[int, int], ...], executable: Any
) -> jax_compat.Program:
    instructions = structure.instructions
    types = [instructions[n].types[r] for n, r in outputs]
    size = sum(t.nbytes for t in structure.leaf_types)
    for i in instructions:
        size += sum(t.nbytes for t in i.types)
    return jax_compat.Program(
        executable, len(structure.leaf_types) + len(structure.scalar_counts),
        [(t.shape, t.dtype.numpy) for t in types], _memory_needed(executable, size))


def _memory_needed(executable: Any, size: int) -> int:
    """How much memory a run of an executable asks for; 0 if that is little or not known.

    ``size`` is that of all its values together.
    """
    if size < _SMALL or jax_compat.client().platform != "cpu":
        return 0
    try:
        found = jax_compat.memory_needed(executable)
    except Exception as error:
        let_pass(error)
        return 0  # a backend that does not tell
    return found if found >= _LITTLE else 0


def _store(
    description: bytes, outputs: tuple[tuple[int, int], ...], aliases: dict[int, int],
    executable: Any,
) -> None:  # fmt: skip
    try:
        code = jax_compat.serialize(executable)
    except Exception as error:
        let_pass(error)
        counters["disk_errors"] += 1
        return
    head = json.dumps({"outputs": outputs, "aliases": sorted(aliases.items())}).encode()
    compilation_cache.store("program", description, _LENGTH.pack(len(head)) + head + code)


def _unpack(data: bytes) -> tuple[tuple[tuple[int, int], ...], dict[int, int], bytes] | None:
    try:
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        outputs = tuple((int(a), int(b)) for a, b in head["outputs"])
        aliases = {int(a): int(b) for a, b in head["aliases"]}
    except (struct.error, ValueError, KeyError, TypeError):
        return None
    return outputs, aliases, data[_LENGTH.size + length :]
