"""The demo, and that the three programs are one exactly as long as they say the same."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyloom import ops

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FRONTENDS = ("numpy", "torch", "c")

pytestmark = pytest.mark.slow


class Demo:
    """Two runs of the demo on one cache that was empty before: output and reports of each."""

    def __init__(self, folder: Path) -> None:
        self.environment = dict(os.environ, LAZYLOOM_CACHE_DIR=str(folder / "cache"))
        self.outputs: list[str] = []
        self.reports: list[dict[str, Any]] = []
        for number in (1, 2):
            out = folder / f"out{number}"
            done = subprocess.run(
                [sys.executable, str(EXAMPLES / "demo.py"), str(out)], cwd=folder,
                env=self.environment, capture_output=True, text=True, timeout=600,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            assert (out / "digits.png").stat().st_size > 10_000
            self.outputs.append(done.stdout)
            self.reports.append({
                f: json.loads((out / f"digits-{f}.json").read_text()) for f in FRONTENDS
            })  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    return Demo(tmp_path_factory.mktemp("demo"))


def test_one_program_in_three_languages(demo: Demo) -> None:
    first = demo.reports[0]
    assert len({r["step_key"] for r in first.values()}) == 1
    assert first["numpy"]["programs_compiled"] > 0
    assert first["torch"]["programs_compiled"] == first["c"]["programs_compiled"] == 0
    assert first["torch"]["programs_from_disk"] > 0 and first["c"]["programs_from_disk"] > 0


def test_each_learns_and_they_agree(demo: Demo) -> None:
    first = demo.reports[0]
    for report in first.values():
        assert report["test_accuracy"] >= 0.95
        assert report["final_loss"] == pytest.approx(first["numpy"]["final_loss"], rel=1e-5)


def test_a_step_is_one_execution_of_all_its_ops(demo: Demo) -> None:
    for report in demo.reports[0].values():
        assert report["executions_per_step"] == 1
        assert report["ops_per_step"] >= 30


def test_a_second_demo_compiles_nothing(demo: Demo) -> None:
    assert all(r["programs_compiled"] == 0 for r in demo.reports[1].values())
    assert "Nothing was compiled" in demo.outputs[1]
    assert demo.reports[1]["c"]["step_key"] == demo.reports[0]["c"]["step_key"]


CHANGES = {
    "numpy": ("digits_numpy.py", 'apply("relu"', 'apply("tanh"'),
    "torch": ("digits_torch.py", "F.relu(x @ self.w2", "F.tanh(x @ self.w2"),
    "c": ("digits.c", "loom_relu(sum, &h)", "loom_tanh(sum, &h)"),
}


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_another_activation_is_another_program(
    demo: Demo, frontend: str, tmp_path: Path
) -> None:
    name, before, after = CHANGES[frontend]
    text = (EXAMPLES / name).read_text()
    assert before in text
    source = tmp_path / name
    source.write_text(text.replace(before, after))
    if frontend == "c":
        flags = subprocess.run(
            [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        program = tmp_path / "digits"
        subprocess.run(["cc", "-std=c99", str(source), "-o", str(program), *shlex.split(flags)],
                       check=True)  # fmt: skip
        command = [str(program)]
    else:
        shutil.copy(EXAMPLES / "digits_data.py", tmp_path)
        command = [sys.executable, str(source)]
    report = tmp_path / "report.json"
    subprocess.run(
        [*command, str(EXAMPLES / "data" / "digits"), str(report)],
        env=demo.environment, check=True, capture_output=True, timeout=300,
    )
    changed = json.loads(report.read_text())
    assert changed["step_key"] != demo.reports[0][frontend]["step_key"]
    assert changed["ops_per_step"] == demo.reports[0][frontend]["ops_per_step"]


def test_no_op_is_a_training_step() -> None:
    """Networks and the steps that train them are written with ops; none is an op.

    An optimizer's update of a group's parameters is one (``step_*``), as the torch-like frontend
    records it; the demo's three programs write theirs out.
    """
    fused = re.compile(r"^(?!step_).*(sgd|adam|optimi[sz]er|momentum)|train_step|mlp|backward")
    assert not [name for name in ops.names() if fused.search(name)]


def test_the_c_program_uses_public_functions_only() -> None:
    text = (EXAMPLES / "digits.c").read_text()
    headers = "".join((ROOT / "capi" / "include" / n).read_text()
                      for n in ("lazyloom.h", "lazyloom_ops.h", "lazyloom_runtime.h",
                                "lazyloom_types.h"))  # fmt: skip
    assert re.findall(r'#include "([^"]+)"', text) == ["lazyloom_ops.h"]
    used = set(re.findall(r"\b(loom_\w+)\s*\(", text))
    assert used and all(re.search(rf"\b{name}\s*\(", headers) for name in used)
    assert not [name for name in used if name.endswith("_")]
