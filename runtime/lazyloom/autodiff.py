"""Reverse-mode gradients over recorded work, op by op.

The tape is the graph itself: a node that a gradient may flow through is ``tracked`` and
keeps its operands after it ran, as long as something alive needs them. A backward node is
the vjp of its forward op, itself an op, so gradients can be differentiated again. Where a
read fell between forward and backward, results of heavy ops were kept and the rest is
recorded again.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from . import cuts, graph
from .derived import FORWARD, backward_of, forward_of, types_text, vjp_of
from .errors import ArgumentError, GradientError, ShapeError
from .graph import DEAD, DONE, PENDING, Node, Value, hold
from .observe import counters
from .ops.spec import lookup
from .recording import record, record_spec
from .scalars import Scalar
from .specs import Spec, spec_of
from .types import TensorType

Cotangent: TypeAlias = "Value | Scalar"


def make_leaf(value: Value, token: object) -> Value:
    """The same data as a leaf of the tape, reported as ``token``; see Value.as_leaf."""
    if not value.dtype.is_inexact:
        raise GradientError(
            f"a value of type {value.type.text} cannot require a gradient; expected a "
            "floating-point or complex dtype, cast it first")
    node = value.node
    with graph.trace.lock:
        if not value.requires_grad and not node.tracked and len(node.types) == 1 and (
            node.leaf is None or node.leaf is token
        ):
            node.leaf = token
            return hold(node, 0, True)
    before = graph.set_grad_enabled(True)
    try:
        fresh: Value = record("identity", [value])
    finally:
        graph.set_grad_enabled(before)
    with graph.trace.lock:
        fresh.node.leaf = token
        return hold(fresh.node, 0, True)


class Recomputed(dict[Node, "tuple[Value, ...]"]):
    """What was recorded again, by the node it stands for.

    Attributes:
        ahead: how many of these a backward pass has yet to go through.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0

    def __setitem__(self, node: Node, values: tuple[Value, ...]) -> None:
        super().__setitem__(node, values)
        if node.tracked:
            self.ahead += 1

    def passed(self, node: Node) -> bool:
        """The backward pass is through with a node; whether it was one of these."""
        if self.pop(node, None) is None or not node.tracked:
            return False
        self.ahead -= 1
        return True


def operand(
    node: Node, position: int, keep_grad: bool, memo: Recomputed
) -> Value | Scalar | None:
    """An operand of a recorded node as something to record with, computed again if dropped."""
    m = node.inputs[position]
    if type(m) is not Node:
        return m
    index = 0 if node.indices is None else node.indices[position]
    flows = keep_grad and bool(node.grad_mask >> position & 1)
    return _value_of(m, index, flows, memo)


def _is_dropped(m: Node, index: int) -> bool:
    return m.state == DONE and (m.buffers is None or m.buffers[index] is None)


def _value_of(
    m: Node, index: int, requires_grad: bool, memo: Recomputed
) -> Value:
    with graph.trace.lock:
        # looked at and held in one go: another thread may be about to run it, and would drop
        # what nobody holds
        there = m.buffers is not None and m.buffers[index] is not None
        if there or m.state == PENDING or m.state == graph.FAILED:
            return hold(m, index, requires_grad)
    fresh = _again(m, memo)[index]
    if fresh.requires_grad == requires_grad:
        return fresh
    with graph.trace.lock:
        return hold(fresh.node, fresh.index, requires_grad)


