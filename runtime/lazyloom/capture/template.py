"""The template of a captured call: its recorded ops, to be recorded or run again.

A :class:`Template` is made from the pending nodes that a call left behind: ops over numbered
*sources*, the values that existed when it began. :meth:`Template.record` records the ops again
in one loop. A :class:`Recipe` goes further for calls whose work runs at once: it keeps the plan of
such a run, so that the next one needs only its data, a node for each result, and the dispatch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from ..compiled import mypyc_attr
from ..dtypes import DType
from ..ops.spec import lookup
from ..trace import graph, switches
from ..trace.graph import DEAD, PENDING, Node, Value
from ..trace.matching.match import matching
from ..trace.recording import record_spec
from ..trace.scalars import Scalar
from ..trace.source import Site

#: kinds of operands of a template
RESULT: Final = 0
SOURCE: Final = 1
CONSTANT: Final = 2


class NotCapturable(Exception):
    """A call cannot be captured, for a reason and at a site."""

    def __init__(self, reason: str, site: object = None, retry: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site
        #: True if the next call may be capturable: only a first call has this obstacle
        self.retry = retry


@mypyc_attr(acyclic=True)
@final
class Ref:
    """An operand: a result of an earlier op, a source or a constant.

    Attributes:
        kind: RESULT, SOURCE or CONSTANT.
        number: the number of the op, source or constant.
        index: which result of an op.
        flows: whether a gradient flows to it.
    """

    __slots__ = ("kind", "number", "index", "flows")

    def __init__(self, kind: int, number: int, index: int, flows: bool) -> None:
        self.kind: Final[int] = kind
        self.number: Final[int] = number
        self.index: Final[int] = index
        self.flows: Final[bool] = flows


@mypyc_attr(acyclic=True)
@final
class Draw:
    """A run-time number that counts the draws of a generator, as an offset from the first."""

    __slots__ = ("generator", "offset", "dtype")

    def __init__(self, generator: int, offset: int, dtype: DType) -> None:
        self.generator: Final[int] = generator
        self.offset: Final[int] = offset
        self.dtype: Final[DType] = dtype

    def scalar(self, numbers: list[Any]) -> Scalar:
        return Scalar((numbers[self.generator] + self.offset) & 0xFFFFFFFF, self.dtype)


@mypyc_attr(acyclic=True)
@final
class FedNumber:
    """A run-time number that each call is fed.

    Attributes:
        position: which of the call's numbers it is.
        bakes: whether 0, 1 and -1 would be structure.
    """

    __slots__ = ("position", "dtype", "bakes")

    def __init__(self, position: int, dtype: DType, bakes: bool) -> None:
        self.position: Final[int] = position
        self.dtype: Final[DType] = dtype
        self.bakes: Final[bool] = bakes

    def scalar(self, numbers: list[Any]) -> Scalar:
        return Scalar(numbers[self.position], self.dtype, bake=self.bakes)


@mypyc_attr(acyclic=True)
@final
class Indices:
    """The range of a source's integers: at least ``least`` and below ``size``, or ``ignored``."""

    __slots__ = ("source", "least", "size", "ignored")

    def __init__(self, source: int, least: int, size: int, ignored: int) -> None:
        self.source: Final[int] = source
        self.least: Final[int] = least
        self.size: Final[int] = size
        self.ignored: Final[int] = ignored

    def has(self, number: int) -> bool:
        return self.least <= number < self.size or number == self.ignored


@final
class Root:
    """A value that the call left behind.

    Attributes:
        ref: what the value is.
        requires_grad: whether a gradient flows through it.
        token: for a leaf of the tape, where its gradient goes, else None.
        live: whether the gradient would flow on into the call.
    """

    __slots__ = ("ref", "requires_grad", "token", "live")

    def __init__(self, ref: Ref, requires_grad: bool, token: Any, live: bool) -> None:
        self.ref: Final[Ref] = ref
        self.requires_grad: Final[bool] = requires_grad
        self.token: Final[Any] = token
        self.live: Final[bool] = live


def with_gradient(value: Value, flows: bool) -> Value:
    """Return the same data as a value through which a gradient flows, or does not."""
    if value.requires_grad == flows:
        return value
    with graph.trace.lock:
        return graph.hold(value.node, value.index, flows)


