"""Random programs of :mod:`.random_partitions` compiled by XLA, with and without their regions.

``python -m tests.codegen.random_partitions --xla --count M``. A program is compiled twice: by XLA
alone, and with its regions as functions of Python that XLA's program calls. Their results are
compared. Numbers are small integers, on which whatever is computed is exact, so that both have to
be equal to the last bit; where a number grew too large for that, a program counts as "inexact".
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import lazyloom as ll
from lazyloom import codegen
from lazyloom.backends import Request
from lazyloom.backends.selection import backend
from lazyloom.backends.xla import jax_compat
from lazyloom.cache import memory
from lazyloom.codegen import Code, Layout, PythonCode, Region, faults, registry
from lazyloom.program.program import Instruction, Structure
from lazyloom.program.stream import Leaf, Operand, Result, ScalarSlot

from .random_partitions import Outcome
from .random_programs import Inputs, Random, Values, applied, constant, interpreted, structure


class InPython(Random):
    """A random generator whose regions are run by NumPy, in a random order of axes.

    Attributes:
        ran: how often regions ran.
    """

    def __init__(self, rng: Any, name: str, program: Sequence[Instruction]) -> None:
        super().__init__(rng, name, program)
        self.reversed = rng.random() < 0.3
        self.ran = 0
        #: whether there are ops that it fails to build
        self.fails = False

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        if not self.reversed:
            return None
        return [tuple(reversed(range(t.ndim))) for t in (*region.operands, *region.results)]

    def build(self, region: Region) -> Code:
        program = region.program
        if self.fails and not self.builds(region.calls):
            raise NotImplementedError("no such op")

        def run(*arrays: Any) -> tuple[Any, ...]:
            self.ran += 1
            given = [x.T if self.reversed else x for x in arrays]
            for x, t in zip(given, region.operands, strict=True):
                assert x.shape == t.shape and x.dtype == t.dtype.numpy

            def value(item: Operand) -> Any:
                return given[item.number] if isinstance(item, Leaf) else constant(item)

            results = interpreted(program.structure.instructions, value)
            found = [results[n][r] for n, r in program.outputs]
            return tuple(x.T for x in found) if self.reversed else tuple(found)

        return PythonCode(run)


def compiled(
    whole: Structure, outputs: Sequence[tuple[int, int]], inputs: Inputs, names: tuple[str, ...],
    fails: bool = False,
) -> tuple[list[np.ndarray], int]:  # fmt: skip
    """What a program gives with generators of those names, and how many regions it has."""
    executable = backend().compile(Request(whole, tuple(outputs), {}, names))
    scalars = [
        np.array([inputs(ScalarSlot(dtype, k)) for k in range(count)], dtype.numpy)
        for dtype, count in whole.scalar_counts.items()]
    given = [backend().upload(np.array(x)) for x in (*inputs.leaves, *scalars)]
    found = [backend().download(x) for x in executable.run(*given)]
    regions = len(executable.regions.run)
    assert fails or not executable.regions.failed
    return found, regions


def exact(whole: Structure, inputs: Inputs) -> bool:
    """Whether no op of a program rounds: in wider numbers all of it is the same."""
    narrow = interpreted(whole.instructions, inputs)
    wide: list[tuple[Any, ...]] = []
    for i in whole.instructions:
        given = []
        for o in i.operands:
            x = wide[o.instruction][o.number] if isinstance(o, Result) else inputs(o)
            is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
            given.append(x.astype(np.longdouble) if is_float else x)
        attributes = dict(i.spec.attrs)
        if i.spec.op.name == "cast":
            wide.append((given[0],))
            continue
        with np.errstate(all="ignore"):
            out = applied(i.spec.op, attributes, given)
        wide.append(tuple(np.asarray(x) for x in (
            out if isinstance(out, (tuple, list)) else (out,))))
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for one, two in zip(narrow, wide, strict=True) for a, b in zip(one, two, strict=True))


def outcome(number: int) -> tuple[Outcome, int, bool]:
    """Compile and run a random program both ways; raises AssertionError where they differ.

    The other results are how often regions ran and whether all of it was exact.
    """
    values = Values(number, exact=True)
    rng = values.random
    whole = structure(values, rng.choice((3, 6, 10, 16, 16, 30)))
    everything = [(o.instruction, o.number) for o, _ in values.known]
    outputs = rng.sample(everything, min(len(everything), rng.choice((1, 2, 3, 5))))
    if rng.random() < 0.7 and everything[-1] not in outputs:
        outputs.append(everything[-1])
    generators = [InPython(rng, name, whole.instructions)
                  for name in ("one", "two", "three")[: rng.choice((1, 2, 2, 3))]]
    inputs = Inputs(values)
    names = tuple(g.name for g in generators)
    fails = rng.random() < 0.4
    for generator in generators:
        generator.fails = fails
        codegen.register(generator)
    program = ll.Program(whole, outputs, [])
    with codegen.use(*names, by=rng.choice(("order", "order", "gain"))):
        found, regions = compiled(whole, outputs, inputs, registry.chosen(), fails)
        # without what could not be built
        told = codegen.explain(program)
    expected, none = compiled(whole, outputs, inputs, ())
    assert none == 0 and regions == len(told.partition.parts)
    # XLA calls once what is there twice, and leaves out what no result needs
    ran = sum(g.ran for g in generators)
    assert ran <= regions
    unbuilt = len(codegen.failures())
    assert fails or not unbuilt
    faults.forget()
    same = all(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
               for a, b in zip(found, expected, strict=True))
    is_exact = same or exact(whole, inputs)
    if not same and is_exact:
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"result {k}")
    owner = told.partition.owner
    return Outcome(
        len(owner), regions, sum(len(p.region.composites) for p in told.partition.parts),
        sum(p >= 0 for p in owner), 0, unbuilt=unbuilt), ran, is_exact


def through(start: int, count: int) -> Counter[str]:
    """Go through some; how many there were, of what."""
    total: Counter[str] = Counter()
    with quickly():
        for number in range(start, start + count):
            try:
                found, ran, is_exact = outcome(number)
            except Exception as error:
                error.add_note(f"random program {number}")
                raise
            total["programs"] += 1
            total["inexact"] += not is_exact
            total["ran"] += ran
            total["with regions"] += found.regions > 0
            total["with several regions"] += found.regions > 1
            total.update(found._asdict())
            if number % 100 == 99:
                # what was compiled, and the generators that were registered before
                memory.clear()
    return total


def report(start: int, count: int, each: int = 500) -> None:
    """Go through some, and print every so often what there was."""
    total: Counter[str] = Counter()
    before = time.perf_counter()
    for first in range(start, start + count, each):
        total += through(first, min(each, start + count - first))
        seconds = time.perf_counter() - before
        print(f"{total['programs']} programs from {start} on, {total['inexact']} of them inexact: "
              f"{total['ops']} ops, of which {total['in_regions']} in {total['regions']} regions "
              f"with {total['groups']} groups; {total['with several regions']} with several "
              f"regions; {total['ran']} runs of regions; {seconds:.0f} s, "
              f"{total['programs'] / seconds:.1f} a second", flush=True)


@contextmanager
def quickly() -> Iterator[None]:
    """Programs that run once are compiled without what makes them fast; warnings are errors."""
    from tests import quick_options

    before = jax_compat.XLA_OPTIONS
    jax_compat.XLA_OPTIONS = [*before, *quick_options.known()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            yield
    finally:
        jax_compat.XLA_OPTIONS = before