def _again(node: Node, memo: Recomputed) -> tuple[Value, ...]:
    """Record a node's op again, and whatever of its operands was dropped; iteratively."""
    stack = [node]
    while stack:
        n = stack[-1]
        if n in memo:
            stack.pop()
            continue
        if n.spec is None or n.state == DEAD or not n.inputs and n.spec.arity:
            raise GradientError(
                f"the data of a {n.types[0].text} that the gradient needs is gone: its history was "
                "freed; keep it with retain_graph=True")
        missing = []
        for position, m in enumerate(n.inputs):
            if type(m) is Node and m not in memo:
                index = 0 if n.indices is None else n.indices[position]
                if _is_dropped(m, index):
                    missing.append(m)
        if missing:
            stack.extend(missing)
            continue
        operands = [operand(n, p, n.tracked, memo) for p in range(len(n.inputs))]
        graph.hold_cuts(True)
        before = graph.set_grad_enabled(n.tracked)
        try:
            fresh = record_spec(n.spec, operands, site=n.site)
        finally:
            graph.set_grad_enabled(before)
        counters["recomputed_ops"] += 1
        memo[n] = fresh if isinstance(fresh, tuple) else (fresh,)
        stack.pop()
    return memo[node]


def recompute(value: Value) -> Value:
    """A computed value whose data was dropped, recorded again."""
    try:
        fresh: Value = _again(value.node, Recomputed())[value.index]
    finally:
        graph.hold_cuts(False)
    return fresh


