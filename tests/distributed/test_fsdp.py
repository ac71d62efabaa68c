"""fully_shard and FullyShardedDataParallel: losses of one process, one program a step."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.launches import launch, script
from tests.distributed.test_ddp import same

pytestmark = pytest.mark.slow

PYTORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

#: models, and steps with a part of the batch in each process
TRAINING = """
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, width=16, inner=37):
        super().__init__()
        self.before, self.middle = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = [y.view(b, t, 2, d // 2).transpose(1, 2)
                   for y in self.heads(self.before(x)).chunk(3, -1)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.middle(x))))

def model(kind):
    torch.manual_seed(0)
    if kind == "transformer":
        return nn.Sequential(Block(), nn.Flatten(1), nn.Linear(64, 5))
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
        nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
        nn.Flatten(), nn.Linear(128, 8))

draw = np.random.RandomState(0)
BATCH = {"transformer": draw.randn(24, 4, 16).astype("float32"),
         "convolutions": draw.randn(24, 1, 8, 8).astype("float32")}
LABELS = draw.randint(0, 5, 24)

def train(module, kind, rank, size, optimizer, steps=20, end=lambda loss: None):
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(module(torch.tensor(BATCH[kind][rank::size])),
                               torch.tensor(LABELS[rank::size]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        end(loss)
        losses.append(loss.detach())
    return losses

def optimizer_of(module):
    return torch.optim.AdamW(module.parameters(), lr=2e-3)
"""

SHARDED = TRAINING + """
import lazyloom
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

def trained(kind):
    module = nn.SyncBatchNorm.convert_sync_batchnorm(model(kind))
    whole = sum(p.nbytes for p in module.parameters())
    for layer in list(module)[:1 if kind == "transformer" else 2]:
        fully_shard(layer)
    fully_shard(module)
    own = sum(p.to_local().nbytes for p in module.parameters())
    optimizer = optimizer_of(module)
    marks, taken = [], []
    def end(loss):
        # a process reads its loss, the others read nothing
        if rank == 0:
            loss.item()
        marks.append(dict(lazyloom.stats()))
        taken.append(lazyloom.last_evaluation().bytes_in)
    losses = train(module, kind, rank, size, optimizer, end=end)
    total = torch.stack(losses)
    dist.all_reduce(total, dist.ReduceOp.AVG)
    steps = [b["executions"] - a["executions"] for a, b in zip(marks[2:], marks[3:])]
    programs = marks[-1]["programs_compiled"] + marks[-1]["programs_from_disk"] - (
        marks[2]["programs_compiled"] + marks[2]["programs_from_disk"])
    batch = BATCH[kind][rank::size].nbytes + LABELS[rank::size].nbytes
    return [total.tolist(), steps, programs, own / whole, (taken[-1] - batch) / (3 * whole)]

leave([trained(kind) for kind in KINDS])
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """Losses of one process with the whole batch."""
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport lazyloom_torch as torch\nfrom lazyloom_torch import nn\n"
         + TRAINING.replace("import torch.nn", "import lazyloom_torch.nn"), names)
    found = {}
    for kind in ("transformer", "convolutions"):
        module = names["model"](kind)
        losses = names["train"](module, kind, 0, 1, names["optimizer_of"](module))
        found[kind] = [x.item() for x in losses]
    return found


@pytest.mark.parametrize("processes, kinds", [
    (2, ("transformer", "convolutions")),
    pytest.param(4, ("convolutions",), marks=pytest.mark.thorough)])
def test_losses_are_those_of_one_process_with_the_whole_batch(
    processes: int, kinds: tuple[str, ...], alone: dict[str, Any], tmp_path: Path
) -> None:
    program = script(tmp_path, f"KINDS = {kinds}\n" + SHARDED)
    for each in launch(program, tmp_path, processes):
        for kind, (losses, steps, programs, own, taken) in zip(kinds, each, strict=True):
            np.testing.assert_allclose(losses, alone[kind], rtol=1e-5)
            assert steps == [1] * 17 and programs == 0
            # a part of the parameters, and of the optimizer's two moments of each; rows are whole
            assert own < 1.05 / processes and taken < 1.05 / processes + .02


#: what PyTorch's fully_shard does with the same program
SEMANTICS = """
import copy
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing, checkpoint_wrapper)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method)
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
found = {}

def filled(module, seed):
    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.tensor(draw.randn(*p.shape).astype("float32") * .2))
    return module

def said(function):
    try:
        function()
    except Exception as error:
        return type(error).__name__, str(error)[:50]

def grads(module):
    return [None if p.grad is None else p.grad.to_local().float().numpy().round(5)
            for p in module.parameters()]

def full(module):
    return [p.full_tensor().detach().numpy().round(4) for p in module.parameters()]

def net(seed=1):
    return filled(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)), seed)

x = torch.tensor(np.random.RandomState(9).randn(2, 3).astype("float32") * (rank + 1))
mesh = init_device_mesh("cpu", (size,))
module = net()
inner = fully_shard(module[0], mesh=mesh)
fully_shard(module, mesh=mesh)
found["in place"] = [inner is module[0], isinstance(module, FSDPModule), type(module).__name__,
                     isinstance(module[1], FSDPModule), type(module[0:2]).__name__]
found["parameters"] = [
    (n, tuple(p.shape), tuple(p.to_local().shape), str(p.placements), isinstance(p, nn.Parameter),
     isinstance(p, DTensor), p.requires_grad) for n, p in module.named_parameters()]
found["parts"] = [p.to_local().detach().clone().numpy() for p in module.parameters()]

# gradients: averaged, kept without and then with an average
module(x).sum().backward()
found["averaged"] = grads(module)
found["gradients"] = [(type(p.grad).__name__, str(p.grad.placements)) for p in module.parameters()]
module.zero_grad()
module.set_requires_gradient_sync(False)
module(x).sum().backward()
found["kept"] = grads(module)
module.set_requires_gradient_sync(True)
(module(x) * 2).sum().backward()
found["accumulated"] = grads(module)
(module(x) * 3).sum().backward()
found["on top"] = grads(module)
module.zero_grad()

# whole parameters
module.unshard()
found["whole"] = [[(tuple(p.shape), isinstance(p, DTensor)) for p in module.parameters()],
                  module[2].weight.detach().clone().numpy().round(5)]
module.reshard()
found["parts again"] = [tuple(p.to_local().shape) for p in module[2].parameters()]
with torch.no_grad():
    found["evaluated"] = module(x).numpy().round(5)
found["afterwards"] = [isinstance(p, DTensor) for p in module[0].parameters()]

# dtypes
low, seen = net(2), []
low[0].register_forward_pre_hook(
    lambda m, args: seen.extend([str(args[0].dtype)[6:], str(m.weight.dtype)[6:]]))
fully_shard(low, mp_policy=MixedPrecisionPolicy(
    param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32))
y = low(x)
y.sum().backward()
found["dtypes"] = [seen, str(y.dtype)[6:],
                   [str(p.dtype)[6:] + str(p.grad.dtype)[6:] for p in low.parameters()]]
found["in bfloat16"] = [(g * 4).round() for g in grads(low)]

# parameters that are frozen, not used, in two places, divided elsewhere, left out
frozen = net(3)
frozen[0].weight.requires_grad_(False)
fully_shard(frozen)(x).sum().backward()
found["frozen"] = grads(frozen)

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return self.a(x)

unused = fully_shard(filled(Two(), 4))
unused(x).sum().backward()
found["unused"] = grads(unused)

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.o.weight = self.e.weight

    def forward(self, x):
        return self.o(self.e(x))

    def twice(self, x):
        return self.o(self.e(x)) * 2

tied = fully_shard(filled(Tied(), 5))
tied(torch.tensor([rank, 2])).sum().backward()
found["tied"] = [grads(tied), [n for n, _ in tied.named_parameters()],
                 tied.e.weight is tied.o.weight]
register_fsdp_forward_method(tied, "twice")
found["method"] = tied.twice(torch.tensor([1])).detach().numpy().round(5)
columns = filled(nn.Linear(4, 3), 6)
fully_shard(columns, shard_placement_fn=lambda p: Shard(1) if p.ndim == 2 else None)
columns(torch.cat([x, x[:, :1]], 1)).sum().backward()
found["columns"] = [[str(p.placements) for p in columns.parameters()], grads(columns)]
left = net(7)
fully_shard(left, ignored_params={left[2].weight})
found["left out"] = [isinstance(p, DTensor) for p in left.parameters()]

# computed again for gradients
again = [filled(nn.Sequential(net(), net()), 14) for _ in range(3)]
for i, m in enumerate(again):
    if i == 1:
        apply_activation_checkpointing(m, check_fn=lambda layer: isinstance(layer, nn.Tanh))
    fully_shard(m[0])
    fully_shard(m)
    (m if i < 2 else checkpoint_wrapper(m))(x).sum().backward()
found["again"] = [grads(m) for m in again]

# what does not fit
class Number(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(1.))

found["errors"] = [said(lambda: fully_shard(nn.ModuleList([nn.Linear(2, 2)]))),
                   said(lambda: fully_shard(Number())), said(lambda: fully_shard(module))[0],
                   said(lambda: copy.deepcopy(module))[0]]

# states
state = module.state_dict()
found["state"] = [(k, isinstance(v, DTensor)) for k, v in state.items()]
other = fully_shard(net(11))
found["loaded"] = [str(other.load_state_dict(state)), full(other)]
optimizer = torch.optim.AdamW(module.parameters(), lr=.1)
module(x).sum().backward()
norm = torch.nn.utils.clip_grad_norm_(module.parameters(), .1)
found["norm"] = np.asarray(norm.full_tensor().item()).round(4)
optimizer.step()
found["stepped"] = full(module)
found["optimizer"] = [(k, type(v).__name__, tuple(v.shape))
                      for k, v in optimizer.state_dict()["state"][0].items()]

# copies
if size == 4:
    copies = init_device_mesh("cpu", (2, 2), mesh_dim_names=("r", "s"))
    hybrid = fully_shard(net(12), mesh=copies)
    hybrid(x).sum().backward()
    found["hybrid"] = [[str(p.placements) for p in hybrid.parameters()], grads(hybrid)]
    hybrid.zero_grad()
    hybrid.set_requires_all_reduce(False)
    hybrid(x).sum().backward()
    found["hybrid, kept"] = grads(hybrid)
    hybrid.set_requires_all_reduce(True)
    hybrid(x).sum().backward()
    found["hybrid, accumulated"] = grads(hybrid)

    # divided among layers' processes, too
    both = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    layers = filled(nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 3)), 13)
    parallelize_module(layers, both["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(layers, mesh=both["dp"])
    optimizer = torch.optim.AdamW(layers.parameters(), lr=.1)
    for i in range(2):
        optimizer.zero_grad()
        layers(x * 0 + both["dp"].get_local_rank() + 1).sum().backward()
        optimizer.step()
    found["layers"] = [[str(p.placements) for p in layers.parameters()], grads(layers),
                       full(layers)]
leave(found)
dist.destroy_process_group()
"""


@PYTORCH
@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_it_is_pytorchs(processes: int, tmp_path: Path) -> None:
    program = script(tmp_path, SEMANTICS)
    theirs = launch(program, tmp_path, processes, pytorch=True)
    ours = launch(program, tmp_path, processes)
    for rank in range(processes):
        assert ours[rank].keys() == theirs[rank].keys()
        for name, value in theirs[rank].items():
            same(ours[rank][name], value, f"{name} on rank {rank}")


def test_the_wrapper_trains_as_one_process(tmp_path: Path) -> None:
    """FullyShardedDataParallel, in each strategy; PyTorch's has no processors."""
    program = script(tmp_path, TRAINING + """
import lazyloom
from torch.distributed.fsdp import (
    FullStateDictConfig, FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy,
    StateDictType)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy
import functools
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.tensor(BATCH["transformer"][rank::size])
y = torch.tensor(LABELS[rank::size])

def steps(module, clip, optimizer, parts):
    found = []
    for i in range(3):
        optimizer.zero_grad()
        for part, kept in zip(parts, parts.hold):
            with kept():
                F.cross_entropy(module(x[part]), y[part]).backward()
        norm = clip(.5)
        optimizer.step()
        found.append(norm.item())
    return found

class Parts(list):
    pass

def trained(strategy, resumes, **options):
    module = FSDP(model("transformer"), sharding_strategy=strategy, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=.1, momentum=.9)
    parts = Parts([slice(0, 6), slice(6, None)])
    import contextlib
    parts.hold = [module.no_sync, contextlib.nullcontext]
    norms = steps(module, module.clip_grad_norm_, optimizer, parts)
    with FSDP.state_dict_type(module, StateDictType.FULL_STATE_DICT,
                              FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
        state = module.state_dict()
    with FSDP.summon_full_params(module):
        whole = {n: p.detach().numpy().copy() for n, p in module.named_parameters()}
        with torch.no_grad():
            module.module[2].bias += 1
    with FSDP.state_dict_type(module, StateDictType.SHARDED_STATE_DICT):
        divided = module.state_dict()
    if not resumes:
        return [norms, sorted(state), whole, sorted(divided), type(divided["2.bias"]).__name__,
                len(FSDP.fsdp_modules(module))]
    momenta = FSDP.optim_state_dict(module, optimizer)
    momentum = momenta["state"]["2.bias"]["momentum_buffer"].numpy().copy()
    again = FSDP(model("transformer"), sharding_strategy=strategy, **options)
    with FSDP.state_dict_type(again, StateDictType.SHARDED_STATE_DICT):
        again.load_state_dict(divided)
    other = torch.optim.SGD(again.parameters(), lr=.1, momentum=.9)
    other.load_state_dict(FSDP.optim_state_dict_to_load(again, other, momenta))
    more = steps(module, module.clip_grad_norm_, optimizer, parts)
    parts.hold[0] = again.no_sync
    return [norms, sorted(state), whole, sorted(divided), type(divided["2.bias"]).__name__,
            len(FSDP.fsdp_modules(module)), more,
            steps(again, again.clip_grad_norm_, other, parts), momentum]

strategies = ShardingStrategy
found = [trained(strategies.FULL_SHARD, True, auto_wrap_policy=ModuleWrapPolicy({Block})),
         trained(strategies.NO_SHARD, False, use_orig_params=True, sync_module_states=True,
                 auto_wrap_policy=functools.partial(size_based_auto_wrap_policy,
                                                    min_num_params=2000))]
low = FSDP(model("convolutions"), auto_wrap_policy=ModuleWrapPolicy({nn.Conv2d}),
           mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16))
z = low(torch.tensor(BATCH["convolutions"][rank::size]))
z.float().sum().backward()
found.append([str(z.dtype), {str(p.grad.dtype) for p in low.parameters()}])
leave(found)
dist.destroy_process_group()
""")
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport lazyloom_torch as torch\nfrom lazyloom_torch import nn\n"
         + TRAINING.replace("import torch.nn", "import lazyloom_torch.nn"), names)
    torch, functional = names["torch"], names["F"]
    module = names["model"]("transformer")
    optimizer = torch.optim.SGD(module.parameters(), lr=.1, momentum=.9)
    norms = []
    for _ in range(3):
        optimizer.zero_grad()
        for part in (slice(0, 12), slice(12, None)):
            functional.cross_entropy(module(torch.tensor(names["BATCH"]["transformer"][part])),
                                     torch.tensor(names["LABELS"][part])).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(module.parameters(), .5).item())
        optimizer.step()
    for rank, each in enumerate(launch(program, tmp_path)):
        *strategies, low = each
        for found in strategies:
            ours, state, whole, divided, kind, count, *resumed = found
            np.testing.assert_allclose(ours, norms, rtol=1e-5)
            expected = dict(module.named_parameters())
            assert divided == sorted(expected) and list(whole) == list(expected)
            assert state == (sorted(expected) if rank == 0 else [])
            for name, p in expected.items():
                np.testing.assert_allclose(whole[name], p.detach().numpy(), rtol=1e-4, atol=1e-6)
            assert kind == "DTensor" and count == 2
            if resumed:
                # it went on from a state as if there had been no other
                more, again, momentum = resumed
                assert more == again
                np.testing.assert_allclose(
                    momentum, optimizer.state[module[2].bias]["momentum_buffer"].numpy(), rtol=1e-4)
        assert low == ["torch.bfloat16", {"torch.float32"}]


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.thorough)])
def test_whole_parameters_go_after_the_forward_pass(processes: int, tmp_path: Path) -> None:
    """They are gathered again, with the same losses and in less memory; a read changes nothing."""
    program = script(tmp_path, """
import lazyloom
import lazyloom.backends.xla.compiling as compiling
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.tensor(np.random.RandomState(rank).randn(4, 128).astype("float32"))
needed = []
measure = compiling._memory_needed
def memory_needed(executable, whole):
    stats = executable.get_compiled_memory_stats()
    needed.append(stats.temp_size_in_bytes)
    return measure(executable, whole)
compiling._memory_needed = memory_needed

class Again(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return checkpoint(self.inner, x)

def trained(reshards, reads=False, again=False):
    torch.manual_seed(0)
    module = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(5)])
    if again:
        module = nn.Sequential(*[Again(m) for m in module])
    for layer in module:
        fully_shard(layer, reshard_after_forward=reshards)
    fully_shard(module, reshard_after_forward=reshards)
    optimizer = torch.optim.SGD(module.parameters(), lr=.1)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (module(x) ** 2).mean()
        if reads:
            loss.item()
        loss.backward()
        gathers = lazyloom.program_of(*[p.grad.to_local() for p in module.parameters()])
        optimizer.step()
        found.append(loss.item())
    return found, gathers.text().count("= all_gather"), max(needed)

def fails():
    try:
        fully_shard(nn.Linear(3, 3), reshard_after_forward=3)
    except ValueError as error:
        return str(error)

found = [trained(False)]
needed.clear()
found += [trained(True), trained(True, reads=True), trained(2 if size == 4 else None, again=True)]
leave([fails(), *found])
dist.destroy_process_group()
""")
    for said, kept, freed, read, again in launch(program, tmp_path, processes):
        assert f"it should be a factor of {processes}" in said
        for losses, *_ in (freed, read, again):
            np.testing.assert_allclose(losses, kept[0], rtol=1e-6)
        # the first layer's input has no gradient: its weight is not taken again
        assert [kept[1], freed[1], read[1], again[1]] == [5, 9, 4, 10]
        assert freed[2] < .7 * kept[2]
