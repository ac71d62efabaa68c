"""Programs compiled by XLA, with the regions of other code generators that they call.

Op-by-op execution needs none of this, so it is imported when a program is compiled or loaded for
the first time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...codegen.claims import region_of
from ...codegen.faults import failed, not_compiled, told
from ...codegen.generator import Generator, Region
from ...codegen.partition import Partition, without_regions
from ...codegen.verdicts import in_force
from ...errors import PlacementError
from ...interrupts import reraise_from_handler
from ...jaxprs import tracing
from ...placements import Placement
from ...program.collectives import joined, replicas_of
from ...program.program import Program, Structure
from ...program.regions import ProgramRegions
from ...settings import tuning
from ...types import common_placement
from ..analysis import ProgramAnalysis
from ..backend import Executable, NotLowered, Request
from . import jax_compat, lowering, partitioned, placing
from .assemble import loops_of, module_text
from .jax_targets import DeviceTarget, of_processes
from .layout_assignment import assign_layouts
from .padding.program import extents_of
from .regions import engines
from .regions.comparison import Comparison
from .regions.constants import Constants
from .regions.contracted import Calls, contracted, divided, engines_for, packed, unpacked
from .regions.engines import Engine, NotBuilt, engine_of
from .regions.pages import STATEMENT, asks_for_pages
from .regions.region_op import Called, called, spec_of_region
from .regions.segments import segmented
from .regions.timing import timed as timed_by_turns


class _Program(jax_compat.LoadedProgram):
    """A program with the engines of the regions that it calls, which live as long as it."""

    __slots__ = ("calls", "engines", "regions", "further", "placements", "collectives")

    calls: Calls
    engines: Sequence[Engine | Comparison]
    regions: ProgramRegions
    further: Any

    def serialize(self) -> bytes:
        """Return the machine code, and the regions that it calls."""
        return packed(self.calls, super().serialize())

    def analysis(self) -> ProgramAnalysis | None:
        """Return what XLA says of the program's memory and work."""
        # reports alone ask for it
        from .analysis import analysed

        return analysed(self.executable)


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
    """Load a program from machine code that was stored under this fingerprint."""
    calls, code = unpacked(data, request.verdicts)
    target = _target(request)
    return _program(request, jax_compat.deserialize(code, target), {}, calls, target)


def timed(
    generator: Generator, region: Region, ends: Callable[[], bool] | None = None
) -> list[tuple[float, float]]:
    """Time programs whose arrays lie in memory as the generator wants them."""
    if engines.available() or jax_compat.on_other_device():
        raise NotImplementedError("no region is called here")
    return timed_by_turns(generator, region, _compiled, ends)


def engines_of(
    structure: Structure, outputs: Sequence[tuple[int, int]], generators: tuple[str, ...]
) -> tuple[list[tuple[str, bytes]], int]:
    """Build the engines of a program's regions; return the entries of the disk cache that hold
    them, and how many regions there are. One that cannot be built is left to XLA."""
    while True:
        partition = divided(structure, outputs, generators, in_force())
        built: list[Engine] = []
        try:
            for part in [] if partition is None else partition.every_part():
                callee = called(spec_of_region(part.generator, part.region))
                assert isinstance(callee, Called)
                built.append(engine_of(callee))
        except NotBuilt:
            # this is remembered: the next division has no such region
            continue
        entries = dict.fromkeys(entry for engine in built for entry in engine.entries)
        return list(entries), len(built)


def loops(program: Program) -> list[tuple[int, int]]:
    """Return the program's ``stablehlo.while`` loops, except those that are ops."""
    structure, outputs = program.structure, program.outputs
    instructions = structure.instructions
    while_loops = loops_of(instructions, outputs, assign_layouts(instructions, outputs)).loops
    return [(loop.times, loop.period) for loop in while_loops]


def _in_regions(request: Request, started: float) -> Executable:
    # what was built stays until the program has it
    built: list[object] = []
    extents = None
    if request.structure.padding is not None and request.generators:
        extents = extents_of(request.structure, request.outputs)
    while True:
        partition = divided(request.structure, request.outputs, request.generators,
                            request.verdicts, extents)
        try:
            return _whole(request, partition, started)
        except NotBuilt as error:
            # this is remembered: try again without those regions
            built += error.built
            continue
        except Exception as error:
            reraise_from_handler(error)
            if partition is None or not any(partition.every_part()):
                raise
            why = told(error)
        # raises if the program fails by itself, without regions
        executable = _whole(request, without_regions(partition), started)
        program = Program(request.structure, list(request.outputs), [])
        regions = [region_of(p.generator.name, p.region) for p in partition.every_part()]
        failed(not_compiled(program.key, regions, why))
        return executable


