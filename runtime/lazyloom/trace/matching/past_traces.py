"""Past traces: the ops of components that ran, by the place where each began."""

from __future__ import annotations

from typing import Any, Final, final

from ...compiled import mypyc_attr
from ...types import TensorType
from ..graph import Buffer, Node
from ..specs import Spec


@mypyc_attr(acyclic=True)
@final
class Source:
    """Where operands of a past trace come from: an op, or a leaf.

    Attributes:
        number: of the op among the ops, or of the leaf among the leaves.
        leaf: the type of a leaf; None for an op.
        node: the node of the trace that is being recorded, once there is one.
        index: of a leaf, which of the node's results it is.
        buffer: of a leaf, its data.
        released: how many operands it is of nodes that release their operands when the trace ends.
    """

    __slots__ = ("number", "leaf", "node", "index", "buffer", "released")

    def __init__(self, number: int, leaf: TensorType | None) -> None:
        self.number: Final[int] = number
        self.leaf: TensorType | None = leaf
        self.node: Node | None = None
        self.index: int = 0
        self.buffer: Buffer | None = None
        self.released: int = 0


@mypyc_attr(acyclic=True)
@final
class PastOp:
    """One op of a past trace.

    Attributes:
        recorded: its spec when it is recorded.
        spec: its spec when the trace ends, which differs if a backward pass made it emit residuals.
        operands: where each operand comes from, None for a scalar or an absent one.
        results: which result of an op each operand is.
        fixed: for each operand that is not a node, the constant, the dtype of a run-time scalar,
            or None for an absent one.
        mask, types: of the node when it is recorded.
        uses, visibility, freed, keeps: of the node when the trace ends, see
            :mod:`lazyloom.evaluate.matching`; ``keeps``: whether it keeps its operands.
        source: its results.
        next: the op after it.
        rooted: all its operands are leaves or scalars.
        plain: 1 or 2 if it has that many operands (``first`` and ``second``) and all are leaves or
            first results, else 0; 0 for an op with an effect.
    """

    __slots__ = ("recorded", "spec", "operands", "results", "fixed", "mask", "types",
                 "uses", "visibility", "freed", "keeps", "source", "next", "rooted", "plain",
                 "first", "second")

    def __init__(
        self, number: int, recorded: Spec, spec: Spec, operands: list[Source | None],
        results: list[int], fixed: list[Any], node: Node, types: tuple[TensorType, ...],
    ) -> None:  # fmt: skip
        self.recorded: Final[Spec] = recorded
        self.spec: Final[Spec] = spec
        self.operands: Final[list[Source | None]] = operands
        self.results: Final[list[int]] = results
        self.fixed: Final[list[Any]] = fixed
        self.mask: Final[int] = node.grad_mask
        self.types: Final[tuple[TensorType, ...]] = types
        self.uses: int = 0
        self.visibility: int = 0
        self.freed: bool = False
        self.keeps: bool = False
        self.source: Final[Source] = Source(number, None)
        self.next: PastOp | None = None
        self.rooted: Final[bool] = all(s is None or s.leaf is not None for s in operands)
        plain = len(operands)
        for position, source in enumerate(operands):
            if source is None or results[position]:
                plain = 0
        if recorded.effect:
            plain = 0
        self.plain: Final[int] = plain if plain <= 2 else 0
        self.first: Final[Source | None] = operands[0] if self.plain else None
        self.second: Final[Source | None] = operands[1] if self.plain == 2 else None


@mypyc_attr(acyclic=True)
@final
class PastTrace:
    """A trace that ran.

    Attributes:
        ops: its ops in the order of recording.
        leaves: its leaves by first use.
        ending: what :mod:`lazyloom.evaluate.matching` keeps about how it ended.
        matched: it is being recorded again.
        misses: how many matches of it failed in a row.
        passes: what backward passes record, by where they begin
            (:mod:`lazyloom.autodiff.matching`).
        learned: how often passes were learned.
        common: how many ops it has in common with others from the start.
    """

    __slots__ = ("ops", "leaves", "ending", "matched", "misses", "passes", "learned", "common")

    def __init__(self, ops: list[PastOp], leaves: list[Source], ending: Any) -> None:
        self.ops: Final[list[PastOp]] = ops
        self.leaves: Final[list[Source]] = leaves
        self.ending: Final[Any] = ending
        self.matched: bool = False
        self.misses: int = 0
        self.passes: Final[dict[int, Any]] = {}
        self.learned: int = 0
        self.common: Final[dict[PastTrace, int]] = {}
        before: PastOp | None = None
        for op in ops:
            if before is not None:
                before.next = op
            before = op


@mypyc_attr(acyclic=True)
@final
class TraceStart:
    """A place of the user's program where traces began, and the traces recorded from there.

    A place may be in a function that is called for many things, or before a branch.

    Attributes:
        place, offset: as in :class:`~lazyloom.trace.graph.Node`.
        structures: how often each structure that began there ran; the newest last.
        traces: those that may come again, the newest first.
    """

    __slots__ = ("place", "offset", "structures", "traces")

    def __init__(self, place: Any, offset: int) -> None:
        self.place: Final[Any] = place
        self.offset: Final[int] = offset
        self.structures: Final[dict[Any, int]] = {}
        self.traces: list[PastTrace] = []


def common_ops(a: PastTrace, b: PastTrace) -> int:
    """How many ops two traces have in common from the start."""
    count = a.common.get(b)
    if count is None:
        count = 0
        for x, y in zip(a.ops, b.ops, strict=False):
            if x.recorded is not y.recorded or x.mask != y.mask or x.results != y.results or (
                x.fixed != y.fixed
            ) or not _same_sources(x.operands, y.operands):
                break
            count += 1
        a.common[b] = b.common[a] = count
    return count


def _same_sources(a: list[Source | None], b: list[Source | None]) -> bool:
    for x, y in zip(a, b, strict=True):
        if x is None or y is None:
            if x is not y:
                return False
        elif x.number != y.number or x.leaf is not y.leaf:
            return False
    return True
