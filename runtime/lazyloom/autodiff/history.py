"""The history of a value as frontends show it: its op and its gradient rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentError
from ..settings import tuning
from ..trace import graph
from ..trace.custom_derivatives import Custom
from ..trace.graph import Node, Value, hold
from ..trace.specs import Spec
from ..trace.tape import free
from ..types import TensorType
from .reverse import visit_below


def parents(value: Value) -> tuple[Value | None, ...]:
    """The operands of the op that made a value, None for those that no gradient flows to.

    Empty for a leaf, and where the tape was freed.
    """
    node = value.node
    found: list[Value | None] = []
    with graph.trace.lock:
        for position, m in enumerate(node.inputs):
            if isinstance(m, Node):
                index = 0 if node.indices is None else node.indices[position]
                flows = bool(node.grad_mask >> position & 1)
                found.append(hold(m, index, True) if flows else None)
    return tuple(found)


def result_of(value: Value, index: int) -> Value:
    """Another result of the op that made a value. Raises ArgumentError if it has no such."""
    node = value.node
    if not 0 <= index < len(node.types):
        raise ArgumentError(
            f"result {index} was asked for, but the op has {len(node.types)} results")
    with graph.trace.lock:
        return hold(node, index, value.requires_grad and node.types[index].dtype.is_inexact)


def custom_rule(node: Node) -> Custom | None:
    """The rule that :func:`lazyloom.custom` gave a node, if it was made by that."""
    rule: Custom | None = node.rule
    return rule


def free_tape(values: Sequence[Value]) -> None:
    """Free the tape below some values, as a backward pass that does not retain it."""
    visited: dict[Node, bool] = {}
    order: list[Node] = []
    visit_below(values, None, visited, order)
    free(order)


def used_since(values: Sequence[Value], start: int) -> list[Value]:
    """What the tape below some values leads to of what was recorded up to number ``start``.

    ``start`` is a ``last_sequence()`` of before; leaves made since are among the results too.
    """
    found: list[Value] = []
    places: set[tuple[Node, int]] = set()
    stack = [(v.node, v.index) for v in values if v.requires_grad]
    while stack:
        place = stack.pop()
        if place in places:
            continue
        places.add(place)
        n, index = place
        if n.seq <= start or not n.tracked:
            with graph.trace.lock:
                found.append(hold(n, index, True))
            continue
        for position, m in enumerate(n.inputs):
            if n.grad_mask >> position & 1 and isinstance(m, Node):
                stack.append((m, 0 if n.indices is None else n.indices[position]))
    return found


def forget_since(values: Sequence[Value], start: int) -> None:
    """Free the tape below some values, as far as it was recorded after number ``start``."""
    visited: dict[Node, bool] = {}
    visit_below(values, None, visited, [])
    free({n: True for n in visited if n.seq > start}, True)


class Place:
    """Where a value is on the tape. Does not keep its data, as the value does."""

    __slots__ = ("node", "index")

    def __init__(self, value: Value) -> None:
        self.node: Node = value.node
        self.index: int = value.index

    @property
    def used(self) -> bool:
        """Whether anything that is left was recorded with it, and its tape was not freed."""
        node = self.node
        return node.refs > 0 and not node.freed

    def value(self) -> Value | None:
        """The value, while it is used or somebody has it."""
        node = self.node
        with graph.trace.lock:
            if node.state == graph.DEAD or node.refs == 0 and node.handles == 0:
                return None
            return hold(node, self.index, True)


class Step:
    """How a value was recorded: the result of an op, or a leaf of the tape.

    Attributes:
        spec: the op with its attributes, None for a leaf.
        result: the number of the value among the op's results.
        type: the value's.
        operands: the types of the operands, None for those that are absent.
        token: of a leaf, what :meth:`Value.as_leaf` was given, else None.
    """

    __slots__ = ("spec", "result", "type", "operands", "token")

    def __init__(self, node: Node, result: int) -> None:
        self.spec: Spec | None = node.spec
        self.result = result
        self.type = node.types[result]
        self.operands: list[TensorType | None] = []
        self.token = graph.token_of(node, result)
        for position, m in enumerate(node.inputs):
            if isinstance(m, Node):
                self.operands.append(m.types[_index(node, position)])
            else:
                self.operands.append(None if m is None else m.type)


def _index(node: Node, position: int) -> int:
    return 0 if node.indices is None else node.indices[position]


def folded(
    value: Value, of: Callable[[Step], Sequence[int]], function: Callable[[Step, list[Any]], Any]
) -> Any:
    """What a function finds of a value from what it finds of the operands it was recorded with.

    ``function(step, found)`` is called once for every result, operands first; ``found`` is what it
    gave for the operands that ``of(step)`` names by position, None for numbers. None is found of
    everything where there are more results to look at than the option ``history_results``.
    """
    known: dict[tuple[Node, int], Any] = {}
    entered: dict[tuple[Node, int], tuple[Step, Sequence[int]]] = {}
    stack: list[tuple[Node, int]] = [(value.node, value.index)]
    with graph.trace.lock:
        while stack:
            place = stack[-1]
            if place in known:
                stack.pop()
                continue
            n = place[0]
            if place in entered:
                step, positions = entered[place]
                found = [known[m, _index(n, p)] if isinstance(m := n.inputs[p], Node) else None
                         for p in positions]
                known[place] = function(step, found)
                continue
            if len(entered) == tuning.history_results:
                return None
            step = Step(*place)
            positions = of(step)
            entered[place] = step, positions
            for p in positions:
                m = n.inputs[p]
                if isinstance(m, Node):
                    stack.append((m, _index(n, p)))
    return known[value.node, value.index]
