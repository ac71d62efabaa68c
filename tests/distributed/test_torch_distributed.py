"""torch.distributed in several processes, beside PyTorch's gloo."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.launches import HERE, LIMIT, launch, script

pytestmark = pytest.mark.slow

HAS_PYTORCH = importlib.util.find_spec("torch") is not None
PYTORCH = pytest.mark.skipif(not HAS_PYTORCH, reason="PyTorch is not installed")


def agrees(ours: Any, theirs: Any) -> bool:
    """Whether both gave the same, or an error that is caught as PyTorch's is."""
    if isinstance(theirs, set):
        return isinstance(ours, set) and bool(
            ours & theirs & {"TypeError", "ValueError", "RuntimeError"})
    return bool(ours == theirs)


@PYTORCH
@pytest.mark.parametrize("processes", [3])
def test_collectives_give_what_pytorch_gives(tmp_path: Path, processes: int) -> None:
    program = HERE / "program_collectives.py"
    theirs = launch(program, tmp_path, processes, pytorch=True)
    ours = launch(program, tmp_path, processes)
    for rank in range(processes):
        assert ours[rank].keys() == theirs[rank].keys()
        differ = {k: (v, theirs[rank][k]) for k, v in ours[rank].items()
                  if not agrees(v, theirs[rank][k])}
        assert not differ, (rank, differ)


def test_collectives_are_sums_and_parts(tmp_path: Path) -> None:
    """Without PyTorch, too: what a process has is what NumPy makes of all processes' data."""
    program = script(tmp_path, """
import os
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = os.environ.pop("MASTER_PORT")
try:
    dist.init_process_group("gloo")
except ValueError as error:
    assert "MASTER_PORT" in str(error)
dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
x = torch.tensor([[1.5, 2.0], [3.0, rank]])
found = {}
for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
    t = x.clone()
    assert dist.all_reduce(t, getattr(dist.ReduceOp, op)) is None
    found[op] = t.numpy()
rows = [torch.zeros(2, 2) for _ in range(size)]
dist.all_gather(rows, x)
found["rows"] = [r.numpy() for r in rows]
part = torch.zeros(1, 2)
dist.reduce_scatter_tensor(part, x * (rank + 1))
found["part"] = part.numpy()
out = torch.zeros(2, 2)
dist.all_to_all_single(out, x + 10 * rank)
found["out"] = out.numpy()
dist.broadcast(x, 1)
found["x"] = x.numpy()
leave(found)
dist.destroy_process_group()
""")
    data = [np.array([[1.5, 2], [3, r]], np.float32) for r in range(2)]
    for rank, found in enumerate(launch(program, tmp_path)):
        for op, of in (("SUM", np.sum), ("AVG", np.mean), ("PRODUCT", np.prod), ("MIN", np.min),
                       ("MAX", np.max)):
            np.testing.assert_array_equal(found[op], of(np.stack(data), 0))
        np.testing.assert_array_equal(found["rows"], data)
        np.testing.assert_array_equal(
            found["part"], (data[0] + 2 * data[1])[rank : rank + 1])
        np.testing.assert_array_equal(
            found["out"], np.stack([data[s][rank] + 10 * s for s in range(2)]))
        np.testing.assert_array_equal(found["x"], data[1])


def test_a_process_that_reads_nothing_takes_part(tmp_path: Path) -> None:
    program = script(tmp_path, """
import os
dist.init_process_group("gloo", f"file://{os.environ['LEAVE_IN']}/meeting",
                        rank=int(os.environ["RANK"]), world_size=2)
x = torch.ones(3) * (dist.get_rank() + 1)
before = x + 1 if dist.get_rank() else (x * 3).sqrt() ** 2 / 3 + 1
dist.all_reduce(x)
leave(x.numpy() if dist.get_rank() == 0 else None)
dist.destroy_process_group()
""")
    first, _ = launch(program, tmp_path)
    np.testing.assert_array_equal(first, [3, 3, 3])


def test_monitored_barrier_names_who_did_not_come(tmp_path: Path) -> None:
    program = script(tmp_path, """
import os
from datetime import timedelta
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), size, rank == 0,
                      timeout=timedelta(seconds=30))
store.set(f"key{rank}", str(rank))
assert store.get(f"key{(rank + 1) % size}") == str((rank + 1) % size).encode()
assert 1 <= store.add("sum", rank + 1) <= 6 and not store.check(["no such key"])
dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
said = ""
if rank != 1:
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=0.5))
    except RuntimeError as error:
        said = str(error)
dist.barrier()
leave(said)
dist.destroy_process_group()
""")
    first, second, third = launch(program, tmp_path, 3)
    assert "Rank 1 failed to pass monitoredBarrier in 500 ms" in first and not second
    assert "check rank 0 logs" in third


@PYTORCH
def test_torchrun_starts_it(tmp_path: Path) -> None:
    program = script(tmp_path, """
dist.init_process_group("gloo")
x = torch.ones(1)
dist.all_reduce(x)
leave([x.item(), dist.is_torchelastic_launched(), torch.__name__, torch.__file__])
dist.destroy_process_group()
""")
    env = {**os.environ, "LEAVE_IN": str(tmp_path), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port",
           "0", "--rdzv-endpoint", "localhost:0", "--rdzv-backend", "c10d", "-m", "lazyloom_torch",
           str(program)]
    done = subprocess.run(run, env=env, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        total, launched, _, file = pickle.loads((tmp_path / f"rank{rank}").read_bytes())
        assert total == 2 and launched and "lazyloom_torch" in file


def test_processes_meet_in_a_store_in_a_file(tmp_path: Path) -> None:
    program = script(tmp_path, """
import gc, os
rank, path = int(os.environ["RANK"]), os.path.join(os.environ["LEAVE_IN"], "store")
store = dist.FileStore(path, 2)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
for _ in range(200):
    store.add("count", 1)
dist.barrier()
x = torch.ones(1)
dist.all_reduce(x)
assert store.get("count") == b"400" and store.compare_set("new", "", "1") == b"1"
dist.barrier()
store.delete_key("count")
dist.barrier()
there = os.path.exists(path) and not store.check(["count"])
del store
dist.destroy_process_group()
gc.collect()
leave([x.item(), there])
""")
    assert launch(program, tmp_path) == [[2.0, True]] * 2
    assert not (tmp_path / "ours" / "store").exists()
