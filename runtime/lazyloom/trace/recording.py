"""Recording: from an op and its operands to a node of the graph.

This is the path of every traced operation. Compiled, it takes the lock only where somebody
holds it or released nodes have to be taken apart; interpreted, it takes it in a ``with`` block,
which Ctrl-C cannot leave half done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ..compiled import ALONE, COMPILED
from ..errors import ArgumentError, LoomError
from ..hooks import hooks
from ..ops.spec import OpDef, lookup
from ..settings import eager, runs_eagerly
from ..types import TensorType
from .graph import (
    MAPPED,
    PENDING,
    Component,
    Input,
    Node,
    Value,
    begin_component,
    connect,
    drain,
    find,
    join,
    trace,
)
from .mapping import BodyCall, innermost
from .matching.match import Match, begins, goes_on, matching
from .matching.recording import record_expected, record_expected_operands
from .matching.starts import starts
from .results import Handles
from .scalars import Scalar
from .source import Site, named_site, user_place, user_site
from .specs import Spec, place, spec_of
from .switches import cuts_held, grad_enabled

Operandlike: TypeAlias = "Value | Scalar | None"

# Constants of this module, which compiled code need not look up. No signal interrupts a compiled
# function, so a bare acquire is safe in it.
_COMPILED: Final[bool] = COMPILED
_ALONE: Final[bool] = ALONE


def record(
    op: Any, operands: Any, attributes: Any = None, *, boundary: bool = False,
) -> Any:  # fmt: skip
    """Record one operation and return its result, or a tuple of its results.

    Args:
        op: the op (an :class:`~lazyloom.ops.spec.OpDef`), or its name.
        operands: a sequence of values, scalars, or None where an optional operand is absent.
        attributes: a mapping of the op's attributes; missing ones take their defaults.
        boundary: make the result the boundary of its own program; see
            :func:`lazyloom.source`.

    Returns:
        a :class:`Value` for an op of one result, else a tuple of them.

    Raises:
        UnknownOpError, ArgumentError, ShapeError, DTypeError: at once, for this call.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0])
        >>> y = lazyloom.record("multiply", [x, lazyloom.Scalar(3, x.dtype)])
        >>> y
        <Value float64[2] pending>
        >>> y.read()
        array([3., 6.])
    """
    if not isinstance(operands, (list, tuple)):
        operands = as_list(op, operands)
    # what the caller passed, whatever the annotations say: record_spec checks each operand
    items: Sequence[Any] = operands
    try:
        op_def = op if isinstance(op, OpDef) else lookup(op)
        while len(items) > op_def.min_operands and items[-1] is None:
            # absent optional operands at the end are not part of the structure
            items = items[:-1]
        spec = spec_of(op_def, attributes, len(items))
    except LoomError as error:
        place(error, op.name if isinstance(op, OpDef) else str(op))
        raise
    return record_spec(spec, items, boundary)


def as_list(op: Any, operands: Any) -> list[Any]:
    """Return operands that another kind of iterable gives as a list. Raises ArgumentError."""
    try:
        return list(operands)
    except TypeError:
        name = op.name if isinstance(op, OpDef) else op
        raise ArgumentError(
            f"{name}: the operands are a {type(operands).__name__}, expected a sequence of them",
            op=str(name), site=str(user_site())) from None


def _no_operand(spec: Spec, position: int, operand: Any) -> ArgumentError:
    limit = spec.op.max_operands
    named = position < limit or (limit < 0 and len(spec.op.operands) > 0)
    name = repr(spec.op.operand_name(position)) if named else str(position)
    return ArgumentError(
        f"{spec.op.name}: operand {name} is a {type(operand).__name__}, expected a Value or a "
        "Scalar, or in lazyloom.apply a tensor or a Python number; lazyloom.from_host makes one "
        "of host data", op=spec.op.name, site=str(user_site()))


def record_spec(
    spec: Spec, operands: Sequence[Any], boundary: bool = False,
    site: Site | None = None,
) -> Any:  # fmt: skip
    """:func:`record` for an interned spec.

    Example:

        >>> total = lazyloom.spec("sum", 1, {"axes": (0,)})
        >>> lazyloom.record_spec(total, [lazyloom.from_host([1.0, 2.0])]).read()
        array(3.)
    """
    if not boundary and matching.newest is not None:
        quick = record_expected_operands(spec, operands, site)
        if quick is not None:
            return quick
    types: list[TensorType | None] = []
    inputs: list[Input] = []
    indices: list[int] | None = None
    mask = 0
    operand: Any
    for position, operand in enumerate(operands):
        if isinstance(operand, Value):
            node = operand.node
            index = operand.index
            types.append(node.types[index])
            inputs.append(node)
            if index:
                if indices is None:
                    indices = [0] * len(operands)
                indices[position] = index
            if operand.requires_grad:
                mask |= 1 << position
        elif operand is None:
            types.append(None)
            inputs.append(None)
        elif isinstance(operand, Scalar):
            types.append(operand.type)
            inputs.append(operand)
        else:
            raise _no_operand(spec, position, operand)
    try:
        results = spec.infer(tuple(types))
    except LoomError as error:
        place(error, spec.op.name)
        raise
    node = _append(spec, tuple(inputs), None if indices is None else tuple(indices), results,
                   mask, boundary, site)  # fmt: skip
    if len(results) == 1:
        return Value(node, 0, node.tracked and results[0].dtype.is_inexact)
    return tuple([
        Value(node, i, node.tracked and t.dtype.is_inexact) for i, t in enumerate(results)])


def record_one(spec: Spec, a: Value, site: Site | None = None) -> Value:
    """:func:`record_spec` for one operand and one result, without detours.

    Example:

        >>> exp = lazyloom.spec("exp", 1)
        >>> lazyloom.record_one(exp, lazyloom.from_host([0.0])).read()
        array([1.])
    """
    node = a.node
    index = a.index
    if index == 0 and matching.newest is not None:
        quick = record_expected(spec, node, None, 1 if a.requires_grad else 0, site)
        if quick is not None:
            return quick
    try:
        results = spec.infer((node.types[index],))
    except LoomError as error:
        place(error, spec.op.name)
        raise
    recorded = _append(spec, (node,), None if index == 0 else (index,), results,
                       1 if a.requires_grad else 0, False, site)  # fmt: skip
    return Value(recorded, 0, recorded.tracked and results[0].dtype.is_inexact)


def record_two(spec: Spec, a: Value, b: Value, site: Site | None = None) -> Value:
    """:func:`record_spec` for two operands and one result, without detours.

    Example:

        >>> add = lazyloom.spec("add", 2)
        >>> x = lazyloom.from_host([1.0, 2.0])
        >>> lazyloom.record_two(add, x, x).read()
        array([2., 4.])
    """
    left = a.node
    right = b.node
    i = a.index
    j = b.index
    mask = 0
    if a.requires_grad:
        mask = 1
    if b.requires_grad:
        mask |= 2
    if i == 0 and j == 0 and matching.newest is not None:
        quick = record_expected(spec, left, right, mask, site)
        if quick is not None:
            return quick
    try:
        results = spec.infer_two(left.types[i], right.types[j])
    except LoomError as error:
        place(error, spec.op.name)
        raise
    recorded = _append(spec, (left, right), None if i == 0 and j == 0 else (i, j), results, mask,
                       False, site)  # fmt: skip
    return Value(recorded, 0, recorded.tracked and results[0].dtype.is_inexact)


def record_number(
    spec: Spec, a: Value, number: Scalar, reverse: bool, site: Site | None = None
) -> Value:
    """:func:`record_two` for a value and a scalar; ``reverse`` puts the scalar first.

    Example:

        >>> subtract = lazyloom.spec("subtract", 2)
        >>> x = lazyloom.from_host([1.0, 2.0])
        >>> lazyloom.record_number(subtract, x, lazyloom.Scalar(10, x.dtype), True).read()
        array([9., 8.])
    """
    node = a.node
    index = a.index
    t = node.types[index]
    inputs: tuple[Input, ...]
    try:
        if reverse:
            results = spec.infer_two(number.type, t)
            inputs = (number, node)
        else:
            results = spec.infer_two(t, number.type)
            inputs = (node, number)
    except LoomError as error:
        place(error, spec.op.name)
        raise
    mask = 0
    if a.requires_grad:
        mask = 2 if reverse else 1
    indices: tuple[int, ...] | None = None
    if index:
        indices = (0, index) if reverse else (index, 0)
    recorded = _append(spec, inputs, indices, results, mask, False, site)
    return Value(recorded, 0, recorded.tracked and results[0].dtype.is_inexact)


def _append(
    spec: Spec, inputs: tuple[Input, ...], indices: tuple[int, ...] | None,
    results: tuple[TensorType, ...], mask: int, boundary: bool, site: Site | None,
) -> Node:  # fmt: skip
    """Return a new node with one handle per result, which the caller turns into Values at once."""
    offset = 0
    where: Any = site
    if where is None:
        where = named_site()
        if where is None:
            where, offset = user_place()
    node = Node(spec, inputs, indices, results, 0, where, offset)
    if boundary:
        node.boundary = True
    count = len(results)
    node.handles = count
    if count != 1:
        node.out_handles = Handles(count, 1)
    if spec.effect:
        _refuse_mapped(node)
        # its effect is wanted even if its results are not; released when it has run
        node.refs = 1
    if mask and spec.differentiable and grad_enabled():
        for t in results:
            if t.dtype.is_inexact:
                node.tracked = True
                node.carried += 1
                node.grad_mask = mask
    if _ALONE and not trace.released and not trace.locked():
        component = _link(node)
    elif _COMPILED:
        trace.acquire()
        try:
            component = _link(node)
        finally:
            trace.release()
    else:
        with trace.lock:
            component = _link(node)
    if component is not None and not cuts_held():
        hooks.grown(component)
    if eager[0] and runs_eagerly() and not cuts_held():
        hooks.recorded(node)
    return node


def _refuse_mapped(node: Node) -> None:
    mapping: Any = innermost() if trace.mapping else None
    if not isinstance(mapping, BodyCall):
        # a mapped function may have effects that do not depend on the axis
        mapping = None
        for m in node.inputs:
            if isinstance(m, Node) and m.state == MAPPED:
                mapping = m.mapping
    if mapping is not None:
        assert node.spec is not None
        name = node.spec.op.name
        raise ArgumentError(
            f"{name}: {mapping.why_without_effects()}", op=name, site=str(node.site))


def _link(node: Node) -> Component | None:
    """Enter a node in the graph; return its component if that has grown enough to be examined.

    The caller holds the lock, or is alone: nothing here then lets another thread run.
    """
    if not trace.started:
        trace.started = True
    if trace.released:
        drain()
    sequence = trace.sequence + 1
    trace.sequence = sequence
    trace.recorded += 1
    node.seq = sequence
    spec = node.spec
    if spec is not None and spec.shared:
        return _link_shared(node)
    if matching.matches and goes_on(node):
        return None
    if not connect(node, True):
        if starts.count and begins(node):
            return None
        begin_component(node)
    component = node.component
    if component is None or len(component.nodes) - component.dead < component.check_at:
        return None
    return component


def _link_shared(node: Node) -> Component | None:
    """:func:`_link` for a node that several processes run together, in one order."""
    if not (matching.matches and goes_on(node)) and not connect(node, True) and not (
        starts.count and begins(node)
    ):
        begin_component(node)
    _in_order(node)
    if isinstance(node.component, Match):
        return None
    # settles the match that set it aside
    component = find(node)
    if component is None or len(component.nodes) - component.dead < component.check_at:
        return None
    return component


def _in_order(node: Node) -> None:
    """Join a node that several processes run together to the component of the one before it.

    They run in the order of recording, as in all other processes, whatever is read first in this
    one. In one match they are in order. The caller holds the lock, or is alone.
    """
    before = trace.collective
    trace.collective = node if node.state == PENDING else None
    if before is None or before.state != PENDING or node.state != PENDING or (
        before.component is node.component
    ):
        return
    ours, theirs = find(node), find(before)
    if ours is not None and theirs is not None:
        # the other match that was settled may have moved this one
        ours = find(node)
        if ours is not None and ours is not theirs:
            join(ours, theirs)
