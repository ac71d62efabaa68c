"""The tape: which operands a backward pass finds, and what it has to compute again.

A node that a gradient may flow through keeps its operands after it ran, as long as something
alive needs them. If a read happened between forward and backward pass, the results of heavy ops
were kept and the rest is recorded again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, final

from ..compiled import ALONE
from ..counters import counters
from ..errors import GradientError
from ..types import TensorType
from . import graph, switches
from .graph import DEAD, DONE, FAILED, MAPPED, PENDING, Node, Value, hold, trace
from .recording import record, record_spec
from .results import Tokens
from .scalars import Scalar

_ALONE: Final[bool] = ALONE


@final
class Renewing:
    """Whether any rule was made that has results computed again though they are there."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: bool = False


renewing: Final[Renewing] = Renewing()


def renewal_of(node: Node) -> Any:
    """What computes a node's results once more for derivatives; None if these get the first."""
    rule = node.rule
    if rule is None or rule.again is None:
        return None
    return rule.again()


@final
class Recomputed:
    """The values recorded again, by the node they stand for.

    Attributes:
        renewed: nodes whose results are computed again though they are there, with what does it
            for those whose rule says so; see ``custom_derivatives.custom``.
        after: what is to be there before.
        differentiable: whether these can be differentiated in turn.
        ahead: how many of these nodes a backward pass has yet to process.
        started: whether anything was recorded again.
        zeros: stand-ins for data that a derivative does not take, by type.
    """

    __slots__ = ("values", "ahead", "started", "zeros", "renewed", "after",
                 "differentiable")

    def __init__(self) -> None:
        self.renewed: dict[Node, Any] = {}
        self.after: Value | None = None
        self.differentiable: bool = False
        self.values: dict[Node, tuple[Value, ...]] = {}
        self.zeros: dict[TensorType, Value] = {}
        self.ahead: int = 0
        self.started: bool = False

    def renew(self, order: Iterable[Node]) -> None:
        """Find what is computed again though it is there, among nodes in order of recording."""
        if not renewing.used:
            return
        renewed = self.renewed
        for n in order:
            if not n.tracked or n.freed:
                continue
            if n.rule is not None:
                again = renewal_of(n)
                if again is not None:
                    renewed[n] = again
            elif renewed and n.spec is not None and not n.spec.heavy:
                # what is cheap to compute of nothing else
                found = False
                for m in n.inputs:
                    if isinstance(m, Node):
                        found = m in renewed
                        if not found:
                            break
                if found:
                    renewed[n] = None

    def add(self, node: Node, values: tuple[Value, ...]) -> None:
        self.values[node] = values
        self.started = True
        if node.tracked:
            self.ahead += 1

    def passed(self, node: Node) -> bool:
        """The backward pass has processed a node; return True if it was one of these."""
        if self.values.pop(node, None) is None or not node.tracked:
            return False
        self.ahead -= 1
        return True


def operand(
    node: Node, position: int, keep_grad: bool, memo: Recomputed
) -> Value | Scalar | None:
    """An operand of a recorded node to record with, computed again if its data was dropped."""
    m = node.inputs[position]
    if not isinstance(m, Node):
        return m
    index = 0 if node.indices is None else node.indices[position]
    flows = keep_grad and bool(node.grad_mask >> position & 1)
    return value_of(m, index, flows, memo)


def operand_of_derivative(
    node: Node, position: int, keep_grad: bool, memo: Recomputed
) -> Value | Scalar | None:
    """:func:`operand` for a derivative: zeros if the data was dropped and it does not take it."""
    m = node.inputs[position]
    if isinstance(m, Node) and m not in memo.values and node.spec is not None:
        index = 0 if node.indices is None else node.indices[position]
        if (_is_dropped(m, index) or m in memo.renewed) and not (
            node.spec.needs(position, node.grad_mask)
        ):
            t = m.types[index]
            zeros = memo.zeros.get(t)
            if zeros is None:
                recorded: Value = record("full", [Scalar(0, t.dtype)], {"shape": t.shape})
                zeros = memo.zeros[t] = recorded
            return zeros
    return operand(node, position, keep_grad, memo)


def _is_dropped(m: Node, index: int) -> bool:
    return m.state == DONE and (m.buffers is None or m.buffers[index] is None)


def _there(m: Node, index: int, requires_grad: bool) -> Value | None:
    """A handle of a result whose data exists or will exist; None if it was dropped."""
    buffers = m.buffers
    if m.state == PENDING or m.state == FAILED or m.state == MAPPED or (
        buffers is not None and buffers[index] is not None
    ):
        return hold(m, index, requires_grad)
    return None


