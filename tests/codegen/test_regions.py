"""Regions of other generators run inside programs, and a program never depends on their working."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.codegen import registry
from lazyloom.errors import ArgumentError
from tests.codegen.generators import InC, InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]


def used(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    return codegen.use(generator.name)


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    found = numpy.random.default_rng(seed).standard_normal(shape) * 4
    return found.astype(dtype)


def test_a_region_runs_inside_a_program() -> None:
    g = InNumPy("add", "multiply", "exp")
    a, b = numbers(3, 4), numbers(3, 4, seed=1)
    with used(g):
        x, y = np.asarray(a), np.asarray(b)
        z = np.exp((x * y + x) / 9)
        w = np.tanh(z) + z * 2.5
        assert g.calls == 0
        found = numpy.asarray(w)
    z = numpy.exp((a * b + a) / numpy.float32(9))
    numpy.testing.assert_allclose(found, numpy.tanh(z) + z * numpy.float32(2.5), rtol=1e-6)
    # the division and tanh are XLA's, and what lies on both sides of them cannot be one region
    assert sorted(map(sorted, g.built)) == [
        ["add", "multiply"], ["add", "multiply"], ["exp"]] and g.calls == 3


def test_a_text_in_c_is_compiled_and_run() -> None:
    g = InC()
    a, b = numbers(257), numbers(257, seed=1)
    with used(g):
        x, y = np.asarray(a), np.asarray(b)
        found = numpy.asarray(x * y + x)
        report = codegen.explain(lazyloom.last_evaluation().program)
        text = lazyloom.last_evaluation().text()
    assert [report.generator(n) for n in range(2)] == ["in_c", "in_c"]
    assert "regions  1 by in_c" in text
    numpy.testing.assert_allclose(found, a * b + a, rtol=1e-6)


@pytest.mark.parametrize("dtype", [
    "float16", "float32", "float64", "int8", "uint8", "int32", "int64", "complex64", "complex128"])
def test_every_dtype_comes_and_goes(dtype: str) -> None:
    g = InNumPy("add", "negative")
    a = numbers(5, 3, dtype=dtype)
    with used(g):
        x = np.asarray(a)
        found = numpy.asarray(-(x + x))
    assert found.dtype == a.dtype and g.calls == 1
    numpy.testing.assert_array_equal(found, -(a + a))


def test_bfloat16_and_bool_come_and_go() -> None:
    g = InNumPy("add", "logical_not")
    with used(g):
        x = torch.tensor([1.5, -2.0, float("nan")], dtype=torch.bfloat16)
        y = torch.tensor([True, False])
        assert (x + x).tolist()[:2] == [3.0, -4.0]
        assert (~y).tolist() == [False, True] or torch.logical_not(y).tolist() == [False, True]
    assert g.calls >= 1


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (7,), (1, 1, 1), (300, 300)])
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    g = InNumPy("add")
    a = numbers(*shape)
    with used(g):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)
    assert found.shape == shape and g.calls == (0 not in shape)


def test_special_values_pass() -> None:
    a = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-42], "float32")
    with used(InNumPy("negative")):
        found = numpy.asarray(-np.asarray(a))
    assert found.tobytes() == (-a).tobytes()


def test_one_array_twice_and_several_results() -> None:
    g = InNumPy("add", "multiply")
    a = numbers(4, 4)
    with used(g):
        x = np.asarray(a)
        s = x + x
        p = s * s
        numpy.testing.assert_array_equal(numpy.asarray(p), (a + a) * (a + a))
        numpy.testing.assert_array_equal(numpy.asarray(s), a + a)
        q = p * x
        r = q + p
        lazyloom.sync(q, r)
        numpy.testing.assert_array_equal(numpy.asarray(r), p_of(a) * a + p_of(a))
        numpy.testing.assert_array_equal(numpy.asarray(q), p_of(a) * a)


def p_of(a: Any) -> Any:
    return (a + a) * (a + a)


def test_the_order_in_memory_that_a_generator_wants() -> None:
    g = InNumPy("add", "multiply", order=True)
    a, b = numbers(3, 5), numbers(3, 5, seed=1)
    with used(g):
        x, y = np.asarray(a), np.asarray(b)
        found = numpy.asarray(np.tanh(x * y) + y)
    numpy.testing.assert_allclose(found, numpy.tanh(a * b) + b, rtol=1e-6)
    assert g.calls == 2


def test_layouts_that_are_none_leave_the_region_to_xla() -> None:
    class Wrong(InNumPy):
        def layouts(self, region: codegen.Region) -> Any:
            return [(0, 0)]

    a = numbers(3, 5)
    with used(Wrong("add")), pytest.warns(RuntimeWarning, match="layouts"):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)


def test_what_is_given_up_may_be_overwritten_by_a_region() -> None:
    g = InNumPy("add", "multiply")
    a = numbers(64, 64)
    with used(g):
        x = torch.tensor(a)
        y = x.clone()
        for _ in range(3):
            x.add_(y)
            x.mul_(2)
            assert numpy.array_equal(y.numpy(), a)
            x.sum().item()
    expected = a.copy()
    for _ in range(3):
        expected = (expected + a) * 2
    numpy.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)


def test_gradients_go_through_regions() -> None:
    g = InNumPy("multiply", "tanh", "add")
    a = numbers(6)
    with used(g):
        x = torch.tensor(a, requires_grad=True)
        (torch.tanh(x * x) + x).sum().backward()
        assert x.grad is not None
        found = x.grad.numpy()
    t = numpy.tanh(a * a)
    numpy.testing.assert_allclose(found, (1 - t * t) * 2 * a + 1, rtol=1e-4, atol=1e-6)


def test_regions_in_loops() -> None:
    g = InNumPy("tanh")
    a, w = numbers(8), numbers(8, 8, seed=1) / 30
    with used(g):
        x, m = np.asarray(a), np.asarray(w)
        for _ in range(40):
            x = np.tanh(x @ m)
        found = numpy.asarray(x)
    for _ in range(40):
        a = numpy.tanh(a @ w)
    numpy.testing.assert_allclose(found, a, rtol=1e-3, atol=1e-6)
    assert g.calls == 40


# choosing


def test_a_choice_holds_and_the_one_before_comes_back() -> None:
    g = InNumPy("add")
    codegen.register(g)
    a = np.asarray(numbers(3))
    before = codegen.in_use()
    with codegen.use("in_numpy", "xla"):
        assert codegen.in_use() == ("in_numpy",)
        lazyloom.sync(a + a)
        with codegen.use("xla"):
            assert codegen.in_use() == ()
            lazyloom.sync(a + a)
            assert g.calls == 1
        compiled = lazyloom.stats()["programs_compiled"]
        lazyloom.sync(a + a)
        assert lazyloom.stats()["programs_compiled"] == compiled
        assert g.calls == 2 and len(g.built) == 1
    assert codegen.in_use() == before


def test_an_unknown_generator_is_an_error_that_names_those_there_are() -> None:
    codegen.register(InNumPy("add"))
    with pytest.raises(ArgumentError, match="'none_such' is not known.*'in_numpy'.*'xla'"):
        codegen.use("none_such")


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """``LAZYLOOM_CODEGEN= python ...`` is no choice; a text of commas chooses nothing."""
    def at_first(text: str | None) -> tuple[str, ...]:
        monkeypatch.setattr(registry, "_first", None)
        if text is None:
            monkeypatch.delenv("LAZYLOOM_CODEGEN", raising=False)
        else:
            monkeypatch.setenv("LAZYLOOM_CODEGEN", text)
        return registry.at_first()

    unset = at_first(None)
    found = [g for g in codegen.available().values() if g.by_default]
    assert unset == tuple(g.name for g in sorted(found, key=lambda g: -g.priority))
    assert at_first("") == at_first(" ") == unset
    assert at_first("xla") == at_first(",") == ()


@pytest.mark.parametrize("given", [3, "in_numpy", None, InNumPy])
def test_what_is_no_generator_is_not_registered(given: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a Generator"):
        codegen.register(given)


def test_a_generator_needs_a_name_and_a_version() -> None:
    g = InNumPy("add", name="xla")
    with pytest.raises(ArgumentError, match="other than 'xla'"):
        codegen.register(g)
    g = InNumPy("add")
    g.version = ""  # type: ignore[misc]
    with pytest.raises(ArgumentError, match="version"):
        codegen.register(g)


# processes and threads


def test_threads_run_one_region_at_once() -> None:
    g = InNumPy("add", "multiply")
    a = numbers(50, 50)
    wrong: list[object] = []

    def work() -> None:
        with lazyloom.options(reproducible=True):
            for _ in range(20):
                x = np.asarray(a)
                if not numpy.array_equal(numpy.asarray(x * x + x), a * a + a):
                    wrong.append(1)

    with used(g):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong and g.calls == 80


_PROCESS = """
import sys
sys.path.insert(0, {root!r})
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.generators import {name}
g = {name}()
g.version = {version!r}
codegen.register(g)
codegen.use(g.name)
a = numpy.arange(12, dtype="float32").reshape(3, 4)
with lazyloom.options(reproducible=True):
    x = np.asarray(a)
    found = numpy.asarray(np.tanh(x * x) + x)
