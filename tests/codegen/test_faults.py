"""A program never depends on a generator's working.

Whatever fails, wherever, its results are right, one warning says what happened, and a record is
kept.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen, foreign
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from tests.codegen.generators import InC, InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    # a generator of the same name and version did the same programs in another process of tests
    pytest.mark.usefixtures("fresh_cache"),
]


def used(generator: codegen.Generator) -> Any:
    codegen.register(generator)
    return codegen.use(generator.name)


def numbers(*shape: int, seed: int = 0) -> Any:
    return (numpy.random.default_rng(seed).standard_normal(shape) * 4).astype("float32")


def ran(g: codegen.Generator, times: int = 1) -> list[warnings.WarningMessage]:
    """Run a program with a generator, compare its values, and give the warnings."""
    a, b = numbers(5, 5), numbers(5, 5, seed=1)
    expected = numpy.tanh(a * b + a) + a
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with used(g):
            for _ in range(times):
                x, y = np.asarray(a), np.asarray(b)
                found = numpy.asarray(np.tanh(x * y + x) + x)
                numpy.testing.assert_allclose(found, expected, rtol=1e-5)
    return [w for w in told if "code generator" in str(w.message)]


class Failing(InNumPy):
    """A generator that fails where ``at`` says."""

    def __init__(self, at: str, error: BaseException) -> None:
        super().__init__("add", "multiply")
        self.at = at
        self.error = error

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if self.at == "supports":
            raise self.error
        return super().supports(call)

    def patterns(self) -> Sequence[codegen.Pattern]:
        if self.at == "patterns":
            raise self.error

        def check(calls: Sequence[codegen.Call]) -> codegen.Answer:
            raise self.error

        product = codegen.match("multiply", codegen.any_value(), codegen.any_value())
        return [codegen.Pattern("fused", codegen.match("add", product), check)] if (
            self.at == "check") else []

    def layouts(self, region: codegen.Region) -> Any:
        if self.at == "layouts":
            raise self.error
        return None

    def worthwhile(self, region: codegen.Region) -> codegen.Answer:
        if self.at == "worthwhile":
            raise self.error
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        if self.at == "build":
            raise self.error
        return super().build(region)

    def before(self, operands: tuple[Any, ...]) -> None:
        if self.at == f"run {self.calls}":
            raise self.error


@pytest.mark.parametrize(("at", "about"), [
    ("supports", " about multiply"), ("worthwhile", " about multiply, add"), ("patterns", ""),
    ("check", " about multiply, add")])
def test_a_predicate_that_raises_is_a_reason(at: str, about: str) -> None:
    g = Failing(at, ZeroDivisionError("oh"))
    (told,) = ran(g, 3)
    # what is asked of other ops is answered
    assert bool(g.calls) == (at in ("patterns", "check"))
    who = "the check of fused" if at == "check" else at
    assert f"failed when it was asked{about}, which counts as no: {who}: " in str(told.message)
    (failure,) = codegen.failures()
    assert failure.when == "ask" and "ZeroDivisionError: oh" in failure.error
    if g.calls:
        return
    with codegen.use(g.name):
        x = np.asarray(numbers(3))
        text = codegen.explain(lazyloom.program_of(x + x)).text()
    assert "raised ZeroDivisionError: oh" in text


def test_one_op_that_cannot_be_built_costs_no_other() -> None:
    """A region is built in halves down to the op at fault, which is not tried again."""
    class Picky(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            ops = [call.op for call in region.calls]
            tried.append(ops)
            if "tanh" in ops:
                raise NotImplementedError("no tanh")
            return super().build(region)

    def chain(x: Any) -> Any:
        for _ in range(6):
            x = x * 0.5 + 0.25
        x = np.tanh(x)
        for _ in range(6):
            x = x * 0.5 + 0.25
        return x

    tried: list[list[str]] = []
    a = numbers(7)
    expected = a
    for k in range(13):
        expected = numpy.tanh(expected) if k == 6 else expected * numpy.float32(0.5) + 0.25
    with used(Picky("add", "multiply", "tanh")), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = numpy.asarray(chain(np.asarray(a)))
        report = codegen.explain(lazyloom.last_evaluation().program)
        numpy.testing.assert_allclose(found, expected, rtol=1e-6)
        # all but that op
        assert report.coverage == 24 / 25 and report.summary().startswith("25 ops: in_numpy 24")
        assert "(in_numpy: it failed here before: NotImplementedError: no tanh)" in report.text()
        halves = [len(ops) for ops in tried if "tanh" in ops]
        assert halves[0] == 25 and halves[-1] == 1 and len(halves) <= 6, tried
        # the whole and the op at fault
        said = [str(w.message) for w in told if "failed to build" in str(w.message)]
        assert len(said) == 2 and "a region of 25 ops" in said[0]
        assert "a region of 1 op (tanh)" in said[1]
        # another program with it: nothing that has it is tried
        del tried[:]
        found = numpy.asarray(np.tanh(np.asarray(a) + 1) * 3)
        numpy.testing.assert_allclose(found, numpy.tanh(a + 1) * 3, rtol=1e-6)
        assert sorted(tried) == [["add"], ["multiply"]]


class Silent(Exception):
    """An error whose own text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize("at", ["build", "layouts"])
