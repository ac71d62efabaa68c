"""Programs of the groups that a generator's patterns name, made of samples of their ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ..codegen.patterns import AbsentMatch, Node, NumberMatch, Pattern, PatternMatch
from ..dtypes import as_dtype, float32
from ..errors import LoomError
from ..ops.samples import Sample
from ..ops.spec import OpDef, lookup
from ..tensor.apply import apply
from ..trace.scalars import Scalar
from ..trace.specs import spec_of
from .programs import several, tensor
from .samples import inputs, types_of

#: the shapes of programs whose values are all float32 of one shape, which are tried first
SHAPES: Final = ((6, 6), (2, 6, 6), (2, 3, 6, 6))
#: the most samples of one op that are tried
MOST: Final = 24

Recording = Callable[[], list[Any]]


class NoneFits(LoomError):
    """No sample of an op has the types that a pattern needs of it."""


def recordings(pattern: Pattern) -> Iterator[tuple[str, Recording]]:
    """Yield functions that record a pattern's ops and return the value of the last, with labels.

    First all values are float32 of one shape. Then an op of the pattern has a sample of its own,
    a heavy one if there is any: what is above it works on its result, and on further operands of
    its shape or of a number for each channel, such as a bias; what is below gives its operands.
    A function raises LoomError where the ops do not fit together.
    """
    for shape in SHAPES:
        yield f"float32{list(shape)}", _Recording(pattern, None, None, shape, False)
    nodes = list(_ops(pattern.root))
    pivot = next((n for n in nodes if any(lookup(o).execution.heavy for o in n.ops)), nodes[0])
    for name in sorted(pivot.ops):
        for sample in list(inputs(lookup(name)))[:MOST]:
            if all(x is None or x.size for x in sample.operands):
                label = ", ".join("None" if t is None else t.text for t in types_of(sample))
                for of_channels in (False, True)[: 1 + (pivot is not pattern.root)]:
                    yield (f"{name} of {label}{', then a number a channel' * of_channels}",
                           _Recording(pattern, pivot, (name, sample), (), of_channels))


def _ops(node: Node) -> Iterator[PatternMatch]:
    if isinstance(node, PatternMatch):
        yield node
        for operand in node.operands:
            yield from _ops(operand)


class _Recording:
    """Records a pattern once for each call."""

    def __init__(
        self, pattern: Pattern, pivot: PatternMatch | None, given: tuple[str, Sample] | None,
        shape: tuple[int, ...], of_channels: bool,
    ) -> None:  # fmt: skip
        self.root: Final = pattern.root
        self.pivot: Final = pivot
        self.given: Final = given
        self.shape: Final = shape
        self.of_channels: Final = of_channels
        self.made: dict[int, Any] = {}

    def __call__(self) -> list[Any]:
        try:
            return [self.value(self.root, None)]
        finally:
            # an inner result that somebody holds is a result of the program, and no match
            self.made = {}

    def value(self, node: Node, wanted: Any) -> Any:
        """Record a node; ``wanted`` is an array of the type that it has to have, if any."""
        if isinstance(node, AbsentMatch):
            return None
        if isinstance(node, NumberMatch):
            return Scalar(node.value, float32 if wanted is None else as_dtype(wanted.dtype))
        if id(node) not in self.made:
            if isinstance(node, PatternMatch):
                name, operands, attributes = self.operands(node, wanted)
                self.made[id(node)] = several(apply(name, operands, attributes))[0]
            else:
                self.made[id(node)] = tensor(self.array() if wanted is None else wanted)
        return self.made[id(node)]

    def array(self) -> Any:
        rng = np.random.default_rng(len(self.made))
        return rng.standard_normal(self.shape).astype(np.float32)

    def operands(self, node: PatternMatch, wanted: Any) -> tuple[str, list[Any], Any]:
        """Record an op's operands; return its name, they and its attributes."""
        if self.given is None:
            op = lookup(sorted(node.ops)[0])
            operands = [self.value(o, None) for o in node.operands]
            operands += [tensor(self.array()) for _ in range(op.min_operands - len(operands))]
            return op.name, operands, {}
        above = next((k for k, o in enumerate(node.operands)
                      if any(n is self.pivot for n in _ops(o))), None)
        known: Any = None
        if node is self.pivot:
            name, sample = self.given
        elif above is not None:
            known = self.value(node.operands[above], None)
            name, sample = _on(node, above, known.value.type, self.of_channels)
        else:
            name, sample = _giving(node, wanted)
        operands = [
            known if k == above and node is not self.pivot else
            self.value(node.operands[k], x) if k < len(node.operands) else
            None if x is None else tensor(x)
            for k, x in enumerate(sample.operands)]
        operands += [self.value(o, None) for o in node.operands[len(operands):]]
        return name, operands, sample.attributes


