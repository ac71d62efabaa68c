"""Matching of ends: a trace that runs as it did before need not be collected again.

A match (:mod:`lazyloom.trace.matching`) has the structure of its past trace. At its end, what no
recorded op says has to be checked: which results somebody can still see, which leaves exist, and
the numbers. If all of that is as before, so are the wanted results and what nodes keep; otherwise
the component is collected like any other.

Everything here runs under the graph's lock and executes nothing.
"""

from __future__ import annotations

from typing import Any, Final, final

from ..compiled import mypyc_attr
from ..dtypes import DType
from ..ops.derived import FORWARD
from ..program.program import Structure
from ..settings import tuning
from ..trace import graph
from ..trace.graph import DEAD, DONE, PENDING, SCHEDULED, Buffer, Node, trace
from ..trace.matching.match import EXTRAS, Match, ends, matching
from ..trace.matching.past_traces import PastOp, PastTrace, Source
from ..trace.matching.starts import PAST_TRACES, STRUCTURES, forget, start_of
from ..trace.scalars import Scalar
from ..trace.specs import Spec, spec_of
from ..types import TensorType


@mypyc_attr(acyclic=True)
@final
class Ending:
    """How a trace ended and ran.

    Attributes:
        structure, wanted, keeps: of the plan, see :mod:`lazyloom.evaluate.collect`.
        slots, positions, dtypes: of each run-time scalar, in order: its node's number, its operand
            position and its dtype.
        checked: there are ops whose flags have to be checked.
        collective: there are ops that several processes run together.
    """

    __slots__ = ("structure", "wanted", "keeps", "slots", "positions", "dtypes", "checked",
                 "collective")

    def __init__(
        self, structure: Structure, wanted: list[tuple[int, int]], keeps: list[bool],
        nodes: list[Node],
    ) -> None:
        self.structure: Final[Structure] = structure
        self.wanted: Final[list[tuple[int, int]]] = wanted
        self.keeps: Final[list[bool]] = keeps
        self.slots: Final[list[int]] = []
        self.positions: Final[list[int]] = []
        self.dtypes: Final[list[DType]] = []
        self.checked: Final[bool] = any(n.spec is not None and n.spec.checked for n in nodes)
        self.collective: Final[bool] = any(n.spec is not None and n.spec.shared for n in nodes)


def is_referred(n: Node, uses: int) -> bool:
    """Whether nodes outside its program refer to a node, beside ``uses`` positions in it.

    A collective runs whether or not anybody wants its result (``backends/xla/assemble.py``); the
    reference that it has until then does not ask for one. Other effects are tied to their results.
    """
    spec = n.spec
    return n.refs > (uses + 1 if spec is not None and spec.shared else uses)


def visibility(n: Node, uses: int) -> int:
    """Which of a node's results can be seen outside its program: 0 for none, 1 for all, or a bit
    for each result that still has a handle, from the second bit on (1 for the only result).

    Negative if nobody who sees them can see its tape.
    """
    if n.refs > uses and is_referred(n, uses):
        return 1
    if n.handles == 0:
        return 0
    bits = 0
    counts = n.out_handles
    if counts is None:
        bits = 1
    else:
        for index in range(len(n.types)):
            if counts.of(index) > 0:
                bits |= 2 << index
    return -bits if n.tracked and n.carried == 0 and not n.freed else bits


def learn(
    nodes: list[Node], structure: Structure, wanted: list[tuple[int, int]], keeps: list[bool]
) -> None:
    """Remember a trace that is about to run, to match it when it comes again.

    The nodes are numbered and have their operands.
    """
    if not matching.enabled or len(nodes) + EXTRAS >= tuning.cut_ops:
        return
    start = start_of(nodes[0], True)
    if start is None:
        return
    structures = start.structures
    count = structures.pop(structure, 0) + 1
    if len(structures) >= STRUCTURES:
        del structures[next(iter(structures))]
    structures[structure] = count
    # a trace that fails to match again and again is tried ever more rarely
    if count < 2 or count & (count - 1):
        return
    for past in start.traces:
        if past.ending.structure == structure:
            if past.ending.wanted == wanted or past.matched:
                return
            forget(start, past)
            break
    new_past = _past_trace(nodes, structure, wanted, keeps)
    if new_past is not None:
        if len(start.traces) >= PAST_TRACES:
            for past in reversed(start.traces):
                if not past.matched:
                    forget(start, past)
                    break
        start.traces.insert(0, new_past)


