"""Reverse-mode differentiation of recorded work, op by op, from outputs to leaves.

A backward node is the vjp of its forward op, itself an op, so gradients can be differentiated
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

from ..errors import ArgumentError, GradientError, ShapeError, reraised
from ..evaluate import cuts
from ..ops.bodies import refuses_reverse
from ..ops.derived import BACKWARD, FORWARD, VJP, types_attributes
from ..ops.spec import OpDef, lookup
from ..trace import graph, switches
from ..trace.constraints import fitted
from ..trace.graph import MAPPED, PENDING, Node, Value
from ..trace.recording import record, record_spec, record_two
from ..trace.results import Handles, Tokens
from ..trace.scalars import Scalar
from ..trace.specs import Consuming, NewestVjp, Spec, spec_of
from ..trace.tape import Recomputed, operand_of_derivative, value_of
from ..types import TensorType
from .custom_rules import apply_vjp

Cotangent: TypeAlias = "Value | Scalar"
#: called with the cotangent of a result once it is complete; returns the one to continue with
Observers: TypeAlias = "Mapping[tuple[Node, int], Callable[[Value], Value]]"
#: called with each node that the pass went through, and with those of its operands
Inspector: TypeAlias = "Callable[[Node, Sequence[Any]], None]"


def visit_below(
    outputs: Sequence[Value], wanted: set[Node] | None, visited: dict[Node, bool],
    order: list[Node], ends: set[Node] | None = None,
    tokens: dict[object, list[tuple[Node, int]]] | None = None,
    targets: set[tuple[Node, int]] | None = None,
) -> None:  # fmt: skip
    """Find the tracked nodes below the outputs, in the order of recording.

    ``visited`` says which of them lead to one of the ``wanted`` nodes (to any, for None), or
    to the results ``targets`` of those. Nodes below the ``ends`` are left out. Leaves reported
    as one of the ``tokens`` are wanted, and are added there and to the targets.

    Raises GradientError for a freed node that may lead to a wanted one, and the error of a node
    that failed. A freed node leads to nothing that was recorded after it.
    """
    everything = wanted is None
    oldest = 0
    if wanted and not tokens:
        oldest = min([n.seq for n in wanted])
    stack: list[Node] = []
    for o in outputs:
        if o.requires_grad:
            stack.append(o.node)
    while stack:
        n = stack.pop()
        if n in visited:
            continue
        visited[n] = everything
        order.append(n)
        if tokens is not None and wanted is not None and n.token is not None:
            for index in range(len(n.types)):
                token = graph.token_of(n, index)
                if token is not None and token in tokens:
                    wanted.add(n)
                    tokens[token].append((n, index))
                    if targets is not None:
                        targets.add((n, index))
        if ends is not None and n in ends:
            continue
        if n.tracked:
            if n.state == graph.FAILED and n.error is not None:
                raise reraised(n.error)
            if n.freed:
                if n.seq > oldest:
                    raise _freed(n)
                continue
            mask = n.grad_mask
            for m in n.inputs:
                if mask & 1 and isinstance(m, Node):
                    stack.append(m)
                mask >>= 1
    order.sort(key=graph.by_sequence)
    if wanted is not None:
        for n in order:
            leads = n in wanted
            if not leads and n.tracked and not n.freed and (ends is None or n not in ends):
                mask = n.grad_mask
                for position, m in enumerate(n.inputs):
                    if mask & 1 and isinstance(m, Node) and visited[m] and (
                        targets is None or _is_target(m, _index(n, position), targets)
                    ):
                        leads = True
                        break
                    mask >>= 1
            visited[n] = leads


def _index(n: Node, position: int) -> int:
    indices = n.indices
    return 0 if indices is None else indices[position]


def _is_target(m: Node, index: int, targets: set[tuple[Node, int]]) -> bool:
    """Return True if a result of a node that leads to a target does so: not all leaves need to."""
    return not isinstance(m.token, Tokens) or (m, index) in targets


@final
class ResultOf:
    """Returns the results of a node to the function of the host that is its rule.

    A class, since a function inside a compiled one would keep that call's values alive.
    """

    __slots__ = ("node", "keep", "memo")

    def __init__(self, node: Node, keep: bool, memo: Recomputed) -> None:
        self.node: Node = node
        self.keep: bool = keep
        self.memo: Recomputed = memo

    def __call__(self, index: int) -> Value:
        keep = self.keep and self.node.types[index].dtype.is_inexact
        return value_of(self.node, index, keep, self.memo)


@final
class BackwardPass:
    """One backward pass: the visited part of the tape and the cotangents so far.

    Attributes:
        found: cotangents of the targets, or of all leaves.
        leaves: (token, node, result) of the leaves that were reached.
        visited: the nodes below the outputs, and whether they lead to a target.
        passed: the nodes whose operands received cotangents.
        origins: for each node recorded by the pass, the node it belongs to; only if ``learning``.
    """

    __slots__ = ("create_graph", "targets", "cotangents", "found", "leaves", "visited", "order",
                 "memo", "observers", "inspect", "ends", "passed", "learning", "origins")

    def __init__(
        self, outputs: Sequence[Value], cotangents: Sequence[Value | None] | None,
        targets: set[tuple[Node, int]] | None, create_graph: bool,
        observers: Observers | None = None, inspect: Inspector | None = None,
        stop: bool = False, tokens: dict[object, list[tuple[Node, int]]] | None = None,
    ) -> None:  # fmt: skip
        #: the targets, if the pass must not continue through them
        self.ends: set[Node] | None = None
        if stop and targets is not None:
            self.ends = {node for node, _ in targets}
        self.create_graph: bool = create_graph
        self.observers: Any = observers
        self.inspect: Any = inspect
        self.targets: set[tuple[Node, int]] | None = targets
        #: the cotangents received so far, one per result
        self.cotangents: dict[Node, list[Any]] = {}
        self.found: dict[tuple[Node, int], Any] = {}
        self.leaves: list[tuple[object, Node, int]] = []
        self.visited: dict[Node, bool] = {}
        self.passed: dict[Node, bool] = {}
        self.order: list[Node] = []
        self.learning: bool = False
        self.origins: dict[Node, Node] = {}
        self.memo: Recomputed = Recomputed()
        check_values("outputs", outputs)
        if cotangents is not None and len(cotangents) != len(outputs):
            raise ArgumentError(
                f"{len(cotangents)} cotangents were given for {len(outputs)} outputs")
        visit_below(
            outputs, None if targets is None else {node for node, _ in targets}, self.visited,
            self.order, self.ends, tokens, targets)
        self.memo.differentiable = create_graph
        self.memo.renew(self.order)
        # what the caller passed, whatever the annotations say: _seed checks it
        seeds: Sequence[Any] | None = cotangents
        for i, out in enumerate(outputs):
            seed: Any = seeds[i] if seeds is not None else None
            self._add(out.node, out.index, _seed(out, seed))

    def _add(self, n: Node, index: int, cotangent: Any) -> None:
        arrived = self.cotangents.get(n)
        if arrived is None:
            arrived = [None] * len(n.types)
            self.cotangents[n] = arrived
        before = arrived[index]
        if before is None:
            arrived[index] = cotangent
        elif isinstance(before, Value) and isinstance(cotangent, Value):
            arrived[index] = record_two(spec_of(lookup("add"), None, 2), before, cotangent)
        else:
            arrived[index] = record("add", [before, cotangent])

    def run(self) -> None:
        """Propagate the cotangents down the tape, later nodes first."""
        try:
            for n in reversed(self.order):
                cotangents = self.cotangents.pop(n, None)
                if cotangents is not None:
                    self._pass(n, cotangents)
        finally:
            switches.hold_cuts(False)

    def _pass(self, n: Node, arrived: list[Any]) -> None:
        """Take a node's cotangents, and pass their cotangents to its operands."""
        outnums: list[int] = []
        cotangents: list[Any] = []
        targets = self.targets
        hosted = n.rule is not None
        if self.observers is not None:
            self._observe(n, arrived)
        for index, cotangent in enumerate(arrived):
            if cotangent is None:
                continue
            if targets is not None:
                if (n, index) in targets:
                    self.found[(n, index)] = cotangent
            elif n.token is not None:
                token = graph.token_of(n, index)
                if token is not None:
                    self.found[(n, index)] = cotangent
                    self.leaves.append((token, n, index))
            outnums.append(index)
            cotangents.append(cotangent)
        newest: Any = None
        if n.tracked and outnums and not n.freed and (self.ends is None or n not in self.ends):
            self.passed[n] = True
            newest = self._hosted(n, arrived) if hosted else self._through(n, outnums, cotangents)
        # Values computed again for n are no longer needed: later nodes are finished. While there
        # are more of them, a cut would make an output of each.
        if self.memo.started and self.memo.passed(n) and self.memo.ahead == 0:
            switches.hold_cuts(False)
            if isinstance(newest, Value):
                cuts.at_seam(newest.node)

    def _observe(self, n: Node, arrived: list[Any]) -> None:
        for index, cotangent in enumerate(arrived):
            if cotangent is not None:
                observer = self.observers.get((n, index))
                if observer is not None:
                    arrived[index] = observer(as_value(cotangent, n, index))

    def _hosted(self, n: Node, arrived: list[Any]) -> Any:
        """:meth:`_through` for a node whose rule is a function of the host."""
        rule: Any = n.rule
        result_of = ResultOf(n, self.create_graph, self.memo)
        cotangents = [
            None if c is None else as_value(c, n, i) for i, c in enumerate(arrived)]
        inputs = n.inputs[rule.results :]
        indices = n.indices
        types = [
            _input_type(n, p) for p in range(rule.results, len(n.inputs))]
        pulled = apply_vjp(rule, types, result_of, cotangents)
        if self.inspect is not None:
            self.inspect(n, pulled)
        newest: Any = None
        for at, m in enumerate(inputs):
            position = rule.results + at
            if pulled[at] is None or not n.grad_mask >> position & 1 or not isinstance(m, Node):
                continue
            index = 0 if indices is None else indices[position]
            if m.types[index].dtype.is_inexact and self._leads(m, index):
                newest = pulled[at]
                self._add(m, index, newest)
        return newest

    def _leads(self, m: Node, index: int) -> bool:
        """Return True if a result leads to a target, or to a leaf if there are no targets."""
        targets = self.targets
        return self.visited.get(m, False) and (
            targets is None or _is_target(m, index, targets))

    def _through(self, n: Node, outnums: list[int], cotangents: list[Any]) -> Any:
        """Pass cotangents to a node's operands; returns the last of them."""
        spec = n.spec
        assert spec is not None
        argnums: list[int] = []
        named = spec.op.derivative.differentiable
        mask = n.grad_mask
        for position, m in enumerate(n.inputs):
            if not mask >> position & 1 or not isinstance(m, Node):
                continue
            index = 0 if n.indices is None else n.indices[position]
            if not m.types[index].dtype.is_inexact or not self._leads(m, index):
                continue
            if isinstance(named, tuple) and spec.op.operand_name(position) not in named:
                continue
            argnums.append(position)
        if not argnums:
            return None
        if spec.op.root.derivative.irreversible is not None:
            _refuse_irreversible(n, spec, argnums)
        # the pass may make the node emit residuals, but leaves its operands
        inputs = n.inputs
        indices = n.indices
        if spec.op.derivative.residuals is not False:
            _emit_residuals(n, tuple(argnums))
            spec = n.spec
            assert spec is not None
        results: Any = self._from_residuals(n, spec, argnums, outnums, cotangents)
        if results is None:
            results = self._from_operands(n, spec, argnums, outnums, cotangents)
        if self.inspect is not None:
            self.inspect(n, results)
        newest: Any = None
        for at, position in enumerate(argnums):
            newest = results[at]
            m = inputs[position]
            assert isinstance(m, Node)
            self._add(m, 0 if indices is None else indices[position], newest)
        return newest

    def _from_operands(
        self, n: Node, spec: Spec, argnums: list[int], outnums: list[int], cotangents: list[Any]
    ) -> Any:
        operands: list[Any] = []
        if self.memo.renewed:
            for c in cotangents:
                if isinstance(c, Value):
                    self.memo.after = c
        complex_operands = self.create_graph and _any_complex(n)
        for p in range(len(n.inputs)):
            keep = self.create_graph and spec.depends(p, argnums, complex_operands)
            operands.append(operand_of_derivative(n, p, keep, self.memo))
        operands.extend(cotangents)
        newest = spec.newest_vjp
        if newest is not None and newest.arity == len(operands) and newest.argnums == argnums and (
            newest.outnums == outnums
        ):
            derivative = newest.spec
        else:
            derivative = _vjp_spec(spec, len(n.inputs), tuple(argnums), tuple(outnums))
            spec.newest_vjp = NewestVjp(len(operands), argnums, outnums, derivative)
        result = record_spec(derivative, operands, False, n.site)
        results: tuple[Value, ...] = result if isinstance(result, tuple) else (result,)
        if self.learning:
            self.origins[results[0].node] = n
        return results

    def _from_residuals(
        self, n: Node, spec: Spec, argnums: list[int], outnums: list[int], cotangents: list[Any]
    ) -> Any:
        """The same from the residuals, if the forward op emitted any; else None."""
        base = spec.op.base
        if base is None or spec.op.kind != FORWARD:
            return None
        types = tuple([_input_type(n, p) for p in range(len(n.inputs))])
        key = (types, tuple(outnums))
        consuming = spec.consuming.get(key)
        if consuming is None:
            consuming = spec.consuming[key] = _consuming(
                spec, base, types, tuple(outnums), len(n.types))
        known_argnums = consuming.known
        for w in argnums:
            if w not in known_argnums:
                return None
        for g in outnums:
            if g >= consuming.primary:
                return None
        operands: list[Any] = []
        for index in range(consuming.primary, len(n.types)):
            operands.append(value_of(
                n, index, self.create_graph and n.types[index].dtype.is_inexact, self.memo))
        operands.extend(cotangents)
        result = record_spec(consuming.spec, operands, False, n.site)
        results: tuple[Value, ...] = result if isinstance(result, tuple) else (result,)
        if self.learning:
            self.origins[results[0].node] = n
        return [results[known_argnums.index(w)] for w in argnums]


