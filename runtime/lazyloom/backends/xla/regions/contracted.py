"""A program in which regions of other generators are single ops."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Container, Sequence
from typing import Any, Final, NamedTuple

from ....codegen import registry
from ....codegen.check import check
from ....codegen.claims import Part, not_built, region_of
from ....codegen.extents import Extents
from ....codegen.faults import refused, unbuilt
from ....codegen.mapped import with_batches
from ....codegen.partition import DividedBody, Partition, partition
from ....codegen.verdicts import NONE, Verdicts
from ....dtypes import int64
from ....foreign import Foreign
from ....interrupts import reraise_from_handler
from ....program.program import Instruction, Structure
from ....program.regions import NO_REGIONS, ProgramRegion, ProgramRegions
from ....program.stream import Leaf, Operand, Result
from ....types import tensor_type
from ..jax_compat import on_other_device
from . import engines, pages
from .bodies import callees, replaced
from .comparison import Comparison, comparison_of
from .constants import RegionSite
from .engines import Engine, NotBuilt, engine_of, failure
from .region_op import TARGET, Called, Compared, called, spec_of_comparison, spec_of_region

Outputs = tuple[tuple[int, int], ...]


class Contracted(NamedTuple):
    """Instructions, regions among them, and the program's outputs as results of these.

    Attributes:
        instructions, outputs: these.
        regions: the record of the regions among them, and of those that are missing.
        sites: where constants may be bound; each adds a leaf after those of the program.
        origins: for each instruction that of the program that it is; -1 for a region.
    """

    instructions: list[Instruction]
    outputs: Outputs
    regions: ProgramRegions
    sites: tuple[RegionSite, ...]
    origins: tuple[int, ...] = ()


class Calls(NamedTuple):
    """The regions that machine code calls.

    Attributes:
        engines: the engines that run the regions.
        regions: the record of the regions.
        sites: where constants may be bound.
    """

    engines: Sequence[Engine | Comparison] = ()
    regions: ProgramRegions = NO_REGIONS
    sites: Sequence[RegionSite] = ()


def divided(
    structure: Structure, outputs: Sequence[tuple[int, int]], names: tuple[str, ...],
    verdicts: Verdicts | None, extents: Extents | None = None,
) -> Partition | None:  # fmt: skip
    """Divide a program into regions of named generators; None where no generator is asked.

    ``verdicts`` decide about regions that were measured; None leaves all to estimates. ``extents``
    are what varies in a program with padding.
    """
    chosen = registry.generators(names)
    if not chosen or engines.available() or on_other_device():
        return None
    if structure.padding is None:
        structure = with_batches(structure)
    elif extents is None:
        return None
    while True:
        with Foreign("a code generator that was asked about ops"):
            division = partition(
                structure, outputs, chosen, refused(), verdicts or NONE, unbuilt=unbuilt(),
                by_gain=registry.by_gain(names), extents=extents)
        check(structure, outputs, division)
        for part in division.every_part():
            try:
                with Foreign("a code generator that was asked about a region"):
                    spec_of_region(part.generator, part.region)
                    _bindable(part, ())
            except Exception as error:
                reraise_from_handler(error)
                # its layouts or constants are wrong: try again without the region
                not_built(failure(Called(0, part.generator, part.region), "build", error),
                          part.region)
                break
        else:
            return division


def contracted(
    structure: Structure, outputs: Sequence[tuple[int, int]], division: Partition, verify: bool,
    donated: Container[int] | None = None,
) -> Contracted:  # fmt: skip
    """Return a program with its regions as single ops.

    With ``verify`` the ops of a region follow it, and then an op that gives the region's results,
    or those of its ops where the region's are wrong. ``donated`` are leaves whose memory the
    program takes; if it is None, no constants are bound.
    """
    sites: dict[RegionSite, Leaf] = {}
    place: dict[tuple[int, int], Result] = {}
    instructions: list[Instruction] = []
    origins: list[int] = []

    def moved(item: Operand) -> Operand:
        return place[item.instruction, item.number] if isinstance(item, Result) else item

    def add(i: Instruction, origin: int = -1) -> list[Result]:
        instructions.append(i)
        origins.append(origin)
        return [Result(len(instructions) - 1, r) for r in range(len(i.types))]

    def inside(body: DividedBody) -> tuple[Sequence[Instruction], Outputs]:
        of_body = contracted(body.program.structure, body.program.outputs, body.partition, verify)
        return of_body.instructions, of_body.outputs

    #: for each part of a loop whose functions have regions, its op with these
    loops = {n: found for loop in division.loops
             for n, found in replaced(structure, loop, verify, inside).items()}

    def as_it_is(n: int) -> None:
        i = structure.instructions[n]
        i = i._replace(operands=tuple(map(moved, i.operands)))
        results = add(i if n not in loops else loops[n](i, instructions), n)
        # a divided loop has other residuals, which its other half finds by itself
        place.update({(n, r): results[min(r, len(results) - 1)] for r in range(len(i.types))})

    for step in division.steps:
        if step < 0:
            as_it_is(-1 - step)
            continue
        part = division.parts[step]
        region = part.region
        operands, types = tuple(map(moved, part.operands)), region.operands
        bound = () if donated is None else _bindable(part, donated)
        spec = spec_of_region(part.generator, region, bool(bound))
        if bound:
            callee = called(spec)
            assert callee is not None
            token = sites.setdefault(
                RegionSite(callee.key, bound), Leaf(len(structure.leaf_types) + len(sites)))
            operands, types = (*operands, token), (*types, tensor_type((), int64))
        results = add(Instruction(spec, operands, types, region.results))
        if verify:
            for n in part.members:
                as_it_is(n)
            results = add(Instruction(
                spec_of_comparison(spec), (*results, *(place[o] for o in part.outputs)),
                (*region.results, *region.results), region.results))
        place.update(dict(zip(part.outputs, results, strict=True)))
    left_numbers = division.left_behind(structure.instructions)
    output_results = [place[o] for o in map(tuple, outputs)]  # type: ignore[index]
    return Contracted(
        instructions, tuple((result.instruction, result.number) for result in output_results),
        ProgramRegions(tuple(region_of(p.generator.name, p.region, p.verdict)
                             for p in division.every_part()),
                       division.failed, verify and any(division.every_part()),
                       (*(structure.instructions[n].spec.op.name for n in left_numbers),
                        *division.left_in_bodies())),
        tuple(sites), tuple(origins))


def _bindable(part: Part, donated: Container[int]) -> tuple[tuple[int, int], ...]:
    """Return the operands of a region that may be bound: inputs that the program does not donate.
    """
    bindable = []
    for k in sorted(set(part.generator.constants(part.region))):
        item = part.operands[k]
        if isinstance(item, Leaf) and item.number not in donated:
            bindable.append((k, item.number))
    return tuple(bindable)


_CALL: Final = re.compile(rf"@{TARGET}\(.*backend_config = {{region = (\d+) : i64")


def engines_for(
    text: str, instructions: Sequence[Instruction]
) -> list[Engine | Comparison]:
    """Return the engines that a module's text calls. Raises NotBuilt, when all others are built."""
    engines.call_them()
    keys = {int(key) for key in _CALL.findall(text)}
    called_by_key = {c.key: c for i in instructions for spec in callees(i.spec)
                     if (c := called(spec)) is not None}
    built: list[Engine | Comparison] = []
    first: NotBuilt | None = None
    for each in (called_by_key[key] for key in sorted(keys)):
        try:
            built.append(comparison_of(each) if isinstance(each, Compared) else engine_of(each))
        except NotBuilt as error:
            first = first or error
    if first is not None:
        first.built = built
        raise first
    return built


