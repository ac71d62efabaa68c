"""Exported programs with what code generators made of them: another process builds nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.artifact import container
from lazyloom.backends.xla.regions import engines
from lazyloom.errors import ArgumentError
from tests.codegen.test_stored_engines import Stored

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

ROOT = str(Path(__file__).resolve().parents[2])


@pytest.fixture(autouse=True)
def in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    # asked for the first time it has all that there are
    codegen.in_use()
    generator = Stored("tanh", "add", driver="5")
    codegen.register(generator)
    with codegen.use("stored"), lazyloom.options(reproducible=True):
        yield


W = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def function(x: Any, n: int = 2) -> Any:
    """Ops of two kinds of generators, numbers that are constants and that are not, a draw."""
    hidden = np.tanh(x @ np.asarray(W)) + 0.25
    return np.tanh(hidden * n + 1) + hidden


def expected(x: Any) -> Any:
    hidden = numpy.tanh(x @ W) + numpy.float32(0.25)
    return numpy.tanh(hidden * 2 + 1) + hidden


def exported(**options: Any) -> bytes:
    file = io.BytesIO()
    lazyloom.export(function, file, np.zeros((2, 3), dtype=np.float32), **options)
    return file.getvalue()


_PROCESS = """
import json, sys, warnings
sys.path.insert(0, {root!r})
warnings.simplefilter("error", RuntimeWarning)
import numpy, lazyloom, lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.test_stored_engines import Stored
from tests.export.test_engines_in_files import expected
generator = Stored("tanh", "add", version={version!r}, driver={driver!r})
codegen.register(generator)
program = lazyloom.load({path!r}, engines=True)
x = numpy.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
with codegen.use("stored"), lazyloom.options(reproducible=True):
    found = numpy.asarray(program(np.asarray(x)))
numpy.testing.assert_allclose(found, expected(x), rtol=1e-5)
print(json.dumps([
    len(generator.built), len(generator.restored), program.without_engines,
    sorted({{(a.kind, a.status, a.reason) for a in program.engines.artifacts}}),
    lazyloom.last_evaluation().regions.text()]))
"""


def process(folder: Path, path: Path, version: str = "1", driver: str = "5") -> Any:
    """What a process with an empty cache tells of a program that it loads and calls."""
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS.format(
            root=ROOT, path=str(path), version=version, driver=driver)],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "LAZYLOOM_CACHE_DIR": str(folder)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


_EXPORT = """
import sys
sys.path.insert(0, {root!r})
import lazyloom
from lazyloom import codegen
from tests.codegen.test_stored_engines import Stored
from tests.export.test_engines_in_files import exported
generator = Stored("tanh", "add", driver="5")
codegen.register(generator)
with codegen.use("stored"), open({path!r}, "wb") as file:
    file.write(exported(engines=True))
