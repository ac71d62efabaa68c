"""What a structure's run in pieces comes to, written down after its first runs.

The ops' kernels in order, and for each the places of its operands in one table of values: leaves,
run-time scalars, constants, results. A run then is a call and a store for each op.
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from ..dtypes import DType
from ..program.plan import Plan
from .data import host_view, scalar_of

#: steps that all structures together may have
MOST: Final = 400_000


@final
class Step:
    """One op: its kernel, the places of operands and of its first result, and what ends with it."""

    __slots__ = ("kernel", "operands", "at", "count", "dying")

    def __init__(
        self, kernel: Any, operands: list[int], at: int, count: int, dying: list[int]
    ) -> None:
        self.kernel: Final[Any] = kernel
        self.operands: Final[list[int]] = operands
        self.at: Final[int] = at
        self.count: Final[int] = count
        self.dying: Final[list[int]] = dying


@final
class _Kept:
    __slots__ = ("count",)

    def __init__(self) -> None:
        #: steps that there are
        self.count: int = 0


_kept: Final = _Kept()


@final
class Steps:
    """The steps of a structure for what was wanted of it.

    Attributes:
        table: the values before a run: constants in their places, None elsewhere.
        scalars: (place, dtype, ordinal) of each run-time scalar.
        results: (place, whether its memory is shared) of each wanted result.
    """

    __slots__ = ("steps", "table", "scalars", "wanted", "results", "_kept")

    def __init__(
        self, steps: list[Step], table: list[Any], scalars: list[tuple[int, DType, int]],
        wanted: list[tuple[int, int]], results: list[tuple[int, bool]],
    ) -> None:  # fmt: skip
        self.steps: Final[list[Step]] = steps
        self.table: Final[list[Any]] = table
        self.scalars: Final[list[tuple[int, DType, int]]] = scalars
        self.wanted: Final[list[tuple[int, int]]] = wanted
        self.results: Final[list[tuple[int, bool]]] = results
        # at the end of the process the module's names may be gone before this is
        self._kept: Final[_Kept] = _kept
        _kept.count += len(steps)

    def __del__(self) -> None:
        self._kept.count -= len(self.steps)


def written_down(
    plan: Plan, kernels: list[Any], shared: list[tuple[bool, ...]], constant: Any
) -> Steps | None:
    """The steps of a plan that has just run by these kernels, one an op; None if there is no room.

    ``constant`` gives the value of a constant of the structure.
    """
    if _kept.count + len(kernels) > MOST:
        return None
    leaves = len(plan.leaves)
    table: list[Any] = [None] * leaves
    scalars: list[tuple[int, DType, int]] = []
    constants: dict[Any, int] = {}
    ordinals: dict[DType, int] = {}
    start: list[int] = []
    last: dict[int, int] = {}
    operands_of: list[list[int]] = []
    stream = plan.structure.stream
    at = 0
    for number, n in enumerate(plan.nodes):
        operands: list[int] = []
        spec = stream[at]
        for item in stream[at + 1 : at + 1 + spec.arity]:
            if isinstance(item, int):
                place = start[item] if item >= 0 else -1 - item
            elif isinstance(item, tuple):
                place = start[item[0]] + item[1]
            elif isinstance(item, DType):
                ordinal = ordinals.get(item, 0)
                ordinals[item] = ordinal + 1
                place = len(table)
                scalars.append((place, item, ordinal))
                table.append(None)
            else:
                known = constants.get(item)
                if known is None:
                    known = constants[item] = len(table)
                    table.append(None if item is None else constant(item))
                place = known
            operands.append(place)
            last[place] = number
        at += 1 + spec.arity
        start.append(len(table))
        table += [None] * len(n.types)
        operands_of.append(operands)
    kept = {start[slot] + index for slot, index in plan.wanted}
    dying: list[list[int]] = [[] for _ in kernels]
    for slot, n in enumerate(plan.nodes):
        for place in range(start[slot], start[slot] + len(n.types)):
            if place not in kept:
                # a result that nothing uses ends with what makes it
                dying[last.get(place, slot)].append(place)
    steps = [Step(kernel, operands, first, len(n.types), ends) for kernel, operands, first, n, ends
             in zip(kernels, operands_of, start, plan.nodes, dying, strict=True)]
    results = [(start[slot] + index, shared[slot][index]) for slot, index in plan.wanted]
    return Steps(steps, table, scalars, list(plan.wanted), results)


def values_of(known: Steps, plan: Plan) -> list[Any]:
    """Run the steps; the wanted results, each in memory of its own."""
    table = list(known.table)
    for k, leaf in enumerate(plan.leaves):
        table[k] = host_view(leaf)
    for place, dtype, ordinal in known.scalars:
        table[place] = scalar_of(plan.scalars[dtype][ordinal], dtype)
    for step in known.steps:
        operands = step.operands
        many = len(operands)
        if many == 2:
            result = step.kernel(table[operands[0]], table[operands[1]])
        elif many == 1:
            result = step.kernel(table[operands[0]])
        else:
            result = step.kernel(*[table[place] for place in operands])
        at = step.at
        if step.count == 1:
            table[at] = result
        else:
            for each in result:
                table[at] = each
                at += 1
        for place in step.dying:
            table[place] = None
    return [owned(table[place], shared) for place, shared in known.results]


def owned(value: Any, shared: bool) -> Any:
    """A result as an array in memory of its own, the elements in row-major order."""
    if not isinstance(value, np.ndarray):
        return np.asarray(value)
    if shared:
        return value.copy()
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)
