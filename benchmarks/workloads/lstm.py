"""A training step of an LSTM over 64 steps, unrolled by the host's loop."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Turn, Workload
from suite.common import set_torch_threads, torch_training

STEPS, BATCH, INPUTS, WIDTH, CLASSES = 64, 32, 64, 128, 10
RATE = 0.1

Arrays = dict[str, Any]


def start(length: int) -> tuple[Arrays, Any, Any]:
    """Initial parameters by name, a batch of sequences (time first) and their labels."""
    random = numpy.random.default_rng(0)

    def uniform(*shape: int) -> Any:
        return random.uniform(-0.1, 0.1, shape).astype(numpy.float32)

    parameters = {"x": uniform(INPUTS, 4 * WIDTH), "h": uniform(WIDTH, 4 * WIDTH),
                  "bias": uniform(4 * WIDTH), "head": uniform(WIDTH, CLASSES)}  # fmt: skip
    x = random.standard_normal((length, BATCH, INPUTS)).astype(numpy.float32)
    return parameters, x, random.integers(0, CLASSES, BATCH)


def gates_of(z: Any) -> tuple[Any, Any, Any, Any]:
    return (z[:, :WIDTH], z[:, WIDTH : 2 * WIDTH], z[:, 2 * WIDTH : 3 * WIDTH], z[:, 3 * WIDTH :])


def with_torch(torch: Any, length: int) -> Turn:
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    initial, x, y = start(length)
    p = {name: torch.nn.Parameter(torch.tensor(v)) for name, v in initial.items()}
    optimizer = torch.optim.SGD(p.values(), lr=RATE)
    inputs, labels = torch.tensor(x), torch.tensor(y)

    def loss_of() -> Any:
        h = c = torch.zeros(BATCH, WIDTH)
        for t in range(length):
            i, f, g, o = gates_of(inputs[t] @ p["x"] + h @ p["h"] + p["bias"])
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.nn.functional.cross_entropy(h @ p["head"], labels)

    return torch_training(loss_of, optimizer)


def lazyloom_torch(length: int) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, length)


def torch_eager(length: int) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, length)


def lazyloom_numpy(length: int) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    initial, x, y = start(length)
    parameters = [np.array(v) for v in initial.values()]
    inputs, labels = np.array(x), np.array(y)
    zero = np.zeros((BATCH, WIDTH), np.float32)

    def sigmoid(v: Any) -> Any:
        return lazyloom.apply("sigmoid", [v])

    def loss_of(to_x: Any, to_h: Any, bias: Any, head: Any) -> Any:
        h = c = zero
        for t in range(length):
            i, f, g, o = gates_of(inputs[t] @ to_x + h @ to_h + bias)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        return lazyloom.apply("cross_entropy", [h @ head, labels])

    loss_and_gradients = lazyloom.value_and_grad(loss_of, argnums=(0, 1, 2, 3))
    losses: list[float] = []

    def step() -> Any:
        loss, gradients = loss_and_gradients(*parameters)
        for p, g in zip(parameters, gradients):
            p -= RATE * g
        return loss

    def turn(steps: int) -> None:
        for _ in range(steps):
            losses.append(float(step()))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def by_hand(length: int, unrolled: bool) -> Turn:
    import jax
    import jax.numpy as jnp

    initial, x, y = start(length)
    labels = jnp.asarray(y)

    def cell(p: Arrays, state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = gates_of(x @ p["x"] + h @ p["h"] + p["bias"])
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def loss_of(p: Arrays, inputs: Any) -> Any:
        state = (jnp.zeros((BATCH, WIDTH)), jnp.zeros((BATCH, WIDTH)))
        if unrolled:
            for t in range(length):
                state = cell(p, state, inputs[t])
        else:
            state, _ = jax.lax.scan(lambda s, x: (cell(p, s, x), None), state, inputs)
        scores = jax.nn.log_softmax(state[0] @ p["head"])
        return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

    def update(p: Arrays, inputs: Any) -> Any:
        loss, g = jax.value_and_grad(loss_of)(p, inputs)
        return loss, jax.tree.map(lambda p, g: p - RATE * g, p, g)

    compiled = jax.jit(update, donate_argnums=0)
    parameters = {name: jnp.asarray(v) for name, v in initial.items()}
    inputs = jnp.asarray(x)
    losses: list[float] = []

    def turn(steps: int) -> None:
        nonlocal parameters
        for _ in range(steps):
            loss, parameters = compiled(parameters, inputs)
            losses.append(float(loss))

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def jax_unrolled(length: int) -> Turn:
    return by_hand(length, unrolled=True)


def jax_scan(length: int) -> Turn:
    return by_hand(length, unrolled=False)


def mlx(length: int) -> Turn:
    import mlx.core as mx
    import mlx.nn as nn

    initial, x, y = start(length)
    names = list(initial)
    parameters = [mx.array(v) for v in initial.values()]
    inputs, labels = mx.array(x), mx.array(y.astype(numpy.int32))

    def loss_of(parameters: Any) -> Any:
        p = dict(zip(names, parameters))
        h = c = mx.zeros((BATCH, WIDTH))
        for t in range(length):
            i, f, g, o = gates_of(inputs[t] @ p["x"] + h @ p["h"] + p["bias"])
            c = mx.sigmoid(f) * c + mx.sigmoid(i) * mx.tanh(g)
            h = mx.sigmoid(o) * mx.tanh(c)
        return nn.losses.cross_entropy(h @ p["head"], labels, reduction="mean")

    loss_and_gradients = mx.value_and_grad(loss_of)
    losses: list[float] = []

    def turn(steps: int) -> None:
        nonlocal parameters
        for _ in range(steps):
            loss, gradients = loss_and_gradients(parameters)
            parameters = [p - RATE * g for p, g in zip(parameters, gradients)]
            mx.eval(loss, parameters)
            losses.append(loss.item())

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


TORCH = "lazyloom, torch-like"

WORKLOAD = Workload(
    name="lstm",
    title="LSTM training step",
    about=(
        f"{STEPS} steps unrolled by the program's own loop, batch of {BATCH}, {INPUTS} inputs, "
        f"width {WIDTH}, float32, SGD, the loss read every step: forward and backward pass. "
        "jax.jit once unrolled as well, and once with `lax.scan`."
    ),
    cases=[
        Case(f"{STEPS} steps", {"length": STEPS}, warm=5, rounds=21, budget=20, seconds=0.05,
             quick=False),
        Case("4 steps", {"length": 4}, warm=5, full=False),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender("lazyloom, NumPy-like", "lazyloom", lazyloom_numpy),
        Contender("jax.jit, unrolled, donated", "jax", jax_unrolled),
        Contender("jax.jit, lax.scan, donated", "jax", jax_scan),
        Contender("PyTorch eager", "torch", torch_eager),
        Contender("MLX", "mlx", mlx),
    ],
    base=TORCH,
    headline=[f"{STEPS} steps"],
)  # fmt: skip
