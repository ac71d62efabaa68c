"""The programs of examples/numpy_programs: one text, both imports, equal results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lazyloom
import lazyloom_numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "numpy_programs"
sys.path.insert(0, str(FOLDER))
import both  # noqa: E402

pytestmark = pytest.mark.usefixtures("quick_compiler")

sys.path.remove(str(FOLDER))

#: sizes at which each compiles in a few seconds
SMALL: dict[str, dict[str, Any]] = {
    "heat": {"n": 24, "steps": 6},
    "kmeans": {"clusters": 5, "images": 200},
    "kalman": {"targets": 6, "steps": 5},
    "image": {"n": 40},
    "nbody": {"bodies": 12, "steps": 6},
}


@pytest.mark.parametrize("name", both.PROGRAMS)
def test_equal_under_both_imports(name: str, form: str) -> None:
    theirs = both.load(name, "numpy")(**SMALL[name])
    run = both.load(name, "lazyloom_numpy")
    ours = run(**SMALL[name])
    assert any(isinstance(value, np.ndarray) for value in ours.values())
    assert both.differences(ours, theirs) == []
    compiled = lazyloom.stats()["programs_compiled"]
    assert both.differences(run(**SMALL[name]), theirs) == []
    if form == "compiled":
        assert lazyloom.stats()["programs_compiled"] == compiled


@pytest.mark.parametrize("name", both.PROGRAMS)
def test_programs_are_complete(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) >= 80 and text.count(both.LINE) == 1


def test_differences_are_found() -> None:
    theirs = both.load("heat", "numpy")(n=8, steps=1)
    ours = {**theirs, "field": theirs["field"] + 1e-6, "drift": theirs["drift"].astype("f4")}
    del ours["totals"]
    assert len(both.differences(ours, theirs)) == 3


@pytest.mark.slow
def test_the_runner_compares() -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "both.py"), "kmeans"], capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("equal")
