"""Calls of torch.distributed, run by PyTorch and by the frontend; what they give is compared."""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as functional

sys.path.append(str(Path(__file__).parent))
from launches import leave  # noqa: E402

found: dict[str, Any] = {}


def plain(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        x = x.detach()
        return (str(x.dtype).rpartition(".")[2],
                (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).tolist())
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x


def note(name: str, function: Any) -> None:
    try:
        found[name] = plain(function())
    except (TypeError, ValueError, RuntimeError) as error:
        found[name] = {k.__name__ for k in type(error).__mro__}


def data(shape: tuple[int, ...], seed: int = 0, dtype: Any = torch.float32) -> Any:
    made = np.random.RandomState(seed + 100 * rank).randint(-4, 5, shape)
    return torch.tensor(made.tolist()).to(dtype)


def reduced(op: Any, dtype: Any, group: Any = None) -> Any:
    t = data((2, 3), 1, dtype)
    dist.all_reduce(t, op, group)
    return t


def gathered(t: Any, group: Any = None) -> Any:
    out = [torch.zeros_like(t) for _ in range(dist.get_world_size(group))]
    dist.all_gather(out, t, group)
    return out


def with_gradient(function: Any) -> Any:
    x = data((size, 2), 7).double().requires_grad_()
    y = function(x * 2)
    weights = torch.arange(1.0, 1 + y.numel(), dtype=torch.float64).reshape(y.shape)
    (y * weights * (rank + 1)).sum().backward()
    return y, x.grad


def collectives(group: Any, name: str) -> None:
    n, own = dist.get_world_size(group), dist.get_rank(group)
    ranks = dist.get_process_group_ranks(group)
    note(f"{name} ranks", lambda: [n, own, ranks, [dist.get_group_rank(group, r) for r in ranks]])
    # each is a program to compile: all of them in two processes
    dtypes = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8)
    for dtype in dtypes if size == 2 else (torch.float32,):
        for op in ("SUM", "PRODUCT", "MIN", "MAX") if name == "world" else ("MAX",):
            note(f"{name} {op} {dtype}", lambda op=op, dtype=dtype: reduced(
                getattr(dist.ReduceOp, op), dtype, group))
    for dtype in (torch.float16, torch.bfloat16, torch.complex64) if size == 2 else ():
        note(f"{name} SUM {dtype}", lambda dtype=dtype: reduced(dist.ReduceOp.SUM, dtype, group))
    for op in ("BAND", "BOR", "BXOR") if size == 2 else ("BXOR",):
        note(f"{name} {op}", lambda op=op: reduced(
            getattr(dist.ReduceOp, op), torch.int64, group))
        note(f"{name} {op} of floats", lambda op=op: reduced(
            getattr(dist.ReduceOp, op), torch.float32, group))
    note(f"{name} MAX of complex", lambda: reduced(dist.ReduceOp.MAX, torch.complex64, group))

    def strided() -> Any:
        whole = data((4, 6), 3)
        dist.all_reduce(whole[1:3], group=group)
        return whole

    note(f"{name} a part", strided)

    def of_leaf() -> Any:
        p = torch.nn.Parameter(data((3,), 2))
        with torch.no_grad():
            dist.broadcast(p, ranks[-1], group)
        (p * p).sum().backward()
        return p, p.grad

    note(f"{name} broadcast of a parameter", of_leaf)
    note(f"{name} all_gather", lambda: gathered(data((2,), 3), group))
    note(f"{name} all_gather of another size", lambda: dist.all_gather(
        [torch.zeros(3)] * n, torch.zeros(2), group))
    note(f"{name} all_gather of too few", lambda: dist.all_gather(
        [torch.zeros(2)] * (n + 1), torch.zeros(2), group))

    def into(shape: tuple[int, ...]) -> Any:
        out = torch.zeros(shape)
        dist.all_gather_into_tensor(out, data((2, 3), 4), group)
        return out

    note(f"{name} all_gather_into_tensor", lambda: into((2 * n, 3)))
    note(f"{name} all_gather_into_tensor of another size", lambda: into((n, 3)))

    def scattered(tensors: bool) -> Any:
        out = torch.zeros(2, 3)
        if tensors:
            dist.reduce_scatter(out, [data((2, 3), 10 + i) for i in range(n)], group=group)
        else:
            dist.reduce_scatter_tensor(out, data((2 * n, 3), 5), dist.ReduceOp.MAX, group=group)
        return out

    note(f"{name} reduce_scatter", lambda: scattered(True))
    note(f"{name} reduce_scatter_tensor", lambda: scattered(False))

    def single(uneven: bool) -> Any:
        if not uneven:
            out = torch.zeros(2 * n, 2)
            dist.all_to_all_single(out, data((2 * n, 2), 6), group=group)
            return out
        given = [1 + (own + to) % 3 for to in range(n)]
        come = [1 + (source + own) % 3 for source in range(n)]
        out = torch.zeros(sum(come), 2)
        dist.all_to_all_single(out, data((sum(given), 2), 6), come, given, group)
        return out

    note(f"{name} all_to_all_single", lambda: [single(False), single(True)])

    def rooted() -> Any:
        t = data((3,), 8)
        kept = t.clone()
        dist.reduce(t, ranks[1], group=group)
        out = [torch.zeros(3) for _ in range(n)] if own == 1 else None
        dist.gather(kept, out, ranks[1], group)
        got = torch.zeros(3)
        dist.scatter(got, [data((3,), 20 + i) for i in range(n)] if own == 0 else None,
                     ranks[0], group)
        return t if own == 1 else None, out, got

    note(f"{name} reduce, gather, scatter", rooted)
    note(f"{name} gather without a list", lambda: dist.gather(torch.zeros(1), None, ranks[own],
                                                              group))

    def later() -> Any:
        t = data((2,), 9)
        work = dist.all_reduce(t, group=group, async_op=True)
        waited = work.wait()
        return t, waited, work.is_completed()

    note(f"{name} async", later)
    objects: list[Any] = [None] * n
    dist.all_gather_object(objects, {"rank": rank, "more": "x" * rank}, group)
    listed: list[Any] = [rank, "a", {}] if own == 0 else [None] * 3
    dist.broadcast_object_list(listed, ranks[0], group)
    one: list[Any] = [None]
    dist.scatter_object_list(one, list(range(n)) if own == 0 else None, ranks[0], group)
    seen: list[Any] | None = [None] * n if own == 0 else None
    dist.gather_object(rank, seen, ranks[0], group)
    found[f"{name} objects"] = [objects, listed, one, seen]
    dist.barrier(group)
    dist.monitored_barrier(group)


dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
rank, size = dist.get_rank(), dist.get_world_size()
collectives(dist.group.WORLD, "world")
if size > 2:
    some = dist.new_group([2, 0])
    if rank != 1:
        collectives(some, "some")
    else:
        note("rank outside", lambda: [dist.get_rank(some), dist.get_world_size(some)])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            dist.all_reduce(torch.zeros(1), group=some)
        found["call from outside"] = [str(w.message) for w in said]

note("twice", lambda: dist.init_process_group("gloo"))
note("backend", lambda: [dist.get_backend(), str(dist.ReduceOp.SUM), dist.is_initialized()])
note("no rank", lambda: dist.new_group([0, size]))
note("no tensor", lambda: dist.all_reduce(3))
note("no root", lambda: dist.broadcast(torch.zeros(1), size))
note("to itself", lambda: dist.send(torch.zeros(1), rank))

# a ring, and several at once
right, left = (rank + 1) % size, (rank - 1) % size
got = torch.zeros(3)
for work in dist.batch_isend_irecv([
    dist.P2POp(dist.isend, data((3,), 30), right), dist.P2POp(dist.irecv, got, left)]):
    work.wait()
found["ring"] = plain(got)
if rank == 0:
    for tag in range(3):
        dist.send(torch.tensor([tag, 5]), 1, tag=tag)
    dist.send_object_list(["an object", 3], 1)
elif rank == 1:
    parts = [torch.zeros(2, dtype=torch.int64) for _ in range(3)]
    found["sources"] = [dist.recv(parts[tag], 0, tag=tag) for tag in range(3)]
    found["sent"] = plain(parts)
    objects = [None, None]
    dist.recv_object_list(objects, 0)
    found["sent objects"] = objects

# from any process: each sends two tensors, of which nobody says when they come
if rank == 0:
    came = []
    for n in range(2 * (size - 1)):
        got = torch.zeros(2, dtype=torch.int64)
        source = dist.recv(got) if n % 2 else None
        if source is None:
            work = dist.irecv(got)
            work.wait()
            source = work._source_rank() if hasattr(work, "_source_rank") else work.source_rank()
        came.append([source, got.tolist()])
    found["from any"] = sorted(came)
else:
    for n in range(2):
        dist.send(torch.tensor([rank, n]), 0)
dist.barrier()

# a store in a file
store = dist.FileStore(os.path.join(os.environ["LEAVE_IN"], "keys"), size)
store.set(f"key{rank}", f"of {rank}")
found["file"] = [store.get(f"key{(rank + 1) % size}"), store.check(["none"])]
store.add("sum", rank + 1)
store.set(f"added{rank}", "1")
store.wait([f"added{r}" for r in range(size)])
found["sum in a file"] = store.get("sum")
dist.barrier()
del store

for name in ("all_reduce", "broadcast", "all_gather", "all_to_all_single"):
    call = getattr(functional, name)
    note(f"gradient of {name}", lambda name=name, call=call: with_gradient({
        "all_reduce": call, "broadcast": lambda x: call(x, 1),
        "all_gather": lambda x: torch.cat(call(x)),
        "all_to_all_single": lambda x: call(torch.zeros_like(x), x)}[name]))
note("gradient of reduce_scatter", lambda: with_gradient(
    lambda x: functional.reduce_scatter(torch.zeros(2).double(), list(x.unbind()))))
note("gradient of all_to_all", lambda: with_gradient(lambda x: torch.stack(functional.all_to_all(
    [torch.zeros(2).double() for _ in range(size)], list(x.unbind())))))
note("gradient of gather", lambda: with_gradient(lambda x: torch.stack(functional.gather(x, 0))))
note("gradient of scatter", lambda: with_gradient(
    lambda x: functional.scatter(list(x.unbind()), 1)))

leave(found)
dist.destroy_process_group()
assert not dist.is_initialized()
