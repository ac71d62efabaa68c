"""The samples of every op that a generator does, through that generator, beside XLA alone.

Whatever generators are installed are taken, and the example of a vendor's. A generator says what
it does (``supports``); of that, values and gradients are compared within its tolerance.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom
from docs.pages import ROOT
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.onednn import library
from lazyloom.dtypes import as_dtype
from lazyloom.ops.samples import Sample, random_source
from lazyloom.ops.spec import OpDef, lookup
from tests.conformance import coverage
from tests.conformance.frontends import NumPy, join, several

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

#: of each generator, the ops that the quick tests take; of others, which may refuse regions for
#: reasons that at_least does not know, they take the first
QUICK = {"onednn": {"conv", "matmul"}, "onnxruntime": {"conv", "dot_general"},
         "c": {"sort"}, "fused_loops": {"multiply", "relu"}}
#: what results in a dtype of fewer digits than float32 may differ by: two units
UNITS = {"bfloat16": 2.0**-7, "float16": 2.0**-9}


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


def call_of(op: OpDef, sample: Sample) -> codegen.Call | None:
    """What a generator is asked about a sample; None where it is never asked."""
    types = tuple(None if x is None else lazyloom.tensor_type(x.shape, as_dtype(x.dtype))
                  for x in sample.operands)
    try:
        spec = lazyloom.spec_of(op, sample.attributes, len(sample.operands))
        results = spec.infer(types)
    except lazyloom.errors.LoomError:
        return None  # not in that dtype
    if spec.effect or spec.fallible or spec.checked:
        return None
    if any(t is not None and t.size == 0 for t in (*types, *results)):
        return None
    return codegen.Call(op.name, spec.attrs, types, results)


#: in what other dtypes samples of float64 are taken: most of those that have several shapes are
NARROWER = (lazyloom.dtypes.float32, lazyloom.dtypes.bfloat16)


def inputs(op: OpDef) -> Iterator[Sample]:
    """The samples of an op, and those of floating-point numbers in narrower dtypes, too."""
    for sample in coverage.inputs(op):
        yield sample
        kinds = {x.dtype for x in sample.operands if x is not None and x.dtype.kind == "f"}
        if kinds == {np.dtype(np.float64)} and not op.signature.bodies:
            for dtype in NARROWER:
                with np.errstate(over="ignore"):
                    operands = [x if x is None or x.dtype.kind != "f" else x.astype(dtype.numpy)
                                for x in sample.operands]
                yield Sample(
                    operands,
                    {k: dtype if v is lazyloom.dtypes.float64 else v
                     for k, v in sample.attributes.items()},
                    f"{sample.label} in {dtype}", smooth=sample.smooth)


@functools.cache
def done(name: str) -> dict[str, list[Sample]]:
    """The samples that a generator does, by op."""
    found: dict[str, list[Sample]] = {}
    generator = generators()[name]
    with codegen.whatever_the_size():
        for op in map(lookup, sorted(lazyloom.ops.table())):
            for sample in inputs(op):
                call = call_of(op, sample)
                if call is not None and generator.supports(call):
                    found.setdefault(op.name, []).append(sample)
    return found


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


Arrays = list[list[np.ndarray]]
driver = NumPy()


def values(op: OpDef, given: list[Sample]) -> list[list[Any]]:
    """Each sample's results, recorded."""
    return [several(driver.apply(
        op.name, [None if x is None else driver.tensor(x) for x in s.operands], s.attributes))
        for s in given]


def gradients(op: OpDef, given: list[Sample]) -> list[list[Any]]:
    """The gradients of a weighted sum of each sample's results, recorded."""
    rng = random_source(f"{op.name} through a generator")
    recorded = []
    for sample in given:
        at = [k for k, x in enumerate(sample.operands)
              if x is not None and as_dtype(x.dtype).is_inexact and op.has_gradient(k)]
        results = lazyloom.spec_of(op, sample.attributes, len(sample.operands)).infer(
            tuple(None if x is None else lazyloom.tensor_type(x.shape, as_dtype(x.dtype))
                  for x in sample.operands))
        if not at or not any(t.dtype.is_inexact for t in results):
            continue

        def loss(*some: Any, sample: Sample = sample, at: list[int] = at) -> Any:
            operands = [None if x is None else driver.tensor(x) for x in sample.operands]
            for k, x in zip(at, some, strict=True):
                operands[k] = x
            total = None
            for result in several(driver.apply(op.name, operands, sample.attributes)):
                if not result.value.dtype.is_inexact:
                    continue
                weight = rng.uniform(-1, 1, result.shape).astype(result.value.dtype.numpy)
                term = driver.apply("multiply", [result, driver.tensor(weight)], {})
                term = driver.apply("sum", [driver.apply(
                    "cast", [term], {"dtype": lazyloom.dtypes.float32})], {})
                total = term if total is None else driver.apply("add", [total, term], {})
            return total

        recorded.append(driver.gradients(loss, [sample.operands[k] for k in at]))
    return recorded


def run(recorded: list[list[Any]]) -> tuple[Arrays, lazyloom.Program]:
    """All of it as one program."""
    join(driver, [x for each in recorded for x in each])
    found = [[driver.read(x) for x in each] for each in recorded]
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.program is not None
    return found, evaluation.program


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
    for mine, theirs in zip(found, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            unit = UNITS.get(str(a.dtype), 0.0)
            if a.dtype.itemsize < 4 and unit:
                a, b = a.astype(np.float32), b.astype(np.float32)
            if a.dtype.kind not in "fc":
                assert np.array_equal(a, b)
                continue
            finite = np.isfinite(b)
            assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
            largest = np.abs(b[finite]).max(initial=0.0)
            assert np.abs(a[finite] - b[finite]).max(initial=0.0) <= (
                max(tolerance * 2.0**-23, unit) * largest)


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
    if not op.derivative.differentiable or not gradients(op, given):
        pytest.skip("it has none")
    with codegen.use("xla"):
        expected, _ = run(gradients(op, given))
    with codegen.use(generator.name):
        found, program = run(gradients(op, given))
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
