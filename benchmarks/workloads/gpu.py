"""Training steps at full size, on a GPU: RoBERTa-base and ResNet-50."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload, machine
from suite.common import torch_training

from . import resnet

#: RoBERTa-base (Liu et al. 2019): 125 million parameters
BASE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50265, "batch": 16, "length": 512}
RATE, BETA1, BETA2, EPSILON = 1e-4, 0.9, 0.98, 1e-6
MASKED = 0.15

Arrays = dict[str, Any]


def start(layers: int, width: int, vocabulary: int, batch: int, length: int,
          **_: int) -> tuple[Arrays, Any, Any]:  # fmt: skip
    """Initial parameters by name, tokens with some replaced, and the labels, -100 elsewhere."""
    random = numpy.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.02).astype(numpy.float32)

    found: Arrays = {"tokens": normal(vocabulary, width), "places": normal(length, width)}
    sizes = {"mixed": (width, 3 * width), "out": (width, width), "up": (width, 4 * width),
             "down": (4 * width, width)}  # fmt: skip
    names = [f"{n}.{part}" for n in range(layers) for part in sizes]
    for name in [*names, "transform"]:
        shape = sizes.get(name.split(".")[-1], (width, width))
        found[name + ".weight"] = normal(*shape)
        found[name + ".bias"] = numpy.zeros(shape[1], numpy.float32)
    norms = [f"{n}.norm{k}" for n in range(layers) for k in (1, 2)]
    for name in ["norm", *norms, "transform.norm"]:
        found[name + ".weight"] = numpy.ones(width, numpy.float32)
        found[name + ".bias"] = numpy.zeros(width, numpy.float32)
    found["bias"] = numpy.zeros(vocabulary, numpy.float32)
    tokens = random.integers(5, vocabulary, (batch, length))
    hidden = random.random((batch, length)) < MASKED
    return found, numpy.where(hidden, 4, tokens), numpy.where(hidden, tokens, -100)


def with_torch(torch: Any, device: str | None = None, **size: int) -> Turn:
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    F = torch.nn.functional
    initial, x, y = start(**size)
    layers, width, heads = size["layers"], size["width"], size["heads"]
    batch, length, vocabulary = size["batch"], size["length"], size["vocabulary"]
    p = {name: torch.nn.Parameter(torch.tensor(v, device=device)) for name, v in initial.items()}
    tokens, labels = torch.tensor(x, device=device), torch.tensor(y, device=device)
    optimizer = torch.optim.AdamW(p.values(), lr=RATE, betas=(BETA1, BETA2), eps=EPSILON,
                                  weight_decay=0.0)  # fmt: skip

    def linear(h: Any, name: str) -> Any:
        return h @ p[name + ".weight"] + p[name + ".bias"]

    def norm(h: Any, name: str) -> Any:
        return F.layer_norm(h, (width,), p[name + ".weight"], p[name + ".bias"])

    def split(h: Any) -> Any:
        return h.reshape(batch, length, heads, width // heads).transpose(1, 2)

    def loss_of() -> Any:
        h = norm(F.embedding(tokens, p["tokens"]) + p["places"], "norm")
        for n in range(layers):
            q, k, v = (split(part) for part in linear(h, f"{n}.mixed").chunk(3, dim=-1))
            heard = F.scaled_dot_product_attention(q, k, v)
            heard = heard.transpose(1, 2).reshape(batch, length, width)
            h = norm(h + linear(heard, f"{n}.out"), f"{n}.norm1")
            h = norm(h + linear(F.gelu(linear(h, f"{n}.up")), f"{n}.down"), f"{n}.norm2")
        h = norm(F.gelu(linear(h, "transform")), "transform.norm")
        scores = h @ p["tokens"].T + p["bias"]
        return F.cross_entropy(scores.reshape(-1, vocabulary), labels.reshape(-1))

    return torch_training(loss_of, optimizer)


def by_hand(**size: int) -> Turn:
    import jax
    import jax.numpy as jnp

    initial, x, y = start(**size)
    layers, width, heads = size["layers"], size["width"], size["heads"]
    batch, length = size["batch"], size["length"]

    def loss_of(p: Arrays, tokens: Any, labels: Any) -> Any:
        def linear(h: Any, name: str) -> Any:
            return h @ p[name + ".weight"] + p[name + ".bias"]

        def norm(h: Any, name: str) -> Any:
            centred = h - h.mean(axis=-1, keepdims=True)
            scale = jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
            return centred * scale * p[name + ".weight"] + p[name + ".bias"]

        def split(h: Any) -> Any:
            return h.reshape(batch, length, heads, width // heads)

        def gelu(h: Any) -> Any:
            return jax.nn.gelu(h, approximate=False)

        h = norm(p["tokens"][tokens] + p["places"], "norm")
        for n in range(layers):
            q, k, v = (split(part) for part in jnp.split(linear(h, f"{n}.mixed"), 3, axis=-1))
            heard = jax.nn.dot_product_attention(q, k, v).reshape(batch, length, width)
            h = norm(h + linear(heard, f"{n}.out"), f"{n}.norm1")
            h = norm(h + linear(gelu(linear(h, f"{n}.up")), f"{n}.down"), f"{n}.norm2")
        h = norm(gelu(linear(h, "transform")), "transform.norm")
        scores = jax.nn.log_softmax(h @ p["tokens"].T + p["bias"])
        counted = labels >= 0
        chosen = jnp.take_along_axis(scores, jnp.where(counted, labels, 0)[..., None], axis=-1)
        return -jnp.where(counted, chosen[..., 0], 0.0).sum() / counted.sum()

    def update(p: Arrays, first: Arrays, second: Arrays, count: Any, x: Any, y: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, x, y)
        first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, g)
        second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, g)
        of_first, of_second = 1 - BETA1**count, 1 - BETA2**count
        p = jax.tree.map(
            lambda p, m, v: p - RATE * (m / of_first) / (jnp.sqrt(v / of_second) + EPSILON),
            p, first, second)
        return loss, p, first, second

    p = {name: jnp.asarray(v) for name, v in initial.items()}
    state = [p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)]
    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    tokens, labels = jnp.asarray(x), jnp.asarray(y)
    losses: list[float] = []

    def turn(steps: int) -> None:
        for _ in range(steps):
            count = jnp.float32(len(losses) + 1)
            loss, *state[:] = compiled(*state, count, tokens, labels)
            losses.append(float(loss))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def lazyloom_torch(model: str, **size: int) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **size) if model == "roberta" else resnet.with_torch(torch, **size)


def torch_eager(model: str, **size: int) -> Turn:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("this PyTorch finds no GPU")
    if model == "roberta":
        return with_torch(torch, device="cuda", **size)
    return resnet.with_torch(torch, device="cuda", channels_last=True, **size)


def jax_jit(model: str, **size: int) -> Turn:
    return by_hand(**size) if model == "roberta" else resnet.by_hand("NHWC", **size)


def jax_nchw(model: str, **size: int) -> Turn:
    return resnet.by_hand("NCHW", **size)


TORCH = "lazyloom, torch-like"
JAX = "jax.jit, donated (ResNet-50 in NHWC)"
NCHW = "jax.jit, NCHW, donated"
ROBERTA = "RoBERTa-base, 16 x 512 tokens"
RESNET = "ResNet-50, batch 64, 224 x 224"
GPU_MEMORY = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

WORKLOAD = Workload(
    name="gpu",
    title="Full size on a GPU",
    about=(
        "RoBERTa-base (12 layers, width 768, 50,265 tokens) as a masked language model with Adam, "
        "and ResNet-50 with SGD, float32 as each library computes it by default, the loss read "
        "every step."
    ),
    cases=[
        Case(ROBERTA, {"model": "roberta", **BASE}, warm=2, rounds=11, budget=60, units=2),
        Case(RESNET, {"model": "resnet", "batch": 64, "size": 224}, warm=2, rounds=11, budget=60,
             units=2),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch, environment=GPU_MEMORY),
        Contender(JAX, "jax", jax_jit, environment=GPU_MEMORY),
        Contender(NCHW, "jax", jax_nchw, only=[RESNET], environment=GPU_MEMORY),
        Contender("PyTorch eager", "torch", torch_eager),
    ],
    base=TORCH,
    limits=[Limit("step on a GPU beside hand-written jax.jit", [ROBERTA, RESNET], [TORCH], 1.03,
                  [JAX, NCHW])],
    needs=lambda: "" if machine.gpu() else "no GPU on this machine",
)  # fmt: skip
