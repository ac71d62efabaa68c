"""The small end: an expression whose number is read, single elements, and small programs."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.common import set_torch_threads

OURS, OURS_TORCH = "lazyloom, NumPy-like", "lazyloom, torch-like"
NUMPY, PYTORCH = "NumPy", "PyTorch eager"
#: what is done
READ, DROPPED, KEPT, NUMBER, BY_ONE, BY_TWO, PROGRAM = (
    "read", "dropped unread", "kept", "a computed number", "10,000 elements, one by one",
    "100 x 100 elements, one by one", "program")
#: results that are kept before they are waited for, or computed before they are read
BATCH = 100
LENGTH, SIDE = 10_000, 100
FIRST, AGAIN = "first read", "read again"


def expression(np: Any, x: Any, y: Any) -> Any:
    return (np.exp(-x) * y + 0.5 * x).sum()


@dataclass(frozen=True)
class Library:
    """What differs between the libraries.

    Attributes:
        give: an array of the library from one of the host.
        evaluate: the expression of two arrays.
        wait: returns once all of these are computed.
        read: a computed number as a number of Python's.
        by_item: whether an element is read by ``x[i].item()``, not by ``float(x[i])``.
        tolerance: by how much the expression may differ from NumPy's, relatively.
    """

    give: Callable[[Any], Any]
    evaluate: Callable[[Any, Any], Any]
    wait: Callable[[Sequence[Any]], Any]
    read: Callable[[Any], float] = float
    by_item: bool = False
    tolerance: float = 1e-12


def numpy_itself() -> Library:
    return Library(lambda a: a, lambda x, y: expression(numpy, x, y), lambda found: None)


def lazyloom_numpy() -> Library:
    import lazyloom
    import lazyloom_numpy as np

    return Library(np.array, lambda x, y: expression(np, x, y),
                   lambda found: lazyloom.sync(*found, wait=True))  # fmt: skip


def lazyloom_torch() -> Library:
    import lazyloom
    import lazyloom_torch as torch

    return Library(torch.tensor, lambda x, y: expression(torch, x, y),
                   lambda found: lazyloom.sync(*found, wait=True), methodcaller("item"), True)


def pytorch() -> Library:
    import torch

    set_torch_threads(torch)
    return Library(torch.tensor, lambda x, y: expression(torch, x, y), lambda found: None,
                   methodcaller("item"), True)  # fmt: skip


def mlx() -> Library:
    import mlx.core as mx

    # its GPU has no float64
    mx.set_default_device(mx.cpu)
    return Library(lambda a: mx.array(a, dtype=mx.float64), lambda x, y: expression(mx, x, y),
                   lambda found: mx.eval(*found), methodcaller("item"), True, 1e-6)  # fmt: skip


def jax_jit() -> Library:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return Library(jnp.asarray, jax.jit(lambda x, y: expression(jnp, x, y)),
                   jax.block_until_ready)  # fmt: skip


def evaluations(library: Library, what: str, size: int) -> Turn:
    """The expression over and over; the last result of a turn is read in any case."""
    random = numpy.random.default_rng(5)
    a, b = random.random(size), random.random(size)
    x, y = library.give(a), library.give(b)
    evaluate, read = library.evaluate, library.read
    numpy.testing.assert_allclose(read(evaluate(x, y)), expression(numpy, a, b),
                                  rtol=library.tolerance)  # fmt: skip

    def reading(units: int) -> None:
        for _ in range(units):
            read(evaluate(x, y))

    def dropping(units: int) -> None:
        for _ in range(units):
            found = evaluate(x, y)
        read(found)

    def keeping(units: int) -> dict[str, float]:
        passes = -(-units // BATCH)
        started = time.perf_counter()
        for _ in range(passes):
            library.wait([evaluate(x, y) for _ in range(BATCH)])
        return {"": (time.perf_counter() - started) / (passes * BATCH)}

    return {READ: reading, DROPPED: dropping, KEPT: keeping}[what]


def reads_of_numbers(library: Library) -> Turn:
    """Seconds of reading a number that is there: each of many once, and then once more."""
    x, y = (library.give(a) for a in numpy.random.default_rng(5).random((2, 10)))

    def turn(units: int) -> dict[str, float]:
        spent = [0.0, 0.0]
        passes = -(-units // BATCH)
        for _ in range(passes):
            numbers = []
            for _ in range(BATCH):
                numbers.append(library.evaluate(x, y))
                library.wait(numbers[-1:])
            for k in range(2):
                started = time.perf_counter()
                for number in numbers:
                    number.item()
                spent[k] += time.perf_counter() - started
        return {FIRST: spent[0] / (passes * BATCH), AGAIN: spent[1] / (passes * BATCH)}

    return turn


def floats(x: Any) -> float:
    total = 0.0
    for i in range(LENGTH):
        total += float(x[i])
    return total


def items(x: Any) -> float:
    total = 0.0
    for i in range(LENGTH):
        total += x[i].item()
    return total


def floats_by_two(x: Any) -> float:
    total = 0.0
    for i in range(SIDE):
        for j in range(SIDE):
            total += float(x[i, j])
    return total


def items_by_two(x: Any) -> float:
    total = 0.0
    for i in range(SIDE):
        for j in range(SIDE):
            total += x[i, j].item()
    return total


def reads_of_elements(library: Library, what: str) -> Turn:
    """Seconds of the loop alone; each has an array that was computed just before."""
    shape = (LENGTH,) if what == BY_ONE else (SIDE, SIDE)
    a = numpy.random.default_rng(5).random(shape)
    x = library.give(a)
    if what == BY_ONE:
        loop = items if library.by_item else floats
    else:
        loop = items_by_two if library.by_item else floats_by_two

    def turn(units: int) -> dict[str, float]:
        seconds = 0.0
        for _ in range(units):
            computed = x + 1.0
            library.wait([computed])
            started = time.perf_counter()
            total = loop(computed)
            seconds += time.perf_counter() - started
        numpy.testing.assert_allclose(total, (a + 1.0).sum(), rtol=1e-9)
        return {"": seconds / units}

    return turn


#: by title: the file of ``benchmarks/programs``, and the arguments of its ``run``
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"example {name}": ("numpy_examples", {"name": name, "runs": 1})
       for name in ("heat", "kmeans", "kalman", "image", "nbody")},
    "extended Kalman filter": ("ekf", {"steps": 200, "runs": 1}),
    "particle filter": ("particle_filter",
                        {"particles": 100, "steps": 200, "runs": 1, "draws": "library"}),
    "character RNN": ("char_rnn",
                      {"hidden": 64, "window": 25, "steps": 20, "every": 10, "epochs": 1}),
    **{title: ("small_programs", {"name": name, "runs": 1, "tiny": 0})
       for title, name in (("game of life", "life"), ("Mandelbrot's set", "mandelbrot"),
                           ("smoke", "smoke"), ("ray tracer", "ray_tracer"))},
}  # fmt: skip
#: other arguments where results are compared: numbers that a library draws are its own, and
#: rounding errors of the RNN's losses grow tenfold with every window
COMPARED: dict[str, dict[str, Any]] = {
    "particle filter": {"draws": "host"}, "character RNN": {"steps": 8}}  # fmt: skip
#: runs after which what was found to be worth compiling is compiled, where 60 are not the number
WARM = {"extended Kalman filter": 120, "example kmeans": 20}


def run_of(np: Any, title: str, **others: Any) -> Any:
    """What a run of the program has told its Progress."""
    name, arguments = PROGRAMS[title]
    programs = importlib.import_module("programs")
    progress = programs.Progress()
    importlib.import_module(f"programs.{name}").run(np, progress, **{**arguments, **others})
    return progress.epochs[0]


def runs(np: Any, title: str) -> Turn:
    """Seconds of a program without what it does before its first sample; compared once."""
    if np is not numpy:
        found, wanted = (run_of(module, title, **COMPARED.get(title, {})).values
                         for module in (np, numpy))  # fmt: skip
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)

    def turn(units: int) -> dict[str, float]:
        return {"": sum(sum(run_of(np, title).seconds) for _ in range(units)) / units}

    return turn


def doing(library_of: Callable[[], Library], module: str = "") -> Callable[..., Turn]:
    """A contender's maker; the module is what it passes to programs."""

    def make(what: str, size: int = 0, title: str = "") -> Turn:
        if what == PROGRAM:
            return runs(importlib.import_module(module), title)
        library = library_of()
        if what == NUMBER:
            return reads_of_numbers(library)
        if what in (BY_ONE, BY_TWO):
            return reads_of_elements(library, what)
        return evaluations(library, what, size)

    return make


