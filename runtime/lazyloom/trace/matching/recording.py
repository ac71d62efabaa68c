"""Recording the ops that a match expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...compiled import ALONE
from ..graph import Input, Node, Value, trace
from ..results import Handles
from ..scalars import constant
from ..source import Site, named_site, user_place
from ..specs import Spec
from ..switches import grad_enabled
from .match import Match, advance, matching

#: a constant of this module, which compiled code need not look up
_ALONE: Final[bool] = ALONE


def record_expected(
    spec: Spec, first: Node, second: Node | None, mask: int, site: Site | None
) -> Value | None:
    """Record an op of one result that the newest match expects next.

    Its operands are the first results of the nodes ``first`` and ``second``; a gradient flows to
    those in the ``mask``. Returns None and records nothing if another op is expected, if this
    cannot be decided so quickly, or if something else has to be done first.
    """
    match = matching.newest
    if match is None:
        return None
    op = match.next
    if op is None or op.recorded is not spec or op.mask != mask or op.rooted:
        return None
    source = op.first
    if source is None or source.node is not first or source.index:
        return None
    source = op.second
    if second is None:
        if source is not None:
            return None
    elif source is None or source.node is not second or source.index:
        return None
    if not _ALONE or trace.released or trace.locked() or len(op.types) != 1 or (
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
    inputs: tuple[Input, ...]
    if second is None:
        inputs = (first,)
    else:
        second.refs += 1
        inputs = (first, second)
    node = Node(spec, inputs, None, op.types, sequence, where, offset)
    node.handles = 1
    if mask:
        node.tracked = True
        node.carried = 1
        node.grad_mask = mask
    advance(match, op, node)
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


def record_next(match: Match, count: int, origins: list[int]) -> None:
    """Record the next ops of a match, which nobody else recorded.

    No operand is a new leaf or a run-time scalar. ``origins``: for each op, the node whose place in
    the user's program it takes; -1 for the user's present place. The caller holds the lock, has
    drained the released nodes, which may settle the match, and makes handles of what it keeps.
    """
    nodes = match.nodes
    here: Any = named_site()
    offset = 0
    if here is None:
        here, offset = user_place()
    sequence = trace.sequence
    for k in range(count):
        op = match.next
        assert op is not None
        inputs: list[Input] = []
        indices: list[int] | None = None
        for position, source in enumerate(op.operands):
            if source is None:
                baked = op.fixed[position]
                inputs.append(None if baked is None else constant(baked))
            else:
                m = source.node
                assert m is not None
                m.refs += 1
                inputs.append(m)
                # a leaf may be another result than it was in the past trace
                index = op.results[position] if source.leaf is None else source.index
                if index:
                    if indices is None:
                        indices = [0] * len(op.operands)
                    indices[position] = index
        sequence += 1
        node = Node(
            op.recorded, tuple(inputs), None if indices is None else tuple(indices), op.types,
            sequence, here, offset)
        origin = origins[k]
        if origin >= 0:
            node.place = nodes[origin].place
            node.offset = nodes[origin].offset
        if len(op.types) != 1:
            node.out_handles = Handles(len(op.types), 0)
        if op.mask:
            node.tracked = True
            node.grad_mask = op.mask
        advance(match, op, node)
    trace.sequence = sequence
    trace.recorded += count
