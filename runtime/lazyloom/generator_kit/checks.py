"""What the test kit checks of a generator, item by item."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..backends.selection import backend
from ..codegen import faults, registry
from ..codegen.generator import Generator
from ..codegen.patterns import Pattern
from ..codegen.precision import roundings
from ..codegen.report import explain
from ..codegen.verdicts import verdict
from ..errors import LoomError
from ..evaluate.previews import programs_of
from ..ops.samples import Sample
from ..ops.spec import lookup
from ..tensor.apply import apply
from . import random_programs
from .faulty import FAULTS, faulty
from .groups import recordings
from .programs import (
    NothingToDo,
    Recorded,
    Wrong,
    by,
    compared,
    gradients_of,
    no_failures,
    of_sample,
    other_numbers,
    refused,
    run,
    same,
    several,
    tensor,
    transposed,
)
from .samples import call_of, claimed, scaled, with_numbers

#: the samples of an op that take part in checks that run all of them several times
SOME: Final = 6
#: how many programs of a group are compared
GROUPS: Final = 3
#: by how much the extents of samples are multiplied for timings, and the most elements and
#: multiplications that come of it
SCALES: Final = (1024, 256, 64, 16, 4)
MOST_ELEMENTS: Final = 1 << 21
MOST_WORK: Final = 1e9


class Item(NamedTuple):
    """Something that is checked.

    Attributes:
        name: "values conv", say.
        check: does it; returns a line for people, or "". Raises Wrong and NothingToDo.
    """

    name: str
    check: Callable[[], str]


def items(
    generator: Generator, ops: Iterable[str] | None = None, programs: int = 20,
    timing: bool = True, functions: Mapping[str, Callable[[], Any]] | None = None,
) -> list[Item]:  # fmt: skip
    """Return all that is checked of a generator, always in the same order.

    Args:
        generator: it is registered.
        ops: the names of ops that are looked at; None for all.
        programs: how many random programs there are.
        timing: whether the times of each op are taken.
        functions: record programs of the vendor's own, and return what is wanted of them: a tensor,
            or a sequence. They are called anew for each run.
    """
    own = dict(functions or {})
    chosen = None if ops is None else list(ops)
    by_op = claimed(generator, chosen)
    found = [Item("claims", lambda: _claims(generator, by_op))]
    for kind, check in (("values", _values), ("gradients", _gradients), ("layouts", _layouts),
                        ("repeated runs", _repeated), ("an operand twice", _twice)):
        found += [Item(f"{kind} {op}", _bound(check, generator, op, given))
                  for op, given in by_op.items()]
    numbers = with_numbers(generator, sorted(_all(chosen)))
    found += [Item(f"numbers {op}", _bound(_numbers, generator, op, given))
              for op, given in numbers.items()]
    if chosen is None:
        found += [Item(f"group {p.name}", _bound(_group, generator, p))
                  for p in _patterns(generator)]
    found += [Item(f"program {name}", _bound(_program, generator, name, function))
              for name, function in own.items()]
    found += [Item(f"fault: {name}", _bound(_fault, generator, by_op, own, name))
              for name in FAULTS]
    if by_op:
        found += [Item(f"random program {seed}", _bound(_random, generator, by_op, seed))
                  for seed in range(programs)]
    if timing:
        found += [Item(f"time {op}", _bound(_time, generator, op, given))
                  for op, given in by_op.items()]
    return found


def _all(chosen: Sequence[str] | None) -> Sequence[str]:
    from ..ops.spec import names

    return names() if chosen is None else chosen


def _bound(check: Callable[..., str], *arguments: Any) -> Callable[[], str]:
    return lambda: check(*arguments)


def _patterns(generator: Generator) -> Sequence[Pattern]:
    try:
        return list(generator.patterns())
    except Exception:
        return ()  # the first program that is divided reports it


def _claims(generator: Generator, by_op: dict[str, list[Sample]]) -> str:
    if not by_op and not _patterns(generator):
        raise Wrong("it claims no sample of any op, and has no patterns")
    samples = sum(map(len, by_op.values()))
    return f"{samples} samples of {len(by_op)} ops: {', '.join(by_op) or 'none'}"


def _labels(given: Sequence[Sample]) -> list[str]:
    return [sample.label or repr(sample) for sample in given]


def _values(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    op = lookup(name)
    compared(generator, lambda: [of_sample(op, s) for s in given], _labels(given))
    return f"{len(given)} samples"


def _gradients(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    op = lookup(name)
    if not op.derivative.differentiable:
        raise NothingToDo("it has none")
    compared(generator, lambda: gradients_of(op, given), ())
    return ""


def _layouts(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    op = lookup(name)
    some = [s for s in given if any(x is not None and x.ndim > 1 for x in s.operands)][:SOME]
    compared(generator, lambda: [transposed(op, s) for s in some], _labels(some))
    return f"{len(some)} samples"


def _repeated(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    """The same program on the same arrays, which binds constants, and then on others."""
    op, some = lookup(name), list(given[:SOME])
    others = [other_numbers(s) for s in some]
    with by(None):
        expected, _ = run([of_sample(op, s) for s in some])
        expected_of_others, _ = run([of_sample(op, s) for s in others])
    faults.forget()
    with by(generator):
        arrays = [[None if x is None else tensor(x) for x in s.operands] for s in some]
        for count in range(4):
            found, program = run([several(apply(op.name, given_now, s.attributes))
                                  for given_now, s in zip(arrays, some, strict=True)])
            steps = max(roundings(program), default=0)
            for mine, theirs, s in zip(found, expected, some, strict=True):
                same(mine, theirs, generator.tolerance, f"{s.label}, run {count}", steps)
        found, _ = run([of_sample(op, s) for s in others])
        for mine, theirs, s in zip(found, expected_of_others, others, strict=True):
            same(mine, theirs, generator.tolerance, s.label, steps)
        told = explain(program)
    no_failures()
    if not told.partition.parts:
        raise NothingToDo(refused(program, generator))
    return f"{len(some)} samples"


def _twice(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    op = lookup(name)
    some = [s for s in given if _same_types(s)][:SOME]
    if not some:
        raise NothingToDo("no two operands are of one type")

    def record() -> Recorded:
        recorded = []
        for s in some:
            x = tensor(s.operands[0])
            first = s.operands[0]
            assert first is not None
            operands = [x if o is not None and o.shape == first.shape and o.dtype == first.dtype
                        else (None if o is None else tensor(o)) for o in s.operands]
            recorded.append(several(apply(op.name, operands, s.attributes)))
        return recorded

    compared(generator, record, _labels(some))
    return f"{len(some)} samples"


def _same_types(sample: Sample) -> bool:
    first, *others = sample.operands
    return first is not None and first.dtype.kind not in "iub" and any(
        o is not None and o.shape == first.shape and o.dtype == first.dtype for o in others)


def _numbers(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    op = lookup(name)

    def record() -> Recorded:
        return [of_sample(op, s, sum(x is not None and x.ndim == 0 for x in s.operands))
                for s in given]

    compared(generator, record, _labels(given))
    return f"{len(given)} samples"


def _group(generator: Generator, pattern: Pattern) -> str:
    """The first programs of a pattern's ops, one for each kind of types, that it claims."""
    why, found = "no sample of its ops fits together", []
    for label, record in recordings(pattern):
        try:
            with by(generator):
                (value,) = record()
                told = explain(programs_of([value.value])[0][0])
        except LoomError as error:
            why = str(error)
            continue
        if not any(name == pattern.name for p in told.partition.parts
                   for name, _ in p.region.composites):
            why = refused(told.program, generator)
            continue
        compared(generator, lambda record=record: [record()], [label])  # type: ignore[misc]
        found.append(label)
        if len(found) == GROUPS:
            break
    if not found:
        raise NothingToDo(
            f"none was made of samples of its ops, give a program that has it by --program "
            f"({why.splitlines()[0]:.120})")
    return f"on {'; '.join(found)}"


