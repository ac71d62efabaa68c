"""Reverse-mode gradients over recorded work, op by op.

The tape is the graph itself (:mod:`lazyloom.tape`), gone through by :mod:`lazyloom.pull`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from . import graph
from .errors import ArgumentError, GradientError
from .graph import Node, Value, hold
from .pull import Pull, as_value, check_values
from .recording import record
from .scalars import Scalar
from .tape import free


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
    check_values("inputs", inputs)
    targets = {(v.node, v.index) for v in inputs}
    before = graph.set_grad_enabled(create_graph)
    try:
        pull = Pull(outputs, cotangents, targets, create_graph)
        pull.run()
        results: list[Value | None] = []
        for i, v in enumerate(inputs):
            found = pull.found.get((v.node, v.index))
            if found is not None:
                results.append(as_value(found, v.node, v.index))
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
        pull = Pull(outputs, cotangents, None, create_graph)
        pull.run()
        pull.leaves.sort(key=lambda leaf: leaf[1].seq)
        results = [
            (token, as_value(pull.found[(n, index)], n, index))
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


