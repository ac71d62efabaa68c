"""Op-by-op execution of a new structure, which may never come back.

Its kernels are known, and writing down what a run comes to (:mod:`.schedule`) would take longer
than the run.
"""

from __future__ import annotations

from typing import Any, Final

from ...backends.data import host_view, scalar_of
from ...dtypes import DType
from ...program.plan import Plan
from ...program.stream import INDEX_BITS, INDEX_MASK
from .schedule import RELEASE_FROM_BYTES, owned

#: bytes of small results of a plan up to which these are there until its end
SMALL: Final = 1 << 24


def _uses_of_large(plan: Plan) -> list[int]:
    """How often results are used, for ops whose results are let go of then; -1 for others."""
    found: list[int] = []
    kept = 0
    for n in plan.nodes:
        size = 0
        for t in n.types:
            size += t.nbytes
        if size >= RELEASE_FROM_BYTES or kept + size > SMALL:
            found.append(n.uses)
        else:
            kept += size
            found.append(-1)
    for slot, _ in plan.wanted:
        found[slot] += 1 if found[slot] >= 0 else 0
    return found


def inputs_of(plan: Plan, constant: Any) -> list[Any]:
    """The values of a plan's inputs, by place (:attr:`~lazyloom.program.stream.Decoded.operands`).

    ``constant`` gives the value of a constant of the structure.
    """
    inputs: list[Any] = [host_view(leaf) for leaf in plan.leaves]
    scalars = plan.scalars
    ordinals: dict[DType, int] = {}
    for item in plan.stream().others:
        if isinstance(item, DType):
            ordinal = ordinals.get(item, 0)
            ordinals[item] = ordinal + 1
            inputs.append(scalar_of(scalars[item][ordinal], item))
        else:
            inputs.append(None if item is None else constant(item))
    return inputs


def values_once(
    plan: Plan, kernels: list[Any], shared: list[tuple[bool, ...]], constant: Any
) -> list[Any]:
    """Run a plan by these kernels, one an op; the wanted results, each in memory of its own."""
    stream = plan.stream()
    operands = stream.operands
    ends = stream.ends
    inputs = inputs_of(plan, constant)
    values: list[Any] = []
    #: whether an op gives a tuple of results
    several: list[bool] = [len(n.types) > 1 for n in plan.nodes]
    left = _uses_of_large(plan)
    end = 0
    for slot, kernel in enumerate(kernels):
        start = end
        end = ends[slot]
        arguments: list[Any] = []
        for position in range(start, end):
            code = operands[position]
            if code >= 0:
                arguments.append(inputs[code])
            else:
                number = (-1 - code) >> INDEX_BITS
                if several[number]:
                    arguments.append(values[number][(-1 - code) & INDEX_MASK])
                else:
                    arguments.append(values[number])
                if left[number] > 0:
                    left[number] -= 1
                    if left[number] == 0:
                        values[number] = None
        many = len(arguments)
        if many == 2:
            values.append(kernel(arguments[0], arguments[1]))
        elif many == 1:
            values.append(kernel(arguments[0]))
        else:
            values.append(kernel(*arguments))
        if left[slot] == 0:
            # what nothing uses
            values[slot] = None
    results: list[Any] = []
    for slot, index in plan.wanted:
        value = values[slot][index] if several[slot] else values[slot]
        results.append(owned(value, shared[slot][index]))
    return results
