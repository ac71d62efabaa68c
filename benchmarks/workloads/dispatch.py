"""What recording, keying and dispatch cost an op, from 10 to 100,000 pending ops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload

ONES = numpy.ones((4, 4), numpy.float32)
SIZES = (10, 100, 1_000, 10_000, 100_000)
#: XLA takes minutes to compile a wide program that is larger
WIDEST = 1_000
#: ops that one turn records in all, at least
TURN = 20_000


def timed(once: Callable[[], Any], sync: Callable[[Any], Any], wait: Callable[[Any], Any],
          ops: int) -> Turn:  # fmt: skip
    """Seconds an op until the work is handed over; waiting for its results is not counted."""

    def turn(units: int) -> dict[str, float]:
        seconds = 0.0
        passes = max(1, TURN // ops) if units > 1 else 1
        for _ in range(passes):
            started = time.perf_counter()
            result = once()
            sync(result)
            seconds += time.perf_counter() - started
            wait(result)
            del result
        return {"": seconds / (passes * ops)}

    return turn


def chain_of(ops: int, x: Any, y: Any) -> Callable[[], Any]:
    """Half multiplications, half additions, one after the other; the values stay near 2."""

    def once() -> Any:
        z = x
        for _ in range(ops // 2):
            z = z * 0.5 + y
        return [z]

    return once


def wide_of(ops: int, new: Callable[[Any], Any]) -> Callable[[], Any]:
    """Updates of many parameters, two ops deep each, that share one factor, as clipping has it."""
    count = max(1, ops // 5)
    parameters = [new(ONES) for _ in range(count)]
    momenta = [new(ONES) for _ in range(count)]
    gradients = [new(ONES) for _ in range(count)]
    one = new(ONES)

    def once() -> Any:
        factor = one * 0.01
        for n in range(count):
            momenta[n] = momenta[n] * 0.9 + gradients[n] * factor
            parameters[n] = parameters[n] - momenta[n] * 0.01
        return parameters + momenta

    return once


def lazyloom_torch(ops: int, shape: str) -> Turn:
    import lazyloom
    import lazyloom_torch as torch

    once = (chain_of(ops, torch.tensor(ONES), torch.tensor(ONES)) if shape == "chain"
            else wide_of(ops, torch.tensor))  # fmt: skip
    return timed(once, lambda r: lazyloom.sync(*r), lambda r: lazyloom.sync(*r, wait=True), ops)


def mlx(ops: int, shape: str) -> Turn:
    import mlx.core as mx

    once = (chain_of(ops, mx.array(ONES), mx.array(ONES)) if shape == "chain"
            else wide_of(ops, mx.array))  # fmt: skip
    return timed(once, mx.async_eval, mx.eval, ops)


def torch_xla(ops: int, shape: str) -> Turn:
    import torch
    import torch_xla

    def new(array: Any) -> Any:
        return torch.tensor(array).to("xla")

    once = chain_of(ops, new(ONES), new(ONES)) if shape == "chain" else wide_of(ops, new)
    return timed(once, lambda r: torch_xla.sync(), lambda r: torch_xla.sync(wait=True), ops)


def of_size(make: Callable[[int, str], Turn], ops: int) -> Callable[..., Turn]:
    return lambda shape: make(ops, shape)


def row(ops: int) -> str:
    return f"{ops:,} ops"


CHAIN, WIDE = "chain", "wide"

WORKLOAD = Workload(
    name="dispatch",
    title="Recording, keying and dispatch by size",
    about=(
        "What one op costs when so many are pending, its program being in memory: the calls of the "
        "torch-like frontend, collecting, keying, looking up and handing over; waiting for the "
        "results is not counted. *Chain* is `z = z * 0.5 + y` over and over, which is cut where it "
        "repeats once it is long; *wide* updates a fifth as many parameters as there are ops, each "
        "a few ops deep, with momentum and one factor common to all; no larger than XLA compiles "
        "in seconds."
    ),
    cases=[
        Case(CHAIN, {"shape": CHAIN}, units=2, warm=4, rounds=11, budget=25, per="op"),
        Case(WIDE, {"shape": WIDE}, units=2, warm=4, rounds=11, budget=20, per="op", quick=False),
    ],
    contenders=[
        *(Contender(row(n), "lazyloom", of_size(lazyloom_torch, n),
                    only=[CHAIN, WIDE] if n <= WIDEST else [CHAIN]) for n in SIZES),
        *(Contender(f"MLX, {row(n)}", "mlx", of_size(mlx, n),
                    only=[CHAIN, WIDE] if n <= WIDEST else [CHAIN]) for n in (1_000, 10_000)),
        Contender(f"pytorch/xla, {row(1_000)}", "torch_xla", of_size(torch_xla, 1_000)),
    ],
    base=row(1_000),
    limits=[
        Limit("an op among 100,000 beside one among 1,000", [CHAIN], [row(100_000)], 1.5,
              [row(1_000)]),
    ],
)  # fmt: skip
