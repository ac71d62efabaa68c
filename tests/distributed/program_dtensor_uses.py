"""What programs do with DTensors, beside the same of whole tensors: True where both agree."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import torch
import torch.distributed as dist
import torch.nn.functional as F
from launches import leave
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    zeros,
)
from torch.distributed.tensor.experimental import implicit_replication, local_map
from torch.distributed.tensor.parallel import loss_parallel
from torch.utils.checkpoint import checkpoint

dist.init_process_group("gloo")
size, rank = dist.get_world_size(), dist.get_rank()
mesh = init_device_mesh("cpu", (size,))
R, S0, S1 = Replicate(), Shard(0), Shard(1)
torch.manual_seed(0)
x = torch.randn(5, 8)
d = distribute_tensor(x, mesh, [S0])
found = {}
differences = []


def case(function):
    """Note what a function says."""
    global now
    now = function.__name__
    try:
        found[now] = function()
    except Exception:
        found[now] = traceback.format_exc(limit=-4)
    if len(differences) > 12:
        read()


def same(given, wanted):
    """Note how far a DTensor is from a tensor; True, and what is read later says more."""
    assert isinstance(given, DTensor) and given.shape == wanted.shape
    with torch.no_grad():
        whole = given.redistribute(placements=[R]).to_local()
        differences.append((now, (whole - wanted).abs().double().max()))
    return True


def read():
    """Read how far all these are: one program, or few."""
    if not differences:
        return
    far = torch.stack([far for _, far in differences]).tolist()
    for (name, _), number in zip(differences, far, strict=True):
        if not number < 1e-5:
            found[name] = f"differs by {number}"
    differences.clear()


@case
def functions_without_a_rule():
    eye = torch.eye(5)
    return (same(torch.linalg.inv(d[:, :5] + 9 * distribute_tensor(eye, mesh, [R])),
                 torch.linalg.inv(x[:, :5] + 9 * eye))
            and same(torch.unique(d.round()), torch.unique(x.round()))
            and same(torch.fft.rfft(d).abs(), torch.fft.rfft(x).abs())
            and same((d > 0).nonzero().double(), (x > 0).nonzero().double()))


@case
def operators():
    return (same(1 / (2 - d) * d // 1 % 3, 1 / (2 - x) * x // 1 % 3)
            and same((-d).abs(), (-x).abs()) and same(d @ d.t(), x @ x.t())
            and same(2**d, 2**x) and same(d.T, x.T) and same(d.mT.mH, x)
            and same(torch.add(d, d, out=d.clone()), 2 * x))


@case
def writes():
    made = []
    for y, other in ((d.clone(), d), (x.clone(), x)):
        y.add_(1)
        y.mul_(other)
        y += other
        y[1] = 3
        y[:, 2] = 0
        y.clamp_(-1, 1)
        y.masked_fill_(y > 0.5, 0.0)
        y.copy_(y * 2)
        y[2:4] = other[0:2]
        y.t()[0].fill_(7.0)
        y.cumsum_(0)
        y.div_(3)
        made.append(y)
    return made[0].placements == (S0,) and same(*made)


@case
def random_numbers():
    def twice(one, other):
        torch.manual_seed(3)
        wanted = one()
        torch.manual_seed(3)
        return same(other(), wanted)

    return (twice(lambda: torch.rand(5, 8), lambda: rand(5, 8, device_mesh=mesh, placements=[S0]))
            and twice(lambda: F.dropout(x), lambda: F.dropout(d))
            and twice(lambda: torch.empty(5, 8).normal_(),
                      lambda: empty(5, 8, device_mesh=mesh, placements=[S1]).normal_())
            and twice(lambda: torch.randn_like(x), lambda: torch.randn_like(d))
            and twice(lambda: nn.init.xavier_uniform_(x.clone()),
                      lambda: nn.init.xavier_uniform_(d.clone())))


@case
def tensors_of_nothing():
    made = zeros(3, 5, device_mesh=mesh, placements=[S1])
    return (made.to_local().shape == torch.Size([3, 3 if rank == 0 else 2])
            and same(full((3,), 2.0, device_mesh=mesh, placements=[S0]), torch.full((3,), 2.0))
            and ones((2, 2), device_mesh=mesh).placements == (R,)
            and d.new_zeros(3).placements == (R,) and d.new_ones(5, 8).placements == (S0,))


@case
def tensors_beside():
    for wrong in (lambda: d + x, lambda: x + d, lambda: torch.matmul(d, x.t()),
                  lambda: d.add_(x)):
        try:
            wrong()
        except RuntimeError as error:
            assert "mixed torch.Tensor and DTensor" in str(error)
        else:
            return "no error"
    with implicit_replication():
        made = d + x
    return same(made, 2 * x) and same(d + torch.tensor(1.0), x + 1)


@case
def parameters_and_hooks():
    p, seen = nn.Parameter(d), []
    assert isinstance(p, nn.Parameter) and isinstance(p, DTensor) and p.requires_grad and p.is_leaf
    p.register_hook(lambda g: seen.append(type(g).__name__) or g * 2)
    p.register_post_accumulate_grad_hook(lambda q: seen.append(q is p))
    (p * p).sum().backward()
    return seen == ["DTensor", True] and same(p.grad, 4 * x)


@case
def gradients_of_gradients():
    p = d.detach().requires_grad_()
    (g,) = torch.autograd.grad((p**3).sum(), [p], create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), p)
    return isinstance(g, DTensor) and same(h, 6 * x)


@case
def means_and_extrema_of_parts():
    w = torch.randn(4, 8)
    for function in (torch.mean, torch.amax, torch.linalg.vector_norm):
        p = distribute_tensor(w, mesh, [S0]).requires_grad_()
        q = w.clone().requires_grad_()
        function(p).backward()
        function(q).backward()
        if not same(p.grad, q.grad):
            return function.__name__
    return True


@case
def modules():
    m = nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4))
    distribute_module(m, mesh)
    state = m.state_dict()
    assert all(isinstance(v, DTensor) for v in state.values())
    other = copy.deepcopy(m)
    for p in other.parameters():
        p.data.zero_()
    other.load_state_dict(state)
    assert same(other[0].weight, m[0].weight.full_tensor())
    m.double()
    assert m[0].weight.dtype == torch.float64 and isinstance(m[0].weight, DTensor)
    m.float()
    for p in m.parameters():
        nn.init.normal_(p)
    return isinstance(m(d), DTensor)


@case
def pickles():
    y = pickle.loads(pickle.dumps(d))
    file = io.BytesIO()
    torch.save({"a": d, "p": nn.Parameter(d)}, file)
    file.seek(0)
    z = torch.load(file, weights_only=False)
    return same(y, x) and same(z["a"], x) and isinstance(z["p"], nn.Parameter)


@case
def text():
    return (repr(d).startswith("DTensor(local_tensor=tensor(")
            and "placements=(Shard(dim=0),)" in repr(d)
            and str(nn.Parameter(d)).startswith("Parameter containing:\nDTensor("))


@case
def maps_of_parts():
    f = local_map(lambda a, b: a @ b, out_placements=[Partial()], in_placements=([S1], [S0]),
                  device_mesh=mesh)
    a = distribute_tensor(x, mesh, [S1])
    b = distribute_tensor(x.t().contiguous(), mesh, [S0])
    try:
        f(d, b)
    except ValueError as error:
        assert "mismatched placements" in str(error)
    return same(f(a, b), x @ x.t())


@case
def gradients_of_parts():
    p = distribute_tensor(x, mesh, [R]).requires_grad_()
    (p.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
    q = torch.randn(3, 8).requires_grad_()
    (DTensor.from_local(q, mesh, [S0]) * 2).sum().backward()
    return (same(p.grad, torch.full_like(x, sum(range(1, size + 1))))
            and torch.equal(q.grad, torch.full((3, 8), 2.0)))


@case
def values():
    return (abs(d.sum().item() - x.sum().item()) < 1e-4 and bool((d == d).all())
            and d.tolist() == x.tolist() and len(d) == 5
            and same(sum(row for row in d), x.sum(0)) and f"{d.sum():.3f}" == f"{x.sum():.3f}")


@case
def losses_of_divided_classes():
    logits, target = torch.randn(6, 10), torch.tensor([1, 2, -100, 9, 0, 5])
    a = distribute_tensor(logits, mesh, [S1]).requires_grad_()
    b = logits.clone().requires_grad_()
    with loss_parallel():
        loss = F.cross_entropy(a, distribute_tensor(target, mesh, [R]))
        loss.backward()
    wanted = F.cross_entropy(b, target)
    wanted.backward()
    return (loss.placements == (R,) and same(loss, wanted) and same(a.grad, b.grad)
            and a.grad.placements == (S1,))


@case
def embeddings_of_divided_words():
    words, indices = torch.randn(7, 4), torch.tensor([[0, 6], [3, 2]])
    a = distribute_tensor(words, mesh, [S0]).requires_grad_()
    b = words.clone().requires_grad_()
    y = F.embedding(distribute_tensor(indices, mesh, [R]), a, padding_idx=3)
    z = F.embedding(indices, b, padding_idx=3)
    (y * y).sum().backward()
    (z * z).sum().backward()
    return str(y.placements[0]) == "P(sum)" and same(y, z) and same(a.grad, b.grad)


@case
def a_mesh_elsewhere():
    other = DeviceMesh("cpu", [size - 1])
    y = distribute_tensor(x, other, [S0])
    z = (y * 2).sum(0)
    return y.to_local().numel() == (40 if rank == size - 1 else 0) and tuple(z.shape) == (8,)


@case
def convolutions():
    images, layer = torch.randn(4, 3, 8, 8), nn.Conv2d(3, 5, 3)
    wanted = F.max_pool2d(torch.relu(layer(images)), 2)
    distribute_module(layer, mesh)
    made = F.max_pool2d(torch.relu(layer(distribute_tensor(images, mesh, [S0]))), 2)
    return made.placements == (S0,) and same(made, wanted)


@case
def encoders_and_norms_of_batches():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    q = torch.randn(4, 5, 8)
    wanted = layer(q)
    distribute_module(layer, mesh)
    return same(layer(distribute_tensor(q, mesh, [S0])), wanted) and same(
        distribute_module(nn.BatchNorm1d(8), mesh)(d), nn.BatchNorm1d(8)(x))


@case
def computed_again():
    p = d.detach().requires_grad_()
    checkpoint(lambda a: (a * a).relu(), p, use_reentrant=False).sum().backward()
    return same(p.grad, 2 * x)


@case
def parts_that_are_empty():
    one = torch.ones(1, 6)
    product = distribute_tensor(torch.ones(6, 1), mesh, [S1]) @ distribute_tensor(one, mesh, [S0])
    return same(product, torch.ones(6, 6)) and same(
        distribute_tensor(torch.ones(1), mesh, [S0]).max(), torch.tensor(1.0))


@case
def rolls():
    y = torch.arange(8.0).view(2, 4)
    divided = distribute_tensor(y, mesh, [S0])
    return same(divided.roll(1), y.roll(1)) and same(divided.roll(1, 0), y.roll(1, 0))


@case
def any_of_bytes():
    y = torch.tensor([3, 1, 1, 1, 0], dtype=torch.uint8)
    return same(distribute_tensor(y, mesh, [S0]).any(), y.any())


@case
def shapes_in_place():
    try:
        distribute_tensor(x, mesh, [S0]).t_()
    except NotImplementedError as error:
        return "t_" in str(error)


@case
def casts():
    w = distribute_tensor(torch.randn(4, 8), mesh, [S0])
    with torch.autocast("cpu", torch.bfloat16):
        y = F.linear(distribute_tensor(x, mesh, [R]), w)
    return y.dtype == torch.bfloat16 and y.placements == (S1,)


@case
def gradients_of_ties():
    """Elements that tie share the gradient, however many of them a part has."""
    y = torch.tensor([[2.0, 1, -5, 0], [2, 5, 5, 0], [0, 5, 1, 0], [2, 4, float("nan"), 0],
                      [-5, 5, 5, 0]])
    functions = [
        lambda y: y.amax(0), lambda y: y[:, :2].min(), lambda y: y.amax((0, 1), keepdim=True),
        lambda y: torch.linalg.vector_norm(y[:, :2], float("inf"), 0),
        lambda y: torch.autograd.grad((y[:, :2] ** 2).amax(0).sum(), y, create_graph=True)[0] ** 2]
    for function in functions:
        grads = []
        for leaf in (distribute_tensor(y, mesh, [S0]), y.clone()):
            leaf.requires_grad_()
            function(leaf).sum().backward()
            grads.append(leaf.grad)
        same(*(torch.nan_to_num(grad, 77.0) for grad in grads))
    return distribute_tensor(y, mesh, [S0]).requires_grad_().amax(0).placements == (
        Partial("max"),)


@case
def derivatives_of_derivatives():
    """What is derived of a gradient that each process goes on with by itself is a term again."""
    grads = []
    for leaf in (distribute_tensor(x, mesh, [S1]), x.clone()):
        leaf.requires_grad_()
        y = (leaf @ leaf.T).square().sum() / 100 + leaf.sum(1).sin().sum()
        (g,) = torch.autograd.grad(y, leaf, create_graph=True)
        grads += torch.autograd.grad(g.square().sum() / 100, leaf)
    return same(*grads)


@case
def derivatives_of_derivatives_of_products():
    grads = []
    for leaf in (distribute_tensor(x, mesh, [S1]), x.clone()):
        leaf.requires_grad_()
        (g,) = torch.autograd.grad((leaf.prod(1) ** 2).sum(), leaf, create_graph=True)
        grads += torch.autograd.grad(g.square().sum(), leaf)
    return same(*(g / grads[1].abs().max() for g in grads))


read()
leave(found)
dist.barrier()
dist.destroy_process_group()
