"""Known traces: the ops of a component that began at some place of a program.

See :mod:`lazyloom.trace.following` for what they are there for.
"""

from __future__ import annotations

from typing import Any, Final, final

from ..compiled import mypyc_attr
from ..types import TensorType
from .graph import Buffer, Node
from .specs import Spec


@mypyc_attr(acyclic=True)
@final
class Source:
    """Where operands of a known trace come from: an op, or a leaf.

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
class Step:
    """One op of a known trace.

    Attributes:
        recorded: its spec as it is recorded.
        spec: its spec in the end: one that a backward pass had emit residuals is another.
        operands: of each operand where it comes from, None for a scalar or one that is absent.
        results: of each operand, which result of an op it is.
        fixed: of each operand that is no node, the constant, the dtype of a run-time scalar, or
            None for one that is absent.
        mask, types: of the node as it is recorded.
        uses, seen, freed, keeps: of the node in the end, see
            :mod:`lazyloom.evaluate.known_traces`; whether it keeps its operands.
        source: its results.
        next: the op after it.
        rooted: all its operands are leaves or scalars.
        plain: how many operands it has where all are leaves or first results, and there are one or
            two: ``first`` and ``second``. Else 0.
    """

    __slots__ = ("recorded", "spec", "operands", "results", "fixed", "mask", "types",
                 "uses", "seen", "freed", "keeps", "source", "next", "rooted", "plain", "first",
                 "second")

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
        self.seen: int = 0
        self.freed: bool = False
        self.keeps: bool = False
        self.source: Final[Source] = Source(number, None)
        self.next: Step | None = None
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
class Known:
    """A trace that ran.

    Attributes:
        steps: its ops in the order of recording.
        leaves: its leaves by first use.
        ending: what :mod:`lazyloom.evaluate.known_traces` knows of how it ended.
        followed: it is being recorded.
        misses: how often in turn it was begun and came to nothing.
        passes: by where they begin, what backward passes record
            (:mod:`lazyloom.autodiff.known_passes`).
        noted: how often that was noted.
        common: how many ops it has in common with others from the start.
    """

    __slots__ = ("steps", "leaves", "ending", "followed", "misses", "passes", "noted", "common")

    def __init__(self, steps: list[Step], leaves: list[Source], ending: Any) -> None:
        self.steps: Final[list[Step]] = steps
        self.leaves: Final[list[Source]] = leaves
        self.ending: Final[Any] = ending
        self.followed: bool = False
        self.misses: int = 0
        self.passes: Final[dict[int, Any]] = {}
        self.noted: int = 0
        self.common: Final[dict[Known, int]] = {}
        before: Step | None = None
        for step in steps:
            if before is not None:
                before.next = step
            before = step


@mypyc_attr(acyclic=True)
@final
class Start:
    """A place of the user's program where traces began, and what was recorded from there.

    A place may be in a function that is called for many things, or before a branch.

    Attributes:
        place, offset: as :class:`~lazyloom.trace.graph.Node` has them.
        seen: structures of what ran that began there, and how often each did; the newest last.
        known: what may come, the newest first.
    """

    __slots__ = ("place", "offset", "seen", "known")

    def __init__(self, place: Any, offset: int) -> None:
        self.place: Final[Any] = place
        self.offset: Final[int] = offset
        self.seen: Final[dict[Any, int]] = {}
        self.known: list[Known] = []


def common_ops(a: Known, b: Known) -> int:
    """How many ops two traces have in common from the start."""
    found = a.common.get(b)
    if found is None:
        found = 0
        for x, y in zip(a.steps, b.steps, strict=False):
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
