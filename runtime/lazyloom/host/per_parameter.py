"""The kernel of an optimizer's step for many parameters, of those for one parameter each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..trace.specs import Spec, spec_of
from ..types import TensorType
from .blocks import BLOCKS_FROM_ELEMENTS
from .kernel import HostKernel

#: the family of ops that compute each parameter by itself, of its own tensors and shared numbers
OPTIMIZER_STEP: Final = "optimizer_step"

Find = Callable[[Spec, "tuple[TensorType | None, ...]"], "HostKernel | None"]


def per_parameter(
    spec: Spec, types: tuple[TensorType | None, ...], find: Find
) -> HostKernel | None:
    """The kernel of a step for several parameters; None if it is another op, or has one parameter.

    None, too, where a tensor is large: its kernel writes over what ends with the step.
    """
    op = spec.op
    if op.family != OPTIMIZER_STEP or op.base is not None or any(
        t is None or t.size >= BLOCKS_FROM_ELEMENTS for t in types
    ):
        return None
    numbers, counted = len(op.operands) - 1, op.signature.outputs.index("parameters")
    results = len(spec.infer(types)) - counted
    # the operands have one kind more than the results: the gradients
    parameters = len(types) - numbers - results
    if parameters < 2:
        return None
    kinds = (len(types) - numbers) // parameters
    one = spec_of(op, spec.attrs, numbers + kinds)
    runs: list[tuple[Callable[..., Any], slice]] = []
    shared: list[tuple[bool, ...]] = []
    for k in range(parameters):
        own = slice(numbers + k, None, parameters)
        found = find(one, (*types[:numbers], *types[own]))
        if found is None:
            return None
        runs.append((found.run, own))
        shared.append(found.shared)

    def run(*operands: Any) -> Any:
        first = operands[:numbers]
        made = [kernel(*first, *operands[own]) for kernel, own in runs]
        if single:
            return tuple(made)
        return (*made[0][:counted], *(
            row[kind] for kind in range(counted, counted + kinds - 1) for row in made))

    # without numbers and states of its own a step has one result for each parameter
    single = counted + kinds - 1 == 1
    return HostKernel(run, (*shared[0][:counted], *(
        row[kind] for kind in range(counted, counted + kinds - 1) for row in shared)))