_MAGIC: Final = b"LLREGION"
_LENGTH: Final = struct.Struct("<Q")


def packed(calls: Calls, code: bytes) -> bytes:
    """Return machine code with what it calls, as :func:`unpacked` takes it; only the code if it
    calls nothing."""
    if not calls.engines:
        return code
    built = [engine.called.packed() for engine in calls.engines if isinstance(engine, Engine)]
    head = json.dumps({"engines": built, "regions": calls.regions.run,
                       "left": calls.regions.left, "sites": calls.sites}).encode()
    return _MAGIC + _LENGTH.pack(len(head)) + head + code


def unpacked(data: bytes, verdicts: Verdicts | None) -> tuple[Calls, bytes]:
    """Return what machine code calls, built, and the code; its record has the times of verdicts.

    Raises NotBuilt, and LookupError, ValueError or TypeError for data that is not understood here.
    """
    if pages.TARGET.encode() in data:
        pages.know()
    if data[: len(_MAGIC)] != _MAGIC:
        return Calls(), data
    start = len(_MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
    head: Any = json.loads(data[start : start + length])
    if engines.available():
        raise NotBuilt(engines.available())
    engines.call_them()
    failed_before = refused()
    built: list[Engine | Comparison] = []
    for each in head["engines"]:
        callee = Called.unpacked(each)
        if (callee.generator.name, callee.region.program.key) in failed_before:
            raise NotBuilt("it failed here before")
        built.append(engine_of(callee, "load"))
    known = verdicts or NONE
    measured = {(e.called.generator.name, e.called.region.program.key): known.of(
        e.called.generator, e.called.region) for e in built if isinstance(e, Engine)}
    regions = []
    for name, ops, key, _ in head["regions"]:
        v = measured.get((name, key))
        regions.append(ProgramRegion(str(name), tuple(map(str, ops)), str(key),
                                     None if v is None else (v.seconds, v.of_xla)))
    names = tuple(map(str, head["left"]))
    sites = [RegionSite(int(key), tuple((int(k), int(leaf)) for k, leaf in operands))
             for key, operands in head["sites"]]
    return Calls(built, ProgramRegions(tuple(regions), left=names), sites), data[start + length :]
