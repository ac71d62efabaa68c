"""A training step of a 4-layer decoder-only transformer with Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.common import autocasting, set_torch_threads, torch_training

LAYERS = 4
VOCABULARY = 1024
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8

Arrays = dict[str, Any]


def start(width: int, batch: int, length: int) -> tuple[Arrays, Any, Any]:
    """Initial parameters by name, and one batch of token numbers and targets."""
    random = numpy.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.02).astype(numpy.float32)

    def constant(value: float, size: int) -> Any:
        return numpy.full(size, value, numpy.float32)

    found: Arrays = {"tokens": normal(VOCABULARY, width), "places": normal(length, width)}
    for n in range(LAYERS):
        found[f"{n}.norm1.weight"] = constant(1, width)
        found[f"{n}.norm1.bias"] = constant(0, width)
        found[f"{n}.mixed.weight"] = normal(width, 3 * width)
        found[f"{n}.mixed.bias"] = constant(0, 3 * width)
        found[f"{n}.out.weight"] = normal(width, width)
        found[f"{n}.out.bias"] = constant(0, width)
        found[f"{n}.norm2.weight"] = constant(1, width)
        found[f"{n}.norm2.bias"] = constant(0, width)
        found[f"{n}.up.weight"] = normal(width, 4 * width)
        found[f"{n}.up.bias"] = constant(0, 4 * width)
        found[f"{n}.down.weight"] = normal(4 * width, width)
        found[f"{n}.down.bias"] = constant(0, width)
    found["norm.weight"], found["norm.bias"] = constant(1, width), constant(0, width)
    found["head"] = normal(width, VOCABULARY)
    x = random.integers(0, VOCABULARY, (batch, length)).astype(numpy.int32)
    y = random.integers(0, VOCABULARY, (batch, length)).astype(numpy.int32)
    return found, x, y


def loss_by_hand(
    np: Any, erf: Callable[[Any], Any], heads: int, p: Arrays, x: Any, y: Any
) -> Any:
    """The model for any module with NumPy's interface: jax.numpy, and our NumPy-like frontend."""
    batch, length = x.shape
    width = p["tokens"].shape[1]
    depth = width // heads
    hidden_from = np.triu(np.ones((length, length), dtype=bool), 1)

    def norm(h: Any, name: str) -> Any:
        centred = h - h.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        scale = 1.0 / np.sqrt(variance + 1e-5)
        return centred * scale * p[name + ".weight"] + p[name + ".bias"]

    def split(h: Any) -> Any:
        return h.reshape(batch, length, heads, depth).transpose(0, 2, 1, 3)

    h = p["tokens"][x] + p["places"]
    for n in range(LAYERS):
        mixed = norm(h, f"{n}.norm1") @ p[f"{n}.mixed.weight"] + p[f"{n}.mixed.bias"]
        q = split(mixed[..., :width])
        k = split(mixed[..., width : 2 * width])
        v = split(mixed[..., 2 * width :])
        scores = (q @ k.transpose(0, 1, 3, 2)) * depth**-0.5
        scores = np.where(hidden_from, -1e9, scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        heard = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
        h = h + heard @ p[f"{n}.out.weight"] + p[f"{n}.out.bias"]
        up = norm(h, f"{n}.norm2") @ p[f"{n}.up.weight"] + p[f"{n}.up.bias"]
        up = 0.5 * up * (1.0 + erf(up * 0.5**0.5))
        h = h + up @ p[f"{n}.down.weight"] + p[f"{n}.down.bias"]
    logits = norm(h, "norm") @ p["head"]
    logits = logits - logits.max(axis=-1, keepdims=True)
    scores = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(scores, y[..., None], axis=-1).mean()


def with_torch(torch: Any, width: int, heads: int, batch: int, length: int,
               compile: bool = False, autocast: bool = False) -> Turn:  # fmt: skip
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    nn, F = torch.nn, torch.nn.functional
    initial, x, y = start(width, batch, length)

    def linear(name: str) -> Any:
        weight = initial[name + ".weight"]
        layer = nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(numpy.ascontiguousarray(weight.T)))
            layer.bias.zero_()
        return layer

    class Block(nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mixed, self.out = linear(f"{n}.mixed"), linear(f"{n}.out")
            self.up, self.down = linear(f"{n}.up"), linear(f"{n}.down")

        def forward(self, h: Any) -> Any:
            shape = (batch, length, heads, width // heads)
            q, k, v = (
                part.reshape(shape).transpose(1, 2)
                for part in self.mixed(self.norm1(h)).chunk(3, dim=-1)
            )
            heard = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.out(heard.transpose(1, 2).reshape(batch, length, width))
            return h + self.down(F.gelu(self.up(self.norm2(h))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Parameter(torch.tensor(initial["tokens"]))
            self.places = nn.Parameter(torch.tensor(initial["places"]))
            self.blocks = nn.ModuleList([Block(n) for n in range(LAYERS)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Parameter(torch.tensor(initial["head"]))

        def forward(self, x: Any) -> Any:
            h = F.embedding(x, self.tokens) + self.places
            for block in self.blocks:
                h = block(h)
            return self.norm(h) @ self.head

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(BETA1, BETA2), eps=EPSILON)
    run = torch.compile(model) if compile else model
    tokens, targets = torch.tensor(x).long(), torch.tensor(y).long()

    def loss_of() -> Any:
        with autocasting(torch, autocast):
            return F.cross_entropy(run(tokens).reshape(-1, VOCABULARY), targets.reshape(-1))

    return torch_training(loss_of, optimizer)


def lazyloom_torch(**size: int) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **size)


def torch_eager(**size: int) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, **size)


def torch_compiled(**size: int) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, compile=True, **size)


def lazyloom_numpy(width: int, heads: int, batch: int, length: int) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    initial, x, y = start(width, batch, length)
    names = list(initial)
    parameters = [np.array(v) for v in initial.values()]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    tokens, targets = np.array(x), np.array(y)

    def erf(v: Any) -> Any:
        return lazyloom.apply("erf", [v])

    def loss_of(*parameters: Any) -> Any:
        return loss_by_hand(np, erf, heads, dict(zip(names, parameters)), tokens, targets)

    loss_and_gradients = lazyloom.value_and_grad(loss_of, argnums=tuple(range(len(names))))
    losses: list[float] = []

    def step(count: int) -> Any:
        loss, gradients = loss_and_gradients(*parameters)
        rate = RATE * (1 - BETA2**count) ** 0.5 / (1 - BETA1**count)
        for p, m, v, g in zip(parameters, first, second, gradients):
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            v += (1 - BETA2) * g * g
            p -= rate * m / (np.sqrt(v) + EPSILON)
        return loss

    def turn(steps: int) -> None:
        for _ in range(steps):
            losses.append(float(step(len(losses) + 1)))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def jax_program(width: int, heads: int, batch: int, length: int) -> tuple[Any, Any]:
    """The hand-written step, and its arguments."""
    import jax
    import jax.numpy as jnp

    initial, x, y = start(width, batch, length)

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        return loss_by_hand(jnp, jax.lax.erf, heads, parameters, x, y)

    def update(parameters: Any, first: Any, second: Any, rate: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradients)
        parameters = jax.tree.map(
            lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPSILON), parameters, first, second)
        return loss, parameters, first, second

    parameters = {name: jnp.asarray(v) for name, v in initial.items()}
    first = jax.tree.map(jnp.zeros_like, parameters)
    second = jax.tree.map(jnp.zeros_like, parameters)
    arguments = [parameters, first, second, jnp.float32(RATE), jnp.asarray(x), jnp.asarray(y)]
    return jax.jit(update, donate_argnums=(0, 1, 2)), arguments


def jax_jit(**size: int) -> Turn:
    compiled, arguments = jax_program(**size)
    count = 0
    losses: list[float] = []

    def turn(steps: int) -> None:
        nonlocal count
        for _ in range(steps):
            count += 1
            arguments[3] = RATE * (1 - BETA2**count) ** 0.5 / (1 - BETA1**count)
            loss, *arguments[:3] = compiled(*arguments)
            losses.append(float(loss))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


TORCH = "lazyloom, torch-like"
NUMPY = "lazyloom, NumPy-like"
JAX = "jax.jit, donated"
SMALL = {"width": 256, "heads": 4, "batch": 4, "length": 128}
LARGE = {"width": 768, "heads": 12, "batch": 4, "length": 64}
TINY = {"width": 32, "heads": 2, "batch": 2, "length": 16}

WORKLOAD = Workload(
    name="transformer",
    title="Transformer training step",
    about=(
        "4 pre-norm decoder layers with causal attention (heads of 64), exact GELU, 1,024 tokens, "
        "learned places, float32, Adam, the loss read every step. The NumPy-like frontend and "
        "jax.jit run the same text of the model; the torch-like one and PyTorch share theirs, with "
        "`nn.Linear`, `nn.LayerNorm` and `scaled_dot_product_attention`."
    ),
    cases=[
        Case("width 256, 4 x 128 tokens", SMALL, warm=3, rounds=21, budget=25, seconds=0.1,
             quick=False),
        Case("width 768, 4 x 64 tokens", LARGE, warm=2, rounds=11, budget=40, seconds=0.1,
             quick=False),
        Case("width 32, 2 x 16 tokens", TINY, warm=20, full=False),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(NUMPY, "lazyloom", lazyloom_numpy),
        Contender(JAX, "jax", jax_jit),
        Contender("PyTorch eager", "torch", torch_eager),
        Contender("torch.compile", "torch", torch_compiled, only=["width 256, 4 x 128 tokens"]),
    ],
    base=TORCH,
    limits=[
        Limit("transformer step beside hand-written jax.jit", ["width 256", "width 768"],
              [TORCH, NUMPY], 1.03, [JAX]),
    ],
    headline=["width 256", "width 768"],
)  # fmt: skip
