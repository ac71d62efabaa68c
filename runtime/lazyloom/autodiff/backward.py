"""Reverse-mode gradients over recorded work, op by op.

The tape is the graph itself (:mod:`lazyloom.trace.tape`), which
:mod:`lazyloom.autodiff.reverse` traverses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..errors import GradientError
from ..trace import graph, switches
from ..trace.graph import Node, Value, hold
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.tape import free
from .matching import Learning, begin_learning, learn, match_of_all, record_pass
from .reverse import BackwardPass, Inspector, Observers, as_value, check_values

#: takes the complete cotangent of a value and returns the one to continue with
Observer: TypeAlias = "Callable[[Value], Value]"


def _by_node(observers: Mapping[Value, Observer] | None) -> Observers | None:
    if not observers:
        return None
    return {(v.node, v.index): f for v, f in observers.items()}


def make_leaf(value: Value, token: object) -> Value:
    """The same data as a leaf of the tape, reported as ``token``; see Value.as_leaf."""
    if not value.dtype.is_inexact:
        raise GradientError(
            f"a value of type {value.type.text} cannot require a gradient; expected a "
            "floating-point or complex dtype, cast it first")
    node = value.node
    index = value.index
    with graph.trace.lock:
        if not value.requires_grad and not node.tracked and (
            len(node.types) == 1 or node.state != graph.MAPPED
        ):
            present = graph.token_of(node, index)
            if present is None or present is token:
                graph.set_token(node, index, token)
                return hold(node, index, True)
    return new_leaf(value, token)


def new_leaf(value: Value, token: object) -> Value:
    """:func:`make_leaf` with a node of its own, which no other tape knows."""
    with switches.grad_mode(True):
        fresh: Value = record("identity", [value])
    with graph.trace.lock:
        fresh.node.token = token
        return hold(fresh.node, 0, True)


def gradients(
    outputs: Sequence[Value], inputs: Sequence[Value],
    cotangents: Sequence[Value | None] | None = None, *, create_graph: bool = False,
    retain_graph: bool = True, allow_unused: bool = False,
    observers: Mapping[Value, Observer] | None = None, inspect: Inspector | None = None,
    stop: bool = False, tokens: Sequence[object] | None = None,
) -> list[Value | None]:  # fmt: skip
    """Cotangents of ``inputs`` given those of ``outputs``.

    For complex inputs these follow JAX: the cotangent of ``x`` in ``f(x)`` pairs with a tangent
    without conjugation, so the direction of steepest ascent of a real ``f`` is its conjugate
    (which the torch-like frontend's ``.grad`` holds, like PyTorch's).

    Args:
        outputs: values that require a gradient.
        inputs: values to differentiate by: leaves, or intermediate values.
        cotangents: one per output; None means 1, for 0-d outputs.
        create_graph: record the pass so that it can be differentiated again.
        retain_graph: False frees afterwards what the tape saved. Another pass can then only go
            through ops whose derivatives take no data.
        allow_unused: return None for an input that no output depends on, instead of raising.
        observers: functions of the cotangents of some values, each called once, when the
            cotangent is complete; its result takes the cotangent's place.
        inspect: called for every op that the pass visits, later ones first, with its node and
            the cotangents computed for its operands (None among them means zero).
        stop: treat the inputs as independent: the pass does not continue through them to values
            that other inputs depend on.
        tokens: one per input, None for those that are not leaves. An input with a token stands
            for all leaves that are reported as that token, whatever they held when they were used.

    Raises:
        GradientError: an output requires no gradient, an input is not on the tape, or the
            tape was freed.

    Example:

        >>> x = lazyloom.from_host(numpy.array([1.0, 2.0])).as_leaf("x")
        >>> y = lazyloom.record("square", [x])
        >>> lazyloom.gradients([y], [x], [lazyloom.from_host(numpy.ones(2))])[0].read()
        array([2., 4.])
    """
    if retain_graph and inspect is None and not (create_graph or observers or stop or tokens):
        check_values("inputs", inputs)
        check_values("outputs", outputs)
        input_cotangents, _ = cotangents_of(outputs, inputs, cotangents, False, True)
        for i, cotangent in enumerate(input_cotangents):
            if cotangent is None and not allow_unused:
                raise _unused(i, inputs[i])
        return input_cotangents
    results, walk = _run(outputs, inputs, cotangents, create_graph, allow_unused,
                            _by_node(observers), inspect, stop, tokens)  # fmt: skip
    if not retain_graph:
        # nodes below the inputs, or that lead to none of them, can still be visited by a pass
        ends = {v.node for v in inputs}
        # the pass visited the newest first
        free([n for n in reversed(walk.passed) if n not in ends or _leads_on(n, walk)])
    return results


def _leads_on(n: Node, walk: BackwardPass) -> bool:
    """Return True if a pass continued through a node, to another input."""
    mask = n.grad_mask
    for m in n.inputs:
        if mask & 1 and isinstance(m, Node) and walk.visited.get(m, False):
            return True
        mask >>= 1
    return False


def cotangents_of(
    outputs: Sequence[Value], inputs: Sequence[Value],
    cotangents: Sequence[Value | None] | None, create_graph: bool, allow_unused: bool,
) -> tuple[list[Value | None], dict[Node, bool]]:  # fmt: skip
    """:func:`gradients`, and the part of the tape below the outputs."""
    learning: Learning | None = None
    if not create_graph and allow_unused and _implicit(cotangents):
        match = match_of_all(outputs)
        if match is not None:
            recorded = record_pass(match, outputs, inputs)
            if recorded is not None:
                return recorded.gradients, recorded.visited
            learning = begin_learning(match, outputs, inputs)
    results, walk = _run(outputs, inputs, cotangents, create_graph, allow_unused, None, None, False,
                         None, learning is not None)  # fmt: skip
    if learning is not None:
        learn(learning, walk, [(None, gradient) for gradient in results])
    return results, walk.visited


def _run(
    outputs: Sequence[Value], inputs: Sequence[Value],
    cotangents: Sequence[Value | None] | None, create_graph: bool, allow_unused: bool,
    observers: Observers | None, inspect: Inspector | None, stop: bool,
    tokens: Sequence[object] | None, learned: bool = False,
) -> tuple[list[Value | None], BackwardPass]:  # fmt: skip
    check_values("inputs", inputs)
    targets = {(v.node, v.index) for v in inputs}
    by_token: dict[object, list[tuple[Node, int]]] | None = None
    if tokens is not None:
        by_token = {token: [] for token in tokens if token is not None}
    with switches.grad_mode(create_graph):
        walk = BackwardPass(
            outputs, cotangents, targets, create_graph, observers, inspect, stop, by_token)
        walk.learning = learned
        walk.run()
        results: list[Value | None] = []
        for i, v in enumerate(inputs):
            cotangent = walk.found.get((v.node, v.index))
            if by_token is not None and tokens is not None and tokens[i] is not None:
                for n, index in by_token[tokens[i]]:
                    more = walk.found.get((n, index))
                    if more is not None and (n is not v.node or index != v.index):
                        cotangent = more if cotangent is None else record("add", [cotangent, more])
            if cotangent is not None:
                results.append(as_value(cotangent, v.node, v.index))
            elif allow_unused:
                results.append(None)
            else:
                raise _unused(i, v)
    return results, walk


def _unused(number: int, value: Value) -> GradientError:
    return GradientError(
        f"input {number}, a {value.type.text}, is not used by the outputs; pass "
        "allow_unused=True to get None for it")


def backward(
    outputs: Sequence[Value], cotangents: Sequence[Value | None] | None = None, *,
    retain_graph: bool = False, create_graph: bool = False,
    observers: Mapping[Value, Observer] | None = None, inspect: Inspector | None = None,
) -> list[tuple[object, Value]]:  # fmt: skip
    """Gradients of every leaf that the outputs depend on, as (token, gradient).

    The leaves come in the order in which they were first recorded. Arguments and errors are those
    of :func:`gradients`.

    Example:

        >>> x = lazyloom.from_host(numpy.array([1.0, 2.0])).as_leaf("x")
        >>> y = lazyloom.record("square", [x])
        >>> ones = lazyloom.from_host(numpy.ones(2))
        >>> [(token, dx.read()) for token, dx in lazyloom.backward([y], [ones])]
        [('x', array([2., 4.]))]
    """
    learning: Learning | None = None
    if not create_graph and not observers and inspect is None and _implicit(cotangents):
        match = match_of_all(outputs)
        if match is not None:
            recorded = record_pass(match, outputs, None)
            if recorded is not None:
                if not retain_graph:
                    free(recorded.visited)
                reported: list[tuple[object, Value]] = []
                for token, gradient in zip(recorded.tokens, recorded.gradients, strict=True):
                    if gradient is not None:
                        reported.append((token, gradient))
                return reported
            learning = begin_learning(match, outputs, None)
    with switches.grad_mode(create_graph):
        walk = BackwardPass(outputs, cotangents, None, create_graph, _by_node(observers), inspect)
        walk.learning = learning is not None
        walk.run()
        walk.leaves.sort(key=_by_recording)
        results = [
            (token, as_value(walk.found[(n, index)], n, index))
            for token, n, index in walk.leaves
        ]
        if learning is not None:
            learn(learning, walk, [
                ((walk.leaves[i][1], walk.leaves[i][2]), g) for i, (_, g) in enumerate(results)])
    if not (retain_graph or create_graph):
        free(walk.order)
    return results


def _implicit(cotangents: Any) -> bool:
    """Return True if no cotangent is given; they may be scalars, too."""
    if cotangents is not None:
        for each in cotangents:
            if each is not None:
                return False
    return True


def _by_recording(leaf: tuple[object, Node, int]) -> tuple[int, int]:
    return leaf[1].seq, leaf[2]


def reaches_outside(values: Sequence[Value], own_nodes: set[Node], start: int) -> bool:
    """Return True if gradients of the values flow to anything recorded before number ``start``
    that is not one of ``own_nodes``: what a function closes over."""
    stack: list[Node] = []
    seen: set[Node] = set()
    for v in values:
        if v.requires_grad:
            stack.append(v.node)
    while stack:
        n = stack.pop()
        if n in seen or n in own_nodes:
            continue
        seen.add(n)
        if n.seq <= start:
            return True
        for position, m in enumerate(n.inputs):
            if n.grad_mask >> position & 1 and isinstance(m, Node):
                stack.append(m)
    return False


nesting: Final = threading.local()


def zeros_like(value: Value) -> Value:
    """Zeros of the value's shape and dtype."""
    zeros: Value = record("full", [Scalar(0, value.dtype)], {"shape": value.shape})
    return zeros
