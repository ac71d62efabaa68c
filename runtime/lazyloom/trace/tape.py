"""The tape: which operands a backward pass finds, and what it has to compute again.

A node that a gradient may flow through keeps its operands after it ran, as long as something
alive needs them. Where a read fell between forward and backward, results of heavy ops were kept
and the rest is recorded again.
"""

from __future__ import annotations

from typing import Final, final

from ..compiled import ALONE
from ..counters import counters
from ..errors import GradientError
from ..types import TensorType
from . import graph
from .graph import DEAD, DONE, FAILED, MAPPED, PENDING, Node, Tokens, Value, hold, trace
from .recording import record, record_spec
from .scalars import Scalar

_ALONE: Final[bool] = ALONE


@final
class Recomputed:
    """What was recorded again, by the node it stands for.

    Attributes:
        ahead: how many of these a backward pass has yet to go through.
        started: whether anything was.
        zeros: what stands for data that a derivative does not take, by type.
    """

    __slots__ = ("values", "ahead", "started", "zeros")

    def __init__(self) -> None:
        self.values: dict[Node, tuple[Value, ...]] = {}
        self.zeros: dict[TensorType, Value] = {}
        self.ahead: int = 0
        self.started: bool = False

    def add(self, node: Node, values: tuple[Value, ...]) -> None:
        self.values[node] = values
        self.started = True
        if node.tracked:
            self.ahead += 1

    def passed(self, node: Node) -> bool:
        """The backward pass is through with a node; whether it was one of these."""
        if self.values.pop(node, None) is None or not node.tracked:
            return False
        self.ahead -= 1
        return True


def operand(
    node: Node, position: int, keep_grad: bool, memo: Recomputed
) -> Value | Scalar | None:
    """An operand of a recorded node as something to record with, computed again if dropped."""
    m = node.inputs[position]
    if not isinstance(m, Node):
        return m
    index = 0 if node.indices is None else node.indices[position]
    flows = keep_grad and bool(node.grad_mask >> position & 1)
    return value_of(m, index, flows, memo)


def operand_of_derivative(
    node: Node, position: int, keep_grad: bool, memo: Recomputed
) -> Value | Scalar | None:
    """:func:`operand` of a derivative: zeros where its data were dropped and it takes none."""
    m = node.inputs[position]
    if isinstance(m, Node) and m not in memo.values and node.spec is not None:
        index = 0 if node.indices is None else node.indices[position]
        if _is_dropped(m, index) and not node.spec.needs(position, node.grad_mask):
            t = m.types[index]
            found = memo.zeros.get(t)
            if found is None:
                made: Value = record("full", [Scalar(0, t.dtype)], {"shape": t.shape})
                found = memo.zeros[t] = made
            return found
    return operand(node, position, keep_grad, memo)


def _is_dropped(m: Node, index: int) -> bool:
    return m.state == DONE and (m.buffers is None or m.buffers[index] is None)


def _there(m: Node, index: int, requires_grad: bool) -> Value | None:
    """A handle of a result whose data is there or to come; None if it was dropped."""
    buffers = m.buffers
    if m.state == PENDING or m.state == FAILED or m.state == MAPPED or (
        buffers is not None and buffers[index] is not None
    ):
        return hold(m, index, requires_grad)
    return None


def value_of(
    m: Node, index: int, requires_grad: bool, memo: Recomputed
) -> Value:
    # looked at and held in one go: another thread may be about to run it, and would drop what
    # nobody holds
    found: Value | None
    if _ALONE and not trace.locked():
        found = _there(m, index, requires_grad)
    else:
        with trace.lock:
            found = _there(m, index, requires_grad)
    if found is not None:
        return found
    fresh = _again(m, memo)[index]
    if fresh.requires_grad == requires_grad:
        return fresh
    with trace.lock:
        return hold(fresh.node, fresh.index, requires_grad)


def _again(node: Node, memo: Recomputed) -> tuple[Value, ...]:
    """Record a node's op again, and whatever of its operands was dropped; iteratively."""
    stack = [node]
    while stack:
        n = stack[-1]
        if n in memo.values:
            stack.pop()
            continue
        if n.spec is None or n.state == DEAD or not n.inputs and n.spec.arity:
            raise GradientError(
                f"the data of a {n.types[0].text} that the gradient needs is gone: its history was "
                "freed; keep it with retain_graph=True")
        missing = []
        for position, m in enumerate(n.inputs):
            if isinstance(m, Node) and m not in memo.values:
                index = 0 if n.indices is None else n.indices[position]
                if _is_dropped(m, index):
                    missing.append(m)
        if missing:
            stack.extend(missing)
            continue
        operands = [operand(n, p, n.tracked, memo) for p in range(len(n.inputs))]
        graph.hold_cuts(True)
        with graph.grad_mode(n.tracked):
            fresh = record_spec(n.spec, operands, False, n.site)
        counters["recomputed_ops"] += 1
        values: tuple[Value, ...] = fresh if isinstance(fresh, tuple) else (fresh,)
        if n.rule is not None:
            with trace.lock:
                values[0].node.rule = n.rule
        memo.add(n, values)
        stack.pop()
    return memo.values[node]


def again_if_dropped(node: Node, memo: Recomputed) -> None:
    """Record a node's op again if some of its data was dropped."""
    if node.state == DONE and node.spec is not None:
        token = node.token
        for index in range(len(node.types)):
            if isinstance(token, Tokens) and token.of[index] is None:
                continue  # no leaf: the tape does not go by it
            if _is_dropped(node, index):
                _again(node, memo)
                return


def recompute(value: Value) -> Value:
    """A computed value whose data was dropped, recorded again."""
    try:
        fresh: Value = _again(value.node, Recomputed())[value.index]
    finally:
        graph.hold_cuts(False)
    return fresh


def free(nodes: dict[Node, bool]) -> None:
    """Free the tape through these nodes: they keep nothing for a backward pass any more."""
    with graph.trace.lock:
        work: list[Node] = []
        for n in nodes:
            if n.tracked and n.state != DEAD:
                n.freed = True
                if n.rule is not None:
                    n.rule = n.rule.without_rules()
                if n.state == DONE:
                    graph.release_inputs(n, work)
        graph.kill_all(work)
        graph.drain()
