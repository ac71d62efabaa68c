"""Long traces are cut where they repeat, so that a loop without reads settles.

A component that has grown deep is looked at: if the newest part of its op stream repeats
the part before, the trace is cut at a multiple of the period, always at the same phase, so
that every later block is the same program. A stream without any repetition is cut at a
fixed size; where that goes on for long, its blocks run in small pieces, which compile in
time linear in their number. The decision rests on the trace alone, never on what happens to
be cached: results do not depend on what ran before.
"""

from __future__ import annotations

from typing import Any, Final

from . import collect, graph
from .evaluate import _dispatch_all, schedule_nodes
from .graph import Component, Node, Scalar
from .observe import counters
from .source import user_site

#: depth below which a component is left alone: wide graphs do not cost XLA what deep ones do
DEEP: Final = 1000
#: a component of that many nodes is cut however shallow it is
LARGE: Final = 50_000
#: blocks are the largest multiple of the period up to this many ops
BLOCK: Final = 600
#: the longest period that is looked for
LONGEST: Final = 20_000
#: after so many cuts without a repetition, blocks run in pieces
PATIENCE: Final = 8
#: ops in such a piece
PIECE: Final = 1


class Lineage:
    """What is known of the trace that a cut continues.

    Attributes:
        block: ops to the next cut, or 0 if no period is known.
        misses: cuts so far without finding a repetition.
        tokens: the block that was cut last, to see that the next one is the same.
    """

    __slots__ = ("block", "misses", "tokens")

    def __init__(self, block: int, misses: int, tokens: tuple[Any, ...]) -> None:
        self.block = block
        self.misses = misses
        self.tokens = tokens


def tokens_of(nodes: list[Node]) -> list[Any]:
    """One comparable item an op: its spec, and how far back each operand lies."""
    position = {n: i for i, n in enumerate(nodes)}
    result: list[Any] = []
    for i, n in enumerate(nodes):
        token: list[Any] = [n.spec]
        for m in n.inputs:
            if type(m) is Node:
                at = position.get(m)
                # an operand from far back is a loop constant or carried from outside
                token.append(i - at if at is not None and i - at <= LONGEST else None)
            elif type(m) is Scalar:
                token.append(m.baked or m.type)
        result.append(tuple(token))
    return result


def period_of(tokens: list[Any]) -> int:
    """The smallest period that the end of the stream shows twice in full, or 0."""
    # the prefix function of the reversed stream: its borders are the repetitions at the end
    ids: dict[Any, int] = {}
    stream = [ids.setdefault(t, len(ids)) for t in reversed(tokens)]
    n = len(stream)
    border = [0] * n
    best = 0
    k = 0
    for i in range(1, n):
        while k and stream[i] != stream[k]:
            k = border[k - 1]
        if stream[i] == stream[k]:
            k += 1
        border[i] = k
        period = i + 1 - k
        if k and i + 1 >= 2 * period and period <= LONGEST:
            # the longest stretch with this period so far; prefer the smallest period that
            # covers at least a third of what there is
            if (i + 1) * 3 >= n or i + 1 >= 4 * period:
                return _confirmed(stream, period) or best
            best = best or period
    return best


def _confirmed(stream: list[int], period: int) -> int:
    limit = min(len(stream), max(2 * period, len(stream) // 3))
    return period if all(stream[i] == stream[i - period] for i in range(period, limit)) else 0


def on_growth(component: Component) -> None:
    """Called when a component has reached the size at which it asked to be looked at."""
    site = user_site()
    with graph.lock:
        if component.parent is not None or not component.nodes:
            return
        nodes = collect.pending_of(component)
        lineage: Lineage | None = component.lineage
        if lineage is not None and lineage.block and len(nodes) >= lineage.block:
            tokens = tuple(tokens_of(nodes))
            same = tokens[1:] == lineage.tokens[1:] and len(nodes) == lineage.block
            if same or not lineage.tokens:
                next_lineage = Lineage(lineage.block, 0, tokens)
                plans = _cut(component, nodes, next_lineage, site)
            else:
                component.lineage = None
                component.check_at = max(graph.CUT_AT, len(nodes) + 1)
                return
        else:
            if component.depth < DEEP and len(nodes) < LARGE:
                component.check_at = len(nodes) + graph.CUT_AT // 2
                return
            tokens_list = tokens_of(nodes)
            period = period_of(tokens_list)
            if period:
                block = max(period, BLOCK // period * period)
                plans = _cut(component, nodes, Lineage(block, 0, ()), site)
            elif len(nodes) < 2 * LONGEST and _may_repeat(tokens_list, lineage):
                # a long body may not have come round twice yet
                component.check_at = len(nodes) * 3 // 2
                return
            else:
                misses = (lineage.misses if lineage is not None else 0) + 1
                plans = _cut(component, nodes, Lineage(0, misses, ()), site)
    _dispatch_all(plans)


def _may_repeat(tokens: list[Any], lineage: Lineage | None) -> bool:
    """Whether waiting for a longer stream may show a repetition."""
    if lineage is not None and lineage.misses:
        return False
    return len(tokens) < 4 * graph.CUT_AT


def _cut(component: Component, nodes: list[Node], lineage: Lineage, site: Any) -> list[Any]:
    """Schedule all of a component; what follows from it carries the lineage."""
    counters["cuts"] += 1
    plans: list[Any] = []
    for c in collect.in_dependency_order(component)[:-1]:
        members = collect.pending_of(c)
        c.nodes = []
        graph.components.pop(c, None)
        plans += schedule_nodes(members, "cut", site)
    component.nodes = []
    graph.components.pop(component, None)
    if lineage.misses > PATIENCE:
        for at in range(0, len(nodes), PIECE):
            plans += schedule_nodes(nodes[at : at + PIECE], "cut", site)
    else:
        plans += schedule_nodes(nodes, "cut", site)
    for n in nodes:
        n.lineage = lineage
    return plans


graph.on_growth = on_growth
