"""A language model with its blocks divided, beside the same model in each process."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import torch
import torch.distributed as dist
import torch.nn.functional as F
from launches import leave
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import lazyloom

WORDS, WIDTH, HEADS, LENGTH = 40, 16, 4, 8
dist.init_process_group("gloo")
size = dist.get_world_size()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
                   for w in (self.wq, self.wk, self.wv))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block()])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        y = self.words(x)
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


torch.manual_seed(0)
model = Model()
alone = copy.deepcopy(model)
parallelize_module(model, mesh, {
    "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1),
                             use_local_output=False),
    "blocks.*.norm?": SequenceParallel(),
    "blocks.*.attention": PrepareModuleInput(
        input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    "blocks.*.attention.w[qkv]": ColwiseParallel(use_local_output=False),
    "blocks.*.attention.wo": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "blocks.*.up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
    "blocks.*.down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    "norm": SequenceParallel(),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
})
divided = {n: str(p.placements[0]) for n, p in model.named_parameters()}
batches = [torch.randint(WORDS, (2, 2, LENGTH))] * 20


def train(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses, runs = [], []
    for x, y in batches:
        before = lazyloom.stats()["executions"]
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
        runs.append(lazyloom.stats()["executions"] - before)
    return losses, runs, optimizer


losses, runs, optimizer = train(model)
wanted = train(alone)[0] if dist.get_rank() == 0 else None
state = [v for s in optimizer.state_dict()["state"].values() for v in s.values()]
leave({
    "losses": losses, "wanted": wanted, "runs": runs, "divided": divided,
    "state": {type(v).__name__ for v in state if v.ndim},
    "parts": {n: tuple(p.to_local().shape) for n, p in model.named_parameters()},
    "dtensors": all(isinstance(p, DTensor) and isinstance(p, nn.Parameter)
                    for p in model.parameters())})
dist.barrier()
dist.destroy_process_group()
