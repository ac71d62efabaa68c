"""What other processes find on disk of programs with regions: never one that lacks a region."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyloom.backends.xla.regions import engines
from lazyloom.program.regions import ProgramRegion, ProgramRegions

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

#: prints how often programs were compiled and loaded, the regions, and what failed
_PROCESS = """
import sys, warnings
sys.path.insert(0, {root!r})
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from tests.codegen.generators import InNumPy

class Failing(InNumPy):
    def build(self, region):
        if region.calls[0].op in {failing!r}:
            raise OSError("its device is busy")
        return super().build(region)

    def supports(self, call):
        if call.op == {asked!r}:
            raise OSError("its library is being updated")
        return super().supports(call)

codegen.register(Failing("tanh", "exp"))
codegen.use("in_numpy")
a = numpy.arange(12, dtype="float32").reshape(3, 4) / 9
with warnings.catch_warnings(record=True) as told, lazyloom.options(reproducible=True):
    warnings.simplefilter("always")
    x = np.asarray(a)
    found = numpy.asarray(np.exp(np.tanh(x) @ np.asarray(a.T)))
assert numpy.allclose(found, numpy.exp(numpy.tanh(a) @ a.T), rtol=1e-5)
stats = lazyloom.stats()
record = lazyloom.last_evaluation()
assert len(told) == len(codegen.failures()), told
print(stats["programs_compiled"], stats["programs_from_disk"], stats["disk_errors"],
      "|", record.regions.text(), "|", *(f.when for f in codegen.failures()))
"""


def process(folder: Path, failing: tuple[str, ...] = (), asked: str = "") -> str:
    """What a process tells that shares the cache in a folder and cannot build some ops."""
    text = _PROCESS.format(
        root=str(Path(__file__).resolve().parents[2]), failing=failing, asked=asked)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LAZYLOOM_CACHE_DIR": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LEFT = "; heavy ops that no generator does: matmul"
WHOLE = f"2 by in_numpy{LEFT}"
PART = f"1 by in_numpy, 1 that in_numpy failed at by XLA{LEFT}"


def test_a_program_that_lacks_a_region_is_not_kept(tmp_path: Path) -> None:
    assert process(tmp_path, ("exp",)) == f"1 0 0 | {PART} | build"
    assert process(tmp_path) == f"1 0 0 | {WHOLE} |"
    assert process(tmp_path) == f"0 1 0 | {WHOLE} |"


def test_nor_one_that_lacks_all(tmp_path: Path) -> None:
    assert process(tmp_path, ("exp", "tanh")) == (
        "1 0 0 | 2 that in_numpy failed at by XLA | build build")
    assert process(tmp_path) == f"1 0 0 | {WHOLE} |"


def test_a_region_that_cannot_be_loaded_leaves_what_is_kept_as_it_was(tmp_path: Path) -> None:
    assert process(tmp_path) == f"1 0 0 | {WHOLE} |"
    assert process(tmp_path, ("exp",)) == f"1 0 0 | {PART} | load"
    assert process(tmp_path) == f"0 1 0 | {WHOLE} |"


def test_nor_is_one_kept_whose_generator_failed_when_it_was_asked(tmp_path: Path) -> None:
    assert process(tmp_path, asked="exp") == f"1 0 0 | {PART} | ask"
    assert process(tmp_path) == f"1 0 0 | {WHOLE} |"
    assert process(tmp_path) == f"0 1 0 | {WHOLE} |"


#: an installed generator that fails in the process that compiles beside the program alone
_INSTALLED = """
import os, sys
sys.path.insert(0, {root!r})
from tests.codegen.generators import InNumPy

class Beside(InNumPy):
    def __init__(self):
        super().__init__("tanh", "exp", name="beside")

    def build(self, region):
        if os.environ.get("LAZYLOOM_REPRODUCIBLE") == "1":
            raise OSError("not in this process")
        return super().build(region)
"""
_USER = """
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.execute import costs
from lazyloom.execute.compiling import background
costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float("inf"), 0.0
costs.EAGER_FACTOR = 1e9
costs.HEAVY_PART = 0.0
a = numpy.arange(40_000, dtype="float32").reshape(200, 200) / 40_000
for _ in range(4000):
    x = np.asarray(a)
    found = numpy.asarray(np.exp(np.tanh(x) @ x))
    record = lazyloom.last_evaluation()
    if record.form == "compiled":
        break
    assert background.wait(100)
print(record.form, "|", record.regions.text(), "|", codegen.failures())
"""


def test_what_fails_in_the_process_that_compiles_is_compiled_here(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(
        _INSTALLED.format(root=str(Path(__file__).resolve().parents[2])))
    info = tmp_path / "beside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lazyloom.generators]\nbeside = beside:Beside\n")
    environment: dict[str, Any] = {
        **os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache"), "LAZYLOOM_CODEGEN": "beside",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    environment.pop("LAZYLOOM_REPRODUCIBLE", None)
    done = subprocess.run(
        [sys.executable, "-c", _USER], capture_output=True, text=True, timeout=120,
        env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"compiled | 2 by beside{LEFT} | []"


def test_the_record_in_words() -> None:
    one = ProgramRegion("a", ("add",), "0")
    two = ProgramRegion("b", ("add", "multiply"), "1")
    assert ProgramRegions().text() == ""
    assert ProgramRegions((one, two, one)).text() == "2 by a, 1 by b"
    assert ProgramRegions((one,), (two,)).text() == "1 by a, 1 that b failed at by XLA"
