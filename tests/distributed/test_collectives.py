"""Every collective, dtype, group and gradient beside a computation on one device."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import launches
from .launch import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("what, world", [
    ("forward", 2), ("forward", 4), ("gradients", 2), ("gradients", 4)])
def test_collectives_beside_numpy(
    what: str, world: int, request: pytest.FixtureRequest
) -> None:
    if (what, world) in (("forward", 4), ("gradients", 2)) and not (
        request.config.getoption("--thorough")
    ):
        pytest.skip("with --thorough: the other number of processes")
    for ended in run("programs_collectives.py", [what], world, limit=100):
        assert ended.code == 0, ended.output
        assert "passed" in ended.output


def test_operands_that_xla_knows_in_one_process_alone(tmp_path: Path) -> None:
    """XLA reduces by itself what it takes for equal in all processes."""
    program = launches.script(tmp_path, """
import torch.distributed.nn.functional as together
dist.init_process_group("gloo")
rank, found = dist.get_rank(), {}
for dtype in (torch.float32, torch.int32, torch.bool, torch.complex64, torch.bfloat16):
    data = torch.tensor([5, 6, 7])
    known = torch.arange(3) if dtype != torch.bool else torch.zeros(3)
    x = (known if rank == 0 else data).to(dtype)
    gathered = together.all_gather(torch.zeros(3).to(dtype) if rank == 0 else x)
    found[str(dtype)] = (together.all_reduce(x).tolist(), gathered[1].tolist())
for n in (6, 2**16 + 2):
    nothing = torch.ones(6, 0) @ torch.ones(0, n)
    x = nothing if rank == 0 else torch.tensor([2.0]).expand(6, n).clone()
    found[n] = together.all_reduce(x).sum().item()
leave(found)
""")
    for found in launches.launch(program, tmp_path):
        assert found["torch.bool"] == ([True] * 3, [True] * 3)
        for dtype in ("float32", "int32", "complex64", "bfloat16"):
            assert found[f"torch.{dtype}"] == ([5, 7, 9], [5, 6, 7])
        assert found[6] == 72.0 and found[2**16 + 2] == 12.0 * (2**16 + 2)
