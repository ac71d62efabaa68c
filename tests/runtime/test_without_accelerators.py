"""LAZYLOOM_WITHOUT: a program means the same without any of what makes it fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyloom.settings import ACCELERATORS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]

#: uses all of them: prints what it computed, and the counters
PROGRAM = """
import json, sys, time
import numpy
import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch

found = []

def keep(x):
    found.append(numpy.asarray(x, numpy.float64).ravel().tolist())

rng = numpy.random.default_rng(3)

# a loop that comes back: matched, and compiled beside
w = np.array(rng.standard_normal((16, 16)))
x = np.array(rng.standard_normal((16, 16)))
for _ in range(40):
    x = np.tanh(x @ w) + x * 0.5
    keep(float(x.sum()))

# a captured function
@torch.compile
def layer(a, b):
    return torch.relu(a @ b).sum(1)

a = torch.tensor(rng.standard_normal((8, 8)).astype("float32"))
for k in range(12):
    keep(layer(a, a + 1.0).numpy())

# extents that change
for n in range(3, 40):
    y = np.array(rng.standard_normal((n, 5)))
    z = np.exp(-y * y)
    for _ in range(6):
        z = z - z.mean(axis=0) * np.cos(z)
    keep(z)

# a long program with a repetition, compiled whole
with lazyloom.options(reproducible=True):
    v = np.array(rng.standard_normal(64))
    for _ in range(120):
        v = np.sin(v) * 1.01 + np.cos(v) / 3.0
    keep(v)

# elements, one by one
e = np.zeros(9)
for k in range(9):
    e[k] = k / 4 if k < 3 else e[k - 1] * 2 - e[k - 3]
    if e[k] > 0.5:
        e[k] -= 0.25
keep(e)
keep([float(e[3] - e[4] / 3), bool(e[2] < e[3])])

# gradients
p = torch.tensor(rng.standard_normal((6, 6)).astype("float32"), requires_grad=True)
for _ in range(6):
    loss = (torch.softmax(p @ p.T, -1) ** 2).sum()
    loss.backward()
    keep(p.grad.numpy())
    p.grad = None
json.dump({"found": found, "stats": dict(lazyloom.stats()),
           "captured": layer.explain().captures if hasattr(layer, "explain") else None}, sys.stdout)
"""


def run(without: str, folder: Path) -> Any:
    """What the program computes in a process that does without these."""
    environment = {**os.environ, "LAZYLOOM_WITHOUT": without, "LAZYLOOM_REPRODUCIBLE": "0",
                   "LAZYLOOM_CACHE_DIR": str(folder / "cache")}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=folder,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What it computes with all of them."""
    return run("", tmp_path_factory.mktemp("usual"))


def test_the_program_uses_them(usual: Any) -> None:
    stats = usual["stats"]
    assert stats["traces_matched"] > 20 and stats["runs_op_by_op"] > 20
    assert usual["captured"]


@pytest.mark.parametrize("name", [*ACCELERATORS, "all"])
def test_a_program_computes_the_same_without(name: str, usual: Any, tmp_path: Path) -> None:
    other = run(name, tmp_path)
    assert len(other["found"]) == len(usual["found"])
    for a, b in zip(other["found"], usual["found"], strict=True):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6)
    stats = other["stats"]
    left_out = set(ACCELERATORS) if name == "all" else {name}
    if "matching" in left_out:
        assert stats["traces_matched"] == 0
    if "capture" in left_out:
        assert not other["captured"]
    if "op_by_op" in left_out:
        assert stats["runs_op_by_op"] == 0
    if "padding" in left_out:
        assert stats["runs_padded"] == 0
    if "background" in left_out:
        assert stats["background_compiles"] == 0 and stats["functions_compiled"] == 0
    if "c_kernels" in left_out:
        assert stats["functions_compiled"] == 0


def test_a_name_that_is_none_is_said(tmp_path: Path) -> None:
    environment = {**os.environ, "LAZYLOOM_WITHOUT": "matching, speed"}
    done = subprocess.run([sys.executable, "-c", "import lazyloom"], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode
    assert "LAZYLOOM_WITHOUT names 'speed', expected matching, capture," in done.stderr


def test_tests_of_what_is_left_out_are_skipped() -> None:
    environment = {**os.environ, "LAZYLOOM_WITHOUT": "op_by_op"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "accelerator", "-p", "no:cacheprovider",
         "tests/contract/test_14_waiting.py"], env=environment, cwd=ROOT, capture_output=True,
        text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is a test of op_by_op, which LAZYLOOM_WITHOUT leaves out" in done.stdout
    assert " skipped" in done.stdout and " passed" not in done.stdout
