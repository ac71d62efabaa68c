"""An independent checker of partitions.

It shares no code with partitioning: it counts, orders and recomputes from the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LoomError
from ..ops.bodies import BodyConstant, BodyInput, BodyResult, Use, parsed
from ..ops.derived import VMAP
from ..program.program import Instruction, Structure
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.scalars import Baked
from .bodies import Cotangent
from .partition import DividedBody, Partition


class Unsound(LoomError):
    """A partition does not do what its program does: a defect of partitioning."""


def check(structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition) -> None:
    """Raise Unsound unless each op is done once, in order, with the right operands and results of
    regions."""
    instructions = structure.instructions
    done: list[int] = []
    seen: set[tuple[int, int]] = set()
    for step in partition.steps:
        if step >= len(partition.parts):
            raise Unsound(f"a step is region {step}, of {len(partition.parts)}")
        members = [-1 - step] if step < 0 else list(partition.parts[step].members)
        if step < 0:
            visible = seen
        else:
            part = partition.parts[step]
            if members != sorted(set(members)):
                raise Unsound(f"region {step} holds {members}")
            results_taken = {item for item in part.operands if isinstance(item, Result)}
            visible = {(r.instruction, r.number) for r in results_taken}
            operands = set(part.operands)
            if not visible <= seen:
                raise Unsound(f"region {step} takes {sorted(visible - seen)} before they are there")
            if len(operands) != len(part.operands):
                raise Unsound(f"region {step} takes an operand twice")
            if len(set(part.outputs)) != len(part.outputs):
                raise Unsound(f"region {step} gives a result twice")
        for n in members:
            if not 0 <= n < len(instructions):
                raise Unsound(f"step {step} holds instruction {n}, which is not there")
            for item in instructions[n].operands:
                if isinstance(item, Result):
                    if (item.instruction, item.number) not in visible:
                        raise Unsound(f"instruction {n} uses {item} before it is there")
                elif step >= 0 and isinstance(item, (Leaf, ScalarSlot)):
                    if item not in operands:
                        raise Unsound(f"region {step} is not given {item}")
            # outside of regions, ``visible`` is ``seen``: all later steps see the results
            visible.update((n, r) for r in range(len(instructions[n].types)))
            done.append(n)
        if step >= 0:
            seen |= set(part.outputs)
            _program(structure, step, partition)
    if sorted(done) != list(range(len(instructions))):
        raise Unsound(f"instructions {sorted(done)} are done, expected each of "
                      f"{len(instructions)} once")
    missing = [o for o in outputs if tuple(o) not in seen]
    if missing:
        raise Unsound(f"the results {missing} are inside regions")
    _owners(structure, partition)
    _used(structure, outputs, partition)
    _loops(structure, outputs, partition)


def _owners(structure: Structure, partition: Partition) -> None:
    """Raise Unsound unless each instruction's owner is the region that has it, or none."""
    run = {step for step in partition.steps if step >= 0}
    if len(run) != len(partition.parts):
        raise Unsound(f"the regions {sorted(run)} are run, expected all {len(partition.parts)}")
    home = {n: p for p, part in enumerate(partition.parts) for n in part.members}
    expected = [home.get(n, -1) for n in range(len(structure.instructions))]
    if partition.owner != expected:
        raise Unsound(f"the owners are {partition.owner}, expected {expected}")


def _used(structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition) -> None:
    """Raise Unsound unless regions give exactly the results that others use."""
    wanted = {(n, r) for n, r in outputs}
    for n, i in enumerate(structure.instructions):
        for item in i.operands:
            if isinstance(item, Result) and (
                partition.owner[n] < 0 or partition.owner[n] != partition.owner[item.instruction]
            ):
                wanted.add((item.instruction, item.number))
    for p, part in enumerate(partition.parts):
        inside = set(part.members)
        unused = [o for o in part.outputs if o not in wanted or o[0] not in inside]
        if unused:
            raise Unsound(f"region {p} gives {unused}, which nothing uses or it does not make")


def _program(structure: Structure, number: int, partition: Partition) -> None:
    """Raise Unsound unless a region's own program consists of its members."""
    part = partition.parts[number]
    program = part.region.program
    region_instructions = program.structure.instructions
    if program.donated:
        raise Unsound(f"region {number} gives up {program.donated}")
    if len(program.structure.leaf_types) != len(part.operands):
        raise Unsound(f"region {number} has {len(program.structure.leaf_types)} leaves, expected "
                      f"{len(part.operands)}")
    used: set[int] = set()
    if len(region_instructions) != len(part.members):
        raise Unsound(f"region {number} has {len(region_instructions)} ops of its own, expected "
                      f"{len(part.members)}")
    for mine, n in zip(region_instructions, part.members, strict=True):
        theirs = structure.instructions[n]
        if mine.spec is not theirs.spec or mine.types != theirs.types:
            raise Unsound(f"region {number} does {mine.spec}, expected {theirs.spec}")
        if mine.operand_types != theirs.operand_types:
            raise Unsound(f"region {number}, op {n}: takes {mine.operand_types}, expected "
                          f"{theirs.operand_types}")
        for a, b in zip(mine.operands, theirs.operands, strict=True):
            if isinstance(a, Leaf):
                used.add(a.number)
                same = part.operands[a.number] == b
            elif isinstance(a, Result):
                same = Result(part.members[a.instruction], a.number) == b
            else:
                same = (a is None or isinstance(a, Baked)) and a == b
            if not same:
                raise Unsound(f"region {number}, op {n}: takes {a}, expected {b}")
    if len(used) != len(part.operands):
        raise Unsound(f"region {number} does not use all of its operands {part.operands}")
    if [(part.members[n], r) for n, r in part.region.program.outputs] != list(part.outputs):
        raise Unsound(f"region {number} gives {part.region.program.outputs}, expected "
                      f"{part.outputs}")


