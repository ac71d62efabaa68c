"""The samples of every op that a generator does, through that generator, beside XLA alone.

Whatever generators are installed are taken, and the example of a vendor's. A generator says what
it does (``supports``); of that, values and gradients are compared within its tolerance.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import lazyloom
from docs.pages import ROOT
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import library
from lazyloom.generator_kit.programs import (
    Arrays,
    Recorded,
    gradients_of,
    of_sample,
    run,
    same,
)
from lazyloom.generator_kit.samples import claimed, widened
from lazyloom.ops.samples import Sample
from lazyloom.ops.spec import OpDef, lookup
from tests.conformance import coverage

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

#: of each generator, the ops that the quick tests take; of others, which may refuse regions for
#: reasons that at_least does not know, they take the first
QUICK = {"onednn": {"conv", "matmul"}, "onnxruntime": {"conv", "dot_general"},
         "c": {"sort"}, "fused_loops": {"multiply", "relu"}}


@functools.cache
def generators() -> dict[str, codegen.Generator]:
    """All there are, and the example, which need not be installed."""
    found = dict(codegen.available())
    if "fused_loops" not in found:
        sys.path.insert(0, str(ROOT / "examples" / "codegen_vendor"))
        try:
            from fused_loops import FusedLoops  # type: ignore[import-not-found]
        finally:
            sys.path.pop(0)
        found["fused_loops"] = FusedLoops()
    return found


def inputs(op: OpDef) -> Iterator[Sample]:
    """The samples of an op in every dtype that it takes, and those of float64 in narrower ones."""
    given = coverage.inputs(op)
    return iter(given) if op.signature.bodies else widened(given)


@functools.cache
def done(name: str) -> dict[str, list[Sample]]:
    """The samples that a generator does, by op."""
    return claimed(generators()[name], given=inputs)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "op_name" not in metafunc.fixturenames:
        return
    cases = []
    for name in generators():
        ops = list(done(name))
        quick = QUICK.get(name, set(ops[:1]))
        cases += [pytest.param(name, op, id=f"{name}-{op}",
                               marks=() if op in quick else pytest.mark.slow) for op in ops]
    metafunc.parametrize(("generator_name", "op_name"), cases)


@pytest.fixture
def generator(generator_name: str) -> Iterator[codegen.Generator]:
    found = generators()[generator_name]
    codegen.register(found)
    with codegen.whatever_the_size():
        yield found


def values(op: OpDef, given: list[Sample]) -> Recorded:
    """Each sample's results, recorded."""
    return [of_sample(op, sample) for sample in given]


def ran(program: lazyloom.Program, generator: codegen.Generator) -> list[str]:
    """The ops of a program that just ran in the generator's regions: all that it does."""
    told = codegen.explain(program)
    instructions = program.structure.instructions
    names = [i.spec.op.name for i in instructions]
    for n, i in enumerate(instructions):
        if call_of_instruction(i) is not None and generator.supports(codegen.Call.of(i)):
            mine = told.generator(n) == generator.name
            if not mine and generator.name not in QUICK and not codegen.failures():
                pytest.skip(f"its regions are not asked for by at_least: {told.line(n)}")
            assert mine, f"{told.line(n)} {codegen.failures()}"
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None
    if told.partition.parts:
        # the engines that were built for it; equal regions share one
        assert f"by {generator.name}" in evaluation.text()
    assert not codegen.failures()
    return [name for n, name in enumerate(names) if told.generator(n) == generator.name]


def call_of_instruction(i: Any) -> codegen.Call | None:
    """None where a generator is never asked about an instruction."""
    if i.spec.effect or i.spec.fallible or i.spec.checked:
        return None
    types = (*i.operand_types, *i.types)
    return None if any(t is not None and t.size == 0 for t in types) else codegen.Call.of(i)


def compare(found: Arrays, expected: Arrays, tolerance: float) -> None:
    """Within the contract on precision; what is not finite is equal."""
    for number, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        same(mine, theirs, tolerance, f"sample {number}")


def test_values(generator: codegen.Generator, op_name: str) -> None:
    op, given = lookup(op_name), done(generator.name)[op_name]
    with codegen.use("xla"):
        expected, _ = run(values(op, given))
    with codegen.use(generator.name):
        found, program = run(values(op, given))
        assert ran(program, generator).count(op_name) == len(given)
    compare(found, expected, generator.tolerance)


def test_gradients(generator: codegen.Generator, op_name: str) -> None:
    op, given = lookup(op_name), done(generator.name)[op_name]
    if not op.derivative.differentiable or not gradients_of(op, given):
        pytest.skip("it has none")
    with codegen.use("xla"):
        expected, _ = run(gradients_of(op, given))
    with codegen.use(generator.name):
        found, program = run(gradients_of(op, given))
        assert ran(program, generator)
    compare(found, expected, generator.tolerance)


@pytest.mark.parametrize("name", list(QUICK))
def test_there_are_samples(name: str) -> None:
    """A generator that does nothing any more would pass all of the above."""
    if name not in generators():
        pytest.skip(f"{name} is not installed")
    wanted = set(QUICK[name])
    path = library.find()
    if name == "onednn" and path is not None and library.lacks(path, "bfloat16"):
        wanted.remove("matmul")  # which it leaves to XLA in float32
    assert set(done(name)) >= wanted
