"""Replay of a mapped function's ops for a whole axis.

Each op becomes its ``.vmap``; what does not depend on a placeholder is used as it is, once for
all elements.
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

#: gives the rule of the host of a node that is recorded again for a whole axis: from the rule for
#: one element, what takes the place of the values that it keeps and whether each has the axis,
#: which inputs have it, and its size
OnAxis: TypeAlias = "Callable[[Custom, list[tuple[Value, bool]], list[bool], int], Custom]"

# specs are interned and live as long as the process, so these do
_specs: Final[dict[tuple[Spec, tuple[int, ...]], Spec]] = {}


def replay(
    results: Sequence[Value], sources: dict[Node, Value], start: int, size: int, on_axis: OnAxis
) -> list[tuple[Value, bool]]:
    """Record what the results depend on again, on the whole axis.

    Args:
        sources: for each placeholder, the value with the axis in front.
        start: the placeholders' nodes, and all that depend on them, have a number from here on.
        on_axis: makes a rule of the host one of the whole axis.

    Returns:
        for each result, its value and whether that has the axis.
    """
    roots = [r.node for r in results]
    order = _below(list(roots), sources, start)
    while True:
        # what the rules of the host keep is needed on the axis as well
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
                # what is used no more must not become an output where the trace is cut
                if isinstance(m, Node) and last[m] is n and m not in kept:
                    whole.pop(m, None)
        found: list[tuple[Value, bool]] = []
        for r in results:
            if r.node in whole:
                value = whole[r.node][r.index]
                found.append((value if r.requires_grad else value.detach(), True))
            else:
                found.append((r, False))
    finally:
        switches.hold_cuts(False)
    return found


def _below(roots: list[Node], sources: dict[Node, Value], start: int) -> list[Node]:
    """The nodes under the roots that depend on a source, in the order of recording."""
    seen: set[Node] = set()
    order: list[Node] = []
    stack = roots
    while stack:
        n = stack.pop()
        # what is older than the placeholders cannot depend on them
        if n.state != MAPPED or n.seq < start or n in seen or n in sources:
            continue
        seen.add(n)
        order.append(n)
        for m in n.inputs:
            if isinstance(m, Node):
                stack.append(m)
    order.sort(key=graph.by_sequence)
    depends = set(sources)
    found: list[Node] = []
    for n in order:
        for m in n.inputs:
            if isinstance(m, Node) and m in depends:
                depends.add(n)
                found.append(n)
                break
    return found


def _on_the_axis(
    n: Node, whole: dict[Node, tuple[Value, ...]], memo: Recomputed, size: int, on_axis: OnAxis
) -> tuple[Value, ...]:
    """A node's op recorded for every element of the axis, in the grad mode of the node."""
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
        known = whole.get(m)
        if known is None:
            # the tape of a function that is differentiated inside ends with it; a placeholder of
            # another mapped function goes on at what it stands for
            flows = flows and (m.tracked or m.token is not None or m.rule is not None or (
                m.spec is None and m.grad_mask != 0))
            operands.append(value_of(m, index, flows, memo))
        else:
            x = known[index]
            operands.append(x if flows else x.detach())
            mapped.append(position)
    if spec.checked:
        # a flag for each element; the op passes both operands on as they are
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
            known = whole.get(v.node)
            if known is None:
                pairs.append((v, False))
            else:
                x = known[v.index]
                pairs.append((x if v.requires_grad else x.detach(), True))
        inputs = range(n.rule.results, len(n.inputs))
        rule = on_axis(n.rule, pairs, [p in mapped for p in inputs], size)
        with graph.trace.lock:
            results[0].node.rule = rule
    return results


def _vmap_spec(spec: Spec, mapped: tuple[int, ...]) -> Spec:
    """The spec of an op that is mapped."""
    found = _specs.get((spec, mapped))
    if found is None:
        op = spec.op.derive(VMAP)
        attrs = {**spec.attrs, op.own[0]: mapped}
        found = _specs[(spec, mapped)] = spec_of(op, attrs, spec.arity)
    return found


def _kept_by(n: Node) -> list[Value]:
    """What the rule of a node keeps, if that is a function of the host."""
    if n.rule is not None:
        kept: list[Value] = n.rule.values()
        return kept
    return []


def spread(value: Any, size: int) -> Value:
    """A value or Scalar once for each element of a leading axis of that size."""
    found: Value = record("broadcast_to", [value], {"shape": (size, *value.type.shape)})
    return found
