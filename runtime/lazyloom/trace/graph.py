"""The graph of recorded work: nodes, values, components, and their release.

The invariant of a field stands beside it, and holds whenever nobody has ``trace.lock``
(:mod:`lazyloom.locks` says which fields that guards); ``tests/graph_invariants.py`` checks it.
A compiled core records ops without taking the lock (:mod:`.recording`,
:mod:`.matching.recording`) where nobody has it and no other thread can run before the graph is
whole again (:data:`lazyloom.compiled.ALONE`).

Nothing but handles is released without the lock, each by one subtraction that nothing interrupts.
Whoever finds a node with neither handles nor refs releases it; finding that twice does no harm.
Nodes are taken apart at once and iteratively, so releasing a chain of any length needs no stack.
"""

from __future__ import annotations

import os
from threading import get_ident
from types import CodeType
from typing import Any, Final, TypeAlias, final

from ..compiled import mypyc_attr
from ..dtypes import DType
from ..errors import ForkError, LoomError
from ..hooks import hooks
from ..locks import new_lock
from ..placements import Placement
from ..settings import DEAD_NODES, tuning
from ..types import TensorType
from .cut_history import CutHistory
from .results import Handles, Tokens
from .scalars import Scalar
from .source import UNKNOWN, Site
from .specs import Spec

# The states of a node, and what sets them:
#
#   new -> PENDING        Node(); trace.recording and trace.matching.recording enter it in the graph
#   new -> MAPPED         connect, for a mapped operand; trace.mapping.placeholder
#   new -> DONE           leaf_node
#   new -> SCHEDULED      capture.recipe, for a captured call
#   new -> DEAD           capture.template, for a shell: what a captured call knows about a node
#   PENDING -> SCHEDULED  evaluate.collect._take_over; evaluate.matching.release, for a match
#   PENDING -> FAILED     evaluate.collect.schedule by fail, for a failed operand
#   SCHEDULED -> DONE     evaluate.collect.finish
#   SCHEDULED -> FAILED   evaluate.failures by collect.fail
#   SCHEDULED -> PENDING  evaluate.collect.restore, after an interrupt; also DEAD -> PENDING, for
#                         nodes of the plan that died when it was scheduled
#   DONE -> FAILED        evaluate.failures.read_error
#   any -> DEAD           kill_all; evaluate.matching.release, for a node that only its plan needs
PENDING: Final = 0  # recorded, in a component: y of ``y = x + 1``, until somebody reads it
SCHEDULED: Final = 1  # handed to an evaluation that has not dispatched yet
DONE: Final = 2  # a leaf, or dispatched: its data may still be computing; unwanted buffers are None
FAILED: Final = 3  # ``node.error`` says why
DEAD: Final = 4  # nothing refers to it any more, except a plan or a captured call's template
MAPPED: Final = 5  # stands for one value an element of an axis that vmap maps over; never runs


@mypyc_attr(acyclic=True)
@final
class Buffer:
    """Memory that holds a computed value, on the host until first used by a program.

    Attributes:
        host: a private NumPy array not yet uploaded, or None.
        array: the device array (owned by the executing module), or None.
        owners: number of nodes that hold this buffer.
        holds: number of plans with this leaf that have not been dispatched; a plan donates
            only what no other plan, on another thread, is about to use.
        shared: somebody outside can see the memory; never donated.
        origin: the evaluation that computes it, until that is known to have succeeded.
        checks: conditions to check before it is read (:mod:`lazyloom.evaluate.checks`), or None.
        range: the smallest and the largest of its integers, where data on the host gave them.
        recoverable: a storage that was written over may go back to it
            (:mod:`lazyloom.evaluate.overwritten`), and refers to it without being an owner.
        marks: what the program says about its extents, by axis
            (:mod:`lazyloom.execute.padded.extent_marks`), or None.
        used: a compiled program received the array, and may still be reading it.
        written: it is a copy of others' data to which elements were written.
        placement: how XLA divided the data over a mesh, where it chose; else None.
        given: FRESH for data of the host's arrays that no run has taken, COUNTED once one has.
        number: what a profile knows it by, or 0.
    """

    __slots__ = (
        "host", "array", "owners", "holds", "shared", "origin", "checks", "range", "recoverable",
        "slot", "epoch", "marks", "used", "written", "placement", "given", "number",
    )  # fmt: skip

    def __init__(self, host: Any, array: Any, shared: bool, origin: Any = None) -> None:
        self.host: Any = host
        self.array: Any = array
        self.owners: int = 0
        self.holds: int = 0
        self.shared: bool = shared
        self.origin: Any = origin
        self.checks: tuple[Any, ...] | None = None
        self.range: tuple[int, int] | None = None
        self.recoverable: bool = False
        self.slot: int = 0
        self.epoch: int = 0
        self.marks: dict[int, Any] | None = None
        self.used: bool = False
        self.written: bool = False
        self.placement: Placement | None = None
        self.given: int = 0
        self.number: int = 0


