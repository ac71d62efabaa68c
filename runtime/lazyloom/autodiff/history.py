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
    """The operands of the op that computes a value, None for those that no gradient flows to.

    Empty for a leaf, and if the tape was freed.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("exp", [x])
        >>> lazyloom.parents(lazyloom.record("sum", [y]))
        (<Value float64[2] pending>,)
    """
    node = value.node
    operands: list[Value | None] = []
    with graph.trace.lock:
        for position, m in enumerate(node.inputs):
            if isinstance(m, Node):
                index = 0 if node.indices is None else node.indices[position]
                flows = bool(node.grad_mask >> position & 1)
                operands.append(hold(m, index, True) if flows else None)
    return tuple(operands)


def result_of(value: Value, index: int) -> Value:
    """Another result of the op that computes a value. Raises ArgumentError if it has none.

    Example:

        >>> x = lazyloom.from_host([3.0, 9.0, 4.0])
        >>> values, positions = lazyloom.record("top_k", [x], {"k": 2})
        >>> lazyloom.result_of(values, 1).read()
        array([1, 2])
    """
    node = value.node
    if not 0 <= index < len(node.types):
        raise ArgumentError(
            f"result {index} was asked for, but the op has {len(node.types)} results")
    with graph.trace.lock:
        return hold(node, index, value.requires_grad and node.types[index].dtype.is_inexact)


def custom_rule(node: Node) -> Custom | None:
    """The rule of a node that :func:`lazyloom.custom` recorded, else None.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> (y,) = lazyloom.custom([x.detach()], [x], lambda result_of, c: [c[0]], name="identity")
        >>> lazyloom.custom_rule(y.node).name
        'identity'
    """
    rule: Custom | None = node.rule
    return rule


def free_tape(values: Sequence[Value]) -> None:
    """Free the tape below some values, like a backward pass that does not retain it.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("sum", [lazyloom.record("exp", [x])])
        >>> lazyloom.free_tape([y])
        >>> try:
        ...     lazyloom.gradients([y], [x])
        ... except lazyloom.errors.GradientError as error:
        ...     print("freed" in str(error))
        True
    """
    visited: dict[Node, bool] = {}
    order: list[Node] = []
    visit_below(values, None, visited, order)
    free(order)


def used_since(values: Sequence[Value], start: int) -> list[Value]:
    """The values recorded up to number ``start`` to which the tape below some values leads.

    ``start`` is an earlier ``last_sequence()``; leaves made since then are among the results too.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("exp", [x])
        >>> start = lazyloom.last_sequence()
        >>> z = lazyloom.record("sum", [lazyloom.record("sin", [y])])
        >>> lazyloom.used_since([z], start)
        [<Value float64[2] pending>]
    """
    used: list[Value] = []
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
                used.append(hold(n, index, True))
            continue
        for position, m in enumerate(n.inputs):
            if n.grad_mask >> position & 1 and isinstance(m, Node):
                stack.append((m, 0 if n.indices is None else n.indices[position]))
    return used


def forget_since(values: Sequence[Value], start: int) -> None:
    """Free the part of the tape below some values that was recorded after number ``start``.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("exp", [x])
        >>> start = lazyloom.last_sequence()
        >>> z = lazyloom.record("sum", [y])
        >>> lazyloom.forget_since([z], start)
        >>> len(lazyloom.parents(y))
        1
    """
    visited: dict[Node, bool] = {}
    visit_below(values, None, visited, [])
    free({n: True for n in visited if n.seq > start}, True)


class Place:
    """The place of a value on the tape. Unlike the value, it does not keep the data.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> place = lazyloom.Place(x)
        >>> place.used
        False
        >>> y = lazyloom.record("exp", [x])
        >>> place.used
        True
    """

    __slots__ = ("node", "index")

    def __init__(self, value: Value) -> None:
        self.node: Node = value.node
        self.index: int = value.index

    @property
    def used(self) -> bool:
        """True if any op that still exists was recorded with it, and its tape was not freed."""
        node = self.node
        return node.refs > 0 and not node.freed

    def value(self) -> Value | None:
        """The value, while it is used or has a handle."""
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
        type: the type of the value.
        operands: the types of the operands, None for those that are absent.
        token: of a leaf, the argument of :meth:`Value.as_leaf`, else None.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("exp", [x])
        >>> lazyloom.folded(y, lambda step: range(len(step.operands)), lambda step, below: (
        ...     step.token if step.spec is None else f"{step.spec.op.name}({', '.join(below)})"))
        'exp(x)'
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
    """The result of a function for a value, computed from its results for the value's operands.

    ``function(step, results)`` is called once for every result, operands first; ``results`` are
    what it returned for the operands that ``of(step)`` names by position, None for numbers. Returns
    None if there are more results to visit than the option ``history_results``.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> y = lazyloom.record("sum", [lazyloom.record("exp", [x])])
        >>> def depth(step, results):
        ...     return 1 + max(results, default=-1)
        >>> lazyloom.folded(y, lambda step: range(len(step.operands)), depth)
        2
    """
    results: dict[tuple[Node, int], Any] = {}
    entered: dict[tuple[Node, int], tuple[Step, Sequence[int]]] = {}
    stack: list[tuple[Node, int]] = [(value.node, value.index)]
    with graph.trace.lock:
        while stack:
            place = stack[-1]
            if place in results:
                stack.pop()
                continue
            n = place[0]
            if place in entered:
                step, positions = entered[place]
                of_operands = [
                    results[m, _index(n, p)] if isinstance(m := n.inputs[p], Node) else None
                    for p in positions]
                results[place] = function(step, of_operands)
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
    return results[value.node, value.index]