@final
class Template:
    """The ops that a call recorded, in their order.

    Attributes:
        shells: a node for each op that stands for it in plans: spec, types, place, uses.
        operands: the operands of each op, each a Ref, a Scalar, a Draw, a FedNumber or None.
        roots: the values that the call left behind.
        constants: values that the call made from host data, or that were there before.
        draws: whether random numbers are drawn.
    """

    __slots__ = ("shells", "sites", "operands", "roots", "constants", "freed", "draws", "live",
                 "apart")

    def __init__(self) -> None:
        self.shells: list[Node] = []
        self.sites: list[Site] = []
        self.operands: list[list[Any]] = []
        self.roots: list[Root] = []
        self.constants: list[Value] = []
        #: ops whose tape a backward pass inside the call freed
        self.freed: list[int] = []
        self.draws: bool = False
        #: whether gradients may flow from outside into the call
        self.live: bool = False
        #: whether it is several programs, as an op may fail while it runs or is a boundary: these
        #: are planned anew each time
        self.apart: bool = False

    def record(self, sources: list[Value], numbers: list[Any]) -> list[Value]:
        """Record the ops again; return the values of :attr:`roots`.

        Args:
            sources: the sources' current contents.
            numbers: for each generator, the number of its next draw; then the fed numbers.
        """
        results: list[list[Value]] = []
        constants = self.constants
        cuts_held = switches.cuts_held()
        before = switches.set_grad_enabled(True)
        switches.hold_cuts(True)
        try:
            for k, shell in enumerate(self.shells):
                operands: list[Any] = []
                for item in self.operands[k]:
                    if isinstance(item, Ref):
                        if item.kind == RESULT:
                            value = results[item.number][item.index]
                        elif item.kind == SOURCE:
                            value = sources[item.number]
                        else:
                            value = constants[item.number]
                        if value.requires_grad != item.flows:
                            value = with_gradient(value, item.flows)
                        operands.append(value)
                    elif isinstance(item, (Draw, FedNumber)):
                        operands.append(item.scalar(numbers))
                    else:
                        operands.append(item)
                spec = shell.spec
                assert spec is not None
                result: Any = record_spec(
                    spec, operands, shell.boundary, self.sites[k])
                results.append(list(result) if isinstance(result, tuple) else [result])
        finally:
            switches.hold_cuts(cuts_held)
            switches.set_grad_enabled(before)
        if self.freed:
            with graph.trace.lock:
                for k in self.freed:
                    results[k][0].node.freed = True
        return [self._root(root, results, sources) for root in self.roots]

    def indices(self) -> list[Indices]:
        """Return the sources that ops check as positions, also after a reshape or transpose."""
        indices: list[Indices] = []
        out_of_range, invalid = lookup("first_out_of_range"), lookup("first_invalid_label")
        for k, shell in enumerate(self.shells):
            spec = shell.spec
            assert spec is not None
            labels = spec.op is invalid
            if not labels and spec.op is not out_of_range:
                continue
            item = self.operands[k][0]
            while isinstance(item, Ref) and item.kind == RESULT:
                spec = self.shells[item.number].spec
                assert spec is not None
                if not spec.op.access.layout:
                    break
                item = self.operands[item.number][0]
            if isinstance(item, Ref) and item.kind == SOURCE:
                spec = shell.spec
                assert spec is not None
                attributes = spec.attrs
                size: int = attributes["size"]
                indices.append(Indices(
                    item.number, -size if not labels and attributes["negative"] else 0, size,
                    attributes["ignore_index"] if labels else 0))
        return indices

    def _root(self, root: Root, results: list[list[Value]], sources: list[Value]) -> Value:
        ref = root.ref
        if ref.kind == RESULT:
            value = results[ref.number][ref.index]
            if root.token is not None:
                return value.as_leaf(root.token)
        elif ref.kind == SOURCE:
            value = sources[ref.number]
        else:
            value = self.constants[ref.number]
        return with_gradient(value, root.requires_grad)


