"""Random programs for random generators: divided, checked, and run in NumPy beside the whole.

``python -m tests.codegen.random_partitions --start N --count M`` goes through M of them, with
``--xla`` in compiled programs (:mod:`.random_in_xla`). The number of one that fails is in its
error, and is all that it takes to make it again.
"""

from __future__ import annotations

import argparse
import random
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import lazyloom as ll
from lazyloom.codegen import (
    YES,
    Answer,
    Call,
    Code,
    Generator,
    No,
    Part,
    Partition,
    Pattern,
    Region,
    any_value,
    match,
    partition,
)
from lazyloom.codegen.check import Unsound, check
from lazyloom.ops.spec import lookup
from lazyloom.program.program import Instruction, Program, Structure
from lazyloom.program.stream import Leaf, Operand, Result, ScalarSlot, encode_operand
from lazyloom.trace.scalars import baked_constant
from lazyloom.types import TensorType

F32, F64, I64, BOOL = (
    ll.dtypes.float32, ll.dtypes.float64, ll.dtypes.int64, ll.dtypes.bool_)

#: NumPy's functions for the ops of random programs; they take the ops' attributes
NUMPY: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(np, name) for name in (
        "negative", "abs", "square", "tanh", "add", "subtract", "multiply", "maximum", "minimum",
        "greater", "where", "sign")},
    "addcmul": lambda x, y, z: x + y * z,
    "clip": lambda x, low, high: np.clip(x, low, high),
    "cast": lambda x, dtype: x.astype(dtype.numpy),
    "roll": lambda x, shifts, axes: np.roll(x, shifts, axes),
    "sum": lambda x, axes, dtype, keepdims: np.sum(x, axes, keepdims=keepdims),
    "concatenate": lambda *xs, axis: np.concatenate(xs, axis),
    "slice": lambda x, starts, stops, strides: x[tuple(map(slice, starts, stops))],
    # of several results
    "barrier": lambda *xs: xs,
    "split": lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
    "sort_with_indices": lambda x, axis, descending, stable: (
        np.sort(x, axis), np.argsort(x, axis, kind="stable")),
    "checked": lambda x, flag, kind, of, info: (x, flag),
}


class Values:
    """The random numbers of one program, and what it has recorded so far.

    With ``exact``, numbers are small integers and no op rounds them, so that all that is computed,
    in whatever order and however fused, is the same to the last bit, until it grows too large.
    """

    def __init__(self, number: int, exact: bool = False) -> None:
        self.random: Final = random.Random(number)
        self.exact: Final = exact
        self.stream: Final[list[Any]] = []
        self.leaves: Final[list[TensorType]] = []
        self.leaf_values: Final[list[np.ndarray]] = []
        self.known: Final[list[tuple[Operand, TensorType]]] = []
        self.used: Final[set[Operand]] = set()
        self.count = 0

    def record(self, op: str, *operands: Any, **attributes: Any) -> None:
        """One more op, whose results can be operands."""
        given = [o for o, _ in operands]
        spec = ll.spec_of(lookup(op), attributes, len(given))
        self.stream += [spec, *map(encode_operand, given)]
        for r, t in enumerate(spec.infer(tuple(t for _, t in operands))):
            self.known.append((Result(self.count, r), t))
        self.count += 1

    def leaf(self, t: TensorType) -> tuple[Operand, TensorType]:
        """A leaf of that type, one there is or a new one."""
        same = [k for k, known in enumerate(self.leaves) if known is t]
        if same and self.random.random() < 0.6:
            return Leaf(self.random.choice(same)), t
        self.leaves.append(t)
        self.leaf_values.append(data(self.random, t, self.exact))
        return Leaf(len(self.leaves) - 1), t

    def operand(self, fits: Callable[[TensorType], bool], t: TensorType) -> Any:
        """Something of a type that fits, recent results before others; a leaf of type ``t``."""
        some = [k for k in self.known[-self.random.choice((3, 8, 100)):] if fits(k[1])]
        # mostly what nothing uses yet, without which no pattern would match
        fresh = [k for k in some if k[0] not in self.used]
        if fresh and self.random.random() < 0.7:
            some = fresh
        if some and self.random.random() < 0.9:
            found = self.random.choice(some)
            self.used.add(found[0])
            return found
        return self.leaf(t)


