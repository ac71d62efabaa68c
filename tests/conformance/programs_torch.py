"""The programs of test_programs.py in the torch-like frontend. Ops that PyTorch has no name for
are applied by theirs."""

from __future__ import annotations

from typing import Any

import lazyloom
import lazyloom_torch as torch
import lazyloom_torch.nn.functional as F  # noqa: N812

apply = lazyloom.apply


def mlp_step(x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str = "relu") -> Any:
    parameters = w1, b1, w2, b2
    for p in parameters:
        p.requires_grad_()
    h = getattr(F, activation)(x @ w1 + b1)
    loss = F.cross_entropy(h @ w2 + b2, y)
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p -= p.grad * 0.1
            p.grad = None
    return loss.detach(), *parameters


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-1, -2) * 0.25
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights.argmax(-1)


def convnet_step(x: Any, y: Any, kernel: Any, w: Any) -> Any:
    kernel.requires_grad_()
    w.requires_grad_()
    h = F.max_pool2d(F.relu(F.conv2d(x, kernel, padding=1)), 2)
    loss = F.cross_entropy(h.reshape(h.shape[0], -1) @ w, y)
    loss.backward()
    return loss.detach(), kernel.grad, w.grad


def normalised_residual(x: Any, weight: Any, bias: Any) -> Any:
    h = F.layer_norm(x, (x.shape[-1],), weight, bias)
    return x + torch.tanh(h) * 0.5


def slices(x: Any) -> Any:
    for i in range(4, 8):
        rows = x[i:i + 2]
        rows += x[i - 2:i]
        row = x[i]
        row *= 0.5
    x[::2, 1:3] = x[1::2, 0:2]
    return x


def reductions(x: Any, y: Any) -> Any:
    centred = x - x.mean(0, keepdim=True)
    spread = centred.square().mean(0).sqrt()
    return ((centred * y).exp() / spread).amax(1), spread.amin()


def random_numbers(key: Any) -> Any:
    first = apply("random_split", [key], {"num": 4})
    points = apply("random_uniform", [first[2], 0.0, 1.0], {"shape": (64, 2)})
    inside = (points * points).sum(1) < 1.0
    noise = apply("random_normal", [first[3]], {"shape": (64,)})
    return torch.where(inside, noise, 0.0), first


def complex_numbers(z: Any, c: Any) -> Any:
    steps = (z.abs() < 2.0).float()
    for _ in range(5):
        z = z * z + c
        steps = steps + (z.abs() < 2.0).float()
    return steps, z.real, z.angle(), z


def sorting(x: Any) -> Any:
    order = torch.argsort(x, dim=1, stable=True)
    ranked = apply("take_along_axis", [x, order], {"axis": 1})
    total = torch.cumsum(ranked, 1)
    return total, *torch.topk(total, 3)


def recurrence(xs: Any, h: Any, w: Any) -> Any:
    states = []
    for t in range(2, 8):
        h = torch.tanh(h @ w + xs[t])
        states.append(h)
    return torch.stack(states)


def integers(x: Any, y: Any) -> Any:
    mixed = (x << y) ^ (x // 3)
    return mixed % 7, torch.maximum(mixed, y).double()
