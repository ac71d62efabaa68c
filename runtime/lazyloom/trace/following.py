"""Trace matching: recorded ops compared with the known trace of the same place.

A :class:`Known` trace says, op by op, what a component of pending work that began at some place of
the user's program was when it last ran. While a program records there again, each op is compared
with the next one: the op, its attributes, which earlier results, leaves and constants its
operands are, and through which of them gradients flow. What agrees is appended to one component,
as the known trace ends as one; nothing is looked up or merged for it, and where the trace ends as
the known one did, the structure is that one (:mod:`lazyloom.evaluate.known_traces`).

An op that does not agree, but only takes what this component has, is an extra one: it is set
aside, for it may be gone by the time that the trace ends (a metric that nobody reads). Where it is
not, where there are many, or where anybody asks for the component before that, what was followed
becomes ordinary pending work, linked as if nothing had been known (:meth:`Match.settle`).

Nothing here decides what a program is; it only spares finding that out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any, Final, final

from ..compiled import ALONE, COMPILED, mypyc_attr
from ..interrupts import Deferred
from ..settings import WITHOUT, tuning
from . import graph
from .graph import (
    DONE,
    MAPPED,
    PENDING,
    Component,
    Handles,
    Input,
    Node,
    Unlinked,
    Value,
    trace,
)
from .known import Known, Source, Start, Step, common_ops
from .scalars import Scalar, constant
from .source import Site, named_site, user_place
from .specs import Spec
from .switches import grad_enabled

#: a constant of this module, which compiled code need not look up
_ALONE: Final[bool] = ALONE
#: ops that may be set aside
EXTRAS: Final = 16
#: traces that are followed at once
FOLLOWED: Final = 4
#: places where a trace begins that are remembered
STARTS: Final = 1024
#: known traces, and structures, that are remembered of one place
KNOWN: Final = 4
SEEN: Final = 8
#: ops up to which a trace that does not go on as expected is given up where it begins again
YOUNG: Final = 2
#: how often in turn a known trace may have come to nothing before it is forgotten
MISSES: Final = 8

#: what an op that does not go on a trace is to it
EXTRA: Final = 0
UNRELATED: Final = 1
DIFFERS: Final = 2


@mypyc_attr(acyclic=True)
@final
class Match(Unlinked):
    """A known trace that is being recorded again: the component of its ops so far.

    Attributes:
        start: where it began.
        next: the op that is expected, None after the last.
        aside: the ops set aside, some of them dead by now.
        leaves: how many of its leaves there are so far.
    """

    __slots__ = ("start", "known", "next", "aside", "leaves")

    def __init__(self, start: Start, known: Known) -> None:
        super().__init__(False)
        self.start: Final[Start] = start
        self.known: Known = known
        self.next: Step | None = known.steps[0]
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
    """The match that has a component's nodes, or has set them aside, if it has not ended."""
    if isinstance(component, Match):
        return component if component.parent is not None else None
    return component.match if isinstance(component, Aside) else None


@final
class _Following:
    """What is followed, and where traces began."""

    __slots__ = ("follows", "newest", "starts", "count", "enabled")

    def __init__(self) -> None:
        self.follows: list[Match] = []
        #: the one that was begun last
        self.newest: Match | None = None
        #: by offset and spec of the first op
        self.starts: dict[int, list[Start]] = {}
        self.count: int = 0
        self.enabled: bool = "matching" not in WITHOUT


following: Final = _Following()


def set_enabled(enabled: bool) -> bool:
    """Whether known traces are followed from now on; returns whether they were."""
    before = following.enabled
    with trace.lock:
        following.enabled = enabled
        while following.follows:
            following.follows[0].settle()
        if not enabled:
            _forget_all()
    return before


def _forget_all() -> None:
    for found in following.starts.values():
        for start in found:
            for known in start.known:
                known.common.clear()
    following.starts.clear()
    following.count = 0


def start_of(node: Node, make: bool) -> Start | None:
    """What is known of the place of a trace's first node."""
    spec = node.spec
    if spec is None:
        return None
    key = node.offset * 65536 + spec.id
    found = following.starts.get(key)
    place = node.place
    if found is not None:
        for start in found:
            if _same_place(start.place, place):
                return start
    if not make:
        return None
    if following.count >= STARTS:
        _forget_all()
        found = None
    if found is None:
        found = following.starts[key] = []
    made = Start(place, node.offset)
    found.append(made)
    following.count += 1
    return made


