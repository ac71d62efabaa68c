"""Regions, and what XLA does between them, run one by one and are timed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.backends.xla.regions.segments import in_order
from lazyloom.codegen import partition
from lazyloom.errors import ArgumentError
from lazyloom.program.stream import Result
from tests.codegen.generators import InNumPy
from tests.codegen.random_partitions import Random, Values, structure
from tests.codegen.test_constants import Binding

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


def used(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    codegen.use(generator.name)
    return codegen.segmented(True)


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return (numpy.random.default_rng(seed).standard_normal(shape) * 2).astype(dtype)


def parts() -> list[tuple[str, tuple[str, ...]]]:
    """What the newest evaluation consisted of."""
    return [(part.generator, part.ops) for part in lazyloom.last_evaluation().parts]


def test_each_part_is_there_with_its_time() -> None:
    g = InNumPy("tanh", "exp")
    a = numbers(4, 4)
    with used(g):
        for _ in range(2):
            x = np.asarray(a)
            found = numpy.asarray(np.exp(np.tanh(x) @ x) + 1)
    numpy.testing.assert_allclose(found, numpy.exp(numpy.tanh(a) @ a) + 1, rtol=1e-5)
    assert parts() == [
        ("in_numpy", ("tanh",)), ("xla", ("matmul",)), ("in_numpy", ("exp",)), ("xla", ("add",))]
    record = lazyloom.last_evaluation()
    assert all(part.seconds > 0 for part in record.parts)
    assert sum(part.seconds for part in record.parts) < record.timings["dispatch"]
    assert record.regions.text() == "2 by in_numpy" and g.calls == 4
    text = record.text()
    assert "parts    4, one by one" in text and " us  xla: matmul" in text
    assert record.found == "memory"


def test_without_a_region_there_is_one_part() -> None:
    with codegen.use("xla"), codegen.segmented():
        x = np.asarray(numbers(5))
        found = numpy.asarray(np.tanh(x) * 2.5 + 1)
    assert parts() == [("xla", ("tanh", "multiply", "add"))]
    numpy.testing.assert_allclose(found, numpy.tanh(numbers(5)) * 2.5 + 1, rtol=1e-6)
    lazyloom.sync(np.asarray(numbers(5)) + 1)
    assert not parts()


def test_scalars_of_several_types_and_results_on_both_sides() -> None:
    g = InNumPy("multiply")
    a = numbers(6)
    b = numbers(6, dtype="float64")
    with used(g):
        for factor in (2.5, 3.5):
            x, y = np.asarray(a), np.asarray(b)
            p = x * factor
            q = np.tanh(y * factor) + factor
            s = np.sum(p) + np.sum(q)
            lazyloom.sync(p, q, s)
            numpy.testing.assert_allclose(numpy.asarray(p), a * numpy.float32(factor), rtol=1e-6)
            expected = numpy.tanh(b * factor) + factor
            numpy.testing.assert_allclose(numpy.asarray(q), expected, rtol=1e-12)
            numpy.testing.assert_allclose(
                float(s), float((a * numpy.float32(factor)).sum() + expected.sum()), rtol=1e-5)


def test_nothing_is_donated() -> None:
    g = InNumPy("add")
    a = numbers(64, 64)
    with used(g):
        x = torch.tensor(a)
        y = x.clone()
        for _ in range(3):
            x.add_(y).tanh_()
            lazyloom.sync(x)
            assert lazyloom.last_evaluation().bytes_donated == 0
            assert numpy.array_equal(y.numpy(), a)
    expected = a.copy()
    for _ in range(3):
        expected = numpy.tanh(expected + a)
    numpy.testing.assert_allclose(x.numpy(), expected, rtol=1e-5)


def test_steps_of_training_are_what_they_are_otherwise(quick_compiler: None) -> None:
    g = InNumPy("tanh", "multiply")
    codegen.register(g)

    def trained() -> list[Any]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(5, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        x = torch.tensor(numbers(8, 6))
        for _ in range(3):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
        return [p.detach().numpy() for p in model.parameters()]

    with codegen.use("in_numpy"):
        expected = trained()
        with codegen.segmented():
            found = trained()
            ran = {p.generator for record in lazyloom.evaluations(20) for p in record.parts}
            assert ran == {"xla", "in_numpy"}
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_several_results_and_other_orders_of_axes() -> None:
    g = InNumPy("add", "multiply", order=True)
    a = numbers(3, 5)
    with used(g):
        x = np.asarray(a)
        s = x + x
        p = s * x
        q = np.tanh(p) + s
        lazyloom.sync(s, p, q)
    numpy.testing.assert_allclose(numpy.asarray(s), a + a)
    numpy.testing.assert_allclose(numpy.asarray(p), (a + a) * a)
    numpy.testing.assert_allclose(
        numpy.asarray(q), numpy.tanh((a + a) * a) + a + a, rtol=1e-5)


@pytest.mark.parametrize("at", ["build", "run"])
def test_what_fails_is_xlas(at: str) -> None:
    class Failing(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            if at == "build" and region.calls[0].op == "exp":
                raise OSError("busy")
            return super().build(region)

        def before(self, operands: tuple[Any, ...]) -> None:
            if at == "run" and self.calls == 2:
                raise OSError("busy")

    a = numbers(4, 4)
    with used(Failing("tanh", "exp")), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            x = np.asarray(a)
            found = numpy.asarray(np.exp(np.tanh(x) @ x))
            numpy.testing.assert_allclose(found, numpy.exp(numpy.tanh(a) @ a), rtol=1e-5)
    assert len([w for w in told if f"failed to {at}" in str(w.message)]) == 1
    assert parts() == [("in_numpy", ("tanh",)), ("xla", ("matmul", "exp"))]


def test_it_goes_with_verifying() -> None:
    class Wrong(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            code = super().build(region)
            assert isinstance(code, codegen.PythonCode)
            return codegen.PythonCode(lambda *x: tuple(y + 1 for y in code.function(*x)))

    a = numbers(4, 4)
    with used(Wrong("tanh")), codegen.verify(), pytest.warns(RuntimeWarning, match="than XLA"):
        x = np.asarray(a)
        found = numpy.asarray(np.tanh(x) @ x)
    numpy.testing.assert_allclose(found, numpy.tanh(a) @ a, rtol=1e-5)
    assert parts() == [("in_numpy", ("tanh",)), ("xla", ("matmul",))]
    assert [f.when for f in codegen.failures()] == ["verify"]


def test_no_constants_are_bound() -> None:
    g = Binding("matmul")
    a, b = numbers(4, 4), numbers(4, 4, seed=1)
    with used(g):
        x, w = np.asarray(a), np.asarray(b)
        lazyloom.sync(x, w)
        for _ in range(3):
            numpy.testing.assert_allclose(numpy.asarray(x @ w), a @ b, rtol=1e-4, atol=1e-5)
    assert parts() == [("binding", ("matmul",))]
    assert g.calls == 3 and not g.bound_to


def test_threads_have_their_own_times() -> None:
    g = InNumPy("tanh")
    a = numbers(30, 30)
    wrong: list[object] = []

    def work(times: int) -> None:
        with lazyloom.options(reproducible=True):
            for _ in range(10):
                x = np.asarray(a)
                for _ in range(times):
                    x = np.tanh(x) @ x
                if not numpy.isfinite(numpy.asarray(x)).all():
                    wrong.append(x)

    with used(g):
        threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong
    for record in lazyloom.evaluations(30):
        assert sum(len(part.ops) for part in record.parts) == record.ops


def test_what_is_no_bool_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="segmented: 1 was given, expected True or False"):
        codegen.segmented(1)  # type: ignore[arg-type]


def test_random_programs_are_ordered() -> None:
    several = 0
    for number in range(200):
        values = Values(number)
        rng = values.random
        whole = structure(values, rng.randrange(2, 25))
        instructions = whole.instructions
        outputs = [(len(instructions) - 1, 0)]
        found = partition(whole, outputs, [
            Random(rng, name, instructions) for name in ("mine", "theirs")])
        order = in_order(whole, found)
        done: set[int] = set()
        for each in order:
            members = found.parts[each].members if isinstance(each, int) else each
            for n in members:
                needed = {x.instruction for x in instructions[n].operands if isinstance(x, Result)}
                assert needed <= done | set(members)
            done.update(members)
        assert len(done) == len(instructions) == sum(
            len(found.parts[x].members) if isinstance(x, int) else len(x) for x in order)
        # what XLA does between two regions is one part
        kinds = [isinstance(x, int) for x in order]
        assert not any(not a and not b for a, b in zip(kinds, kinds[1:], strict=False))
        several += len(order) > 3
    assert several > 50


_PROCESS = """
import sys
sys.path.insert(0, {root!r})
import numpy, lazyloom
import {frontend} as frontend
from lazyloom import codegen
from tests.codegen.generators import InNumPy
codegen.register(InNumPy("tanh"))
codegen.use("in_numpy")
a = numpy.arange(6, dtype="float32")
x = frontend.asarray(a)
assert numpy.allclose((frontend.tanh(x) * 2.5).tolist(), numpy.tanh(a) * 2.5)
print(*(part.generator for part in lazyloom.last_evaluation().parts),
      lazyloom.stats()["programs_from_disk"])
"""


@pytest.mark.parametrize("frontend", ["lazyloom_numpy", "lazyloom_torch"])
def test_by_a_variable_and_not_on_disk(frontend: str, tmp_path: Path) -> None:
    def process(value: str) -> str:
        text = _PROCESS.format(root=str(Path(__file__).resolve().parents[2]), frontend=frontend)
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
            env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache"),
                 "LAZYLOOM_CODEGEN_SEGMENTED": value, "LAZYLOOM_REPRODUCIBLE": "1"})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert process("1") == "in_numpy xla 0"
    # what was compiled in segments is not what others find, nor the other way
    assert process("0") == "0"
    assert process("1") == "in_numpy xla 0"