EVALUATIONS = {f"{size:,} elements, {what}": {"what": what, "size": size}
               for what, sizes in ((READ, (10, 1_000, 10_000)), (DROPPED, (10, 1_000)),
                                   (KEPT, (10, 1_000)))
               for size in sizes}  # fmt: skip
READS = {what: {"what": what} for what in (NUMBER, BY_ONE, BY_TWO)}

WORKLOAD = Workload(
    name="small_arrays",
    title="Small arrays",
    about=(
        "What a call costs where arrays are small, once everything is compiled. *Elements, read*: "
        "`float((np.exp(-x) * y + 0.5 * x).sum())` in float64, by `.item()` for those with "
        "PyTorch's interface; *dropped unread*: the result is replaced by the next one's, so that "
        "those who are lazy need not compute it; *kept*: a hundred results are kept, and then "
        "waited for. *A computed number*: `t.item()`, a hundred numbers read once each and then "
        "once more; computing them is not counted. Its target is PyTorch's time and a microsecond. "
        "*Elements, one by one*: a loop of `float(x[i])`, or `x[i].item()`, or with two indices, "
        "over an array that was computed just before, which is not counted. Programs: the five of "
        "`examples/numpy_programs` at their small sizes, an extended Kalman filter of 200 steps, a "
        "particle filter of 100 particles and 200 steps that reads two numbers for each, 20 "
        "windows of a character RNN, 50 generations of life on 32 x 32 cells, Mandelbrot's set on "
        "60 x 40 points by masks, 20 steps of smoke on 30 x 30 cells with walls written by "
        "slices, and a ray tracer of four balls on 48 x 32 points; what they do before their first "
        "sample is not counted. The first pass of a cache that grows for 200 tokens is in *First "
        "runs of NumPy programs*."
    ),
    cases=[
        *(Case(name, parameters, warm=2000, rounds=21, budget=8, per="expression",
               units=1000 if parameters["what"] == KEPT else None,
               quick=name == f"10 elements, {READ}")
          for name, parameters in EVALUATIONS.items()),
        Case(NUMBER, READS[NUMBER], warm=1000, units=500, rounds=21, budget=8, per="read",
             quick=False),
        *(Case(what, READS[what], warm=5, rounds=15, budget=8, units=2, per="loop", quick=False)
          for what in (BY_ONE, BY_TWO)),
        *(Case(title, {"what": PROGRAM, "title": title}, warm=WARM.get(title, 60), rounds=15,
               budget=8, per="run", quick=title == "game of life")
          for title in PROGRAMS),
    ],
    contenders=[
        Contender(OURS, "lazyloom", doing(lazyloom_numpy, "lazyloom_numpy")),
        Contender(OURS_TORCH, "lazyloom", doing(lazyloom_torch), only=[*EVALUATIONS, *READS]),
        Contender(NUMPY, "numpy", doing(numpy_itself, "numpy")),
        Contender(PYTORCH, "torch", doing(pytorch), only=[*EVALUATIONS, *READS]),
        Contender("MLX", "mlx", doing(mlx), only=[*EVALUATIONS, NUMBER],
                  note="float64's exp accurate to 1e-7"),
        Contender("jax.jit", "jax", doing(jax_jit), only=[*EVALUATIONS, NUMBER]),
    ],
    base=OURS,
    try_threads=True,
    columns=3,
    limits=[
        *(Limit("an expression whose number is read, beside NumPy",
                [f"{size:,} elements, {READ}"], [OURS], bound, [NUMPY])
          for size, bound in ((10, 2.0), (1_000, 1.0), (10_000, 0.5))),
        Limit("a number that is there, beside PyTorch and a microsecond", [NUMBER],
              [OURS, OURS_TORCH], 1.0, [PYTORCH], plus=1e-6),
        Limit("elements read one by one, beside PyTorch", [BY_ONE, BY_TWO], [OURS, OURS_TORCH],
              1.5, [PYTORCH]),
        Limit("a small program beside NumPy", list(PROGRAMS), [OURS], 1.3, [NUMPY]),
    ],
)  # fmt: skip
