"""DistributedDataParallel: losses of one process with the whole batch, one program a step."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.launches import launch, script

pytestmark = pytest.mark.slow

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

#: models and steps, in one process with the whole batch and in several with a part each
TRAINING = """
import contextlib, os
draw = np.random.RandomState(0)
X = draw.randn(32, 1, 8, 8).astype("float32")
Y = draw.randint(0, 4, 32)

def model(kind):
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 4))
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.ReLU(),
                         nn.Flatten(), nn.Linear(128, 4))

def filled(module, seed):
    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.tensor(draw.randn(*p.shape).astype("float32") * .2))
    return module

def train(module, rank, size, optimizer, steps=20, end=lambda loss: None):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = module(torch.tensor(X[rank::size]))
        loss = nn.functional.cross_entropy(out, torch.tensor(Y[rank::size]))
        loss.backward()
        optimizer.step()
        end(loss)
        losses.append(loss.detach())
    return losses

def optimizer_of(module):
    return torch.optim.SGD(module.parameters(), lr=.1, momentum=.9)
"""


def test_losses_are_those_of_one_process_with_the_whole_batch(tmp_path: Path) -> None:
    program = script(tmp_path, TRAINING + """
import lazyloom
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

def trained(kind):
    # what the other processes begin with does not count
    module = DDP(filled(model(kind), rank))
    marks = []
    def end(loss):
        # a process reads its loss, the other reads nothing
        if rank == 0:
            loss.item()
        marks.append(dict(lazyloom.stats()))
    losses = train(module, rank, size, optimizer_of(module), end=end)
    total = torch.stack(losses)
    dist.all_reduce(total, dist.ReduceOp.AVG)
    steps = [b["executions"] - a["executions"] for a, b in zip(marks[2:], marks[3:])]
    programs = marks[-1]["programs_compiled"] + marks[-1]["programs_from_disk"] - (
        marks[2]["programs_compiled"] + marks[2]["programs_from_disk"])
    return [total.tolist(), [p.detach().numpy() for p in module.parameters()], steps, programs,
            list(module.state_dict())]

leave([trained("mlp"), trained("conv")])
dist.destroy_process_group()
""")
    found = launch(program, tmp_path)
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport lazyloom_torch as torch\nfrom lazyloom_torch import nn\n"
         + TRAINING, names)
    for number, kind in enumerate(("mlp", "conv")):
        alone = names["filled"](names["model"](kind), 0)
        losses = [x.item() for x in names["train"](alone, 0, 1, names["optimizer_of"](alone))]
        firsts = found[0][number][1]
        for total, parameters, steps, programs, keys in (each[number] for each in found):
            np.testing.assert_allclose(total, losses, rtol=1e-5)
            assert steps == [1] * 17 and programs == 0
            assert keys == [f"module.{k}" for k in alone.state_dict()]
            for ours, theirs, first in zip(parameters, alone.parameters(), firsts, strict=True):
                np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-4, atol=1e-6)
                np.testing.assert_array_equal(ours, first)


#: what PyTorch's DDP does with the same program
SEMANTICS = TRAINING + """
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
found = {}

def grads(module):
    return [None if p.grad is None else p.grad.numpy().round(5) for p in module.parameters()]

def said(function):
    try:
        function()
    except (RuntimeError, ValueError) as error:
        return type(error).__mro__[-3].__name__, str(error)[:60]
    return None

x = torch.tensor(X[:2].reshape(2, 64)[:, :3] * (rank + 1))

# gradients: averaged, accumulated without and then with an average
module = DDP(filled(nn.Linear(3, 2), 1))
module(x).sum().backward()
found["averaged"] = grads(module)
module.zero_grad()
with module.no_sync():
    module(x).sum().backward()
found["own"] = grads(module)
(module(x) * 2).sum().backward()
found["accumulated"] = grads(module)
(module(x) * 3).sum().backward()
found["on top"] = grads(module)
module(x)
module(x).sum().backward()
found["after a pass without gradients"] = grads(module)

# hooks see a process's own gradient
module = DDP(filled(nn.Linear(3, 2), 1))
seen = []
module.module.weight.register_hook(lambda g: seen.append(g.numpy().round(5).copy()))
module(x).sum().backward()
found["seen"] = seen

