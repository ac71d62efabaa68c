"""Gradients of functions: ``value_and_grad`` and ``grad``.

Not compiled with the core: there, a nested function and the call that it belongs to refer to each
other, so a call's gradients would stay alive until the cycle collector runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentError, GradientError
from ..tensor.tensor import Tensor
from ..trace import graph, switches
from ..trace.graph import Value
from ..trace.tape import free
from ..tree import tree_leaves, tree_map
from .backward import cotangents_of, make_leaf, nesting, new_leaf, reaches_outside, zeros_like


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *,
    closures: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns ``(f(...), gradient)``.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns a
            0-d floating-point tensor; with ``has_aux`` a pair of that and anything.
        argnums: position or positions of the arguments to differentiate by.
        has_aux: see ``f``; the aux value is returned beside the result.
        closures: the results can be differentiated by values outside ``f`` that it uses and that
            require a gradient.

    Returns:
        a function of the same arguments; the gradient has the structure of the argument (a
        tuple of such for several argnums), with ``(value, aux)`` in place of the value under
        ``has_aux``. Nestable.

    Raises (when called):
        GradientError: an argument has no differentiable dtype, or the result is not a 0-d
            floating-point tensor.

    Example:

        >>> value, gradient = lazyloom.value_and_grad(lambda x: (x * x).sum())(np.arange(3.0))
        >>> float(value), gradient
        (5.0, array([0., 2., 4.]))
    """
    find = argument_positions(f, argnums)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        positions = find(args)
        depth = getattr(nesting, "depth", 0)
        marked: list[tuple[Value, object]] = []
        outer = depth > 0

        def mark(t: Any) -> Any:
            nonlocal outer
            if not isinstance(t, Tensor):
                raise GradientError(
                    f"an argument to differentiate by is a {type(t).__name__}, expected a tensor; "
                    "convert it, by asarray of the NumPy-like frontend or tensor of the torch-like")
            value = t.value
            outer = outer or value.requires_grad
            token = object()
            # Inside another gradient, the results of this one keep their tape, so no later gradient
            # may take the leaf for its own. The same holds for one of several results, whose node
            # may identify other leaves.
            apart = depth > 0 or len(value.node.types) > 1
            leaf = new_leaf(value, token) if apart else make_leaf(value, token)
            marked.append((leaf, token))
            return type(t).from_value(leaf)

        arguments = list(args)
        shapes = []
        start = graph.last_sequence()
        for p in positions:
            shapes.append(args[p])
            arguments[p] = tree_map(mark, args[p], Tensor)
        recording = switches.grad_enabled()
        nesting.depth = depth + 1
        try:
            with switches.grad_mode(True):
                result = f(*arguments, **kwargs)
                if has_aux and not (isinstance(result, (tuple, list)) and len(result) == 2):
                    raise GradientError(
                        f"the function to differentiate returned a {type(result).__name__}, "
                        "expected a pair of its result and the aux value, since has_aux is set")
                out, aux = result if has_aux else (result, None)
                if not isinstance(out, Tensor) or out.value.shape != () or (
                    not out.value.dtype.is_floating
                ):
                    shown = out.value.type.text if isinstance(out, Tensor) else type(out).__name__
                    raise GradientError(
                        f"the function to differentiate returned a {shown}, expected a 0-d "
                        "floating-point tensor; reduce it, for instance with sum or mean")
                inputs = [leaf for leaf, _ in marked]
                value = out.value
                if closures and recording and not outer:
                    outer = reaches_outside([value], {leaf.node for leaf, _ in marked}, start)
                cotangents: list[Value | None]
                if value.requires_grad:
                    # an outer gradient goes through this tape again; otherwise nothing may keep it
                    cotangents, visited = cotangents_of([value], inputs, None, outer, True)
                    if not outer:
                        # values that f closes over may have a tape of their own: do not free it
                        free({n: True for n in visited if n.seq > start}, True)
                else:
                    cotangents = [None] * len(inputs)
        finally:
            nesting.depth = depth
            with graph.trace.lock:
                for leaf, token in marked:
                    if leaf.token is token:
                        graph.set_token(leaf.node, leaf.index, None)
        grads = iter([
            g if g is not None else zeros_like(leaf)
            for g, (leaf, _) in zip(cotangents, marked, strict=True)])
        trees = []
        for tree in shapes:
            trees.append(tree_map(lambda t: type(t).from_value(_settled(next(grads), outer)), tree,
                                  Tensor))  # fmt: skip
        gradient = trees[0] if isinstance(argnums, int) else tuple(trees)
        final = type(out).from_value(_settled(value, outer))
        if has_aux:
            if not outer:
                for t in tree_leaves(aux, Tensor):
                    t._forget_gradient()
            return (final, aux), gradient
        return final, gradient

    wrapped.__name__ = f"value_and_grad({getattr(f, '__name__', 'f')})"
    return wrapped


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns the gradient of ``f``; see :func:`value_and_grad`.

    With ``has_aux`` it returns ``(gradient, aux)``.

    Example:

        >>> lazyloom.grad(lambda x: (x * x).sum())(np.arange(3.0))
        array([0., 2., 4.])
    """
    both = value_and_grad(f, argnums, has_aux)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    wrapped.__name__ = f"grad({getattr(f, '__name__', 'f')})"
    return wrapped


def argument_positions(
    f: Any, argnums: Any
) -> Callable[[Sequence[Any]], tuple[int, ...]]:  # fmt: skip
    """A function that finds the positions to differentiate by among the arguments for ``f``.

    Raises ArgumentError if ``f`` is not a function or ``argnums`` not positions, and when called
    for positions that the arguments do not have.
    """
    if not callable(f):
        raise ArgumentError(
            f"a {type(f).__name__} was given to differentiate, expected a function")
    positions: tuple[int, ...]
    if isinstance(argnums, int):
        positions = (argnums,)
    elif isinstance(argnums, (list, tuple)) and all(isinstance(p, int) for p in argnums):
        positions = tuple(argnums)
    else:
        raise ArgumentError(
            f"argnums is {argnums!r}, expected the position of an argument or a sequence of them")

    def find(args: Sequence[Any]) -> tuple[int, ...]:
        for p in positions:
            if not -len(args) <= p < len(args):
                raise ArgumentError(f"argnums names argument {p}, but {len(args)} were given")
        if len({p % len(args) for p in positions}) != len(positions):
            raise ArgumentError(
                f"argnums is {positions}, which names an argument twice; expected distinct ones")
        return positions

    return find


def _settled(value: Value, outer: bool) -> Value:
    return value if outer else value.detach()
