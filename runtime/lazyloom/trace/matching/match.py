"""Matches: past traces that are being recorded again."""

from __future__ import annotations

from threading import get_ident
from typing import Final, final

from ...compiled import COMPILED, mypyc_attr
from ...interrupts import Deferred
from ...settings import WITHOUT, tuning
from .. import graph
from ..graph import DONE, MAPPED, PENDING, Component, Input, Node, Unlinked, trace
from ..scalars import Scalar
from .past_traces import PastOp, PastTrace, Source, TraceStart, common_ops
from .starts import forget, forget_all, start_of

#: how many ops may be set aside
EXTRAS: Final = 16
#: how many matches there may be at once
MATCHES: Final = 4
#: a match of at most this many ops is given up when the same past trace begins again
YOUNG: Final = 2
#: how many matches of a past trace may fail in a row before it is forgotten
MISSES: Final = 8

#: how an op that does not continue a match relates to it
EXTRA: Final = 0
UNRELATED: Final = 1
DIFFERS: Final = 2


@mypyc_attr(acyclic=True)
@final
class Match(Unlinked):
    """A past trace that is being recorded again: the component of its ops so far.

    Attributes:
        start: where it began.
        past: the past trace.
        next: the op that is expected, None after the last.
        aside: the ops set aside, some of which may be dead.
        leaves: how many of the past trace's leaves have been matched so far.
    """

    __slots__ = ("start", "past", "next", "aside", "leaves")

    def __init__(self, start: TraceStart, past: PastTrace) -> None:
        super().__init__(False)
        self.start: Final[TraceStart] = start
        self.past: PastTrace = past
        self.next: PastOp | None = past.ops[0]
        self.aside: Aside | None = None
        self.leaves: int = 0

    def settle(self) -> None:
        if COMPILED:
            _settle(self)
        else:
            with Deferred():
                _settle(self)


@mypyc_attr(acyclic=True)
@final
class Aside(Unlinked):
    """Ops that a match has set aside."""

    __slots__ = ("match",)

    def __init__(self, match: Match) -> None:
        super().__init__(True)
        self.parent = self
        self.match: Match | None = match

    def settle(self) -> None:
        match = self.match
        assert match is not None
        match.settle()


def match_of(component: Component | None) -> Match | None:
    """The match that holds a component's nodes, or has set them aside, if it has not ended."""
    if isinstance(component, Match):
        return component if component.parent is not None else None
    return component.match if isinstance(component, Aside) else None


@final
class Matching:
    """The matches.

    Attributes:
        matches: those that have not ended.
        newest: the one that began last.
        enabled: whether traces are matched.
    """

    __slots__ = ("matches", "newest", "enabled")

    def __init__(self) -> None:
        self.matches: Final[list[Match]] = []
        self.newest: Match | None = None
        self.enabled: bool = "matching" not in WITHOUT


matching: Final = Matching()


def set_enabled(enabled: bool) -> bool:
    """Switch the matching of traces on or off; returns whether it was on."""
    before = matching.enabled
    with trace.lock:
        matching.enabled = enabled
        while matching.matches:
            matching.matches[0].settle()
        if not enabled:
            forget_all()
    return before


def begins(node: Node) -> bool:
    """Return True if a match begins with a new node, none of whose operands is pending.

    Its operands are counted; the caller holds the lock.
    """
    if COMPILED:
        return _begins(node)
    with Deferred():
        return _begins(node)


def _begins(node: Node) -> bool:
    start = start_of(node, False)
    if start is None:
        return False
    for past in list(start.traces):
        if past.matched:
            _give_up_young(past)
        if not past.matched and len(matching.matches) < MATCHES and (
            len(past.ops) + EXTRAS < tuning.cut_ops
        ):
            match = Match(start, past)
            if _agrees(match, past.ops[0], node):
                _begin(match, node)
                return True
    return False


def _give_up_young(past: PastTrace) -> None:
    """Settle a match that has hardly begun, since its trace begins again: where one function
    records many things, the first call may have led to nothing that was recorded before."""
    for match in matching.matches:
        if match.past is past:
            if len(match.nodes) <= YOUNG:
                match.settle()
            return


