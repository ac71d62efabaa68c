"""Cuts of long traces where they repeat, so that a loop without reads settles.

A component that has grown deep is examined: if its op stream repeats, it is cut at a
multiple of the period, always at the same phase, so that every later block is the same
program. A stream without any repetition is cut at a fixed size; if that continues for long
in reproducible mode, each op is a program, which compiles each kind of op once. The
decision depends on the trace and that option, never on what happens to be cached: results do
not depend on what ran before.
"""

from __future__ import annotations

from ..counters import counters
from ..program.repetition import blocks_of, ids_of, period_of, tokens_of
from ..settings import MARGINS, reproducible, tuning
from ..trace import graph
from ..trace.cut_history import CutHistory
from ..trace.graph import Component, Node
from ..trace.source import Site, user_site
from . import collect
from .evaluate import Batch, evaluate_component, run_batch, schedule_nodes


class _Look(Batch):
    """Schedules the part of a component that is to be cut off, if any."""

    __slots__ = ("component",)

    def __init__(self, component: Component, reason: str, site: Site) -> None:
        super().__init__(reason, site)
        self.component: Component = component

    def choose(self) -> None:
        _look(self.component, self.site, self)


def cut_grown(component: Component) -> None:
    """Examine a component that has reached the size at which this is due."""
    nodes = component.nodes
    # the place of the newest node is the user's present place
    site = nodes[-1].site if nodes else user_site()
    run_batch(_Look(component, "cut", site))


def at_seam(node: Node) -> None:
    """Run a pending node's whole component if it has grown large.

    A backward pass calls this when it has processed everything that it computed again: the
    segments of a long chain are then programs of one structure.
    """
    with graph.trace.lock:
        component = graph.find(node) if node.state == graph.PENDING else None
        large = component is not None and len(component.nodes) - component.dead >= tuning.cut_ops
    if large and component is not None:
        counters["cuts"] += 1
        evaluate_component(component, "cut")


def _look(component: Component, site: Site, batch: Batch) -> None:
    if component.parent is not None or not component.nodes:
        return
    nodes = collect.pending_of(component)
    past = component.cut_history or CutHistory([], 0)
    if past.blocks:
        block = past.block
        if len(nodes) < block + past.margin:
            component.check_at = block + past.margin
            return
        tokens = tokens_of(nodes[:block])
        turn = past.turn
        expected = past.seen.get(turn)
        # the first op's operands come from before the cut
        if expected is None or expected[1:] == tokens[1:]:
            misses = past.misses if expected is None else 0
            after = CutHistory(past.history, misses, past.blocks, past.margin,
                            (turn + 1) % len(past.blocks), {**past.seen, turn: tokens})
            _cut(component, nodes, [block], after, site, batch)
            return
        past = CutHistory([], past.misses + 1)
        component.cut_history = past
    if component.depth < tuning.cut_depth and len(nodes) < tuning.cut_size and not past.history:
        component.check_at = len(nodes) + tuning.cut_ops // 2
        return
    ids = past.history + ids_of(nodes)
    ids = ids[-2 * tuning.longest_period - tuning.cut_ops :]
    for margin in MARGINS:
        if margin >= len(nodes):
            break
        period = period_of(ids[: len(ids) - margin])
        if period:
            blocks = blocks_of(period)
            after = CutHistory(ids[: len(ids) - margin], past.misses, blocks, margin)
            # the ops before the first whole block, then blocks like those to come
            whole = len(nodes) - margin
            size = blocks[0] if len(blocks) == 1 else tuning.cut_ops
            sizes = [size] * (whole // size)
            if whole % size:
                sizes.insert(0, whole % size)
            _cut(component, nodes, sizes, after, site, batch)
            return
    if not past.misses and len(nodes) < 2 * tuning.cut_ops:
        component.check_at = len(nodes) + tuning.cut_ops // 2
        return
    # ops that run op by op anyway gain nothing from programs of one op
    each = past.misses >= tuning.cut_misses and reproducible()
    size = 1 if each else tuning.cut_ops
    after = CutHistory(ids, past.misses + 1)
    sizes = [size] * (len(nodes) // size)
    if len(nodes) % size:
        sizes.append(len(nodes) % size)
    _cut(component, nodes, sizes, after, site, batch)


def _cut(
    component: Component, nodes: list[Node], sizes: list[int], past: CutHistory, site: Site,
    batch: Batch,
) -> None:  # fmt: skip
    """Schedule the first nodes of a component in blocks of these sizes.

    The trace that continues from them carries the history.
    """
    *before, together = collect.in_dependency_order(component)
    if len(together) > 1:
        # components that depend on each other become one, which is examined when it grows again
        collect.joined(together)
        return
    counters["cuts"] += 1
    count = sum(sizes)
    for others in before:
        c = collect.joined(others)
        members = collect.pending_of(c)
        batch.taken.append(members)
        c.nodes = []
        graph.trace.components.pop(c, None)
        schedule_nodes(members, "cut", site, batch)
    batch.taken.append(nodes[:count])
    component.nodes = nodes[count:]
    component.dead = 0
    component.depth = 0
    if component.nodes:
        component.cut_history = past
        component.check_at = past.check_at
    else:
        graph.trace.components.pop(component, None)
    at = 0
    for size in sizes:
        schedule_nodes(nodes[at : at + size], "cut", site, batch)
        at += size
    for n in nodes[:count]:
        n.cut_history = past