def _consuming(
    spec: Spec, base: OpDef, types: tuple[TensorType | None, ...], outnums: tuple[int, ...],
    count: int,
) -> Consuming:  # fmt: skip
    """The derivative of a spec with residuals among its ``count`` results, computed from them."""
    attrs = dict(spec.attrs)
    known_argnums: tuple[int, ...] = attrs.pop("forward_argnums")
    primary = len(spec_of(base, attrs, len(types)).infer(types))
    for g in outnums:
        if g >= primary:
            # a residual has a cotangent: the caller uses the operands instead
            return Consuming(spec, primary, known_argnums)
    attrs.update(types_attributes(types), backward_argnums=known_argnums, backward_outnums=outnums)
    derivative = spec_of(base.derive(BACKWARD), attrs, count - primary + len(outnums))
    return Consuming(derivative, primary, known_argnums)


def _any_complex(n: Node) -> bool:
    for p in range(len(n.inputs)):
        t = _input_type(n, p)
        if t is not None and t.dtype.is_complex:
            return True
    return False


def _refuse_irreversible(n: Node, spec: Spec, argnums: list[int]) -> None:
    """Raise GradientError where no cotangents can be pulled back through a loop."""
    why = refuses_reverse(spec.op, spec.attrs, argnums)
    if why:
        name = spec.op.root.name
        raise GradientError(
            f"{name}: the gradient of one recorded at {n.site} is needed, but {why}", op=name,
            site=str(n.site))


