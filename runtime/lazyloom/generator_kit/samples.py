"""Samples of the ops that a generator claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from ..codegen.answers import Call
from ..codegen.generator import Generator
from ..codegen.worth import whatever_the_size
from ..dtypes import as_dtype, bfloat16, float32, float64
from ..errors import LoomError
from ..ops.samples import Sample, samples
from ..ops.spec import OpDef, lookup, names
from ..program.program import Instruction
from ..program.stream import Leaf
from ..trace.scalars import baked_constant
from ..trace.specs import spec_of
from ..types import TensorType, tensor_type

#: in what other dtypes samples of float64 are taken: most of those that have several shapes are
NARROWER: Final = (float32, bfloat16)
#: the numbers that operands are in samples of constants
NUMBERS: Final = (0, 1, -1, 0.5, 2, 6)


def widened(given: Iterable[Sample]) -> Iterator[Sample]:
    """Yield samples, and those of float64 in narrower dtypes, too."""
    for sample in given:
        yield sample
        kinds = {x.dtype for x in sample.operands if x is not None and x.dtype.kind == "f"}
        if kinds == {np.dtype(np.float64)}:
            for dtype in NARROWER:
                with np.errstate(over="ignore"):
                    operands = [x if x is None or x.dtype.kind != "f" else x.astype(dtype.numpy)
                                for x in sample.operands]
                yield Sample(
                    operands, {k: dtype if v is float64 else v
                               for k, v in sample.attributes.items()},
                    f"{sample.label} in {dtype}", smooth=sample.smooth)


def inputs(op: OpDef) -> Iterator[Sample]:
    """Yield the samples of an op, those in narrower dtypes, and those of operands of one shape."""
    given = samples(op)
    if op.signature.bodies:
        yield from given
        return
    for sample in widened(given):
        yield sample
        whole = _of_one_shape(sample)
        if whole is not None:
            yield whole


def _of_one_shape(sample: Sample) -> Sample | None:
    """Return a sample of operands that broadcast as one of operands of one shape, if it is none."""
    arrays = [x for x in sample.operands if x is not None]
    if len(arrays) < 2 or len({x.shape for x in arrays}) == 1:
        return None
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        return None
    operands = [None if x is None else np.broadcast_to(x, shape).copy() for x in sample.operands]
    return Sample(operands, sample.attributes, f"{sample.label}, one shape", smooth=sample.smooth)


def scaled(sample: Sample, by: int) -> Sample:
    """Return a sample of random numbers whose extents, but for those of 1, are so many times."""
    rng = np.random.default_rng(0)
    operands: list[Any] = []
    for x in sample.operands:
        if x is None or x.dtype.kind in "iub":
            operands.append(None if x is None else np.zeros(
                [d if d == 1 else d * by for d in x.shape], x.dtype))
        else:
            operands.append(rng.standard_normal(
                [d if d == 1 else d * by for d in x.shape]).astype(x.dtype))
    return Sample(operands, sample.attributes, f"{sample.label}, {by} times")


def types_of(sample: Sample) -> tuple[TensorType | None, ...]:
    """Return the types of a sample's operands."""
    return tuple(None if x is None else tensor_type(x.shape, as_dtype(x.dtype))
                 for x in sample.operands)


def call_of(op: OpDef, sample: Sample, numbers: tuple[float, ...] = ()) -> Call | None:
    """Return what a generator is asked about a sample; None where it is never asked.

    ``numbers`` are its last operands, as constants of the program.
    """
    types = types_of(sample)
    try:
        spec = spec_of(op, sample.attributes, len(sample.operands))
        results = spec.infer(types)
    except LoomError:
        return None  # not in that dtype
    if spec.effect or spec.fallible or spec.checked:
        return None
    if any(t is not None and t.size == 0 for t in (*types, *results)):
        return None
    first = len(types) - len(numbers)
    items = [None if t is None else Leaf(k) for k, t in enumerate(types[:first])]
    constants = [baked_constant(n, t.dtype)
                 for n, t in zip(numbers, types[first:], strict=True) if t is not None]
    return Call.of(Instruction(spec, (*items, *constants), types, results))


def claimed(
    generator: Generator, ops: Iterable[str] | None = None,
    given: Any = inputs,
) -> dict[str, list[Sample]]:
    """Return the samples that a generator claims, by op, whatever their size.

    Args:
        generator: the code generator.
        ops: the names of the ops that are looked at; None for all.
        given: a function of an op that yields its samples.
    """
    found: dict[str, list[Sample]] = {}
    with whatever_the_size():
        for op in map(lookup, sorted(names() if ops is None else ops)):
            for sample in given(op):
                call = call_of(op, sample)
                if call is not None and generator.supports(call):
                    found.setdefault(op.name, []).append(sample)
    return found


def with_numbers(generator: Generator, ops: Iterable[str]) -> dict[str, list[Sample]]:
    """Return samples of float32 whose last operands are constants, which a generator claims.

    Those operands are arrays of shape (); :attr:`Sample.label` says which numbers they are.
    """
    found: dict[str, list[Sample]] = {}
    with whatever_the_size():
        for op in map(lookup, ops):
            most = 0 if op.max_operands < 0 or op.signature.bodies else op.max_operands
            for count in range(1, min(most, 3)):
                for sample in _of_numbers(op, count):
                    call = call_of(op, sample, tuple(float(x) for x in sample.operands[-count:]
                                                     if x is not None))
                    if call is not None and generator.supports(call):
                        found.setdefault(op.name, []).append(sample)
    return found


def _of_numbers(op: OpDef, count: int) -> Iterator[Sample]:
    shape = (5, 7)
    x = np.linspace(-7, 7, 35, dtype=np.float32).reshape(shape)
    for first in range(max(op.min_operands - count, 1), op.max_operands - count + 1):
        for numbers in itertools.product(NUMBERS, repeat=count):
            yield Sample([x + np.float32(k) for k in range(first)]
                         + [np.array(n, np.float32) for n in numbers],
                         None, f"numbers {numbers}")
