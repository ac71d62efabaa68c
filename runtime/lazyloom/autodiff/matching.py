"""Matching of backward passes: recording again what a pass recorded at the same place of a match.

The ops that a pass records depend on the part of the trace that it visits: on its ops, their
operands and through which of these gradients flow, and on which leaves are reported. All of that is
compared while the trace is matched (:mod:`lazyloom.trace.matching`), so a pass from the same
results, at the same place of the trace, records the same ops as last time; these are appended op by
op without visiting the tape. If anything is undecided, the pass runs as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast, final

from ..interrupts import Deferred
from ..trace import graph
from ..trace.graph import DONE, Node, Value, hold, token_of, trace
from ..trace.matching.match import Match, are_distinct
from ..trace.matching.past_traces import PastTrace
from ..trace.matching.recording import record_next
from ..trace.scalars import Baked
from ..trace.specs import Spec
from .reverse import BackwardPass, Cotangent, emit

#: how often the ops that a pass at a place records are learned anew
LEARNED: Final = 8
#: the code of an input that nothing depends on
UNUSED: Final = 1 << 60
#: codes of results: the number of the op times this, plus the number of the result
RESULTS: Final = 1 << 20


@final
class PastPass:
    """What a backward pass records at a place of a past trace.

    Codes are ``op * RESULTS + result`` for a result of one of the trace's ops, ``-1 - number`` for
    a leaf.

    Attributes:
        outputs: the codes of the results that it begins with.
        inputs: the codes of the inputs to differentiate by; None for all leaves with a token.
        visited: the codes of nodes on the tape below the outputs, with result 0, and of the leaves
            that are results of these.
        specs: the spec of each visited node, None for a leaf.
        tokens: whether each visited node has a token.
        emitted: nodes that the pass makes emit residuals, and the specs that do.
        count: how many ops it records.
        origins: for each op of the pass, the node whose place it takes, -1 for the pass's place.
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
class Learning:
    """A pass that runs as usual to learn what it records.

    Attributes:
        match, start: the match, and how many nodes it had before the pass.
        recorded: how many ops had been recorded in all.
        outputs, inputs: their codes.
        specs: the specs of the match's nodes.
    """

    __slots__ = ("match", "start", "recorded", "outputs", "inputs", "specs")

    def __init__(
        self, match: Match, outputs: list[int], inputs: list[int] | None
    ) -> None:
        self.match: Final[Match] = match
        self.start: Final[int] = len(match.nodes)
        self.recorded: Final[int] = trace.recorded
        self.outputs: Final[list[int]] = outputs
        self.inputs: Final[list[int] | None] = inputs
        self.specs: Final[list[Spec | None]] = [n.spec for n in match.nodes]


def match_of_all(outputs: Sequence[Value]) -> Match | None:
    """The match that contains all of the outputs, if there is one."""
    match: Match | None = None
    for out in outputs:
        component = out.node.component
        if not isinstance(component, Match) or component.parent is None or (
            match is not None and component is not match
        ):
            return None
        match = component
    return match


def _code_of(match: Match, node: Node, index: int) -> int:
    """The code of a result, ``UNUSED`` if it is not in the trace."""
    for source in match.past.leaves:
        if source.node is node and source.index == index:
            return -1 - source.number
    for slot, m in enumerate(match.nodes):
        if m is node:
            return slot * RESULTS + index
    return UNUSED