def data(rng: random.Random, t: TensorType, exact: bool = False) -> np.ndarray:
    """Data of a type: mostly small numbers, with zeros of both signs, infinities and NaNs."""
    if exact:
        some = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
        numbers = [rng.choice((*some, *some, *some, float("inf"), float("nan")))
                   for _ in range(t.size)]
        if t.dtype.kind == "f":
            return np.array(numbers, t.dtype.numpy).reshape(t.shape)
    numbers = [rng.choice((rng.uniform(-2, 2), rng.uniform(-2, 2), rng.uniform(-2, 2), 0.0, -0.0,
                           float("inf"), float("nan"))) for _ in range(t.size)]
    if t.dtype.kind != "f":
        numbers = [rng.randrange(2) for _ in range(t.size)]
    return np.array(numbers, t.dtype.numpy).reshape(t.shape)


SHAPES: Final = ((4,), (4,), (4,), (2, 4), ())
#: shapes that broadcast with each other
FIT: Final = {*SHAPES, (1,)}


def structure(values: Values, size: int) -> Structure:
    """A random program of about that many ops."""
    rng = values.random
    while values.count < size:
        dtype = rng.choice((F32, F32, F32, F64))
        t = ll.tensor_type(rng.choice(SHAPES), dtype)

        def number(t: TensorType = t, dtype: ll.DType = dtype) -> Any:
            """A run-time scalar or a constant, now and then, or else a tensor."""
            draw = rng.random()
            if draw < 0.06:
                return ScalarSlot(dtype, 0), ll.tensor_type((), dtype)
            if draw < 0.1:
                return baked_constant(rng.choice((0, 1)), dtype), ll.tensor_type((), dtype)
            return values.operand(lambda k: k.dtype is dtype and k.shape in FIT, t)

        def vector(t: TensorType = t, dtype: ll.DType = dtype) -> Any:
            return values.operand(lambda k: k.dtype is dtype and k.shape == (4,),
                                  ll.tensor_type((4,), dtype))

        draw = rng.random()
        if draw < 0.3:
            last = "sign" if values.exact else "tanh"
            values.record(rng.choice(("negative", "abs", "square", last)), number())
        elif draw < 0.6:
            op = rng.choice(("add", "subtract", "multiply", "maximum", "minimum"))
            values.record(op, number(), number())
        elif draw < 0.68:
            values.record("addcmul", number(), number(), number())
        elif draw < 0.74:
            low, high = (rng.choice(((None, None), number())) for _ in range(2))
            if low[0] is None and high[0] is None:
                low = number()
            values.record("clip", vector(), low, high)
        elif draw < 0.8:
            condition = values.operand(lambda k: k.dtype is BOOL, ll.tensor_type((4,), BOOL))
            values.record("where", condition, number(), number())
        elif draw < 0.84:
            values.record("greater", number(), number())
        elif draw < 0.89:
            values.record("roll", vector(), shifts=(rng.randrange(4),), axes=(0,))
        elif draw < 0.92:
            some = values.operand(lambda k: bool(k.size), t)
            values.record("cast", some, dtype=rng.choice((F32, F64)))
        elif draw < 0.94:
            values.record("sum", vector())
        elif draw < 0.96:
            values.record("split", vector(), sizes=(1, 3))
            values.record("concatenate", values.known[-1], values.known[-2])
        elif draw < 0.975:
            values.record("sort_with_indices", vector())
        elif draw < 0.985:
            values.record("barrier", *(number() for _ in range(rng.randint(1, 3))))
        elif draw < 0.9925:
            flag = values.operand(lambda k: k.dtype is BOOL, ll.tensor_type((4,), BOOL))
            values.record("checked", number(), flag, kind="random")
        else:
            some = vector()
            values.record("slice", some, starts=(2,), stops=(2,))
            values.record("concatenate", values.known[-1], some)
    return Structure(tuple(values.stream), tuple(values.leaves))


