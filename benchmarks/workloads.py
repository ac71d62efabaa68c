"""What is measured: callables that do one unit of work each, for Lazyloom and for what it is
compared with.

Every function returns ``run``; ``run()`` does the work once and returns when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

Work = Callable[[], Any]

#: Ops recorded by one unit of the recording workloads: too few for a trace to be cut.
CHAIN = 200

SHAPES = [(64, 64), (64,), (64, 32), (32,), (32, 10), (10,)]
BATCH = 32
LEARNING_RATE = 0.05
MOMENTUM = 0.9


def record_numpy() -> Work:
    """A chain of additions through the NumPy-like frontend, released unread."""
    import lazyloom_numpy as np

    x = np.asarray(numpy.ones((8, 8), numpy.float32))
    y = np.asarray(numpy.ones((8, 8), numpy.float32))

    def run() -> None:
        z = x
        for _ in range(CHAIN):
            z = z + y

    return run


def record_torch() -> Work:
    """A chain of additions through the torch-like frontend, released unread."""
    import lazyloom_torch as torch

    x = torch.ones(8, 8)
    y = torch.ones(8, 8)
    (x + y).sum().item()

    def run() -> None:
        z = x
        for _ in range(CHAIN):
            z = z + y

    return run


def record_value() -> Work:
    """A chain of additions through ``lazyloom.record``, released unread."""
    import lazyloom

    x = lazyloom.from_host(numpy.ones((8, 8), numpy.float32))
    y = lazyloom.from_host(numpy.ones((8, 8), numpy.float32))

    def run() -> None:
        z = x
        for _ in range(CHAIN):
            z = lazyloom.record("add", (z, y))

    return run


def eager_jax() -> Work:
    """The same chain, dispatched op by op by JAX; waits for the end."""
    import jax.numpy as jnp

    x = jnp.ones((8, 8), jnp.float32)

    def run() -> None:
        z = x
        for _ in range(CHAIN):
            z = z + x
        z.block_until_ready()

    return run


def eager_numpy() -> Work:
    """The same chain, computed by NumPy."""
    x = numpy.ones((8, 8), numpy.float32)

    def run() -> None:
        z = x
        for _ in range(CHAIN):
            z = z + x

    return run


def _start() -> tuple[list[numpy.ndarray], numpy.ndarray, numpy.ndarray]:
    rng = numpy.random.default_rng(0)
    weights = [rng.uniform(-0.1, 0.1, s).astype(numpy.float32) for s in SHAPES]
    images = rng.uniform(0, 1, (1437, 64)).astype(numpy.float32)
    labels = rng.integers(0, 10, 1437)
    return weights, images, labels


def step_lazyloom() -> Work:
    """One training step of the digits network, its loss read, NumPy-like frontend."""
    import lazyloom
    import lazyloom_numpy as np

    weights, host_images, host_labels = _start()
    params = [np.asarray(w) for w in weights]
    momenta = [np.asarray(numpy.zeros_like(w)) for w in weights]
    images, labels = np.asarray(host_images), np.asarray(host_labels)
    rng = numpy.random.default_rng(1)

    def relu(x: Any) -> Any:
        return lazyloom.apply("relu", [x])

    def loss_of(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
        h = relu(x @ w1 + b1)
        h = relu(h @ w2 + b2)
        return lazyloom.apply("cross_entropy", [h @ w3 + b3, y])

    loss_and_gradients = lazyloom.value_and_grad(loss_of, argnums=tuple(range(len(SHAPES))))

    def step(index: numpy.ndarray) -> Any:
        chosen = np.asarray(index)
        x, y = np.take(images, chosen, axis=0), np.take(labels, chosen, axis=0)
        loss, gradients = loss_and_gradients(*params, x, y)
        for p, m, g in zip(params, momenta, gradients):
            m *= MOMENTUM
            m += g
            p -= m * LEARNING_RATE
        return loss

    def run() -> float:
        return float(step(rng.integers(0, 1437, BATCH)))

    return run


def step_jax() -> Work:
    """The same step written by hand for ``jax.jit``, with donated state."""
    import jax
    import jax.numpy as jnp

    weights, host_images, host_labels = _start()
    params = [jnp.asarray(w) for w in weights]
    momenta = [jnp.zeros_like(p) for p in params]
    images, labels = jnp.asarray(host_images), jnp.asarray(host_labels)
    rng = numpy.random.default_rng(1)

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = params
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        scores = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.take_along_axis(scores, y[:, None], axis=1).mean()

    def step(params: Any, momenta: Any, images: Any, labels: Any, index: Any, rate: Any) -> Any:
        x, y = jnp.take(images, index, axis=0), jnp.take(labels, index, axis=0)
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        momenta = [m * MOMENTUM + g for m, g in zip(momenta, gradients)]
        return loss, [p - m * rate for p, m in zip(params, momenta)], momenta

    compiled = jax.jit(step, donate_argnums=(0, 1))

    def run() -> float:
        nonlocal params, momenta
        index = jnp.asarray(rng.integers(0, 1437, BATCH).astype(numpy.int32))
        loss, params, momenta = compiled(params, momenta, images, labels, index, LEARNING_RATE)
        return float(loss)

    return run


#: group -> (what one unit counts as, work by name); the first name is the base of ratios
GROUPS: dict[str, tuple[int, dict[str, Callable[[], Work]]]] = {
    "one small op": (CHAIN, {
        "JAX eager": eager_jax,
        "NumPy": eager_numpy,
        "record, lazyloom.record": record_value,
        "record, NumPy-like frontend": record_numpy,
        "record, torch-like frontend": record_torch,
    }),
    "digits training step": (1, {
        "jax.jit by hand": step_jax,
        "lazyloom, NumPy-like frontend": step_lazyloom,
    }),
}  # fmt: skip