class _Pull:
    """One backward pass: the visited part of the tape and the cotangents so far."""

    def __init__(
        self, outputs: Sequence[Value], cotangents: Sequence[Value | None] | None,
        targets: set[tuple[Node, int]] | None, create_graph: bool,
    ) -> None:  # fmt: skip
        self.create_graph = create_graph
        self.targets = targets
        self.cotangents: dict[tuple[Node, int], Cotangent] = {}
        self.found: dict[tuple[Node, int], Cotangent] = {}
        self.leaves: list[tuple[object, Node, int]] = []
        self.visited: dict[Node, bool] = {}
        self.memo = Recomputed()
        _check_values("outputs", outputs)
        if cotangents is not None and len(cotangents) != len(outputs):
            raise ArgumentError(
                f"{len(cotangents)} cotangents were given for {len(outputs)} outputs")
        self._visit(outputs)
        for i, out in enumerate(outputs):
            given = cotangents[i] if cotangents is not None else None
            self._add((out.node, out.index), _seed(out, given))

    def _visit(self, outputs: Sequence[Value]) -> None:
        """Find the tracked nodes below the outputs, and which of them lead to a target."""
        from .evaluate import again

        stack = [o.node for o in outputs if o.requires_grad]
        order: list[Node] = []
        while stack:
            n = stack.pop()
            if n in self.visited:
                continue
            self.visited[n] = self.targets is None
            order.append(n)
            if n.tracked:
                if n.state == graph.FAILED and n.error is not None:
                    raise again(n.error)
                if n.freed:
                    raise GradientError(
                        f"the tape through {n.spec.op.name if n.spec else 'a leaf'}, recorded at "
                        f"{n.site}, was freed by an earlier backward pass; pass retain_graph=True "
                        "to the first one to go through it again",
                        op=n.spec.op.name if n.spec else None, site=str(n.site))
                for position, m in enumerate(n.inputs):
                    if n.grad_mask >> position & 1 and type(m) is Node:
                        stack.append(m)
        if self.targets is not None:
            order.sort(key=lambda n: n.seq)
            wanted = {n for n, _ in self.targets}
            for n in order:
                leads = n in wanted
                if n.tracked and not leads:
                    leads = any(
                        n.grad_mask >> p & 1 and type(m) is Node and self.visited[m]
                        for p, m in enumerate(n.inputs))
                elif n.tracked:
                    leads = True
                self.visited[n] = leads

    def _add(self, key: tuple[Node, int], cotangent: Cotangent) -> None:
        before = self.cotangents.get(key)
        self.cotangents[key] = (
            cotangent if before is None else record("add", [before, cotangent]))

    def run(self) -> None:
        """Push the cotangents down the tape, later nodes first."""
        heap: list[tuple[int, int]] = []
        queued: dict[int, Node] = {}
        order = 0

        def push(n: Node) -> None:
            nonlocal order
            if n.seq not in queued:
                queued[n.seq] = n
                order += 1
                heapq.heappush(heap, (-n.seq, order))

        for n, _ in list(self.cotangents):
            push(n)
        try:
            self._drain(heap, queued, push)
        finally:
            graph.hold_cuts(False)

    def _drain(
        self, heap: list[tuple[int, int]], queued: dict[int, Node], push: Callable[[Node], None]
    ) -> None:
        while heap:
            seq, _ = heapq.heappop(heap)
            n = queued.pop(-seq)
            given: list[int] = []
            cotangents: list[Cotangent] = []
            for index in range(len(n.types)):
                cotangent = self.cotangents.pop((n, index), None)
                if cotangent is None:
                    continue
                if self.targets is not None:
                    if (n, index) in self.targets:
                        self.found[(n, index)] = cotangent
                elif n.leaf is not None:
                    self.found[(n, index)] = cotangent
                    self.leaves.append((n.leaf, n, index))
                given.append(index)
                cotangents.append(cotangent)
            newest: Cotangent | None = None
            if n.tracked and given:
                for key, newest in self._through(n, given, cotangents):
                    self._add(key, newest)
                    push(key[0])
            # What was computed again for n is needed no more: later nodes are through. While
            # there is more of it, a cut would make an output of each.
            if self.memo.passed(n) and self.memo.ahead == 0:
                graph.hold_cuts(False)
                if isinstance(newest, Value):
                    cuts.at_seam(newest.node)

    def _through(
        self, n: Node, given: list[int], cotangents: list[Cotangent]
    ) -> list[tuple[tuple[Node, int], Cotangent]]:
        """The cotangents of a node's operands."""
        spec = n.spec
        assert spec is not None
        wrt: list[int] = []
        named = spec.op.differentiable
        for position, m in enumerate(n.inputs):
            if type(m) is not Node or not n.grad_mask >> position & 1:
                continue
            index = 0 if n.indices is None else n.indices[position]
            if not m.types[index].dtype.is_inexact or not self.visited.get(m, False):
                continue
            if isinstance(named, tuple) and spec.op.operand_name(position) not in named:
                continue
            wrt.append(position)
        if not wrt:
            return []
        keys = []
        for position in wrt:
            m = n.inputs[position]
            assert type(m) is Node
            keys.append((m, 0 if n.indices is None else n.indices[position]))
        if spec.op.residuals:
            _emit_residuals(n, tuple(wrt))
            spec = n.spec
            assert spec is not None
        results = self._from_residuals(n, spec, wrt, given, cotangents)
        if results is None:
            results = self._from_operands(n, spec, wrt, given, cotangents)
        return list(zip(keys, results, strict=True))

    def _from_operands(
        self, n: Node, spec: Spec, wrt: list[int], given: list[int], cotangents: list[Cotangent]
    ) -> Sequence[Value]:
        primals = [operand(n, p, self.create_graph, self.memo) for p in range(len(n.inputs))]
        vjp = vjp_of(spec.op)
        level = vjp.name.count(".vjp")
        attrs = {
            **spec.attrs, f"primals{level}": len(primals), f"wrt{level}": tuple(wrt),
            f"given{level}": tuple(given),
        }  # fmt: skip
        operands = [*primals, *cotangents]
        result = record_spec(spec_of(vjp, attrs, len(operands)), operands, site=n.site)
        return result if isinstance(result, tuple) else (result,)

    def _from_residuals(
        self, n: Node, spec: Spec, wrt: list[int], given: list[int], cotangents: list[Cotangent]
    ) -> Sequence[Value] | None:
        """The same from the residuals that the forward op emitted, if it did."""
        if not spec.op.name.endswith(FORWARD):
            return None
        base = lookup(spec.op.name.removesuffix(FORWARD))
        attrs = dict(spec.attrs)
        known: tuple[int, ...] = attrs.pop("forward_wrt")
        types = tuple([_input_type(n, p) for p in range(len(n.inputs))])
        primary = len(spec_of(base, attrs, len(types)).infer(types))
        if any(g >= primary for g in given) or not set(wrt) <= set(known):
            return None
        residuals = [
            _value_of(n, index, self.create_graph and n.types[index].dtype.is_inexact, self.memo)
            for index in range(primary, len(n.types))
        ]
        attrs.update(backward_types=types_text(types), backward_wrt=known,
                     backward_given=tuple(given))  # fmt: skip
        operands = [*residuals, *cotangents]
        result = record_spec(
            spec_of(backward_of(base), attrs, len(operands)), operands, site=n.site)
        results = result if isinstance(result, tuple) else (result,)
        return [results[known.index(w)] for w in wrt]