def _loops(structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition) -> None:
    """Raise Unsound unless the functions of loops are divided soundly, each as the loop has it."""
    seen: set[int] = set()
    for loop in partition.loops:
        if seen.intersection(loop.instructions) or not loop.instructions:
            raise Unsound(f"the loops {loop.instructions} are divided twice")
        seen.update(loop.instructions)
        for n in loop.instructions:
            if partition.owner[n] >= 0:
                raise Unsound(f"instruction {n} is divided and in region {partition.owner[n]}")
        first = structure.instructions[loop.instructions[0]]
        for n in loop.instructions[1:]:
            # what the halves of a loop hand each other is nobody else's
            taken = {o for o in structure.instructions[n].operands
                     if isinstance(o, Result) and o.instruction == loop.instructions[0]}
            others = {o for k, i in enumerate(structure.instructions)
                      if k not in loop.instructions for o in i.operands}
            if taken & (others | {Result(*o) for o in outputs}):
                raise Unsound(f"residuals of instruction {loop.instructions[0]} are used elsewhere")
        names = [b.program.name for b in loop.bodies if b.program.gradient is None]
        if sorted(names) != sorted(first.spec.op.root.signature.bodies):
            raise Unsound(f"the functions {names} of instruction {loop.instructions[0]} are "
                          f"divided, expected {first.spec.op.root.signature.bodies}")
        for body in loop.bodies:
            if body.program.gradient is None:
                _body(first, loop.bodies, body)
            else:
                _gradient(first, body)
            check(body.program.structure, body.program.outputs, body.partition)


def _body(loop: Instruction, bodies: Sequence[DividedBody], divided: DividedBody) -> None:
    """Raise Unsound unless a program is that of a loop's function."""
    program = divided.program
    body = parsed(loop.spec.op.root, loop.spec.attrs[program.name])
    instructions = program.structure.instructions
    if program.structure.leaf_types != body.leaves or len(instructions) != len(body.instructions):
        raise Unsound(f"{program.path} is another function")
    for n, (mine, theirs) in enumerate(zip(instructions, body.instructions, strict=True)):
        same = (mine.spec.op is theirs.op and mine.spec.attrs == theirs.attrs
                or theirs.op.times(VMAP) > 0)
        if not same or mine.types != body.types[n] or not all(
            map(_reads, mine.operands, theirs.operands)
        ):
            raise Unsound(f"{program.path}, op {n}: {mine.spec}, expected {theirs.op.name}")
    wanted = {u.source for u in body.results} | {
        x for other in bodies if other.program.name == program.name
        and other.program.gradient is not None for x in other.program.gradient.saved}
    missing = {(s.instruction, s.number) for s in wanted
               if isinstance(s, BodyResult)} - set(program.outputs)
    if missing:
        raise Unsound(f"{program.path} does not give {sorted(missing)}")


def _reads(item: object, use: Use | None) -> bool:
    """Return True if an operand of a program is what a function's instruction reads."""
    if use is None or isinstance(use.source, BodyConstant):
        return item is None if use is None or not isinstance(use.source, BodyConstant) else (
            isinstance(item, Baked) and item.number == use.source.number
            and item.dtype is use.source.dtype)
    kind = Leaf if isinstance(use.source, BodyInput) else Result
    return isinstance(item, kind) and tuple(item) == tuple(use.source)


def _gradient(loop: Instruction, divided: DividedBody) -> None:
    """Raise Unsound unless a derivative's program fits the function."""
    program, gradient = divided.program, divided.program.gradient
    assert gradient is not None
    body = parsed(loop.spec.op.root, loop.spec.attrs[program.name])
    types = []
    for x in gradient.takes:
        if isinstance(x, Cotangent):
            types.append(body.result_types[x.result])
        elif isinstance(x, BodyInput):
            types.append(body.leaves[x.number])
        elif isinstance(x, BodyResult):
            types.append(body.types[x.instruction][x.number])
        else:
            types.append(x)
    if tuple(types) != program.structure.leaf_types:
        raise Unsound(f"{program.path} takes {program.structure.leaf_types}, expected {types}")
    if len(gradient.gives) != len(body.leaves):
        raise Unsound(f"{program.path} gives {len(gradient.gives)} cotangents, expected "
                      f"{len(body.leaves)}")
    for leaf, given in zip(body.leaves, gradient.gives, strict=True):
        found = leaf
        if isinstance(given, Leaf):
            found = program.structure.leaf_types[given.number]
        elif isinstance(given, Result):
            found = program.structure.instructions[given.instruction].types[given.number]
            if tuple(given) not in program.outputs:
                raise Unsound(f"{program.path} does not give {given}")
        if found != leaf:
            raise Unsound(f"{program.path} gives a cotangent {found}, expected {leaf}")
