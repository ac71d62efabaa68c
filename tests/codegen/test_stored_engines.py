"""Engines as bytes: what a later process finds of them, and what it builds again."""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import cache, codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory, used
from lazyloom.codegen import engine_refusal, registry
from lazyloom.host.c_source.library import compiler

from .generators import InNumPy, interpret

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

ROOT = str(Path(__file__).resolve().parents[2])
#: how long the arrays of a test are: each has an engine of its own, since the last one may live on
LENGTHS = itertools.count(4)
length = 4


class Stored(InNumPy):
    """Some ops in NumPy, whose engines are a word as bytes.

    Attributes:
        restored: the bytes that engines were made from.
        needs: what it says that these bytes need.
    """

    def __init__(self, *ops: str, version: str = "1", **needs: str) -> None:
        super().__init__(*ops, name="stored")
        self.version = version
        self.restored: list[bytes] = []
        self.needs = needs

    def requirements(self) -> Mapping[str, str]:
        return self.needs

    def serialize(self, region: codegen.Region, code: codegen.Code) -> bytes | None:
        return b"engine of " + region.calls[0].op.encode()

    def deserialize(self, region: codegen.Region, data: bytes) -> codegen.Code:
        self.restored.append(data)
        return codegen.PythonCode(lambda *operands: interpret(region, operands))


def run(generator: codegen.Generator) -> dict[str, int]:
    """Run a program with one region of the generator, as a new process would; what was counted."""
    # what was registered, and what was built, before: a generator is the first of its name again
    registry._registered.clear()
    memory.clear()
    gc.collect()
    codegen.register(generator)
    before = lazyloom.stats()
    a = numpy.linspace(-1, 1, 3 * length, dtype="float32").reshape(3, length)
    with codegen.use(generator.name):
        found = numpy.asarray(np.tanh(np.asarray(a)) @ np.asarray(a.T))
    numpy.testing.assert_allclose(found, numpy.tanh(a) @ a.T, rtol=1e-4, atol=1e-5)
    after = lazyloom.stats()
    return {k: after[k] - before[k] for k in (
        "engines_built", "engines_restored", "programs_compiled", "programs_from_disk")}


@pytest.fixture(autouse=True)
def new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    global length
    length = next(LENGTHS)
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


_PROCESS = """
import json, os, sys, warnings
sys.path.insert(0, {root!r})
warnings.simplefilter("error", RuntimeWarning)
import lazyloom
from tests.codegen.test_stored_engines import Stored, run

with lazyloom.options(reproducible=True):
    generator = Stored("tanh", version={version!r}, driver={driver!r})
    print(json.dumps([run(generator), len(generator.built), len(generator.restored)]))
"""


def process(version: str = "1", driver: str = "5") -> Any:
    """What a process counts that runs the program, then its builds and what it restored."""
    text = _PROCESS.format(root=ROOT, version=version, driver=driver)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_builds_nothing(new_cache: Path) -> None:
    counts, built, restored = process()
    assert (built, restored, counts["engines_built"]) == (1, 0, 1)
    counts, built, restored = process()
    assert (built, restored) == (0, 1)
    assert counts == {"engines_built": 0, "engines_restored": 1, "programs_compiled": 0,
                      "programs_from_disk": 1}
    # the engine is of its region, whatever program it is in
    shutil.rmtree(new_cache / "program")
    counts, built, restored = process()
    assert (built, restored, counts["programs_compiled"]) == (0, 1, 1)


@pytest.mark.parametrize("other", [{"version": "2"}, {"driver": "6"}])
def test_another_version_or_driver_builds_its_own(other: dict[str, str]) -> None:
    first = Stored("tanh", driver="5")
    assert run(first)["engines_built"] == 1
    second = Stored("tanh", **{"driver": "5", **other})
    assert run(second)["engines_built"] == 1 and not second.restored
    # the entry of the first one is there still
    third = Stored("tanh", driver="5")
    assert run(third)["engines_restored"] == 1 and not third.built


class Wary(Stored):
    def deserialize(self, region: codegen.Region, data: bytes) -> codegen.Code:
        raise OSError("its bytes are of an older device")


def test_what_is_refused_is_built_again_and_said() -> None:
    assert run(Stored("tanh"))["engines_built"] == 1
    wary = Wary("tanh")
    with pytest.warns(RuntimeWarning, match=r"failed to restore the engine of a region .* which "
                                            r"is built again: OSError: its bytes are of an older"):
        assert run(wary)["engines_built"] == 1
    assert wary.calls == 1 and [f.when for f in codegen.failures()] == ["restore"]
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.regions.text().startswith("1 by stored")