def _program(generator: Generator, name: str, function: Callable[[], Any]) -> str:
    program = compared(generator, lambda: [several(function())], [name])
    with by(generator):
        return explain(program).summary()


def _recorders(
    by_op: dict[str, list[Sample]], own: Mapping[str, Callable[[], Any]]
) -> Iterator[tuple[str, Callable[[], Recorded]]]:
    """Yield a program for each op, and those of the vendor."""
    for name, given in by_op.items():
        op = lookup(name)
        sample = next((s for s in given if _finite(s)), given[0])
        yield name, lambda op=op, sample=sample: [of_sample(op, sample)]  # type: ignore[misc]
    for name, function in own.items():
        yield name, lambda function=function: [several(function())]  # type: ignore[misc]


def _fault(
    generator: Generator, by_op: dict[str, list[Sample]], own: Mapping[str, Callable[[], Any]],
    name: str,
) -> str:  # fmt: skip
    build, when = FAULTS[name]
    broken = faulty(generator, build)
    registry.register(broken)
    why = "it claims no op by itself; give a program of its groups by --program"
    for op_name, record in _recorders(by_op, own):
        with by(None):
            expected, _ = run(record())
        faults.forget()
        try:
            with by(broken), registry.verify(when == "verify"):
                for _ in range(2):
                    try:
                        found, ran = run(record())
                    except LoomError as error:
                        if when == "run":
                            why = f"{op_name} has no kernel of the host: {error}"
                            break
                        raise
                    same(found[0], expected[0], max(generator.tolerance, 64.0), op_name,
                         max(roundings(ran), default=0))
                else:
                    noticed = [f.when for f in faults.failures()]
                    if not noticed:
                        why = f"no region of {op_name}, or nothing that differs"
                        continue
                    if when not in noticed:
                        raise Wrong(f"was noticed at {', '.join(noticed)}, expected {when}")
                    return f"{op_name}: noticed at {when}, the value is right"
        finally:
            faults.forget()
    raise NothingToDo(why)


