"""Overwritten contents, to which a storage goes back when a run in place fails.

A program that catches the error of a run continues with the state from before it, as if its
operations had run at once: parameters, an optimizer's moments, running statistics, and arrays
that were written in place hold their previous contents. So a storage that is written over
remembers the memory of its previous contents, if they were computed, without owning it: programs
may still donate it, and it is freed when a run that had it as input was dispatched. After a
failure, users of the storage see what remains of it again, once the error was raised to somebody.

With ``options(donate=False)`` the storage keeps its previous contents until the new ones are known
to be good, so they are always available.
"""

from __future__ import annotations

from typing import Any, final

from ..errors import reports
from ..settings import donates, tuning
from ..trace import graph
from ..trace.graph import DONE, FAILED, PENDING, Buffer, Value
from ..types import TensorType
from . import checks, evaluate


@final
class Overwritten:
    """The contents of a storage before it was written over.

    Attributes:
        buffer, type: the last contents that were computed by then; None if there are none.
        leaf: the token of the leaf of the tape that they were, or None.
        between: the numbers of the nodes whose results were written over since then while still
            pending; None if there are none.
        seen: how often errors had been raised to readers when this was last examined.
        held: with ``options(donate=False)``, all contents since the last that are known to be
            good, oldest first; else None.
    """

    __slots__ = ("buffer", "type", "leaf", "between", "seen", "held")

    def __init__(self, buffer: Buffer | None, type: TensorType | None, leaf: object) -> None:
        self.keep(buffer, type, leaf)

    def keep(self, buffer: Buffer | None, type: TensorType | None, leaf: object) -> None:
        """Hold these contents and no others."""
        self.buffer: Buffer | None = buffer
        self.type: TensorType | None = type
        self.leaf: object = leaf
        self.between: list[int] | None = None
        self.seen: int = reports[0]
        self.held: list[Value] | None = None

    def copy(self) -> Overwritten:
        """A copy for another storage."""
        other = Overwritten(self.buffer, self.type, self.leaf)
        other.seen = self.seen
        other.between = None if self.between is None else list(self.between)
        other.held = None if self.held is None else list(self.held)
        return other


def written_over(old: Value, before: Overwritten | None) -> Overwritten | None:
    """What a storage can go back to once ``old`` is written over; ``before`` is what it had."""
    if not donates():
        return _held(old, before)
    node = old.node
    if node.state == DONE:
        buffer = _buffer(old)
        token = graph.token_of(node, old.index)
        if buffer is None or (old.requires_grad and token is None):
            return None  # its place on the tape would be lost
        buffer.recoverable = True
        if before is None:
            return Overwritten(buffer, node.types[old.index], token)
        before.keep(buffer, node.types[old.index], token)
    elif before is not None:
        if node.state == FAILED and _failed_since(old, before):
            before.between = None
        elif before.between is None:
            before.between = [node.seq]
        elif len(before.between) == tuning.overwrites_kept:
            return None
        else:
            before.between.append(node.seq)
    return before


def _held(old: Value, before: Overwritten | None) -> Overwritten | None:
    """:func:`written_over` with ``options(donate=False)``, where nothing may be lost."""
    state = old.node.state
    if state == FAILED:
        return before
    if state == PENDING and before is not None and len(before.held or ()) >= tuning.overwrites_held:
        evaluate.evaluate(old.node, "write in place")
        state = old.node.state
    if before is None or (state == DONE and not _bad(old)):
        before = Overwritten(None, None, None)
    if before.held is None:
        before.held = []
    before.held.append(old)
    return before


def restored(value: Value, before: Overwritten) -> Value | None:
    """The contents from before, if the run that should compute ``value`` is known to have failed.

    None if it has not failed, nobody has seen the error yet, or the contents are lost.
    """
    if before.seen == reports[0]:
        return None
    node = value.node
    if node.state == PENDING:
        # it may depend on a failed node
        evaluate.evaluate(node, "use after a failure")
    before.seen = reports[0]
    if node.state == FAILED:
        error = node.error
        if error is None or not error.raised:
            return None
    elif node.state != DONE or not before.held or not _known_to_fail(value):
        return None
    leaf: Any = None
    if value.requires_grad:
        leaf = graph.token_of(node, value.index)
        if leaf is None:
            leaf = before.leaf
    for v in reversed(before.held or ()):
        if v.node.state != FAILED and not _bad(v):
            if not value.requires_grad:
                return v.detach()
            return v if v.requires_grad or leaf is None else v.as_leaf(leaf)
    buffer = before.buffer
    if buffer is None or node.state != FAILED or not _failed_since(value, before):
        return None
    with graph.trace.lock:
        if buffer.array is None and buffer.host is None:
            return None
        assert before.type is not None
        buffer.recoverable = False
        recovered = graph.hold(graph.leaf_node(before.type, buffer), 0, False)
    return recovered if leaf is None else recovered.as_leaf(leaf)


def _buffer(value: Value) -> Buffer | None:
    buffers = value.node.buffers
    return buffers[value.index] if buffers is not None else None


def _failed_since(value: Value, before: Overwritten) -> bool:
    """Return True if everything written since then failed in one run and somebody saw the error."""
    error = value.node.error
    if error is None or not error.raised:
        return False
    return error.reached.issuperset(before.between or ())


def _bad(value: Value) -> bool:
    """Return True if a check that a computed value depends on has failed; waits for it."""
    buffer = _buffer(value) if value.node.state == DONE else None
    return buffer is not None and checks.failed(buffer) is not None


def _known_to_fail(value: Value) -> bool:
    """Return True if somebody saw the failure of a check that a computed value depends on."""
    buffer = _buffer(value)
    if buffer is not None and buffer.checks is not None:
        for check in buffer.checks:
            if check.error is not None and check.error.raised:
                return True
    return False
