"""A program in which regions of other generators are single ops."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ....codegen import registry
from ....codegen.check import check
from ....codegen.faults import failed, refused
from ....codegen.partition import partition, region_of
from ....interrupts import reraise_from_handler
from ....program.program import Instruction, Operand, Result, Structure
from ....program.regions import NO_REGIONS, ProgramRegion, ProgramRegions
from ..jax_compat import on_other_device
from . import engines, pages
from .engines import Engine, NotBuilt, engine_of, failure
from .region_op import TARGET, Called, called, spec_of_region

Outputs = tuple[tuple[int, int], ...]


class Contracted(NamedTuple):
    """Instructions, regions among them, and the program's outputs as results of these.

    Attributes:
        instructions, outputs: these.
        regions: the regions among them, and those that are missing.
    """

    instructions: list[Instruction]
    outputs: Outputs
    regions: ProgramRegions


def contracted(
    structure: Structure, outputs: Sequence[tuple[int, int]], names: tuple[str, ...]
) -> Contracted | None:
    """A program in regions of the generators of those names; None where none is asked."""
    chosen = registry.generators(names)
    if not chosen or structure.padding is not None or engines.available() or on_other_device():
        return None
    found = partition(structure, outputs, chosen, refused())
    check(structure, outputs, found)
    specs = []
    for part in found.parts:
        try:
            specs.append(spec_of_region(part.generator, part.region))
        except Exception as error:
            reraise_from_handler(error)
            # what it says of layouts: without the region, once more
            failed(failure(Called(0, part.generator, part.region), "build", error))
            return contracted(structure, outputs, names)
    place: dict[tuple[int, int], Result] = {}
    instructions: list[Instruction] = []

    def moved(item: Operand) -> Operand:
        return place[item.instruction, item.number] if isinstance(item, Result) else item

    for step in found.steps:
        number = len(instructions)
        if step < 0:
            i = structure.instructions[-1 - step]
            instructions.append(i._replace(operands=tuple(map(moved, i.operands))))
            place.update({(-1 - step, r): Result(number, r) for r in range(len(i.types))})
        else:
            part = found.parts[step]
            instructions.append(Instruction(
                specs[step], tuple(map(moved, part.operands)), part.region.operands,
                part.region.results))
            place.update({o: Result(number, r) for r, o in enumerate(part.outputs)})
    return Contracted(instructions, tuple(
        (place[o].instruction, place[o].number) for o in map(tuple, outputs)),  # type: ignore[index]
        ProgramRegions(tuple(region_of(p.generator.name, p.region) for p in found.parts),
                       found.failed))


_CALL: Final = re.compile(rf"@{TARGET}\(.*backend_config = {{region = (\d+) : i64}}")


def engines_for(text: str, instructions: Sequence[Instruction]) -> list[Engine]:
    """The engines that a module's text calls. Raises NotBuilt."""
    engines.call_them()
    keys = {int(key) for key in _CALL.findall(text)}
    found = {c.key: c for c in (called(i.spec) for i in instructions) if c is not None}
    return [engine_of(found[key]) for key in sorted(keys)]


_MAGIC: Final = b"LLREGION"
_LENGTH: Final = struct.Struct("<Q")


def packed(used: Sequence[Engine], regions: ProgramRegions, code: bytes) -> bytes:
    """Machine code with what it calls, as :func:`unpacked` takes it; without any, the code."""
    if not used:
        return code
    head = json.dumps({"engines": [engine.called.packed() for engine in used],
                       "regions": regions.run}).encode()
    return _MAGIC + _LENGTH.pack(len(head)) + head + code


def unpacked(data: bytes) -> tuple[list[Engine], ProgramRegions, bytes]:
    """The engines that machine code calls, built, the program's regions, and the code.

    Raises NotBuilt, and LookupError, ValueError or TypeError for what is not known here.
    """
    if pages.TARGET.encode() in data:
        pages.know()
    if data[: len(_MAGIC)] != _MAGIC:
        return [], NO_REGIONS, data
    start = len(_MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
    head: Any = json.loads(data[start : start + length])
    if engines.available():
        raise NotBuilt(engines.available())
    engines.call_them()
    no = refused()
    found = []
    for each in head["engines"]:
        one = Called.unpacked(each)
        if (one.generator.name, one.region.program.key) in no:
            raise NotBuilt("it failed here before")
        found.append(engine_of(one, "load"))
    regions = tuple(ProgramRegion(str(name), tuple(map(str, ops)), str(key))
                    for name, ops, key in head["regions"])
    return found, ProgramRegions(regions), data[start + length :]