class Random(Generator):
    """A generator that does a random part of all ops, in a random way."""

    def __init__(self, rng: random.Random, name: str, program: Sequence[Instruction]) -> None:
        self.name = name
        self.version = "1"
        self.priority = rng.choice((0, 0, 0, 1, -1))
        self.merges = rng.random() < 0.8
        self.salt = rng.randrange(1 << 30)
        #: the part of ops that it does by name, of calls of these, and of checks it says yes to
        self.part = rng.choice((0.3, 0.6, 0.8, 1.0))
        self.finer = rng.choice((0.7, 0.9, 1.0, 1.0))
        self.least = rng.choice((1, 1, 1, 2, 3))
        self.whole = rng.random() < 0.2
        self.found = [random_pattern(rng, k, self, program)
                      for k in range(rng.choice((0, 1, 3, 6, 10)))]

    def draw(self, what: object) -> float:
        """A number from 0 to 1 that depends on nothing but what it is for."""
        return zlib.crc32(f"{self.salt} {what!r}".encode()) / 2**32

    def supports(self, call: Call) -> Answer:
        if not self.whole and self.draw(call.op) > self.part:
            return No(f"no {call.op}")
        if self.draw((call.op, sorted(call.attributes.items()), call.operands)) > self.finer:
            return No("no such call")
        return YES

    def patterns(self) -> Sequence[Pattern]:
        return self.found

    def worthwhile(self, region: Region) -> Answer:
        return YES if len(region.calls) >= self.least else No("too few ops")

    def build(self, region: Region) -> Code:
        raise NotImplementedError


NAMES: Final = sorted(NUMPY.keys() - {"sign"})


def random_pattern(
    rng: random.Random, number: int, generator: Random, program: Sequence[Instruction]
) -> Pattern:
    """A tree of ops that the program has, other ops in their places, or a part of it."""
    wild = [any_value() for _ in range(3)]

    def node(at: int, depth: int) -> Any:
        i = program[at]
        names = {i.spec.op.name, *rng.sample(NAMES, rng.choice((0, 0, 2, 6)))}
        inside = []
        for item in i.operands[: rng.choice((1, 2, 3))]:
            if isinstance(item, Result) and depth and rng.random() < 0.8:
                inside.append(node(item.instruction, depth - 1))
            else:
                inside.append(rng.choice((any_value(), rng.choice(wild))))
        if len(inside) > 1 and rng.random() < 0.2:
            inside[:2] = inside[1::-1]
        return match(" ".join(sorted(names)), *inside, commutes=rng.random() < 0.3,
                     optional=rng.random() < 0.2)

    def check(calls: Sequence[Call]) -> Answer:
        return YES if generator.draw(tuple(calls)) < 0.7 else No("not these")

    root = max(rng.randrange(len(program)) for _ in range(2))
    return Pattern(f"p{number}", node(root, rng.choice((1, 2, 2, 3))),
                   check if rng.random() < 0.3 else None)


# running them

Arrays = tuple[np.ndarray, ...]


def evaluated(i: Instruction, operands: Sequence[Any]) -> Arrays:
    """The results of an op on arrays, of exactly the types that it says."""
    with np.errstate(all="ignore"):
        out = NUMPY[i.spec.op.name](*operands, **i.spec.attrs)
    listed = out if isinstance(out, (tuple, list)) else (out,)
    found = tuple(np.asarray(x).astype(t.dtype.numpy, copy=False)
                  for x, t in zip(listed, i.types, strict=True))
    assert [x.shape for x in found] == [t.shape for t in i.types], i
    return found


def interpreted(
    instructions: Sequence[Instruction], value: Callable[[Operand], Any]
) -> list[Arrays]:
    """All results of a program; ``value`` gives operands that are no results."""
    results: list[Arrays] = []
    for i in instructions:
        results.append(evaluated(i, [
            results[o.instruction][o.number] if isinstance(o, Result) else value(o)
            for o in i.operands]))
    return results