Input: TypeAlias = "Node | Scalar | None"


# Reference counts alone free nodes, values and components, and the collector need not look at
# them: a component and its nodes let go of each other when it runs or dies.


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Node:
    """One recorded operation, or a leaf (``spec is None``).

    For ``z = x @ w + b``, before ``z`` is read, where only ``w`` is a leaf of the tape::

        x, w, b  DONE     spec None    inputs ()           refs 1  handles 1  buffers [...]
        x @ w    PENDING  spec matmul  inputs (x, w)       refs 1  handles 0  grad_mask 0b10
        z        PENDING  spec add     inputs (x @ w, b)   refs 0  handles 1  grad_mask 0b01

    Afterwards all are DONE, and ``x @ w`` and ``z`` keep their operands for a backward pass.
    """

    __slots__ = (
        "spec", "inputs", "indices", "types", "seq", "place", "offset", "component", "refs",
        "handles", "carried", "out_handles", "state", "buffers", "evaluation", "error", "tracked",
        "grad_mask", "token", "rule", "boundary", "depth", "cut_history", "mapping", "slot",
        "epoch", "uses", "freed",
    )  # fmt: skip

    def __init__(
        self, spec: Spec | None, inputs: tuple[Input, ...], indices: tuple[int, ...] | None,
        types: tuple[TensorType, ...], seq: int, place: CodeType | Site | None, offset: int,
    ) -> None:  # fmt: skip
        self.spec: Spec | None = spec
        #: the operands: ``spec.arity`` of them while it is PENDING; later () where no tape needs
        #: them. No operand is DEAD; a PENDING node has no MAPPED operand, and its PENDING
        #: operands have a smaller seq
        self.inputs: tuple[Input, ...] = inputs
        #: which result of each operand is meant; None: the first of each
        self.indices: tuple[int, ...] | None = indices
        #: of the one or more results
        self.types: tuple[TensorType, ...] = types
        #: its number, ``<= trace.sequence``: no other node has it
        self.seq: int = seq
        #: the user's code object, with the offset in it, or a ready Site
        self.place: Any = place
        self.offset: int = offset
        #: of a PENDING node, see :func:`find`: the component of each PENDING operand that is not
        #: a boundary
        self.component: Component | None = None
        #: number of operand positions that refer to it, plus 1 until an effect has run.
        #: ``refs > 0 or handles > 0``, or it is DEAD
        self.refs: int = 0
        #: live Values
        self.handles: int = 0
        #: handles that a gradient flows through, ``<= handles``: if there are none, nobody outside
        #: can ask for its tape
        self.carried: int = 0
        #: handles of each result, whose sum is ``handles``; None where there is one result
        self.out_handles: Handles | None = None
        self.state: int = PENDING
        #: the memory of each result, or None where it was released; None before it is SCHEDULED
        self.buffers: list[Buffer | None] | None = None
        #: the newest Evaluation that it was SCHEDULED for; None before that, after an interrupt has
        #: made it PENDING again, and of a DEAD node
        self.evaluation: Any = None
        #: of a FAILED node
        self.error: LoomError | None = None
        #: a gradient may flow through this node: ``grad_mask != 0``
        self.tracked: bool = False
        #: bit i: a gradient flows to operand i; of a placeholder, that it requires one
        self.grad_mask: int = 0
        #: of a leaf of the tape, the argument of Value.as_leaf: where its gradient goes; of a node
        #: with several results, Tokens (see :func:`token_of`)
        self.token: object = None
        #: the lazyloom.trace.custom_derivatives.Custom of a node whose derivative is a function of
        #: the host, or None; only on a node of the ops ``custom`` and ``place``
        self.rule: Any = None
        #: whatever takes it does not join its component, which runs first; false again once it has
        #: run or failed
        self.boundary: bool = False
        #: number of nodes in the longest chain of pending nodes that ended with it when it was
        #: linked; does not change when those before it run
        self.depth: int = 0
        #: of a node that a cut has scheduled: what is known about the trace so far, which the
        #: component of a node that takes it continues; else None
        self.cut_history: CutHistory | None = None
        #: of a MAPPED node, the lazyloom.trace.mapping.MappedCall that it belongs to
        self.mapping: Any = None
        #: its number in the newest traversal that numbers nodes, if ``epoch`` is the traversal's
        self.slot: int = 0
        self.epoch: int = 0
        #: operand positions in its program that refer to it, when the program was collected
        self.uses: int = 0
        #: a backward pass freed its tape
        self.freed: bool = False

    @property
    def site(self) -> Site:
        """The place in the user's program where it was recorded."""
        place = self.place
        if place is None:
            return UNKNOWN
        if isinstance(place, Site):
            return place
        return Site(place, self.offset)


