"""Forward-mode differentiation of recorded work, op by op, from leaves to outputs.

This uses the same tape as :mod:`lazyloom.autodiff.reverse`. A tangent node is the jvp of its
forward op, itself an op, so it can be differentiated again in either direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..ops.derived import JVP
from ..trace import switches
from ..trace.custom_derivatives import Custom
from ..trace.graph import Node, Value
from ..trace.recording import record_spec
from ..trace.specs import Spec, spec_of
from ..trace.tape import Recomputed, again_if_dropped, operand
from .custom_rules import apply_jvp
from .reverse import ResultOf, as_value, visit_below

# specs are interned and live as long as the process, so these do
_specs: Final[dict[tuple[Spec, tuple[int, ...]], Spec]] = {}


def tangents_of(
    outputs: Sequence[Value], leaves: Sequence[Value], tangents: Sequence[Any], keep: bool
) -> tuple[list[Value | None], dict[Node, bool]]:
    """Tangents of the outputs given those of the leaves.

    Args:
        leaves: values that the outputs were recorded from.
        tangents: for each leaf a Value or Scalar of its type, or None if it does not move.
        keep: record the pass so that it can be differentiated.

    Returns:
        for each output a tangent, or None if it depends on no leaf that moves; and the part
        of the tape that was visited.

    Raises GradientError if the tape was freed.
    """
    tangent_of: dict[tuple[Node, int], Any] = {}
    for leaf, tangent in zip(leaves, tangents, strict=True):
        if tangent is not None:
            tangent_of[(leaf.node, leaf.index)] = tangent
    sources = {node for node, _ in tangent_of}
    visited: dict[Node, bool] = {}
    order: list[Node] = []
    visit_below(outputs, sources, visited, order)
    wanted = {(o.node, o.index) for o in outputs}
    last: dict[Node, Node] = {}
    for n in order:
        for m in n.inputs:
            if isinstance(m, Node):
                last[m] = n
    memo = Recomputed()
    try:
        with switches.grad_mode(keep):
            for n in order:
                if visited[n] and n.tracked and n not in sources:
                    _through(n, tangent_of, keep, memo)
                if n in last:
                    # while its operands are available: later they would have to be computed again
                    again_if_dropped(n, memo)
                # little data passes from op to op, so the trace may be cut between any two
                switches.hold_cuts(False)
                for m in n.inputs:
                    if isinstance(m, Node) and last[m] is n:
                        memo.values.pop(m, None)
                        for index in range(len(m.types)):
                            if (m, index) not in wanted:
                                tangent_of.pop((m, index), None)
            results: list[Value | None] = []
            for o in outputs:
                result = tangent_of.get((o.node, o.index)) if o.requires_grad else None
                results.append(None if result is None else as_value(result, o.node, o.index))
    finally:
        switches.hold_cuts(False)
    return results, visited


def _through(
    n: Node, tangent_of: dict[tuple[Node, int], Any], keep: bool, memo: Recomputed
) -> None:
    """Compute the tangents of a node's results."""
    spec = n.spec
    assert spec is not None
    named = spec.op.derivative.differentiable
    moving: list[int] = []
    tangents: list[Any] = []
    inputs = n.inputs
    for position, m in enumerate(inputs):
        if not n.grad_mask >> position & 1 or not isinstance(m, Node):
            continue
        tangent = tangent_of.get((m, 0 if n.indices is None else n.indices[position]))
        if tangent is None or isinstance(named, tuple) and (
            spec.op.operand_name(position) not in named
        ):
            continue
        moving.append(position)
        tangents.append(tangent)
    if not moving:
        return
    types = n.types
    if n.rule is not None:
        _through_host(n, n.rule, dict(zip(moving, tangents, strict=True)), tangent_of, keep, memo)
        return
    operands: list[Any] = [operand(n, p, keep, memo) for p in range(len(inputs))]
    recorded = record_spec(_jvp_spec(spec, tuple(moving)), operands + tangents, False, n.site)
    results = iter(recorded if isinstance(recorded, tuple) else (recorded,))
    for index, t in enumerate(types):
        if t.dtype.is_inexact:
            tangent_of[(n, index)] = next(results)


def _jvp_spec(spec: Spec, moving: tuple[int, ...]) -> Spec:
    """The spec of an op's jvp."""
    jvp = _specs.get((spec, moving))
    if jvp is None:
        op = spec.op.derive(JVP)
        attrs = {**spec.attrs, op.own[0]: moving}
        jvp = _specs[(spec, moving)] = spec_of(op, attrs, spec.arity + len(moving))
    return jvp


def _through_host(
    n: Node, rule: Custom, moving: dict[int, Any], tangent_of: dict[tuple[Node, int], Any],
    keep: bool, memo: Recomputed,
) -> None:  # fmt: skip
    """:func:`_through` for a node whose rule is a function of the host."""
    result_of = ResultOf(n, keep, memo)
    tangents: list[Value | None] = []
    for position in range(rule.results, len(n.inputs)):
        tangent = moving.get(position)
        m = n.inputs[position]
        if tangent is None:
            tangents.append(None)
        else:
            assert isinstance(m, Node)
            tangents.append(
                as_value(tangent, m, 0 if n.indices is None else n.indices[position]))
    for index, tangent in enumerate(apply_jvp(rule, n.types, result_of, tangents)):
        if tangent is not None and n.types[index].dtype.is_inexact:
            tangent_of[(n, index)] = tangent
