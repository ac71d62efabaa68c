"""The graph of recorded work: nodes, values, components, and their release.

Invariants, all under ``lock``:

- ``node.refs`` is the number of operand positions, of pending nodes and of executed
  nodes that keep their history, which refer to the node; ``node.handles`` the number of
  live :class:`Value` objects. A node with neither is dead and is taken apart at once,
  iteratively, so releasing a chain of any length needs no stack.
- Pending nodes that share data are in one :class:`Component`; an edge that crosses a
  boundary node does not join.
- An operand of a pending node was recorded before it: ``operand.seq < node.seq``.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .dtypes import DType
from .errors import ArgumentError, ForkError, LoomError, ShapeError
from .observe import counters
from .ops.spec import OpDef, attribute_bits, lookup
from .scalars import Scalar
from .source import Site, user_site
from .types import TensorType

PENDING: Final = 0  # recorded, in a component
SCHEDULED: Final = 1  # handed to an evaluation that has not dispatched yet
DONE: Final = 2  # executed or a leaf; buffers may be None where nobody wanted them
FAILED: Final = 3  # ``node.error`` says why
DEAD: Final = 4  # nothing refers to it any more

#: A component this large is looked at for a cut; see :mod:`lazyloom.cuts`.
CUT_AT: Final = 1000


class Spec:
    """An op with its attributes and number of operands. Interned: the unit of exact keys.

    Two specs are one object exactly if op, attributes (by type and bits) and arity agree.
    """

    __slots__ = ("op", "attrs", "bits", "arity", "types", "heavy", "id")

    def __init__(self, op: OpDef, attrs: dict[str, Any], bits: Any, arity: int, id: int) -> None:
        self.op: Final = op
        self.attrs: Final = attrs
        self.bits: Final = bits
        self.arity: Final = arity
        self.id: Final = id
        self.types: dict[tuple[TensorType | None, ...], tuple[TensorType, ...]] = {}
        self.heavy: Final[bool] = op.heavy or op.fallible or op.effect

    def infer(self, types: tuple[TensorType | None, ...]) -> tuple[TensorType, ...]:
        found = self.types.get(types)
        if found is None:
            try:
                found = self.op.infer(types, self.attrs)
            except ShapeError as error:
                if error.op is not None:
                    raise
                raise ShapeError(f"{self.op.name}: the result: {error}", op=self.op.name) from None
            self.types[types] = found
        return found

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v!r}" for k, v in self.attrs.items())
        return f"{self.op.name}[{inner}]" if inner else self.op.name


_specs: dict[Any, Spec] = {}
_given_specs: dict[Any, Spec] = {}


def spec_of(op: OpDef, attributes: Mapping[str, Any] | None, arity: int) -> Spec:
    """The interned spec. Raises ArgumentError for attributes that the op does not take."""
    if not attributes:
        given: Any = (op, arity)
    elif not isinstance(attributes, Mapping):
        raise ArgumentError(
            f"{op.name}: the attributes are a {type(attributes).__name__}, expected a mapping of "
            "names to values", op=op.name, site=str(user_site()))
    else:
        try:
            given = (op, arity, *((k, attribute_bits(v)) for k, v in attributes.items()))
            hash(given)
        except TypeError:
            given = None
    if given is not None:
        found = _given_specs.get(given)
        if found is not None:
            return found
    try:
        attrs = op.canonical_attributes(attributes or {})
    except LoomError as error:
        _place(error, op.name)
        raise
    bits = tuple(attribute_bits(v) for v in attrs.values())
    key = (op, bits, arity)
    found = _specs.get(key)
    if found is None:
        found = _specs.setdefault(key, Spec(op, attrs, bits, arity, len(_specs)))
    if given is not None:
        _given_specs[given] = found
    return found


class Buffer:
    """Memory that holds a computed value, on the host until first used by a program.

    Attributes:
        host: a private NumPy array not yet uploaded, or None.
        array: the device array (owned by the executing module), or None.
        owners: number of nodes that hold this buffer.
        holds: number of plans with this leaf that have not been dispatched; a plan donates
            only what no other one, on another thread, is about to use.
        shared: somebody outside can see the memory; never donated.
        origin: the evaluation that made it, until it is known to have succeeded.
    """

    __slots__ = ("host", "array", "owners", "holds", "shared", "origin", "slot", "epoch")

    def __init__(self, host: Any, array: Any, shared: bool, origin: Any = None) -> None:
        self.host = host
        self.array = array
        self.owners = 0
        self.holds = 0
        self.shared = shared
        self.origin = origin
        self.slot = 0
        self.epoch = 0


Input: TypeAlias = "Node | Scalar | None"


class Node:
    """One recorded operation, or a leaf (``spec is None``)."""

    __slots__ = (
        "spec", "inputs", "indices", "types", "seq", "site", "component", "refs", "handles",
        "out_handles", "state", "buffers", "evaluation", "error", "tracked", "grad_mask", "leaf",
        "boundary", "depth", "lineage", "slot", "epoch", "uses", "freed",
    )  # fmt: skip

    def __init__(
        self, spec: Spec | None, inputs: tuple[Input, ...], indices: tuple[int, ...] | None,
        types: tuple[TensorType, ...], seq: int, site: Site | None,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.inputs = inputs
        #: which output of each operand is meant; None: the first of each
        self.indices = indices
        self.types = types
        self.seq = seq
        self.site = site
        self.component: Component | None = None
        self.refs = 0
        self.handles = 0
        self.out_handles: list[int] | None = None if len(types) == 1 else [0] * len(types)
        self.state = PENDING
        self.buffers: list[Buffer | None] | None = None
        self.evaluation: Any = None
        self.error: LoomError | None = None
        #: a gradient may flow through this node
        self.tracked = False
        #: bit i: a gradient flows to operand i
        self.grad_mask = 0
        #: the token of a leaf of the tape, given by Value.as_leaf
        self.leaf: object = None
        self.boundary = False
        self.depth = 0
        self.lineage: Any = None
        self.slot = 0
        self.epoch = 0
        self.uses = 0
        #: its tape was freed by a backward pass
        self.freed = False


class Component:
    """A connected set of pending nodes. A merged one points to its successor."""

    __slots__ = ("nodes", "parent", "ordered", "dead", "depth", "lineage", "check_at")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.parent: Component | None = None
        self.ordered = True
        self.dead = 0
        self.depth = 0
        self.lineage: Any = None
        self.check_at = CUT_AT


class _ForkedLock:
    """Stands in for the lock in a forked child: every use is an error."""

    def __enter__(self) -> None:
        raise ForkError(
            "this process was forked after lazyloom had started, so the runtime cannot be used in "
            "it; start workers with the 'spawn' or 'forkserver' method")

    def __exit__(self, *exc: object) -> None:
        return None

    def locked(self) -> bool:
        return True


def check_process() -> None:
    """Raise ForkError in a forked child, for calls that need no lock."""
    if type(lock) is _ForkedLock:
        lock.__enter__()


lock: Any = threading.Lock()
components: dict[Component, None] = {}

_released: deque[tuple[Node, int]] = deque()
_sequence = 0
_started = False
_local = threading.local()
#: called, without the lock, with a component that has grown to its ``check_at``
on_growth: Callable[[Component], None] | None = None


def _after_fork_in_child() -> None:
    global lock
    if _started:
        lock = _ForkedLock()
    else:
        lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Value:
    """One immutable result: of a recorded op, or given from the host.

    Obtained from :func:`lazyloom.record`, :func:`lazyloom.from_host` and their kind.
    """

    __slots__ = ("node", "index", "requires_grad")

    def __init__(self, node: Node, index: int, requires_grad: bool) -> None:
        # the caller holds the lock
        self.node = node
        self.index = index
        #: whether a gradient flows through this value to a leaf of the tape
        self.requires_grad = requires_grad
        node.handles += 1
        if node.out_handles is not None:
            node.out_handles[index] += 1

    def __del__(
        self, released: deque[tuple[Node, int]] = _released,
        append: Callable[[tuple[Node, int]], None] = _released.append,
    ) -> None:  # fmt: skip
        append((self.node, self.index))
        # Computed values hold memory and are released at once; what is pending waits for
        # the next call, which is cheaper. This may run anywhere, also inside a section of
        # this thread that holds the lock: then whoever holds it drains. Never a bare
        # acquire: an interrupt right after it would keep the lock for ever.
        if self.node.state == DONE and lock is not None and not lock.locked():
            with lock:
                drain()

    @property
    def type(self) -> TensorType:
        """Shape, dtype and placement."""
        return self.node.types[self.index]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.types[self.index].shape

    @property
    def dtype(self) -> DType:
        return self.node.types[self.index].dtype

    @property
    def is_pending(self) -> bool:
        """Whether the value has yet to be computed."""
        return self.node.state == PENDING

    def detach(self) -> Value:
        """The same data, carrying no gradient."""
        if not self.requires_grad:
            return self
        with lock:
            return Value(self.node, self.index, False)

    def as_leaf(self, token: object) -> Value:
        """The same data as a leaf of the tape: it requires a gradient, reported for ``token``.

        Raises GradientError where the dtype has no gradient.
        """
        from .autodiff import make_leaf

        return make_leaf(self, token)

    def read(self) -> Any:
        """The data as a fresh, writable NumPy array; evaluates what is pending.

        Raises ExecutionError if computing the value failed.
        """
        from .evaluate import read

        return read(self)

    def __repr__(self) -> str:
        state = ("pending", "scheduled", "computed", "failed", "dead")[self.node.state]
        return f"<Value {self.type.text} {state}>"


def drain() -> None:
    """Account for released values; the caller holds the lock."""
    while _released:
        node, index = _released.popleft()
        node.handles -= 1
        counts = node.out_handles
        if counts is not None:
            counts[index] -= 1
        if node.refs == 0:
            if node.handles == 0:
                kill(node)
            elif counts is not None and counts[index] == 0 and node.buffers is not None:
                drop_buffer(node, index)


def drop_buffer(node: Node, index: int) -> None:
    assert node.buffers is not None
    buffer = node.buffers[index]
    if buffer is not None:
        buffer.owners -= 1
        node.buffers[index] = None


def kill(node: Node) -> None:
    """Take apart a node that nothing refers to, and whatever only it kept; iteratively."""
    work = [node]
    while work:
        n = work.pop()
        if n.state == PENDING:
            c = find(n)
            if c is not None:
                c.dead += 1
                if c.dead == len(c.nodes):
                    components.pop(c, None)
                    c.nodes = []
                    c.dead = 0
                elif c.dead > 256 and c.dead * 2 > len(c.nodes):
                    c.nodes = [m for m in c.nodes if m.state == PENDING and m is not n]
                    c.dead = 0
        n.state = DEAD
        release_inputs(n, work)
        if n.buffers is not None:
            for i in range(len(n.buffers)):
                drop_buffer(n, i)
            n.buffers = None
        n.evaluation = None
        n.lineage = None
        n.leaf = None


def release_inputs(n: Node, work: list[Node]) -> None:
    """Drop the operands of a node; those left without any reference go to ``work``."""
    inputs = n.inputs
    n.inputs = ()
    for m in inputs:
        if type(m) is Node:
            m.refs -= 1
            if m.refs == 0:
                if m.handles == 0:
                    if m.state != DEAD:
                        work.append(m)
                elif m.out_handles is not None and m.buffers is not None:
                    for i, count in enumerate(m.out_handles):
                        if count == 0:
                            drop_buffer(m, i)


def find(n: Node) -> Component | None:
    """The component of a pending node, with path compression."""
    c = n.component
    if c is None or c.parent is None:
        return c
    while c.parent is not None:
        if c.parent.parent is not None:
            c.parent = c.parent.parent
        c = c.parent
    n.component = c
    return c


def join(a: Component, b: Component) -> Component:
    """Merge two components; the caller holds the lock."""
    if len(a.nodes) < len(b.nodes):
        a, b = b, a
    a.nodes.extend(b.nodes)
    a.ordered = False
    a.dead += b.dead
    a.depth = max(a.depth, b.depth)
    if a.lineage is None:
        a.lineage = b.lineage
    a.check_at = a.lineage.check_at if a.lineage is not None else max(
        CUT_AT, min(a.check_at, b.check_at))
    b.parent = a
    b.nodes = []
    components.pop(b, None)
    return a


def grad_enabled() -> bool:
    """Whether this thread records gradients."""
    return getattr(_local, "grad", True)


def set_grad_enabled(enabled: bool) -> bool:
    """Switch the recording of gradients on or off in this thread; returns the former state."""
    before = grad_enabled()
    _local.grad = enabled
    return before


def hold_cuts(held: bool) -> None:
    """Keep this thread's components from being cut, while what it records belongs together."""
    _local.hold_cuts = held


