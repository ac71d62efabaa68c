"""Programs of samples, run with a generator and by XLA alone, and compared."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..autodiff.api import grad
from ..codegen import faults, registry
from ..codegen.generator import Generator
from ..codegen.precision import difference, roundings
from ..codegen.report import explain
from ..codegen.worth import whatever_the_size
from ..dtypes import as_dtype, float32
from ..ops.samples import Sample, random_source
from ..ops.spec import OpDef
from ..program.evaluations import last_evaluation
from ..program.program import Program
from ..settings import options
from ..tensor.apply import apply
from ..tensor.host import from_host
from ..tensor.tensor import Tensor
from ..trace.scalars import Scalar
from ..trace.specs import spec_of
from .samples import types_of

Recorded = list[list[Any]]
Arrays = list[list[Any]]


class Wrong(AssertionError):
    """A generator does not do what it has to, in words."""


class NothingToDo(Exception):
    """A check has nothing to look at, in words."""


def tensor(array: Any) -> Tensor:
    """Return an array as a tensor."""
    return Tensor.from_value(from_host(np.array(array)))


def several(found: Any) -> list[Any]:
    """Return the results of an op of one or several results as a list."""
    return list(found) if isinstance(found, (tuple, list)) else [found]


def of_sample(op: OpDef, sample: Sample, numbers: int = 0) -> list[Any]:
    """Record an op on a sample; the last ``numbers`` operands are numbers of the program."""
    operands: list[Any] = [None if x is None else tensor(x) for x in sample.operands]
    for k in range(len(operands) - numbers, len(operands)):
        x = sample.operands[k]
        assert x is not None
        operands[k] = Scalar(x.item(), as_dtype(x.dtype))
    return several(apply(op.name, operands, sample.attributes))


def transposed(op: OpDef, sample: Sample) -> list[Any]:
    """Record an op on a sample whose arrays have their axes in the other order before and after."""
    def turned(x: Any) -> Any:
        return apply("transpose", [x], {"axes": tuple(reversed(range(x.value.type.ndim)))})

    operands = [None if x is None else turned(tensor(x.T)) for x in sample.operands]
    return [turned(x) for x in several(apply(op.name, operands, sample.attributes))]


def gradients_of(op: OpDef, given: Iterable[Sample]) -> Recorded:
    """Record the gradients of a weighted sum of each sample's results."""
    rng = random_source(f"{op.name} through a generator")
    recorded: Recorded = []
    for sample in given:
        at = [k for k, x in enumerate(sample.operands)
              if x is not None and as_dtype(x.dtype).is_inexact and op.has_gradient(k)]
        results = spec_of(op, sample.attributes, len(sample.operands)).infer(types_of(sample))
        if not at or not any(t.dtype.is_inexact for t in results):
            continue

        def loss(*some: Any, sample: Sample = sample, at: list[int] = at) -> Any:
            operands: list[Any] = [None if x is None else tensor(x) for x in sample.operands]
            for k, x in zip(at, some, strict=True):
                operands[k] = x
            total = None
            for result in several(apply(op.name, operands, sample.attributes)):
                t = result.value.type
                if not t.dtype.is_inexact:
                    continue
                weight = tensor(rng.uniform(-1, 1, t.shape).astype(t.dtype.numpy))
                term = apply("multiply", [result, weight], {})
                term = apply("sum", [apply("cast", [term], {"dtype": float32})], {})
                total = term if total is None else apply("add", [total, term], {})
            return total

        arguments = [tensor(sample.operands[k]) for k in at]
        recorded.append(list(grad(loss, tuple(range(len(at))))(*arguments)))
    return recorded


def joined(tensors: Iterable[Any]) -> None:
    """Make one component of the work that tensors wait for, so that it is one program.

    What is recorded for that is forgotten at once, and takes no part in the program.
    """
    last: Any = None
    for x in tensors:
        one = apply("any", [x], {})
        last = one if last is None else apply("logical_or", [last, one], {})


def run(recorded: Recorded) -> tuple[Arrays, Program]:
    """Run all that is recorded as one program; return the results, and the program."""
    joined(x for each in recorded for x in each)
    found = [[x.read() for x in each] for each in recorded]
    evaluation = last_evaluation()
    if evaluation is None or evaluation.program is None:
        raise NothingToDo("nothing ran")
    return found, evaluation.program


@contextlib.contextmanager
def by(generator: Generator | None, reproducible: bool = True) -> Iterator[None]:
    """Run programs with one generator, whatever the size, or by XLA alone, compiled."""
    names = () if generator is None else (generator.name,)
    with registry.use(*names, registry.XLA), options(reproducible=reproducible), (
        whatever_the_size() if generator is not None else contextlib.nullcontext()
    ), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def compared(
    generator: Generator, record: Callable[[], Recorded], labels: Sequence[str]
) -> Program:
    """Compare what is recorded with and without a generator; return the program with it.

    Raises Wrong where a result differs, or where the generator failed, and NothingToDo where
    there is nothing.
    """
    with by(None):
        recorded = record()
        if not any(recorded):
            raise NothingToDo("there is nothing of it")
        expected, _ = run(recorded)
    faults.forget()
    with by(generator):
        found, program = run(record())
        told = explain(program)
    no_failures()
    steps = max(roundings(program), default=0)
    for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        same(mine, theirs, generator.tolerance, labels[k] if k < len(labels) else "", steps)
    if not told.partition.parts:
        raise NothingToDo(refused(program, generator))
    return program


def same(
    mine: Sequence[Any], theirs: Sequence[Any], tolerance: float, label: str, steps: int = 0
) -> None:
    """Raise Wrong unless results are equal within a tolerance, and so many roundings."""
    for a, b in zip(mine, theirs, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Wrong(f"{label}: {a.dtype}{list(a.shape)}, XLA's {b.dtype}{list(b.shape)}")
    why = difference(mine, theirs, tolerance, [steps] * len(mine))
    if why is not None:
        raise Wrong(f"{label}: {why}")


def no_failures() -> None:
    """Raise Wrong if a generator failed since failures were forgotten."""
    failures = faults.failures()
    if failures:
        first = failures[0]
        at = f" at {first.place}" if first.place else ""
        raise Wrong(f"{first.when}: {first.error}{at} ({', '.join(first.ops[:6])})")


def refused(program: Program, generator: Generator) -> str:
    """Return why a generator makes no region of a program, in words."""
    with by(generator):
        told = explain(program)
    reasons = {told.partition.reasons[n].get(generator.name, "")
               for n in range(len(told.partition.owner))}
    return "no region: " + "; ".join(sorted(filter(None, reasons))[:3])


#: how numbers are changed for a run with other data
_OTHER: Final = 0.5


def other_numbers(sample: Sample) -> Sample:
    """Return a sample with other values of floating-point operands."""
    operands = [x if x is None or x.dtype.kind != "f" and x.dtype.name != "bfloat16" else (
        x * np.asarray(_OTHER, x.dtype)).astype(x.dtype) for x in sample.operands]
    return Sample(operands, sample.attributes, f"{sample.label}, other numbers")
