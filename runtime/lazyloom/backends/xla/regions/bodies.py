"""Regions inside the functions of loops and branches.

A loop whose functions have regions is an op of its own, traced as the loop is, but with functions
that call the regions. A function that is differentiated has a derivative of its own there: the
program that the vjp of each op makes, in regions as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....codegen.bodies import Cotangent, Gradient, primary_of
from ....codegen.partition import DividedBody, DividedLoop
from ....ops.bodies import Body, BodyInput, BodyResult, ReplacedText, parsed
from ....ops.derived import FORWARD
from ....ops.spec import OpDef
from ....program.program import Instruction, Structure
from ....program.stream import Leaf, Operand, Result
from ....trace.scalars import Baked
from ....trace.specs import Spec, spec_of
from ..layouts import identity
from .region_op import TARGET, Called, Compared, called

#: the instructions of a function with its regions as ops, and its results among theirs
Contracted = tuple[Sequence[Instruction], Sequence[tuple[int, int]]]
#: makes the instruction of a divided loop from that of the loop, given those before it
Replacement = Callable[[Instruction, Sequence[Instruction]], Instruction]

#: of each loop with regions: the ops that these are
_callees: Final[dict[Spec, tuple[Spec, ...]]] = {}
_specs: Final[dict[object, Spec]] = {}
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def callees(spec: Spec) -> tuple[Spec, ...]:
    """Return the regions that an op calls: itself, or those in the functions of a loop."""
    return _callees.get(spec, (spec,))


def replaced(
    structure: Structure, loop: DividedLoop, verify: bool,
    contract: Callable[[DividedBody], Contracted],
) -> dict[int, Replacement]:  # fmt: skip
    """Return what makes the instructions of a loop, by number; none if it has no regions."""
    if not any(any(body.partition.every_part()) for body in loop.bodies):
        return {}
    functions = {(b.program.name, b.program.gradient is not None): (b, contract(b))
                 for b in loop.bodies}
    key = tuple((name, backward, tuple((i.spec.id, i.operands) for i in instructions),
                 tuple(outputs))
                for (name, backward), (_, (instructions, outputs)) in functions.items())
    regions = tuple(dict.fromkeys(
        spec for _, (instructions, _) in functions.values() for i in instructions
        for spec in callees(i.spec) if called(spec)))
    first = structure.instructions[loop.instructions[0]]
    op = first.spec.op
    names = op.root.signature.bodies
    texts: dict[str, ReplacedText] = {}
    for name in names:
        body = parsed(op.root, first.spec.attrs[name])
        backward = functions.get((name, True))
        texts[name] = text = ReplacedText(first.spec.attrs[name])
        text.body = _Function(
            body, functions[name, False], backward, op.base is not None)

    def spec_for(i: Instruction, arity: int) -> Spec:
        with _lock:
            identified = (i.spec, arity, key)
            spec = _specs.get(identified)
            if spec is None:
                spec = _specs[identified] = _spec(i.spec, arity, texts)
                _callees[spec] = regions
            return spec

    #: the residuals that the first half gives: of its own, since it keeps other values
    given: list[Result] = []

    def begin(i: Instruction, before: Sequence[Instruction]) -> Instruction:
        spec = spec_for(i, len(i.operands))
        made = Instruction(spec, i.operands, i.operand_types, spec.infer(i.operand_types))
        if op.kind == FORWARD:
            given[:] = [Result(len(before), r) for r in range(primary_of(i), len(made.types))]
        return made

    def end(i: Instruction, before: Sequence[Instruction]) -> Instruction:
        residuals = len(first.types) - primary_of(first)
        operands = (*given, *i.operands[residuals:])
        types = (*(before[g.instruction].types[g.number] for g in given),
                 *i.operand_types[residuals:])
        return Instruction(spec_for(i, len(operands)), operands, types, i.types)

    return {n: end if at else begin for at, n in enumerate(loop.instructions)}


def _spec(spec: Spec, arity: int, texts: dict[str, ReplacedText]) -> Spec:
    """Return the op of a loop with other functions."""
    op = spec.op

    def fn(*operands: Any, **attrs: Any) -> Any:
        return op.fn(*operands, **{**attrs, **texts})

    divided = OpDef(
        op.name, op.operands, op.attributes, op.rule, fn, op.doc, op.source, kind=op.kind,
        own=op.own, signature=op.root.signature, derivative=op.derivative,
        execution=op.execution, access=op.access)
    return spec_of(divided, spec.attrs, arity)


class _Function(Body):
    """A function of a loop that calls regions."""

    __slots__ = ("_forward", "_backward", "_differentiated")

    def __init__(
        self, body: Body, forward: tuple[DividedBody, Contracted],
        backward: tuple[DividedBody, Contracted] | None, differentiated: bool,
    ) -> None:  # fmt: skip
        super().__init__(body.leaves, body.instructions, body.results)
        self._forward: Final = forward
        self._backward: Final = backward
        self._differentiated: Final = differentiated

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """The results for JAX arrays."""
        from jax import custom_vjp, lax

        if not self._differentiated:
            return self._results(operands, self._values(operands))
        if self._backward is None:
            # no derivative passes, and none is known of the call of a region
            stopped = [lax.stop_gradient(x) for x in operands]
            return self._results(stopped, self._values(stopped))
        gradient = self._backward[0].program.gradient
        assert gradient is not None

        def primal(*xs: Any) -> list[Any]:
            return self._results(xs, self._values(xs))

        def forward(*xs: Any) -> tuple[list[Any], list[Any]]:
            values = self._values(xs)
            return self._results(xs, values), [self._read(x, xs, values) for x in gradient.saved]

        def backward(saved: list[Any], cotangents: list[Any]) -> tuple[Any, ...]:
            return self._pulled(gradient, saved, cotangents)

        function = custom_vjp(primal)
        function.defvjp(forward, backward)
        results: list[Any] = function(*operands)
        return results

    def _values(self, operands: Sequence[Any]) -> dict[tuple[int, int], Any]:
        """Return what the program of the function gives, by instruction and result."""
        divided, contracted = self._forward
        return dict(zip(divided.program.outputs, _run(contracted, operands), strict=True))

    def _read(
        self, source: Any, operands: Sequence[Any], values: dict[tuple[int, int], Any]
    ) -> Any:
        if isinstance(source, BodyInput):
            return operands[source.number]
        if isinstance(source, BodyResult):
            return values[source.instruction, source.number]
        return _constant(source.number, source.dtype.numpy)

    def _results(
        self, operands: Sequence[Any], values: dict[tuple[int, int], Any]
    ) -> list[Any]:
        from jax import lax

        return [lax.convert_element_type(self._read(r.source, operands, values), t.dtype.numpy)
                for r, t in zip(self.results, self.result_types, strict=True)]

    def _pulled(
        self, gradient: Gradient, saved: Sequence[Any], cotangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return the cotangents of the leaves, None for one without."""
        assert self._backward is not None
        divided, contracted = self._backward
        kept = iter(saved)
        given: list[Any] = []
        for what, t in zip(gradient.takes, divided.program.structure.leaf_types, strict=True):
            if isinstance(what, (BodyInput, BodyResult)):
                given.append(next(kept))
            elif isinstance(what, Cotangent):
                given.append(cotangents[what.result])
            else:
                given.append(_constant(0, t.dtype.numpy, t.shape))
        found = dict(zip(divided.program.outputs, _run(contracted, given), strict=True))
        return tuple(
            given[x.number] if isinstance(x, Leaf)
            else found[x.instruction, x.number] if isinstance(x, Result) else None
            for x in gradient.gives)