@pytest.mark.parametrize("error", [ValueError("no such thing"), MemoryError("too large"), Silent()])
def test_a_region_that_cannot_be_built_is_xlas(error: Exception, at: str) -> None:
    g = Failing(at, error)
    told = ran(g, 3)
    # of a region of two ops and then of each; the other region is one of them
    assert "failed to build" in str(told[0].message)
    assert [f.ops for f in codegen.failures() if len(f.ops) > 1] == [("multiply", "add")]
    assert {f.ops for f in codegen.failures()} >= {("multiply",), ("add",)}
    assert len(told) == len(codegen.failures()) == 3
    assert {f.when for f in codegen.failures()} == {"build"}
    assert type(error).__name__ in codegen.failures()[0].error
    assert ran(g) == []


@pytest.mark.parametrize("error", [
    RuntimeError("the device fell off"), MemoryError("too large"), KeyboardInterrupt(), Silent()])
@pytest.mark.parametrize("run", [1, 2, 100])
def test_a_run_that_fails_costs_one_warning_and_no_value(run: int, error: BaseException) -> None:
    g = Failing(f"run {run}", error)
    told = ran(g, 60)
    assert len(told) == 1 and "failed to run a region" in str(told[0].message)
    assert type(error).__name__ in str(told[0].message)
    (failure,) = codegen.failures()
    assert failure.when == "run" and failure.generator == "in_numpy"
    # from then on XLA does it
    calls = g.calls
    x, y = np.asarray(numbers(5, 5)), np.asarray(numbers(5, 5, seed=1))
    with codegen.use("in_numpy"):
        report = codegen.explain(lazyloom.program_of(np.tanh(x * y + x) + x))
    assert any("it failed here before" in why for reasons in report.partition.reasons
               for why in reasons.values())
    assert g.calls >= calls


@pytest.mark.parametrize("given", [
    lambda x: x[:1], lambda x: x.astype("float64"), lambda x: (x, x), lambda x: None,
    lambda x: x.reshape(-1)])
def test_results_of_another_type_are_not_taken(given: Any) -> None:
    class Wrong(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            def run(*operands: Any) -> Any:
                return given(numpy.add(*operands))

            return codegen.PythonCode(run)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        a = numbers(4, 4)
        with used(Wrong("add")):
            found = numpy.asarray(np.asarray(a) + np.asarray(a[::-1].copy()))
    numpy.testing.assert_array_equal(found, a + a[::-1])
    assert any("expected" in str(w.message) for w in told)


@pytest.mark.parametrize("code", [None, codegen.NativeCode(0, 0, None), "text"])
def test_what_is_no_code_leaves_the_region_to_xla(code: Any) -> None:
    class Wrong(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            found: codegen.Code = code
            return found

    a = numbers(4)
    with used(Wrong("add")), pytest.warns(RuntimeWarning, match="failed to build"):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)


def test_without_a_compiler_a_text_in_c_is_xlas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    a = numbers(33)
    with used(InC()), pytest.warns(RuntimeWarning, match="cannot be run"):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)


def test_a_text_that_does_not_compile_is_told_with_the_compilers_words() -> None:
    class Broken(InC):
        def build(self, region: codegen.Region) -> codegen.Code:
            return codegen.CSource("int x = ;")

    a = numbers(34)
    with used(Broken()), pytest.warns(RuntimeWarning, match="error"):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)


def test_a_function_in_c_that_says_what_went_wrong() -> None:
    class Refusing(InC):
        def build(self, region: codegen.Region) -> codegen.Code:
            return codegen.CSource(
                'const char *region(void *const *p) { (void)p; return "not today"; }')

    a = numbers(35)
    with used(Refusing()), pytest.warns(RuntimeWarning, match="not today"):
        found = numpy.asarray(np.asarray(a) + np.asarray(a))
    numpy.testing.assert_array_equal(found, a + a)