def _same_place(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Site) and isinstance(b, Site):
        if a.code is not None or b.code is not None:
            return a.code is b.code and a.offset == b.offset
        return a.line == b.line and a.file == b.file
    return False


def matched(node: Node) -> bool:
    """Whether a new node goes on a trace that is followed, or begins a known one.

    It is not linked then. Where it differs from what was expected, the trace becomes ordinary
    pending work. The caller holds the lock.
    """
    if not following.follows and not _may_begin(node):
        return False
    if COMPILED:
        return _matched(node)
    with Deferred():
        return _matched(node)


def _matched(node: Node) -> bool:
    if not _goes_on(node) and not (_may_begin(node) and _begins(node)):
        return False
    for m in node.inputs:
        if isinstance(m, Node):
            m.refs += 1
    return True


def _may_begin(node: Node) -> bool:
    """Whether a trace may begin with a node: nothing that it takes is pending, mapped or cut."""
    for m in node.inputs:
        if isinstance(m, Node) and (
            m.state == PENDING or m.state == MAPPED or m.cut_history is not None
        ):
            return False
    return True


def _begins(node: Node) -> bool:
    start = start_of(node, False)
    if start is None:
        return False
    for known in list(start.known):
        if known.followed:
            _give_up_young(known)
        if not known.followed and len(following.follows) < FOLLOWED and (
            len(known.steps) + EXTRAS < tuning.cut_ops
        ):
            follow = Match(start, known)
            if _agrees(follow, known.steps[0], node):
                _begin(follow, node)
                return True
    return False


def _give_up_young(known: Known) -> None:
    """Match a trace no more that has hardly begun: it begins again, and where one function
    records many things, the first call of it may have led to nothing that is known."""
    for follow in following.follows:
        if follow.known is known:
            if len(follow.nodes) <= YOUNG:
                follow.settle()
            return


def _begin(follow: Match, node: Node) -> None:
    follow.known.followed = True
    follow.parent = follow
    trace.components[follow] = None
    following.follows.append(follow)
    following.newest = follow
    _advance(follow, follow.known.steps[0], node)


def record_expected(
    spec: Spec, first: Node, second: Node | None, mask: int, site: Site | None
) -> Value | None:
    """Record an op of one result that the newest trace that is followed expects next.

    ``first`` and ``second`` are the nodes whose first results its operands are; a gradient flows to
    those of the ``mask``. None, and nothing is recorded, where another op is expected, or that
    cannot be said so quickly, or something else is to be done first.
    """
    follow = following.newest
    if follow is None:
        return None
    step = follow.next
    if step is None or step.recorded is not spec or step.mask != mask or step.rooted:
        return None
    source = step.first
    if source is None or source.node is not first or source.index:
        return None
    source = step.second
    if second is None:
        if source is not None:
            return None
    elif source is None or source.node is not second or source.index:
        return None
    if not _ALONE or trace.released or trace.locked() or len(step.types) != 1 or (
        mask and not grad_enabled()
    ):
        return None
    offset = 0
    where: Any = site
    if where is None:
        where = named_site()
        if where is None:
            where, offset = user_place()
    sequence = trace.sequence + 1
    trace.sequence = sequence
    trace.recorded += 1
    first.refs += 1
    inputs: tuple[Input, ...] = (first,)
    if second is not None:
        second.refs += 1
        inputs = (first, second)
    node = Node(spec, inputs, None, step.types, sequence, where, offset)
    node.handles = 1
    if mask:
        node.tracked = True
        node.carried = 1
        node.grad_mask = mask
    _advance(follow, step, node)
    return Value(node, 0, mask != 0)


def record_expected_operands(
    spec: Spec, operands: Sequence[Any], site: Site | None
) -> Value | None:
    """:func:`record_expected` for operands that may be anything."""
    count = len(operands)
    if count == 0 or count > 2:
        return None
    first = operands[0]
    if not isinstance(first, Value) or first.index:
        return None
    mask = 1 if first.requires_grad else 0
    if count == 1:
        return record_expected(spec, first.node, None, mask, site)
    second = operands[1]
    if not isinstance(second, Value) or second.index:
        return None
    if second.requires_grad:
        mask |= 2
    return record_expected(spec, first.node, second.node, mask, site)


def _advance(follow: Match, step: Step, node: Node) -> None:
    step.source.node = node
    node.component = follow
    follow.nodes.append(node)
    follow.next = step.next


