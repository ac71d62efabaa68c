"""What editors and type checkers see of the NumPy-like frontend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import lazyloom_numpy as np

x = np.arange(6.0).reshape(2, 3)
reveal_type(np.sin(x))
reveal_type(1 - x)
reveal_type((x @ x.T).sum(axis=0)[0])
reveal_type(np.fft.fft(x))
reveal_type(np.linalg.eigh(x).eigenvectors)
reveal_type(np.nonzero(x)[0])
reveal_type(np.modf(x)[1])
reveal_type(np.array_equal(x, x))
np.no_such_name
x.no_such_method
"""


def test_stubs_are_as_the_modules_are() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "stubs.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_types_are_known(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {ROOT / 'frontends'}:{ROOT / 'runtime'}\nfollow_imports = silent\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary",
         "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = [line.split(": ", 2)[2] for line in done.stdout.splitlines()]
    assert said[:7] == ['Revealed type is "lazyloom_numpy.ndarray"'] * 7, done.stdout + done.stderr
    assert "bool" in said[7] and "ndarray" not in said[7]
    assert "no_such_name" in done.stdout or "has no attribute" in said[8]
    assert "no_such_method" in said[9]
