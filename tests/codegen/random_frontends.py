"""Random functions, mapped, captured and in loops, with several generators beside XLA alone.

``python -m tests.codegen.random_frontends --start N --count M``. Numbers are small integers, on
which all that is computed is exact, so that results have to be equal to the last bit.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.codegen import faults

from .generators import InNumPy

OPS = ("add", "multiply", "subtract", "negative", "maximum", "matmul")
#: the last but one axis of all values; vectors are of the last one
ROWS, SIZE = 2, 2


class Picky(InNumPy):
    """Does some ops, refuses some regions and cannot build others."""

    def __init__(self, rng: random.Random, name: str) -> None:
        super().__init__(*rng.sample(OPS, rng.randint(2, len(OPS))), name=name)
        self.version = str(rng.randrange(1 << 30))
        self.merges = rng.random() < 0.8
        self.refuses = rng.choice((0.0, 0.0, 0.3))
        self.unable = rng.choice(("", "", "negative", "add"))
        self.rng = random.Random(rng.randrange(1 << 30))

    def worthwhile(self, region: codegen.Region) -> codegen.Answer:
        ops = " ".join(call.op for call in region.calls)
        draw = random.Random(f"{self.version} {ops}").random()
        return codegen.No("not this one") if draw < self.refuses else codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        if self.unable in [call.op for call in region.calls]:
            raise NotImplementedError(f"no {self.unable}")
        return super().build(region)


def function(rng: random.Random) -> Callable[[Any, Any], Any]:
    """A function of a matrix and a vector that gives a matrix; the same each time it is called."""
    steps = [(rng.choice(("add", "multiply", "subtract", "maximum", "matmul", "negative", "where",
                          "clip", "vector")), rng.randrange(100), rng.randrange(100))
             for _ in range(rng.randint(2, 8))]

    def call(x: Any, v: Any) -> Any:
        values = [x, x + v]
        for op, a, b in steps:
            left, right = values[a % len(values)], values[b % len(values)]
            if op == "negative":
                found = -left
            elif op == "matmul":
                found = np.matmul(left, right)
            elif op == "where":
                found = np.where(left > right, left, right * 2)
            elif op == "vector":
                found = left * v - right
            elif op == "clip":
                found = left
            else:
                found = getattr(np, op)(left, right)
            # what stays small stays exact
            values.append(np.clip(found, -4, 4))
        return values[-1] + values[-2]

    return call


def program(rng: random.Random) -> tuple[str, Callable[[Any, Any], Any]]:
    """What is done with a function, and a function of a stack of matrices and a vector."""
    one, two = function(rng), function(rng)
    how = rng.choice(("mapped", "mapped twice", "captured", "scan", "while", "mapped scan"))
    if how == "mapped":
        return how, lambda xs, v: two(lazyloom.vmap(one, in_axes=(0, None))(xs, v), v)
    if how == "mapped twice":
        inner = lazyloom.vmap(lambda x, w: one(x, w).sum(axis=0), in_axes=(None, 0))
        return how, lambda xs, v: lazyloom.vmap(inner, in_axes=(0, None))(
            xs, np.stack([v, v + 1, -v]))
    if how == "captured":
        captured = lazyloom.jit(lambda xs, v: two(one(xs, v), v))
        return how, lambda xs, v: [captured(xs, v) for _ in range(3)][-1]
    if how == "while":
        return how, lambda xs, v: two(lazyloom.while_loop(
            lambda at: at[0] < 3, lambda at: (at[0] + 1, np.clip(one(at[1], v), -4, 4)),
            (np.asarray(0), xs))[1], v)

    def loop(x: Any, v: Any) -> Any:
        last, each = lazyloom.scan(
            lambda carry, w: (np.clip(one(carry, w), -4, 4), carry.sum()), x,
            np.stack([v, v + 1, -v]))
        return two(last, v) + each.sum()

    if how == "scan":
        return how, loop
    return how, lambda xs, v: lazyloom.vmap(loop, in_axes=(0, None))(xs, v)


def outcome(number: int) -> tuple[str, int]:
    """Run one with generators and without; raises AssertionError where they differ.

    Returns what was done with a function, and how often regions ran.
    """
    rng = random.Random(number)
    how, call = program(rng)
    generators = [Picky(rng, name) for name in ("front_one", "front_two", "front_three")]
    rng.shuffle(generators)
    for generator in generators:
        codegen.register(generator)
    data = numpy.random.default_rng(number)
    xs = data.integers(-2, 3, (3, ROWS, SIZE)).astype("f4")
    v = data.integers(-2, 3, (SIZE,)).astype("f4")
    found = []
    for names in ([g.name for g in generators], ["xla"]):
        with codegen.use(*names), lazyloom.options(reproducible=True):
            found.append(numpy.asarray(call(np.asarray(xs), np.asarray(v))))
    assert found[0].dtype == found[1].dtype
    numpy.testing.assert_array_equal(found[0], found[1], err_msg=how)
    assert {f.when for f in codegen.failures()} <= {"build"}
    faults.forget()
    return how, sum(g.calls for g in generators)


def through(start: int, count: int) -> Counter[str]:
    """Go through some; how many there were, of what."""
    total: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for number in range(start, start + count):
            try:
                how, ran = outcome(number)
            except Exception as error:
                error.add_note(f"random function {number}")
                raise
            total["programs"] += 1
            total[how] += 1
            total["ran"] += ran
            total[f"{how}, in regions"] += ran > 0
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    asked = parser.parse_args()
    before = time.perf_counter()
    print(dict(through(asked.start, asked.count)), f"{time.perf_counter() - before:.0f} s")


if __name__ == "__main__":
    main()
