"""PowerSGD, post-local SGD and averages of models, beside PyTorch over gloo."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.launches import launch, script
from tests.distributed.test_ddp import TRAINING, same

pytestmark = pytest.mark.slow

PROGRAM = TRAINING + """
import warnings
from collections import OrderedDict
from torch.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType, register_ddp_comm_hook)
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import (
    HierarchicalModelAverager)
from torch.distributed.optim import PostLocalSGDOptimizer

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
found = {}

def parameters(module):
    return [p.detach().numpy().copy() for p in module.parameters()]

def errors(function):
    try:
        function()
    except ValueError as error:
        return str(error)

def trained(hook, state, steps=5, wrapped=lambda o: o, kind="mlp"):
    module = DDP(filled(model(kind), 0))
    if hook is not None:
        module.register_comm_hook(state, hook)
    step = wrapped(torch.optim.SGD(module.parameters(), lr=.1))
    train(module, rank, size, step, steps)
    return parameters(module)

# every gradient is of full rank, so nothing is lost
state = power.PowerSGDState(
    None, matrix_approximation_rank=16, start_powerSGD_iter=2, min_compression_rate=.01,
    batch_tensors_with_same_shape=True)
found["of full rank"] = trained(power.powerSGD_hook, state, 4)
found["stats"] = [round(x, 4) for x in state.compression_stats()]
state = power.PowerSGDState(None, 1, 2, min_compression_rate=2)
trained(power.powerSGD_hook, state, 4)
found["stats of rank 1"] = [list(state.compression_stats()), state.iter]
try:
    power.PowerSGDState(None, start_powerSGD_iter=1)
except ValueError as error:
    found["too early"] = str(error)

alone = dist.new_subgroups(group_size=1)[0]
state = local.PostLocalSGDState(None, None, 2, post_local_gradient_allreduce=False)
periodic = lambda o: PostLocalSGDOptimizer(
    optim=o, averager=averagers.PeriodicModelAverager(period=2, warmup_steps=2))
found["averaged"] = trained(local.post_localSGD_hook, state, 6, periodic)
state = local.PostLocalSGDState(None, alone, 1)
nested = lambda o: PostLocalSGDOptimizer(optim=o, averager=HierarchicalModelAverager(
    OrderedDict([(2, 1), (4, size)]), warmup_steps=1))
found["hierarchical"] = trained(local.post_localSGD_hook, state, 7, nested)

step = periodic(torch.optim.SGD(filled(model("mlp"), 1).parameters(), lr=.1))
step.averager.step = 7
kept = step.state_dict()
other = periodic(torch.optim.SGD(filled(model("mlp"), 1).parameters(), lr=.5))
other.load_state_dict(kept)
found["devices"] = errors(lambda: DDP(nn.Linear(2, 2), device_ids=[0, 1]))[:55]
found["state"] = [kept["step"], other.averager.step, other.optim.param_groups[0]["lr"]]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    del kept["step"]
    other.load_state_dict(kept)
found["without"] = [str(said[-1].message)[:40], other.averager.step]

found["errors"] = [errors(f) for f in (
    lambda: averagers.PeriodicModelAverager(0), lambda: averagers.PeriodicModelAverager(2, -1),
    lambda: HierarchicalModelAverager({}), lambda: HierarchicalModelAverager({2: 1}))]
for kind in ("NOOP", "POWER_SGD"):
    module = DDP(filled(nn.Linear(3, 2), 1))
    register_ddp_comm_hook(DDPCommHookType[kind], module)
    module(torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))).sum().backward()
    found[kind] = [p.grad.numpy().round(2) for p in module.parameters()]
leave(found)
dist.destroy_process_group()
"""


@pytest.mark.thorough
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_hooks_and_averagers_are_pytorchs(tmp_path: Path) -> None:
    program = script(tmp_path, PROGRAM)
    theirs = launch(program, tmp_path, pytorch=True)
    ours = launch(program, tmp_path)
    for rank in range(2):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, value in theirs[rank].items():
            same(ours[rank][name], value, f"{name} on rank {rank}")


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_gradients_travel_as_bytes(tmp_path: Path) -> None:
    """As PyTorch's observers quantise each process's bucket; its own hooks know NCCL alone."""
    import torch
    from torch.ao.quantization import MinMaxObserver, PerChannelMinMaxObserver

    program = script(tmp_path, """
