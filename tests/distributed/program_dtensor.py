"""Functions of DTensors, in PyTorch and here: how results lie, parts, values and gradients."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from launches import leave
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)

dist.init_process_group("gloo")
size, rank = dist.get_world_size(), dist.get_rank()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
S0, S1, S2, S3, R, P = Shard(0), Shard(1), Shard(2), Shard(3), Replicate(), Partial()


def data(*shape, seed=0):
    made = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return torch.tensor(made.astype(np.float32))


def whole(*shape, seed=0, high=5):
    return torch.tensor(np.random.default_rng([seed, *shape]).integers(0, high, shape))


def put(x, placement):
    """A leaf that lies so."""
    if isinstance(placement, Partial):
        # terms that differ between the processes
        part = x * (rank + 1) / (size * (size + 1) / 2)
        made = DTensor.from_local(part, mesh, [placement])
    else:
        made = distribute_tensor(x, mesh, [placement], src_data_rank=None)
    return made.detach().requires_grad_() if made.is_floating_point() else made


x48, y48, x4 = data(4, 8), data(4, 8, seed=1), data(8)
x268 = data(2, 6, 8)
indices, words, features = whole(4, 6), data(6, 8, seed=5), data(4, 6, 8, seed=2)
heads = [data(2, 4, 6, 8, seed=i) for i in range(3)]

#: name: (function, tensors, placements)
CASES = {}


def case(name, function, tensors, *ways):
    for way in ways:
        CASES[f"{name} {' '.join(map(repr, way))}"] = (function, tensors, way)


pairs = [(S0, S0), (S0, R), (R, S1), (R, R), (S1, S1), (P, P), (S0, S1), (P, S0)]
case("add", lambda a, b: a + b, [x48, y48], *pairs, (P, R))
case("add row", lambda a, b: a + b, [x48, x4], (S0, R), (S1, S0), (S0, S0), (R, R))
case("mul", lambda a, b: a * b, [x48, y48], *pairs, (P, R))
case("mul number", lambda a: a * 2.5, [x48], (S0,), (P,), (R,))
case("div number", lambda a: a / 2.5, [x48], (S0,), (P,))
case("gt", lambda a, b: a > b, [x48, y48], (S0, S0), (R, S1))
case("where", lambda a, b: torch.where(a > 0, a, b), [x48, y48], (S0, S0))
for name in ("exp", "relu", "tanh", "neg", "sigmoid", "clone"):
    case(name, getattr(torch, name), [x48], (S0,), (S1,), (P,), (R,))
case("gelu", F.gelu, [x48], (S0,), (P,))
case("silu", F.silu, [x48], (S1,))
for name in ("sum", "mean", "amax", "prod"):
    function = getattr(torch, name)
    if name != "prod":
        case(name, function, [x48], (S0,), (S1,), (R,))
    case(f"{name} 1", lambda a, f=function: f(a, 1), [x48], (S0,), (S1,))
    case(f"{name} keep", lambda a, f=function: f(a, 0, keepdim=True), [x48], (S0,), (S1,))
case("sum of terms", torch.sum, [x48], (P,))
case("var", lambda a: a.var(1), [x48], (S0,), (S1,))
case("norm", torch.linalg.vector_norm, [x48], (S0,), (R,))
case("argmax", lambda a: a.argmax(1), [x48], (S0,))
case("softmax", lambda a: F.softmax(a, -1), [x48], (S0,), (S1,), (R,), (P,))
case("log_softmax", lambda a: a.log_softmax(-1), [x48], (S0,), (S1,))
case("cumsum", lambda a: a.cumsum(1), [x48], (S0,), (S1,))
case("sort", lambda a: a.sort(1)[0], [x48], (S0,), (S1,))
case("topk", lambda a: a.topk(2, 1)[0], [x48], (S0,))
case("mm", torch.mm, [x48, data(8, 6)], (S0, R), (R, S1), (S1, S0), (R, R), (S0, S0), (P, R))
case("matmul", torch.matmul, [x268, data(8, 6)], (S0, R), (S1, R), (S2, S0), (R, S1), (R, R))
case("bmm", torch.bmm, [x268, data(2, 8, 4)], (S0, S0), (S1, R), (S2, S1))
case("linear", F.linear, [x48, data(6, 8)], (S0, R), (R, S0), (S1, S1))
case("linear bias", F.linear, [x48, data(6, 8), data(6)], (S0, R, R), (R, S0, S0), (S1, S1, R))
case("linear 3d", F.linear, [x268, data(6, 8), data(6)], (S0, R, R), (R, S0, S0), (S2, S1, R),
     (S1, R, R))
case("addmm", torch.addmm, [data(6), x48, data(8, 6)], (R, S0, R), (S0, R, S1), (R, S1, S0))
case("einsum", lambda a, b: torch.einsum("bij,jk->bik", a, b), [x268, data(8, 6)], (S0, R),
     (S2, S0))
case("t", lambda a: a.t(), [x48], (S0,), (S1,), (P,))
case("transpose", lambda a: a.transpose(0, 2), [x268], (S0,), (S1,), (S2,))
case("permute", lambda a: a.permute(2, 0, 1), [x268], (S0,), (S1,))
case("unsqueeze", lambda a: a.unsqueeze(1), [x48], (S0,), (S1,))
case("squeeze", lambda a: a.unsqueeze(1).squeeze(1), [x48], (S0,), (S1,))
case("view", lambda a: a.view(4, 2, 4), [x48], (S0,), (S1,))
case("flatten", lambda a: a.flatten(), [x48], (S0,))
case("flatten 1", lambda a: a.flatten(1), [x268], (S0,), (S1,))
case("unflatten", lambda a: a.unflatten(1, (4, 2)), [x48], (S0,), (S1,))
case("reshape", lambda a: a.reshape(8, 4), [x48], (S0,))
case("expand", lambda a: a.unsqueeze(0).expand(3, -1, -1), [x48], (S0,), (S1,))
case("cat", lambda a, b: torch.cat([a, b]), [x48, y48], (S1, S1), (R, R))
case("cat 1", lambda a, b: torch.cat([a, b], 1), [x48, y48], (S0, S0))
case("stack", lambda a, b: torch.stack([a, b]), [x48, y48], (S0, S0), (S1, S1))
case("split", lambda a: a.split(4, 1)[1], [x48], (S0,))
case("chunk", lambda a: a.chunk(2, 1)[1], [x48], (S0,))
case("unbind", lambda a: a.unbind(0)[1], [x268], (S1,), (S2,))
case("select", lambda a: a[1], [x268], (S1,), (S2,))
case("slice", lambda a: a[:, 1:3], [x48], (S0,))
case("index_select", lambda a, i: a.index_select(1, i), [x48, whole(3)], (S0, R))
case("gather", lambda a, i: a.gather(1, i), [x48, whole(4, 2)], (S0, S0))
case("tril", lambda a: a.tril(), [x268], (S0,))
case("masked_fill", lambda a, b: a.masked_fill(b > 0, 0.0), [x48, y48], (S0, S0))
case("layer_norm", lambda a, w, b: F.layer_norm(a, (8,), w, b), [x268, x4, data(8, seed=3)],
     (S0, R, R), (S1, R, R), (R, R, R))
case("embedding", lambda i, w: F.embedding(i, w), [indices, words], (R, R), (S0, R),
     (R, S1), (R, S0))
case("attention", F.scaled_dot_product_attention, heads, (S0, S0, S0), (S1, S1, S1), (R, R, R))
case("cross_entropy", F.cross_entropy, [x48, whole(4)], (S0, S0), (R, R))
case("cross_entropy sum", lambda a, t: F.cross_entropy(a, t, reduction="sum"), [x48, whole(4)],
     (S0, S0))
case("mse", F.mse_loss, [x48, y48], (S0, S0), (S1, S1))
case("zeros_like", torch.zeros_like, [x48], (S0,), (P,), (R,))
case("half", lambda a: a.to(torch.float64), [x48], (S0,), (P,))
# parts of several sizes, and empty ones
u, v = data(5, 7), data(1, 7)
case("uneven add", lambda a, b: a + b, [u, data(5, 7, seed=1)], (S0, S0), (S1, R))
case("uneven sum", torch.sum, [u], (S0,), (S1,))
case("uneven mean", torch.mean, [u], (S0,))
case("uneven linear", F.linear, [u, data(3, 7), data(3)], (S0, R, R), (R, S0, S0), (S1, S1, R))
case("uneven t", lambda a: a.t(), [u], (S0,), (S1,))
case("one row", lambda a: a * 2, [v], (S0,))


def everywhere(x):
    """The whole tensor; unlike full_tensor() it leaves it to the read to run what is pending."""
    return x.redistribute(placements=[R]).to_local().detach()


def result(function, tensors, way, valued):
    given = [put(x, p) for x, p in zip(tensors, way, strict=True)]
    made = function(*given)
    found = {"placements": str(made.placements[0]), "local": tuple(made.to_local().shape),
             "shape": tuple(made.shape)}
    if not valued:
        return found, {}
    values = {"value": everywhere(made)}
    leaves = [g for g in given if g.requires_grad]
    if made.requires_grad:
        weights = distribute_tensor(data(*made.shape, seed=9), mesh, [R], src_data_rank=None)
        (made * weights).sum().backward()
        found["lie"] = [None if g.grad is None else str(g.grad.placements[0]) for g in leaves]
        values.update({f"grad {i}": everywhere(g.grad) for i, g in enumerate(leaves)
                       if g.grad is not None})
    return found, values


everything = {}
pending = []
#: of every third case, and of all with parts of several sizes, values are compared, too
VALUED = {n for i, n in enumerate(CASES) if i % 3 == 0 or n.startswith(("uneven", "one row"))}
every = int(sys.argv[1])
CASES = {n: c for n, c in CASES.items() if every == 1 or n in VALUED}


def read():
    """The values of some cases: one program, or few."""
    if not pending:
        return
    flat = torch.cat([v.reshape(-1).double() for _, values in pending for v in values.values()])
    numbers, at = flat.numpy(), 0
    for found, values in pending:
        for name, v in values.items():
            found[name] = numbers[at : at + v.numel()].reshape(tuple(v.shape))
            at += v.numel()
    pending.clear()


for name, (function, tensors, way) in CASES.items():
    try:
        made = result(function, tensors, way, name in VALUED)
    except Exception as error:
        everything[name] = {"error": f"{type(error).__name__}: {error}"}
        continue
    everything[name] = made[0]
    if made[1]:
        pending.append(made)
    if len(pending) == 16:
        read()
read()
leave(everything)
dist.barrier()
dist.destroy_process_group()
