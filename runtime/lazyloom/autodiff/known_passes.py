"""Matching of backward passes: what one recorded before for the same matched trace.

What a pass records rests on the part of the trace that it goes through: on its ops, their operands
and through which of these gradients flow, and on which leaves are to be reported. All of that is
compared while the trace is followed (:mod:`lazyloom.trace.following`), so that a pass from the
same results, at the same place of the trace, records what it recorded last time; and that is
appended op by op without going through the tape. Where anything is left open, the pass is
gone through as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast, final

from ..interrupts import Deferred
from ..trace import graph
from ..trace.following import Match, are_distinct, go_on
from ..trace.graph import DONE, Node, Value, hold, token_of, trace
from ..trace.known import Known
from ..trace.scalars import Baked
from ..trace.specs import Spec
from .reverse import BackwardPass, Cotangent, emit

#: how often what a pass at a place records is noted anew
NOTED: Final = 8
#: the code of an input that nothing depends on
UNUSED: Final = 1 << 60
#: codes of results: the number of the op times this, and that of the result
RESULTS: Final = 1 << 20


@final
class Pass:
    """What a backward pass records at a place of a known trace.

    Codes are ``op * RESULTS + result`` for a result of one of the trace's ops, ``-1 - number`` for
    a leaf.

    Attributes:
        outputs: the codes of the results that it begins with.
        inputs: the codes of what is differentiated by; None for all leaves that have a token.
        visited: the codes of nodes on the tape below the outputs, with result 0, and of the leaves
            that are results of these.
        specs: the spec of each of these, None of a leaf.
        tokens: whether each of these has a token.
        emitted: nodes that the pass has emit residuals, and the specs that do.
        count: how many ops it records.
        origins: of each op of the pass, the node whose place is its own, -1 for the pass's.
        leaves: (code of the leaf, code of the gradient), in order; or for each input the code of
            its gradient.
    """

    __slots__ = ("outputs", "inputs", "visited", "specs", "tokens", "emitted", "count", "origins",
                 "leaves")

    def __init__(
        self, outputs: list[int], inputs: list[int] | None, visited: list[int],
        specs: list[Spec | None], tokens: list[bool], emitted: list[tuple[int, Spec]], count: int,
        origins: list[int], leaves: list[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.outputs: Final[list[int]] = outputs
        self.inputs: Final[list[int] | None] = inputs
        self.visited: Final[list[int]] = visited
        self.specs: Final[list[Spec | None]] = specs
        self.tokens: Final[list[bool]] = tokens
        self.emitted: Final[list[tuple[int, Spec]]] = emitted
        self.count: Final[int] = count
        self.origins: Final[list[int]] = origins
        self.leaves: Final[list[tuple[int, int]]] = leaves


@final
class Noting:
    """A pass of which it is noted what it records.

    Attributes:
        follow, start: the trace, and where it was before the pass.
        recorded: how many ops there had been in all.
        outputs, inputs: their codes.
    """

    __slots__ = ("follow", "start", "recorded", "outputs", "inputs", "specs")

    def __init__(
        self, follow: Match, outputs: list[int], inputs: list[int] | None
    ) -> None:
        self.follow: Final[Match] = follow
        self.start: Final[int] = len(follow.nodes)
        self.recorded: Final[int] = trace.recorded
        self.outputs: Final[list[int]] = outputs
        self.inputs: Final[list[int] | None] = inputs
        self.specs: Final[list[Spec | None]] = [n.spec for n in follow.nodes]


def follow_of(outputs: Sequence[Value]) -> Match | None:
    """The trace that is followed and has all of the outputs, if there is one."""
    found: Match | None = None
    for out in outputs:
        match = out.node.component
        if not isinstance(match, Match) or match.parent is None or (
            found is not None and match is not found
        ):
            return None
        found = match
    return found


def _code_of(follow: Match, node: Node, index: int) -> int:
    """The code of a result, ``UNUSED`` for what the trace does not have."""
    for source in follow.known.leaves:
        if source.node is node and source.index == index:
            return -1 - source.number
    for slot, m in enumerate(follow.nodes):
        if m is node:
            return slot * RESULTS + index
    return UNUSED


def _is(follow: Match, code: int, value: Value) -> bool:
    """Whether a value has that code."""
    if code < 0:
        source = follow.known.leaves[-1 - code]
        return source.node is value.node and source.index == value.index
    return follow.nodes[code // RESULTS] is value.node and value.index == code % RESULTS


def _pass_of(
    follow: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> Pass | None:
    """What is known of a pass that begins here, if all of it is as it was."""
    found: Any = follow.known.passes.get(len(follow.nodes))
    if found is None:
        return None
    known = cast(Pass, found)
    if len(known.outputs) != len(outputs) or (known.inputs is None) != (inputs is None):
        return None
    for k, code in enumerate(known.outputs):
        if not outputs[k].requires_grad or not _is(follow, code, outputs[k]):
            return None
    wanted = known.inputs
    if wanted is not None and inputs is not None:
        if len(wanted) != len(inputs):
            return None
        for k, code in enumerate(wanted):
            value = inputs[k]
            if code == UNUSED:
                if _code_of(follow, value.node, value.index) != UNUSED:
                    return None
            elif not _is(follow, code, value):
                return None
    if not are_distinct(follow):
        return None
    newest = 0
    nodes = follow.nodes
    leaves = follow.known.leaves
    specs = known.specs
    tokens = known.tokens
    for k, code in enumerate(known.visited):
        if code >= 0:
            n = nodes[code // RESULTS]
            if n.freed or n.spec is not specs[k] or n.rule is not None:
                return None
        else:
            leaf = leaves[-1 - code].node
            if leaf is None or leaf.tracked or leaf.state != DONE:
                return None
            n = leaf
        if (_token(follow, code) is not None) != tokens[k] or n.seq < newest:
            # leaves are reported in the order in which they were recorded
            return None
        newest = n.seq
    return known


@final
class Again:
    """What a pass that was known has given.

    Attributes:
        tokens, gradients: of each leaf, or of each input, whose gradient is None if it has none.
        visited: the nodes that it would have visited.
    """

    __slots__ = ("tokens", "gradients", "visited")

    def __init__(self) -> None:
        self.tokens: Final[list[object]] = []
        self.gradients: Final[list[Value | None]] = []
        self.visited: Final[dict[Node, bool]] = {}


def again(
    follow: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> Again | None:
    """Record what a pass from here is known to record, if all of it is as it was."""
    with Deferred(), trace.lock:
        graph.drain()
        # that, or another thread, may have ended or settled the trace
        if follow.parent is None:
            return None
        known = _pass_of(follow, outputs, inputs)
        if known is None:
            return None
        for slot, spec in known.emitted:
            emit(follow.nodes[slot], spec)
        go_on(follow, known.count, known.origins)
        found = Again()
        for code in known.visited:
            found.visited[_node(follow, code)] = True
        for leaf, code in known.leaves:
            found.tokens.append(None if leaf == UNUSED else _token(follow, leaf))
            found.gradients.append(None if code == UNUSED else hold(
                _node(follow, code), code % RESULTS if code >= 0 else 0, False))
        return found


def _node(follow: Match, code: int) -> Node:
    if code >= 0:
        return follow.nodes[code // RESULTS]
    found = follow.known.leaves[-1 - code].node
    assert found is not None
    return found


def _token(follow: Match, code: int) -> object:
    index = code % RESULTS if code >= 0 else follow.known.leaves[-1 - code].index
    return token_of(_node(follow, code), index)


def noting(
    follow: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> Noting | None:
    """Begin to note what a pass records; None where that is not worth it."""
    known: Known = follow.known
    if known.noted >= NOTED or follow.next is None:
        return None
    known.noted += 1
    with trace.lock:
        if follow.parent is None or not are_distinct(follow):
            return None
    codes = [_code_of(follow, v.node, v.index) for v in outputs]
    wanted = None if inputs is None else [_code_of(follow, v.node, v.index) for v in inputs]
    return Noting(follow, codes, wanted)


def note(
    begun: Noting, walk: BackwardPass,
    leaves: Sequence[tuple[tuple[Node, int] | None, Cotangent | None]],
) -> None:
    """Keep what a pass recorded, if the trace was followed through it.

    ``leaves``: what it gives, as the leaf (None for an input) and the gradient.
    """
    with trace.lock:
        _note(begun, walk, leaves)


def _note(
    begun: Noting, walk: BackwardPass,
    leaves: Sequence[tuple[tuple[Node, int] | None, Cotangent | None]],
) -> None:
    follow = begun.follow
    end = len(follow.nodes)
    if follow.parent is None or (
        end - begun.start != trace.recorded - begun.recorded
    ) or walk.memo.started or UNUSED in begun.outputs:
        return
    for step in follow.known.steps[begun.start : end]:
        if step.recorded is not step.spec:
            return
        for what in step.fixed:
            if what is not None and not isinstance(what, Baked):
                return
    visited: list[int] = []
    specs: list[Spec | None] = []
    tokens: list[bool] = []
    emitted: list[tuple[int, Spec]] = []
    for n in walk.order:
        if n.rule is not None:
            return
        own = [-1 - s.number for s in follow.known.leaves if s.node is n]
        for code in own:
            if n.tracked:
                return
            visited.append(code)
            tokens.append(_token(follow, code) is not None)
            specs.append(None)
        if own:
            continue
        code = _code_of(follow, n, 0)
        if code == UNUSED:
            return
        visited.append(code)
        tokens.append(n.token is not None)
        before: Spec | None = None
        if code >= 0:
            slot = code // RESULTS
            if slot >= begun.start:
                return
            before = begun.specs[slot]
            if n.spec is not before and n.spec is not None:
                emitted.append((slot, n.spec))
        specs.append(before)
    origins: list[int] = []
    for n in follow.nodes[begun.start : end]:
        origin = walk.origins.get(n)
        origins.append(-1 if origin is None else _code_of(follow, origin, 0) // RESULTS)
    found: list[tuple[int, int]] = []
    for leaf, gradient in leaves:
        code = UNUSED
        if gradient is not None:
            if not isinstance(gradient, Value):
                return
            code = _code_of(follow, gradient.node, gradient.index)
            if code == UNUSED:
                return
        found.append((UNUSED if leaf is None else _code_of(follow, leaf[0], leaf[1]), code))
    follow.known.passes[begun.start] = Pass(
        begun.outputs, begun.inputs, visited, specs, tokens, emitted, end - begun.start, origins,
        found)
