"""Random functions, captured, mapped, in loops and differentiated, with generators and without.

``python -m tests.codegen.random_frontends --start N --count 20000`` goes through so many (a hundred
took four minutes of two busy cores), ``--exact N`` through one. Two or three generators do random
ops and groups, refuse regions, cannot build others, raise when they are asked, and fail while they
run. Numbers are small integers of float64, on which most of what is computed is exact: then results
are equal to the last bit. Gradients through several products may grow too large for that; these are
compared to a part in 10^9, and counted as "inexact".
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.cache import memory
from lazyloom.codegen import faults

from .generators import ByKernels
from .random_in_xla import quickly

OPS = ("add", "multiply", "subtract", "negative", "maximum", "matmul", "clip", "where", "sum")
#: the last but one axis of all values; vectors are of the last one
ROWS, SIZE = 2, 2
#: what may fail: nothing mostly
FAULTS = ("", "", "", "build", "ask", "run", "worthwhile")


class Picky(ByKernels):
    """Does some ops, refuses some regions and cannot build others."""

    def __init__(self, rng: random.Random, name: str) -> None:
        some = rng.sample(OPS, rng.randint(2, len(OPS)))
        gradients = [f"{op}.vjp" for op in OPS if rng.random() < 0.5]
        super().__init__(*some, *gradients, name=name, order=rng.random() < 0.2)
        self.version = str(rng.randrange(1 << 30))
        self.merges = rng.random() < 0.8
        self.fault = rng.choice(FAULTS)
        self.at = rng.choice((*some, *gradients))
        self.later = rng.choice((1, 1, 2, 5))
        self.refuses = rng.choice((0.0, 0.0, 0.3))
        self.only = rng.random() < 0.2
        self.grouped = rng.random() < 0.5
        #: whether it ever raised
        self.raised = False

    def _raise(self, what: str) -> None:
        self.raised = True
        raise OSError(f"its device is busy: {what}")

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if self.fault == "ask" and call.op == self.at:
            self._raise("asked")
        return super().supports(call)

    def patterns(self) -> Sequence[codegen.Pattern]:
        if not self.grouped:
            return ()
        root = codegen.match("add subtract", codegen.match(
            "multiply matmul", codegen.any_value(), codegen.any_value()), codegen.any_value())
        return [codegen.Pattern("product_and_sum", root, lambda calls: codegen.YES,
                                shows=self.merges)]

    def worthwhile(self, region: codegen.Region) -> codegen.Answer | codegen.Only:
        ops = [call.op for call in region.calls]
        if self.fault == "worthwhile" and self.at in ops:
            self._raise("worthwhile")
        draw = random.Random(f"{self.version} {ops}")
        if draw.random() < self.refuses:
            return codegen.No("not this one")
        if self.only and len(ops) > 1 and draw.random() < 0.5:
            return codegen.Only(draw.sample(range(len(ops)), len(ops) - 1), "not all of it")
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        if self.fault == "build" and self.at in [call.op for call in region.calls]:
            self._raise("build")
        return super().build(region)

    def before(self, operands: tuple[Any, ...]) -> None:
        if self.fault == "run" and self.calls > self.later:
            self._raise("run")


def function(rng: random.Random) -> Callable[[Any, Any], Any]:
    """A function of a matrix and a vector that gives a matrix; the same each time it is called."""
    steps = [(rng.choice(("add", "multiply", "subtract", "maximum", "matmul", "negative", "where",
                          "clip", "vector")), rng.randrange(100), rng.randrange(100))
             for _ in range(rng.choice((1, 2, 2, 3, 4, 6)))]

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


KINDS = ("mapped", "mapped twice", "captured", "scan", "while", "cond", "nested", "mapped scan",
         "scan and while")


def program(rng: random.Random) -> tuple[str, Callable[[Any, Any], Any]]:
    """What is done with a function, and a function of a stack of matrices and a vector."""
    one, two = function(rng), function(rng)
    how = rng.choice(KINDS)
    length, reverse, unroll = rng.randint(1, 4), rng.random() < 0.3, rng.choice((1, 1, 2))
    bound = rng.choice((2, 3, 5))

    def small(x: Any) -> Any:
        return np.clip(x, -4, 4)

    def loop(x: Any, v: Any) -> Any:
        last, each = lazyloom.scan(
            lambda carry, w: (small(one(carry, w)), carry.sum()), x,
            np.stack([v + k for k in range(length)]), reverse=reverse, unroll=unroll)
        return two(last, v) + each.sum()

    def again(x: Any, v: Any) -> Any:
        return two(lazyloom.while_loop(
            lambda at: at[0] < 3, lambda at: (at[0] + 1, small(one(at[1], v))),
            (np.asarray(0), x), max_steps=bound)[1], v)

    def branch(x: Any, v: Any) -> Any:
        return lazyloom.cond(
            x.sum() > v.sum(), lambda y: one(y, v), lambda y: two(y, v + 1), x)

    def nested(x: Any, v: Any) -> Any:
        def inner(carry: Any, w: Any) -> Any:
            return small(one(carry, w)), None

        def outer(carry: Any, w: Any) -> Any:
            found, _ = lazyloom.scan(inner, carry, np.stack([w, v]))
            return small(two(found, w)), found.sum()

        last, each = lazyloom.scan(outer, x, np.stack([v + k for k in range(length)]))
        return last + each.sum()

    if how == "mapped":
        return how, lambda xs, v: two(lazyloom.vmap(one, in_axes=(0, None))(xs, v), v)
    if how == "mapped twice":
        inner = lazyloom.vmap(lambda x, w: one(x, w).sum(axis=0), in_axes=(None, 0))
        return how, lambda xs, v: lazyloom.vmap(inner, in_axes=(0, None))(
            xs, np.stack([v, v + 1, -v]))
    if how == "captured":
        within = rng.choice((lambda x, v: two(one(x, v), v), loop, branch))
        return how, lazyloom.jit(within)
    if how == "mapped scan":
        return how, lambda xs, v: lazyloom.vmap(loop, in_axes=(0, None))(xs, v)
    if how == "scan and while":
        return how, lambda xs, v: again(loop(xs, v), v)
    return how, {"scan": loop, "while": again, "cond": branch, "nested": nested}[how]


def differentiated(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function, and its gradients by both arguments."""
    both = lazyloom.value_and_grad(lambda xs, v: call(xs, v).sum(), argnums=(0, 1))

    def values(xs: Any, v: Any) -> Any:
        value, gradients = both(xs, v)
        return value, *gradients

    return values