class Inputs:
    """What a program takes: leaves and run-time scalars."""

    def __init__(self, values: Values) -> None:
        self.leaves: Final = values.leaf_values
        self.seed: Final = values.random.randrange(1 << 30)
        self.exact: Final = values.exact

    def __call__(self, item: Operand) -> Any:
        if isinstance(item, Leaf):
            return self.leaves[item.number]
        if isinstance(item, ScalarSlot):
            rng = random.Random(f"{self.seed} {item.dtype.name} {item.ordinal}")
            return data(rng, ll.tensor_type((), item.dtype), self.exact)
        return constant(item)


def constant(item: Operand) -> Any:
    """A constant of a program; None for an operand that is absent."""
    if item is None:
        return None
    assert not isinstance(item, (Leaf, Result, ScalarSlot))
    return np.asarray(item.number, item.dtype.numpy)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays are equal in type and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def run(found: Partition, instructions: Sequence[Instruction], inputs: Inputs) -> (
    dict[tuple[int, int], np.ndarray]
):
    """What steps leave behind: all results of XLA's ops, and of regions what they give."""
    there: dict[tuple[int, int], np.ndarray] = {}

    def value(item: Operand) -> Any:
        if isinstance(item, Result):
            return there[item.instruction, item.number]
        return inputs(item)

    for step in found.steps:
        if step < 0:
            i = instructions[-1 - step]
            for r, x in enumerate(evaluated(i, [value(o) for o in i.operands])):
                there[-1 - step, r] = x
        else:
            there.update(zip(found.parts[step].outputs, of_region(found.parts[step], value),
                             strict=True))
    return there


def of_region(part: Part, value: Callable[[Operand], Any]) -> list[np.ndarray]:
    """What a region gives, by its own program, which knows nothing but its operands."""
    given = [value(o) for o in part.operands]
    for x, t in zip(given, part.region.operands, strict=True):
        assert x.shape == t.shape and x.dtype == t.dtype.numpy

    def own(item: Operand) -> Any:
        return given[item.number] if isinstance(item, Leaf) else constant(item)

    program = part.region.program
    results = interpreted(program.structure.instructions, own)
    return [results[n][r] for n, r in program.outputs]


# one of them


class Outcome(NamedTuple):
    """What came of a random program."""

    ops: int
    regions: int
    groups: int
    in_regions: int
    wrong: int


def outcome(number: int, execute: bool = True) -> Outcome:
    """Divide a random program, and raise AssertionError or Unsound where that is wrong."""
    values = Values(number)
    rng = values.random
    whole = structure(values, rng.choice((3, 6, 10, 16, 16, 30, 60)))
    everything = [(o.instruction, o.number) for o, _ in values.known]
    outputs = rng.sample(everything, min(len(everything), rng.choice((1, 2, 3, 5))))
    if rng.random() < 0.7 and everything[-1] not in outputs:
        outputs.append(everything[-1])
    generators = [Random(rng, name, whole.instructions)
                  for name in ("one", "two", "three")[: rng.choice((1, 2, 2, 3))]]
    found = partition(whole, outputs, generators)
    wrong = 0
    for again in (False, True):
        examine(whole, outputs, generators, found)
        wrong += corrupted(whole, outputs, found, rng)
        if execute:
            executed(whole, outputs, found, Inputs(values))
        if again or not found.parts or rng.random() < 0.8:
            break
        # once more without one of the regions
        part = rng.choice(found.parts)
        key = part.generator.name, part.region.program.key
        found = partition(whole, outputs, generators, [key])
        assert key not in {(p.generator.name, p.region.program.key) for p in found.parts}
    return Outcome(
        len(whole.instructions), len(found.parts),
        sum(len(part.region.composites) for part in found.parts),
        sum(owner >= 0 for owner in found.owner), wrong)


