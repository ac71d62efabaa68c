"""Join and built-in hooks beside PyTorch over gloo, and DDP's mixed precision."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.launches import launch, script
from tests.distributed.test_ddp import TRAINING, same

pytestmark = pytest.mark.slow

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

UNEVEN = TRAINING + """
from torch.distributed.algorithms.join import Join, Joinable, JoinHook

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
found = {}
batches = 2 + 2 * rank

def state(module):
    return [t.detach().float().numpy().round(5).copy() for t in module.state_dict().values()]

def trained(module, context, count=batches, accumulate=False):
    step = torch.optim.SGD(module.parameters(), lr=.1)
    with context(module):
        for n in range(count):
            step.zero_grad()
            x = torch.tensor(X[n * 4 + rank : n * 4 + 4].reshape(-1, 64)[:, :3])
            if accumulate and n % 2 == 0:
                with module.no_sync():
                    module(x).square().mean().backward()
            module(x).square().mean().backward()
            step.step()
    return state(module)

plain = lambda: DDP(filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), 1))
found["initial size"] = trained(plain(), lambda m: m.join())
found["effective size"] = trained(
    plain(), lambda m: m.join(divide_by_initial_world_size=False))
found["even"] = trained(plain(), lambda m: m.join(enable=False), 3)
found["one has none"] = trained(plain(), lambda m: m.join(), 3 * rank)
found["without sync"] = trained(plain(), lambda m: m.join(), accumulate=True)
normed = lambda: DDP(filled(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), 1))
found["buffers"] = trained(normed(), lambda m: m.join())

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return self.a(x) if rank == 0 else self.b(x)

found["unused"] = trained(DDP(filled(Two(), 2), find_unused_parameters=True), lambda m: m.join())
try:
    trained(plain(), lambda m: m.join(throw_on_early_termination=True))
except RuntimeError as error:
    found["thrown"] = str(error)

class Counted(JoinHook):
    def __init__(self, counter):
        self.counter = counter

    def main_hook(self):
        count = torch.zeros(1)
        dist.all_reduce(count)
        self.counter.seen.append(int(count.item()))

    def post_hook(self, is_last_joiner):
        self.counter.last = is_last_joiner

class Counter(Joinable):
    def __init__(self):
        super().__init__()
        self.seen, self.last = [], None

    def __call__(self):
        Join.notify_join_context(self)
        count = torch.ones(1)
        dist.all_reduce(count)
        self.seen.append(int(count.item()))

    def join_hook(self, **kwargs):
        self.kwargs = kwargs
        return Counted(self)

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD

counter = Counter()
with Join([counter], some=3):
    for _ in range(3 - rank):
        counter()
found["counter"] = [counter.seen, counter.last, counter.kwargs]

def said(function):
    try:
        function()
    except (ValueError, TypeError, RuntimeError) as error:
        return type(error).__name__, str(error)[:50]

found["no joinables"] = said(lambda: Join([]))
other = dist.new_group([0, 1])
second = Counter()
Counter.join_process_group = property(lambda self: other if self is second else dist.group.WORLD)
found["groups"] = said(lambda: Join([counter, second]))

# hooks by name
rounded = []
x = torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))
for kind in ("ALLREDUCE", "FP16_COMPRESS"):
    module = DDP(filled(nn.Linear(3, 2), 1))
    module._register_builtin_comm_hook(getattr(dist.BuiltinCommHookType, kind))
    module(x).sum().backward()
    rounded += [p.grad.numpy() for p in module.parameters()]
leave([found, rounded])
dist.destroy_process_group()
"""


@PYTORCH
def test_uneven_inputs_are_pytorchs(tmp_path: Path) -> None:
    program = script(tmp_path, UNEVEN)
    theirs = launch(program, tmp_path, pytorch=True)
    ours = launch(program, tmp_path)
    for rank in range(2):
        assert ours[rank][0].keys() == theirs[rank][0].keys()
        for name, value in theirs[rank][0].items():
            same(ours[rank][0][name], value, f"{name} on rank {rank}")
        for a, b in zip(ours[rank][1], theirs[rank][1], strict=True):
            np.testing.assert_allclose(a, b, rtol=0.02, atol=0.02)


def test_processes_with_other_numbers_of_batches_end_alike(tmp_path: Path) -> None:
    """Three processes, an optimizer in parts: all end with the parameters of the last."""
    program = script(tmp_path, TRAINING + """
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

def trained(zero, batches):
    module = DDP(filled(model("mlp"), 0))
    step = ZeroRedundancyOptimizer(module.parameters(), torch.optim.Adam, lr=.01) if zero else (
        torch.optim.Adam(module.parameters(), lr=.01))
    with Join([module, step] if zero else [module]):
        for n in range(batches):
            step.zero_grad()
            nn.functional.cross_entropy(
                module(torch.tensor(X[rank::size])), torch.tensor(Y[rank::size])).backward()
            step.step()
    return [p.detach().numpy() for p in module.parameters()]

leave([trained(True, 2 + rank), trained(False, 2 + rank), trained(False, 4)])
dist.destroy_process_group()
""")
    found = launch(program, tmp_path, 3)
    for zero, plain, _even in found:
        for a, first, b in zip(zero, found[0][0], plain, strict=True):
            np.testing.assert_array_equal(a, first)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    assert not np.allclose(found[0][1][0], found[0][2][0], rtol=1e-4)


def test_mixed_precision_computes_in_one_dtype_and_averages_in_another(tmp_path: Path) -> None:
    """PyTorch's needs a GPU's events."""
    program = script(tmp_path, TRAINING + """
from torch.nn.parallel.distributed import _MixedPrecision
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
seen = []

class Seen(nn.Linear):
    def forward(self, x, more):
        seen.append([str(x.dtype), str(self.weight.dtype), str(more["x"][0].dtype),
                     str(more["n"].dtype)])
        return super().forward(x) + more["x"][0]

module = filled(Seen(3, 2), 3)
module.register_buffer("scale", torch.ones(2))
again = filled(nn.Linear(3, 2), 3)
mixed = DDP(module, mixed_precision=_MixedPrecision(
    param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16))
step = torch.optim.SGD(mixed.parameters(), lr=.1)
x = torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))
for _ in range(2):
    step.zero_grad()
    out = mixed(x, more={"x": (torch.zeros(2),), "n": torch.arange(2)})
    out.float().square().mean().backward()
    step.step()
try:
    mixed.register_comm_hook(None, print)
except RuntimeError as error:
    said = str(error)
    steps = torch.optim.SGD(again.parameters(), lr=.1)
for _ in range(2):
    low = [p.detach().bfloat16().requires_grad_() for p in again.parameters()]
    nn.functional.linear(x.bfloat16(), *low).float().square().mean().backward()
    for p, q in zip(again.parameters(), low):
        p.grad = q.grad.float()
        dist.all_reduce(p.grad, dist.ReduceOp.AVG)
    steps.step()
dtypes = [str(t.dtype) for t in (out, module.scale, module.weight, module.weight.grad)]
leave([seen[0], dtypes, said, [p.detach().numpy() for p in module.parameters()],
       [p.detach().numpy() for p in again.parameters()]])
dist.destroy_process_group()
""")
    for seen, dtypes, said, parameters, expected in launch(program, tmp_path):
        low, full = "torch.bfloat16", "torch.float32"
        assert seen == [low, low, low, "torch.int64"] and dtypes == [low, low, full, full]
        assert "can only be called once" in said
        for a, b in zip(parameters, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