def _constant(number: Any, dtype: Any, shape: tuple[int, ...] = ()) -> Any:
    from jax import lax

    return lax.full(shape, number, dtype)


def _run(contracted: Contracted, leaves: Sequence[Any]) -> list[Any]:
    """Run the instructions of a function on JAX arrays."""
    instructions, outputs = contracted
    values: list[Any] = []

    def read(item: Operand) -> Any:
        if isinstance(item, Result):
            return values[item.instruction][item.number]
        if isinstance(item, Leaf):
            return leaves[item.number]
        if isinstance(item, Baked):
            return _constant(item.number, item.dtype.numpy)
        assert item is None, "a body has no run-time scalars"
        return None

    for i in instructions:
        operands = [read(item) for item in i.operands]
        callee = called(i.spec)
        results = _call(callee, operands) if callee is not None else (
            i.spec.op.fn(*operands, **i.spec.attrs))
        values.append(results if isinstance(results, (tuple, list)) else (results,))
    return [values[n][r] for n, r in outputs]


def _call(callee: Called | Compared, operands: Sequence[Any]) -> list[Any]:
    """Call a region, or the comparison of one."""
    import jax.ffi
    from jax import ShapeDtypeStruct, lax

    types = callee.region.results
    layouts = callee.region.layouts
    given = [x if layout == identity(len(layout)) else lax.transpose(x, layout)
             for x, layout in zip(operands, layouts, strict=False)]
    inside = layouts[len(operands):]
    results = jax.ffi.ffi_call(
        TARGET, [ShapeDtypeStruct(tuple(t.shape[d] for d in layout), t.dtype.numpy)
                 for t, layout in zip(types, inside, strict=True)],
        input_output_aliases={k: r for r, k in callee.aliases})(
        *given, region=np.int64(callee.key))
    return [x if layout == identity(len(layout)) else lax.transpose(
        x, [layout.index(d) for d in range(len(layout))])
        for x, layout in zip(results, inside, strict=True)]
