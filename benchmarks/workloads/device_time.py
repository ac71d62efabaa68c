"""The compiled program of a training step alone: no recording, no frontend, inputs ready."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload

from . import mlp, resnet, transformer

#: steps after which the program of the next one is that of every step
WARM = 4


def alone(
    run: Callable[..., Sequence[Any]], arguments: list[Any], fed: Mapping[int, int]
) -> Turn:
    """Runs one after the other, each waited for; the median of their seconds.

    ``fed`` has, for each argument that a run takes, the number of the result that the next run
    gets in its place.
    """

    def turn(units: int) -> dict[str, float]:
        seconds = []
        for _ in range(units):
            started = time.perf_counter()
            results = run(*arguments)
            for result in results:
                result.block_until_ready()
            seconds.append(time.perf_counter() - started)
            for argument, number in fed.items():
                arguments[argument] = results[number]
            del results
        return {"": statistics.median(seconds)}

    return turn


def of_step(make: Callable[[], Turn]) -> Turn:
    """The program that a turn of one step of ours runs, with that step's own arguments."""
    import lazyloom
    from lazyloom.cache import memory

    # what makes the parameters is part of the first step, and need not be compiled
    step = make()
    step(1)
    with lazyloom.options(reproducible=True):
        step(WARM)
        entry = memory.entries()[-1]
        program, run = entry.program, entry.program.run
        kept: list[list[Any]] = []

        def keep(*arguments: Any) -> Any:
            kept.append([a.copy() for a in arguments])
            return run(*arguments)

        program.run = keep
        try:
            step(1)
        finally:
            program.run = run
    if len(kept) != 1:
        raise RuntimeError(f"a step ran its program {len(kept)} times instead of once")
    return alone(run, kept[0], entry.aliases)


def by_hand(program: tuple[Any, list[Any]], donated: int) -> Turn:
    """A hand-written step whose first ``donated`` arguments are its results behind the loss."""
    import jax

    step, arguments = program
    leaves, tree = jax.tree.flatten(arguments)
    count = len(jax.tree.leaves(arguments[:donated]))

    def flat(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(step.__wrapped__(*tree.unflatten(leaves)))

    compiled = jax.jit(flat, donate_argnums=tuple(range(count)))
    return alone(compiled, leaves, {n: n + 1 for n in range(count)})


def lazyloom_torch(model: str, size: dict[str, Any]) -> Turn:
    import lazyloom_torch as torch

    if model == "mlp":
        return of_step(lambda: mlp.with_torch(torch, True, **size))
    made = resnet.with_torch if model == "resnet" else transformer.with_torch
    return of_step(lambda: made(torch, **size))


def lazyloom_numpy(model: str, size: dict[str, Any]) -> Turn:
    if model == "mlp":
        return of_step(lambda: mlp.lazyloom_numpy(True))
    return of_step(lambda: transformer.lazyloom_numpy(**size))


def jax_jit(model: str, size: dict[str, Any]) -> Turn:
    if model == "mlp":
        return by_hand(mlp.jax_program(), 2)
    if model == "resnet":
        return by_hand(resnet.jax_program("NCHW", **size), 3)
    return by_hand(transformer.jax_program(**size), 3)


def jax_with_gradients(model: str, size: dict[str, Any]) -> Turn:
    return by_hand(mlp.jax_program(with_gradients=True), 2)


def jax_channels_last(model: str, size: dict[str, Any]) -> Turn:
    return by_hand(resnet.jax_program("NHWC", **size), 3)


TORCH = "lazyloom, torch-like"
TORCH_XLA = "lazyloom, torch-like, XLA alone"
NUMPY = "lazyloom, NumPy-like"
JAX = "jax.jit, donated"
GRADIENTS = "jax.jit, donated, gradients returned"
NHWC = "jax.jit, NHWC, donated"
FIRST, LAST = "MLP, zero_grad first", "MLP, zero_grad last"
TRANSFORMER, TINY = "transformer, width 256, 4 x 128 tokens", "transformer, width 32"
RESNET = "ResNet-50, batch 4, 224 x 224"

WORKLOAD = Workload(
    name="device_time",
    title="The program of a step alone",
    about=(
        "The compiled program of a training step of the workloads *MLP*, *transformer* and "
        "*ResNet-50*, called with arrays that are ready and waited for: no recording, collecting "
        "or frontend. Arguments whose memory a run takes are the results of the run before. Both "
        "are called through `jax.jit`'s C++ dispatch with a flat list of arrays. With `zero_grad` "
        "first the gradients are alive when the loss is read, and are results of the program: one "
        "of `jax.jit`'s gives them too."
    ),
    cases=[
        Case(LAST, {"model": "mlp", "size": {}}, warm=200, rounds=41, budget=15),
        Case(FIRST, {"model": "mlp", "size": {"zero_first": True}}, warm=200, rounds=41,
             budget=15),
        Case(TRANSFORMER, {"model": "transformer", "size": transformer.SMALL}, warm=3, rounds=15,
             budget=25, seconds=0.3, quick=False),
        Case(RESNET, {"model": "resnet", "size": {"batch": 4, "size": 224}}, warm=2, rounds=7,
             budget=90, units=1, quick=False),
        Case(TINY, {"model": "transformer", "size": transformer.TINY}, full=False),
    ],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(TORCH_XLA, "lazyloom", lazyloom_torch,
                  environment={"LAZYLOOM_CODEGEN": "xla"}),
        Contender(NUMPY, "lazyloom", lazyloom_numpy, only=[LAST, TRANSFORMER, TINY]),
        Contender(JAX, "jax", jax_jit),
        Contender(GRADIENTS, "jax", jax_with_gradients, only=[FIRST]),
        Contender(NHWC, "jax", jax_channels_last, only=[RESNET]),
    ],
    base=TORCH,
    limits=[
        Limit("the program of a step beside jax.jit's", ["MLP", "transformer", "ResNet-50"],
              [TORCH, NUMPY], 1.05, [JAX, NHWC]),
    ],
    headline=[LAST, FIRST, TRANSFORMER, RESNET],
)  # fmt: skip
