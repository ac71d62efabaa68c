"""A step divided over eight devices of one process, beside jax.jit with the same shardings."""

from __future__ import annotations

import os
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload

OURS, JAX = "lazyloom, torch-like", "jax.jit"
DEVICES, CLASSES = 8, 16


def start(width: int, batch: int) -> tuple[list[Any], Any, Any]:
    """Weights and biases of four layers, and one batch."""
    random = numpy.random.default_rng(0)
    sizes = [(width, width)] * 3 + [(CLASSES, width)]
    parameters = [(random.standard_normal(s) / width**0.5).astype("float32") for s in sizes]
    parameters += [numpy.zeros(rows, "float32") for rows, _ in sizes]
    x = random.standard_normal((batch, width)).astype("float32")
    return parameters, x, random.integers(0, CLASSES, batch)


def axes(divided: bool, array: Any) -> tuple[str, ...]:
    """How a parameter lies on the mesh: whole, or its rows divided."""
    return ("data",) if divided and array.shape[0] % DEVICES == 0 else ()


def lazyloom_torch(width: int, batch: int, divided: bool) -> Turn:
    os.environ["JAX_NUM_CPU_DEVICES"] = str(DEVICES)
    import lazyloom
    import lazyloom_torch as torch

    F = torch.nn.functional
    mesh = lazyloom.make_mesh({"data": DEVICES})
    arrays, images, labels = start(width, batch)
    p = [torch.nn.Parameter(lazyloom.shard(torch.tensor(a), mesh, axes(divided, a)))
         for a in arrays]
    x = lazyloom.shard(torch.tensor(images), mesh, ("data",))
    y = lazyloom.shard(torch.tensor(labels), mesh, ("data",))
    optimizer = torch.optim.SGD(p, lr=0.05)

    def turn(units: int) -> None:
        for _ in range(units):
            optimizer.zero_grad()
            h = x
            for k in range(3):
                h = torch.relu(F.linear(h, p[k], p[4 + k]))
            loss = F.cross_entropy(F.linear(h, p[3], p[7]), y)
            loss.backward()
            optimizer.step()
            loss.item()

    return turn


def jax_jit(width: int, batch: int, divided: bool) -> Turn:
    os.environ["JAX_NUM_CPU_DEVICES"] = str(DEVICES)
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(numpy.array(jax.devices()), ("data",))
    arrays, images, labels = start(width, batch)
    shardings = [NamedSharding(mesh, PartitionSpec(*axes(divided, a))) for a in arrays]
    rows = NamedSharding(mesh, PartitionSpec("data"))
    p = [jax.device_put(a, s) for a, s in zip(arrays, shardings, strict=True)]
    x, y = jax.device_put(images, rows), jax.device_put(labels, rows)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        h = x
        for k in range(3):
            h = jax.nn.relu(h @ p[k].T + p[4 + k])
        # labels of -100 do not count, as in torch.nn.functional.cross_entropy
        counts = y != -100
        log = jax.nn.log_softmax(h @ p[3].T + p[7])
        chosen = jnp.take_along_axis(log, jnp.where(counts, y, 0)[:, None], 1)[:, 0]
        return -jnp.where(counts, chosen, 0).sum() / counts.sum()

    def update(p: Any, x: Any, y: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(p, x, y)
        return loss, [a - 0.05 * g for a, g in zip(p, gradients, strict=True)]

    step = jax.jit(update, donate_argnums=0, out_shardings=(None, shardings))

    def turn(units: int) -> None:
        nonlocal p
        for _ in range(units):
            loss, p = step(p, x, y)
            float(loss)

    return turn


CASES = {
    f"{how}, width {width}, batch {batch}": {
        "width": width, "batch": batch, "divided": how == "parameters divided"}
    for how in ("parameters whole", "parameters divided")
    for width, batch in ((128, 256), (512, 1024))}

WORKLOAD = Workload(
    name="devices",
    title="Eight devices of one process",
    about=(
        "A step of four linear layers with SGD, the loss read, on a mesh of eight devices into "
        "which `JAX_NUM_CPU_DEVICES` divides the processor. The batch is divided; parameters are "
        "whole on every device, or their rows are divided, too. Both programs have the same "
        "collectives."
    ),
    cases=[Case(name, parameters, warm=10, rounds=15, budget=30, seconds=0.3,
                quick=name.startswith("parameters whole, width 128"))
           for name, parameters in CASES.items()],
    contenders=[
        Contender(OURS, "lazyloom", lazyloom_torch),
        Contender(JAX, "jax", jax_jit),
    ],
    base=OURS,
    limits=[
        Limit("A step on a mesh beside jax.jit", ["parameters"], [OURS], 1.1, [JAX]),
    ],
)
