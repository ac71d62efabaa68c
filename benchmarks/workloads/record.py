"""What it costs to record one small op, from Python and from C."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.c_programs import settle, start
from suite.common import set_torch_threads

CHAIN = 1000
KINDS = 30
BODIES = 20
ONES = numpy.ones((4, 4), numpy.float32)

#: From (x, y) to what is left of the work: a chain of adds, or bodies of thirty kinds of op.
Body = Callable[[Any, Any], Any]


def chain(x: Any, y: Any) -> Any:
    z = x
    for _ in range(CHAIN):
        z = z + y
    return z


def numpy_mix(np: Any) -> Body:
    """Thirty kinds of op, for any module with NumPy's interface."""

    def mix(x: Any, y: Any) -> Any:
        z = x
        for _ in range(BODIES):
            z = np.add(np.tanh(z), y)
            z = np.multiply(np.sin(np.sqrt(z)), y)
            z = np.subtract(np.exp(z), y)
            z = np.divide(np.log1p(np.square(z)), y)
            z = np.negative(np.cos(np.maximum(z, y)))
            z = np.expm1(np.minimum(np.abs(z), y))
            floored, sign = np.floor(z), np.sign(z)
            z = np.transpose(np.matmul(z, y))
            mean = np.mean(z, axis=1, keepdims=True)
            total, largest = np.sum(z, axis=0), np.max(z, axis=0)
            either = np.logical_or(np.less(floored, sign), np.greater(mean, total))
            z = np.cumsum(np.where(either, z, largest), axis=0)
            z = np.concatenate([z, y], axis=0)[:4]
        return z

    return mix


def torch_mix(torch: Any) -> Body:
    """The same for any module with PyTorch's interface."""

    def mix(x: Any, y: Any) -> Any:
        z = x
        for _ in range(BODIES):
            z = torch.add(torch.tanh(z), y)
            z = torch.mul(torch.sin(torch.sqrt(z)), y)
            z = torch.sub(torch.exp(z), y)
            z = torch.div(torch.log1p(torch.square(z)), y)
            z = torch.neg(torch.cos(torch.maximum(z, y)))
            z = torch.expm1(torch.minimum(torch.abs(z), y))
            floored, sign = torch.floor(z), torch.sign(z)
            z = torch.transpose(torch.matmul(z, y), 0, 1)
            mean = torch.mean(z, dim=1, keepdim=True)
            total, largest = torch.sum(z, dim=0), torch.amax(z, dim=0)
            either = torch.logical_or(torch.lt(floored, sign), torch.gt(mean, total))
            z = torch.cumsum(torch.where(either, z, largest), dim=0)
            z = torch.cat([z, y], dim=0)[:4]
        return z

    return mix


def value_mix(record: Any) -> Body:
    """The same on Values, by the ops' own names."""

    def mix(x: Any, y: Any) -> Any:
        z = x
        for _ in range(BODIES):
            z = record("add", (record("tanh", (z,)), y))
            z = record("multiply", (record("sin", (record("sqrt", (z,)),)), y))
            z = record("subtract", (record("exp", (z,)), y))
            z = record("divide", (record("log1p", (record("square", (z,)),)), y))
            z = record("negative", (record("cos", (record("maximum", (z, y)),)),))
            z = record("expm1", (record("minimum", (record("abs", (z,)), y)),))
            floored, sign = record("floor", (z,)), record("sign", (z,))
            z = record("transpose", (record("matmul", (z, y)),), {"axes": (1, 0)})
            mean = record("mean", (z,), {"axes": (1,), "keepdims": True})
            total = record("sum", (z,), {"axes": (0,)})
            largest = record("max", (z,), {"axes": (0,)})
            less, greater = record("less", (floored, sign)), record("greater", (mean, total))
            z = record("where", (record("logical_or", (less, greater)), z, largest))
            z = record("concatenate", (record("cumsum", (z,), {"axis": 0}), y), {"axis": 0})
            z = record("slice", (z,), {"starts": (0, 0), "stops": (4, 4), "strides": (1, 1)})
        return z

    return mix


