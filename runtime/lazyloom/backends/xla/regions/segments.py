"""A program whose regions, and what XLA does between them, are programs of their own.

They run one by one, each waited for, so that each can be timed. A part of XLA's is all that can run
before the next region must.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ....codegen.claims import Part, region_of
from ....codegen.partition import Partition
from ....program.program import Structure
from ....program.regions import PartRun, ProgramRegion, ProgramRegions
from ....program.stream import Leaf, Operand, Result, ScalarSlot, encode_operand
from ....trace.scalars import Baked
from ....types import TensorType, tensor_type
from ...backend import Executable, Request
from .. import jax_compat

#: compiles a program, in the regions of a partition if there is one
Compile = Callable[[Request, Partition | None], Executable]


class _Step(NamedTuple):
    """A part as it runs: its operands and results in the whole program, and the values that are
    released after it."""

    generator: str
    ops: tuple[str, ...]
    program: Executable
    operands: tuple[Operand, ...]
    results: tuple[Result, ...]
    unused: tuple[Operand, ...]


class Segmented(Executable):
    """The program. It does not reuse the memory of its inputs."""

    __slots__ = ("engines", "regions", "_structure", "_outputs", "_steps", "_newest")

    segmented = True
    regions: ProgramRegions

    def __init__(
        self, request: Request, steps: list[_Step], failed: tuple[ProgramRegion, ...]
    ) -> None:
        programs = [step.program for step in steps]
        self.direct = False
        self.needs = max((p.needs for p in programs), default=0)
        self.timings: dict[str, float] = {}
        for each in programs:
            for name, seconds in each.timings.items():
                self.timings[name] = self.timings.get(name, 0.0) + seconds
        self.regions = ProgramRegions(
            tuple(region for p in programs for region in p.regions.run), failed,
            any(p.regions.verified for p in programs))
        #: the engines that run the regions, as other programs have them
        self.engines: Final = [e for p in programs for e in getattr(p, "engines", ())]
        self._structure: Final = request.structure
        self._outputs: Final = request.outputs
        self._steps: Final = steps
        self._newest: Final = threading.local()
        self.run = self._run

    def serialize(self) -> bytes:
        """Raise: such a program is not stored."""
        raise NotImplementedError("a program in segments is not kept")

    def parts(self) -> tuple[PartRun, ...]:
        """Return the parts of this thread's newest run."""
        parts: tuple[PartRun, ...] = getattr(self._newest, "parts", ())
        return parts

    def _run(self, *arguments: Any) -> list[Any]:
        values = self._given(arguments)
        done: list[PartRun] = []
        for step in self._steps:
            started = time.perf_counter()
            results = step.program.run(*[values[item] for item in step.operands])
            for array in results:
                jax_compat.wait(array)
            done.append(PartRun(step.generator, step.ops, time.perf_counter() - started))
            values.update(zip(step.results, results, strict=True))
            for item in step.unused:
                del values[item]
        self._newest.parts = tuple(done)
        return [values[Result(n, r)] for n, r in self._outputs]

    def _given(self, arguments: Sequence[Any]) -> dict[Operand, Any]:
        """Return leaves and run-time scalars, each as an array."""
        leaves = len(self._structure.leaf_types)
        values: dict[Operand, Any] = {Leaf(k): x for k, x in enumerate(arguments[:leaves])}
        counts = self._structure.scalar_counts
        for dtype, vector in zip(counts, arguments[leaves:], strict=True):
            numbers = jax_compat.to_host(vector)
            for k in range(counts[dtype]):
                values[ScalarSlot(dtype, k)] = jax_compat.upload(np.array(numbers[k], dtype.numpy))
        return values


def segmented(request: Request, partition: Partition | None, compile: Compile) -> Segmented:
    """Return the program of a request in regions of a partition. Raises what ``compile`` raises."""
    structure = request.structure
    n = len(structure.instructions)
    if partition is None:
        partition = Partition([], [-1 - k for k in range(n)], [-1] * n, [{} for _ in range(n)])
    order = in_order(structure, partition)
    wanted = _wanted(structure, request.outputs, partition, order)
    parts: list[tuple[int, _Step]] = []
    # regions first, as they may turn out not to be built
    for at in sorted(range(len(order)), key=lambda at: not isinstance(order[at], int)):
        each = order[at]
        if isinstance(each, int):
            parts.append((at, _region(partition.parts[each], request.verify, compile)))
        else:
            step = _of_xla(structure, each, wanted, partition, request.verify, compile)
            if step.results:
                parts.append((at, step))
    steps = [step for _, step in sorted(parts, key=lambda part: part[0])]
    return Segmented(request, _released(steps, request.outputs), partition.failed)


