"""Functions recorded as bodies of loops and branches.

A function runs once, on placeholders. From them it records ordinary nodes that never run
(``graph.MAPPED``); the part that leads to its results becomes a body
(:mod:`lazyloom.ops.bodies`). Every value that it uses from outside, and every Python number but 0,
1 and -1, becomes an operand of the loop, so a number that changes costs no compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import GradientError
from ..ops.bodies import BodyConstant, BodyInput, BodyInstruction, BodyResult, Use, body_text
from ..ops.spec import lookup
from ..trace import graph, switches
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.mapping import BodyCall, placeholder
from ..trace.recording import record, record_spec
from ..trace.scalars import Scalar
from ..trace.specs import spec_of
from ..trace.tape import Recomputed, value_of
from ..types import TensorType, whole_type


class _Outer(NamedTuple):
    """Operand ``number`` among those from outside."""

    number: int


class _Use(NamedTuple):
    """A use recorded before the leaves are known.

    ``stopped`` is None if the op that reads it has no derivative, so it makes no difference.
    """

    source: BodyInput | BodyResult | BodyConstant | _Outer
    stopped: bool | None


class _Step(NamedTuple):
    """An instruction of the body to be built."""

    spec: Any
    operands: tuple[_Use | None, ...]


class Flag(NamedTuple):
    """A flag that is checked before anything that depends on the loop is read (op ``checked``)."""

    use: _Use
    type: TensorType
    attrs: dict[str, Any]
    site: Any


class Outside:
    """The values that the bodies of one loop or branch use from outside, one operand each."""

    def __init__(self) -> None:
        self._numbers: Final[dict[Any, int]] = {}
        self._found: Final[list[tuple[Any, int]]] = []
        #: true for each operand to which a gradient flows
        self.flows: Final[list[bool]] = []

    def number(self, thing: Any, index: int, flows: bool) -> _Outer:
        """The operand for a result of a node, or for a Scalar."""
        # each Scalar is an operand of its own, even if its number equals another's
        key = (id(thing), index)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._found)
            self._found.append((thing, index))
            self.flows.append(False)
        if flows:
            self.flows[number] = True
        return _Outer(number)

    @property
    def types(self) -> list[TensorType]:
        return [x.types[i] if isinstance(x, Node) else x.type for x, i in self._found]

    def operands(self) -> list[Any]:
        """The operands as values or Scalars to record with."""
        memo = Recomputed()
        try:
            return [value_of(x, i, f, memo) if isinstance(x, Node) else x
                    for (x, i), f in zip(self._found, self.flows, strict=True)]
        finally:
            switches.hold_cuts(False)


#: takes values and returns values or Scalars
Function: TypeAlias = "Callable[[list[Value]], Sequence[Value | Scalar]]"


class Recorded:
    """A function that was recorded.

    Attributes:
        call: the call.
        own: how many leaves it receives; those from outside follow.
        step: whether the last of these is the number of the step.
        steps: the instructions of the body to be built.
        results: its results.
        result_types: their types, which say nothing of where they lie: the program does.
        flags: the flags of its checks, which may also be results for :meth:`text`.
        hosted: names of functions in it whose derivative is a function of the host.
    """

    def __init__(
        self, call: BodyCall, function: Function, types: Sequence[TensorType], outside: Outside
    ) -> None:
        self.call: Final = call
        self.outside: Final = outside
        self.steps: Final[list[_Step]] = []
        self.flags: Final[list[Flag]] = []
        self.hosted: Final[list[str]] = []
        self._records_gradients: Final = switches.grad_enabled()
        self._of: Final[dict[Node, list[_Use]]] = {}
        with call:
            leaves = [placeholder(
                t, call, self._records_gradients and t.dtype.is_inexact) for t in types]
            returned = list(function(leaves))
        self.step: Final = call.step is not None
        if call.step is not None:
            leaves.append(call.step)
            # its node refers to the call, and would keep itself alive
            call.step = None
        self.own = len(leaves)
        self.own_types = [v.type for v in leaves]
        for number, v in enumerate(leaves):
            self._of[v.node] = [_Use(BodyInput(number), False)]
        # the returned values keep the nodes alive while they are visited
        with graph.trace.lock:
            self._follow([v.node for v in returned if isinstance(v, Value)])
            self.results: Final = [self._result(v) for v in returned]
        self.result_types: Final = [whole_type(v.type) for v in returned]

    def _inside(self, n: Node) -> bool:
        """Return True if the function recorded a node."""
        return n.seq > self.call.start and n.spec is not None and n.token is None and (
            n.state == MAPPED or n.state == PENDING)

    def _follow(self, roots: list[Node]) -> None:
        """Turn the nodes that lead to the roots into instructions, in the order of recording."""
        order: list[Node] = []
        seen: set[Node] = set(self._of)
        stack = roots
        while stack:
            n = stack.pop()
            if n in seen or not self._inside(n):
                continue
            seen.add(n)
            order.append(n)
            stack.extend([m for m in n.inputs if isinstance(m, Node)])
        order.sort(key=graph.by_sequence)
        for n in order:
            self._add(n)

    def _add(self, n: Node) -> None:
        spec = n.spec
        assert spec is not None
        named = spec.op.derivative.differentiable
        inexact = any(t.dtype.is_inexact for t in n.types)
        operands: list[_Use | None] = []
        for position, m in enumerate(n.inputs):
            if m is None:
                operands.append(None)
                continue
            flows = n.tracked and bool(n.grad_mask >> position & 1) and not (
                isinstance(named, tuple) and spec.op.operand_name(position) not in named
                and spec.op.operand_name(position).partition("[")[0] not in named)
            index = 0
            if isinstance(m, Node) and n.indices is not None:
                index = n.indices[position]
            operands.append(self._use(m, index, flows, inexact))
        if spec.checked:
            # it passes both operands through, and the second is checked after the loop
            value, flag = operands
            assert value is not None and flag is not None
            self._of[n] = [value, flag]
            self.flags.append(Flag(flag, n.types[1], dict(spec.attrs), n.site))
            return
        if n.rule is not None and n.tracked:
            self.hosted.append(n.rule.name)
        number = len(self.steps)
        self.steps.append(_Step(spec, tuple(operands)))
        self._of[n] = [_Use(BodyResult(number, i), False) for i in range(len(n.types))]

    def _use(self, m: Any, index: int, flows: bool, matters: bool) -> _Use:
        """A use of a node's result or a Scalar.

        Args:
            flows: a gradient passes.
            matters: the op that reads it has a derivative.
        """
        if isinstance(m, Scalar):
            if m.baked is not None:
                return _Use(BodyConstant(m.baked.number, m.baked.dtype), None)
            return _Use(self.outside.number(m, 0, False), None)
        uses = self._of.get(m)
        if uses is None:
            # the tape of a function that is differentiated inside ends with it; a placeholder
            # of another function continues the tape at the value it stands for
            flows = flows and (m.tracked or m.token is not None or m.rule is not None or (
                m.spec is None and m.grad_mask != 0))
            return _Use(self.outside.number(m, index, flows), not flows if matters else None)
        inner = uses[index]
        if not matters or not self._records_gradients or not m.types[index].dtype.is_inexact:
            return _Use(inner.source, None)
        carries = m.tracked or m.grad_mask != 0
        stopped = carries and not flows
        return _Use(inner.source, bool(inner.stopped) or stopped)

    def _result(self, v: Value | Scalar) -> _Use:
        if isinstance(v, Scalar):
            return self._use(v, 0, False, False)
        return self._use(v.node, v.index, v.requires_grad, v.dtype.is_inexact)

    def text(
        self, results: Sequence[_Use] | None = None, steps: Sequence[_Step] | None = None,
    ) -> str:  # fmt: skip
        """The body, once all of a loop's functions are recorded.

        Args:
            results: these in place of its own.
            steps: these in place of its own.
        """

        def use(inner: _Use) -> Use:
            source = inner.source
            if isinstance(source, _Outer):
                stopped = inner.stopped is True and self.outside.flows[source.number]
                return Use(BodyInput(self.own + source.number), stopped)
            return Use(source, inner.stopped is True)

        instructions = [
            BodyInstruction(s.spec.op, s.spec.attrs, tuple(
                [None if o is None else use(o) for o in s.operands]))
            for s in (self.steps if steps is None else steps)]
        return body_text(
            [*self.own_types, *self.outside.types], instructions,
            [use(r) for r in (self.results if results is None else results)])

    # What a loop adds to its function.

    def add(self, op: str, operands: Sequence[_Use], attrs: dict[str, Any] | None = None) -> _Use:
        """Add an instruction; returns its result."""
        spec = spec_of(lookup(op), attrs, len(operands))
        self.steps.append(_Step(spec, tuple(operands)))
        return _Use(BodyResult(len(self.steps) - 1, 0), None)

    def include(self, other: Recorded) -> list[_Use]:
        """Include another function of the same leaves; returns the flags of its checks."""
        offset = len(self.steps)

        def moved(inner: _Use | None) -> Any:
            if inner is not None and isinstance(inner.source, BodyResult):
                source = inner.source
                return _Use(BodyResult(source.instruction + offset, source.number), inner.stopped)
            return inner

        self.steps.extend([
            _Step(s.spec, tuple([moved(o) for o in s.operands])) for s in other.steps])
        return [moved(f.use) for f in other.flags]


def leaf(number: int) -> _Use:
    """A leaf of a body."""
    return _Use(BodyInput(number), None)


def constant(number: int, type: TensorType) -> _Use:
    """The constant 0 or 1 of a type's dtype."""
    return _Use(BodyConstant(number, type.dtype), None)


def checked(results: Sequence[Value], flags: Sequence[tuple[Value, Flag]]) -> list[Value]:
    """The results of a loop, which are read only after its flags have been checked."""
    values = list(results)
    for data, flag in flags:
        spec = spec_of(lookup("checked"), flag.attrs, 2)
        for i, value in enumerate(values):
            values[i] = record_spec(spec, [value, data], False, flag.site)[0]
    return values


def results_of(
    op: str, operands: list[Any], attrs: dict[str, Any], bodies: Sequence[Recorded]
) -> list[Value]:
    """Record a loop or branch. Raises GradientError if its bodies cannot be differentiated."""
    if switches.grad_enabled() and any(isinstance(x, Value) and x.requires_grad for x in operands):
        for body in bodies:
            if body.hosted:
                raise GradientError(
                    f"{body.call.name}: the {body.call.of} uses {body.hosted[0]}, whose derivative "
                    "is a function of the host, which runs only once; record it with grad_mode("
                    "False), or write what it computes with ops", op=op, site=str(body.call.site))
    results = record(lookup(op), operands, attrs)
    return list(results) if isinstance(results, tuple) else [results]
