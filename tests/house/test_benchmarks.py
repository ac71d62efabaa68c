"""The benchmarks run, and write what their page shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_benchmarks_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(tmp_path)],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    page = (tmp_path / "README.md").read_text()
    for group, rows in results["groups"].items():
        assert f"## {group}" in page
        for name, row in rows.items():
            assert 0 < row["least"] <= row["median"]
            assert f"| {name} |" in page
    assert (tmp_path / "results.png").stat().st_size > 10_000