# buffers of rank 0, at the beginning and at each forward pass
norm = nn.BatchNorm1d(3)
norm.running_mean += rank + 1
ddp = DDP(norm)
found["buffers at the beginning"] = norm.running_mean.numpy().round(5).copy()
for _ in range(2):
    ddp(x).sum().backward()
found["buffers"] = [b.numpy().round(5).copy() for b in norm.buffers()]
ddp.eval()
with torch.no_grad():
    found["evaluated"] = ddp(x).numpy().round(4)
found["buffers afterwards"] = [b.numpy().round(5).copy() for b in norm.buffers()]

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x, which):
        return sum(getattr(self, name)(x) for name in which)

# parameters that are not used: by nobody, by one process
module = DDP(filled(Branches(), 2), find_unused_parameters=True)
module(x, "a" if rank else "ab").sum().backward()
found["unused"] = grads(module)
module(x, "a").sum().backward()
found["unused again"] = grads(module)
module = DDP(filled(Branches(), 2), static_graph=True)
for _ in range(2):
    module(x, "ac").sum().backward()
found["static"] = grads(module)
module = DDP(filled(Branches(), 2))
module(x, "ab").sum().backward()
found["not finished"] = said(lambda: module(x, "ab"))

# frozen parameters, several outputs, a hook in place of the average
frozen = filled(Branches(), 3)
frozen.b.requires_grad_(False)
module = DDP(frozen)
module(x, "abc").sum().backward()
found["frozen"] = grads(module)
module = DDP(filled(nn.Linear(3, 2), 1))
def hook(state, bucket):
    made = torch.futures.Future()
    made.set_result(bucket.buffer() * 0 + state)
    return made
module.register_comm_hook(5.0, hook)
module(x).sum().backward()
found["hooked"] = grads(module)

# what does not fit
found["no parameters"] = said(lambda: DDP(nn.ReLU()))
found["devices"] = said(lambda: DDP(nn.Linear(2, 2), device_ids=[0]))
if "torch.distributed" in sys.modules and rank < 2:
    found["other models"] = said(lambda: DDP(nn.Linear(2 + rank, 2)))[0]
leave(found)
dist.destroy_process_group()
"""


def same(ours: Any, theirs: Any, name: str) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), name
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, name)
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5, err_msg=name)
    else:
        assert ours == theirs, name


@PYTORCH
def test_gradients_buffers_and_errors_are_pytorchs(tmp_path: Path) -> None:
    program = script(tmp_path, SEMANTICS)
    theirs = launch(program, tmp_path, pytorch=True)
    ours = launch(program, tmp_path)
    for rank in range(2):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, value in theirs[rank].items():
            same(ours[rank][name], value, f"{name} on rank {rank}")


def test_a_step_without_an_optimizer_and_several_models(tmp_path: Path) -> None:
    """Where no optimizer follows, the next step and the end hand over what is left."""
    program = script(tmp_path, TRAINING + """
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
module = DDP(filled(model("mlp"), 0))
for _ in range(3):
    loss = nn.functional.cross_entropy(module(torch.tensor(X[rank::size])),
                                       torch.tensor(Y[rank::size]))
    module.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in module.parameters():
            p -= .1 * p.grad
    if rank == 0:
        print(loss.item())
# two models, each with an optimizer; one process looks at gradients in between
ones, twos = DDP(filled(model("mlp"), 1)), DDP(filled(model("mlp"), 2))
steps = [optimizer_of(m) for m in (ones, twos)]
x = torch.tensor(X[rank::size])
(ones(x).sum() + (twos(x) ** 2).sum()).backward()
if rank == 1:
    print(float(next(ones.parameters()).grad.sum()))
for step in steps:
    step.step()
if rank == 0:
    leave([p.detach().numpy() for m in (module, ones, twos) for p in m.parameters()])
dist.destroy_process_group()
if rank == 1:
    leave([p.detach().numpy() for m in (module, ones, twos) for p in m.parameters()])
""")
    first, second = launch(program, tmp_path)
    for a, b in zip(first, second, strict=True):
        # the processes read at other places, so their programs round in other places
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_one_process_needs_no_other(tmp_path: Path) -> None:
    program = script(tmp_path, TRAINING + """
