"""Run-time numbers that code generators ask to know, as constants of the program.

A Python number is a parameter of its program, so that it may change from run to run. A generator
that does an op only for certain numbers says which it wants to know
(:meth:`~lazyloom.codegen.Generator.numbers`, :func:`~lazyloom.codegen.number`): these become
constants of the structure before its program is looked up, so that another number is another
program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ..backends.data import scalar_vector
from ..cache import memory
from ..codegen import registry
from ..codegen.answers import Call
from ..codegen.faults import failed, raised
from ..codegen.generator import Generator
from ..codegen.mapped import with_batches
from ..codegen.patterns import numbers_named
from ..dtypes import DType
from ..interrupts import reraise_from_handler
from ..program.plan import Plan
from ..program.program import Structure
from ..program.stream import ScalarSlot
from ..settings import whole_only
from ..types import common_placement

Scalars = dict[DType, list[Any]]
#: the most sets of numbers that a structure is compiled for, of those that may be any
MOST: Final = 8
#: the most structures whose numbers are remembered
KEPT: Final = 1024


class _Slot(NamedTuple):
    """A run-time number that a generator asked for.

    Attributes:
        place: the instruction, and its operand.
        dtype, ordinal: which number it is.
        values: the only ones that it asked for; None for all.
    """

    place: tuple[int, int]
    dtype: DType
    ordinal: int
    values: frozenset[int | float] | None


class _Asked(NamedTuple):
    """What is asked for of a structure, and the structures with such constants."""

    slots: tuple[_Slot, ...]
    variants: dict[tuple[int | float | None, ...], Structure]


_asked: Final[dict[tuple[str, Structure], _Asked]] = {}


def known(structure: Structure, scalars: Scalars) -> tuple[Structure, Scalars] | None:
    """Return a structure with the numbers that generators in use ask for, and the other numbers.

    None where they ask for none of them, or for too many different ones.
    """
    if not scalars:
        return None
    if memory.numbers_wanted[0] == memory.UNKNOWN:
        # installed generators are imported for programs that are compiled
        if not whole_only():
            return None
        registry.at_first()
    if memory.numbers_wanted[0] != memory.SOME:
        return None
    names = registry.in_use()
    key = registry.versions(names), structure
    asked = _asked.get(key)
    if asked is None:
        if len(_asked) >= KEPT:
            _asked.clear()
        asked = _asked[key] = _Asked(_slots(structure, registry.generators(names)), {})
    if not asked.slots:
        return None
    numbers = tuple(_known(slot, scalars) for slot in asked.slots)
    if all(n is None for n in numbers):
        return None
    variant = asked.variants.get(numbers)
    if variant is None:
        if len(asked.variants) >= MOST and any(
            n is not None and slot.values is None
            for slot, n in zip(asked.slots, numbers, strict=True)
        ):
            return None
        variant = asked.variants[numbers] = structure.with_numbers({
            slot.place: n for slot, n in zip(asked.slots, numbers, strict=True) if n is not None})
    constants = {(slot.dtype, slot.ordinal) for slot, n in zip(asked.slots, numbers, strict=True)
                 if n is not None}
    return variant, _others(structure, scalars, constants)


def of_plan(plan: Plan) -> tuple[Structure, Scalars] | None:
    """Return :func:`known` for a plan's program."""
    return None if plan.collective else known(plan.structure, plan.scalars)


def _others(
    structure: Structure, scalars: Scalars, constants: set[tuple[DType, int]]
) -> Scalars:
    """Return the numbers that stay parameters, by dtype in the order of first use."""
    others: Scalars = {}
    for i in structure.instructions:
        for item in i.operands:
            if isinstance(item, ScalarSlot) and (item.dtype, item.ordinal) not in constants:
                others.setdefault(item.dtype, []).append(scalars[item.dtype][item.ordinal])
    return others


def held(number: Any, dtype: DType) -> int | float | None:
    """Return a number as the dtype holds it; None for one that cannot be a constant."""
    if dtype.kind not in "iuf":
        return None
    value: int | float = scalar_vector([number], dtype.numpy)[0].item()
    if dtype.kind == "f":
        value = float(value)
        if not math.isfinite(value) or value == 0 and math.copysign(1.0, value) < 0:
            return None
    return int(value) if value in (0, 1, -1) else value


def _known(slot: _Slot, scalars: Scalars) -> int | float | None:
    number = held(scalars[slot.dtype][slot.ordinal], slot.dtype)
    return number if slot.values is None or number in slot.values else None


def _slots(structure: Structure, generators: Iterable[Generator]) -> tuple[_Slot, ...]:
    """Return the run-time numbers of a structure that generators ask for, in order."""
    if structure.padding is not None or common_placement(structure.leaf_types) is not None:
        return ()
    chosen = list(generators)
    named = [numbers_named(g) for g in chosen]
    slots: list[_Slot] = []
    # mapped ops are what generators are offered; numbers, operands and types stay
    for number, i in enumerate(with_batches(structure).instructions):
        wanted = [set(_numbers(g, Call.of(i))) for g in chosen] if any(
            isinstance(item, ScalarSlot) for item in i.operands) else []
        for position, item in enumerate(i.operands):
            if not isinstance(item, ScalarSlot):
                continue
            place = number, position
            values: set[int | float] = set()
            for by_operand in named:
                for value in by_operand.get((i.spec.op.name, position), ()):
                    exact = held(value, item.dtype)
                    if exact is not None:
                        values.add(exact)
            if any(position in numbers for numbers in wanted):
                slots.append(_Slot(place, item.dtype, item.ordinal, None))
            elif values:
                slots.append(_Slot(place, item.dtype, item.ordinal, frozenset(values)))
    return tuple(slots)


def _numbers(generator: Generator, call: Call) -> list[int]:
    """Return the operands whose numbers a generator wants; an error counts as none."""
    try:
        return [int(k) for k in generator.numbers(call)]
    except Exception as error:
        reraise_from_handler(error)
        failed(raised(generator.name, "", (call.op,), "ask", error, "numbers: "), "numbers")
        return []
