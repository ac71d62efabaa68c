"""What an op costs to compile: programs of one op, of its derivative, and of chains of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom as ll
from lazyloom.backends.xla import jax_compat
from lazyloom.backends.xla.assemble import module_text
from lazyloom.backends.xla.fusion_barriers import steps_of
from lazyloom.jaxprs import tracing
from lazyloom.ops.samples import Sample, samples
from lazyloom.ops.spec import OpDef


def sample(op: OpDef) -> Sample | None:
    """The op's first sample with something in it, and in its result where there is one; real
    float32 and smooth where there is one."""
    given = [s for s in samples(op) if all(x is None or x.size for x in s.operands)]

    def unlike(s: Sample) -> tuple[bool, ...]:
        dtypes = [x.dtype for x in s.operands if x is not None]
        return (0 in s.attributes.get("shape", ()), np.dtype(np.float32) not in dtypes,
                any(d.kind == "c" for d in dtypes), not s.smooth)

    return min(given, key=unlike, default=None)


def _tensor(x: Any) -> Any:
    return ll.Tensor.from_value(ll.from_host(np.asarray(x)))


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def forward(op: OpDef, given: Sample) -> list[Any]:
    """The pending results of the op."""
    return list(_several(ll.apply(
        op, [None if x is None else _tensor(x) for x in given.operands], given.attributes)))


def backward(op: OpDef, given: Sample) -> list[Any]:
    """The pending gradients of the op; none where it has none."""
    operands: list[Any] = [None if x is None else _tensor(x) for x in given.operands]
    at = [i for i, x in enumerate(given.operands)
          if x is not None and x.dtype.kind in "fc" and op.has_gradient(i)]

    def fn(*some: Any) -> list[Any]:
        mine = list(operands)
        for i, x in zip(at, some, strict=True):
            mine[i] = x
        results = _several(ll.apply(op, mine, given.attributes))
        return [x for x in results if x.value.dtype.kind in "fc"]

    types = op.infer([None if x is None else x.value.type for x in operands],
                     op.canonical_attributes(given.attributes))
    if not at or not any(t.dtype.kind in "fc" for t in types):
        return []
    results, pull = ll.vjp(fn, *[operands[i] for i in at])
    return list(pull([_tensor(np.ones(x.value.type.shape, x.value.dtype.numpy)) for x in results]))


def fits(op: OpDef, given: Sample) -> bool:
    """Whether :func:`chain` has anything to do."""
    return _place(op, given) is not None


def _place(op: OpDef, given: Sample) -> int | None:
    """The first operand of the first result's type."""
    types = [None if x is None else ll.tensor_type(x.shape, ll.dtypes.as_dtype(x.dtype))
             for x in given.operands]
    first = op.infer(types, op.canonical_attributes(given.attributes))[0]
    last = len(op.operands) - 1
    return next((i for i, t in enumerate(types)
                 if t is first and op.operands[min(i, last)].name != "key"), None)


def chain(op: OpDef, given: Sample, times: int) -> list[Any]:
    """The op so many times, each on the first result before; nothing where that does not fit."""
    at = _place(op, given)
    if at is None:
        return []
    operands: list[Any] = [None if x is None else _tensor(x) for x in given.operands]
    for _ in range(times):
        operands[at] = _several(ll.apply(op, operands, given.attributes))[0]
    return [operands[at]]


def _program(wanted: list[Any]) -> ll.Program:
    # values that share nothing are a program each: here they are one
    joined = [ll.apply("any", [x], {}) for x in wanted]
    while len(joined) > 1:
        joined = [*joined[2:], ll.apply("logical_or", joined[:2], {})]
    return ll.program_of(*wanted)


def steps(wanted: list[Any]) -> int:
    """Instructions that compute, in the lowerings of all that is pending."""
    return sum(map(steps_of, _program(wanted).structure.instructions))


def text(wanted: list[Any]) -> str:
    """The StableHLO module of what is pending."""
    program = _program(wanted)
    with tracing.x64():
        return module_text(program.structure, program.outputs, {})


def size_of_code(wanted: list[Any]) -> int:
    """How many instructions XLA's own code of the pending values has, in all its loops."""
    module = text(wanted)
    with tracing.x64():
        compiled = jax_compat.compile_text(module)
    return int(sum(m.to_string().count(" = ") for m in compiled.hlo_modules()))
