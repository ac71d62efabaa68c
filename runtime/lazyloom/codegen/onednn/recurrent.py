"""LSTM and GRU layers: loops over the steps for parts of the batch, between products of oneDNN.

The products with the inputs, and those for the weights' gradients, are of all steps at once. The
loop contains the product with the hidden state, whose weights are packed before, and the gates.
Each thread does all steps of a part of the batch, and waits for no other in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...ops.derived import BACKWARD, types_of
from ...ops.recurrent_gradients import LAYOUTS, kept
from ..answers import Answer, Call, No
from ..generator import Layout, Region
from ..worth import at_least
from . import library
from .plan import OneDnnPlan, PlanArray, parts_of

#: the number of multiplications below which a call is not worthwhile
SMALL: Final = 1_000_000
#: the number of multiplications from which on it is divided among threads
SPLIT: Final = 1_000_000
#: the number of steps below which packing the weights does not pay off
FEWEST: Final = 4
#: for each op, the number of gates, and of results that are not residuals
_GATES: Final = {"lstm": 4, "gru": 3}
_RESULTS: Final = {"lstm": 3, "gru": 2}


class _Sizes(NamedTuple):
    """The steps, sequences, features, and units of a layer."""

    steps: int
    batch: int
    features: int
    units: int


def _kind(call: Call) -> str:
    """Return the op's name, also for its forward or backward pass."""
    return call.op.partition(".")[0]


def _types(call: Call) -> list[tuple[tuple[int, ...], str] | None]:
    """Return the shapes and dtypes of the layer's operands."""
    if call.op.endswith("." + BACKWARD):
        a = call.attributes
        types: list[tuple[tuple[int, ...], str] | None] = [
            None if t is None else (t[0], t[1].name)
            for t in types_of(a["backward_types"], a["backward_shapes"])]
    else:
        types = [None if t is None else (t.shape, t.dtype.name) for t in call.operands]
    return [*types, *[None] * (len(LAYOUTS[_kind(call)].operands) - len(types))]


def _sizes(call: Call) -> _Sizes:
    types = _types(call)
    x, h = types[0], types[1]
    assert x is not None and h is not None
    steps, batch, features = x[0]
    return _Sizes(steps, batch, features, h[0][1])


def supports(call: Call) -> Answer:
    """Return YES if a layer, or its gradient, is supported, or why not."""
    types = _types(call)
    there = [name for name, t in zip(LAYOUTS[_kind(call)].operands, types, strict=True) if t]
    for name, why in (("w_project", "a projection"), ("lengths", "lengths of sequences")):
        if name in there:
            return No(f"{why}, which its loop does not have")
    dtypes = {t[1] for t in types if t is not None}
    if dtypes != {"float32"}:
        return No(f"dtype {' and '.join(sorted(dtypes))}, expected float32")
    size = _sizes(call)
    enough = at_least(size.steps, FEWEST, "steps")
    return enough if not enough else at_least(work(call), SMALL, "multiplications")


def work(call: Call) -> int:
    """Return the number of multiplications of a layer, or of its gradient."""
    size = _sizes(call)
    each = _GATES[_kind(call)] * size.steps * size.batch * size.units
    if not call.op.endswith("." + BACKWARD):
        return each * (size.features + size.units)
    by = _by(call)
    return each * (size.units * (1 + ("w_hidden" in by))
                   + size.features * (("w_input" in by) + ("x" in by)))


def _by(call: Call) -> list[str]:
    """Return the operands that a gradient is taken by."""
    return [LAYOUTS[_kind(call)].operands[k] for k in call.attributes["backward_argnums"]]


