"""Passes of a generator over the function of a region, before code is generated for it.

A pass takes a region and gives one that does the same: with fewer ops, with others, or with
constants that were computed from bound ones. :class:`RegionRewriter` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..dtypes import DType, as_dtype
from ..errors import ArgumentError, LoomError
from ..interrupts import reraise_from_handler
from ..ops.spec import lookup
from ..program.program import Program, Structure
from ..program.stream import Leaf, Operand, Result, ScalarSlot, encode_operand
from ..trace.scalars import Baked, baked_constant
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from .extents import Extents
from .faults import told
from .generator import Generator, Pass, Region


class PassError(LoomError):
    """A pass failed, or gave a region of another signature; the message names it."""


class RegionRewriter:
    """Writes a region anew, op by op, with the operands and results that it has.

    An operand of the new region is a ``Leaf`` for one of the region's, a ``Result`` of an op that
    was added, a number by :meth:`number`, an array by :meth:`constant`, or None. What nothing uses
    in the end is left out.
    """

    def __init__(self, region: Region, values: Mapping[int, Any] | None = None) -> None:
        self.source: Final = region
        #: the arrays of operands that are bound, by number, constants of passes among them
        self.values: Final[dict[int, Any]] = dict(values or {})
        self._leaves: Final = list(region.operands)
        self._ops: Final[list[tuple[Spec, tuple[Operand, ...]]]] = []
        self._types: Final[list[tuple[TensorType, ...]]] = []
        #: what stands for each result of the source
        self._now: Final[dict[tuple[int, int], Operand]] = {}
        self._groups: Final[list[tuple[str, tuple[Result, ...]]]] = []

    def type_of(self, operand: Operand) -> TensorType | None:
        """Return the type of an operand of the new region; None for one that is absent."""
        if isinstance(operand, Leaf):
            return self._leaves[operand.number]
        if isinstance(operand, Result):
            return self._types[operand.instruction][operand.number]
        return None if operand is None else tensor_type((), operand.dtype)

    def now(self, operand: Operand) -> Operand:
        """Return what stands in the new region for an operand of the source.

        Raises ArgumentError for a result of an op that was neither kept nor replaced yet.
        """
        if not isinstance(operand, Result):
            return operand
        place = operand.instruction, operand.number
        if place not in self._now:
            raise ArgumentError(
                f"now: result {operand.number} of op {operand.instruction} was asked for, which "
                "was neither kept nor replaced yet; do so in order")
        return self._now[place]

    def add(self, op: str, operands: Sequence[Operand], **attributes: Any) -> list[Result]:
        """Add an op of the table; return its results.

        Raises what recording such an op raises: UnknownOpError, ShapeError, DTypeError and so on.
        """
        return self._add(spec_of(lookup(op), attributes, len(operands)), tuple(operands))

    def keep(self, number: int) -> list[Result]:
        """Add an op of the source, on what stands for its operands now; return its results."""
        i = self.source.program.structure.instructions[number]
        results = self._add(i.spec, tuple(map(self.now, i.operands)))
        for r, result in enumerate(results):
            self._now[number, r] = result
        return results

    def replace(self, number: int, operand: Operand, result: int = 0) -> None:
        """Have an operand of the new region stand for a result of an op of the source."""
        self._now[number, result] = operand

    def number(self, value: int | float, dtype: DType) -> Baked:
        """Return a number as an operand, as the dtype holds it."""
        held: Any = np.array(value).astype(as_dtype(dtype).numpy).item()
        return baked_constant(held, as_dtype(dtype))

    def constant(self, array: Any) -> Leaf:
        """Return an array as a further operand of the region, whose value is known."""
        value = np.ascontiguousarray(array).reshape(np.shape(array))
        value.flags.writeable = False
        self._leaves.append(tensor_type(value.shape, as_dtype(value.dtype)))
        number = len(self._leaves) - 1
        self.values[number] = value
        return Leaf(number)

    def group(self, name: str, results: Sequence[Result]) -> None:
        """Note ops as a group of a name, as patterns do (:attr:`Region.composites`)."""
        self._groups.append((name, tuple(results)))

    def region(self) -> Region:
        """Return the new region. Raises ArgumentError where a result has nothing for it."""
        outputs = []
        for n, r in self.source.program.outputs:
            item = self._now.get((n, r))
            if not isinstance(item, Result):
                raise ArgumentError(
                    f"region: result {r} of op {n} is {'an operand' if item else 'not there'}, "
                    "expected a result of an op that was added or kept")
            outputs.append(item)
        used = {item.instruction for item in outputs}
        for n in range(len(self._ops) - 1, -1, -1):
            if n in used:
                used.update(o.instruction for o in self._ops[n][1] if isinstance(o, Result))
        renumbered = {old: new for new, old in enumerate(sorted(used))}
        stream: list[object] = []
        for old in renumbered:
            spec, operands = self._ops[old]
            stream.append(spec)
            stream += [encode_operand(
                Result(renumbered[o.instruction], o.number) if isinstance(o, Result) else o)
                for o in operands]
        program = Program(
            Structure(tuple(stream), tuple(self._leaves)),
            [(renumbered[o.instruction], o.number) for o in outputs], [])
        composites = tuple(
            (name, tuple(sorted({renumbered[m.instruction] for m in members})))
            for name, members in self._every_group()
            if all(m.instruction in renumbered for m in members))
        operands_before = len(self.source.operands)
        further = self._leaves[operands_before:]
        layouts = (*self.source.layouts[:operands_before],
                   *(tuple(range(t.ndim)) for t in further),
                   *self.source.layouts[operands_before:])
        return Region(program, composites, layouts, self._extents(outputs, sorted(used), further))

    def _extents(
        self, outputs: Sequence[Result], used: Sequence[int], further: Sequence[TensorType]
    ) -> Extents | None:
        """Return what varies: of operands and results the same, of inner results nothing."""
        before = self.source.extents
        if before is None:
            return None
        given = {item: before.results[n][r] for item, (n, r) in zip(
            outputs, self.source.program.outputs, strict=True)}
        return before._replace(
            leaves=(*before.leaves[: len(self.source.operands)],
                    *(tuple(map(str, t.shape)) for t in further)),
            results=tuple(tuple(given.get(Result(n, r)) for r in range(len(self._types[n])))
                          for n in used))

    def _add(self, spec: Spec, operands: tuple[Operand, ...]) -> list[Result]:
        if any(isinstance(o, ScalarSlot) for o in operands):
            raise ArgumentError("add: a run-time number was given, which a region has none of")
        types = spec.infer(tuple(map(self.type_of, operands)))
        self._ops.append((spec, operands))
        self._types.append(types)
        return [Result(len(self._ops) - 1, r) for r in range(len(types))]

    def _every_group(self) -> list[tuple[str, tuple[Result, ...]]]:
        """Return the new groups, and those of the source of which all ops are kept."""
        kept = []
        for name, members in self.source.composites:
            now = [self._now.get((m, 0)) for m in members]
            if all(isinstance(item, Result) for item in now):
                kept.append((name, tuple(item for item in now if isinstance(item, Result))))
        return [*kept, *self._groups]


class Prepared(NamedTuple):
    """A region after all passes, and the values of those of its operands that are bound."""

    region: Region
    values: dict[int, Any]


def prepared(
    generator: Generator, region: Region, values: Mapping[int, Any] | None = None
) -> Prepared:
    """Run a generator's passes over a region; ``values`` are of operands that are bound.

    Raises PassError where one fails, or where what it gives is no region of the same signature.
    """
    passes = list(generator.passes())
    now = Prepared(region, dict(values or {}))
    for each in passes:
        if not isinstance(each, Pass):
            raise PassError(f"passes gave a {type(each).__name__}, expected Pass(name, function)")
        writer = RegionRewriter(now.region, now.values)
        try:
            found = each.function(writer)
        except Exception as error:
            reraise_from_handler(error)
            raise PassError(f"the pass {each.name!r} raised {told(error)}") from error
        if found is None:
            continue  # nothing to do
        why = _wrong(region, found, writer.values, values is not None)
        if why:
            raise PassError(f"the pass {each.name!r} gave {why}")
        now = Prepared(found, writer.values)
    return now


def _wrong(source: Region, found: Any, values: Mapping[int, Any], bound: bool) -> str:
    """Return what is wrong with what a pass gave, or ""."""
    if not isinstance(found, Region):
        return f"a {type(found).__name__}, expected a Region, or None for no change"
    count = len(source.operands)
    if found.operands[:count] != source.operands:
        return (f"operands {_texts(found.operands[:count])}, expected {_texts(source.operands)}, "
                "and constants after them")
    further = range(count, len(found.operands))
    if further and not bound:
        return ("further operands in a build, expected them where constants are bound only, as "
                "code is called with the region's own")
    for k in further:
        value = values.get(k)
        if value is None:
            return f"operand {k} without a value, expected one by RegionRewriter.constant()"
    try:
        results = found.results
    except (LookupError, LoomError) as error:
        return f"a program that does not fit together: {told(error)}"
    if results != source.results:
        return f"results {_texts(results)}, expected {_texts(source.results)}"
    n = len(found.program.structure.instructions)
    for i in found.program.structure.instructions:
        if i.spec.effect or i.spec.fallible or i.spec.checked:
            return f"{i.spec.op.name}, expected no op that has effects or can fail"
    for name, members in found.composites:
        if not members or not all(0 <= m < n for m in members):
            return f"the group {name!r} of ops {members}, expected some of 0 to {n - 1}"
    if len(found.layouts) != len(found.operands) + len(found.results):
        return f"{len(found.layouts)} layouts, expected one for each operand and result"
    if (*found.layouts[:count], *found.layouts[len(found.operands):]) != source.layouts:
        return "other layouts, expected those of the region"
    return ""


def _texts(types: Sequence[TensorType]) -> str:
    return "(" + ", ".join(t.text for t in types) + ")"