def _finite(sample: Sample) -> bool:
    return all(x is None or x.dtype.kind in "biu" or bool(np.isfinite(x).all())
               for x in sample.operands)


def _random(generator: Generator, by_op: dict[str, list[Sample]], seed: int) -> str:
    faults.forget()
    with by(generator), registry.verify():
        _, program = run(random_programs.recorded(seed, by_op))
        told = explain(program)
    no_failures()
    if not told.partition.parts:
        raise NothingToDo(refused(program, generator))
    return f"{len(told.partition.owner)} ops, {len(told.partition.parts)} regions"


def _time(generator: Generator, name: str, given: Sequence[Sample]) -> str:
    """Time an op on a large input of the kinds of its samples."""
    op = lookup(name)
    largest = max(given, key=lambda s: sum(0 if x is None else x.size for x in s.operands))
    for sample in (*_large(generator, name, largest), largest):
        try:
            with by(generator):
                _, program = run([of_sample(op, sample)])
                parts = explain(program).partition.parts
                if not parts:
                    continue
                pairs = backend().timed(generator, parts[0].region)
        except LoomError:
            continue
        measured = verdict(generator, parts[0].region, pairs, True)
        types = ", ".join(t.text for t in parts[0].region.operands)
        faster = measured.of_xla / measured.seconds
        return (f"{1e6 * measured.seconds:10.1f} us  {1e6 * measured.of_xla:10.1f} us of XLA  "
                f"{faster:6.2f}  {types}")
    raise NothingToDo("no region of it could be timed")


def _large(generator: Generator, name: str, sample: Sample) -> Iterator[Sample]:
    op = lookup(name)
    for scale in SCALES:
        sizes = [math.prod(d if d == 1 else d * scale for d in x.shape)
                 for x in sample.operands if x is not None]
        if sum(sizes) > MOST_ELEMENTS or op.execution.heavy and math.prod(sizes) > MOST_WORK**1.5:
            continue
        large = scaled(sample, scale)
        call = call_of(op, large)
        if call is not None and generator.supports(call):
            yield large