def _whole(request: Request, partition: Partition | None, started: float) -> Executable:
    """Compile a program with the regions of a partition, in segments if so requested.

    Raises NotBuilt.
    """
    if request.segmented:
        return segmented(request, partition, _compiled)
    return _compiled(request, partition, started)


def _compiled(
    request: Request, partition: Partition | None, started: float | None = None
) -> _Program:
    """Compile a program with the regions of a partition, if there is one. Raises NotBuilt.

    ``started`` is when its lowering began, if before this call.
    """
    if started is None:
        started = time.perf_counter()
    with tracing.x64():
        text, calls = _module(request, partition)
        assembled = time.perf_counter()
        target = _target(request)
        executable = jax_compat.compile_text(text, target)
    return _program(request, executable, {
        "lower": assembled - started, "compile": time.perf_counter() - assembled}, calls, target)


def _target(request: Request) -> DeviceTarget | None:
    """Return what a program is compiled for, None for the default device."""
    structure = request.structure
    placement = common_placement(structure.leaf_types)
    replicas = replicas_of(structure)
    if replicas > 1:
        if placement is not None:
            raise PlacementError(
                f"a program has values on {placement}, and collectives of {replicas} processes, "
                "which run on the default device of each; move the values there first")
        return of_processes(replicas, jax_compat.client().devices())
    if placement is None:
        return None
    return placing.target_of(
        structure, placement, len(structure.leaf_types) + len(structure.scalar_counts),
        request.outputs)


def _module(request: Request, parts: Partition | None) -> tuple[str, Calls]:
    """Return the module's text, and what it calls. Raises NotBuilt."""
    structure, outputs, aliases = request.structure, request.outputs, request.aliases
    placement = common_placement(structure.leaf_types)
    if placement is not None:
        text = module_text(structure, outputs, aliases, placement)
        return text if placement.mesh is None else placing.folds_undivided(text), Calls()
    pages = jax_compat.device().platform == "cpu" and asks_for_pages(_size(structure))
    first = [STATEMENT] if pages else []
    if parts is None:
        return module_text(structure, outputs, aliases, first=first), Calls()
    # a segment of a segmented program does not choose the form of its inputs
    division = contracted(
        structure, outputs, parts, request.verify,
        None if request.segmented or structure.padding is not None else aliases)
    text = module_text(
        structure, division.outputs, aliases, None, division.instructions, first,
        len(division.sites), None, division.origins, outputs)
    return text, Calls(engines_for(text, division.instructions), division.regions, division.sites)


def _program(
    request: Request, executable: Any, timings: Mapping[str, float],
    calls: Calls, target: DeviceTarget | None = None,
) -> _Program:  # fmt: skip
    structure = request.structure
    instructions = structure.instructions
    types = [instructions[n].types[r] for n, r in request.outputs]
    inputs = len(structure.leaf_types) + len(structure.scalar_counts)
    placements: tuple[Placement, ...] = ()
    shardings: tuple[Sequence[Any], Sequence[Any]] | None = None
    placement = common_placement(structure.leaf_types)
    if target is not None and placement is not None:
        placements = placing.output_placements(executable, placement, len(types))
        shardings = target.inputs, [placing.sharding_of(p) for p in placements]
    program = _Program(
        executable, inputs + (structure.padding is not None) + len(calls.sites),
        [(t.shape, t.dtype.numpy) for t in types],
        _memory_needed(executable, _size(structure)), timings, shardings, joined(structure))
    program.placements = placements
    program.collectives = (
        partitioned.collectives(executable, placement.mesh) if (
            target is not None and len(target.devices) > 1 and placement is not None) else ())
    program.calls = calls
    program.engines = calls.engines
    program.regions = calls.regions
    built = [engine for engine in calls.engines if isinstance(engine, Engine)]
    program.further = Constants(calls.sites, built) if calls.sites else None
    return program


def _size(structure: Structure) -> int:
    """Return the bytes of all values of a program together."""
    size = sum(t.nbytes for t in structure.leaf_types)
    for i in structure.instructions:
        size += sum(t.nbytes for t in i.types)
    return size


def _memory_needed(executable: Any, size: int) -> int:
    """Return how much memory a run of an executable needs; 0 if that is little or unknown.

    ``size`` is that of all its values together.
    """
    if size < tuning.memory_known_from or jax_compat.client().platform != "cpu":
        return 0
    try:
        needed = jax_compat.memory_needed(executable)
    except Exception as error:
        reraise_from_handler(error)
        return 0  # a client that gives no statistics
    return needed if needed >= tuning.memory_asked_from else 0