assert numpy.allclose(found, numpy.tanh(a * a) + a)
stats = lazyloom.stats()
print(stats["programs_compiled"], stats["programs_from_disk"])
"""


@pytest.mark.parametrize("name", ["InNumPy", "InC"])
def test_another_process_loads_a_program_with_regions(name: str, tmp_path: Any) -> None:
    def process(version: str) -> str:
        import os
        from pathlib import Path

        text = _PROCESS.format(
            root=str(Path(__file__).resolve().parents[2]), name=name, version=version)
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
            env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache")})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert process("1") == "1 0"
    assert process("1") == "0 1"
    # what another version generates is another program
    assert process("2") == "1 0"


def test_a_region_that_fails_beside_does_not_stop_promotion() -> None:
    g = InNumPy("add")
    a = numbers(200, 200)
    with used(g), lazyloom.options(reproducible=False):
        x = torch.tensor(a)
        for _ in range(30):
            y = torch.tanh(x + x).sum()
            y.item()
        assert y.item() == pytest.approx(numpy.tanh(a + a).sum(), rel=1e-3, abs=1e-2)


def test_a_program_may_end_while_its_regions_run() -> None:
    """Neither the end of an engine inside its own call nor a later region of the run is lost."""
    class Slow(InNumPy):
        def before(self, operands: tuple[Any, ...]) -> None:
            time.sleep(0.05)
            gc.collect()

    a = numbers(300, 100)
    with used(Slow("tanh", "negative")):
        x = np.asarray(a)
        y = np.tanh(x) * 2
        z = -np.floor(y)
        lazyloom.sync(z)
        del x, y
        memory.clear()
        gc.collect()
        found = numpy.asarray(z)
    numpy.testing.assert_array_equal(found, -numpy.floor(numpy.tanh(a) * 2))


@pytest.mark.parametrize("f", [
    lambda x: np.linalg.qr(x * x + x)[1] * 2.0,
    lambda x: np.linalg.solve(x * x + x, x + x) * 2.0,
    lambda x: np.linalg.inv(x * x + x) * 2.0 + x,
    lambda x: np.linalg.cholesky(x @ x.T + x * x * 0 + np.eye(4) * 9) + x,
], ids=["qr", "solve", "inv", "cholesky"])
def test_beside_calls_whose_arrays_are_column_major(f: Any) -> None:
    # XLA gave an array between LAPACK's call and a region's LAPACK's order, which no region expects
    codegen.register(InNumPy("add", "multiply"))
    x = numpy.random.default_rng(1).normal(size=(4, 4))
    found = []
    for name in ("in_numpy", "xla"):
        with codegen.use(name):
            found.append(numpy.asarray(f(np.asarray(x))))
            assert bool(lazyloom.last_evaluation().regions.run) == (name == "in_numpy")
    numpy.testing.assert_allclose(*found, rtol=1e-10, atol=1e-10)


class _Overwriting(InNumPy):
    """Adds, and has the sum in the memory of the first operand."""

    def __init__(self, given: dict[int, int] | None = None) -> None:
        super().__init__("add")
        self.given = given
        self.shared: list[bool] = []

    def aliases(self, region: codegen.Region) -> dict[int, int]:
        return {0: 0} if self.given is None else self.given

    def build(self, region: codegen.Region) -> codegen.Code:
        def fill(a: Any, b: Any, out: Any) -> None:
            self.shared.append(numpy.shares_memory(a, out))
            numpy.add(a, b, out=out)

        return codegen.PythonCode(fill, fills=True)


def test_a_result_in_the_memory_of_an_operand() -> None:
    g = _Overwriting()
    a, b = numbers(300, 40), numbers(300, 40, seed=1)
    with used(g), lazyloom.options(reproducible=True):
        x, y = np.asarray(a.copy()), np.asarray(b)
        for step in range(1, 4):
            x += y
            numpy.testing.assert_allclose(numpy.asarray(x), a + step * b, rtol=1e-5, atol=1e-5)
        # what is used later, too, is not overwritten: the region is given a copy
        z = x + y
        w = x * 2.0
        found = numpy.asarray(z), numpy.asarray(w), numpy.asarray(x)
    assert g.shared and all(g.shared)
    numpy.testing.assert_allclose(found[0], found[2] + b, rtol=1e-6)
    numpy.testing.assert_array_equal(found[1], found[2] * 2)


@pytest.mark.parametrize("given", [{0: 2}, {1: 0}, {0: 1}])
def test_memory_that_a_result_cannot_have(given: dict[int, int]) -> None:
    g = _Overwriting(given)
    with used(g), pytest.warns(RuntimeWarning, match="for each result a different operand"):
        x, y = np.asarray(numbers(30, 40)), np.asarray(numbers(40))
        numpy.testing.assert_allclose(
            numpy.asarray(x + y), numbers(30, 40) + numbers(40), rtol=1e-6)


class _Turning(InNumPy):
    """Gives transposes of operands as views, each in the memory of the other operand."""

    def __init__(self, fails: bool) -> None:
        super().__init__("add", "transpose", name="turning")
        self.fails = fails

    def aliases(self, region: codegen.Region) -> dict[int, int]:
        return {0: 1, 1: 0} if len(region.operands) == 2 else {}

    def build(self, region: codegen.Region) -> codegen.Code:
        self.built.append([call.op for call in region.calls])

        def run(a: Any, b: Any) -> tuple[Any, ...]:
            self.calls += 1
            if self.fails:
                raise RuntimeError("the device fell off")
            return a.T, b.T, a.T + b.T

        return codegen.PythonCode(run)


@pytest.mark.parametrize("fails", [False, True])
def test_a_view_of_an_operand_over_which_another_result_is_written(fails: bool) -> None:
    g = _Turning(fails)
    a, b = numbers(9, 9), numbers(9, 9, seed=1)
    with used(g), lazyloom.options(reproducible=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        left, right = (lazyloom.apply("transpose", [np.asarray(x)], {"axes": (1, 0)})
                       for x in (a, b))
        found = left, right, lazyloom.apply("add", [left, right])
        lazyloom.sync(*found)
        values = [numpy.asarray(x.read()) for x in found]
    assert g.built == [["transpose", "transpose", "add"]]
    assert g.calls == 1 and bool(codegen.failures()) == fails
    for value, expected in zip(values, (a.T, b.T, a.T + b.T), strict=True):
        numpy.testing.assert_array_equal(value, expected)


class _Alone(_Overwriting):
    """Adds to what the memory of the result holds, also while programs run op by op."""

    def __init__(self, name: str, given: dict[int, int] | None = None) -> None:
        super().__init__(given)
        self.name = name
        self.ops = ("matmul",)

    def runs_alone(self, call: codegen.Call) -> codegen.Answer:
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        def fill(a: Any, b: Any, out: Any) -> None:
            self.shared.append(numpy.shares_memory(a, out))
            out[...] = out @ b

        return codegen.PythonCode(fill, fills=True)


@pytest.mark.usefixtures("fresh_cache")
def test_op_by_op_a_result_has_the_memory_of_a_copy_of_the_operand() -> None:
    g = _Alone("alone")
    a, b = numbers(128, 128), numbers(128, 128, seed=1)
    with used(g), lazyloom.options(reproducible=False, compiled_beside=0):
        x, y = np.asarray(a), np.asarray(b)
        z = numpy.asarray(x @ y)
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.form == "op_by_op"
    assert g.shared == [True]
    numpy.testing.assert_allclose(z, a @ b, rtol=1e-4, atol=1e-4)
    numpy.testing.assert_array_equal(numpy.asarray(x), a)


@pytest.mark.usefixtures("fresh_cache")
def test_op_by_op_memory_that_a_result_cannot_have() -> None:
    g = _Alone("alone_wrongly", {0: 5})
    a, b = numbers(130, 128), numbers(128, 128, seed=1)
    wrong = pytest.warns(RuntimeWarning, match="for each result a different operand")
    with used(g), lazyloom.options(reproducible=False, compiled_beside=0), wrong:
        z = numpy.asarray(np.asarray(a) @ np.asarray(b))
    assert not g.shared
    numpy.testing.assert_allclose(z, a @ b, rtol=1e-4, atol=1e-4)