def outcome(number: int) -> Counter[str]:
    """Run one with generators and without; raises AssertionError where they differ.

    Returns what was done, and what happened.
    """
    rng = random.Random(number)
    how, call = program(rng)
    if rng.random() < 0.5:
        how, call = f"{how}, gradient", differentiated(call)
    generators = [Picky(rng, f"front_{k}") for k in range(rng.choice((2, 3)))]
    by = rng.choice(("order", "order", "gain"))
    mode = rng.choice((None, None, None, None, codegen.verify, codegen.segmented))
    for generator in generators:
        codegen.register(generator)
    data = numpy.random.default_rng(number)
    xs = data.integers(-2, 3, (3, ROWS, SIZE)).astype("f8")
    v = data.integers(-2, 3, (SIZE,)).astype("f8")

    def run() -> tuple[list[Any], Any]:
        results = call(np.asarray(xs), np.asarray(v))
        results = results if isinstance(results, tuple) else (results,)
        lazyloom.sync(*results)
        record = lazyloom.last_evaluation()
        return [numpy.asarray(r) for r in results], record

    found = []
    # what fails is left out of the second run, and a captured function is replayed
    with ExitStack() as stack:
        stack.enter_context(lazyloom.options(reproducible=True))
        with ExitStack() as chosen:
            chosen.enter_context(codegen.use(*(g.name for g in generators), by=by))
            if mode is not None:
                chosen.enter_context(mode())
            again = how.startswith("captured") or any(g.fault == "run" for g in generators)
            found = [run() for _ in range(3 if again else 1)]
            told = codegen.explain(found[0][1].program)
        expected, record = (stack.enter_context(codegen.use("xla")), run())[1]
        assert not record.regions.run
    exact = True
    for results, _ in found:
        for a, b in zip(results, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            if not numpy.array_equal(a, b, equal_nan=True):
                exact = False
                numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=how)
    if not exact:
        # what grew beyond the integers of float64 alone
        assert max(float(numpy.abs(b).max()) for b in expected) > 2 ** 24, how
    failed = {f.when for f in codegen.failures()}
    assert failed <= {"build", "ask", "run"}, codegen.failures()
    assert not failed or any(g.raised for g in generators), codegen.failures()
    faults.forget()
    calls = sum(g.calls for g in generators)
    regions = found[0][1].regions.run
    return Counter({
        how: 1, f"{how}, in regions": calls > 0, "ran": calls, "inexact": not exact,
        "regions": len(regions), "with faults": bool(failed),
        "regions in loops": sum(
            any(b.partition.every_part()) for loop in told.partition.loops for b in loop.bodies),
        "programs": 1, "gradients": "gradient" in how, **{f"failed to {w}": 1 for w in failed}})


def through(start: int, count: int) -> Counter[str]:
    """Go through some; how many there were, of what."""
    total: Counter[str] = Counter()
    with quickly(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for number in range(start, start + count):
            try:
                total += outcome(number)
            except Exception as error:
                error.add_note(f"random function {number}")
                raise
            if number % 50 == 49:
                memory.clear()
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--exact", type=int, help="go through this one, and print what it is")
    asked = parser.parse_args()
    if asked.exact is not None:
        print(dict(through(asked.exact, 1)))
        return
    before = time.perf_counter()
    total: Counter[str] = Counter()
    for first in range(asked.start, asked.start + asked.count, 100):
        total += through(first, min(100, asked.start + asked.count - first))
        print(dict(total), f"{time.perf_counter() - before:.0f} s", flush=True)


if __name__ == "__main__":
    main()