def _freed(n: Node) -> GradientError:
    op = n.spec.op.name if n.spec is not None else None
    return GradientError(
        f"the tape through {op or 'a leaf'}, recorded at {n.site}, was freed by an earlier "
        "backward pass; pass retain_graph=True to the first one to go through it again",
        op=op, site=str(n.site))


def _vjp_spec(spec: Spec, primals: int, argnums: tuple[int, ...], outnums: tuple[int, ...]) -> Spec:
    """The spec of an op's vjp, kept with the op's spec."""
    key = (primals, argnums, outnums)
    derivative = spec.vjps.get(key)
    if derivative is None:
        vjp = spec.op.derive(VJP)
        names = vjp.own
        attrs = {**spec.attrs, names[0]: primals, names[1]: argnums, names[2]: outnums}
        derivative = spec.vjps[key] = spec_of(vjp, attrs, primals + len(outnums))
    return derivative


def _input_type(n: Node, position: int) -> TensorType | None:
    m = n.inputs[position]
    if m is None:
        return None
    if isinstance(m, Node):
        return m.types[0 if n.indices is None else n.indices[position]]
    assert isinstance(m, Scalar)
    return m.type


def _emit_residuals(n: Node, argnums: tuple[int, ...]) -> None:
    """Make a node that is still pending emit the residuals of its vjp."""
    spec = n.spec
    assert spec is not None
    if n.state != PENDING and n.state != MAPPED:
        return
    types = tuple([_input_type(n, p) for p in range(len(n.inputs))])
    emitting = spec.emitting.get(argnums)
    if emitting is None:
        attrs = {**spec.attrs, "forward_argnums": argnums}
        emitting = spec.emitting[argnums] = spec_of(spec.op.derive(FORWARD), attrs, len(types))
    with graph.trace.lock:
        if n.state == PENDING or n.state == MAPPED:
            emit(n, emitting)


