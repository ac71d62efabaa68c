"""A checker of the recorded graph: what must hold of every node, as ``trace/graph.py`` says.

``check()`` goes through the graph of this process, from its components. Where the core is
interpreted, it can also be given all nodes and handles that there are, and then counts exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from lazyloom.trace import graph
from lazyloom.trace.graph import DEAD, DONE, FAILED, MAPPED, PENDING, SCHEDULED, Component, Node
from lazyloom.trace.matching.match import EXTRAS, Aside, Match, matching
from lazyloom.trace.matching.starts import starts
from lazyloom.trace.results import Tokens


def check(everything: Iterable[Any] = ()) -> None:
    """Assert the invariants of the graph, while this thread holds its lock.

    Args:
        everything: all nodes and values of the process, among other objects; without it, counts
            of references and handles are only known not to be too small.
    """
    with graph.trace.lock:
        graph.drain()
        of_components = _check_components()
        _check_matching()
        objects = list(everything)
        nodes = {n: None for n in objects if type(n) is Node}
        stack = [*nodes, *of_components]
        nodes.update(dict.fromkeys(of_components))
        while stack:
            for m in stack.pop().inputs:
                if isinstance(m, Node) and m not in nodes:
                    nodes[m] = None
                    stack.append(m)
        for n in nodes:
            _check_node(n, of_components)
        _check_counts(nodes, [v for v in objects if type(v) is graph.Value], bool(objects))


def _root(n: Node) -> Component | None:
    """The component of a pending node: :func:`graph.find`, which changes nothing here."""
    c = n.component
    if isinstance(c, Aside):
        return c.match
    while c is not None and c.parent is not None and c.parent is not c:
        c = c.parent
    return c


def _check_components() -> dict[Node, Component]:
    """The pending nodes, with their components."""
    found: dict[Node, Component] = {}
    for c in graph.trace.components:
        assert c.parent is (c if isinstance(c, Match) else None)
        parts: list[Component] = [c]
        if isinstance(c, Match) and c.aside is not None:
            parts.append(c.aside)
        for part in parts:
            pending = [n for n in part.nodes if n.state == PENDING]
            assert part.dead == len(part.nodes) - len(pending), (part.dead, len(part.nodes))
            assert pending or part is not c, "an empty component"
            numbers = [n.seq for n in part.nodes]
            assert not part.ordered or numbers == sorted(numbers)
            for n in pending:
                assert n not in found, (n.spec, "is in two components")
                assert _root(n) is c, (n.spec, "is in a component that it does not know")
                found[n] = c
    return found


def _check_matching() -> None:
    for match in matching.matches:
        past = match.past
        assert match in graph.trace.components and past.matched and past in match.start.traces
        count = len(match.nodes)
        assert [op.source.node for op in past.ops[:count]] == match.nodes
        assert match.next is (past.ops[count] if count < len(past.ops) else None)
        assert match.aside is None or len(match.aside.nodes) <= EXTRAS
        for k, leaf in enumerate(past.leaves):
            assert (leaf.node is not None) == (leaf.buffer is not None) == (k < match.leaves)
    assert matching.newest is (matching.matches[-1] if matching.matches else None)
    assert len({m.past for m in matching.matches}) == len(matching.matches)
    places = [start for at_op in starts.by_first_op.values() for start in at_op]
    assert len(places) == starts.count
    for start in places:
        for past in start.traces:
            if not past.matched:  # it keeps nothing alive
                assert all(op.source.node is None for op in past.ops)
                assert all(leaf.node is leaf.buffer is None for leaf in past.leaves)


def _check_node(n: Node, of_components: dict[Node, Component]) -> None:
    state, spec, count = n.state, n.spec, len(n.types)
    what = (spec, state, n.seq)
    assert 0 <= n.carried <= n.handles and n.refs >= 0 and n.seq <= graph.trace.sequence, what
    assert count >= 1 and (n.out_handles is None) == (count == 1), what
    if n.out_handles is not None:
        assert sum(n.out_handles.of(k) for k in range(count)) == n.handles, what
    assert n.indices is None or not n.inputs or len(n.indices) == len(n.inputs), what
    assert n.buffers is None or len(n.buffers) == count, what
    assert not isinstance(n.token, Tokens) or len(n.token.of) == count > 1, what
    assert n.rule is None or spec is not None and spec.op.name == "custom", what
    assert (n.mapping is not None) == (state == MAPPED), what
    assert not n.boundary or state in (PENDING, SCHEDULED), what
    assert (n.error is not None) == (state == FAILED), what
    if spec is None:
        assert state in (DONE, FAILED, DEAD, MAPPED) and not n.inputs and not n.tracked, what
        assert n.grad_mask == 0 or state == MAPPED, what
    else:
        assert n.tracked == (n.grad_mask != 0) and n.grad_mask >> spec.arity == 0, what
        assert len(n.inputs) == spec.arity or state != PENDING and not n.inputs, what
    if state == PENDING:
        assert n in of_components and n.buffers is n.evaluation is None, what
        assert n.refs or n.handles, (what, "is dead")
    elif state == DEAD:
        assert not n.inputs and n.buffers is None, what
    elif state == DONE:
        assert n.buffers is not None, what
    for position, m in enumerate(n.inputs):
        if not isinstance(m, Node):
            continue
        assert m.state != DEAD and (state != PENDING or m.state != MAPPED), (what, position)
        assert 0 <= (0 if n.indices is None else n.indices[position]) < len(m.types)
        if state == PENDING and m.state == PENDING:
            assert m.seq < n.seq, (what, position)
            assert m.boundary or of_components[m] is of_components[n], (what, position)


def _check_counts(nodes: Iterable[Node], values: list[Any], exactly: bool) -> None:
    refs: Counter[Node] = Counter()
    owners: Counter[Any] = Counter()
    numbers: set[int] = set()
    for n in nodes:
        assert n.seq == 0 or n.seq not in numbers, (n.spec, n.seq)
        numbers.add(n.seq)
        for m in n.inputs:
            if isinstance(m, Node):
                refs[m] += 1
        if n.spec is not None and n.spec.effect and n.state in (PENDING, SCHEDULED):
            refs[n] += 1
        owners.update(b for b in n.buffers or () if b is not None)
    handles: Counter[Node] = Counter(v.node for v in values)
    carried: Counter[Node] = Counter(v.node for v in values if v.requires_grad)
    for n in nodes:
        if exactly:
            counted = (refs[n], handles[n], carried[n])
            assert counted == (n.refs, n.handles, n.carried), (n.spec, n.state, counted, n.refs)
        assert refs[n] <= n.refs, (n.spec, n.state)
    for buffer, count in owners.items():
        assert count == buffer.owners or not exactly and count < buffer.owners
        assert buffer.holds >= 0
