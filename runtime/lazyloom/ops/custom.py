"""Ops that stand for a part of a program as a whole: their operands, passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..types import TensorType
from ._jax import lax
from .cases import Cases, case
from .kinds import AnyType, Array
from .spec import OpDef, op
from .traits import Derivative, Execution, Signature


def passed_on(
    entry: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of the operands, or of the first ``results`` of them."""
    count = attrs.get("results", len(types))
    if not 1 <= count <= len(types):
        raise ArgumentError(
            f"{entry.name}: {count} results were asked for, expected between 1 and the number of "
            f"operands, {len(types)}", op=entry.name)
    return tuple(types[:count])


passed_on.family = "passed_on"  # type: ignore[attr-defined]


@op(passed_on, source="a function with a derivative of its own",
    signature=Signature(lists=True, output_notes={"result": "the first of the operands"}),
    samples=Cases(
    case((2, 3), (3,), results=1), case((2, 3), np.array([1, 2]), (0, 2), results=2)),
    derivative=Derivative(linear="operands"))
def custom(*operands: AnyType, results: int) -> tuple[Array, ...] | Array:
    """The first ``results`` operands; the others are what these were computed from.

    Recorded by ``lazyloom.custom``, which has a function of the host pull cotangents of the
    results back to the others, or push tangents. As an op by itself the gradient passes to the
    operands that it gives.
    """
    return operands[0] if results == 1 else operands[:results]


@op(passed_on, source="stablehlo.optimization_barrier",
    signature=Signature(lists=True, output_notes={"result": "one for each operand"}), samples=Cases(
    case((2, 3)), case((2, 3), (0, 2), np.array([1, 2]))), derivative=Derivative(linear="operands"))
def barrier(*operands: AnyType) -> tuple[Array, ...] | Array:
    """The operands themselves; what is computed from them is not merged with the same
    computation elsewhere, nor begun before all of them are there."""
    results = lax.optimization_barrier(operands)
    return results[0] if len(operands) == 1 else tuple(results)


@op(passed_on, source="stablehlo.optimization_barrier, which XLA's schedules do not know",
    signature=Signature(lists=True, output_notes={"result": "the first of the operands"}),
    samples=Cases(
    case((2, 3), (3,), results=1), case((2, 3), np.array([1, 2]), (0, 2), results=2)),
    derivative=Derivative(linear="operands"), execution=Execution(opaque=True))
def await_all(*operands: AnyType, results: int) -> tuple[Array, ...] | Array:
    """The first ``results`` operands, and not before the others are there as well.

    What is computed of the results is begun after what computes the others, so that the memory of
    both is not needed at once. It costs a copy of the results.
    """
    passed = lax.optimization_barrier(operands)
    return passed[0] if results == 1 else tuple(passed[:results])
