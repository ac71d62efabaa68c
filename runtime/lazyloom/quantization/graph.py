"""The ops that a function records, as a graph that can be rewritten and recorded again.

The function runs once, on placeholders. Values that depend on none of them are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import ArgumentError
from ..ops.spec import OpDef, lookup
from ..trace.graph import MAPPED, Node, Value, by_sequence
from ..trace.mapping import BodyCall, placeholder
from ..trace.recording import record_spec
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..trace.specs import Spec, spec_of
from ..trace.switches import grad_mode
from ..trace.tape import Recomputed, value_of
from ..types import TensorType


class Op:
    """An op of a graph: its spec, its operands, and the types of its results."""

    __slots__ = ("spec", "operands", "types")

    def __init__(
        self, spec: Spec, operands: Sequence[Source | None], types: Sequence[TensorType]
    ) -> None:
        self.spec: Final = spec
        self.operands: Final = tuple(operands)
        self.types: Final = tuple(types)

    @property
    def kind(self) -> OpDef:
        """The entry of the op table."""
        return self.spec.op

    def __repr__(self) -> str:
        return f"<{self.kind.name} : {', '.join(t.text for t in self.types)}>"


class OpOutput(NamedTuple):
    """A result of an op."""

    op: Op
    number: int

    @property
    def type(self) -> TensorType:
        """Its type."""
        return self.op.types[self.number]


class Given(NamedTuple):
    """An argument of the function."""

    number: int
    type: TensorType


class Constant:
    """A value that depends on no argument. Two are equal only if they are the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value: Final = value

    @property
    def type(self) -> TensorType:
        """Its type."""
        return self.value.type


#: an operand
Source: TypeAlias = "OpOutput | Given | Constant | Scalar"


class OpGraph(NamedTuple):
    """Ops in an order in which they can run, and the results that are returned."""

    ops: list[Op]
    results: list[Source]

    def text(self) -> str:
        """Return the ops as text, one per line."""
        numbers = {op: n for n, op in enumerate(self.ops)}

        def shown(x: Source | None) -> str:
            if isinstance(x, OpOutput):
                return f"%{numbers[x.op]}" + (f".{x.number}" if x.number else "")
            if isinstance(x, Given):
                return f"argument {x.number}"
            if isinstance(x, Constant):
                return f"constant {x.type.text}"
            return "_" if x is None else repr(x.number)

        lines = [f"%{n} = {op.kind.name}({', '.join(map(shown, op.operands))}) : "
                 f"{', '.join(t.text for t in op.types)}" for n, op in enumerate(self.ops)]
        return "\n".join([*lines, f"return {', '.join(map(shown, self.results))}"])

    def uses(self) -> dict[Source, int]:
        """Return how often each result is an operand, or returned."""
        counts: dict[Source, int] = {}
        for x in [x for op in self.ops for x in op.operands] + list(self.results):
            if isinstance(x, OpOutput):
                counts[x] = counts.get(x, 0) + 1
        return counts

    def run(self, arguments: Sequence[Value], also: Sequence[Source] = ()) -> list[Any]:
        """Record the ops on arguments; return the results, and then the values of ``also``."""
        return Recorder(self, also).record(arguments)


class Recorder:
    """Records the ops of a graph on arguments, as often as one likes.

    Values are numbered once, so that a call records and does little else.
    """

    def __init__(self, graph: OpGraph, also: Sequence[Source] = ()) -> None:
        numbers: dict[Source, int] = {}
        #: each value that is no result of an op
        self._given: Final[list[Any]] = []
        #: for each of these that is an argument, its number here and as an argument
        self._arguments: Final[list[tuple[int, int]]] = []

        def number(x: Source | None) -> int:
            if x is None:
                return 0
            if x not in numbers:
                assert not isinstance(x, OpOutput), "ops come before those that use their results"
                numbers[x] = len(self._given)
                self._given.append(x.value if isinstance(x, Constant) else x)
                if isinstance(x, Given):
                    self._arguments.append((numbers[x], x.number))
            return numbers[x]

        self._given.append(None)
        sources = [x for op in graph.ops for x in op.operands] + [*graph.results, *also]
        for x in sources:
            if not isinstance(x, OpOutput):
                number(x)
        at = len(self._given)
        for op in graph.ops:
            for n in range(len(op.types)):
                numbers[OpOutput(op, n)] = at
                at += 1
        #: the values of each op's operands by number
        self._ops: Final = [(op.spec, tuple(map(number, op.operands))) for op in graph.ops]
        self._results: Final = [number(x) for x in (*graph.results, *also)]

    def record(self, arguments: Sequence[Value]) -> list[Any]:
        """Record the ops; return the results, and then the values of ``also``."""
        values = self._given.copy()
        for at, k in self._arguments:
            values[at] = arguments[k]
        site = user_site()
        with grad_mode(False):
            for spec, operands in self._ops:
                results = record_spec(spec, [values[k] for k in operands], site=site)
                if isinstance(results, tuple):
                    values.extend(results)
                else:
                    values.append(results)
        return [values[k] for k in self._results]