def _begin(match: Match, node: Node) -> None:
    match.past.matched = True
    match.parent = match
    trace.components[match] = None
    matching.matches.append(match)
    matching.newest = match
    advance(match, match.past.ops[0], node)


def advance(match: Match, op: PastOp, node: Node) -> None:
    """Take a node, which agrees with the next op, as that op."""
    op.source.node = node
    node.component = match
    match.nodes.append(node)
    match.next = op.next


def goes_on(node: Node) -> bool:
    """Return True if a new node continues a match, or a match sets it aside.

    Settles a match that it contradicts. The caller holds the lock.
    """
    if COMPILED:
        return _goes_on(node)
    with Deferred():
        return _goes_on(node)


def _goes_on(node: Node) -> bool:
    k = 0
    while k < len(matching.matches):
        match = matching.matches[k]
        op = match.next
        if op is not None and _agrees(match, op, node):
            advance(match, op, node)
        elif not _switches_to_sibling(match, node):
            relation = _classify(match, node)
            if relation == UNRELATED:
                k += 1
                continue
            if relation == DIFFERS:
                # removes it from the list
                match.settle()
                continue
        for m in node.inputs:
            if isinstance(m, Node):
                m.refs += 1
        return True
    return False


def _switches_to_sibling(match: Match, node: Node) -> bool:
    """Return True if another past trace of the same place continues with a node after everything
    recorded so far; the match then follows that trace."""
    past = match.past
    count = len(match.nodes)
    for other in match.start.traces:
        if other is past or other.matched or len(other.ops) <= count or (
            len(other.ops) + EXTRAS >= tuning.cut_ops or common_ops(past, other) < count
        ):
            continue
        _exchange(match, other, count)
        op = other.ops[count]
        if _agrees(match, op, node):
            advance(match, op, node)
            return True
        _exchange(match, past, count)
    return False


def ends(match: Match) -> bool:
    """Return True if a past trace of that place ends here; the match then follows that trace."""
    if match.next is None:
        return True
    past = match.past
    count = len(match.nodes)
    for other in match.start.traces:
        if not other.matched and len(other.ops) == count and (
            len(other.leaves) == match.leaves and common_ops(past, other) == count
        ):
            _exchange(match, other, count)
            return True
    return False


def _exchange(match: Match, other: PastTrace, count: int) -> None:
    """Match another trace that shares its first ``count`` ops with the present one."""
    past = match.past
    for k in range(count):
        other.ops[k].source.node = past.ops[k].source.node
        past.ops[k].source.node = None
    for k in range(match.leaves):
        ours = past.leaves[k]
        theirs = other.leaves[k]
        theirs.node = ours.node
        theirs.index = ours.index
        theirs.buffer = ours.buffer
        ours.node = ours.buffer = None
    past.matched = False
    other.matched = True
    match.past = other
    match.next = other.ops[count] if count < len(other.ops) else None


def _agrees(match: Match, op: PastOp, node: Node) -> bool:
    """Return True if a node is the one that an op describes; notes leaves that are new."""
    if node.spec is not op.recorded or node.grad_mask != op.mask or node.boundary:
        return False
    if op.rooted and match.nodes and match.thread != get_ident():
        return False
    leaves = match.leaves
    inputs = node.inputs
    indices = node.indices
    if op.plain and indices is None:
        first = op.first
        second = op.second
        if first is not None and _is(match, first, inputs[0], 0, 0) and (
            second is None or _is(match, second, inputs[1], 0, 0)
        ):
            return True
    elif _all_agree(match, op, inputs, indices):
        return True
    if match.leaves != leaves:
        _forget_leaves(match, leaves)
    return False


def _is(match: Match, source: Source, m: Input, index: int, result: int) -> bool:
    """Return True if result ``index`` of a node comes from a source: of an op, its ``result``."""
    if m is not None and source.node is m:
        # the end of the match checks that a leaf's memory is still there
        return (result if source.leaf is None else source.index) == index
    return source.leaf is not None and source.node is None and _is_new_leaf(
        match, source, m, index)


