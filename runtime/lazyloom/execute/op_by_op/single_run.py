"""Op-by-op execution of a new structure, which may never come back.

Its kernels are known, and writing down what a run comes to (:mod:`.schedule`) would take longer
than the run.
"""

from __future__ import annotations

from typing import Any, Final

from ...backends.data import host_view, scalar_of
from ...dtypes import DType
from ...program.plan import Plan
from ...trace.specs import Spec
from .schedule import LARGE, owned

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
        if size >= LARGE or kept + size > SMALL:
            found.append(n.uses)
        else:
            kept += size
            found.append(-1)
    for slot, _ in plan.wanted:
        found[slot] += 1 if found[slot] >= 0 else 0
    return found


def values_once(
    plan: Plan, kernels: list[Any], shared: list[tuple[bool, ...]], constant: Any
) -> list[Any]:
    """Run a plan by these kernels, one an op; the wanted results, each in memory of its own.

    ``constant`` gives the value of a constant of the structure.
    """
    stream = plan.structure.stream
    leaves: list[Any] = [host_view(leaf) for leaf in plan.leaves]
    values: list[Any] = []
    scalars = plan.scalars
    ordinals: dict[DType, int] = {}
    #: whether an op gives a tuple of results
    several: list[bool] = [len(n.types) > 1 for n in plan.nodes]
    left = _uses_of_large(plan)
    at = 0
    for kernel in kernels:
        spec: Spec = stream[at]
        end = at + 1 + spec.arity
        arguments: list[Any] = []
        for position in range(at + 1, end):
            item = stream[position]
            if isinstance(item, int):
                if item < 0:
                    arguments.append(leaves[-1 - item])
                elif several[item]:
                    arguments.append(values[item][0])
                else:
                    arguments.append(values[item])
                if item >= 0 and left[item] > 0:
                    left[item] -= 1
                    if left[item] == 0:
                        values[item] = None
            elif isinstance(item, tuple):
                number: int = item[0]
                arguments.append(values[number][item[1]])
                if left[number] > 0:
                    left[number] -= 1
                    if left[number] == 0:
                        values[number] = None
            elif isinstance(item, DType):
                ordinal = ordinals.get(item, 0)
                ordinals[item] = ordinal + 1
                arguments.append(scalar_of(scalars[item][ordinal], item))
            elif item is None:
                arguments.append(None)
            else:
                arguments.append(constant(item))
        at = end
        many = len(arguments)
        if many == 2:
            values.append(kernel(arguments[0], arguments[1]))
        elif many == 1:
            values.append(kernel(arguments[0]))
        else:
            values.append(kernel(*arguments))
        if left[len(values) - 1] == 0:
            # what nothing uses
            values[-1] = None
    found: list[Any] = []
    for slot, index in plan.wanted:
        value = values[slot][index] if several[slot] else values[slot]
        found.append(owned(value, shared[slot][index]))
    return found