Operandlike: TypeAlias = "Value | Scalar | None"


def record(
    op: str | OpDef, operands: Sequence[Operandlike],
    attributes: Mapping[str, Any] | None = None, *, boundary: bool = False,
) -> Any:  # fmt: skip
    """Record one operation and return its result, or a tuple of its results.

    Args:
        op: the op, or its name.
        operands: values, scalars, or None where an optional operand is absent.
        attributes: the op's attributes; missing ones take their defaults.
        boundary: make the result the boundary of its own program; see
            :func:`lazyloom.source`.

    Returns:
        a :class:`Value` for an op of one result, else a tuple of them.

    Raises:
        UnknownOpError, ArgumentError, ShapeError, DTypeError: at once, for this call.
    """
    if not isinstance(operands, (list, tuple)):
        operands = _as_list(op, operands)
    try:
        found = op if isinstance(op, OpDef) else lookup(op)
        while len(operands) > found.least and operands[-1] is None:
            # absent optional operands at the end are no part of the structure
            operands = operands[:-1]
        spec = spec_of(found, attributes, len(operands))
    except LoomError as error:
        _place(error, op.name if isinstance(op, OpDef) else str(op))
        raise
    return record_spec(spec, operands, boundary=boundary)


def _as_list(op: str | OpDef, operands: Any) -> list[Any]:
    try:
        return list(operands)
    except TypeError:
        name = op.name if isinstance(op, OpDef) else op
        raise ArgumentError(
            f"{name}: the operands are a {type(operands).__name__}, expected a sequence of them",
            op=str(name), site=str(user_site())) from None


