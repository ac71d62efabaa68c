"""A training step of an MLP, 64-128-128-10, batch of 64, SGD with momentum."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.c_programs import settle
from suite.c_programs import start as start_c
from suite.common import set_torch_threads

SHAPES = [(64, 128), (128,), (128, 128), (128,), (128, 10), (10,)]
BATCH = 64
BATCHES = 16
RATE = 0.05
MOMENTUM = 0.9


def start() -> tuple[list[numpy.ndarray], list[tuple[numpy.ndarray, numpy.ndarray]]]:
    """The initial parameters, and batches that every contender keeps on its device."""
    random = numpy.random.default_rng(0)
    weights = [random.uniform(-0.1, 0.1, s).astype(numpy.float32) for s in SHAPES]
    batches = [
        (random.uniform(0, 1, (BATCH, 64)).astype(numpy.float32), random.integers(0, 10, BATCH))
        for _ in range(BATCHES)
    ]
    return weights, batches


def turns(step: Callable[[Any], Any], batches: Sequence[Any], read: bool,
          finish: Callable[[Any], Any]) -> Turn:  # fmt: skip
    """Steps over the batches in turn, reading every loss or only waiting for the last one."""
    following = itertools.cycle(batches)

    def turn(steps: int) -> None:
        loss = None
        for _ in range(steps):
            loss = step(next(following))
            if read:
                float(loss)
        if not read:
            finish(loss)

    return turn


def with_torch(torch: Any, read: bool, compile: bool = False,
               each: Callable[[], Any] = lambda: None,
               finish: Callable[[Any], Any] = lambda loss: loss.item(),
               device: str | None = None, whole: bool = False,
               zero_first: bool = False) -> Turn:  # fmt: skip
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend.

    With ``zero_first`` the gradients live until the next step begins.
    """
    nn, F = torch.nn, torch.nn.functional
    weights, batches = start()

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = (
                nn.Parameter(torch.tensor(w)) for w in weights
            )

        def forward(self, x: Any) -> Any:
            x = F.relu(x @ self.w1 + self.b1)
            x = F.relu(x @ self.w2 + self.b2)
            return x @ self.w3 + self.b3

    model = Classifier()
    data = [(torch.tensor(x), torch.tensor(y)) for x, y in batches]
    if device:
        model = model.to(device)
        data = [(x.to(device), y.to(device)) for x, y in data]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    run = torch.compile(model) if compile else model

    def update(x: Any, y: Any) -> Any:
        if zero_first:
            optimizer.zero_grad()
        loss = F.cross_entropy(run(x), y)
        loss.backward()
        optimizer.step()
        if not zero_first:
            optimizer.zero_grad()
        return loss.detach()

    if whole:
        update = torch.compile(update)

    def step(batch: Any) -> Any:
        loss = update(*batch)
        each()
        return loss

    return turns(step, data, read, finish)


def lazyloom_torch(read: bool, each_step: bool = False, zero_first: bool = False) -> Turn:
    import lazyloom
    import lazyloom_torch as torch

    return with_torch(torch, read, each=lazyloom.sync if each_step else lambda: None,
                      finish=lambda loss: (lazyloom.sync(), loss.item()), zero_first=zero_first)


def lazyloom_torch_synced(read: bool) -> Turn:
    return lazyloom_torch(read, each_step=True)


def lazyloom_torch_captured(read: bool, zero_first: bool = False) -> Turn:
    import lazyloom
    import lazyloom_torch as torch

    return with_torch(torch, read, whole=True, zero_first=zero_first,
                      finish=lambda loss: (lazyloom.sync(), loss.item()))  # fmt: skip


def torch_eager(read: bool, zero_first: bool = False) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, read, zero_first=zero_first)


def torch_compiled(read: bool) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, read, compile=True)


def torch_xla(read: bool) -> Turn:
    import torch
    import torch_xla

    return with_torch(torch, read, each=torch_xla.sync, device="xla")


def lazyloom_numpy_captured(read: bool) -> Turn:
    return lazyloom_numpy(read, captured=True)


