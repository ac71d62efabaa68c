"""Seconds of a region beside those of XLA's code for its ops."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....codegen.faults import refused
from ....codegen.generator import Generator, Layout, Region
from ....codegen.partition import Part, Partition
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

#: runs of each, and the seconds after which there are no more than the fewest
FEWEST: Final = 9
MOST: Final = 101
LONG: Final = 0.2


def timed(generator: Generator, region: Region, compile: Compile) -> list[tuple[float, float]]:
    """Of runs by turns, the seconds of each of a region and of its ops by XLA.

    Both are programs that take and give arrays as they lie in memory where the generator may
    choose. Operands are the same in all runs, so that constants are bound. Raises what ``compile``
    raises, and RuntimeError where the region failed.
    """
    one = called(spec_of_region(generator, region))
    assert one is not None
    request, found, types = _in_memory(generator, region, one.region.layouts)
    programs = [compile(request, found), compile(request, None)]
    random = np.random.default_rng(0)
    fewest = min([d for t in types for d in t.shape], default=2)
    arrays = [jax_compat.upload(_numbers(t, fewest, random)) for t in types]
    # constants are bound before the runs that count
    with options(reproducible=True):
        for _ in range(3):
            for program in programs:
                _run(program, arrays)
    pairs: list[tuple[float, float]] = []
    started = time.perf_counter()
    while len(pairs) < FEWEST or (
        len(pairs) < MOST and time.perf_counter() - started < LONG
    ):
        # whoever comes second finds what they share in the caches of the processor
        first = len(pairs) % 2
        seconds = [0.0, 0.0]
        for which in (first, 1 - first):
            seconds[which] = _run(programs[which], arrays)
        pairs.append((seconds[0], seconds[1]))
    if (generator.name, region.program.key) in refused():
        raise RuntimeError("the region failed")
    return pairs


def _run(program: Executable, arrays: Sequence[Any]) -> float:
    given = list(arrays)
    if program.further is not None:
        given += program.further(given, [True] * len(given))
    started = time.perf_counter()
    for result in program.run(*given):
        jax_compat.wait(result)
    return time.perf_counter() - started


def _numbers(t: TensorType, fewest: int, random: Any) -> Any:
    """Random numbers; integers could be positions along any axis."""
    if t.dtype.kind in "biu":
        most = 2 if t.dtype.kind == "b" else min(fewest, 100 if t.dtype.itemsize == 1 else fewest)
        return random.integers(0, most, t.shape).astype(t.dtype.numpy)
    return random.standard_normal(t.shape).astype(t.dtype.numpy)


def _in_memory(
    generator: Generator, region: Region, layouts: Sequence[Layout]
) -> tuple[Request, Partition, list[TensorType]]:
    """A region between transposes, as a program with it as its only one, and the inputs' types."""
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
    own = region.program.structure.instructions
    for i in own:
        stream.append(i.spec)
        for item in i.operands:
            if isinstance(item, Leaf):
                item = operands[item.number]
            elif isinstance(item, Result):
                item = Result(before + item.instruction, item.number)
            stream.append(encode_operand(item))
    given = tuple((before + n, r) for n, r in region.program.outputs)
    outputs = list(given)
    number = before + len(own)
    for k, t in enumerate(region.results):
        layout = layouts[len(operands) + k]
        if layout != identity(t.ndim):
            moved = encode_operand(Result(*given[k]))
            stream += [spec_of(transpose, {"axes": tuple(layout)}, 1), moved]
            outputs[k] = (number, 0)
            number += 1
    members = tuple(range(before, before + len(own)))
    part = Part(generator, members, tuple(operands), given, region)
    inside = set(members)
    found = Partition(
        [part], [*(-1 - n for n in range(before)), 0, *(-1 - n for n in range(
            before + len(own), number))],
        [0 if n in inside else -1 for n in range(number)], [{} for _ in range(number)])
    return Request(Structure(tuple(stream), tuple(types)), tuple(outputs), {}), found, types