def value_of(
    m: Node, index: int, requires_grad: bool, memo: Recomputed
) -> Value:
    # checked and held in one step: another thread may be about to run it, and would drop what
    # nobody holds
    existing: Value | None
    if memo.renewed and m in memo.renewed:
        existing = None
    elif _ALONE and not trace.locked():
        existing = _there(m, index, requires_grad)
    else:
        with trace.lock:
            existing = _there(m, index, requires_grad)
    if existing is not None:
        return existing
    fresh = _again(m, memo)[index]
    if fresh.requires_grad == requires_grad:
        return fresh
    with trace.lock:
        return hold(fresh.node, fresh.index, requires_grad)


def _again(node: Node, memo: Recomputed) -> tuple[Value, ...]:
    """Record a node's op again, and any of its operands that were dropped; iterative."""
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
        again = memo.renewed.get(n)
        if again is None and n.rule is not None:
            again = renewal_of(n)
        first = 0 if again is None else n.rule.results
        missing = []
        for position, m in enumerate(n.inputs):
            if position >= first and isinstance(m, Node) and m not in memo.values:
                index = 0 if n.indices is None else n.indices[position]
                if _is_dropped(m, index) or m in memo.renewed:
                    missing.append(m)
        if missing:
            stack.extend(missing)
            continue
        operands: list[Any] = [] if again is None else list(again(memo.after))
        # a tape would keep what the rule keeps
        tracked = n.tracked and (memo.differentiable or n not in memo.renewed)
        for p in range(first, len(n.inputs)):
            operands.append(operand(n, p, tracked, memo))
        switches.hold_cuts(True)
        with switches.grad_mode(tracked):
            fresh = record_spec(n.spec, operands, False, n.site)
        counters["recomputed_ops"] += 1
        values: tuple[Value, ...] = fresh if isinstance(fresh, tuple) else (fresh,)
        if n.rule is not None and tracked:
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
                continue  # not a leaf: the tape does not pass through it
            if _is_dropped(node, index):
                _again(node, memo)
                return


def recompute(value: Value) -> Value:
    """Record again the op of a computed value whose data was dropped."""
    try:
        fresh: Value = _again(value.node, Recomputed())[value.index]
    finally:
        switches.hold_cuts(False)
    return fresh


def free(nodes: Iterable[Node], everything: bool = False) -> None:
    """Free what the tape through these nodes, oldest first, saved for a backward pass.

    A node whose derivative takes no data saved nothing: it stays as long as another pass can
    still get through it to a leaf, or to a result that somebody holds.

    Args:
        everything: no pass goes through these nodes again, so none of them stays.
    """
    with graph.trace.lock:
        work: list[Node] = []
        links: list[Node] = []
        for n in nodes:
            if not n.tracked or n.state == DEAD:
                continue
            if not everything and not n.freed and _leads_on(n) and not _saves(n):
                links.append(n)
                continue
            n.freed = True
            if n.rule is not None:
                n.rule = n.rule.without_rules()
            if n.state == DONE:
                graph.release_inputs(n, work)
        if links:
            _drop_unsaved(links)
        graph.kill_all(work)
        graph.drain()


def _leads_on(n: Node) -> bool:
    """Return True if a pass gets through a node, whose operands were examined before it.

    If an operand was freed, the next pass is an error, and the nodes that lead there need not stay:
    they would keep the data of other leaves, such as a bias under a loss that is linear in it.
    """
    leads = False
    mask = n.grad_mask
    for m in n.inputs:
        if mask & 1 and isinstance(m, Node):
            if m.freed and m.carried == 0 and m.token is None:
                return False
            leads = True
        mask >>= 1
    return leads


def _saves(n: Node) -> bool:
    """Return True if the derivative of a node takes data of the forward computation."""
    rule = n.rule
    if rule is not None:
        return bool(rule.saves())
    spec = n.spec
    if spec is None:
        return False
    taken = spec.saves(n.grad_mask)
    if taken:
        for m in n.inputs:
            if taken & 1 and isinstance(m, Node):
                return True
            taken >>= 1
    return False


def _drop_unsaved(links: list[Node]) -> None:
    """Release data of freed nodes that only these nodes, which saved nothing, refer to."""
    uses: dict[Node, int] = {}
    for n in links:
        for m in n.inputs:
            if isinstance(m, Node) and m.freed and m.state == DONE and m.handles == 0:
                uses[m] = uses.get(m, 0) + 1
    for m, count in uses.items():
        if count == m.refs and m.buffers is not None:
            for index in range(len(m.buffers)):
                graph.drop_buffer(m, index)