def made_by(kind: str | OpDef, operands: Sequence[Source | None], **attributes: Any) -> Op:
    """Return a new op."""
    spec = spec_of(lookup(kind) if isinstance(kind, str) else kind, attributes, len(operands))
    return Op(spec, operands, spec.infer(
        tuple(None if x is None else x.type for x in operands)))


class Rewriter:
    """Rebuilds a graph, op by op, and keeps the replacement of each source."""

    def __init__(self, graph: OpGraph) -> None:
        self.graph: Final = graph
        self.uses: Final = graph.uses()
        self.ops: Final[list[Op]] = []
        self.instead: Final[dict[Source, Source]] = {}

    def of(self, x: Source) -> Source:
        """Return the replacement of a source."""
        return self.instead.get(x, x) if isinstance(x, OpOutput) else x

    def operands(self, op: Op) -> list[Source | None]:
        """Return the replacements of an op's operands."""
        return [None if x is None else self.of(x) for x in op.operands]

    def add(
        self, kind: str | OpDef, operands: Sequence[Source | None], **attributes: Any
    ) -> OpOutput:
        """Add a new op; return its first result."""
        self.ops.append(made_by(kind, operands, **attributes))
        return OpOutput(self.ops[-1], 0)

    def keep(self, op: Op) -> None:
        """Add an op as it is, on the replacements of its operands."""
        new = Op(op.spec, self.operands(op), op.types)
        self.ops.append(new)
        self.instead.update({OpOutput(op, n): OpOutput(new, n) for n in range(len(op.types))})

    def finished(self) -> OpGraph:
        """Return the new graph, without unused ops."""
        results = [self.of(x) for x in self.graph.results]
        needed = {x.op for x in results if isinstance(x, OpOutput)}
        kept = []
        for op in reversed(self.ops):
            if op in needed:
                kept.append(op)
                needed.update(x.op for x in op.operands if isinstance(x, OpOutput))
        return OpGraph(kept[::-1], results)


def recorded(
    function: Callable[[list[Value]], Sequence[Value]], types: Sequence[TensorType],
    call: BodyCall,
) -> OpGraph:  # fmt: skip
    """Return the graph of a function of values.

    Raises ArgumentError where it does something that cannot be recorded again, ReadForbiddenError
    where it reads what depends on an argument.
    """
    with call, grad_mode(False):
        arguments = [placeholder(t, call, False) for t in types]
        results = list(function(arguments))
    sources: dict[Node, Source] = {
        v.node: Given(k, v.type) for k, v in enumerate(arguments)}
    ops: dict[Node, Op] = {}
    constants: dict[tuple[Node, int], Constant] = {}
    memo = Recomputed()

    def source(x: Any, index: int) -> Source:
        if not isinstance(x, Node):
            return x  # type: ignore[no-any-return]
        if x in sources:
            return sources[x]
        if x in ops:
            return OpOutput(ops[x], index)
        if (x, index) not in constants:
            constants[x, index] = Constant(value_of(x, index, False, memo))
        return constants[x, index]

    order = _order([v.node for v in results], sources, call)
    for n in order:
        spec = n.spec
        assert spec is not None
        if spec.effect or spec.checked:
            raise ArgumentError(
                f"{call.name}: the {call.of} records {spec.op.name}, which has effects or checks "
                "data; expected ops that depend on their operands alone")
        operands: list[Source | None] = [
            None if m is None else source(m, n.indices[p] if n.indices is not None else 0)
            for p, m in enumerate(n.inputs)]
        ops[n] = Op(spec, operands, n.types)
    return OpGraph(list(ops.values()), [source(v.node, v.index) for v in results])


def _order(roots: list[Node], sources: Mapping[Node, Source], call: BodyCall) -> list[Node]:
    """Return the nodes that lead from placeholders to the roots, in the order of recording."""
    seen: set[Node] = set()
    order: list[Node] = []
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n in seen or n in sources or n.state != MAPPED or n.seq <= call.start:
            continue
        seen.add(n)
        order.append(n)
        stack.extend([m for m in n.inputs if isinstance(m, Node)])
    order.sort(key=by_sequence)
    return order