def _is_new_leaf(match: Match, source: Source, m: Input, index: int) -> bool:
    if not isinstance(m, Node) or m.state != DONE or m.cut_history is not None or (
        m.types[index] is not source.leaf
    ):
        return False
    buffers = m.buffers
    if buffers is None:
        return False
    buffer = buffers[index]
    if buffer is None:
        return False
    source.node = m
    source.index = index
    source.buffer = buffer
    match.leaves += 1
    return True


def are_distinct(match: Match) -> bool:
    """Return True if the leaves so far all differ; the caller holds the lock."""
    epoch = trace.epoch + 1
    trace.epoch = epoch
    leaves = match.past.leaves
    for k in range(match.leaves):
        buffer = leaves[k].buffer
        if buffer is None or buffer.epoch == epoch:
            return False
        buffer.epoch = epoch
    return True


def _all_agree(
    match: Match, op: PastOp, inputs: tuple[Input, ...], indices: tuple[int, ...] | None
) -> bool:
    for position, m in enumerate(inputs):
        source = op.operands[position]
        if isinstance(m, Node):
            if source is None or not _is(
                match, source, m, 0 if indices is None else indices[position],
                op.results[position],
            ):
                return False
        elif source is not None:
            return False
        elif isinstance(m, Scalar):
            baked = m.baked
            if baked is None:
                if op.fixed[position] is not m.type.dtype:
                    return False
            elif op.fixed[position] is not baked:
                return False
        elif op.fixed[position] is not None:
            return False
    return True


def _forget_leaves(match: Match, kept: int) -> None:
    """Forget the leaves beyond the first ``kept``."""
    leaves = match.past.leaves
    while match.leaves > kept:
        match.leaves -= 1
        source = leaves[match.leaves]
        source.node = source.buffer = None


def _classify(match: Match, node: Node) -> int:
    """How a node relates to a match that it does not continue; an extra is set aside."""
    aside = match.aside
    related = strange = False
    for m in node.inputs:
        if isinstance(m, Node):
            state = m.state
            if state == PENDING:
                if m.component is match or (aside is not None and m.component is aside):
                    related = True
                else:
                    strange = True
            elif state == MAPPED or m.cut_history is not None:
                strange = True
    if not related:
        return UNRELATED
    if aside is None:
        aside = match.aside = Aside(match)
    if strange or node.boundary or len(aside.nodes) >= EXTRAS:
        return DIFFERS
    node.component = aside
    aside.nodes.append(node)
    return EXTRA


def _missed(match: Match) -> None:
    """Count that the match of a past trace failed."""
    past = match.past
    past.misses += 1
    if past.misses >= MISSES:
        forget(match.start, past)


def ended(match: Match) -> None:
    """A match has ended as its past trace did: its nodes are scheduled."""
    match.past.misses = 0
    _drop(match)


def _drop(match: Match) -> None:
    match.parent = None
    aside = match.aside
    if aside is not None:
        aside.match = aside.parent = None
    trace.components.pop(match, None)
    matching.matches.remove(match)
    matching.newest = matching.matches[-1] if matching.matches else None
    past = match.past
    past.matched = False
    _forget_leaves(match, 0)
    for op in past.ops:
        source = op.source
        if source.node is None:
            break
        source.node = None


def _settle(match: Match) -> None:
    """Turn a match's nodes into ordinary pending work, as if there had been no match."""
    _drop(match)
    _missed(match)
    nodes = [n for n in match.nodes if n.state == PENDING]
    if match.aside is not None:
        nodes += [n for n in match.aside.nodes if n.state == PENDING]
        nodes.sort(key=graph.by_sequence)
    match.nodes = []
    for n in nodes:
        n.component = None
    for n in nodes:
        if not graph.connect(n, False):
            graph.begin_component(n)
        component = n.component
        if component is not None and len(component.nodes) == 1:
            component.thread = match.thread
            component.since = n.seq
    if match.past.ending.collective:
        _join_collectives(nodes)


def _join_collectives(nodes: list[Node]) -> None:
    """Join the components of collectives, which keep their order only in one."""
    together: Component | None = None
    for n in nodes:
        if n.spec is not None and n.spec.shared:
            component = graph.find(n)
            if together is None or component is None:
                together = component
            elif component is not together:
                together = graph.join(together, component)
