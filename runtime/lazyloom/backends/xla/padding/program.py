"""The ops of a padded program, each lowered for operands that are padded as those before it say."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from ....program.extents import attributes_outline, may_vary
from ....program.program import Leaf, Result, Structure
from ...backend import NotPadded
from .dims import Description, compiled, is_any, is_dynamic, named
from .lower import Padded, lower_padded

#: extents at which conditions are looked at, at most: a program for more is not padded
MOST: Final = 20_000


def padded_ops(structure: Structure, outputs: Sequence[tuple[int, int]]) -> list[Padded]:
    """Each instruction of a structure with padding. Raises NotPadded."""
    padding = structure.padding
    assert padding is not None
    given = dict(padding.numbers)
    found: list[Padded] = []
    conditions: set[str] = set()
    for number, i in enumerate(structure.instructions):
        dims: list[tuple[Description, ...] | None] = []
        for item, t in zip(i.operands, i.operand_types, strict=True):
            if t is None:
                dims.append(None)
            elif isinstance(item, Leaf):
                dims.append(tuple([(size,) for size in padding.leaves[item.number]]))
            elif isinstance(item, Result):
                dims.append(found[item.instruction].dims[item.number])
            else:
                dims.append(())
        numbers = given.get(number)
        if numbers is None:
            numbers = tuple(map(str, attributes_outline(i.spec)[1])) if may_vary(i.spec) else ()
        try:
            op = lower_padded(i.spec, i.operand_types, numbers, tuple(dims), padding.bucket)
        except NotPadded as error:
            raise NotPadded(f"{i.spec.op.name}: {error}") from error
        conditions.update(op.conditions)
        found.append(op)
    for number, index in outputs:
        for description in found[number].dims[index]:
            if len(description) > 1 and is_dynamic(description) and not is_any(description):
                raise NotPadded(
                    f"a result of {structure.instructions[number].spec.op.name} is wanted whose "
                    f"valid elements along a dimension, {'*'.join(description)}, are not the first")
    _check(conditions, padding.lowest, padding.bucket)
    return found


def _check(conditions: set[str], lowest: Sequence[int], bucket: Sequence[int]) -> None:
    """Raise NotPadded unless the conditions hold for all extents from ``lowest`` to ``bucket``."""
    if not conditions:
        return
    ranges = [range(low, high + 1) for low, high in zip(lowest, bucket, strict=True)]
    count = 1
    for each in ranges:
        count *= len(each)
    if count > MOST:
        raise NotPadded(f"it holds for some extents alone, by {', '.join(sorted(conditions))}")
    for values in itertools.product(*ranges):
        for text in conditions:
            if not eval(compiled(text), named(values)):
                raise NotPadded(f"for extents {values}, {text} does not hold")