def lazyloom_numpy(read: bool, captured: bool = False) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    weights, batches = start()
    parameters = [np.array(w) for w in weights]
    momenta = [np.array(numpy.zeros_like(w)) for w in weights]

    def relu(x: Any) -> Any:
        return lazyloom.apply("relu", [x])

    def loss_of(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
        h = relu(x @ w1 + b1)
        h = relu(h @ w2 + b2)
        return lazyloom.apply("cross_entropy", [h @ w3 + b3, y])

    loss_and_gradients = lazyloom.value_and_grad(loss_of, argnums=tuple(range(len(SHAPES))))

    def update(x: Any, y: Any) -> Any:
        loss, gradients = loss_and_gradients(*parameters, x, y)
        for parameter, momentum, gradient in zip(parameters, momenta, gradients):
            momentum *= MOMENTUM
            momentum += gradient
            parameter -= momentum * RATE
        return loss

    if captured:
        update = lazyloom.jit(update)

    def step(batch: Any) -> Any:
        return update(*batch)

    def finish(loss: Any) -> None:
        lazyloom.sync()
        float(loss)

    return turns(step, [(np.array(x), np.array(y)) for x, y in batches], read, finish)


def lazyloom_c(read: bool, how: str = "recorded") -> Turn:
    """The C program, compiled here, in a process of its own; see c/mlp.c."""
    weights, batches = start()
    data = Path(tempfile.mkdtemp(prefix="lazyloom-bench-c-")) / "data"
    data.write_bytes(b"".join(
        a.tobytes() for a in (*weights, *(x for x, _ in batches), *(y for _, y in batches))))
    ask = start_c("mlp", str(data), how)

    def turn(steps: int) -> None:
        ask(f"{steps} {int(read)}")

    settle(turn, 200)
    return turn


def lazyloom_c_captured(read: bool) -> Turn:
    return lazyloom_c(read, "captured")


def jax_program(with_gradients: bool = False) -> tuple[Any, list[Any]]:
    """The hand-written step, and its arguments; its last results may be the gradients."""
    import jax
    import jax.numpy as jnp

    weights, batches = start()

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        scores = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.take_along_axis(scores, y[:, None], axis=1).mean()

    def update(parameters: Any, momenta: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        momenta = [m * MOMENTUM + g for m, g in zip(momenta, gradients)]
        updated = loss, [p - m * RATE for p, m in zip(parameters, momenta)], momenta
        return (*updated, gradients) if with_gradients else updated

    parameters = [jnp.asarray(w) for w in weights]
    momenta = [jnp.zeros_like(p) for p in parameters]
    batch = [jnp.asarray(b) for b in batches[0]]
    return jax.jit(update, donate_argnums=(0, 1)), [parameters, momenta, *batch]


def jax_jit(read: bool, zero_first: bool = False) -> Turn:
    """Gradients are values of the compiled function here, whatever is zeroed first elsewhere."""
    import jax
    import jax.numpy as jnp

    compiled, (parameters, momenta, *_) = jax_program()
    batches = start()[1]

    def step(batch: Any) -> Any:
        nonlocal parameters, momenta
        loss, parameters, momenta = compiled(parameters, momenta, *batch)
        return loss

    def finish(loss: Any) -> None:
        jax.block_until_ready((loss, parameters, momenta))

    return turns(step, [(jnp.asarray(x), jnp.asarray(y)) for x, y in batches], read, finish)


def mlx(read: bool, compile: bool = False) -> Turn:
    import mlx.core as mx
    import mlx.nn as nn

    weights, batches = start()
    parameters = [mx.array(w) for w in weights]
    momenta = [mx.zeros_like(p) for p in parameters]
    mx.eval(parameters, momenta)

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h = nn.relu(x @ w1 + b1)
        h = nn.relu(h @ w2 + b2)
        return nn.losses.cross_entropy(h @ w3 + b3, y, reduction="mean")

    loss_and_gradients = mx.value_and_grad(loss_of)

    def update(parameters: Any, momenta: Any, x: Any, y: Any) -> Any:
        loss, gradients = loss_and_gradients(parameters, x, y)
        momenta = [m * MOMENTUM + g for m, g in zip(momenta, gradients)]
        return loss, [p - m * RATE for p, m in zip(parameters, momenta)], momenta

    run = mx.compile(update) if compile else update

    def step(batch: Any) -> Any:
        nonlocal parameters, momenta
        loss, parameters, momenta = run(parameters, momenta, *batch)
        mx.async_eval(loss, parameters, momenta)
        return loss

    def finish(loss: Any) -> None:
        mx.eval(loss, parameters, momenta)

    data = [(mx.array(x), mx.array(y.astype(numpy.int32))) for x, y in batches]
    return turns(step, data, read, finish)


def mlx_compiled(read: bool) -> Turn:
    return mlx(read, compile=True)


def tinygrad(read: bool) -> Turn:
    from tinygrad import Tensor, TinyJit, nn

    weights, batches = start()
    parameters = [Tensor(w).realize() for w in weights]
    optimizer = nn.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM)

    @TinyJit
    def update(x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        optimizer.zero_grad()
        h = (x @ w1 + b1).relu()
        h = (h @ w2 + b2).relu()
        loss = (h @ w3 + b3).sparse_categorical_crossentropy(y).backward()
        return loss.realize(*optimizer.schedule_step())

    data = [(Tensor(x).realize(), Tensor(y.astype(numpy.int32)).realize()) for x, y in batches]

    def step(batch: Any) -> Any:
        return update(*batch)

    loss_item = turns(lambda b: step(b).item(), data, False, lambda loss: None)
    return loss_item if read else turns(step, data, False, lambda loss: loss.item())


TORCH = "lazyloom, torch-like"
NUMPY = "lazyloom, NumPy-like"
C = "lazyloom, C"
CAPTURED_C = "lazyloom, C, captured"
JAX = "jax.jit, donated"

ZERO_FIRST = "loss read every step, zero_grad first"
READ_OR_NOT = ["loss read every step", "loss not read"]

WORKLOAD = Workload(
    name="mlp",
    title="MLP training step",
    about=(
        "64-128-128-10, ReLU, cross entropy, batch of 64, float32, SGD with momentum, on 16 "
        "batches that are on the device beforehand. Once the loss is read after every step, and "
        "once it is not: then nothing but the end of the turn waits, and Lazyloom is not told "
        "where a step ends, except in the row that calls `lazyloom.sync()` after each. With "
        "`zero_grad()` first, as many loops have it, the gradients of a step live until the next. "
        "4,000 steps come first: within them programs are compiled, and the forms tried."
    ),
    cases=[
        Case("loss read every step", {"read": True}, warm=4000, rounds=31, budget=15),
        Case(ZERO_FIRST, {"read": True, "zero_first": True}, warm=4000, rounds=31, budget=15),
        Case("loss not read", {"read": False}, warm=4000, rounds=31, budget=15, seconds=0.05),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(TORCH + ", sync each step", "lazyloom", lazyloom_torch_synced,
                  only=["loss not read"]),
        Contender(TORCH + ", captured", "lazyloom", lazyloom_torch_captured),
        Contender(NUMPY, "lazyloom", lazyloom_numpy, only=READ_OR_NOT),
        Contender(NUMPY + ", captured", "lazyloom", lazyloom_numpy_captured, only=READ_OR_NOT),
        Contender(C, "lazyloom", lazyloom_c, only=READ_OR_NOT),
        Contender(CAPTURED_C, "lazyloom", lazyloom_c_captured, only=READ_OR_NOT),
        Contender(JAX, "jax", jax_jit),
        Contender("PyTorch eager", "torch", torch_eager),
        Contender("torch.compile", "torch", torch_compiled, only=READ_OR_NOT),
        Contender("MLX", "mlx", mlx, only=READ_OR_NOT),
        Contender("MLX, mx.compile", "mlx", mlx_compiled, only=READ_OR_NOT),
        Contender("tinygrad, TinyJit", "tinygrad", tinygrad, only=READ_OR_NOT,
                  environment={"TRAINING": "1"}),
        Contender("pytorch/xla", "torch_xla", torch_xla, only=READ_OR_NOT),
    ],
    base=TORCH,
    try_threads=True,
    limits=[
        Limit("MLP step beside hand-written donated jax.jit", ["loss"], [TORCH, NUMPY], 1.3, [JAX]),
        Limit("MLP step captured beside jax.jit", ["loss"],
              [TORCH + ", captured", NUMPY + ", captured"], 1.15, [JAX]),
        Limit("MLP step in C beside jax.jit", ["loss"], [C], 1.5, [JAX]),
        Limit("MLP step captured in C beside jax.jit", ["loss"], [CAPTURED_C], 1.15, [JAX]),
        Limit("MLP step beside PyTorch eager (2x faster)", ["loss"], [TORCH, NUMPY], 0.5,
              ["PyTorch eager"]),
        Limit("MLP step beside pytorch/xla (4x faster)", ["loss"], [TORCH, NUMPY], 0.25,
              ["pytorch/xla"]),
    ],
)  # fmt: skip
