"""torch.distributed.checkpoint: other numbers of processes, PyTorch's files, processes that die."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.launches import launch, script

pytestmark = pytest.mark.slow

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
#: runs give the same bits however they run
SAME_BITS = {"LAZYLOOM_REPRODUCIBLE": "1"}

MODEL = """
import os
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict)
draw = np.random.RandomState(0)
X = draw.randn(12, 6).astype("float32")

def model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 5))

def optimizer_of(module):
    return torch.optim.Adam(module.parameters(), lr=.05)

def train(module, optimizer, steps, rank, size):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (module(torch.tensor(X[rank::size])) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

def whole(module, optimizer):
    options = StateDictOptions(full_state_dict=True)
    params, states = get_state_dict(module, optimizer, options=options)
    return ({k: v.detach().numpy().copy() for k, v in params.items()},
            {k: {n: np.array(v.tolist()) for n, v in s.items()}
             for k, s in states["state"].items()})

def saved(module, optimizer, folder, **more):
    params, states = get_state_dict(module, optimizer)
    dcp.save({"model": params, "optimizer": states, **more}, checkpoint_id=folder)

def loaded(module, optimizer, folder, **more):
    params, states = get_state_dict(module, optimizer)
    state = {"model": params, "optimizer": states, **more}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(module, optimizer, model_state_dict=state["model"],
                   optim_state_dict=state["optimizer"])
    return state
"""

PROCESSES = MODEL + """
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
module = model()
fully_shard(module[0])
fully_shard(module)
optimizer = optimizer_of(module)
folder = sys.argv[1]
"""

SAVING = PROCESSES + """
train(module, optimizer, 3, rank, size)
saved(module, optimizer, folder, step=3, names=["a", "b"], pair=[torch.arange(3), {"x": 2.5}])
then = whole(module, optimizer)
leave([then, train(module, optimizer, 3, rank, size), sorted(os.listdir(folder))])
dist.destroy_process_group()
"""

LOADING = PROCESSES + """
for p in module.parameters():
    torch.nn.init.zeros_(p)
state = loaded(module, optimizer, folder, step=0, names=[],
               pair=[torch.zeros(3, dtype=torch.int64), {"x": 0.0}])
found = whole(module, optimizer)
leave([found, train(module, optimizer, 3, rank, size), state["step"], state["names"],
       state["pair"][0].tolist(), state["pair"][1]])
dist.destroy_process_group()
"""

#: what one process does with a checkpoint, PyTorch's too
ALONE = MODEL + """
import pickle, warnings
warnings.simplefilter("ignore")
module = model(5)
optimizer = optimizer_of(module)
if sys.argv[2] == "load":
    loaded(module, optimizer, sys.argv[1])
else:
    train(module, optimizer, 2, 0, 1)
    saved(module, optimizer, sys.argv[1], step=2)
params, states = whole(module, optimizer)
with open(sys.argv[3], "wb") as out:
    pickle.dump((params, states), out)
"""


def alone(folder: Path, what: str, checkpoint: Path, pytorch: bool = False) -> Any:
    """The state that one process without a process group saves or loads."""
    import pickle

    path = folder / "alone.py"
    path.write_text(script(folder, ALONE).read_text())
    through = [] if pytorch else ["-m", "lazyloom_torch"]
    out = folder / "state"
    subprocess.run(
        [sys.executable, *through, str(path), str(checkpoint), what, str(out)], check=True,
        timeout=60, capture_output=True)
    return pickle.loads(out.read_bytes())


def same(ours: Any, theirs: Any) -> None:
    """The same bits in the same nested dicts."""
    if isinstance(theirs, (dict, list, tuple)):
        assert len(ours) == len(theirs)
        for key in theirs if isinstance(theirs, dict) else range(len(theirs)):
            same(ours[key], theirs[key])
    else:
        np.testing.assert_array_equal(np.asarray(ours, theirs.dtype), theirs)


def test_it_is_loaded_by_any_number_of_processes(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    first, second = launch(script(tmp_path, SAVING), tmp_path, 2, str(checkpoint),
                           environment=SAME_BITS)
    then, losses, files = first
    assert files == [".metadata", "__0_0.distcp", "__1_0.distcp"]
    same(second[0], then)
    # each process writes its part of what is large
    assert min((checkpoint / f).stat().st_size for f in files[1:]) > 5000
    same(alone(tmp_path, "load", checkpoint), then)
    for processes in (2, 3):
        each = launch(script(tmp_path, LOADING), tmp_path, processes, str(checkpoint),
                      environment=SAME_BITS)
        for rank, (state, again, *rest) in enumerate(each):
            same(state, then)
            assert rest == [3, ["a", "b"], [0, 1, 2], {"x": 2.5}]
            if processes == 2:
                # training goes on as if nothing had happened, to the last bit
                assert again == (first, second)[rank][1]
    if importlib.util.find_spec("torch") is not None:
        same(alone(tmp_path, "load", checkpoint, pytorch=True), then)


@PYTORCH
def test_what_pytorch_saved_is_loaded(tmp_path: Path) -> None:
    """By one process; and by four, from two of PyTorch's."""
    checkpoint = tmp_path / "one"
    then = alone(tmp_path, "save", checkpoint, pytorch=True)
    same(alone(tmp_path, "load", checkpoint), then)
    checkpoint = tmp_path / "two"
    (then, _, _), _ = launch(
        script(tmp_path, SAVING), tmp_path, 2, str(checkpoint), pytorch=True)
    for state, *_ in launch(script(tmp_path, LOADING), tmp_path, 4, str(checkpoint)):
        same(state, then)


def test_a_process_that_is_killed_leaves_the_last_one(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    program = script(tmp_path, PROCESSES + """
import signal, pickle
from torch.distributed.checkpoint import FileSystemWriter
train(module, optimizer, 1, rank, size)
saved(module, optimizer, folder)
future = dcp.async_save({"model": get_model_state_dict(module)}, checkpoint_id=folder + "/async")
with open(folder + f"/state{rank}", "wb") as out:
    pickle.dump(whole(module, optimizer), out)
train(module, optimizer, 1, rank, size)
future.result()

write = FileSystemWriter._write_file
def dies(self, name, items, planner):
    found = write(self, name, items, planner)
    if rank == 1:
        with open(os.path.join(folder, name), "r+b") as out:
            out.truncate(100)
        os.kill(os.getpid(), signal.SIGKILL)
    return found

FileSystemWriter._write_file = dies
saved(module, optimizer, folder)
""")
    with pytest.raises(AssertionError, match=r"(?s)rank 1 \(process.*was killed by SIGKILL"):
        launch(program, tmp_path, 2, str(checkpoint))
    import pickle

    then = pickle.loads((checkpoint / "state0").read_bytes())
    assert (checkpoint / "__1_1.distcp").stat().st_size == 100  # of the one that did not end
    same(alone(tmp_path, "load", checkpoint), then)
    # another save takes its place, and what nothing names goes
    alone(tmp_path, "save", checkpoint)
    data = sorted(p.name for p in checkpoint.glob("*.distcp"))
    assert len(data) == 1
    # what was saved beside the program is the state of then, whatever was trained meanwhile
    program = script(tmp_path, PROCESSES + """
state = {"model": get_model_state_dict(module)}
dcp.load(state, checkpoint_id=folder + "/async")
leave({k: v.full_tensor().numpy() for k, v in state["model"].items()})
dist.destroy_process_group()
""")
    for found in launch(program, tmp_path, 2, str(checkpoint)):
        same(found, then[0])


def test_what_does_not_fit_is_an_error_in_all_processes(tmp_path: Path) -> None:
    program = script(tmp_path, MODEL + """
import pickle
from torch.distributed.checkpoint import CheckpointException, FileSystemWriter
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
folder = sys.argv[1]

def said(function):
    try:
        function()
    except CheckpointException as error:
        return [sorted(error.failures), str(error).splitlines()[-1][:70]]

dcp.save({"a": torch.arange(4.), "b": {"c": 1}}, checkpoint_id=folder)
found = [
    said(lambda: dcp.load({"z": torch.zeros(4)}, checkpoint_id=folder)),
    said(lambda: dcp.load({"a": torch.zeros(3)}, checkpoint_id=folder)),
    said(lambda: dcp.load({"a": torch.zeros(3 + rank)}, checkpoint_id=folder)),
    said(lambda: dcp.load({"a": torch.zeros(4)}, checkpoint_id=folder + "/none")),
    said(lambda: dcp.save({"a": torch.zeros(4)}, storage_writer=FileSystemWriter(
        folder, overwrite=False)))]
state = {"a": torch.zeros(4), "more": torch.ones(2)}
dcp.load(state, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
found.append([state["a"].tolist(), state["more"].tolist()])
if rank == 0:
    dcp_to_torch_save(folder, folder + ".pt")
    torch_save_to_dcp(folder + ".pt", folder + "2")
dist.barrier()
state = {"a": torch.zeros(4), "b": {"c": 0}}
dcp.load(state, checkpoint_id=folder + "2")
found.append([state["a"].tolist(), state["b"]])
leave(found)
dist.destroy_process_group()
""")
    for missing, shape, one, nothing, there, partly, turned in launch(
            program, tmp_path, 2, str(tmp_path / "checkpoint")):
        assert missing == [[0, 1], "RuntimeError: Missing key in checkpoint state_dict: z."]
        assert shape[0] == [0, 1] and "Size mismatch between saved torch.Size([4])" in shape[1]
        assert one[0] == [0]
        assert nothing[0] == [0, 1] and "FileNotFoundError" in nothing[1]
        assert there[0] == [0, 1] and "already exists" in there[1]
        assert partly == [[0, 1, 2, 3], [1, 1]]
        assert turned == [[0, 1, 2, 3], {"c": 1}]


@PYTORCH
def test_metadata_that_names_anything_else_is_not_read(tmp_path: Path) -> None:
    import pickle

    import lazyloom_torch.distributed.checkpoint as dcp

    class Evil:
        def __reduce__(self) -> Any:
            return print, ("run",)

    (tmp_path / ".metadata").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(pickle.UnpicklingError, match="builtins.print"):
        dcp.FileSystemReader(tmp_path).read_metadata()


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    import pickle

    import lazyloom_torch as torch
    import lazyloom_torch.distributed.checkpoint as dcp

    dcp.save({"weight": torch.ones(4)}, checkpoint_id=tmp_path)
    (data,) = tmp_path.glob("*.distcp")
    whole = data.read_bytes()
    data.write_bytes(whole[:len(whole) // 2])
    named = f"{data}, bytes 0 to .*, which have 'weight'"
    with pytest.raises(dcp.CheckpointException, match=named):
        dcp.load({"weight": torch.ones(4)}, checkpoint_id=tmp_path)
    metadata = tmp_path / ".metadata"
    metadata.write_bytes(metadata.read_bytes()[:-20])
    with pytest.raises(pickle.UnpicklingError, match=f"{metadata} is no metadata of a checkpoint"):
        dcp.FileSystemReader(tmp_path).read_metadata()
