"""Programs with one known fault: the line and the rule are found, and none where it is mended."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyloom import codegen

HERE = Path(__file__).parent
RULES = {
    "read_in_step": "LL01", "growing_shape": "LL02", "changing_attribute": "LL03",
    "flipping_dtype": "LL04", "temporary_kept": "LL05", "growing_list": "LL06",
    "closure_made_anew": "LL07", "donated_input_kept": "LL08", "reads_by_element": "LL09",
    "unrolled_loop": "LL10", "uploaded_array": "LL11",
}  # fmt: skip
#: those whose programs must be compiled for there to be a fault
COMPILED = ("temporary_kept",)
#: those whose programs are compiled at their first run, which writes over its inputs
REPRODUCIBLE = ("donated_input_kept",)
NAMES = [f"{frontend}_{fault}" for frontend in ("numpy", "torch") for fault in RULES]


def run(names: list[str], cache: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "run_programs.py"), *names], capture_output=True, text=True,
        env={**os.environ, "LAZYLOOM_CACHE_DIR": str(cache), **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was found in each program; processes of tests that run beside each other share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with open(folder / "findings.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        told: dict[str, Any] = json.loads(text) if text else _found(tmp_path_factory)
        if not text:
            json.dump(told, file)
    return told


def _found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    cache = tmp_path_factory.mktemp("cache")
    first = [n for n in NAMES if n.partition("_")[2] in REPRODUCIBLE]
    quick = [n for n in NAMES if n.partition("_")[2] not in (*COMPILED, *REPRODUCIBLE)]
    told = run(quick, cache, LAZYLOOM_REPRODUCIBLE="0")
    told |= run(first, cache, LAZYLOOM_REPRODUCIBLE="1")
    told |= run([n for n in NAMES if n not in told], cache, LAZYLOOM_REPRODUCIBLE="0", SETTLED="1")
    return told


def line_of(name: str) -> int:
    """The line of a program that has its fault."""
    lines = (HERE / "programs" / f"{name}.py").read_text().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith("# fault")]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_found(name: str, found: dict[str, Any]) -> None:
    first = found[name]["faulty"]["all"][0]
    assert (first["rule"], first["line"]) == (RULES[name.partition("_")[2]], line_of(name))
    assert first["source"].endswith("# fault") and first["seconds"] > 0
    assert first["file"] == str(HERE / "programs" / f"{name}.py")


@pytest.mark.parametrize("name", NAMES)
def test_what_was_mended_is_not_found(name: str, found: dict[str, Any]) -> None:
    mended, faulty = found[name][""], found[name]["faulty"]
    rule = RULES[name.partition("_")[2]]
    costs = {how["seconds"]: [f["seconds"] for f in how["all"] if f["rule"] == rule]
             for how in (mended, faulty)}
    assert sum(costs[mended["seconds"]]) < 0.25 * sum(costs[faulty["seconds"]])
    if rule != "LL02":  # sums in another order
        assert mended["result"] == faulty["result"]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_fault_there_is_no_finding(name: str, found: dict[str, Any]) -> None:
    assert found[name][""]["findings"] == [], found[name][""]["all"]


def left_on_xla(name: str, cache: Path) -> None:
    found = run([name], cache, LAZYLOOM_REPRODUCIBLE="1")[name]
    assert [f["rule"] for f in found[""]["all"] if f["rule"] == "LL12"] == []
    left = [f for f in found["faulty"]["all"] if f["rule"] == "LL12"]
    assert [f["line"] for f in left] == [line_of(name)] and left[0]["seconds"] > 0
    assert found[""]["result"] == found["faulty"]["result"]


def test_an_op_that_no_code_generator_takes_is_found(tmp_path: Path) -> None:
    left_on_xla("numpy_left_on_xla", tmp_path)


@pytest.mark.skipif("onednn" not in codegen.in_use(), reason="oneDNN is not in use")
def test_an_op_that_onednn_does_not_take_is_found(tmp_path: Path) -> None:
    left_on_xla("torch_left_on_xla", tmp_path)
