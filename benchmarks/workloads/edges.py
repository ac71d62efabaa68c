"""What NumPy arrays cost on their way in and out, and batches that are loaded beside a step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.c_programs import settle, start
from suite.common import set_torch_threads

OURS, OURS_NUMPY = "lazyloom, torch-like", "lazyloom, NumPy-like"
OURS_C = "lazyloom, C"
SHAPES = {"16 KiB": (64, 64), "64 MiB": (4096, 4096)}
#: what is done with an array
IN, IN_LAST, OUT, OUT_LAST = "in", "in, a temporary", "out", "out, a temporary"
BATCHES = "batches"


def given(shape: tuple[int, ...]) -> Any:
    return numpy.random.default_rng(4).random(shape, numpy.float32)


def edge(
    how: str, array: Any, give: Callable[[Any], Any], first: Callable[[Any], Any],
    computed: Callable[[Any], Any], read: Callable[[Any], Any], read_last: Callable[[Any], Any],
) -> Turn:  # fmt: skip
    """Seconds of what ``how`` says, with nothing else; what is given and read is checked once.

    ``give`` takes an array, ``first`` reads the first element of what it gave by a computation,
    ``computed`` gives a computed result, ``read`` one as an array that may be written to, and
    ``read_last`` likewise where nobody else has the result.
    """
    inside = give(array)
    assert first(inside) == array.flat[0] * 2
    assert (read(inside) == array).all()
    assert (read_last(give(array)) == array).all()

    def turn(units: int) -> dict[str, float]:
        seconds = 0.0
        for _ in range(units):
            # what is taken from a list, the call alone has
            held = [array.copy()] if how == IN_LAST else [] if how == IN else [computed(inside)]
            started = time.perf_counter()
            if how == IN:
                found = give(array)
                first(found)
            elif how == IN_LAST:
                found = give(held.pop())
                first(found)
            elif how == OUT:
                found = read(held[0])
            else:
                found = read_last(held.pop())
            seconds += time.perf_counter() - started
            del found
        return {"": seconds / units}

    return turn


def _training(torch: Any) -> Turn:
    """Steps of a small network, the same text for both; each batch is given when it is used."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    random = numpy.random.default_rng(4)
    batches = [(random.random((3000, 1024), numpy.float32), random.integers(0, 10, 3000))
               for _ in range(4)]

    def turn(units: int) -> None:
        for k in range(units):
            images, labels = batches[k % 4]
            x, y = torch.from_numpy(images), torch.from_numpy(labels)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        turn.loss = loss.item()  # type: ignore[attr-defined]

    return turn


def lazyloom_torch(how: str, size: str = "") -> Turn:
    import lazyloom
    import lazyloom_torch as torch

    if how == BATCHES:
        return _training(torch)

    def computed(x: Any) -> Any:
        y = x + 1
        lazyloom.sync(y, wait=True)
        return y

    numpy_of = torch.Tensor.numpy
    return edge(how, given(SHAPES[size]), torch.from_numpy, lambda t: (t[0, 0] * 2).item(),
                computed, numpy_of, numpy_of)


def lazyloom_numpy(how: str, size: str) -> Turn:
    import lazyloom
    import lazyloom_numpy as np

    def computed(x: Any) -> Any:
        y = x + 1
        lazyloom.sync(y, wait=True)
        return y

    return edge(how, given(SHAPES[size]), np.array, lambda t: (t[0, 0] * 2).item(),
                computed, np.asnumpy, np.asnumpy)


def lazyloom_c(how: str, size: str) -> Turn:
    """The C program, which measures itself; it reads into memory of its own."""
    ask = start("edges", how, str(SHAPES[size][0]))

    def turn(units: int) -> dict[str, float]:
        found: dict[str, float] = json.loads(ask(str(units)))
        return found

    settle(turn, 30)
    return turn


def pytorch(how: str, size: str = "") -> Turn:
    import torch

    set_torch_threads(torch)
    if how == BATCHES:
        return _training(torch)
    # its from_numpy() and numpy() share memory: a clone is what nobody else's writes reach
    last = how in (IN_LAST, OUT_LAST)
    return edge(how, given(SHAPES[size]),
                torch.from_numpy if last else lambda a: torch.from_numpy(a).clone(),
                lambda t: (t[0, 0] * 2).item(), lambda x: x + 1,
                (lambda y: y.numpy()) if last else lambda y: y.clone().numpy(),
                lambda y: y.numpy())  # fmt: skip


def jax(how: str, size: str) -> Turn:
    import jax

    first, plus_one = jax.jit(lambda t: t[0, 0] * 2), jax.jit(lambda x: x + 1)
    return edge(how, given(SHAPES[size]),
                lambda a: jax.device_put(a, may_alias=False), lambda t: first(t).item(),
                lambda x: plus_one(x).block_until_ready(), numpy.array, numpy.asarray)


CASES = {f"{how}, {size}": {"how": how, "size": size}
         for size in SHAPES for how in (IN, IN_LAST, OUT, OUT_LAST)}

WORKLOAD = Workload(
    name="edges",
    title="Arrays in and out",
    about=(
        "*In*: a NumPy array is given, and an element of it computed with. *Out*: a computed "
        "result is read as an array that may be written to. Neither side sees what is written to "
        "the other afterwards, for which PyTorch needs a clone, unless nobody else has the array "
        "or the result (*a temporary*). *Batches*: a training step of a network, its batch of "
        "12 MB given from NumPy, the loss read after the last step alone."
    ),
    cases=[
        *(Case(name, parameters, warm=30, rounds=15, budget=8, seconds=0.05, per="array",
               quick=parameters["size"] == "16 KiB")
          for name, parameters in CASES.items()),
        Case(BATCHES, {"how": BATCHES}, warm=60, rounds=11, budget=20, units=30, quick=False),
    ],
    contenders=[
        Contender(OURS, "lazyloom", lazyloom_torch),
        Contender(OURS_NUMPY, "lazyloom", lazyloom_numpy, only=list(CASES)),
        Contender(OURS_C, "lazyloom", lazyloom_c,
                  only=[f"{how}, {size}" for size in SHAPES for how in (IN, OUT)]),
        Contender("PyTorch", "torch", pytorch),
        Contender("JAX", "jax", jax, only=list(CASES),
                  note="what it gives of a temporary may not be written to"),
    ],
    base=OURS,
    limits=[
        Limit("large arrays in and out beside PyTorch's clones",
              [f"{IN}, 64 MiB", f"{OUT}, 64 MiB"], [OURS, OURS_NUMPY], 1.5, ["PyTorch"]),
        Limit("arrays in and out of C beside the torch-like frontend",
              [f"{how}, {size}" for size in SHAPES for how in (IN, OUT)], [OURS_C], 1.1, [OURS]),
    ],
)  # fmt: skip