def in_order(structure: Structure, partition: Partition) -> list[int | list[int]]:
    """Return regions by number, and XLA's instructions between them, in an order that works."""
    home: dict[int, int] = {}
    for unit, step in enumerate(partition.steps):
        for n in [-1 - step] if step < 0 else partition.parts[step].members:
            home[n] = unit
    needs: list[set[int]] = [set() for _ in partition.steps]
    feeds: list[set[int]] = [set() for _ in partition.steps]
    edges = [(item.instruction, n) for n, i in enumerate(structure.instructions)
             for item in i.operands if isinstance(item, Result)]
    effects = [n for n, i in enumerate(structure.instructions) if i.spec.effect]
    edges += zip(effects, effects[1:], strict=False)
    for before, after in edges:
        if home[before] != home[after]:
            needs[home[after]].add(home[before])
            feeds[home[before]].add(home[after])
    missing = [len(before) for before in needs]
    ready = [unit for unit, count in enumerate(missing) if not count]
    regions: list[int] = []
    order: list[int | list[int]] = []

    def done(unit: int) -> None:
        for after in feeds[unit]:
            missing[after] -= 1
            if not missing[after]:
                heapq.heappush(ready, after)

    while ready or regions:
        together: list[int] = []
        while ready:
            unit = heapq.heappop(ready)
            if partition.steps[unit] >= 0:
                regions.append(unit)
            else:
                together.append(-1 - partition.steps[unit])
                done(unit)
        if together:
            order.append(sorted(together))
        for unit in regions:
            order.append(partition.steps[unit])
            done(unit)
        regions = []
    return order


def _wanted(
    structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition,
    order: Sequence[int | list[int]],
) -> set[Result]:  # fmt: skip
    """Return the results that another part needs, or that the program returns."""
    part: dict[int, int] = {}
    for number, each in enumerate(order):
        for n in partition.parts[each].members if isinstance(each, int) else each:
            part[n] = number
    wanted = {Result(n, r) for n, r in outputs}
    for n, i in enumerate(structure.instructions):
        if i.spec.effect and i.types:
            wanted.add(Result(n, 0))
        wanted.update(item for item in i.operands
                      if isinstance(item, Result) and part[item.instruction] != part[n])
    return wanted


def _region(part: Part, verify: bool, compile: Compile) -> _Step:
    """Compile a region as a program of its own."""
    program = part.region.program
    structure = program.structure
    n = len(structure.instructions)
    alone = Part(
        part.generator, tuple(range(n)), tuple(Leaf(k) for k in range(len(part.operands))),
        tuple((a, b) for a, b in program.outputs), part.region)
    whole = Partition([alone], [0], [0] * n, [{} for _ in range(n)])
    executable = compile(Request(structure, alone.outputs, {}, (), verify, True), whole)
    name = part.generator.name
    return _Step(name, region_of(name, part.region).ops, executable, part.operands,
                 tuple(Result(a, b) for a, b in part.outputs), ())


def _of_xla(
    structure: Structure, members: Sequence[int], wanted: set[Result], partition: Partition,
    verify: bool, compile: Compile,
) -> _Step:  # fmt: skip
    """Compile some instructions as a program of their own."""
    renumbered = {old: new for new, old in enumerate(members)}
    operands: dict[Operand, int] = {}
    stream: list[object] = []
    types: list[TensorType] = []
    results: list[Result] = []
    for n in members:
        i = structure.instructions[n]
        stream.append(i.spec)
        for item, t in zip(i.operands, i.operand_types, strict=True):
            if isinstance(item, Result) and item.instruction in renumbered:
                item = Result(renumbered[item.instruction], item.number)
            elif item is not None and not isinstance(item, Baked):
                if item not in operands:
                    operands[item] = len(operands)
                    assert t is not None or isinstance(item, ScalarSlot)
                    types.append(tensor_type((), item.dtype) if isinstance(item, ScalarSlot)
                                 else t)  # type: ignore[arg-type]
                item = Leaf(operands[item])
            stream.append(encode_operand(item))
        results += [each for r in range(len(i.types)) if (each := Result(n, r)) in wanted]
    ops = tuple(structure.instructions[n].spec.op.name for n in members)
    outputs = tuple((renumbered[result.instruction], result.number) for result in results)
    if not outputs:
        return _Step("xla", ops, None, (), (), ())  # type: ignore[arg-type]
    # of a loop in two halves, each knows the other's residuals only where both are in the part
    loops = [
        loop._replace(instructions=tuple(renumbered[n] for n in loop.instructions))
        for loop in partition.loops if all(n in renumbered for n in loop.instructions)]
    m = len(members)
    inside = Partition([], [-1 - k for k in range(m)], [-1] * m, [{} for _ in range(m)],
                       loops=loops) if loops else None
    executable = compile(
        Request(Structure(tuple(stream), tuple(types)), outputs, {}, (), verify, True), inside)
    return _Step("xla", ops, executable, tuple(operands), tuple(results), ())


def _released(
    steps: list[_Step], outputs: Sequence[tuple[int, int]]
) -> list[_Step]:
    """Return the steps, each with the values that nothing needs after it."""
    kept: set[Operand] = {Result(n, r) for n, r in outputs}
    released: list[_Step] = []
    for step in reversed(steps):
        unused = tuple(x for x in dict.fromkeys((*step.operands, *step.results)) if x not in kept)
        kept.update(step.operands)
        released.append(step._replace(unused=unused))
    return released[::-1]