def _on(
    node: PatternMatch, number: int, of: Any, of_channels: bool
) -> tuple[str, Sample]:
    """Return an op of a node, and a sample of it whose operand of a number has a type."""
    for op, sample in _samples(node):
        x = sample.operands[number] if number < len(sample.operands) else None
        if x is not None and as_dtype(x.dtype) is of.dtype:
            found = _resized(sample, number, of.shape, of_channels)
            if found is not None and _result(op, found) is not None:
                return op.name, found
    raise NoneFits(f"no sample of {' or '.join(sorted(node.ops))} takes {of.text}")


def _giving(node: PatternMatch, wanted: Any) -> tuple[str, Sample]:
    """Return an op of a node, and a sample of it whose result has the type of an array."""
    if wanted is None:
        raise NoneFits(f"{' or '.join(sorted(node.ops))} stands for an operand that is absent")
    for op, sample in _samples(node):
        if sample.operands and sample.operands[0] is not None:
            found = _resized(sample, 0, wanted.shape)
            result = None if found is None else _result(op, found)
            if found is not None and result is not None and (
                result.shape == wanted.shape and result.dtype.numpy == wanted.dtype
            ):
                return op.name, found
    raise NoneFits(f"no sample of {' or '.join(sorted(node.ops))} gives "
                   f"{wanted.dtype}{list(wanted.shape)}")


def _samples(node: PatternMatch) -> Iterator[tuple[OpDef, Sample]]:
    """Yield the samples of a node's ops, those first that have what the pattern says of operands:
    some absent, and no more than these of more than a number."""
    found = [(op, s) for op in map(lookup, sorted(node.ops)) for s in inputs(op)
             if all(x is None or x.size for x in s.operands)]

    def misfit(item: tuple[OpDef, Sample]) -> int:
        operands = item[1].operands
        return sum(isinstance(o, AbsentMatch) != (k >= len(operands) or operands[k] is None)
                   for k, o in enumerate(node.operands))

    yield from sorted(found, key=misfit)


def _resized(
    sample: Sample, number: int, shape: tuple[int, ...], of_channels: bool = False
) -> Sample | None:
    """Return a sample whose operand of a number has a shape, with those of the same shape before.

    With ``of_channels`` these have a number for each channel. Numbers stay as they are. None where
    another operand has another shape.
    """
    before = sample.operands[number]
    assert before is not None
    # channels are the second axis, of matrices the last
    channels = (*shape[1:2], *(1 for _ in shape[2:])) if of_channels else shape
    operands: list[Any] = []
    for k, x in enumerate(sample.operands):
        if x is None or x.ndim == 0 and before.ndim:
            operands.append(x)
        elif x.shape == before.shape:
            operands.append(np.resize(x, shape if k == number else channels))
        else:
            return None
    return Sample(operands, sample.attributes, sample.label)


def _result(op: OpDef, sample: Sample) -> Any:
    """Return the type of an op's first result on a sample, None where it takes it not."""
    try:
        return spec_of(op, sample.attributes, len(sample.operands)).infer(types_of(sample))[0]
    except LoomError:
        return None