class Unwritten(Stored):
    def serialize(self, region: codegen.Region, code: codegen.Code) -> bytes | None:
        raise OSError("its driver writes nothing")


def test_an_engine_that_cannot_be_serialised_runs() -> None:
    generator = Unwritten("tanh")
    with pytest.warns(RuntimeWarning, match="failed to serialise the engine .* next process"):
        assert run(generator)["engines_built"] == 1
    assert generator.calls == 1


def test_a_cache_that_is_carried_says_why_an_engine_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used.forget()
    generator = Stored("tanh", driver="5")
    run(generator)
    saved = cache.save(tmp_path / "file")
    assert "engine" in {a.kind for a in saved.artifacts if a.status == "saved"}
    for needs, status, reason in (
        ({"driver": "6"}, "refused", "an engine of stored that needs driver 5, here 6"),
        ({}, "refused", "an engine of stored that needs driver 5, here none"),
        ({"driver": "5"}, "loaded", ""),
    ):
        monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / f"other {needs}"))
        generator.needs = needs
        (engine,) = [a for a in cache.load(tmp_path / "file").artifacts if a.kind == "engine"]
        assert (engine.status, engine.reason) == (status, reason)


def test_what_a_refusal_says() -> None:
    codegen.register(Stored("tanh", version="7"))

    def description(**fields: Any) -> bytes:
        return json.dumps({"generator": "stored", "version": "7", "requirements": {}} | fields
                          ).encode()

    here = registry.identity(codegen.available()["stored"])
    assert engine_refusal.refusal(description(version=here)) == ""
    assert engine_refusal.refusal(description(version="6")) == (
        f"an engine of stored 6, here {here}")
    assert engine_refusal.refusal(description(generator="none such")) == (
        "an engine of the code generator none such, which is not here")
    assert engine_refusal.refusal(b"nothing") == "damaged: it does not say whose it is"


_IN_C = """
from tests.codegen.generators import InC

class Installed(InC):
    name = "installed_in_c"

    def build(self, region):
        print("built")
        return super().build(region)
"""
_USER = """
import sys, warnings
sys.path.insert(0, {root!r})
warnings.simplefilter("error", RuntimeWarning)
import numpy, lazyloom, lazyloom_numpy as np
with lazyloom.options(reproducible=True):
    x = np.asarray(numpy.ones(8, "float32"))
    assert numpy.asarray(x * x + x).tolist() == [2.0] * 8
stats = lazyloom.stats()
print(lazyloom.last_evaluation().regions.text(), stats["engines_built"],
      stats["engines_restored"], stats["regions_in_c_compiled"])
"""


@pytest.mark.skipif(shutil.which(compiler()[0]) is None, reason="there is no C compiler")
def test_c_of_an_installed_generator_is_neither_written_nor_compiled_again(
    tmp_path: Path, new_cache: Path
) -> None:
    (tmp_path / "installed_in_c.py").write_text(f"import sys\nsys.path.insert(0, {ROOT!r})" + _IN_C)
    info = tmp_path / "installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[lazyloom.generators]\ninstalled_in_c = installed_in_c:Installed\n")
    environment = {
        **os.environ, "LAZYLOOM_CODEGEN": "installed_in_c",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    told = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", _USER.format(root=ROOT)], capture_output=True,
                              text=True, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.split("\n"))
        # the program, too, is made anew; no C compiler that fails is asked
        shutil.rmtree(new_cache / "program")
    assert told[0][:2] == ["built", "1 by installed_in_c 1 0 1"]
    assert told[1][0] == "1 by installed_in_c 0 1 0"


def test_a_session_of_onnx_runtime_is_not_optimised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    from lazyloom.codegen.onnxruntime import session

    generator = codegen.available()["onnxruntime"]
    optimised: list[bool] = []
    inference = session._inference

    def noted(model: bytes, options: Any) -> Any:
        level = options.graph_optimization_level
        optimised.append(level != session.runtime().GraphOptimizationLevel.ORT_DISABLE_ALL)
        return inference(model, options)

    monkeypatch.setattr(session, "_inference", noted)
    a = numpy.linspace(-1, 1, 200 * 200, dtype="float32").reshape(200, 200)
    results = []
    for _ in range(2):
        memory.clear()
        gc.collect()
        with codegen.use(generator.name):
            x = np.asarray(a)
            results.append(numpy.asarray(np.tanh(x @ x) @ x))
    assert optimised == [True, False]
    assert numpy.array_equal(results[0], results[1])