def token_of(node: Node, index: int) -> object:
    """The token of a result that is a leaf of the tape, else None."""
    token = node.token
    if isinstance(token, Tokens):
        return token.of[index]
    return token


def set_token(node: Node, index: int, token: object) -> None:
    """Make a result a leaf of the tape."""
    if len(node.types) == 1:
        node.token = token
        return
    tokens = node.token
    if not isinstance(tokens, Tokens):
        tokens = node.token = Tokens(len(node.types))
    tokens.of[index] = token


@mypyc_attr(acyclic=True)
class Component:
    """A connected set of pending nodes. A merged one points to its successor."""

    __slots__ = ("nodes", "parent", "ordered", "dead", "depth", "cut_history", "check_at", "thread",
                 "since")

    def __init__(self) -> None:
        #: its PENDING nodes, and ``dead`` others, which are fewer; empty if it was merged
        self.nodes: list[Node] = []
        #: what it was merged into
        self.parent: Component | None = None
        #: the nodes are in the order of recording
        self.ordered: bool = True
        self.dead: int = 0
        #: the depth of its deepest node since it was cut
        self.depth: int = 0
        #: of the trace that it continues after a cut
        self.cut_history: CutHistory | None = None
        #: the number of ops at which it is examined (``hooks.grown``)
        self.check_at: int = tuning.cut_ops
        #: the thread that began to record it
        self.thread: int = get_ident()
        #: approximately the number of its first node
        self.since: int = trace.sequence


@mypyc_attr(acyclic=True)
class Unlinked(Component):
    """Pending nodes that are linked only when somebody asks for the component of one of them.

    It is its own ``parent`` as long as it has nodes.

    Attributes:
        loose: its nodes can die without being linked.
    """

    __slots__ = ("loose",)

    def __init__(self, loose: bool) -> None:
        super().__init__()
        self.loose: Final[bool] = loose

    def settle(self) -> None:
        """Link the nodes as if they had been linked when recorded; the caller holds the lock."""
        raise NotImplementedError


class _ForkedLock:
    """Stands in for the lock in a forked child: every use is an error."""

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *exc: object) -> None:
        return None

    def acquire(self) -> bool:
        raise ForkError(
            "this process was forked after lazyloom had started, so the runtime cannot be used in "
            "it; start workers with the 'spawn' or 'forkserver' method")

    def release(self) -> None:
        return None

    def locked(self) -> bool:
        return True


@final
class Trace:
    """What is recorded in this process.

    Attributes:
        lock: held for every change, except where a thread records alone, as the module's docstring
            says; in an interpreted core a plain lock, so that a ``with`` block is safe from Ctrl-C.
        components: the connected parts of the pending work, oldest first.
        sequence: the number of the newest node.
        epoch: the number of the newest traversal that numbered nodes and leaves.
        recorded: how many ops were recorded.
    """

    __slots__ = (
        "lock", "acquire", "release", "locked", "forked", "components", "sequence", "recorded",
        "started", "released", "mapping", "failing", "epoch", "collective",
    )  # fmt: skip

    def __init__(self) -> None:
        self.components: dict[Component, None] = {}
        self.sequence: int = 0
        self.epoch: int = 0
        self.recorded: int = 0
        self.started: bool = False
        self.forked: bool = False
        self.released: list[Node] = []
        #: how many functions are being mapped over an axis, in all threads
        self.mapping: int = 0
        #: nodes release their operands because they failed: storages go back to those operands
        self.failing: bool = False
        #: the newest node that several processes run together
        self.collective: Node | None = None
        self.set_lock(new_lock())

    def set_lock(self, lock: Any) -> None:
        self.lock: Any = lock
        self.acquire: Any = lock.acquire
        self.release: Any = lock.release
        self.locked: Any = lock.locked


trace: Final = Trace()


def check_process() -> None:
    """Raise ForkError in a forked child, for calls that need no lock."""
    if trace.forked:
        trace.acquire()


