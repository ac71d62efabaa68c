"""Long traces are cut where they repeat, so that a loop without reads settles.

A component that has grown deep is looked at: if its op stream repeats, it is cut at a
multiple of the period, always at the same phase, so that every later block is the same
program. A stream without any repetition is cut at a fixed size; where that goes on for
long, its ops run one by one, which compiles each kind of op once. The decision rests on
the trace alone, never on what happens to be cached: results do not depend on what ran
before.
"""

from __future__ import annotations

from typing import Any, Final

from ..counters import counters
from ..program.repetition import LONGEST, SLACK, blocks_of, ids_of, period_of, tokens_of
from ..trace import graph
from ..trace.graph import CUT_AT, Component, Node
from ..trace.source import Site, user_site
from . import collect
from .evaluate import Batch, evaluate_component, run_batch, schedule_nodes

#: depth below which a component is left alone: wide graphs do not cost XLA what deep ones do
DEEP: Final = 2048
#: a component of that many nodes is cut however shallow it is
LARGE: Final = 50_000
#: after so many blocks without a repetition, ops run one by one
PATIENCE: Final = 8


class Lineage:
    """What is known of the trace that a cut continues.

    Attributes:
        history: ids of the specs recorded so far, the newest last, up to twice LONGEST.
        misses: blocks so far that repeated nothing.
        blocks: sizes of the blocks to come, in turn; empty while no period is known.
        slack: how many ops beyond a block must be there before it is cut.
        turn: which of them is next.
        seen: the tokens of each block when it was last cut.
    """

    __slots__ = ("history", "misses", "blocks", "slack", "turn", "seen")

    def __init__(
        self, history: list[int], misses: int, blocks: tuple[int, ...] = (), slack: int = 0,
        turn: int = 0, seen: dict[int, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        self.history = history
        self.misses = misses
        self.blocks = blocks
        self.slack = slack
        self.turn = turn
        self.seen = seen if seen is not None else {}

    @property
    def block(self) -> int:
        """Ops of the block to cut next, or 0 if no period is known."""
        return self.blocks[self.turn] if self.blocks else 0

    @property
    def check_at(self) -> int:
        """How large a component that goes on from here should grow before the next look."""
        return self.block + self.slack if self.blocks else CUT_AT


class _Look(Batch):
    """Schedules what of a component is to be cut off, if anything."""

    __slots__ = ("component",)

    def __init__(self, component: Component, reason: str, site: Site) -> None:
        super().__init__(reason, site)
        self.component: Component = component

    def choose(self) -> None:
        _look(self.component, self.site, self)


def cut_grown(component: Component) -> None:
    """Called when a component has reached the size at which it asked to be looked at."""
    nodes = component.nodes
    # where the newest was recorded is where the user is
    site = nodes[-1].site if nodes else user_site()
    run_batch(_Look(component, "cut", site))


def at_seam(node: Node) -> None:
    """Run a pending node's component whole if it has grown large.

    A backward pass calls this where it has gone through all that it computed again: the
    segments of a long chain are then programs of one structure.
    """
    with graph.trace.lock:
        component = graph.find(node) if node.state == graph.PENDING else None
        large = component is not None and len(component.nodes) - component.dead >= CUT_AT
    if large and component is not None:
        counters["cuts"] += 1
        evaluate_component(component, "cut")


def _look(component: Component, site: Site, batch: Batch) -> None:
    if component.parent is not None or not component.nodes:
        return
    nodes = collect.pending_of(component)
    lineage: Lineage = component.lineage or Lineage([], 0)
    if lineage.blocks:
        block = lineage.block
        if len(nodes) < block + lineage.slack:
            component.check_at = block + lineage.slack
            return
        tokens = tokens_of(nodes[:block])
        turn = lineage.turn
        expected = lineage.seen.get(turn)
        # the first op's operands come from before the cut
        if expected is None or expected[1:] == tokens[1:]:
            misses = lineage.misses if expected is None else 0
            after = Lineage(lineage.history, misses, lineage.blocks, lineage.slack,
                            (turn + 1) % len(lineage.blocks), {**lineage.seen, turn: tokens})
            _cut(component, nodes, [block], after, site, batch)
            return
        lineage = Lineage([], lineage.misses + 1)
        component.lineage = lineage
    if component.depth < DEEP and len(nodes) < LARGE and not lineage.history:
        component.check_at = len(nodes) + CUT_AT // 2
        return
    history = lineage.history + ids_of(nodes)
    history = history[-2 * LONGEST - CUT_AT :]
    for slack in SLACK:
        if slack >= len(nodes):
            break
        period = period_of(history[: len(history) - slack])
        if period:
            blocks = blocks_of(period)
            after = Lineage(history[: len(history) - slack], lineage.misses, blocks, slack)
            # what came before the first whole block, then blocks like those to come
            whole = len(nodes) - slack
            size = blocks[0] if len(blocks) == 1 else CUT_AT
            sizes = [size] * (whole // size)
            if whole % size:
                sizes.insert(0, whole % size)
            _cut(component, nodes, sizes, after, site, batch)
            return
    if not lineage.misses and len(nodes) < 2 * CUT_AT:
        component.check_at = len(nodes) + CUT_AT // 2
        return
    size = CUT_AT if lineage.misses < PATIENCE else 1
    after = Lineage(history, lineage.misses + 1)
    sizes = [size] * (len(nodes) // size)
    if len(nodes) % size:
        sizes.append(len(nodes) % size)
    _cut(component, nodes, sizes, after, site, batch)


def _cut(
    component: Component, nodes: list[Node], sizes: list[int], lineage: Lineage, site: Site,
    batch: Batch,
) -> None:  # fmt: skip
    """Schedule the first nodes of a component in blocks of these sizes.

    What follows from them carries the lineage.
    """
    *before, together = collect.in_dependency_order(component)
    if len(together) > 1:
        # what depends on each other is one from now on; it is looked at when it grows again
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
        component.lineage = lineage
        component.check_at = lineage.check_at
    else:
        graph.trace.components.pop(component, None)
    at = 0
    for size in sizes:
        schedule_nodes(nodes[at : at + size], "cut", site, batch)
        at += size
    for n in nodes[:count]:
        n.lineage = lineage

