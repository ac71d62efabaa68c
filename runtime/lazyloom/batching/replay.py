"""Replay of a mapped function's ops for a whole axis.

Each op becomes its ``.vmap``; a value that does not depend on a placeholder is used as it is, once
for all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..ops.derived import VMAP
from ..trace import graph, switches
from ..trace.custom_derivatives import Custom
from ..trace.graph import MAPPED, Node, Value
from ..trace.recording import record, record_spec
from ..trace.specs import Spec, spec_of
from ..trace.tape import Recomputed, value_of

#: returns the rule of a node that is recorded again for a whole axis, if it is a function of the
#: host: from the rule for one element, the replacements of the values that it keeps and whether
#: each has the axis, which inputs have it, and its size
OnAxis: TypeAlias = "Callable[[Custom, list[tuple[Value, bool]], list[bool], int], Custom]"

# specs are interned and live as long as the process, so these do
_specs: Final[dict[tuple[Spec, tuple[int, ...]], Spec]] = {}


def replay(
    results: Sequence[Value], sources: dict[Node, Value], start: int, size: int, on_axis: OnAxis
) -> list[tuple[Value, bool]]:
    """Record again, on the whole axis, the ops that the results depend on.

    Args:
        sources: for each placeholder, the value with the axis in front.
        start: the placeholders' nodes, and all that depend on them, have numbers from this one on.
        on_axis: turns a rule that is a function of the host into one for the whole axis.

    Returns:
        for each result, its value and whether that has the axis.
    """
    roots = [r.node for r in results]
    order = _below(list(roots), sources, start)
    while True:
        # values that rules of the host keep are needed on the axis as well
        more = [v.node for n in order for v in _kept_by(n) if v.node not in roots]
        if not more:
            break
        roots.extend(more)
        order = _below(list(roots), sources, start)
    last: dict[Node, Node] = {}
    for n in order:
        for m in n.inputs:
            if isinstance(m, Node):
                last[m] = n
        for v in _kept_by(n):
            last[v.node] = n
    kept = {r.node for r in results}
    whole: dict[Node, tuple[Value, ...]] = {n: (v,) for n, v in sources.items()}
    memo = Recomputed()
    try:
        for n in order:
            with switches.grad_mode(n.tracked):
                whole[n] = _on_the_axis(n, whole, memo, size, on_axis)
            switches.hold_cuts(False)
            for m in (*n.inputs, *[v.node for v in _kept_by(n)]):
                # a value that is no longer used must not become an output where the trace is cut
                if isinstance(m, Node) and last[m] is n and m not in kept:
                    whole.pop(m, None)
        replayed: list[tuple[Value, bool]] = []
        for r in results:
            if r.node in whole:
                value = whole[r.node][r.index]
                replayed.append((value if r.requires_grad else value.detach(), True))
            else:
                replayed.append((r, False))
    finally:
        switches.hold_cuts(False)
    return replayed


def _below(roots: list[Node], sources: dict[Node, Value], start: int) -> list[Node]:
    """The nodes under the roots that depend on a source, in the order of recording."""
    seen: set[Node] = set()
    order: list[Node] = []
    stack = roots
    while stack:
        n = stack.pop()
        # nodes older than the placeholders cannot depend on them
        if n.state != MAPPED or n.seq < start or n in seen or n in sources:
            continue
        seen.add(n)
        order.append(n)
        for m in n.inputs:
            if isinstance(m, Node):
                stack.append(m)
    order.sort(key=graph.by_sequence)
    depends = set(sources)
    dependent: list[Node] = []
    for n in order:
        for m in n.inputs:
            if isinstance(m, Node) and m in depends:
                depends.add(n)
                dependent.append(n)
                break
    return dependent


def _on_the_axis(
    n: Node, whole: dict[Node, tuple[Value, ...]], memo: Recomputed, size: int, on_axis: OnAxis
) -> tuple[Value, ...]:
    """Record a node's op for every element of the axis, in the grad mode of the node."""
    spec = n.spec
    assert spec is not None
    tracked = n.tracked
    operands: list[Any] = []
    mapped: list[int] = []
    for position, m in enumerate(n.inputs):
        if not isinstance(m, Node):
            operands.append(m)
            continue
        index = 0 if n.indices is None else n.indices[position]
        flows = tracked and bool(n.grad_mask >> position & 1)
        replayed = whole.get(m)
        if replayed is None:
            # the tape of a function that is differentiated inside ends with it; a placeholder of
            # another mapped function continues the tape at the value it stands for
            flows = flows and (m.tracked or m.token is not None or m.rule is not None or (
                m.spec is None and m.grad_mask != 0))
            operands.append(value_of(m, index, flows, memo))
        else:
            x = replayed[index]
            operands.append(x if flows else x.detach())
            mapped.append(position)
    if spec.checked:
        # a flag for each element; the op passes both operands through unchanged
        operands = [x if p in mapped else spread(x, size) for p, x in enumerate(operands)]
    else:
        spec = _vmap_spec(spec, tuple(mapped))
    result = record_spec(spec, operands, False, n.site)
    results = result if isinstance(result, tuple) else (result,)
    with graph.trace.lock:
        results[0].node.freed = n.freed
    if n.rule is not None:
        pairs: list[tuple[Value, bool]] = []
        for v in n.rule.values():
            replayed = whole.get(v.node)
            if replayed is None:
                pairs.append((v, False))
            else:
                x = replayed[v.index]
                pairs.append((x if v.requires_grad else x.detach(), True))
        inputs = range(n.rule.results, len(n.inputs))
        rule = on_axis(n.rule, pairs, [p in mapped for p in inputs], size)
        with graph.trace.lock:
            results[0].node.rule = rule
    return results


def _vmap_spec(spec: Spec, mapped: tuple[int, ...]) -> Spec:
    """The spec of an op that is mapped."""
    mapped_spec = _specs.get((spec, mapped))
    if mapped_spec is None:
        op = spec.op.derive(VMAP)
        attrs = {**spec.attrs, op.own[0]: mapped}
        mapped_spec = _specs[(spec, mapped)] = spec_of(op, attrs, spec.arity)
    return mapped_spec


def _kept_by(n: Node) -> list[Value]:
    """The values that the rule of a node keeps, if that is a function of the host."""
    if n.rule is not None:
        kept: list[Value] = n.rule.values()
        return kept
    return []


def spread(value: Any, size: int) -> Value:
    """A value or Scalar, repeated along a new leading axis of that size."""
    repeated: Value = record("broadcast_to", [value], {"shape": (size, *value.type.shape)})
    return repeated