print(len(generator.built))
"""


def test_another_process_builds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "program.loom"
    done = subprocess.run(
        [sys.executable, "-c", _EXPORT.format(root=ROOT, path=str(path))], capture_output=True,
        text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "2\n", done.stderr
    text = "2 by stored; heavy ops that no generator does: matmul"
    assert process(tmp_path / "a", path) == [0, 2, "", [["engine", "loaded", ""]], text]
    assert process(tmp_path / "b", path, driver="6") == [
        2, 0, "", [["engine", "refused", "an engine of stored that needs driver 5, here 6"]], text]
    assert process(tmp_path / "c", path, version="2") == [
        2, 0, "", [["engine", "refused", "an engine of stored 1, here 2"]], text]


def test_results_and_numbers_are_those_of_the_module() -> None:
    data = exported(engines=True)
    x = numpy.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
    with codegen.use("xla"):
        plain = lazyloom.load(io.BytesIO(data))
        by_ops = lazyloom.load(io.BytesIO(data), engines=True)
        assert plain.engines is None and by_ops.engines is not None
        first, second = [
            numpy.asarray(program(np.asarray(x))) for program in (plain, by_ops)]
    numpy.testing.assert_allclose(first, second, rtol=1e-6)
    numpy.testing.assert_allclose(second, expected(x), rtol=1e-5)


def test_draws_and_checks_are_those_of_the_module() -> None:
    def drawn(x: Any, index: Any) -> Any:
        return torch.tanh(x)[index] + torch.rand(3) * 0.5

    file = io.BytesIO()
    torch.manual_seed(1)
    lazyloom.export(drawn, file, torch.zeros(4, 3), torch.tensor(0), engines=True)
    programs = [lazyloom.load(io.BytesIO(file.getvalue()), engines=on) for on in (False, True)]
    x = torch.linspace(0, 1, 12).reshape(4, 3)
    for _ in range(2):
        a, b = (program(x, torch.tensor(2)).numpy() for program in programs)
        numpy.testing.assert_allclose(a, b, rtol=1e-6)
    for program in programs:
        with pytest.raises(IndexError):
            program(x, torch.tensor(7)).numpy()


def test_a_file_without_engines_is_as_before() -> None:
    data = exported()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == 1
        assert container.ENGINES not in archive.namelist()
    program = lazyloom.load(io.BytesIO(data), engines=True)
    assert program.engines is None
    assert program.without_engines == "the file was exported without engines=True"
    with zipfile.ZipFile(io.BytesIO(exported(engines=True))) as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == 2


def test_ops_of_another_source_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = exported(engines=True)
    monkeypatch.setattr("lazyloom.host.storage.fingerprint", lambda: b"another")
    program = lazyloom.load(io.BytesIO(data), engines=True)
    assert program.engines is None
    assert program.without_engines.startswith("its ops are those of another version of Lazyloom")


def changed(data: bytes, member: str, old: bytes, new: bytes) -> io.BytesIO:
    """The file with a change of a member that its manifest knows of."""
    manifest, files = container.read(io.BytesIO(data), "here")
    assert old in files[member]
    files[member] = files[member].replace(old, new)
    target = io.BytesIO()
    container.write(target, manifest, files)
    return target


@pytest.mark.parametrize(("old", "new", "error"), [
    (b"float32", b"float64", r"modules/0.ops.json takes float64.* expected what modules/0.mlirbc"),
    (b"tanh", b"tanx", r"modules/0.ops.json is no program: .*tanx"),
    (b'"program"', b'"pro"', "modules/0.ops.json is no program: 'program'; the file is damaged"),
    (b'"numbers": {"float32": [', b'"numbers": {"float32": [1.5, ', "expected as many as its ops"),
])
def test_damaged_ops_are_an_error(old: bytes, new: bytes, error: str) -> None:
    file = changed(exported(engines=True), "modules/0.ops.json", old, new)
    with pytest.raises(ArgumentError, match=error):
        lazyloom.load(file, engines=True)
    # nobody who does not ask for engines looks at it
    file.seek(0)
    lazyloom.load(file)


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = 1
    with pytest.raises(ArgumentError, match="lazyloom.export: engines is 1, expected True or Fal"):
        exported(engines=given)
    data = exported(engines=True)
    with pytest.raises(ArgumentError, match="lazyloom.load: engines is 1, expected True or False"):
        lazyloom.load(io.BytesIO(data), engines=given)
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    with pytest.raises(ArgumentError, match="engines is True and the disk cache is off"):
        exported(engines=True)
    program = lazyloom.load(io.BytesIO(data), engines=True)
    assert program.engines is None and "is off" in program.without_engines


def test_derivatives_have_engines_too() -> None:
    data = exported(engines=True, vjp_order=1)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    assert "modules/0.vjp1.ops.json" in names and container.ENGINES in names
    program = lazyloom.load(io.BytesIO(data), engines=True)
    assert program.without_engines == "" and program.engines is not None
    x = np.asarray(numpy.linspace(0, 1, 6, dtype="float32").reshape(2, 3))
    slope = lazyloom.grad(lambda x: program(x).sum())(x)
    assert "call_module" not in lazyloom.program_of(slope.value).ops
    numpy.testing.assert_allclose(
        numpy.asarray(slope), numpy.asarray(lazyloom.grad(lambda x: function(x).sum())(x)),
        rtol=1e-5)