dist.init_process_group("gloo")
module = DDP(filled(model("mlp"), 0))
losses = train(module, 0, 1, optimizer_of(module), steps=3)
x = torch.ones(2)
work = dist.all_reduce(x, async_op=True)
assert work.wait() and work.is_completed()
rows = [torch.zeros(2)]
dist.all_gather(rows, x)
dist.barrier()
leave([[x.item() for x in losses], rows[0].tolist()])
dist.destroy_process_group()
assert not dist.is_initialized()
dist.init_process_group("gloo")
dist.destroy_process_group()
""")
    ((losses, row),) = launch(program, tmp_path, 1)
    assert losses[0] > losses[1] > losses[2] and row == [1, 1]


def test_a_process_that_is_killed_in_a_step_ends_the_launch(tmp_path: Path) -> None:
    program = script(tmp_path, TRAINING + """
import os, signal
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
module = DDP(filled(model("mlp"), 0))
done = [0]
def end(loss):
    loss.item()
    done[0] += 1
    if rank == 1 and done[0] == 5:
        os.kill(os.getpid(), signal.SIGKILL)
train(module, rank, size, optimizer_of(module), steps=1000, end=end)
""")
    begun = time.monotonic()
    with pytest.raises(AssertionError) as failed:
        launch(program, tmp_path)
    said = str(failed.value)
    assert "rank 1 (process" in said and "was killed by SIGKILL (signal 9)" in said
    assert time.monotonic() - begun < 30


def test_moments_of_all_processes_together(tmp_path: Path) -> None:
    """SyncBatchNorm in two processes is BatchNorm of the whole batch, with its gradients."""
    text = """
def normed(kind, part):
    norm = kind(3)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1., 2., .5]))
    x = torch.tensor(data[part], requires_grad=True)
    if dist.is_initialized():
        ddp = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(norm)))
        norm = ddp.module[0]
        y = ddp(x)
    else:
        y = norm(x)
    (y * torch.tensor(weights[part])).sum().backward()
    return [t.detach().numpy() for t in (
        y, x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var)]

data = np.random.RandomState(0).randn(5, 3, 4).astype("float32") * 3 + 20
weights = np.random.RandomState(1).randn(5, 3, 4).astype("float32")
"""
    program = script(tmp_path, text + """
dist.init_process_group("gloo")
leave(normed(nn.BatchNorm1d, slice(0, 2) if dist.get_rank() == 0 else slice(2, 5)))
dist.destroy_process_group()
""")
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport lazyloom_torch as torch\nfrom lazyloom_torch import nn\n"
         "import lazyloom_torch.distributed as dist\n" + text, names)
    y, x, weight, bias, mean, variance = names["normed"](names["nn"].BatchNorm1d, slice(0, 5))
    for found, part in zip(launch(program, tmp_path), (slice(0, 2), slice(2, 5)), strict=True):
        # gradients of parameters are averages of the processes'
        for ours, whole in zip(found, (y[part], x[part], weight / 2, bias / 2, mean, variance),
                               strict=True):
            np.testing.assert_allclose(ours, whole, rtol=2e-4, atol=2e-5)


def test_compiled_functions_around_it_train_as_without(tmp_path: Path) -> None:
    program = script(tmp_path, TRAINING + """
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x, y = torch.tensor(X[rank::size]), torch.tensor(Y[rank::size])

def trained(compiles):
    module = DDP(filled(model("mlp"), 0))
    optimizer = optimizer_of(module)
    called = torch.compile(module) if compiles == "module" else module

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = torch.compile(step) if compiles == "step" else step
    losses = []
    for _ in range(8):
        losses.append(step(x, y))
        if rank == 0:
            losses[-1].item()
    dist.barrier()  # rank 0 has waited for steps that rank 1 has not read
    return [x.item() for x in losses], [p.detach().numpy() for p in module.parameters()]

leave([trained(compiles) for compiles in ("", "module", "step")])
dist.destroy_process_group()
""")
    for plain, *others in launch(program, tmp_path):
        for losses, parameters in others:
            np.testing.assert_allclose(losses, plain[0], rtol=1e-5)
            for ours, theirs in zip(parameters, plain[1], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
