"""What editors and type checkers see of the frontends."""

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


TORCH_PROGRAM = """
import lazyloom_torch as torch
import lazyloom_torch.nn.functional as F
from lazyloom_torch import nn

x = torch.arange(6.0).reshape(2, 3)
reveal_type(torch.add(x, 1))
reveal_type(x.sum(0, keepdim=True))
reveal_type(1 - x)
reveal_type(x & x)
reveal_type(x.add_(1, alpha=2))
reveal_type(x.mT[0])
reveal_type(F.softmax(x, dim=1))
reveal_type(torch.linalg.inv(x, out=x))
reveal_type(torch.fft.fft(x))
reveal_type(torch.special.erf(x))
reveal_type(torch.amax(x, axis=0, out=x))
reveal_type(torch.float32)
reveal_type(x.shape)
reveal_type(torch.unbind(x))
reveal_type(nn.Linear(2, 3))
torch.no_such_name
x.no_such_method
x.add_(1, no_such_argument=2)
"""


def _said(program: str, folder: Path) -> list[str]:
    """What mypy says of a program, without places."""
    pytest.importorskip("mypy")
    (folder / "program.py").write_text(program)
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {ROOT / 'frontends'}:{ROOT / 'runtime'}\nfollow_imports = silent\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary",
         "program.py"], cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return [line.split(": ", 2)[2] for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_types_are_known(tmp_path: Path) -> None:
    said = _said(PROGRAM, tmp_path)
    assert said[:7] == ['Revealed type is "lazyloom_numpy.ndarray"'] * 7, said
    assert "bool" in said[7] and "ndarray" not in said[7]
    assert "has no attribute" in said[8]
    assert "no_such_method" in said[9]


@pytest.mark.slow
def test_types_of_the_torch_like_frontend_are_known(tmp_path: Path) -> None:
    said = _said(TORCH_PROGRAM, tmp_path)
    assert said[:11] == ['Revealed type is "lazyloom_torch._tensor.Tensor"'] * 11, said
    kinds = [text.split('"')[1] for text in said[11:15]]
    assert kinds == [
        "lazyloom_torch._dtypes.dtype", "lazyloom_torch._dtypes.Size",
        "tuple[lazyloom_torch._tensor.Tensor, ...]", "lazyloom_torch.nn.modules.linear.Linear"]
    assert "no_such_name" in said[15]
    assert "no_such_method" in said[16]
    assert "no_such_argument" in said[17]
