"""Training of small nets on a mesh with axes "data" and "model", divided in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import lazyloom
import lazyloom.distributed as dist
import lazyloom_torch as torch
from lazyloom_torch import nn

STEPS = 20


def whole(name: str, p: Any) -> tuple[Any, ...]:
    return ()


def by_rows(name: str, p: Any) -> tuple[Any, ...]:
    """Parameters divided over the data-parallel devices, as in FSDP."""
    for d, n in enumerate(p.shape):
        if n % 4 == 0:
            return (None,) * d + ("data",)
    return ()


def by_columns_then_rows(name: str, p: Any) -> tuple[Any, ...]:
    """Pairs of linear layers divided as in Megatron: one all-reduce a pair."""
    if name.startswith(("up", "attend.qkv")):
        return ("model",)
    if name.startswith(("down", "attend.out")) and p.ndim == 2:
        return (None, "model")
    return ()


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        b, t, w = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, 4, w // 4).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    """A transformer block over embedded tokens, with a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.norm = nn.LayerNorm(16)
        self.attend = Attention(16)
        self.up = nn.Linear(16, 64)
        self.down = nn.Linear(64, 16)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(16, 32)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        x = x + self.attend(self.norm(x))
        return self.head(x + self.drop(self.down(nn.functional.gelu(self.up(x)))))


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.up = nn.Linear(8 * 16, 32)
        self.down = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(nn.functional.relu(self.norm(self.first(x))), 2)
        return self.down(nn.functional.relu(self.up(x.flatten(1))))


def data(model: str) -> tuple[Any, Any]:
    source = numpy.random.default_rng(0)
    if model == "block":
        tokens = source.integers(0, 32, (8, 12))
        return torch.tensor(tokens), torch.tensor(numpy.roll(tokens, -1, 1).reshape(-1))
    return (torch.tensor(source.standard_normal((16, 1, 8, 8)).astype("float32")),
            torch.tensor(source.integers(0, 10, 16)))


def train(
    model: str, division: Callable[..., tuple[Any, ...]] | None, adam: bool, mesh: Any
) -> Any:
    """The losses of twenty steps on a mesh, or on one device without a division.

    On a mesh, each step is one program, and parameters stay divided as they were.
    """
    torch.manual_seed(0)
    net = Block() if model == "block" else Convolutions()
    x, y = data(model)
    if division is not None:
        x = lazyloom.shard(x, mesh, ("data",))
        y = lazyloom.shard(y, mesh, ("data",))
        for name, p in net.named_parameters():
            # each process has computed them by itself
            p.data = lazyloom.shard(dist.broadcast(p.data), mesh, division(name, p))
        for b in net.buffers():
            # the number of batches is in no program of the step
            if b.is_floating_point():
                b.data = lazyloom.shard(b.data, mesh, ())
    optimizer: Any = torch.optim.AdamW(net.parameters(), 1e-2) if adam else (
        torch.optim.SGD(net.parameters(), 0.05, momentum=0.9))
    torch.manual_seed(1)
    losses = []
    before = dict(lazyloom.stats())
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x).reshape(len(y), -1), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step == 3:
            before = dict(lazyloom.stats())
    after = lazyloom.stats()
    if division is not None:
        assert after["executions"] - before["executions"] == STEPS - 4
        assert after["programs_compiled"] == before["programs_compiled"]
        for name, p in net.named_parameters():
            assert lazyloom.placement_of(p.data) is lazyloom.placement_of(
                lazyloom.shard(p.data, mesh, division(name, p)))
    return numpy.array(losses)