def _after_fork_in_child() -> None:
    if trace.started:
        trace.forked = True
        trace.set_lock(_ForkedLock())
    else:
        trace.set_lock(new_lock())


os.register_at_fork(after_in_child=_after_fork_in_child)


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Value:
    """One immutable result: of a recorded op, or given from the host.

        >>> lazyloom.record("square", [lazyloom.from_host([1.0, 2.0])]).read()
        array([1., 4.])
    """

    __slots__ = ("node", "index", "requires_grad")

    def __init__(self, node: Node, index: int, requires_grad: bool) -> None:
        # the caller has counted the handle, under the lock: see :func:`hold`
        self.node: Node = node
        self.index: int = index
        #: true if a gradient flows through this value to a leaf of the tape
        self.requires_grad: bool = requires_grad

    def __del__(self) -> None:
        node = self.node
        node.handles -= 1
        if self.requires_grad:
            node.carried -= 1
        counts = node.out_handles
        if counts is not None:
            counts.add(self.index, -1)
        elif node.handles or node.refs:
            return
        if node.refs == 0:
            # Computed values hold memory and are released at once; pending ones wait for the
            # next call, which is cheaper. This may run anywhere, even inside a section of this
            # thread that holds the lock: then the holder drains. Never use a bare acquire: an
            # interrupt right after it would keep the lock for ever.
            if trace is None:
                return  # the process ends, and this module is taken apart already
            trace.released.append(node)
            if node.state == DONE and not trace.locked():
                with trace.lock:
                    drain()

    @property
    def type(self) -> TensorType:
        """Shape, dtype and placement."""
        return self.node.types[self.index]

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis, known before anything runs."""
        return self.node.types[self.index].shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.node.types[self.index].dtype

    @property
    def is_pending(self) -> bool:
        """True if the value has yet to be computed."""
        return self.node.state == PENDING

    @property
    def token(self) -> object:
        """The token that :meth:`as_leaf` received, if this is a leaf of the tape, else None."""
        return token_of(self.node, self.index)

    def detach(self) -> Value:
        """The same data, carrying no gradient."""
        if not self.requires_grad:
            return self
        with trace.lock:
            return hold(self.node, self.index, False)

    def as_leaf(self, token: object) -> Value:
        """A leaf of the same data, reported as ``token``. GradientError for integers and bool."""
        leaf: Value = hooks.as_leaf(self, token)
        return leaf

    def read(self) -> Any:
        """The data as a fresh, writable NumPy array; evaluates what is pending.

        Raises ExecutionError if computing the value failed.
        """
        return hooks.read(self)

    def read_number(self) -> Any:
        """The only element as a Python number, as NumPy's ``item`` gives it; like :meth:`read`.

        For a value of one element, whatever its number of dimensions.
        """
        return hooks.read_number(self)

    def __repr__(self) -> str:
        state = ("pending", "scheduled", "computed", "failed", "dead", "mapped")[self.node.state]
        return f"<Value {self.type.text} {state}>"


def hold(node: Node, index: int, requires_grad: bool) -> Value:
    """Return a new handle of a node's result; the caller holds the lock."""
    node.handles += 1
    if requires_grad:
        node.carried += 1
    counts = node.out_handles
    if counts is not None:
        counts.add(index, 1)
    return Value(node, index, requires_grad)


def drain() -> None:
    """Account for released values; the caller holds the lock."""
    released = trace.released
    while released:
        node = released.pop()
        if node.refs == 0 and node.state != DEAD:
            if node.handles == 0:
                kill(node)
            else:
                drop_unheld(node)


def drop_unheld(node: Node) -> None:
    """Release the buffers of results that have no handle any more."""
    counts = node.out_handles
    if counts is not None and node.buffers is not None:
        for i in range(len(node.types)):
            if counts.of(i) == 0:
                drop_buffer(node, i)


def drop_buffer(node: Node, index: int) -> None:
    assert node.buffers is not None
    buffer = node.buffers[index]
    if buffer is not None:
        buffer.owners -= 1
        node.buffers[index] = None
        if buffer.recoverable:
            if trace.failing:
                buffer.recoverable = False
            else:
                empty(buffer)


def empty(buffer: Buffer) -> None:
    """Release the memory of a recoverable buffer that nobody owns and no plan is about to use."""
    if buffer.owners == 0 and buffer.holds == 0:
        buffer.array = None
        buffer.host = None


def kill(node: Node) -> None:
    """Take apart a node that nothing refers to, and whatever only it kept alive."""
    kill_all([node])