def passes(units: int, kind: str) -> int:
    return max(1, units // (CHAIN if kind == "chain" else KINDS * BODIES))


def calls(kind: str) -> int:
    return CHAIN if kind == "chain" else KINDS * BODIES


def eagerly(body: Body, x: Any, y: Any, kind: str, wait: Callable[[Any], Any]) -> Turn:
    """For those that dispatch an op in the call: there is no key, and nothing to sync."""

    def turn(units: int) -> dict[str, float]:
        seconds = 0.0
        for _ in range(passes(units, kind)):
            started = time.perf_counter()
            z = body(x, y)
            seconds += time.perf_counter() - started
            wait(z)
            del z
        each = seconds / (passes(units, kind) * calls(kind))
        return {"record": each, "record and key": each}

    return turn


def lazily(body: Body, x: Any, y: Any, kind: str, sync: Callable[[Any], Any],
           wait: Callable[[Any], Any], keyed_by_sync: bool) -> Turn:  # fmt: skip
    """For those that record, and hand over what was recorded in another call."""

    def turn(units: int) -> dict[str, float]:
        recording = syncing = 0.0
        for _ in range(passes(units, kind)):
            started = time.perf_counter()
            z = body(x, y)
            recorded = time.perf_counter()
            sync(z)
            ended = time.perf_counter()
            wait(z)
            recording += recorded - started
            syncing += ended - started
            del z
        ops = passes(units, kind) * calls(kind)
        keyed = syncing if keyed_by_sync else recording
        return {"record": recording / ops, "record and key": keyed / ops,
                "record and sync": syncing / ops}  # fmt: skip

    return turn


def ours(body: Body, x: Any, y: Any, kind: str) -> Turn:
    """Recording; that and all that sync does up to the found program; and all of sync.

    What evaluations spent on running is known from their records. A chain that is long enough
    to be cut while it is recorded has evaluations during the recording, too.
    """
    import lazyloom

    def spent(after: int, phases: tuple[str, ...]) -> float:
        return sum(e.timings.get(phase, 0.0) for e in lazyloom.evaluations(16)
                   if e.number > after for phase in phases)  # fmt: skip

    def turn(units: int) -> dict[str, float]:
        recording = keying = syncing = 0.0
        newest = lazyloom.last_evaluation()
        for _ in range(passes(units, kind)):
            before = newest.number if newest else 0
            started = time.perf_counter()
            z = body(x, y)
            recorded = time.perf_counter()
            newest = lazyloom.last_evaluation()
            between = newest.number if newest else 0
            cut = spent(before, ("collect", "lookup", *RUNS)) if between > before else 0.0
            again = time.perf_counter()
            lazyloom.sync(z)
            ended = time.perf_counter()
            lazyloom.sync(z, wait=True)
            newest = lazyloom.last_evaluation()
            whole = recorded - started + ended - again
            recording += recorded - started - cut
            keying += whole - spent(before, RUNS)
            syncing += whole
            del z
        ops = passes(units, kind) * calls(kind)
        return {"record": recording / ops, "record and key": keying / ops,
                "record and sync": syncing / ops}  # fmt: skip

    return turn


def lazyloom_record(kind: str) -> Turn:
    import lazyloom

    record = lazyloom.record

    def adds(x: Any, y: Any) -> Any:
        z = x
        for _ in range(CHAIN):
            z = record("add", (z, y))
        return z

    x, y = lazyloom.from_host(ONES), lazyloom.from_host(ONES)
    return ours(adds if kind == "chain" else value_mix(record), x, y, kind)


def lazyloom_numpy(kind: str) -> Turn:
    import lazyloom_numpy as np

    return ours(chain if kind == "chain" else numpy_mix(np), np.array(ONES), np.array(ONES), kind)


def lazyloom_torch(kind: str) -> Turn:
    import lazyloom_torch as torch

    body = chain if kind == "chain" else torch_mix(torch)
    return ours(body, torch.tensor(ONES), torch.tensor(ONES), kind)


def lazyloom_c(kind: str) -> Turn:
    """The C program, compiled here; it measures itself, in a process of its own."""
    ask = start("record", kind)

    def turn(units: int) -> dict[str, float]:
        found: dict[str, float] = json.loads(ask(str(passes(units, kind))))
        return found

    settle(turn, BODIES * KINDS * CHAIN)
    return turn


def numpy_eager(kind: str) -> Turn:
    body = chain if kind == "chain" else numpy_mix(numpy)
    return eagerly(body, ONES, ONES, kind, lambda z: None)


def jax_eager(kind: str) -> Turn:
    import jax.numpy as jnp

    body = chain if kind == "chain" else numpy_mix(jnp)
    return eagerly(body, jnp.asarray(ONES), jnp.asarray(ONES), kind,
                   lambda z: z.block_until_ready())  # fmt: skip


def torch_eager(kind: str) -> Turn:
    import torch

    set_torch_threads(torch)
    body = chain if kind == "chain" else torch_mix(torch)
    return eagerly(body, torch.tensor(ONES), torch.tensor(ONES), kind, lambda z: None)


def mlx(kind: str) -> Turn:
    import mlx.core as mx

    x, y = mx.array(ONES), mx.array(ONES)
    mx.eval(x, y)
    body = chain if kind == "chain" else numpy_mix(mx)
    return lazily(body, x, y, kind, mx.async_eval, mx.eval, keyed_by_sync=False)


def torch_xla(kind: str) -> Turn:
    import torch
    import torch_xla

    x, y = (torch.tensor(ONES).to("xla") for _ in range(2))
    torch_xla.sync()
    body = chain if kind == "chain" else torch_mix(torch)
    return lazily(body, x, y, kind, lambda z: torch_xla.sync(), lambda z: torch_xla.sync(wait=True),
                  keyed_by_sync=True)  # fmt: skip


#: what records call the phase in which a program runs
#: the last is the name in records of the versions that others are compared with
RUNS = ("dispatch", "op_by_op", "pieces")
RECORD = "lazyloom.record"
TORCH = "lazyloom, torch-like"
NUMPY = "lazyloom, NumPy-like"
C = "lazyloom, C"
KEYED = ": record and key"

WORKLOAD = Workload(
    name="record",
    title="Cost per recorded op",
    about=(
        "A chain of 1,000 adds of 4 x 4 matrices, and 20 times a body of 30 kinds of op (600 "
        "calls). *Record* is the time in the calls. *Record and key* adds what is needed to know "
        "which program this is: for Lazyloom all of `sync` but the run, which its evaluation "
        "records tell; pytorch/xla does it in its sync, whose cost cannot be divided; MLX, which "
        "builds a graph and has no key, is listed with its recording; those that dispatch in the "
        "call have nothing more to do. *Record and sync* is until the work is handed over and the "
        "caller goes on. Waiting for the results is outside the clock, releasing the intermediate "
        "values is inside. Where a chain reaches the depth at which traces are cut, its cut counts."
    ),
    cases=[
        Case("chain of adds", {"kind": "chain"}, warm=8000, units=8000, rounds=31, budget=15,
             per="op"),
        Case("30 kinds of op", {"kind": "mix"}, warm=6000, units=6000, rounds=31, budget=15,
             per="op"),
    ],
    contenders=[
        Contender(RECORD, "lazyloom", lazyloom_record),
        Contender(NUMPY, "lazyloom", lazyloom_numpy),
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(C, "lazyloom", lazyloom_c),
        Contender("NumPy", "numpy", numpy_eager),
        Contender("JAX eager", "jax", jax_eager),
        Contender("PyTorch eager", "torch", torch_eager),
        Contender("MLX", "mlx", mlx),
        Contender("pytorch/xla", "torch_xla", torch_xla),
    ],
    base=TORCH,
    headline=["chain of adds" + KEYED, "30 kinds of op" + KEYED,
              "chain of adds: record and sync", "30 kinds of op: record and sync"],
    limits=[
        Limit("record and key one op from Python", ["chain of adds" + KEYED],
              [RECORD, NUMPY, TORCH], 0.6e-6),
        Limit("record and key one op from C", ["chain of adds" + KEYED], [C], 0.9e-6),
        Limit("below PyTorch eager's dispatch of the same add", ["chain of adds" + KEYED],
              [RECORD, NUMPY, TORCH], 1.0, ["PyTorch eager"]),
        Limit("a fifth of pytorch/xla's record and sync", ["chain of adds" + KEYED],
              [RECORD, NUMPY, TORCH], 0.2, ["pytorch/xla"]),
        Limit("twice MLX's graph building", ["chain of adds" + KEYED],
              [RECORD, NUMPY, TORCH], 2.0, ["MLX"]),
    ],
)  # fmt: skip
