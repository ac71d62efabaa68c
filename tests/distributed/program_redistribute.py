"""From every placement on a mesh of two dimensions to every other one: values and gradients."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import torch
import torch.distributed as dist
from launches import leave
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor._utils import compute_local_shape
from torch.distributed.tensor.placement_types import _StridedShard

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2))
torch.manual_seed(0)
R = Replicate()
WHOLE = [R, R]
wrong = []


def whole(x):
    return x.redistribute(placements=WHOLE).to_local()


for shape, every in (((5, 7), 3), ((1, 3), 5)):
    x, w = torch.randn(shape), torch.randn(shape)
    weights = distribute_tensor(w, mesh, WHOLE, src_data_rank=None)
    differences, names, number = [], [], 0
    for at in itertools.product((R, Shard(0), Shard(1), Partial()), repeat=2):
        local = distribute_tensor(x, mesh, [R if p.is_partial() else p for p in at],
                                  src_data_rank=None).to_local()
        for i, p in enumerate(at):
            if p.is_partial():
                local = local * (mesh.get_local_rank(i) + 1) / 3
        given = DTensor.from_local(local, mesh, at, shape=x.shape, stride=x.stride())
        given = given.detach().requires_grad_()
        for to in itertools.product((R, Shard(0), Shard(1)), repeat=2):
            number += 1
            if number % every:
                continue
            given.grad = None
            made = given.redistribute(placements=to)
            part = compute_local_shape(x.shape, mesh, to)
            if made.placements != to or tuple(made.to_local().shape) != tuple(part):
                wrong.append((shape, at, to, made.placements, made.to_local().shape))
            (made * weights).sum().backward()
            names.append((shape, at, to))
            differences.append((whole(made).detach() - x).abs().max()
                               + (whole(given.grad) - w).abs().max())
    found = torch.stack(differences).tolist()
    wrong += [(n, e) for n, e in zip(names, found, strict=True) if not e < 1e-5]

# the first dimension of the mesh divides what the second one has divided
x = torch.arange(26.0).reshape(13, 2)
late = [_StridedShard(0, split_factor=2), Shard(0)]
part = torch.chunk(torch.chunk(x, 2)[mesh.get_local_rank(1)], 2)[mesh.get_local_rank(0)]
made = distribute_tensor(x, mesh, late, src_data_rank=None)
if not torch.equal(made.to_local(), part) or (made * 2).placements != tuple(late):
    wrong.append("late parts")
if not torch.equal((made + made).full_tensor(), 2 * x):
    wrong.append("sums of late parts")
leave(wrong)
dist.barrier()
dist.destroy_process_group()