def test_what_failed_is_not_done_by_the_same_generator_op_by_op() -> None:
    class Alone(InNumPy):
        def runs_alone(self, call: codegen.Call) -> codegen.Answer:
            return codegen.YES

        def before(self, operands: tuple[Any, ...]) -> None:
            raise RuntimeError("the device fell off")

    g = Alone("matmul", "tanh")
    a = numbers(128, 128) / 40
    with used(g), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x = np.asarray(a)
        found = numpy.asarray(np.tanh(x @ x))
    numpy.testing.assert_allclose(found, numpy.tanh(a @ a), rtol=1e-4, atol=1e-5)
    assert g.calls == 1 and len(told) == 1 and "2 ops (matmul, tanh)" in str(told[0].message)


# what is on disk


def of_kind(folder: Path, kind: str) -> list[Path]:
    return [p for p in (folder / kind).rglob("*") if p.is_file()]


def flipped(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


@pytest.mark.parametrize("change", [
    flipped, lambda data: data[: len(data) // 2], lambda data: b"", lambda data: data + b"x",
    lambda data: b"x" * len(data)])
def test_a_program_on_disk_that_was_changed_is_compiled_again(
    change: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    g = InNumPy("add", "multiply")
    assert ran(g) == []
    (file,) = of_kind(tmp_path / "cache", "program")
    whole = file.read_bytes()
    file.write_bytes(change(whole))
    memory.clear()
    gc.collect()
    before = lazyloom.stats()
    assert ran(g) == [] and not codegen.failures()
    after = lazyloom.stats()
    assert after["programs_compiled"] == before["programs_compiled"] + 1
    assert after["disk_errors"] > before["disk_errors"]
    # and is whole again
    memory.clear()
    assert ran(g) == []
    assert lazyloom.stats()["programs_from_disk"] == after["programs_from_disk"] + 1


@pytest.mark.parametrize("head", [
    b"LLREGION", b"LLREGION" + b"\xff" * 8 + b"[]", b"LLREGION" + (2).to_bytes(8, "little") + b"{}",
    b"LLREGION" + (40).to_bytes(8, "little") + b"{\"engines\": [{}], \"regions\": [], \"sites\""])
def test_a_program_with_another_head_is_compiled_again(
    head: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bytes that another version wrote, say: their checksum is right."""
    from lazyloom.backends import fingerprint

    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    load = fingerprint.load

    def changed(kind: str, description: bytes) -> bytes | None:
        found = load(kind, description)
        if kind != "program" or found is None:
            return found
        return found[: found.index(b"LLREGION")] + head

    g = InNumPy("add", "multiply")
    assert ran(g) == []
    memory.clear()
    monkeypatch.setattr(fingerprint, "load", changed)
    compiled = lazyloom.stats()["programs_compiled"]
    assert ran(g) == [] and not codegen.failures()
    assert lazyloom.stats()["programs_compiled"] == compiled + 1


_C = """
import sys
sys.path.insert(0, {root!r})
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen, foreign
from tests.codegen.generators import InC
codegen.register(InC())
codegen.use("in_c")
a = numpy.arange(12, dtype="float32")
with lazyloom.options(reproducible=True):
    x = np.asarray(a)
    assert numpy.array_equal(numpy.asarray(x * x + x), a * a + a)
print(codegen.failures())
"""


@pytest.mark.parametrize("change", [flipped, lambda data: data[: len(data) // 2]])
def test_a_library_on_disk_that_was_changed_is_compiled_again(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    def process() -> str:
        done = subprocess.run(
            [sys.executable, "-c", _C.format(root=str(Path(__file__).resolve().parents[2]))],
            capture_output=True, text=True, timeout=120,
            env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache"),
                 "LAZYLOOM_LOG": "0"})
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert process() == "[]\n"
    (file,) = of_kind(tmp_path / "cache", "c")
    file.write_bytes(change(file.read_bytes()))
    assert process() == "[]\n"
    (file,) = of_kind(tmp_path / "cache", "c")


# what calls Lazyloom, and what is interrupted


def test_a_build_that_asks_for_a_value_fails_and_does_not_hang() -> None:
    class Asking(InNumPy):
        def build(self, region: codegen.Region) -> codegen.Code:
            # the very program that waits for this
            x = np.asarray(numbers(5, 5))
            numpy.asarray(np.tanh(x * x + x) + x)
            return super().build(region)

    told = ran(Asking("add", "multiply"))
    assert len(told) == 3 and all("ReadForbiddenError: the code generator 'in_numpy', which builds "
                                  "a region, asked Lazyloom for a value" in str(w.message)
                                  for w in told)


@pytest.mark.parametrize("at", ["supports", "worthwhile", "layouts"])
def test_so_does_a_question_that_does(at: str) -> None:
    class Asking(Failing):
        def __getattribute__(self, name: str) -> Any:
            if name == "error":
                x = np.asarray(numbers(5, 5))
                lazyloom.sync(np.tanh(x * x + x) + x)
            return super().__getattribute__(name)

    told = ran(Asking(at, ValueError("it was answered")))
    assert told and all("a code generator that was asked about" in str(w.message) for w in told)


@pytest.mark.parametrize("pending", [True, False])
def test_so_does_a_run_that_does(pending: bool) -> None:
    class Asking(InNumPy):
        def before(self, operands: tuple[Any, ...]) -> None:
            (torch.ones(3) + 1 if pending else there).tolist()

    there = torch.ones(3) + 1
    lazyloom.sync(there)
    (told,) = ran(Asking("tanh"))
    assert "which runs a region, asked Lazyloom for a value" in str(told.message)
    assert [f.when for f in codegen.failures()] == ["run"]
    assert there.tolist() == [2, 2, 2]


def test_recording_in_a_run_does_no_harm() -> None:
    kept: list[Any] = []

    class Recording(InNumPy):
        def before(self, operands: tuple[Any, ...]) -> None:
            kept.append(torch.ones(3) + 1)

    assert ran(Recording("tanh")) == []
    assert kept[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_is_no_failure_is_raised_and_the_next_read_works(error: BaseException) -> None:
    g = Failing("build", error)
    a = numbers(4, 4)
    with used(g):
        x = np.asarray(a)
        y = np.tanh(x + x)
        with pytest.raises(type(error)):
            numpy.asarray(y)
        g.at = ""
        numpy.testing.assert_allclose(numpy.asarray(y), numpy.tanh(a + a), rtol=1e-6)
        assert lazyloom.last_evaluation().regions.text() == "1 by in_numpy"
    assert not codegen.failures()


# importing


_IMPORTING = """
import warnings
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen, foreign
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    x = np.asarray(numpy.arange(3.0))
    with lazyloom.options(reproducible=True):
        assert numpy.asarray(x + x).tolist() == [0, 2, 4]
    assert "broken" not in codegen.available()
print(*(w.message for w in told))
print([(f.generator, f.when) for f in codegen.failures()])
"""


@pytest.mark.parametrize(("text", "said"), [
    ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
    ("raise MemoryError('too large')", "MemoryError: too large"),
    ("x = 1", "AttributeError: module 'broken' has no attribute 'Broken'"),
    ("Broken = dict", "ArgumentError: register: a dict was given, expected a Generator"),
    ("def Broken(): raise OSError('no device')", "OSError: no device")])
def test_an_entry_point_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(text)
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lazyloom.generators]\nbroken = broken:Broken\n")
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTING], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LAZYLOOM_LOG": "0",
             "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])})
    assert done.returncode == 0, done.stderr
    # none of the generator's lines raised the others
    at = " (at broken.py:1)" if text.startswith(("import", "raise", "def")) else ""
    assert done.stdout == (
        f"the code generator 'broken' cannot be used: broken:Broken: {said}{at}\n"
        "[('broken', 'import')]\n")


def test_an_interrupt_on_the_way_out_of_a_generator_forbids_no_later_read() -> None:
    """As where Ctrl-C comes while the end of the block is entered."""
    def interrupted() -> None:
        block = foreign.Foreign("the code generator 'mine', which builds a region,")
        block.__enter__()
        with pytest.raises(lazyloom.errors.ReadForbiddenError, match="'mine', which builds"):
            foreign.check()

    interrupted()
    try:
        assert foreign.inside[0] > 0
        assert float(numpy.asarray(np.asarray(numbers(3)) * 0).sum()) == 0
    finally:
        foreign.inside[0] -= 1


class RaisesInside(InNumPy):
    """The function that builds a region calls one that raises."""

    def build(self, region: codegen.Region) -> codegen.Code:
        return self.made()

    def made(self) -> codegen.Code:
        numpy.zeros(6).reshape(5)
        raise AssertionError


def test_a_failure_has_the_generators_line_and_traceback() -> None:
    told = ran(RaisesInside("add", name="inside"))
    (failure,) = codegen.failures()
    line = Path(__file__).read_text().splitlines().index("        numpy.zeros(6).reshape(5)") + 1
    assert failure.place == f"test_faults.py:{line}"
    assert str(told[0].message).endswith(f"(at test_faults.py:{line})")
    # from the generator's own function on
    first, *rest = [t for t in failure.traceback.splitlines() if t.startswith("  File")]
    assert ", in build" in first and ", in made" in rest[0]


def test_a_question_that_fails_has_the_line() -> None:
    class Asked(InNumPy):
        def supports(self, call: codegen.Call) -> codegen.Answer:
            raise KeyError(call.op)

    told = ran(Asked(name="asked"))
    assert "KeyError: 'multiply'" in str(told[0].message) and "(at test_faults.py:" in str(
        told[0].message)
    (failure,) = codegen.failures()
    assert failure.traceback.count("  File") == 1 and ", in supports" in failure.traceback
