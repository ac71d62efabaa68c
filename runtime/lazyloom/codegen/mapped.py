"""Programs whose mapped ops are the same ops on one more axis, where there are such."""

from __future__ import annotations

from typing import Any

from ..errors import LoomError
from ..ops.derived import VMAP
from ..ops.derived.batched import batched
from ..program.program import Instruction, Structure
from ..program.stream import encode_operand
from ..trace.specs import Spec, spec_of
from .answers import Call


def with_batches(structure: Structure) -> Structure:
    """Return a program in which mapped ops that are plain ones on one more axis are these.

    Instructions have the same numbers, operands and types.
    """
    instructions = structure.instructions
    if not any(i.spec.op.times(VMAP) for i in instructions):
        return structure
    stream: list[Any] = []
    changed = False
    for i in instructions:
        spec = _batched(i)
        changed = changed or spec is not i.spec
        stream += [spec, *map(encode_operand, i.operands)]
    return Structure(tuple(stream), structure.leaf_types) if changed else structure


def _batched(i: Instruction) -> Spec:
    if not i.spec.op.times(VMAP):
        return i.spec
    found = batched(i.spec.op, i.spec.attrs, i.operand_types)
    if found is None:
        return i.spec
    op, attrs = found
    try:
        spec = spec_of(op, attrs, len(i.operands))
        same = tuple(spec.infer(i.operand_types)) == tuple(i.types)
    except LoomError:
        # operands that broadcast for one element, and not with the axis
        return i.spec
    return spec if same else i.spec


def of_element(i: Instruction) -> Call | None:
    """Return the call for one element of the axis of a mapped op; None if it is not mapped."""
    op = i.spec.op
    if op.kind != VMAP or op.base is None:
        return None
    mapped = i.spec.attrs[op.own[0]]
    operands = tuple([t.like(t.shape[1:], t.dtype) if t is not None and k in mapped else t
                      for k, t in enumerate(i.operand_types)])
    attrs = {k: v for k, v in i.spec.attrs.items() if k not in op.own}
    results = tuple([t.like(t.shape[1:], t.dtype) for t in i.types])
    return Call(op.base.name, attrs, operands, results)
