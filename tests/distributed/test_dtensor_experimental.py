"""Other meshes, rules of one's own, and attention over sequences that are divided."""

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

RULES = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import register_sharding
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
whole = torch.tensor(np.random.RandomState(0).randn(6, 4).astype("float32"))
calls = []

@torch.library.custom_op("ours::twice", mutates_args=())
def twice(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * (2 * factor)

@twice.register_fake
def _(x, factor):
    return torch.empty_like(x)

@register_sharding(torch.ops.ours.twice.default)
def _(x, factor):
    calls.append([tuple(x.shape), x.ndim, [str(p) for p in x.placements], factor])
    return [([Replicate()], [Replicate(), None])] + [
        ([Shard(d)], [Shard(d), None]) for d in range(x.ndim)]

@register_sharding(torch.ops.aten._softmax.default)
def _(x, dim, half_to_float):
    dim = dim % x.ndim
    return [([Replicate()], [Replicate(), None, None])] + [
        ([Shard(d)], [Shard(d), None, None]) for d in range(x.ndim) if d != dim]

found = []
for where in (Shard(0), Shard(1), Replicate()):
    x = distribute_tensor(whole, mesh, [where])
    for y in (torch.ops.ours.twice(x, 1.5), torch.softmax(x, -1)):
        found.append([str(y.placements), y.to_local().numpy().round(5),
                      y.full_tensor().numpy().round(5)])
found.append(torch.ops.ours.twice(whole, 1.0).numpy().round(5))
leave([found, calls])
dist.destroy_process_group()
"""


@PYTORCH
def test_rules_of_ones_own_are_pytorchs(tmp_path: Path) -> None:
    program = script(tmp_path, RULES)
    theirs, ours = (launch(program, tmp_path, 2, pytorch=p) for p in (True, False))
    for mine, other in zip(ours, theirs, strict=True):
        same(mine[0], other[0], "results")
        assert mine[1] == other[1]


def test_a_tensor_goes_to_another_mesh(tmp_path: Path) -> None:
    """Of the same processes in another shape, with gradients; of fewer; of more."""
    program = script(tmp_path, """
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
dist.init_process_group("gloo")
size = dist.get_world_size()
line = init_device_mesh("cpu", (size,))
other = DeviceMesh("cpu", torch.arange(size).flip(0).reshape(1, size))
whole = torch.arange(15.).reshape(5, 3)
weights = torch.arange(15.).reshape(5, 3) + 1
found = []
x = distribute_tensor(whole, line, [Shard(0)]).requires_grad_()
y = x.redistribute(other, [Replicate(), Shard(1)])
(y * distribute_tensor(weights, other, [Shard(0), Replicate()])).sum().backward()
found.append([y.to_local().tolist(), y.full_tensor().tolist(), x.grad.full_tensor().tolist(),
              str(x.grad.placements), y.device_mesh == other])
last = DeviceMesh("cpu", [size - 1])
z = x.detach().redistribute(last, [Shard(0)])
found.append([z.to_local().tolist(), tuple(z.shape)])
again = (z * 2).redistribute(line, [Shard(1)])
found.append(again.full_tensor().tolist())
try:
    x.redistribute(last, [Replicate()])
except NotImplementedError as error:
    found.append(str(error)[-20:])
leave(found)
dist.destroy_process_group()
""")
    whole = np.arange(15.0).reshape(5, 3)
    for rank, (there, fewer, more, said) in enumerate(launch(program, tmp_path, 2)):
        columns = np.array_split(whole, [2], 1)[1 - rank]
        assert there == [columns.tolist(), whole.tolist(), (whole + 1).tolist(),
                         "(Shard(dim=0),)", True]
        assert fewer == [whole.tolist() if rank == 1 else [], (5, 3)]
        assert more == (2 * whole).tolist()
        assert said == "; detach() the tensor"[-20:]


#: a block of attention with embeddings of positions, and its loss for positions
ATTENDING = """
import torch.nn.functional as F

def inputs():
    draw = np.random.RandomState(0)
    return [torch.tensor(draw.randn(*shape).astype("float32"))
            for shape in ((2, 8, 12), (8, 12), (2, 8, 12))]

def model():
    torch.manual_seed(0)
    return nn.Linear(12, 36), nn.Linear(12, 12)

def outputs(layers, x, positions, causal):
    b, t, _ = x.shape
    q, k, v = [y.view(b, t, 3, 4).transpose(1, 2)
               for y in layers[0](x + positions).chunk(3, -1)]
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return layers[1](y.transpose(1, 2).reshape(b, t, 12))
"""


def test_attention_over_a_divided_sequence_is_that_of_one_process(tmp_path: Path) -> None:
    program = script(tmp_path, ATTENDING + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import (
    _cp_options, context_parallel_unshard, set_rotate_method)
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
set_rotate_method("alltoall")

def said(function):
    try:
        function()
    except Exception as error:
        return type(error).__name__

def divided(causal, balanced):
    _cp_options.enable_load_balance = balanced
    layers, (x, positions, targets) = model(), inputs()
    with context_parallel(mesh, buffers=[x, positions, targets], buffer_seq_dims=[1, 0, 1],
                          no_restore_buffers={targets}):
        shapes = [tuple(x.shape), tuple(positions.shape)]
        y = outputs(layers, x, positions, causal)
        ((y - targets) ** 2).sum().backward()
        whole, = context_parallel_unshard(mesh, [y], [1])
        refused = said(lambda: F.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.ones(8, 8, dtype=torch.bool)))
    grads = [p.grad for layer in layers for p in layer.parameters()]
    for g in grads:
        dist.all_reduce(g)
    return [whole.numpy(), [g.numpy() for g in grads], shapes, refused, tuple(x.shape),
            tuple(targets.shape)]

found = [divided(causal, balanced) for causal in (True, False) for balanced in (True, False)]
_cp_options.enable_load_balance = True
def begin():
    with context_parallel(mesh, buffers=[torch.zeros(6)], buffer_seq_dims=[0]):
        pass
leave([found, said(begin)])
dist.destroy_process_group()
""")
    names: dict[str, Any] = {}
    exec("import numpy as np\nimport lazyloom_torch as torch\nfrom lazyloom_torch import nn\n"
         + ATTENDING.replace("import torch.nn", "import lazyloom_torch.nn"), names)
    expected = []
    for causal in (True, False):
        layers, (x, positions, targets) = names["model"](), names["inputs"]()
        y = names["outputs"](layers, x, positions, causal)
        ((y - targets) ** 2).sum().backward()
        grads = [p.grad.numpy() for layer in layers for p in layer.parameters()]
        expected += [(y.detach().numpy(), grads)] * 2
    for found, begun in launch(program, tmp_path, 2):
        assert begun == "ValueError"
        for (whole, grads, shapes, refused, x, targets), (y, own) in zip(
                found, expected, strict=True):
            np.testing.assert_allclose(whole, y, rtol=1e-4, atol=1e-5)
            for g, other in zip(grads, own, strict=True):
                np.testing.assert_allclose(g, other, rtol=1e-4, atol=1e-4)
            assert shapes == [(2, 4, 12), (4, 12)] and refused == "NotImplementedError"
            assert [x, targets] == [(2, 8, 12), (2, 4, 12)]
