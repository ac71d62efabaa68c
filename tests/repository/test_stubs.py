"""What editors and type checkers see of the frontends."""

from __future__ import annotations

import re
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
np.sum(x, axis="rows")
np.zeros(2.5)
np.linspace(0, 1, num="5")
"""

#: what NumPy's programs write, to which no type checker may object
VALID_PROGRAM = """
from pathlib import Path

import numpy
import lazyloom_numpy as np

x = np.zeros((2, 3), dtype=np.float32) + numpy.ones(3)
np.zeros(3), np.ones([2, 2], dtype="int64"), np.full((2,), 1.5, float), np.empty(x.shape)
np.sum([1, 2]), np.sum([[1, 2], [3, 4.5]], axis=(0, 1)), np.sum(x, 0, out=np.zeros(3))
np.mean(x, axis=-1, keepdims=True), np.max([x, x]), np.var(x, ddof=1, where=x > 0)
np.concatenate([x, numpy.ones((1, 3))]), np.stack((x, x), axis=1), np.vstack([[1], [2]])
np.where(x > 0, x, 0), np.where(x), np.clip(x, None, 1), np.take(x, [0, 1], axis=0)
np.reshape(x, -1), np.transpose(x, (1, 0)), np.moveaxis(x, 0, 1), np.roll(x, (1, 2), axis=(0, 1))
np.pad(x, ((1, 1), (0, 2)), mode="edge"), np.tile(x, (2, 1)), np.repeat(x, 2, axis=0)
np.percentile(x, [25, 75]), np.histogram(x, bins="auto", range=(0, 1)), np.unique(x)
np.einsum("ij,kj->ik", x, x), np.tensordot(x, x, axes=([0], [0])), np.linalg.norm(x, "fro")
np.array(x, copy=False), np.asarray([x[0], 1.0, 2.0]), np.arange(x.shape[0], dtype=int)
np.linspace(0, 1, 5) + 1, np.fft.fft(x, n=4, norm="ortho"), np.linalg.solve(np.eye(2), [1, 2])
np.select([x > 1, x > 0], [x, -x], default=0.0), np.sort(x, axis=None), np.searchsorted([1], 2)
np.delete(x, 1, axis=0), np.delete(x, slice(2)), np.insert(x, [0, 1], 5), np.atleast_2d(*[x, x])
np.save("x.npy", x)
np.savetxt(Path("x.txt"), x, fmt="%d")
np.load(Path("x.npy"), mmap_mode="r"), np.unique(x, True)
np.loadtxt(["1 2", "3 4"], usecols=0, converters={0: float}), np.seterrcall(None), np.ix_([1], x)
np.polyfit([1, 2], [3, 4], 1, cov="unscaled"), np.linalg.qr(x, "raw"), np.fft.fftfreq(4, 0.5)
values, counts = np.unique(x, return_counts=True)
left, singular, right = np.linalg.svd(x)
reveal_type(np.linspace(0, 1, 5, retstep=True))
reveal_type(np.linspace(0, 1, 5))
reveal_type(np.average(x, returned=True))
reveal_type(np.unique(x))
reveal_type(np.polyfit([1, 2], [3, 4], 1))
reveal_type(np.atleast_1d(3))
reveal_type(np.indices((2, 3)))
reveal_type(np.linalg.svd(x).S)
reveal_type(np.linalg.svd(x, compute_uv=False))
reveal_type(np.linalg.qr(x).R)
reveal_type(np.polydiv([1, 2], [1])[0])
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
    assert 'Argument "axis" to "sum" has incompatible type "str"' in said[10]
    assert 'Argument 1 to "zeros" has incompatible type "float"' in said[11]
    assert 'No overload variant of "linspace" matches' in said[12]


@pytest.mark.slow
def test_programs_of_numpy_have_the_right_types(tmp_path: Path) -> None:
    said = _said(VALID_PROGRAM, tmp_path)
    pair = "tuple[lazyloom_numpy.ndarray, lazyloom_numpy.ndarray]"
    assert said == [f'Revealed type is "{kind}"' for kind in (
        pair, "lazyloom_numpy.ndarray", pair, *["lazyloom_numpy.ndarray"] * 8)]


def test_parameters_of_usual_functions_have_types() -> None:
    text = (ROOT / "frontends" / "lazyloom_numpy" / "__init__.pyi").read_text()
    lines = [line for line in text.splitlines() if line.startswith("def ")]
    untyped = [line for line in lines if re.search(r"(?<!\*)\b(?!args|kw)\w+: Any\b", line)]
    assert len(lines) > 250 and len(untyped) < len(lines) / 10, untyped


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
