"""Times of a region compared with those of XLA's code for its ops."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....codegen.claims import Part
from ....codegen.faults import refused
from ....codegen.generator import Generator, Layout, Region
from ....codegen.partition import Partition
from ....ops.spec import lookup
from ....program.program import Structure
from ....program.stream import Leaf, Operand, Result, encode_operand
from ....settings import options
from ....trace.specs import spec_of
from ....types import TensorType, tensor_type
from ...backend import Executable, Request
from .. import jax_compat
from ..layouts import identity
from .region_op import called, spec_of_region
from .segments import Compile

#: the fewest and most runs of each, and the seconds after which only the fewest are done
FEWEST: Final = 9
MOST: Final = 101
LONG: Final = 0.2


def timed(
    generator: Generator, region: Region, compile: Compile,
    ends: Callable[[], bool] | None = None,
) -> list[tuple[float, float]]:  # fmt: skip
    """Return the seconds of alternating runs of a region and of its ops by XLA.

    Both are programs that take and give arrays in memory in the layouts that the generator chooses.
    Operands are the same in all runs, so that constants are bound, but for those over which results
    are written, of which each run has a copy. Raises what ``compile`` raises, RuntimeError where
    the region failed, and TimeoutError once ``ends()``.
    """

    def run(number: int) -> float:
        if ends is not None and ends():
            raise TimeoutError("measuring was given up")
        given = [jax_compat.upload(numbers[k].copy()) if k in over else array
                 for k, array in enumerate(arrays)]
        return _run(programs[number], given)

    callee = called(spec_of_region(generator, region))
    assert callee is not None
    request, partition, types = _in_memory(generator, region, callee.region.layouts)
    over = {k: r for r, k in callee.aliases}
    request = request._replace(aliases=over)
    programs = [compile(request, partition), compile(request, None)]
    random = np.random.default_rng(0)
    fewest = min([d for t in types for d in t.shape], default=2)
    numbers = [_numbers(t, fewest, random) for t in types]
    arrays = [jax_compat.upload(x) for x in numbers]

    # constants are bound before the runs that count
    with options(reproducible=True):
        for _ in range(3):
            for number in range(len(programs)):
                run(number)
    pairs: list[tuple[float, float]] = []
    started = time.perf_counter()
    while len(pairs) < FEWEST or (
        len(pairs) < MOST and time.perf_counter() - started < LONG
    ):
        # the second one finds shared data in the caches of the processor
        first = len(pairs) % 2
        seconds = [0.0, 0.0]
        for number in (first, 1 - first):
            seconds[number] = run(number)
        pairs.append((seconds[0], seconds[1]))
    if (generator.name, region.program.key) in refused():
        raise RuntimeError("the region failed")
    return pairs


def _run(program: Executable, arrays: Sequence[Any]) -> float:
    arguments = list(arrays)
    if program.further is not None:
        arguments += program.further(arguments, [True] * len(arguments))
    started = time.perf_counter()
    for result in program.run(*arguments):
        jax_compat.wait(result)
    return time.perf_counter() - started


def _numbers(t: TensorType, fewest: int, random: Any) -> Any:
    """Return random numbers; integers are valid as positions along any axis."""
    if t.dtype.kind in "biu":
        most = 2 if t.dtype.kind == "b" else min(fewest, 100 if t.dtype.itemsize == 1 else fewest)
        return random.integers(0, most, t.shape).astype(t.dtype.numpy)
    return random.standard_normal(t.shape).astype(t.dtype.numpy)


def _in_memory(
    generator: Generator, region: Region, layouts: Sequence[Layout]
) -> tuple[Request, Partition, list[TensorType]]:
    """Return a program with a region between transposes, its partition, and the inputs' types."""
    transpose = lookup("transpose")
    stream: list[Any] = []
    types: list[TensorType] = []
    operands: list[Operand] = []
    for k, (t, layout) in enumerate(zip(region.operands, layouts, strict=False)):
        types.append(tensor_type(tuple(t.shape[d] for d in layout), t.dtype))
        if layout == identity(t.ndim):
            operands.append(Leaf(k))
            continue
        axes = tuple(layout.index(d) for d in range(t.ndim))
        operands.append(Result(len(stream) // 2, 0))
        stream += [spec_of(transpose, {"axes": axes}, 1), encode_operand(Leaf(k))]
    before = len(stream) // 2
    region_instructions = region.program.structure.instructions
    for i in region_instructions:
        stream.append(i.spec)
        for item in i.operands:
            if isinstance(item, Leaf):
                item = operands[item.number]
            elif isinstance(item, Result):
                item = Result(before + item.instruction, item.number)
            stream.append(encode_operand(item))
    results = tuple((before + n, r) for n, r in region.program.outputs)
    outputs = list(results)
    number = before + len(region_instructions)
    for k, t in enumerate(region.results):
        layout = layouts[len(operands) + k]
        if layout != identity(t.ndim):
            moved = encode_operand(Result(*results[k]))
            stream += [spec_of(transpose, {"axes": tuple(layout)}, 1), moved]
            outputs[k] = (number, 0)
            number += 1
    members = tuple(range(before, before + len(region_instructions)))
    part = Part(generator, members, tuple(operands), results, region)
    inside = set(members)
    partition = Partition(
        [part], [*(-1 - n for n in range(before)), 0, *(-1 - n for n in range(
            before + len(region_instructions), number))],
        [0 if n in inside else -1 for n in range(number)], [{} for _ in range(number)])
    return Request(Structure(tuple(stream), tuple(types)), tuple(outputs), {}), partition, types
