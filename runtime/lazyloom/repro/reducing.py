"""Smaller programs: what can be left out of one, or be made simpler.

A :class:`Draft` is a program whose operands are objects, so that parts of it can be exchanged; only
what its results need is part of the program that it becomes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from ..backends.data import scalar_of
from ..dtypes import DType
from ..program.program import Program, Structure
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.scalars import Baked
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from .saved import SavedProgram


class Input:
    """Data of a draft, which are told apart by identity."""

    __slots__ = ("array", "dtype", "donated")

    def __init__(self, array: Any, dtype: DType, donated: bool) -> None:
        self.array: Final = array
        self.dtype: Final = dtype
        self.donated: Final = donated

    @property
    def type(self) -> TensorType:
        return tensor_type(self.array.shape, self.dtype)


class ScalarPart(NamedTuple):
    """A run-time scalar."""

    number: Any
    dtype: DType


Part: TypeAlias = "Result | Input | ScalarPart | Baked | None"


class DraftOp(NamedTuple):
    """An instruction of a draft."""

    spec: Spec
    operands: tuple[Part, ...]
    site: str


class Draft(NamedTuple):
    """A program in parts.

    Attributes:
        ops: each after those whose results it takes.
        outputs: the results wanted.
        about: as in :class:`SavedProgram`.
    """

    ops: tuple[DraftOp, ...]
    outputs: tuple[tuple[int, int], ...]
    about: Mapping[str, Any]

    def with_ops(self, changed: Mapping[int, DraftOp]) -> Draft:
        """The draft with other ops in the place of some."""
        return self._replace(ops=tuple([changed.get(n, op) for n, op in enumerate(self.ops)]))

    def with_parts(self, exchanged: Mapping[Any, Part]) -> Draft:
        """The draft with other operands in the place of some, wherever they are used."""
        return self._replace(ops=tuple([
            op._replace(operands=tuple([
                exchanged.get(x, x) if isinstance(x, (Result, Input)) else x
                for x in op.operands]))
            for op in self.ops]))


def draft_of(saved: SavedProgram) -> Draft:
    """Take a program to parts."""
    program = saved.program
    inputs = [Input(x, t.dtype, k in program.donated) for k, (x, t) in enumerate(
        zip(saved.inputs, program.structure.leaf_types, strict=True))]
    ops: list[DraftOp] = []
    for number, instruction in enumerate(program.structure.instructions):
        operands: list[Part] = []
        for item in instruction.operands:
            if isinstance(item, Leaf):
                operands.append(inputs[item.number])
            elif isinstance(item, ScalarSlot):
                operands.append(ScalarPart(saved.scalars[item.dtype][item.ordinal], item.dtype))
            else:
                operands.append(item)
        ops.append(DraftOp(instruction.spec, tuple(operands), saved.sites[number]))
    return Draft(tuple(ops), program.outputs, saved.about)


def saved_of(draft: Draft) -> SavedProgram | None:
    """Put a program together of what the results of a draft need; None where types do not fit."""
    needed: set[int] = set()
    stack = [n for n, _ in draft.outputs]
    while stack:
        n = stack.pop()
        if n not in needed:
            needed.add(n)
            stack += [x.instruction for x in draft.ops[n].operands if isinstance(x, Result)]
    kept = sorted(needed)
    renumbered = {old: new for new, old in enumerate(kept)}
    stream: list[Any] = []
    inputs: dict[Input, int] = {}
    scalars: dict[DType, list[Any]] = {}
    for old in kept:
        op = draft.ops[old]
        stream.append(op.spec)
        for x in op.operands:
            if isinstance(x, Result):
                number = renumbered[x.instruction]
                stream.append((number, x.number) if x.number else number)
            elif isinstance(x, Input):
                stream.append(-1 - inputs.setdefault(x, len(inputs)))
            elif isinstance(x, ScalarPart):
                stream.append(x.dtype)
                scalars.setdefault(x.dtype, []).append(x.number)
            else:
                stream.append(x)
    structure = Structure(tuple(stream), tuple([x.type for x in inputs]))
    try:
        instructions = structure.instructions
        outputs = [(renumbered[n], r) for n, r in draft.outputs]
        if any(r >= len(instructions[n].types) for n, r in outputs):
            return None
    except Exception:
        # rules of types may fail in any way where operands are none that a program would give
        return None
    donated = [k for x, k in inputs.items() if x.donated]
    return SavedProgram(
        Program(structure, outputs, donated), tuple([x.array for x in inputs]), scalars,
        tuple([draft.ops[old].site for old in kept]), draft.about)


def inputs_of(draft: Draft) -> list[Input]:
    """Return the inputs of a draft in order of first use."""
    return list(dict.fromkeys(
        [x for op in draft.ops for x in op.operands if isinstance(x, Input)]))


# What may be smaller. Each gives drafts to be tried.

def single_outputs(draft: Draft) -> Iterator[Draft]:
    """The draft with one of its results alone."""
    if len(draft.outputs) > 1:
        for output in draft.outputs:
            yield draft._replace(outputs=(output,))


def earlier_outputs(draft: Draft, counts: list[int], first: int | None) -> Iterator[Draft]:
    """The draft that ends at an earlier op; ``first`` is tried first, then from the beginning.

    ``counts`` has the number of results of each op.
    """
    last = max(n for n, _ in draft.outputs)
    order = [] if first is None else [first]
    order += [n for n in range(last) if n != first]
    for n in order:
        if draft.outputs != ((n, 0),):
            for r in range(counts[n]):
                yield draft._replace(outputs=((n, r),))


def without(
    draft: Draft, dropped: range, values: list[list[Any]], types: list[tuple[TensorType, ...]]
) -> Draft | None:
    """The draft with the results of some ops as inputs, None where one of them is wanted."""
    if any(n in dropped for n, _ in draft.outputs) or dropped.stop > len(values):
        return None
    exchanged: dict[Any, Part] = {}
    for n in dropped:
        for r, (array, t) in enumerate(zip(values[n], types[n], strict=True)):
            exchanged[Result(n, r)] = Input(array, t.dtype, False)
    return draft.with_parts(exchanged)


def bypassed(draft: Draft, types: list[tuple[TensorType, ...]]) -> Iterator[Draft]:
    """The draft with an operand of an op in the place of its result of the same type."""
    for n in range(len(draft.ops) - 1, -1, -1):
        for x in draft.ops[n].operands:
            for r, t in enumerate(types[n]):
                if isinstance(x, Result) and types[x.instruction][x.number] is t:
                    outputs = tuple([
                        (x.instruction, x.number) if o == (n, r) else o for o in draft.outputs])
                    yield draft.with_parts({Result(n, r): x})._replace(outputs=outputs)
                elif isinstance(x, Input) and x.type is t and (n, r) not in draft.outputs:
                    yield draft.with_parts({Result(n, r): x})


def smaller_extents(draft: Draft) -> Iterator[Draft]:
    """The draft with a smaller extent in the place of one, wherever that occurs."""
    extents = sorted({d for x in inputs_of(draft) for d in x.array.shape if d > 1} | {
        d for op in draft.ops for v in op.spec.attrs.values() if isinstance(v, tuple)
        for d in v if type(d) is int and d > 3}, reverse=True)
    for old in extents:
        for new in dict.fromkeys((1, 2, old // 4, old // 2, old - 1)):
            if 0 < new < old:
                yield _with_extent(draft, old, new)


def _with_extent(draft: Draft, old: int, new: int) -> Draft:
    exchanged: dict[Any, Part] = {}
    for x in inputs_of(draft):
        if old in x.array.shape:
            part = x.array[tuple([slice(new if d == old else None) for d in x.array.shape])]
            exchanged[x] = Input(np.ascontiguousarray(part).reshape(part.shape), x.dtype, x.donated)
    found = draft.with_parts(exchanged)
    changed: dict[int, DraftOp] = {}
    for n, op in enumerate(found.ops):
        attrs = {k: _exchanged(v, old, new) for k, v in op.spec.attrs.items()}
        if attrs != op.spec.attrs:
            try:
                changed[n] = op._replace(spec=spec_of(op.spec.op, attrs, op.spec.arity))
            except Exception:
                # an attribute that is none of the op's: what is tried then does not fit
                continue
    return found.with_ops(changed)


def _exchanged(value: Any, old: int, new: int) -> Any:
    """An attribute with another extent in it; alone, an integer is more often none."""
    if isinstance(value, tuple):
        return tuple([new if type(v) is int and v == old else _exchanged(v, old, new)
                      for v in value])
    return value


def simpler_data(draft: Draft) -> Iterator[Draft]:
    """The draft with a constant in the place of an input, or with rounder numbers."""
    for x in inputs_of(draft):
        for array in _simpler(x.array, x.dtype):
            if array.tobytes() != np.ascontiguousarray(x.array).tobytes():
                yield draft.with_parts({x: Input(array, x.dtype, x.donated)})
    for n, op in enumerate(draft.ops):
        for position, part in enumerate(op.operands):
            if isinstance(part, ScalarPart):
                for number in (2, 3):
                    if part.number not in (2, 3):
                        operands = list(op.operands)
                        operands[position] = ScalarPart(
                            number if part.dtype.kind in "iub" else float(number), part.dtype)
                        yield draft.with_ops({n: op._replace(operands=tuple(operands))})


def _simpler(x: Any, dtype: DType) -> Iterator[Any]:
    if not x.size:
        return
    for number in (0, 1):
        yield np.full(x.shape, scalar_of(number, dtype), dtype.numpy)
    if (x != x.reshape(-1)[0]).any():
        yield np.full(x.shape, x.reshape(-1)[0], dtype.numpy)
    if dtype.kind == "f":
        wide = x.astype(np.float64)
        for digits in (0, 1, 3):
            with np.errstate(all="ignore"):
                yield np.where(np.isfinite(wide), np.round(wide, digits), wide).astype(dtype.numpy)


def size_of(draft: Draft, saved: SavedProgram) -> tuple[float, ...]:
    """By what drafts are compared: ops, results, elements, then how plain the data are."""
    plain = sum(math.log2(len(np.unique(x.reshape(-1).view(np.uint8))) + 1) for x in (
        np.ascontiguousarray(a) for a in saved.inputs) if x.size)
    return (len(saved.program.structure.instructions), len(saved.program.outputs),
            sum(int(x.size) for x in saved.inputs), plain)