def kill_all(work: list[Node]) -> None:
    """Take apart a list of nodes, and what only they kept alive; iteratively, emptying the list."""
    while work:
        n = work.pop()
        if n.state == DEAD:
            continue
        if n.state == PENDING:
            c = n.component
            if not (isinstance(c, Unlinked) and c.loose):
                c = find(n)
            if c is not None:
                c.dead += 1
                if c.dead == len(c.nodes):
                    trace.components.pop(c, None)
                    c.nodes = []
                    c.dead = 0
                elif c.dead > DEAD_NODES and c.dead * 2 > len(c.nodes):
                    c.nodes = [m for m in c.nodes if m.state == PENDING and m is not n]
                    c.dead = 0
        n.state = DEAD
        release_inputs(n, work)
        buffers = n.buffers
        if buffers is not None:
            for i in range(len(buffers)):
                drop_buffer(n, i)
            n.buffers = None
        n.evaluation = None
        n.cut_history = n.mapping = None
        n.token = n.rule = None


def release_inputs(n: Node, work: list[Node]) -> None:
    """Drop the operands of a node; those that nothing refers to any more go to ``work``."""
    inputs = n.inputs
    n.inputs = ()
    for m in inputs:
        if isinstance(m, Node):
            m.refs -= 1
            if m.refs == 0:
                if m.handles == 0:
                    if m.state != DEAD:
                        work.append(m)
                else:
                    drop_unheld(m)


def find(n: Node) -> Component | None:
    """The component of a pending node, with path compression."""
    c = n.component
    if c is None or c.parent is None:
        return c
    if isinstance(c, Unlinked):
        c.settle()
        return find(n)
    parent: Component | None = c.parent
    while parent is not None:
        further: Component | None = parent.parent
        if further is not None:
            c.parent = further
            parent = further
        c = parent
        parent = c.parent
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
    a.since = min(a.since, b.since)
    history = a.cut_history
    if history is None:
        history = a.cut_history = b.cut_history
    # a component that was examined is not examined again for each small one that joins it
    a.check_at = max(a.check_at, b.check_at)
    if history is not None and history.blocks:
        a.check_at = history.check_at
    b.parent = a
    b.nodes = []
    trace.components.pop(b, None)
    return a


def connect(node: Node, fresh: bool) -> bool:
    """Enter a node in the component of its operands, unless it is mapped.

    Return False if no operand is pending or continues a cut trace: the node begins a component.
    The operands of a ``fresh`` node, which was just recorded, are counted. The caller holds the
    lock, or is alone: nothing here then lets another thread run.
    """
    component: Component | None = None
    depth = 0
    history: CutHistory | None = None
    mapping: Any = None
    for m in node.inputs:
        if isinstance(m, Node):
            if fresh:
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
            elif m.cut_history is not None:
                history = m.cut_history
            elif m.state == MAPPED:
                mapping = m.mapping
    if mapping is not None:
        node.state = MAPPED
        node.mapping = mapping
        return True
    if component is None:
        if history is None and depth == 0:
            return False
        component = Component()
        trace.components[component] = None
    if history is not None and component.cut_history is None and component.depth < 2:
        component.cut_history = history
        component.check_at = history.check_at
    _enter(node, component, depth + 1)
    return True


def begin_component(node: Node) -> None:
    """Enter a node in a component of its own; the caller holds the lock, or is alone."""
    component = Component()
    trace.components[component] = None
    _enter(node, component, 1)


def _enter(node: Node, component: Component, depth: int) -> None:
    node.component = component
    node.depth = depth
    if depth > component.depth:
        component.depth = depth
    component.nodes.append(node)


def by_sequence(n: Node) -> int:
    """The sort key of the order of recording."""
    return n.seq


def oldest_first() -> list[Component]:
    """The components, oldest first; the caller holds the lock."""
    return sorted(trace.components, key=lambda component: component.since)


def last_sequence() -> int:
    """The number of the newest node.

    Example:

        >>> lazyloom.last_sequence() >= 0
        True
    """
    return trace.sequence


def leaf_node(type: TensorType, buffer: Buffer) -> Node:
    """Return a node whose data already exists; the caller holds the lock."""
    trace.started = True
    trace.sequence += 1
    node = Node(None, (), None, (type,), trace.sequence, None, 0)
    node.state = DONE
    node.buffers = [buffer]
    buffer.owners += 1
    return node


def leaf_value(type: TensorType, buffer: Buffer, requires_grad: bool = False) -> Value:
    """Return a value whose data already exists."""
    with trace.lock:
        return hold(leaf_node(type, buffer), 0, requires_grad)