def examine(whole: Structure, outputs: Sequence[tuple[int, int]],
            generators: Sequence[Random], found: Partition) -> None:  # fmt: skip
    """What each partition must be, beside what the checker looks at."""
    check(whole, outputs, found)
    for n, (i, owner) in enumerate(zip(whole.instructions, found.owner, strict=True)):
        empty = any(t is not None and not t.size for t in (*i.operand_types, *i.types))
        if owner < 0:
            assert found.reasons[n], f"nobody says why op {n} is XLA's"
            if not (empty or i.spec.checked):
                explained(i, generators, found.reasons[n])
        else:
            assert not empty and not i.spec.checked, f"op {n} was offered"
    assert [s for s in found.steps if s >= 0] == list(range(len(found.parts)))
    for part in found.parts:
        own = part.region.program
        assert part.outputs and not own.donated and len(part.members) >= part.generator.least
        assert Program.parse(own.serialized) == own
        assert list(part.outputs) == leaving(whole, outputs, set(part.members))
        inside = [n for _, members in part.region.composites for n in members]
        assert len(inside) == len(set(inside)), "groups overlap"
        for name, members in part.region.composites:
            pattern = part.generator.found[int(name[1:])]
            alone = [part.members[n] for n in members]
            assert alone == sorted(alone) and len(alone) > 1
            assert {n for n, _ in leaving(whole, outputs, set(alone))} <= {alone[-1]}, "it escapes"
            ways = matching(pattern.root, Result(alone[-1], 0), whole.instructions, {})
            assert any(used == set(alone) for used, _ in ways), f"{name} is no such group"
        by_itself = set(range(len(part.members))) - set(inside)
        for n in by_itself:
            assert part.generator.supports(part.region.calls[n])
        assert part.generator.merges or len(by_itself) + len(part.region.composites) == 1
        used = [o.number for i in own.structure.instructions for o in i.operands
                if isinstance(o, Leaf)]
        assert list(dict.fromkeys(used)) == list(range(len(part.operands)))
        assert [t for t, _ in part.region.in_memory()] == [
            *part.region.operands, *part.region.results]


def leaving(whole: Structure, outputs: Sequence[tuple[int, int]], members: set[int]) -> (
    list[tuple[int, int]]
):
    """The results of some ops that others use or that the program gives, in order."""
    found = {(n, r) for n, r in outputs if n in members}
    for n, i in enumerate(whole.instructions):
        if n not in members:
            found |= {(o.instruction, o.number) for o in i.operands
                      if isinstance(o, Result) and o.instruction in members}
    return sorted(found)


def matching(
    node: Any, operand: Operand, program: Sequence[Instruction], bound: dict[Any, Operand]
) -> Iterator[tuple[frozenset[int], dict[Any, Operand]]]:
    """The ways in which an operand is what a pattern says: the ops, and what wildcards are."""
    if not hasattr(node, "ops"):
        if bound.get(node, operand) == operand:
            yield frozenset(), {**bound, node: operand}
        return
    if isinstance(operand, Result) and not operand.number:
        i = program[operand.instruction]
        orders = [list(i.operands)]
        if node.commutes and len(orders[0]) > 1:
            orders.append([orders[0][1], orders[0][0], *orders[0][2:]])
        for given in orders:
            if i.spec.op.name not in node.ops or len(given) < len(node.operands):
                continue
            ways = [(frozenset([operand.instruction]), bound)]
            for inner, item in zip(node.operands, given, strict=False):
                ways = [(used | more, after) for used, before in ways
                        for more, after in matching(inner, item, program, before)]
            yield from ways
    if node.optional and node.operands:
        yield from matching(node.operands[0], operand, program, bound)