import lazyloom
from torch.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType, quantization_hooks, register_ddp_comm_hook)
dist.init_process_group("gloo")
rank = dist.get_rank()
seen, found = [], []

def of(hook):
    def called(state, bucket):
        seen.append(bucket.buffer().detach().clone())
        return hook(state, bucket)
    return called

x = torch.tensor(np.random.RandomState(rank).randn(4, 30).astype("float32"))
for kind in (quantization_hooks.quantization_pertensor_hook,
             quantization_hooks.quantization_perchannel_hook):
    module = DDP(nn.Linear(30, 40, bias=False))
    module.register_comm_hook(None, of(kind))
    (module(x) ** 2 * 3).sum().backward()
    sent = lazyloom.program_of(module.module.weight.grad.value).text().count("= all_gather")
    found.append([seen[-1].numpy(), module.module.weight.grad.reshape(-1).numpy(), sent])
register_ddp_comm_hook(DDPCommHookType.QUANTIZE_PER_TENSOR, DDP(nn.Linear(2, 2)))
leave(found)
dist.destroy_process_group()
""")
    each = launch(program, tmp_path)
    for way in (0, 1):
        expected = 0.0
        for found in each:
            x = torch.tensor(found[way][0])
            if way:
                x = torch.nn.functional.pad(x, (0, -len(x) % 512)).reshape(-1, 512)
            observer = PerChannelMinMaxObserver() if way else MinMaxObserver()
            observer(x)
            scale, zero = observer.calculate_qparams()
            codes = (torch.quantize_per_channel(x, scale, zero, 0, torch.quint8) if way else
                     torch.quantize_per_tensor(x, float(scale), int(zero), torch.quint8))
            expected = expected + codes.dequantize().reshape(-1)[:1200].numpy() / 2
        for _, mean, sent in (found[way] for found in each):
            np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-5)
            assert sent == 3


@pytest.mark.thorough
def test_what_is_lost_is_added_to_the_next_gradient(tmp_path: Path) -> None:
    """Gradients of rank one lose nothing; of others the sum of many passes loses little."""
    program = script(tmp_path, TRAINING + """
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

def trained(hook, state):
    module = DDP(filled(model("mlp"), 0))
    if hook is not None:
        module.register_comm_hook(state, hook)
    train(module, rank, size, torch.optim.SGD(module.parameters(), lr=.1), 4)
    return [p.detach().numpy() for p in module.parameters()]

def total(rows, hook, rank_of, passes):
    module = DDP(nn.Linear(16, 16, bias=False))
    module.register_comm_hook(power.PowerSGDState(None, rank_of, 2, orthogonalization_epsilon=1e-8),
                              hook)
    inputs = torch.tensor(X[rank * rows : (rank + 1) * rows].reshape(rows, 64)[:, :16])
    weights = torch.tensor(X[:rows].reshape(rows, 64)[:, 16:32])
    found = torch.zeros(16, 16)
    for _ in range(passes):
        module.zero_grad()
        (module(inputs) * weights).sum().backward()
        found += module.module.weight.grad
    mean = (weights.T @ inputs).contiguous()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    return [(found / passes).numpy(), mean.numpy(), module.module.weight.grad.numpy()]

leave([total(1, power.powerSGD_hook, 2, 4), total(8, power.powerSGD_hook, 1, 60),
       total(8, power.batched_powerSGD_hook, 1, 60),
       trained(None, None), trained(power.batched_powerSGD_hook, power.PowerSGDState(None, 34, 2))])
dist.destroy_process_group()
""")
    # PyTorch 2.13's own batched_powerSGD_hook fails at an assertion
    for exact, layered, batched, plain, full in launch(program, tmp_path):
        for a, b in zip(full, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(exact[2], exact[1], rtol=1e-3, atol=1e-4)
        for mean, right, last in (layered, batched):
            scale = np.abs(right).max()
            assert np.abs(last - right).max() > 0.01 * scale  # each pass loses something
            np.testing.assert_allclose(mean, right, atol=0.25 * scale)