def _input_type(n: Node, position: int) -> TensorType | None:
    m = n.inputs[position]
    if m is None:
        return None
    if type(m) is Node:
        return m.types[0 if n.indices is None else n.indices[position]]
    assert isinstance(m, Scalar)
    return m.type


def _emit_residuals(n: Node, wrt: tuple[int, ...]) -> None:
    """Make a node that is still pending emit the residuals of its vjp."""
    spec = n.spec
    assert spec is not None
    if n.state != PENDING:
        return
    types = tuple([_input_type(n, p) for p in range(len(n.inputs))])
    emitting = spec_of(forward_of(spec.op), {**spec.attrs, "forward_wrt": wrt}, len(types))
    results = emitting.infer(types)
    with graph.trace.lock:
        if n.state == PENDING:
            counts = n.out_handles if n.out_handles is not None else [n.handles]
            n.out_handles = counts + [0] * (len(results) - len(counts))
            n.types = results
            n.spec = emitting


def _check_values(name: str, given: Any) -> None:
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(
            f"{name} is a {type(given).__name__}, expected a list or tuple of values")
    for i, v in enumerate(given):
        if not isinstance(v, Value):
            raise ArgumentError(
                f"{name}[{i}] is a {type(v).__name__}, expected a Value (of a tensor, its .value)")


def _seed(out: Value, given: Value | None) -> Cotangent:
    """The cotangent to start from: the given one, or 1 for a 0-d output."""
    if not out.requires_grad:
        raise GradientError(
            f"the gradient of a {out.type.text} was asked for, but it depends on nothing that "
            "requires one; mark what to differentiate before it is used")
    if given is None:
        if out.shape != ():
            raise GradientError(
                f"the gradient of a {out.type.text} was asked for without a cotangent, which only "
                "a 0-d output has by itself; reduce it first, or give a cotangent of its type")
        return Scalar(1, out.dtype)
    if not isinstance(given, (Value, Scalar)):
        raise ArgumentError(
            f"a cotangent is a {type(given).__name__}, expected a Value of type {out.type.text} "
            "or None")
    if given.type is not out.type:
        error = ShapeError if given.type.shape != out.shape else GradientError
        raise error(
            f"the cotangent is {given.type.text}, expected {out.type.text} as the output is")
    return given


def _as_value(cotangent: Cotangent, like: Node, index: int) -> Value:
    if isinstance(cotangent, Value):
        return cotangent
    t = like.types[index]
    seeded: Value = record("full", [cotangent], {"shape": t.shape})
    return seeded


def free(nodes: dict[Node, bool]) -> None:
    """Free the tape through these nodes: they keep nothing for a backward pass any more."""
    with graph.trace.lock:
        work: list[Node] = []
        for n in nodes:
            if n.tracked and n.state != DEAD:
                n.freed = True
                if n.state == DONE:
                    graph.release_inputs(n, work)
        for m in work:
            if m.state != DEAD:
                graph.kill(m)
        graph.drain()