def _past_trace(
    nodes: list[Node], structure: Structure, wanted: list[tuple[int, int]], keeps: list[bool]
) -> PastTrace | None:
    ops: list[PastOp] = []
    sources = [Source(number, t) for number, t in enumerate(structure.leaf_types)]
    ending = Ending(structure, wanted, keeps, nodes)
    for slot, n in enumerate(nodes):
        spec = n.spec
        # of effects only those whose order is kept: collectives
        if spec is None or spec.effect and not spec.shared or spec.fallible or n.boundary or (
            n.rule is not None or n.cut_history is not None
        ):
            return None
        operands: list[Source | None] = []
        results: list[int] = []
        fixed: list[Any] = []
        for position, m in enumerate(n.inputs):
            source: Source | None = None
            index = 0
            constant: Any = None
            if isinstance(m, Node):
                index = 0 if n.indices is None else n.indices[position]
                if m.epoch == n.epoch:
                    source = ops[m.slot].source
                else:
                    if m.state != DONE or m.cut_history is not None or m.buffers is None:
                        return None
                    buffer = m.buffers[index]
                    if buffer is None:
                        return None
                    source = sources[buffer.slot]
                    # its recorded type leaves to XLA what the structure's leaf type says
                    source.leaf = m.types[index]
                    index = 0
            elif isinstance(m, Scalar):
                constant = m.baked
                if constant is None:
                    constant = m.type.dtype
                    ending.slots.append(slot)
                    ending.positions.append(position)
                    ending.dtypes.append(m.type.dtype)
            operands.append(source)
            results.append(index)
            fixed.append(constant)
        recorded = _as_recorded(spec)
        types = n.types
        if recorded is not spec:
            types = recorded.infer(tuple([_type_of(n, p) for p in range(len(n.inputs))]))
        op = PastOp(slot, recorded, spec, operands, results, fixed, n, types)
        op.uses = n.uses
        op.visibility = visibility(n, n.uses)
        op.freed = n.freed
        op.keeps = keeps[slot]
        if not op.keeps:
            for source in operands:
                if source is not None:
                    source.released += 1
        ops.append(op)
    return PastTrace(ops, sources, ending)


def _type_of(n: Node, position: int) -> TensorType | None:
    m = n.inputs[position]
    if isinstance(m, Node):
        return m.types[0 if n.indices is None else n.indices[position]]
    return None if m is None else m.type


def _as_recorded(spec: Spec) -> Spec:
    """The spec of an op before a backward pass made it emit residuals."""
    base = spec.op.base
    if base is None or spec.op.kind != FORWARD or "forward_argnums" not in spec.attrs:
        return spec
    attrs = dict(spec.attrs)
    del attrs["forward_argnums"]
    return spec_of(base, attrs, spec.arity)


def ending_of(match: Match) -> Ending | None:
    """The ending of a match, if it ends here as its past trace did."""
    if not ends(match):
        return None
    aside = match.aside
    if aside is not None and aside.dead != len(aside.nodes):
        return None
    past = match.past
    op: PastOp | None = past.ops[0]
    while op is not None:
        n = op.source.node
        if n is None or n.state != PENDING or n.spec is not op.spec or n.freed != op.freed or (
            visibility(n, op.uses) != op.visibility
        ):
            return None
        op = op.next
    epoch = trace.epoch + 1
    trace.epoch = epoch
    for source in past.leaves:
        m = source.node
        buffer = source.buffer
        if m is None or buffer is None or m.state != DONE:
            return None
        buffers = m.buffers
        if buffers is None or buffers[source.index] is not buffer or buffer.epoch == epoch:
            return None
        buffer.epoch = epoch
        buffer.slot = source.number
    ending: Ending = past.ending
    return ending


def number(match: Match) -> None:
    """Number nodes and leaves as :func:`lazyloom.evaluate.collect.canonical` does."""
    epoch = trace.epoch + 1
    trace.epoch = epoch
    for slot, n in enumerate(match.nodes):
        n.slot = slot
        n.epoch = epoch
    for source in match.past.leaves:
        buffer = source.buffer
        if buffer is not None:
            buffer.epoch = epoch
            buffer.slot = source.number


def release(match: Match, evaluation: Any) -> list[Node]:
    """Mark the nodes of a match that has ended as scheduled; return those to be taken apart.

    The past trace says which nodes release their operands, so nothing iterates over operands.
    """
    past = match.past
    work: list[Node] = []
    op: PastOp | None = past.ops[0]
    while op is not None:
        source = op.source
        n = source.node
        assert n is not None
        n.component = None
        # runs op by op release a result with its last use
        n.uses = op.uses
        refs = n.refs - source.released
        n.refs = refs
        if not op.keeps:
            n.inputs = ()
        n.state = SCHEDULED
        n.evaluation = evaluation
        if refs == 0 and n.handles == 0:
            if op.keeps or op.spec.checked:
                work.append(n)
            else:
                n.state = DEAD
                n.evaluation = n.token = None
        op = op.next
    for source in past.leaves:
        m = source.node
        assert m is not None
        m.refs -= source.released
        if m.refs == 0:
            if m.handles:
                graph.drop_unheld(m)
            elif m.state != DEAD:
                work.append(m)
    return work


def leaves_of(match: Match) -> list[Buffer]:
    """The leaves of a match that has ended."""
    leaves: list[Buffer] = []
    for source in match.past.leaves:
        buffer = source.buffer
        assert buffer is not None
        leaves.append(buffer)
    return leaves


def numbers(match: Match, ending: Ending) -> dict[DType, list[Any]]:
    """The run-time scalars of a match, in order."""
    scalars: dict[DType, list[Any]] = {}
    nodes = match.nodes
    positions = ending.positions
    dtypes = ending.dtypes
    for k, slot in enumerate(ending.slots):
        scalar = nodes[slot].inputs[positions[k]]
        assert isinstance(scalar, Scalar)
        values = scalars.get(dtypes[k])
        if values is None:
            values = scalars[dtypes[k]] = []
        values.append(scalar.number)
    return scalars