def _no_operand(spec: Spec, position: int, given: Any) -> ArgumentError:
    known = position < spec.op.most or (spec.op.most < 0 and spec.op.operands)
    name = repr(spec.op.operand_name(position)) if known else str(position)
    return ArgumentError(
        f"{spec.op.name}: operand {name} is a {type(given).__name__}, expected a Value or a "
        "Scalar, or in lazyloom.apply a tensor or a Python number; lazyloom.from_host makes one "
        "of host data", op=spec.op.name, site=str(user_site()))


def record_spec(
    spec: Spec, operands: Sequence[Operandlike], *, boundary: bool = False,
    site: Site | None = None,
) -> Any:  # fmt: skip
    """:func:`record` for an interned spec."""
    global _sequence, _started
    try:
        types = tuple([None if v is None else v.type for v in operands])
        results = spec.infer(types)
    except LoomError as error:
        _place(error, spec.op.name)
        raise
    except AttributeError:
        for i, v in enumerate(operands):
            if not isinstance(v, (Value, Scalar)) and v is not None:
                raise _no_operand(spec, i, v) from None
        raise
    if site is None:
        site = user_site()
    inputs: list[Input] = []
    indices: list[int] | None = None
    mask = 0
    for i, v in enumerate(operands):
        if type(v) is Value:
            inputs.append(v.node)
            if v.index:
                if indices is None:
                    indices = [0] * len(operands)
                indices[i] = v.index
            if v.requires_grad:
                mask |= 1 << i
        elif v is None or type(v) is Scalar:
            inputs.append(v)
        else:
            raise _no_operand(spec, i, v)
    with lock:
        _started = True
        if _released:
            drain()
        _sequence += 1
        node = Node(spec, tuple(inputs), tuple(indices) if indices is not None else None,
                    results, _sequence, site)
        node.boundary = boundary
        if spec.op.effect:
            # what it does is wanted even if its results are not; released when it ran
            node.refs = 1
        if mask and getattr(_local, "grad", True) and _differentiable(spec.op, results):
            node.tracked = True
            node.grad_mask = mask
        component: Component | None = None
        depth = 0
        lineage: Any = None
        for m in inputs:
            if type(m) is Node:
                m.refs += 1
                if m.state == PENDING:
                    if m.depth > depth:
                        depth = m.depth
                    if not m.boundary:
                        c = find(m)
                        if component is None:
                            component = c
                        elif c is not None and c is not component:
                            component = join(component, c)
                elif m.lineage is not None:
                    lineage = m.lineage
        if component is None:
            component = Component()
            components[component] = None
        if lineage is not None and component.lineage is None and component.depth < 2:
            component.lineage = lineage
            component.check_at = lineage.check_at
        node.component = component
        node.depth = depth + 1
        if node.depth > component.depth:
            component.depth = node.depth
        component.nodes.append(node)
        counters["ops_traced"] += 1
        if len(results) == 1:
            out: Any = Value(node, 0, node.tracked and results[0].dtype.is_inexact)
        else:
            out = tuple([
                Value(node, i, node.tracked and t.dtype.is_inexact) for i, t in enumerate(results)])
        grown = len(component.nodes) - component.dead >= component.check_at
    if grown and on_growth is not None and not getattr(_local, "hold_cuts", False):
        on_growth(component)
    return out


def _differentiable(op: OpDef, results: tuple[TensorType, ...]) -> bool:
    return op.differentiable is not False and any(t.dtype.is_inexact for t in results)


def _place(error: LoomError, op: str) -> None:
    """Add the op and the user's place to an error that was found while recording."""
    if error.op is None:
        error.op = op
    if error.site is None:
        error.site = str(user_site())


def last_sequence() -> int:
    """The number of the newest node."""
    return _sequence


def leaf_node(type: TensorType, buffer: Buffer) -> Node:
    """A node whose data is there already; the caller holds the lock."""
    global _sequence, _started
    _started = True
    _sequence += 1
    node = Node(None, (), None, (type,), _sequence, None)
    node.state = DONE
    node.buffers = [buffer]
    buffer.owners += 1
    return node


def leaf_value(type: TensorType, buffer: Buffer, requires_grad: bool = False) -> Value:
    """A value whose data is there already."""
    with lock:
        return Value(leaf_node(type, buffer), 0, requires_grad)