def _is(match: Match, code: int, value: Value) -> bool:
    """Return True if a value has that code."""
    if code < 0:
        source = match.past.leaves[-1 - code]
        return source.node is value.node and source.index == value.index
    return match.nodes[code // RESULTS] is value.node and value.index == code % RESULTS


def _past_pass_of(
    match: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> PastPass | None:
    """The past pass that began here, if everything it depends on is as it was."""
    entry: Any = match.past.passes.get(len(match.nodes))
    if entry is None:
        return None
    past = cast(PastPass, entry)
    if len(past.outputs) != len(outputs) or (past.inputs is None) != (inputs is None):
        return None
    for k, code in enumerate(past.outputs):
        if not outputs[k].requires_grad or not _is(match, code, outputs[k]):
            return None
    wanted = past.inputs
    if wanted is not None and inputs is not None:
        if len(wanted) != len(inputs):
            return None
        for k, code in enumerate(wanted):
            value = inputs[k]
            if code == UNUSED:
                if _code_of(match, value.node, value.index) != UNUSED:
                    return None
            elif not _is(match, code, value):
                return None
    if not are_distinct(match):
        return None
    newest = 0
    nodes = match.nodes
    leaves = match.past.leaves
    specs = past.specs
    tokens = past.tokens
    for k, code in enumerate(past.visited):
        if code >= 0:
            n = nodes[code // RESULTS]
            if n.freed or n.spec is not specs[k] or n.rule is not None:
                return None
        else:
            leaf = leaves[-1 - code].node
            if leaf is None or leaf.tracked or leaf.state != DONE:
                return None
            n = leaf
        if (_token(match, code) is not None) != tokens[k] or n.seq < newest:
            # leaves are reported in the order in which they were recorded
            return None
        newest = n.seq
    return past


@final
class RecordedPass:
    """The results of a pass that was recorded like a past one.

    Attributes:
        tokens, gradients: of each leaf, or of each input; None for an input without gradient.
        visited: the nodes that it would have visited.
    """

    __slots__ = ("tokens", "gradients", "visited")

    def __init__(self) -> None:
        self.tokens: Final[list[object]] = []
        self.gradients: Final[list[Value | None]] = []
        self.visited: Final[dict[Node, bool]] = {}


def record_pass(
    match: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> RecordedPass | None:
    """Record the ops of the past pass from here, if everything it depends on is as it was."""
    with Deferred(), trace.lock:
        graph.drain()
        # draining, or another thread, may have ended or settled the match
        if match.parent is None:
            return None
        past = _past_pass_of(match, outputs, inputs)
        if past is None:
            return None
        for slot, spec in past.emitted:
            emit(match.nodes[slot], spec)
        record_next(match, past.count, past.origins)
        recorded = RecordedPass()
        for code in past.visited:
            recorded.visited[_node(match, code)] = True
        for leaf, code in past.leaves:
            recorded.tokens.append(None if leaf == UNUSED else _token(match, leaf))
            recorded.gradients.append(None if code == UNUSED else hold(
                _node(match, code), code % RESULTS if code >= 0 else 0, False))
        return recorded


def _node(match: Match, code: int) -> Node:
    if code >= 0:
        return match.nodes[code // RESULTS]
    leaf = match.past.leaves[-1 - code].node
    assert leaf is not None
    return leaf


def _token(match: Match, code: int) -> object:
    index = code % RESULTS if code >= 0 else match.past.leaves[-1 - code].index
    return token_of(_node(match, code), index)


def begin_learning(
    match: Match, outputs: Sequence[Value], inputs: Sequence[Value] | None
) -> Learning | None:
    """Begin to learn what a pass records; None if that is not worth it."""
    past: PastTrace = match.past
    if past.learned >= LEARNED or match.next is None:
        return None
    past.learned += 1
    with trace.lock:
        if match.parent is None or not are_distinct(match):
            return None
    codes = [_code_of(match, v.node, v.index) for v in outputs]
    wanted = None if inputs is None else [_code_of(match, v.node, v.index) for v in inputs]
    return Learning(match, codes, wanted)


def learn(
    begun: Learning, walk: BackwardPass,
    leaves: Sequence[tuple[tuple[Node, int] | None, Cotangent | None]],
) -> None:
    """Keep what a pass recorded, if the trace was matched throughout.

    ``leaves``: the pass's results, each the leaf (None for an input) and the gradient.
    """
    with trace.lock:
        _learn(begun, walk, leaves)


def _learn(
    begun: Learning, walk: BackwardPass,
    leaves: Sequence[tuple[tuple[Node, int] | None, Cotangent | None]],
) -> None:
    match = begun.match
    end = len(match.nodes)
    if match.parent is None or (
        end - begun.start != trace.recorded - begun.recorded
    ) or walk.memo.started or UNUSED in begun.outputs:
        return
    for op in match.past.ops[begun.start : end]:
        if op.recorded is not op.spec or op.recorded.effect:
            return
        for constant in op.fixed:
            if constant is not None and not isinstance(constant, Baked):
                return
    visited: list[int] = []
    specs: list[Spec | None] = []
    tokens: list[bool] = []
    emitted: list[tuple[int, Spec]] = []
    for n in walk.order:
        if n.rule is not None:
            return
        leaf_codes = [-1 - s.number for s in match.past.leaves if s.node is n]
        for code in leaf_codes:
            if n.tracked:
                return
            visited.append(code)
            tokens.append(_token(match, code) is not None)
            specs.append(None)
        if leaf_codes:
            continue
        code = _code_of(match, n, 0)
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
    for n in match.nodes[begun.start : end]:
        origin = walk.origins.get(n)
        origins.append(-1 if origin is None else _code_of(match, origin, 0) // RESULTS)
    gradients: list[tuple[int, int]] = []
    for leaf, gradient in leaves:
        code = UNUSED
        if gradient is not None:
            if not isinstance(gradient, Value):
                return
            code = _code_of(match, gradient.node, gradient.index)
            if code == UNUSED:
                return
        gradients.append((UNUSED if leaf is None else _code_of(match, leaf[0], leaf[1]), code))
    match.past.passes[begun.start] = PastPass(
        begun.outputs, begun.inputs, visited, specs, tokens, emitted, end - begun.start, origins,
        gradients)
