"""ZeroRedundancyOptimizer and communication hooks, beside PyTorch's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.distributed.launches import launch, script
from tests.distributed.test_ddp import TRAINING, same

pytestmark = pytest.mark.slow

PROGRAM = TRAINING + """
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.optim import ZeroRedundancyOptimizer

def state_of(optimizer):
    state = optimizer.state_dict()
    return [sorted(state["state"]), [
        {k: np.asarray(v.tolist()) for k, v in s.items()} for s in state["state"].values()],
        {k: v for k, v in state["param_groups"][0].items() if k in ("lr", "betas", "params")}]

@record
def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    module = DDP(filled(model("mlp"), 0))
    optimizer = ZeroRedundancyOptimizer(module.parameters(), torch.optim.Adam, lr=.01)
    found["losses"] = [x.item() for x in train(module, rank, size, optimizer, 4)]
    optimizer.param_groups[0]["lr"] = .001
    try:
        optimizer.state_dict()
    except RuntimeError as error:
        found["too early"] = str(error)[:40]
    # every process has the state of its own parameters alone
    found["own"] = len(optimizer.optim.state)
    optimizer.consolidate_state_dict(to=1)
    if rank == 1:
        found["state"] = state_of(optimizer)
    whole = [optimizer.state_dict() if rank == 1 else None]
    dist.broadcast_object_list(whole, 1)
    # goes on from a state, with parameters divided again
    again = DDP(filled(model("mlp"), 3))
    again.load_state_dict(module.state_dict())
    other = ZeroRedundancyOptimizer(again.parameters(), torch.optim.Adam, lr=.5)
    other.load_state_dict(whole[0])
    found["more"] = [x.item() for x in train(again, rank, size, other, 3)]
    found["parameters"] = [p.detach().numpy() for p in again.parameters()]
    for name in ("allreduce_hook", "fp16_compress_hook"):
        module = DDP(filled(nn.Linear(3, 2), 1))
        module.register_comm_hook(None, getattr(default_hooks, name))
        module(torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))).sum().backward()
        found[name] = [p.grad.numpy() for p in module.parameters()]
    module = DDP(filled(nn.Linear(3, 2), 1))
    module.register_comm_hook(
        None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    module(torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))).sum().backward()
    found["wrapped"] = [p.grad.numpy() for p in module.parameters()]
    leave(found)
    dist.destroy_process_group()

main()
"""


def flat(found: object) -> list[object]:
    if isinstance(found, dict):
        return [x for k in sorted(found) for x in (k, *flat(found[k]))]
    if isinstance(found, (list, tuple)):
        return [x for v in found for x in flat(v)]
    return [found]


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_it_is_pytorchs(tmp_path: Path) -> None:
    program = script(tmp_path, PROGRAM)
    theirs = launch(program, tmp_path, pytorch=True)
    ours = launch(program, tmp_path)
    for rank in range(2):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, value in theirs[rank].items():
            a, b = flat(ours[rank][name]), flat(value)
            assert len(a) == len(b), name
            for x, y in zip(a, b, strict=True):
                if isinstance(y, float):
                    assert x == pytest.approx(y, rel=2e-5), name
                else:
                    same(x, y, f"{name} on rank {rank}")