def emit(n: Node, emitting: Spec) -> None:
    """Give a pending node a spec that emits residuals; the caller holds the lock."""
    results = emitting.infer(tuple([_input_type(n, p) for p in range(len(n.inputs))]))
    counts = Handles(len(results), 0)
    for index in range(len(n.types)):
        handles = n.handles if n.out_handles is None else n.out_handles.of(index)
        counts.add(index, handles)
    n.out_handles = counts
    n.types = results
    n.spec = emitting


def check_values(name: str, values: Any) -> None:
    if not isinstance(values, (list, tuple)):
        raise ArgumentError(
            f"{name} is a {type(values).__name__}, expected a list or tuple of values")
    for i, v in enumerate(values):
        if not isinstance(v, Value):
            raise ArgumentError(
                f"{name}[{i}] is a {type(v).__name__}, expected a Value (of a tensor, its .value)")


def _seed(out: Value, seed: Any) -> Cotangent:
    """The cotangent to start from: ``seed``, or 1 for a 0-d output."""
    if not out.requires_grad:
        raise GradientError(
            f"the gradient of a {out.type.text} was asked for, but it depends on nothing that "
            "requires one; mark what to differentiate before it is used")
    if seed is None:
        if out.shape != ():
            raise GradientError(
                f"the gradient of a {out.type.text} was asked for without a cotangent, which only "
                "a 0-d output has by itself; reduce it first, or give a cotangent of its type")
        return Scalar(1, out.dtype)
    if not isinstance(seed, (Value, Scalar)):
        raise ArgumentError(
            f"a cotangent is a {type(seed).__name__}, expected a Value of type {out.type.text} "
            "or None")
    found: Value | Scalar = fitted(seed, out.type) if isinstance(seed, Value) else seed
    if not found.type.agrees(out.type):
        error = ShapeError if found.type.shape != out.shape else GradientError
        raise error(
            f"the cotangent is {found.type.text}, expected {out.type.text} as the output is")
    return found


def as_value(cotangent: Cotangent, like: Node, index: int) -> Value:
    if isinstance(cotangent, Value):
        return cotangent
    t = like.types[index]
    seeded: Value = record("full", [cotangent], {"shape": t.shape})
    return seeded
