"""Random programs, random generators that do a part of them, and what NumPy makes of both."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import lazyloom as ll
from lazyloom.codegen import (
    YES,
    Answer,
    Call,
    Code,
    Generator,
    No,
    Only,
    Part,
    Partition,
    Pattern,
    Region,
    any_value,
    match,
)
from lazyloom.ops.derived import VMAP
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.program.program import Instruction, Structure
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

    def record(self, op: str, *operands: Any, mapped: tuple[int, ...] = (), **attributes: Any) -> (
        None
    ):
        """One more op, whose results can be operands; for each element of an axis of some."""
        given = [o for o, _ in operands]
        of = lookup(op)
        if mapped:
            of = of.derive(VMAP)
            attributes[of.own[0]] = mapped
        spec = ll.spec_of(of, attributes, len(given))
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
        elif draw < 0.965:
            values.record("sort_with_indices", vector())
        elif draw < 0.975:
            matrix = ll.tensor_type((2, 4), dtype)
            rows = values.operand(lambda k, t=matrix: k is t, matrix)
            if rng.random() < 0.3:
                values.record(rng.choice(("negative", "square", "sum")), rows, mapped=(0,))
            else:
                other = rng.choice((rows, vector()))
                mapped = rng.choice(((0,), (0, 1))) if other is rows else (0,)
                op = rng.choice(("add", "multiply", "maximum"))
                values.record(op, rows, other, mapped=mapped)
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
        #: the parts of regions that it refuses, of ops that it does not want in one, and of ops
        #: that it cannot build
        self.refuses = rng.choice((0, 0, 0.2, 0.6))
        self.trims = rng.choice((0, 0, 0, 0.2, 0.5))
        self.unable = rng.choice((0, 0, 0.1, 0.3))
        self.estimates = rng.random() < 0.3
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

    def worthwhile(self, region: Region) -> Answer | Only:
        if len(region.calls) < self.least:
            return No("too few ops")
        if self.draw(region.program.key) < self.refuses:
            return No("not this region")
        if self.trims:
            wanted = [n for n, call in enumerate(region.calls)
                      if self.draw(("trim", call.op, call.operands)) >= self.trims]
            if len(wanted) < len(region.calls):
                return Only(wanted, "not in this region")
        return YES

    def seconds(self, region: Region) -> float | None:
        if not self.estimates or self.draw(("known", region.program.key)) < 0.2:
            return None
        return self.draw(("mine", region.program.key))

    def seconds_of_xla(self, region: Region) -> float | None:
        return self.draw(("XLA", region.program.key)) if self.estimates else None

    def builds(self, calls: Sequence[Call]) -> bool:
        """Whether it can build a region of these ops."""
        return all(self.draw(("unable", call.op, call.operands)) >= self.unable for call in calls)

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
                   check if rng.random() < 0.3 else None, shows=rng.random() < 0.3)


# running them

Arrays = tuple[np.ndarray, ...]


def applied(op: OpDef, attributes: Mapping[str, Any], operands: Sequence[Any]) -> Any:
    """What NumPy gives for an op, or for each element where it is mapped."""
    if op.kind != VMAP or op.base is None:
        return NUMPY[op.name](*operands, **attributes)
    mapped = attributes[op.own[0]]
    rest = {k: v for k, v in attributes.items() if k not in op.own}
    return np.stack([
        NUMPY[op.base.name](*(x[k] if p in mapped else x for p, x in enumerate(operands)), **rest)
        for k in range(operands[mapped[0]].shape[0])])


def evaluated(i: Instruction, operands: Sequence[Any]) -> Arrays:
    """The results of an op on arrays, of exactly the types that it says."""
    with np.errstate(all="ignore"):
        out = applied(i.spec.op, i.spec.attrs, operands)
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