def layouts(region: Region) -> Sequence[Layout] | None:
    """Return None: logical order."""
    return None


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add a layer, or the gradient of one, to a plan."""
    layer = _Layer(plan, region)
    if layer.call.op.endswith("." + BACKWARD):
        layer.backward()
    else:
        layer.forward()


class _Layer:
    """A layer that is being added to a plan."""

    def __init__(self, plan: OneDnnPlan, region: Region) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.call: Final = region.calls[0]
        self.op: Final = _kind(self.call)
        self.names: Final = LAYOUTS[self.op].operands
        self.size: Final = _sizes(self.call)
        #: the number of inputs to the gates
        self.wide: Final = _GATES[self.op] * self.size.units
        self.lanes: Final = plan.lib.threads if work(self.call) >= SPLIT else 1
        self.reverse: Final = int(self.call.attributes["reverse"])
        self.results: Final = {r: len(region.operands) + k
                               for k, (_, r) in enumerate(region.program.outputs)}

    # -- arrays ---------------------------------------------------------------------------

    def desc(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> library.Object:
        if strides is None:
            strides = [math.prod(shape[d + 1:]) for d in range(len(shape))]
        return self.plan.lib.strided(shape, library.F32, strides)

    def operand(self, position: int) -> PlanArray | None:
        """Return an operand as one row of numbers, which :meth:`seen` gives a shape."""
        operands = self.region.program.structure.instructions[0].operands
        item = operands[position] if position < len(operands) else None
        if item is None:
            return None
        k: int = item.number  # type: ignore[union-attr]
        return self.plan.value(self.desc([self.region.operands[k].size]), k)

    def made(self, number: int, size: int, needed: bool = True) -> PlanArray | None:
        """Return a result; an unused one is an array between primitives, if it is needed."""
        if number in self.results:
            return self.plan.value(self.desc([size]), self.results[number])
        return self.between(size) if needed else None

    def between(self, size: int) -> PlanArray:
        return self.plan.value(self.desc([size]))

    def seen(self, array: PlanArray, shape: Sequence[int], strides: Sequence[int] | None = None,
             first: int = 0) -> PlanArray:  # fmt: skip
        """Return an array as a matrix that begins at its element ``first``."""
        return self.plan.part(array, self.desc(shape, strides), 4 * first)

    # -- steps ----------------------------------------------------------------------------

    def product(self, a: PlanArray, b: PlanArray, out: PlanArray) -> None:
        desc = self.plan.primitive_desc("matmul", a.desc, b.desc, None, out.desc)
        self.plan.run(desc, {library.SRC: a, library.WEIGHTS: b, library.DST: out})

    def loop(
        self, arrays: Sequence[PlanArray | None], backward: bool, rows: tuple[int, int]
    ) -> None:
        """Add the steps for some rows of the batch: the first row, and how many."""
        n = self.size
        self.plan.loop(arrays, (0, backward, self.reverse, _GATES[self.op], n.steps, n.batch,
                                *rows, n.units, 0, 1))

    def packing(
        self, weight: PlanArray, packed: PlanArray, backward: bool, part: int, parts: int
    ) -> None:
        self.plan.loop((weight, packed), (1, backward, 0, _GATES[self.op], 0, 0, 0, 0,
                                          self.size.units, part, parts))

    def packed(self) -> PlanArray:
        """Return room for the packed hidden weights, whatever the width of vectors."""
        return self.between(4 * self.size.units * -(-self.size.units // 64) * 64)

    def forward(self) -> None:
        """Add the inputs' part of the gates, then the loop."""
        n, plan, wide = self.size, self.plan, self.wide
        operands = {name: self.operand(k) for k, name in enumerate(self.names)}
        x, w_input, w_hidden = operands["x"], operands["w_input"], operands["w_hidden"]
        assert x is not None and w_input is not None and w_hidden is not None
        rows, state = n.steps * n.batch, n.batch * n.units
        first_kept = _RESULTS[self.op]
        output, h_last = self.made(0, rows * n.units), self.made(1, state, False)
        gates = self.made(first_kept, rows * wide)
        assert gates is not None
        if self.op == "lstm":
            cells, last = self.made(4, rows * n.units), self.made(2, state, False)
        else:
            # the hidden part of the third gate, and the states again
            cells, last = (self.made(k, rows * n.units, False) for k in (3, 4))
        packed = self.packed()
        plan.stage()
        for number, (first, count) in enumerate(parts := parts_of(rows, self.lanes)):
            plan.lane()
            self.packing(w_hidden, packed, False, number, len(parts))
            self.product(
                self.seen(x, (count, n.features), first=first * n.features),
                self.seen(w_input, (n.features, wide), (1, n.features)),
                self.seen(gates, (count, wide), first=first * wide))
            if number == len(parts) - 1:
                self._hand_on()
        plan.stage()
        for part in parts_of(n.batch, self.lanes):
            plan.lane()
            self.loop((gates, packed, operands["h"], operands.get("c"), operands["b_input"],
                       operands["b_hidden"], cells, output, h_last, last), False, part)

    def _hand_on(self) -> None:
        """Copy the operands that the backward pass needs."""
        if "forward_argnums" not in self.call.attributes:
            return
        names = kept(self.op, self.call.attributes["forward_argnums"],
                     [t is not None for t in self.call.operands])
        for number, name in enumerate(names, _RESULTS[self.op]):
            if name in self.names and number in self.results:
                source = self.operand(self.names.index(name))
                assert source is not None
                residual = self.made(number, self.plan.lib.size(source.desc) // 4)
                assert residual is not None
                self.plan.move(source, residual)

    def backward(self) -> None:
        """Add the backward loop, then the gradients as products over all steps."""
        n, plan, a, wide = self.size, self.plan, self.call.attributes, self.wide
        names = kept(self.op, a["backward_argnums"], [t is not None for t in _types(self.call)])
        residuals = {name: self.operand(k) for k, name in enumerate(names)}
        late: list[PlanArray | None] = [None] * 3
        for k, number in enumerate(a["backward_outnums"], len(names)):
            late[number] = self.operand(k)
        numbers = {name: k for k, name in enumerate(_by(self.call)) if k in self.results}
        rows, state = n.steps * n.batch, n.batch * n.units
        weight = residuals["w_hidden"]
        assert weight is not None
        packed, d_gates = self.packed(), self.between(rows * wide)
        before = self.between(rows * n.units) if "w_hidden" in numbers else None
        d_h = self.made(numbers.get("h", -1), state)
        if self.op == "lstm":
            d_hidden = d_gates
            arrays = (residuals["gates"], packed, residuals["h"], residuals["c"],
                      residuals["cells"], *late, d_gates, before, d_h,
                      self.made(numbers.get("c", -1), state))
        else:
            d_hidden = self.between(rows * wide)
            arrays = (residuals["gates"], packed, residuals["h"], residuals["states"],
                      residuals["hidden_part"], *late, d_gates, before, d_h, d_hidden)
        plan.stage()
        for number in range(self.lanes):
            plan.lane()
            self.packing(weight, packed, True, number, self.lanes)
        plan.stage()
        biases = [name for name in ("b_input", "b_hidden") if name in numbers]
        # in an LSTM, the gradients of both biases are the same sums
        sums: dict[str, list[PlanArray]] = {
            name: [] for name in (biases if self.op == "gru" else biases and ["b_input"])}
        for part in parts_of(n.batch, self.lanes):
            plan.lane()
            for partial in sums.values():
                partial.append(self.between(wide))
            self.loop((*arrays, *(sums[name][-1] if name in sums else None
                                  for name in ("b_input", "b_hidden"))), True, part)
        plan.stage()
        for number, (first, count) in enumerate(parts_of(wide, self.lanes)):
            plan.lane()
            if number == 0:
                for name in biases:
                    total = self.made(numbers[name], wide)
                    assert total is not None
                    plan.total(sums[name if name in sums else "b_input"], total)
            for weights, d, source, features in (
                ("w_hidden", d_hidden, before, n.units),
                ("w_input", d_gates, residuals.get("x"), n.features),
            ):
                if weights in numbers:
                    result = self.made(numbers[weights], wide * features)
                    assert result is not None and source is not None
                    self.product(self.seen(d, (count, rows), (1, wide), first),
                                 self.seen(source, (rows, features)),
                                 self.seen(result, (count, features), first=first * features))
            if "x" in numbers:
                self._inputs(d_gates, residuals["w_input"], numbers["x"],
                             parts_of(rows, self.lanes)[number:number + 1])

    def _inputs(
        self, d_gates: PlanArray, weight: PlanArray | None, number: int,
        parts: Sequence[tuple[int, int]]
    ) -> None:
        """Add parts of the inputs' gradient."""
        n, wide = self.size, self.wide
        result = self.made(number, n.steps * n.batch * n.features)
        assert result is not None and weight is not None
        for first, count in parts:
            self.product(
                self.seen(d_gates, (count, wide), first=first * wide),
                self.seen(weight, (wide, n.features)),
                self.seen(result, (count, n.features), first=first * n.features))