def template_of(
    roots: list[Value], start: int, sources: dict[tuple[Node, int], int],
    draws: dict[tuple[Node, int], tuple[int, int]], kept: set[tuple[Node, int]],
    number_of: Callable[[Scalar], FedNumber | None] | None = None,
) -> Template:
    """Return the template of what was recorded after node number ``start``.

    Args:
        roots: the values that the call left behind.
        start: the number of the newest node before the call.
        sources: the number of each value that existed before.
        draws: for the key of each generator, the numbers of the generator and of its first draw.
        kept: values from before that are not sources and never change.
        number_of: returns what each call is fed in place of a run-time number, or None.

    Raises NotCapturable for a value that was already computed, or whose origin is unknown.
    """
    inside: dict[Node, int] = {}
    stack = [v.node for v in roots]
    while stack:
        n = stack.pop()
        if n in inside or n.seq <= start or n.spec is None:
            continue
        if n.state != PENDING:
            op = n.spec.op.name
            raise NotCapturable(
                f"the result of {op} was computed inside the call: something read it, or "
                "what depends on it", n.site)
        if n.rule is not None and not n.freed:
            raise NotCapturable("it has a derivative given by a function of the host", n.site)
        inside[n] = 0
        for m in n.inputs:
            if isinstance(m, Node):
                stack.append(m)
    template = Template()
    order = sorted(inside, key=graph.by_sequence)
    constants: dict[tuple[Node, int], int] = {}

    def ref(m: Node, index: int, flows: bool) -> Ref:
        if m in inside:
            return Ref(RESULT, inside[m], index, flows)
        source = sources.get((m, index))
        if source is not None:
            return Ref(SOURCE, source, index, flows)
        if m.spec is not None or (m.seq <= start and (m, index) not in kept):
            raise NotCapturable(
                f"a {m.types[index].text} from before the call is used that no tensor which is "
                "known to it holds", m.site, True)
        number = constants.get((m, index))
        if number is None:
            number = constants[(m, index)] = len(template.constants)
            with graph.trace.lock:
                template.constants.append(graph.hold(m, index, False))
        return Ref(CONSTANT, number, index, flows)

    for k, n in enumerate(order):
        inside[n] = k
        spec = n.spec
        assert spec is not None
        items: list[Any] = []
        draw: tuple[int, int] | None = None
        for position, m in enumerate(n.inputs):
            if isinstance(m, Node):
                index = 0 if n.indices is None else n.indices[position]
                items.append(ref(m, index, bool(n.grad_mask >> position & 1)))
                if position == 0:
                    draw = draws.get((m, index))
            elif draw is not None and isinstance(m, Scalar):
                generator, first = draw
                template.draws = True
                items.append(Draw(generator, int(m.number) - (first & 0xFFFFFFFF), m.type.dtype))
            elif number_of is not None and isinstance(m, Scalar):
                items.append(number_of(m) or m)
            else:
                items.append(m)
        if spec.effect:
            raise NotCapturable(f"{spec.op.name} has an effect outside", n.site)
        if spec.fallible:
            template.apart = True
        shell = Node(spec, (), None, n.types, 0, n.place, n.offset)
        shell.state = DEAD
        shell.boundary = n.boundary
        template.apart = template.apart or n.boundary
        shell.tracked, shell.grad_mask, shell.freed = n.tracked, n.grad_mask, n.freed
        template.shells.append(shell)
        template.sites.append(n.site)
        template.operands.append(items)
        if n.freed:
            template.freed.append(k)
    for v in roots:
        n = v.node
        is_inside = n in inside
        token = v.token if is_inside and v.requires_grad else None
        live = is_inside and v.requires_grad and token is None and not n.freed
        template.live = template.live or live
        template.roots.append(Root(ref(n, v.index, v.requires_grad), v.requires_grad, token, live))
    return template


def settle_all() -> None:
    """Turn all matches into ordinary pending work (:mod:`lazyloom.trace.matching`)."""
    with graph.trace.lock:
        for match in list(matching.matches):
            match.settle()


def left_behind(start: int, roots: list[Value], thread: int) -> Node | None:
    """Return a node recorded after ``start`` whose result something unknown holds, or None."""
    root_nodes = {v.node for v in roots}
    with graph.trace.lock:
        graph.drain()
        for component in graph.trace.components:
            if component.thread != thread:
                continue
            for n in component.nodes:
                if n.state == PENDING and n.seq > start and n not in root_nodes and (
                    n.handles > 0 or n.spec is not None and n.spec.effect
                ):
                    return n
    return None


