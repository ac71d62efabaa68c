"""Past traces: the ops of components that ran, by the places where they began."""

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
        number: of the op, or of the leaf among the leaves.
        leaf: the type of a leaf; None for an op.
        node: the node of the trace that is being recorded, once there is one.
        index: of a leaf, which of the node's results it is.
        buffer: of a leaf, its data.
        released: how many operands it is of nodes that let go of theirs when the trace ends.
    """

    __slots__ = ("number", "leaf", "node", "index", "buffer", "released")

    def __init__(self, number: int, leaf: TensorType | None) -> None:
        self.number: Final[int] = number
        self.leaf: Final[TensorType | None] = leaf
        self.node: Node | None = None
        self.index: int = 0
        self.buffer: Buffer | None = None
        self.released: int = 0


@mypyc_attr(acyclic=True)
@final
class PastOp:
    """One op of a past trace.

    Attributes:
        recorded: its spec as it is recorded.
        spec: its spec in the end: one that a backward pass had emit residuals is another.
        operands: of each operand where it comes from, None for a scalar or one that is absent.
        results: of each operand, which result of an op it is.
        fixed: of each operand that is no node, the constant, the dtype of a run-time scalar, or
            None for one that is absent.
        mask, types: of the node as it is recorded.
        uses, visibility, freed, keeps: of the node in the end, see
            :mod:`lazyloom.evaluate.matching`; whether it keeps its operands.
        source: its results.
        next: the op after it.
        rooted: all its operands are leaves or scalars.
        plain: how many operands it has where all are leaves or first results, and there are one or
            two: ``first`` and ``second``. Else 0.
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
        ending: what :mod:`lazyloom.evaluate.matching` knows of how it ended.
        matched: it is being recorded again.
        misses: how often in turn a match of it came to nothing.
        passes: by where they begin, what backward passes record
            (:mod:`lazyloom.autodiff.matching`).
        learned: how often that was learned.
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
    """A place of the user's program where traces began, and what was recorded from there.

    A place may be in a function that is called for many things, or before a branch.

    Attributes:
        place, offset: as :class:`~lazyloom.trace.graph.Node` has them.
        structures: of what ran that began there, and how often each did; the newest last.
        traces: what may come, the newest first.
    """

    __slots__ = ("place", "offset", "structures", "traces")

    def __init__(self, place: Any, offset: int) -> None:
        self.place: Final[Any] = place
        self.offset: Final[int] = offset
        self.structures: Final[dict[Any, int]] = {}
        self.traces: list[PastTrace] = []


def common_ops(a: PastTrace, b: PastTrace) -> int:
    """How many ops two traces have in common from the start."""
    found = a.common.get(b)
    if found is None:
        found = 0
        for x, y in zip(a.ops, b.ops, strict=False):
            if x.recorded is not y.recorded or x.mask != y.mask or x.results != y.results or (
                x.fixed != y.fixed
            ) or not _same_sources(x.operands, y.operands):
                break
            found += 1
        a.common[b] = b.common[a] = found
    return found


def _same_sources(a: list[Source | None], b: list[Source | None]) -> bool:
    for x, y in zip(a, b, strict=True):
        if x is None or y is None:
            if x is not y:
                return False
        elif x.number != y.number or x.leaf is not y.leaf:
            return False
    return True
