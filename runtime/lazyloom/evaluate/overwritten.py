"""Overwritten contents, to which a storage goes back when a run in place fails.

A program that catches the error of a run goes on with the state from before it, as one does
whose operations run at once: parameters, an optimizer's moments, running statistics, and arrays
that were written in place hold what they held. So a storage that is written over remembers the
memory of what it held, if that was computed, without owning it: programs may take it as before,
and it is freed when a run that had it as its input was dispatched. What is left of it after a
failure is there again for those who use the storage, once the error was raised to somebody.

With ``options(donate=False)`` the storage holds on to what was written over until what was
written is known to be good, so it is there in any case.
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
        leaf: the token of the tape's leaf that they were, or None.
        between: the numbers of the nodes whose results were written over since, still pending;
            None for none.
        seen: how often readers had been told of failures when this was last looked at.
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
        """The same for another storage."""
        made = Overwritten(self.buffer, self.type, self.leaf)
        made.seen = self.seen
        made.between = None if self.between is None else list(self.between)
        made.held = None if self.held is None else list(self.held)
        return made


def written_over(old: Value, before: Overwritten | None) -> Overwritten | None:
    """What a storage can go back to once ``old`` is written over, from what it could before."""
    if not donates():
        return _held(old, before)
    node = old.node
    if node.state == DONE:
        buffer = _buffer(old)
        token = graph.token_of(node, old.index)
        if buffer is None or (old.requires_grad and token is None):
            return None  # its place on the tape goes with it
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
    """:func:`written_over` where nothing may be lost."""
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
    """The contents from before, where a run that was to compute ``value`` is known to have failed.

    None where it has not failed, nobody has been told yet, or the contents are lost.
    """
    if before.seen == reports[0]:
        return None
    node = value.node
    if node.state == PENDING:
        # it may depend on what has failed
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
        found = graph.hold(graph.leaf_node(before.type, buffer), 0, False)
    return found if leaf is None else found.as_leaf(leaf)


def _buffer(value: Value) -> Buffer | None:
    buffers = value.node.buffers
    return buffers[value.index] if buffers is not None else None


def _failed_since(value: Value, before: Overwritten) -> bool:
    """Whether all that was written since then failed in one run, and somebody was told."""
    error = value.node.error
    if error is None or not error.raised:
        return False
    return error.reached.issuperset(before.between or ())


def _bad(value: Value) -> bool:
    """Whether a check that a computed value depends on has failed; waits for it."""
    buffer = _buffer(value) if value.node.state == DONE else None
    return buffer is not None and checks.failed(buffer) is not None


def _known_to_fail(value: Value) -> bool:
    """Whether somebody was told of a check's failure that a computed value depends on."""
    buffer = _buffer(value)
    if buffer is not None and buffer.checks is not None:
        for check in buffer.checks:
            if check.error is not None and check.error.raised:
                return True
    return False
