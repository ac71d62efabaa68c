"""What meshes of processes say, in PyTorch and here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import torch
import torch.distributed as dist
from launches import leave
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

dist.init_process_group("gloo")
rank = dist.get_rank()
found = {}


def say(name, function):
    try:
        made = function()
        found[name] = made.tolist() if isinstance(made, torch.Tensor) else made
    except Exception as error:
        found[name] = {c.__name__ for c in type(error).__mro__}


def ranks(group):
    return dist.get_process_group_ranks(group)


mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
plain = init_device_mesh("cpu", (4,))
say("shape", lambda: tuple(mesh.shape))
say("size", lambda: [mesh.size(), mesh.size(0), mesh.size(1), plain.size()])
say("ndim", lambda: [mesh.ndim, plain.ndim])
say("mesh", lambda: mesh.mesh)
say("dtype", lambda: str(mesh.mesh.dtype).split(".")[-1])
say("names", lambda: [mesh.mesh_dim_names, plain.mesh_dim_names])
say("type", lambda: mesh.device_type)
say("rank", lambda: [mesh.get_rank(), plain.get_local_rank(), mesh.get_local_rank("tp"),
                     mesh.get_local_rank(0)])
say("coordinate", lambda: list(mesh.get_coordinate()))
say("groups", lambda: [ranks(mesh.get_group("dp")), ranks(mesh.get_group(1)),
                       ranks(plain.get_group()), len(mesh.get_all_groups())])
for name in ("dp", "tp"):
    say(f"{name} mesh", lambda n=name: mesh[n].mesh)
    say(f"{name} local", lambda n=name: mesh[n].get_local_rank())
    say(f"{name} group", lambda n=name: ranks(mesh[n].get_group()))
    say(f"{name} names", lambda n=name: mesh[n].mesh_dim_names)
say("both", lambda: mesh["dp", "tp"].mesh)
say("equal", lambda: [mesh == mesh["dp", "tp"], mesh["dp"] == mesh["tp"], mesh == plain,
                      hash(mesh["tp"]) == hash(mesh["tp"])])
say("no local rank", lambda: mesh.get_local_rank())
say("no group", lambda: mesh.get_group())
say("no names", lambda: plain["tp"])
say("no such name", lambda: mesh["pp"])
say("names twice", lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")))
say("too few names", lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a",)))
say("index", lambda: init_device_mesh("cpu:0", (4,)))
flat = mesh._flatten("all")
say("flat", lambda: [flat.mesh.tolist(), flat.mesh_dim_names, flat.get_local_rank(),
                     mesh["all"].mesh.tolist(), ranks(flat.get_group())])
cube = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
say("cube", lambda: [cube["a", "c"].mesh.tolist(), cube["b"].mesh.tolist(),
                     cube["a", "b"].mesh.tolist(), cube["a", "c"].mesh_dim_names])
part = cube["a", "c"]._flatten("ac")
say("part", lambda: [part.mesh.tolist(), cube["ac"].mesh.tolist()])
some = DeviceMesh("cpu", [1, 3])
say("some", lambda: [some.mesh.tolist(), None if some.get_coordinate() is None
                     else list(some.get_coordinate())])
from_group = DeviceMesh.from_group(mesh.get_group("tp"), "cpu", mesh_dim_names=("x",))
say("from group", lambda: [from_group.mesh.tolist(), from_group.get_local_rank(),
                           from_group.mesh_dim_names, ranks(from_group.get_group())])
two = DeviceMesh.from_group([mesh.get_group("dp"), mesh.get_group("tp")], "cpu",
                            mesh=[[0, 1], [2, 3]], mesh_dim_names=("p", "q"))
say("from groups", lambda: [two.mesh.tolist(), ranks(two["q"].get_group())])
say("from no mesh", lambda: DeviceMesh.from_group([mesh.get_group("dp")], "cpu"))
say("entered", lambda: mesh.__enter__() is mesh)
leave(found)
dist.barrier()
dist.destroy_process_group()
