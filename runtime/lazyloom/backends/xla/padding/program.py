"""The ops of a padded program, each lowered for operands padded as by the ops before it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from ....codegen.extents import Extents, Sizes
from ....program.extents import attributes_outline, may_vary
from ....program.program import Structure
from ....program.stream import Leaf, Result
from ...backend import NotPadded
from .dims import ANY, FUNCTIONS, Description, compiled, is_any, is_dynamic, is_static
from .lower import Padded, lower_padded

#: the most extents at which a condition is evaluated: a program for more is not padded
MOST: Final = 20_000


def padded_ops(structure: Structure, outputs: Sequence[tuple[int, int]]) -> list[Padded]:
    """Lower each instruction of a structure with padding. Raises NotPadded."""
    padding = structure.padding
    assert padding is not None
    numbers_by_instruction = dict(padding.numbers)
    ops: list[Padded] = []
    conditions: set[str] = set()
    for number, i in enumerate(structure.instructions):
        dims: list[tuple[Description, ...] | None] = []
        for item, t in zip(i.operands, i.operand_types, strict=True):
            if t is None:
                dims.append(None)
            elif isinstance(item, Leaf):
                dims.append(tuple([(size,) for size in padding.leaves[item.number]]))
            elif isinstance(item, Result):
                dims.append(ops[item.instruction].dims[item.number])
            else:
                dims.append(())
        numbers = numbers_by_instruction.get(number)
        if numbers is None:
            numbers = tuple(map(str, attributes_outline(i.spec)[1])) if may_vary(i.spec) else ()
        try:
            op = lower_padded(i.spec, i.operand_types, numbers, tuple(dims), padding.bucket)
        except NotPadded as error:
            raise NotPadded(f"{i.spec.op.name}: {error}") from error
        conditions.update(op.conditions)
        ops.append(op)
    for number, index in outputs:
        for description in ops[number].dims[index]:
            if len(description) > 1 and is_dynamic(description) and not is_any(description):
                raise NotPadded(
                    f"a result of {structure.instructions[number].spec.op.name} is wanted whose "
                    f"valid elements along a dimension, {'*'.join(description)}, are not the first")
    _check(conditions, padding.lowest, padding.bucket)
    return ops


def extents_of(structure: Structure, outputs: Sequence[tuple[int, int]]) -> Extents:
    """Return what varies in a structure with padding, for code generators. Raises NotPadded."""
    padding = structure.padding
    assert padding is not None
    ops = padded_ops(structure, outputs)
    varying = tuple(n for n, sizes in padding.numbers if not all(
        is_static(size.removeprefix("-")) for size in sizes))
    return Extents(padding.lowest, padding.bucket, padding.leaves, tuple(
        tuple(_sizes(dims) for dims in op.dims) for op in ops), varying)


def _sizes(dims: Sequence[Description]) -> Sizes | None:
    """Return the sizes of a result; None unless its valid elements are the first of each axis.

    Of an axis along which it does not vary, padding included, other ops rely on that.
    """
    sizes: list[str] = []
    for description in dims:
        factors = [f for f in description if f != ANY]
        if len(description) == 1:
            sizes.append(description[0])
        elif all(map(is_static, factors)):
            sizes.append(str(math.prod(map(int, factors))))
        else:
            return None
    return tuple(sizes)


def _check(conditions: set[str], lowest: Sequence[int], bucket: Sequence[int]) -> None:
    """Raise NotPadded unless the conditions hold for all extents from ``lowest`` to ``bucket``."""
    ranges = {f"e{k}": range(low, high + 1)
              for k, (low, high) in enumerate(zip(lowest, bucket, strict=True))}
    for text in sorted(conditions):
        code = compiled(text)
        # extents that it does not name do not matter
        names = [name for name in ranges if name in code.co_names]
        if math.prod(len(ranges[name]) for name in names) > MOST:
            raise NotPadded(f"it holds for some extents alone, by {text}")
        for values in itertools.product(*[ranges[name] for name in names]):
            at = dict(zip(names, values, strict=True))
            if not eval(code, {**FUNCTIONS, **at}):
                raise NotPadded(f"for extents {at}, {text} does not hold")
