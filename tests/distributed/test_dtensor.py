"""torch.distributed.tensor, beside PyTorch's and beside whole tensors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.launches import HERE, launch

pytestmark = pytest.mark.slow

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

#: cases whose result lies otherwise here: PyTorch gathers, or does not count what is ignored
ELSEWHERE = {"tril Shard(dim=0)", "embedding Replicate() Shard(dim=0)",
             "cross_entropy Shard(dim=0) Shard(dim=0)"}
#: cases whose gradients are a multiple of the right ones in PyTorch 2.13
MULTIPLIED = {"mse Shard(dim=0) Shard(dim=0)", "mse Shard(dim=1) Shard(dim=1)"}


@PYTORCH
def test_functions_lie_and_compute_as_in_pytorch(tmp_path: Path, thorough: bool) -> None:
    program = HERE / "program_dtensor.py"
    every = "1" if thorough else "8"
    theirs = launch(program, tmp_path, 2, every, pytorch=True)
    ours = launch(program, tmp_path, 2, every)
    wrong = []
    for rank in range(2):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, one in ours[rank].items():
            other = theirs[rank][name]
            if "error" in one or "error" in other:
                # what PyTorch does not support is right here, too: tested beside whole tensors
                wrong += [(name, one["error"])] if "error" in one else []
                continue
            for key, value in other.items():
                if key == "lie" or key in ("placements", "local") and name in ELSEWHERE or (
                        key.startswith("grad") and name in MULTIPLIED):
                    continue
                if isinstance(value, np.ndarray):
                    alike = value.shape == one[key].shape and np.allclose(
                        one[key], value, rtol=1e-4, atol=1e-5)
                else:
                    alike = one[key] == value
                if not alike:
                    wrong.append((rank, name, key, one[key], value))
    assert not wrong


def test_what_programs_do_with_dtensors(tmp_path: Path) -> None:
    for found in launch(HERE / "program_dtensor_uses.py", tmp_path):
        assert len(found) > 20
        assert {k: v for k, v in found.items() if v is not True} == {}


@pytest.mark.thorough
def test_every_placement_goes_to_every_other_one(tmp_path: Path) -> None:
    """With parts of several sizes, and empty ones; gradients go back."""
    for wrong in launch(HERE / "program_redistribute.py", tmp_path, 4):
        assert not wrong