def gradients(
    outputs: Sequence[Value], inputs: Sequence[Value],
    cotangents: Sequence[Value | None] | None = None, *, create_graph: bool = False,
    retain_graph: bool = True, allow_unused: bool = False,
) -> list[Value | None]:  # fmt: skip
    """Cotangents of ``inputs`` given those of ``outputs``.

    For complex inputs these are JAX's: the cotangent of ``x`` in ``f(x)`` pairs with a tangent
    without conjugation, so the direction of steepest ascent of a real ``f`` is its conjugate
    (which the torch-like frontend's ``.grad`` holds, as PyTorch's does).

    Args:
        outputs: values that require a gradient.
        inputs: values to differentiate by: leaves, or intermediate values.
        cotangents: one an output; None means 1, for 0-d outputs.
        create_graph: record the pass so that it can be differentiated again.
        retain_graph: False frees the tape afterwards.
        allow_unused: give None for an input that no output depends on, instead of raising.

    Raises:
        GradientError: an output requires no gradient, an input is not on the tape, or the
            tape was freed.
    """
    results, visited = _pull_back(outputs, inputs, cotangents, create_graph, allow_unused)
    if not retain_graph:
        free(visited)
    return results


def _pull_back(
    outputs: Sequence[Value], inputs: Sequence[Value],
    cotangents: Sequence[Value | None] | None, create_graph: bool, allow_unused: bool,
) -> tuple[list[Value | None], dict[Node, bool]]:  # fmt: skip
    """:func:`gradients`, with the part of the tape that was gone through."""
    _check_values("inputs", inputs)
    targets = {(v.node, v.index) for v in inputs}
    before = graph.set_grad_enabled(create_graph)
    try:
        pull = _Pull(outputs, cotangents, targets, create_graph)
        pull.run()
        results: list[Value | None] = []
        for i, v in enumerate(inputs):
            found = pull.found.get((v.node, v.index))
            if found is not None:
                results.append(_as_value(found, v.node, v.index))
            elif allow_unused:
                results.append(None)
            else:
                raise GradientError(
                    f"input {i}, a {v.type.text}, is not used by the outputs; pass "
                    "allow_unused=True to get None for it")
    finally:
        graph.set_grad_enabled(before)
    return results, pull.visited


def backward(
    outputs: Sequence[Value], cotangents: Sequence[Value | None] | None = None, *,
    retain_graph: bool = False, create_graph: bool = False,
) -> list[tuple[object, Value]]:  # fmt: skip
    """Gradients of every leaf that the outputs depend on, as (token, gradient).

    The leaves come in the order in which they were first recorded. Arguments and errors as
    for :func:`gradients`.
    """
    before = graph.set_grad_enabled(create_graph)
    try:
        pull = _Pull(outputs, cotangents, None, create_graph)
        pull.run()
        pull.leaves.sort(key=lambda leaf: leaf[1].seq)
        results = [
            (token, _as_value(pull.found[(n, index)], n, index))
            for token, n, index in pull.leaves
        ]
    finally:
        graph.set_grad_enabled(before)
    if not (retain_graph or create_graph):
        free(pull.visited)
    return results


