"""Programs compiled by XLA, with the regions of other code generators that they call.

Nothing of this is needed for what runs op by op, so it is imported when a program is compiled or
loaded for the first time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ...codegen.faults import failed, not_compiled, told
from ...codegen.generator import Generator, Region
from ...codegen.partition import Partition, region_of, without_regions
from ...interrupts import reraise_from_handler
from ...jaxprs import tracing
from ...program.program import Program, Structure
from ...program.regions import ProgramRegions
from ...settings import tuning
from ..backend import Executable, NotLowered, Request
from . import jax_compat, lowering
from .assemble import loops_of, module_text
from .layout_assignment import assign_layouts
from .regions import engines
from .regions.comparison import Comparison
from .regions.constants import Constants
from .regions.contracted import Calls, contracted, divided, engines_for, packed, unpacked
from .regions.engines import Engine, NotBuilt
from .regions.pages import STATEMENT, asks_for_pages
from .regions.segments import segmented
from .regions.timing import timed as timed_by_turns


class _Program(jax_compat.LoadedProgram):
    """A program with the engines of the regions that it calls, which live as long as it does."""

    __slots__ = ("calls", "engines", "regions", "further")

    calls: Calls
    engines: Sequence[Engine | Comparison]
    regions: ProgramRegions
    further: Any

    def serialize(self) -> bytes:
        """Machine code, and what it calls."""
        return packed(self.calls, super().serialize())


def compile(request: Request) -> Executable:
    """Lower each op, assemble the module's text, and compile it."""
    started = time.perf_counter()
    for number, i in enumerate(request.structure.instructions):
        try:
            lowering.lower(i.spec, i.operand_types)
        except Exception as error:
            reraise_from_handler(error)
            raise NotLowered(number, error) from error
    return _in_regions(request, started)


def load(data: bytes, request: Request) -> jax_compat.LoadedProgram:
    """The program of machine code that was stored under this fingerprint."""
    calls, code = unpacked(data)
    return _program(request, jax_compat.deserialize(code), {}, calls)


def timed(generator: Generator, region: Region) -> list[tuple[float, float]]:
    """Each is a program with the arrays in memory as the generator wants them."""
    if engines.available() or jax_compat.on_other_device():
        raise NotImplementedError("no region is called here")
    return timed_by_turns(generator, region, _compiled)


def loops(program: Program) -> list[tuple[int, int]]:
    """The program's ``stablehlo.while`` loops, beside those that are ops."""
    structure, outputs = program.structure, program.outputs
    instructions = structure.instructions
    found = loops_of(instructions, outputs, assign_layouts(instructions, outputs)).loops
    return [(loop.times, loop.period) for loop in found]


def _in_regions(request: Request, started: float) -> Executable:
    while True:
        found = divided(request.structure, request.outputs, request.generators)
        try:
            return _whole(request, found, started)
        except NotBuilt:
            # it is remembered: once more without that region
            continue
        except Exception as error:
            reraise_from_handler(error)
            if found is None or not found.parts:
                raise
            why = told(error)
        # raises what the program fails at by itself
        made = _whole(request, without_regions(found), started)
        program = Program(request.structure, list(request.outputs), [])
        regions = [region_of(p.generator.name, p.region) for p in found.parts]
        failed(not_compiled(program.key, regions, why))
        return made


def _whole(request: Request, found: Partition | None, started: float) -> Executable:
    """The program in the regions of a partition, in segments if so asked. Raises NotBuilt."""
    if request.segmented:
        return segmented(request, found, _compiled)
    return _compiled(request, found, started)


def _compiled(
    request: Request, found: Partition | None, started: float | None = None
) -> _Program:
    """The program in the regions of a partition, if there is one. Raises NotBuilt.

    ``started`` is when its lowering began, if it did before.
    """
    if started is None:
        started = time.perf_counter()
    with tracing.x64():
        text, calls = _module(request, found)
        assembled = time.perf_counter()
        executable = jax_compat.compile_text(text)
    return _program(request, executable, {
        "lower": assembled - started, "compile": time.perf_counter() - assembled}, calls)


def _module(request: Request, parts: Partition | None) -> tuple[str, Calls]:
    """The module's text, and what it calls. Raises NotBuilt."""
    structure, outputs, aliases = request.structure, request.outputs, request.aliases
    pages = jax_compat.device().platform == "cpu" and asks_for_pages(_size(structure))
    first = [STATEMENT] if pages else []
    if parts is None:
        return module_text(structure, outputs, aliases, first=first), Calls()
    # a part of a program that runs in parts has no say in what it is given
    found = contracted(
        structure, outputs, parts, request.verify, None if request.segmented else aliases)
    text = module_text(
        structure, found.outputs, aliases, found.instructions, first, len(found.sites))
    return text, Calls(engines_for(text, found.instructions), found.regions, found.sites)


def _program(
    request: Request, executable: Any, timings: Mapping[str, float],
    calls: Calls,
) -> _Program:  # fmt: skip
    structure = request.structure
    instructions = structure.instructions
    types = [instructions[n].types[r] for n, r in request.outputs]
    inputs = len(structure.leaf_types) + len(structure.scalar_counts)
    found = _Program(
        executable, inputs + (structure.padding is not None) + len(calls.sites),
        [(t.shape, t.dtype.numpy) for t in types],
        _memory_needed(executable, _size(structure)), timings)
    found.calls = calls
    found.engines = calls.engines
    found.regions = calls.regions
    built = [engine for engine in calls.engines if isinstance(engine, Engine)]
    found.further = Constants(calls.sites, built) if calls.sites else None
    return found


def _size(structure: Structure) -> int:
    """The bytes of all values of a program together."""
    size = sum(t.nbytes for t in structure.leaf_types)
    for i in structure.instructions:
        size += sum(t.nbytes for t in i.types)
    return size


def _memory_needed(executable: Any, size: int) -> int:
    """How much memory a run of an executable asks for; 0 if that is little or not known.

    ``size`` is that of all its values together.
    """
    if size < tuning.memory_known_from or jax_compat.client().platform != "cpu":
        return 0
    try:
        found = jax_compat.memory_needed(executable)
    except Exception as error:
        reraise_from_handler(error)
        return 0  # a backend that does not tell
    return found if found >= tuning.memory_asked_from else 0