def explained(i: Instruction, generators: Sequence[Random], reasons: Mapping[str, str]) -> None:
    """Whether an op that is XLA's is so for a reason that is true."""
    call = Call.of(i)
    for generator in sorted(generators, key=lambda g: -g.priority):
        reason = reasons.get(generator.name)
        if reason in ("too few ops", "nothing uses its results") or (
            reason is not None and reason.startswith("it failed here before")
        ):
            return  # nobody else is asked about what was taken
        assert reason is not None, f"{generator.name} says nothing of {call.op}"
        answer = generator.supports(call)
        assert isinstance(answer, No) and (
            reason == answer.reason or reason.endswith(": not these")), (call, reason)


def corrupted(whole: Structure, outputs: Sequence[tuple[int, int]], found: Partition,
              rng: random.Random) -> int:  # fmt: skip
    """Partitions that are not right any more; the checker finds all of them."""
    wrong = [found.steps[:-1], [*found.steps, rng.choice(found.steps)]]
    needs = [needed(whole, found, step) for step in found.steps]
    made = [gives(whole, found, step) for step in found.steps]
    for k in range(len(needs) - 1):
        if needs[k + 1] & made[k]:
            wrong.append([*found.steps[:k], found.steps[k + 1], found.steps[k],
                          *found.steps[k + 2:]])
    changed = [Partition(found.parts, steps, found.owner, found.reasons) for steps in wrong]
    for p, part in enumerate(found.parts):
        for parts in (
            [part._replace(operands=part.operands[1:])] if part.operands else [],
            [part._replace(outputs=part.outputs[1:])],
            [part._replace(members=part.members[:-1])],
        ):
            if parts:
                changed.append(Partition(
                    [*found.parts[:p], *parts, *found.parts[p + 1:]], found.steps, found.owner,
                    found.reasons))
    for one in changed:
        try:
            check(whole, outputs, one)
        except Unsound:
            continue
        raise AssertionError("the checker takes what is wrong for sound")
    return len(changed)


def needed(whole: Structure, found: Partition, step: int) -> set[tuple[int, int]]:
    """The results that a step takes."""
    operands = found.parts[step].operands if step >= 0 else (
        whole.instructions[-1 - step].operands)
    return {(o.instruction, o.number) for o in operands if isinstance(o, Result)}


def gives(whole: Structure, found: Partition, step: int) -> set[tuple[int, int]]:
    """The results that a step leaves behind."""
    if step >= 0:
        return set(found.parts[step].outputs)
    return {(-1 - step, r) for r in range(len(whole.instructions[-1 - step].types))}


def executed(whole: Structure, outputs: Sequence[tuple[int, int]], found: Partition,
             inputs: Inputs) -> None:  # fmt: skip
    """Whether everything that steps leave behind is what the whole program computes."""
    expected = interpreted(whole.instructions, inputs)
    there = run(found, whole.instructions, inputs)
    for n, r in outputs:
        assert (n, r) in there
    for (n, r), x in there.items():
        assert same(x, expected[n][r]), f"result {r} of op {n} differs"


def through(start: int, count: int, execute: bool = True) -> Counter[str]:
    """Go through some; how many there were, of what."""
    total: Counter[str] = Counter()
    for number in range(start, start + count):
        try:
            found = outcome(number, execute)
        except Exception as error:
            error.add_note(f"random program {number}")
            raise
        total["programs"] += 1
        total["with regions"] += found.regions > 0
        total["with several regions"] += found.regions > 1
        total.update(found._asdict())
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--no-run", action="store_true", help="divide and check, do not execute")
    parser.add_argument(
        "--xla", action="store_true",
        help="compile each by XLA, with its regions and without them, and compare the results")
    asked = parser.parse_args()
    before = time.perf_counter()
    if asked.xla:
        from .random_in_xla import report

        report(asked.start, asked.count)
        return
    total = through(asked.start, asked.count, not asked.no_run)
    print(f"{total['programs']} programs from {asked.start} on: {total['ops']} ops, of which "
          f"{total['in_regions']} in {total['regions']} regions with {total['groups']} groups; "
          f"{total['with regions']} with regions, {total['with several regions']} with several; "
          f"{total['wrong']} wrong partitions refused; {time.perf_counter() - before:.1f} s")


if __name__ == "__main__":
    main()