def _goes_on(node: Node) -> bool:
    k = 0
    while k < len(following.follows):
        follow = following.follows[k]
        step = follow.next
        if step is not None and _agrees(follow, step, node):
            _advance(follow, step, node)
            return True
        if _turns(follow, node):
            return True
        became = _otherwise(follow, node)
        if became == EXTRA:
            return True
        if became == DIFFERS:
            # which takes it from the list
            follow.settle()
        else:
            k += 1
    return False


def _turns(follow: Match, node: Node) -> bool:
    """Whether another trace that is known from the same place goes on with a node, after all that
    was recorded so far; it is followed then."""
    known = follow.known
    count = len(follow.nodes)
    for other in follow.start.known:
        if other is known or other.followed or len(other.steps) <= count or (
            len(other.steps) + EXTRAS >= tuning.cut_ops or common_ops(known, other) < count
        ):
            continue
        _exchange(follow, other, count)
        step = other.steps[count]
        if _agrees(follow, step, node):
            _advance(follow, step, node)
            return True
        _exchange(follow, known, count)
    return False


def ends(follow: Match) -> bool:
    """Whether a trace that is known from that place ends after what was recorded so far; that is
    followed then."""
    if follow.next is None:
        return True
    known = follow.known
    count = len(follow.nodes)
    for other in follow.start.known:
        if not other.followed and len(other.steps) == count and (
            len(other.leaves) == follow.leaves and common_ops(known, other) == count
        ):
            _exchange(follow, other, count)
            return True
    return False


def _exchange(follow: Match, other: Known, count: int) -> None:
    """Match another trace that has the first ``count`` ops in common with the present one."""
    known = follow.known
    for k in range(count):
        other.steps[k].source.node = known.steps[k].source.node
        known.steps[k].source.node = None
    for k in range(follow.leaves):
        mine = known.leaves[k]
        theirs = other.leaves[k]
        theirs.node = mine.node
        theirs.index = mine.index
        theirs.buffer = mine.buffer
        mine.node = mine.buffer = None
    known.followed = False
    other.followed = True
    follow.known = other
    follow.next = other.steps[count] if count < len(other.steps) else None


def _agrees(follow: Match, step: Step, node: Node) -> bool:
    """Whether a node is what a step says; takes note of leaves that are new."""
    if node.spec is not step.recorded or node.grad_mask != step.mask or node.boundary:
        return False
    if step.rooted and follow.nodes and follow.thread != get_ident():
        return False
    seen = follow.leaves
    inputs = node.inputs
    indices = node.indices
    if step.plain and indices is None:
        first = step.first
        second = step.second
        if first is not None and _is(follow, first, inputs[0], 0, 0) and (
            second is None or _is(follow, second, inputs[1], 0, 0)
        ):
            return True
    elif _all_agree(follow, step, inputs, indices):
        return True
    if follow.leaves != seen:
        _forget_leaves(follow, seen)
    return False


def _is(follow: Match, source: Source, m: Input, index: int, result: int) -> bool:
    """Whether result ``index`` of a node is what comes from a source: of an op, ``result``."""
    if m is not None and source.node is m:
        # whether a leaf's memory is still there is looked at in the end
        return (result if source.leaf is None else source.index) == index
    return source.leaf is not None and source.node is None and _is_new_leaf(
        follow, source, m, index)


def _is_new_leaf(follow: Match, source: Source, m: Input, index: int) -> bool:
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
    follow.leaves += 1
    return True


def are_distinct(follow: Match) -> bool:
    """Whether the leaves so far are as many different ones; the caller holds the lock."""
    epoch = trace.epoch + 1
    trace.epoch = epoch
    leaves = follow.known.leaves
    for k in range(follow.leaves):
        buffer = leaves[k].buffer
        if buffer is None or buffer.epoch == epoch:
            return False
        buffer.epoch = epoch
    return True


def _all_agree(
    follow: Match, step: Step, inputs: tuple[Input, ...], indices: tuple[int, ...] | None
) -> bool:
    for position, m in enumerate(inputs):
        source = step.operands[position]
        if isinstance(m, Node):
            if source is None or not _is(
                follow, source, m, 0 if indices is None else indices[position],
                step.results[position],
            ):
                return False
        elif source is not None:
            return False
        elif isinstance(m, Scalar):
            baked = m.baked
            if baked is None:
                if step.fixed[position] is not m.type.dtype:
                    return False
            elif step.fixed[position] is not baked:
                return False
        elif step.fixed[position] is not None:
            return False
    return True


