"""XLA as a backend: programs are lowered through JAX and run on JAX's default device."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from ...codegen.faults import failed, not_compiled, told
from ...codegen.generator import Generator, Region
from ...codegen.partition import Partition, region_of, without_regions
from ...interrupts import reraise_from_handler
from ...ops.spec import OpDef
from ...program.program import Program, Structure
from ...program.regions import ProgramRegions
from ...settings import tuning
from ...trace.specs import Spec, spec_of
from ...types import TensorType
from ..backend import Backend, Executable, HostKernel, NotLowered, Request
from ..measuring import watch
from . import jax_compat, lowering
from .assemble import loops_of, module_text
from .host.find import kernel_of, result_types
from .jax_compat import on_other_device
from .layout_assignment import assign_layouts
from .regions import engines
from .regions.alone import alone
from .regions.comparison import Comparison
from .regions.constants import Constants
from .regions.contracted import Calls, contracted, divided, engines_for, packed, unpacked
from .regions.engines import Engine, NotBuilt
from .regions.pages import STATEMENT, asks_for_pages
from .regions.segments import segmented
from .regions.timing import timed


class Xla(Backend):
    """XLA, by way of JAX. Importing JAX and starting its client wait for the first use."""

    name = "xla"

    upload = staticmethod(jax_compat.upload)
    download = staticmethod(jax_compat.to_host)
    copy = staticmethod(jax_compat.device_copy)
    wait = staticmethod(jax_compat.wait)
    is_ready = staticmethod(jax_compat.is_ready)
    host_view = staticmethod(jax_compat.host_view)
    given_up = staticmethod(jax_compat.given_up)
    number = staticmethod(jax_compat.number)
    from_dlpack = staticmethod(jax_compat.from_dlpack)
    fingerprint = staticmethod(jax_compat.environment)

    def compile(self, request: Request) -> Executable:
        """Lower each op, assemble the module's text, and compile it."""
        started = time.perf_counter()
        for number, i in enumerate(request.structure.instructions):
            try:
                lowering.lower(i.spec, i.operand_types)
            except Exception as error:
                reraise_from_handler(error)
                raise NotLowered(number, error) from error
        made = self._compile(request, started)
        if isinstance(made, _Program):
            watch(made, request)
        return made

    def _compile(self, request: Request, started: float) -> Executable:
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

    def timed(self, generator: Generator, region: Region) -> list[tuple[float, float]]:
        """Each is a program with the arrays in memory as the generator wants them."""
        if engines.available() or on_other_device():
            raise NotImplementedError("no region is called here")
        return timed(generator, region, _compiled)

    def host_kernel(
        self, spec: Spec, types: tuple[TensorType | None, ...]
    ) -> HostKernel | None:
        """NumPy's calls for the steps that JAX traces of the op, or a generator in use."""
        return alone(spec, types, kernel_of) or kernel_of(spec, types)

    def loops(self, program: Program) -> list[tuple[int, int]]:
        """The program's ``stablehlo.while`` loops, beside those that are ops."""
        structure, outputs = program.structure, program.outputs
        instructions = structure.instructions
        found = loops_of(instructions, outputs, assign_layouts(instructions, outputs)).loops
        return [(loop.times, loop.period) for loop in found]

    def has_host_kernels(self) -> bool:
        """Where the device is the host."""
        return not on_other_device()

    def compiles_elsewhere(self) -> bool:
        """On the processor; a second process would take an accelerator's memory."""
        return not on_other_device()

    def host_versions(self) -> str:
        """Versions of jax, jaxlib and NumPy."""
        return f"{jax_compat.versions()} numpy={numpy.__version__}"

    def load(self, data: bytes, request: Request) -> jax_compat.Program:
        """The program of machine code that was stored under this fingerprint."""
        calls, code = unpacked(data)
        found = _program(request, jax_compat.deserialize(code), {}, calls)
        watch(found, request)
        return found

    def describe(self) -> Mapping[str, str]:
        """Versions of jax and jaxlib, the platform, and the device with its kind."""
        return {**jax_compat.versions(), "platform": str(jax_compat.device().platform),
                "device": jax_compat.device_text()}

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        """The types that the op's lowering says its results have, or a kernel that is known."""
        known = result_types(spec_of(op, attrs, len(types)), tuple(types))
        return known if known is not None else lowering.lowered_types(op, types, attrs)


class _Program(jax_compat.Program):
    """A program with the engines of the regions that it calls, which live as long as it does."""

    __slots__ = ("calls", "engines", "regions", "further")

    calls: Calls
    engines: Sequence[Engine | Comparison]
    regions: ProgramRegions
    further: Any

    def serialize(self) -> bytes:
        """Machine code, and what it calls."""
        return packed(self.calls, super().serialize())


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
    with jax_compat.x64():
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
