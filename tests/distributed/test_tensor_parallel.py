"""torch.distributed.tensor.parallel: divided modules compute what whole ones do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.distributed.launches import HERE, launch, script

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_a_divided_model_learns_what_a_whole_one_does(tmp_path: Path, processes: int) -> None:
    every = launch(HERE / "program_tensor_parallel.py", tmp_path, processes)
    for found in every:
        np.testing.assert_allclose(found["losses"], every[0]["wanted"], rtol=1e-5)
        assert found["losses"][-1] < found["losses"][0]
        assert set(found["runs"][2:]) == {1}  # forward, backward, update: one program
        assert found["dtensors"] and found["state"] == {"DTensor"}
        assert found["divided"]["blocks.0.up.weight"] == "S(0)"
        assert found["divided"]["blocks.0.attention.wo.weight"] == "S(1)"
        assert found["divided"]["blocks.0.attention.wo.bias"] == "R"
        assert found["parts"]["words.weight"] == (40 // processes, 16)


@pytest.mark.thorough
def test_every_optimizer_steps_as_on_whole_parameters(tmp_path: Path) -> None:
    program = script(tmp_path, """
import copy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
base, x = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 6)), torch.randn(5, 6)
far, names = [], []
for name in ("SGD", "Adam", "RMSprop", "Adagrad", "NAdam", "Adafactor", "LBFGS"):
    made = []
    for divided in (True, False):
        model = copy.deepcopy(base)
        if divided:
            parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01)

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - x).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        if name != "LBFGS":
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        optimizer.step(closure)
        made.append([p.redistribute(placements=[Replicate()]).to_local() if divided else p
                     for p in model.parameters()])
    names.append(name)
    far.append(torch.stack([(p - q).abs().max() for p, q in zip(*made)]).max())
leave(dict(zip(names, torch.stack(far).tolist())))
dist.barrier()
dist.destroy_process_group()
""")
    for found in launch(program, tmp_path):
        assert len(found) == 7
        assert {n: v for n, v in found.items() if not v < 1e-4} == {}


def test_wrong_plans_say_so(tmp_path: Path) -> None:
    program = script(tmp_path, """
import warnings
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_module
from torch.distributed.tensor import parallel
mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
said = []
for wrong in (
    lambda: parallel.parallelize_module(nn.Linear(2, 2), mesh, parallel.ColwiseParallel()),
    lambda: parallel.parallelize_module(nn.ReLU(), mesh["tp"], parallel.RowwiseParallel()),
    lambda: parallel.parallelize_module(nn.ReLU(), mesh["tp"], [1]),
    lambda: parallel.PrepareModuleInput(input_layouts=(Shard(0),)),
    lambda: parallel.PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=()),
    lambda: distribute_module(distribute_module(nn.Linear(2, 2), mesh["tp"]), mesh["tp"]),
):
    try:
        wrong()
        said.append(None)
    except Exception as error:
        said.append(type(error).__name__)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plan = {"no.such": parallel.RowwiseParallel()}
    parallel.parallelize_module(nn.Linear(2, 2), mesh["tp"], plan)
said.append(len(caught))
leave(said)
""")
    assert launch(program, tmp_path, 1) == [[
        "ValueError", "NotImplementedError", "TypeError", "AssertionError", "AssertionError",
        "RuntimeError", 1]]