_nesting: Final = threading.local()


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives ``(f(...), gradient)``.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns a
            0-d floating-point tensor; with ``has_aux`` a pair of that and anything.
        argnums: position or positions of the arguments to differentiate by.
        has_aux: see ``f``; the aux value is returned beside the result.

    Returns:
        a function of the same arguments; the gradient has the structure of the argument (a
        tuple of such for several argnums), with ``(value, aux)`` in place of the value under
        ``has_aux``. Nestable.

    Raises (when called):
        GradientError: an argument has no differentiable dtype, or the result is not a 0-d
            floating-point tensor.
    """
    if not callable(f):
        raise ArgumentError(
            f"a {type(f).__name__} was given to differentiate, expected a function")
    positions = _positions(argnums)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from .tensor import Tensor
        from .tree import tree_leaves, tree_map

        for p in positions:
            if not -len(args) <= p < len(args):
                raise ArgumentError(f"argnums names argument {p}, but {len(args)} were given")
        if len({p % len(args) for p in positions}) != len(positions):
            raise ArgumentError(
                f"argnums is {tuple(positions)}, which names an argument twice; expected distinct "
                "ones")
        depth = getattr(_nesting, "depth", 0)
        marked: list[tuple[Value, object]] = []
        outer = depth > 0

        def mark(t: Any) -> Any:
            nonlocal outer
            if not isinstance(t, Tensor):
                raise GradientError(
                    f"an argument to differentiate by is a {type(t).__name__}, expected a tensor")
            value = t.value
            outer = outer or value.requires_grad
            token = object()
            leaf = make_leaf(value, token)
            marked.append((leaf, token))
            return type(t)._wrap(leaf)

        arguments = list(args)
        shapes = []
        start = graph.last_sequence()
        for p in positions:
            shapes.append(args[p])
            arguments[p] = tree_map(mark, args[p], Tensor)
        before = graph.set_grad_enabled(True)
        _nesting.depth = depth + 1
        try:
            result = f(*arguments, **kwargs)
            if has_aux and not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise GradientError(
                    f"the function to differentiate returned a {type(result).__name__}, expected "
                    "a pair of its result and the aux value, since has_aux is set")
            out, aux = result if has_aux else (result, None)
            if not isinstance(out, Tensor) or out.value.shape != () or (
                not out.value.dtype.is_floating
            ):
                what = out.value.type.text if isinstance(out, Tensor) else type(out).__name__
                raise GradientError(
                    f"the function to differentiate returned a {what}, expected a 0-d "
                    "floating-point tensor; reduce it, for instance with sum or mean")
            inputs = [leaf for leaf, _ in marked]
            value = out.value
            found: list[Value | None]
            if value.requires_grad:
                # an outer gradient goes through this tape again; otherwise nothing may keep it
                found, visited = _pull_back([value], inputs, None, outer, True)
                if not outer:
                    # what f closes over may have a tape of its own, which is not ours to free
                    free({n: True for n in visited if n.seq > start})
            else:
                found = [None] * len(inputs)
        finally:
            _nesting.depth = depth
            graph.set_grad_enabled(before)
            with graph.trace.lock:
                for leaf, token in marked:
                    if leaf.node.leaf is token:
                        leaf.node.leaf = None
        grads = iter([
            g if g is not None else zeros_like(leaf)
            for g, (leaf, _) in zip(found, marked, strict=True)])
        trees = []
        for tree in shapes:
            trees.append(tree_map(lambda t: type(t)._wrap(_settled(next(grads), outer)), tree,
                                  Tensor))  # fmt: skip
        gradient = trees[0] if isinstance(argnums, int) else tuple(trees)
        final = type(out)._wrap(_settled(value, outer))
        if has_aux:
            if not outer:
                for t in tree_leaves(aux, Tensor):
                    t._forget_gradient()
            return (final, aux), gradient
        return final, gradient

    wrapped.__name__ = f"value_and_grad({getattr(f, '__name__', 'f')})"
    return wrapped


def _positions(argnums: Any) -> tuple[int, ...]:
    if isinstance(argnums, int):
        return (argnums,)
    if not isinstance(argnums, (list, tuple)) or not all(isinstance(p, int) for p in argnums):
        raise ArgumentError(
            f"argnums is {argnums!r}, expected the position of an argument or a sequence of them")
    return tuple(argnums)


def _settled(value: Value, outer: bool) -> Value:
    return value if outer else value.detach()


def zeros_like(value: Value) -> Value:
    """Zeros of the value's shape and dtype."""
    zeros: Value = record("full", [Scalar(0, value.dtype)], {"shape": value.shape})
    return zeros


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``f``; see :func:`value_and_grad`.

    With ``has_aux`` it gives ``(gradient, aux)``.
    """
    both = value_and_grad(f, argnums, has_aux)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    wrapped.__name__ = f"grad({getattr(f, '__name__', 'f')})"
    return wrapped