def _forget_leaves(follow: Match, seen: int) -> None:
    """Give up the leaves beyond the first ``seen``."""
    leaves = follow.known.leaves
    while follow.leaves > seen:
        follow.leaves -= 1
        source = leaves[follow.leaves]
        source.node = source.buffer = None


def _otherwise(follow: Match, node: Node) -> int:
    """What a node is to a trace that it does not go on."""
    aside = follow.aside
    related = strange = False
    for m in node.inputs:
        if isinstance(m, Node):
            state = m.state
            if state == PENDING:
                if m.component is follow or (aside is not None and m.component is aside):
                    related = True
                else:
                    strange = True
            elif state == MAPPED or m.cut_history is not None:
                strange = True
    if not related:
        return UNRELATED
    if aside is None:
        aside = follow.aside = Aside(follow)
    if strange or node.boundary or len(aside.nodes) >= EXTRAS:
        return DIFFERS
    node.component = aside
    aside.nodes.append(node)
    return EXTRA


def go_on(follow: Match, count: int, origins: list[int]) -> None:
    """Record the next ops of a known trace, as nobody else recorded them.

    No operand is a leaf that is new, or a run-time scalar. ``origins``: of each op, the node whose
    place in the user's program is its own; -1 for where the user is. The caller holds the lock,
    has drained what was released, which may settle the trace, and makes handles of what is to be
    kept.
    """
    nodes = follow.nodes
    here: Any = named_site()
    offset = 0
    if here is None:
        here, offset = user_place()
    sequence = trace.sequence
    for k in range(count):
        step = follow.next
        assert step is not None
        inputs: list[Input] = []
        indices: list[int] | None = None
        for position, source in enumerate(step.operands):
            if source is None:
                baked = step.fixed[position]
                inputs.append(None if baked is None else constant(baked))
            else:
                m = source.node
                assert m is not None
                m.refs += 1
                inputs.append(m)
                # a leaf may be another result than it was
                index = step.results[position] if source.leaf is None else source.index
                if index:
                    if indices is None:
                        indices = [0] * len(step.operands)
                    indices[position] = index
        sequence += 1
        node = Node(
            step.recorded, tuple(inputs), None if indices is None else tuple(indices), step.types,
            sequence, here, offset)
        origin = origins[k]
        if origin >= 0:
            node.place = nodes[origin].place
            node.offset = nodes[origin].offset
        if len(step.types) != 1:
            node.out_handles = Handles(len(step.types), 0)
        if step.mask:
            node.tracked = True
            node.grad_mask = step.mask
        _advance(follow, step, node)
    trace.sequence = sequence
    trace.recorded += count


def _missed(follow: Match) -> None:
    """Count that a known trace came to nothing."""
    known = follow.known
    known.misses += 1
    if known.misses >= MISSES:
        forget(follow.start, known)


def forget(start: Start, known: Known) -> None:
    """Expect a trace no more; it has to come back more often before it is."""
    if known in start.known:
        start.known.remove(known)
        # others keep it among those they compared
        for other in start.known:
            other.common.pop(known, None)
        known.common.clear()


def ended(follow: Match) -> None:
    """A trace has ended as it was known to: its nodes are scheduled."""
    follow.known.misses = 0
    _drop(follow)


def _drop(follow: Match) -> None:
    follow.parent = None
    aside = follow.aside
    if aside is not None:
        aside.match = aside.parent = None
    trace.components.pop(follow, None)
    following.follows.remove(follow)
    following.newest = following.follows[-1] if following.follows else None
    known = follow.known
    known.followed = False
    _forget_leaves(follow, 0)
    for step in known.steps:
        source = step.source
        if source.node is None:
            break
        source.node = None


def _settle(follow: Match) -> None:
    """Make what a match has ordinary pending work, as if nothing had been known."""
    _drop(follow)
    _missed(follow)
    nodes = [n for n in follow.nodes if n.state == PENDING]
    if follow.aside is not None:
        nodes += [n for n in follow.aside.nodes if n.state == PENDING]
        nodes.sort(key=graph.by_sequence)
    follow.nodes = []
    for n in nodes:
        n.component = None
    for n in nodes:
        graph.link(n, False)
        found = n.component
        if found is not None and len(found.nodes) == 1:
            found.thread = follow.thread
            found.since = n.seq
