"""Derivatives of functions: ``grad``, ``vjp``, ``jvp`` and matrices of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom.errors import LoomError, type_name

from .._errors import as_torch
from .._tensor import Tensor, operand
from ._trees import check_tensors, conjugated, flatten, mapped, plain
from ._vmap import vmap

Argnums = int | Sequence[int]


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func`` and its value.

    ``func`` returns a tensor of one element without dimensions, with ``has_aux`` a pair of that
    and anything. The result is ``(gradient, value)`` or ``(gradient, (value, aux))``; the gradient
    is nested as the argument, a tuple of such for several ``argnums``. Nestable.
    """
    check_argnums(argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        positions = argnums if isinstance(argnums, int) else tuple(argnums)
        _check_positions(positions, args)
        try:
            value, gradient = lazyloom.value_and_grad(func, positions, has_aux, closures=True)(
                *plain(args), **kwargs)
        except LoomError as error:
            raise as_torch(error) from None
        return conjugated(gradient), value

    return wrapper


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, with ``has_aux`` and the aux value.

    See :func:`grad_and_value`.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def check_argnums(argnums: Any) -> None:
    """Raise RuntimeError for what names no arguments."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return
    if not isinstance(argnums, tuple) or not all(isinstance(a, int) for a in argnums):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums!r}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    if len(set(argnums)) != len(argnums):
        raise RuntimeError(f"argnums elements must be unique, got: {argnums}")


def _check_positions(argnums: Any, args: Sequence[Any]) -> None:
    for a in (argnums,) if isinstance(argnums, int) else argnums:
        if not -len(args) <= a < len(args):
            raise RuntimeError(f"Got argnum={a}, but only {len(args)} positional inputs")


def _chosen(argnums: Argnums, args: Sequence[Any]) -> tuple[Any, ...]:
    _check_positions(argnums, args)
    return (args[argnums],) if isinstance(argnums, int) else tuple(args[a] for a in argnums)


def _of_chosen(
    func: Callable[..., Any], argnums: Argnums, args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """``func`` as a function of the chosen arguments alone."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for place, x in zip(places, chosen, strict=True):
            full[place] = x
        return func(*full, **kwargs)

    return partial


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``func(*primals)`` and a function from gradients of the results to those of the primals.

    That one takes them nested as the results and gives a tuple; it can be called any number of
    times. With ``has_aux`` the aux value is a third result.
    """
    try:
        found = lazyloom.vjp(func, *plain(primals), has_aux=has_aux, closures=True)
    except LoomError as error:
        raise as_torch(error) from None
    results, vjp_fun = found[0], found[1]

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        check_tensors(cotangents, "vjp_fn: cotangents")
        try:
            gradients = vjp_fun(conjugated(plain(cotangents)))
        except LoomError as error:
            raise as_torch(error) from None
        return conjugated(gradients)

    return (results, vjp_fn, found[2]) if has_aux else (results, vjp_fn)


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """``func(*primals)`` and its derivative along the tangents, nested as the primals.

    With ``has_aux`` ``func`` gives a pair, and the aux value is a third result; with ``strict`` a
    result that no primal enters is a RuntimeError.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to be a tuple, got "
                               f"{type_name(given)}")
        if not given:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to be a non-empty "
                               "tuple")
        check_tensors(given, f"jvp(f, primals, tangents): {name}")
    tangents = _like(flatten(primals)[0], tangents)
    try:
        found = lazyloom.jvp(
            _watched(func) if strict else func, plain(primals), plain(tangents), has_aux,
            closures=True)
    except LoomError as error:
        raise as_torch(error) from None
    return tuple(found)


def _like(primals: list[Any], tangents: Any) -> Any:
    """Tangents, each checked against its primal and cast to its dtype."""
    leaves, nesting = flatten(tangents)
    if len(leaves) != len(primals):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same structure, "
            f"got {len(primals)} primals and {len(leaves)} tangents")
    for p, t in zip(primals, leaves, strict=True):
        if p.tensor_type.shape != t.tensor_type.shape:
            raise RuntimeError(
                f"jvp(f, primals, tangents): the tangent of a primal of shape {list(p.shape)} has "
                f"shape {list(t.shape)}")
    return nesting.build(t.to(p.dtype) for p, t in zip(primals, leaves, strict=True))


def _watched(func: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*args: Any) -> Any:
        found = func(*args)
        for t in flatten(found)[0]:
            if isinstance(t, Tensor) and not operand(t).requires_grad:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of "
                    "the inputs. This is not allowed with strict=True.")
        return found

    return watched


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)`` and a function from tangents of the primals to those of the results.

    ``func`` runs once; the second function goes through its linear approximation, any number of
    times.
    """
    try:
        results, f_jvp = lazyloom.linearize(func, *plain(primals), closures=True)
    except LoomError as error:
        raise as_torch(error) from None

    def jvp_fn(*tangents: Any) -> Any:
        try:
            return f_jvp(*plain(tangents))
        except LoomError as error:
            raise as_torch(error) from None

    return results, jvp_fn


def _units(leaves: list[Tensor]) -> list[Tensor]:
    """For each tensor, the unit vectors of all of them together, along a new first dimension."""
    total = sum(t.tensor_type.size for t in leaves)
    found, at = [], 0
    for t in leaves:
        eye = lazyloom.record("eye", [], {
            "n": total, "m": t.tensor_type.size, "k": -at, "dtype": t.tensor_type.dtype})
        found.append(Tensor.from_value(
            lazyloom.record("reshape", [eye], {"shape": (total, *t.tensor_type.shape)})))
        at += t.tensor_type.size
    return found


def _pieces(whole: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """A whole first dimension as one piece a tensor, of that tensor's shape."""
    found, at = [], 0
    for t in leaves:
        piece = whole.narrow(0, at, t.tensor_type.size)
        found.append(piece.reshape(*t.tensor_type.shape, *whole.tensor_type.shape[1:]))
        at += t.tensor_type.size
    return found


def _check_results(results: Any, name: str) -> tuple[list[Tensor], Any]:
    leaves, nesting = flatten(results)
    for t in leaves:
        if not isinstance(t, Tensor):
            raise RuntimeError(
                f"{name}: Expected f to return only Tensors, got a {type_name(t)}")
        if not t.tensor_type.dtype.is_inexact:
            raise RuntimeError(
                f"{name}: Expected all outputs to be floating-point or complex tensors but got a "
                f"{t.dtype!r}")
    return leaves, nesting


def _refuse_complex(tree: Any, what: str) -> None:
    for i, t in enumerate(flatten(tree)[0]):
        if isinstance(t, Tensor) and t.tensor_type.dtype.is_complex:
            raise RuntimeError(
                f"{what} to be real but received complex tensor at flattened position {i}")


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the derivatives of every element of the results of ``func`` by every
    element of its arguments, by reverse-mode differentiation.

    The result is nested as the results of ``func``; in each place there is what the argument is
    nested as (a tuple of such for several ``argnums``), of tensors with the shape of the result
    followed by that of the argument. ``chunk_size`` rows are computed at once, by default all.
    """
    check_argnums(argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = _chosen(argnums, args)
        _refuse_complex(chosen, "jacrev: Expected all inputs")
        found = vjp(_of_chosen(func, argnums, args, kwargs), *chosen, has_aux=has_aux)
        vjp_fun: Callable[..., Any] = found[1]
        leaves, nesting = _check_results(found[0], "jacrev")
        _refuse_complex(found[0], "jacrev: Expected all outputs")

        def rows(*cotangents: Tensor) -> Any:
            return vjp_fun(nesting.build(cotangents))

        whole = vmap(rows, chunk_size=chunk_size)(*_units(leaves))
        by_input, inner = flatten(whole)
        pieces = [_pieces(w, leaves) for w in by_input]
        trees = [inner.build(p[i] for p in pieces) for i in range(len(leaves))]
        result = nesting.build(t[0] if isinstance(argnums, int) else t for t in trees)
        return (result, found[2]) if has_aux else result

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """:func:`jacrev` by forward-mode differentiation; the result is the same."""
    check_argnums(argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = _chosen(argnums, args)
        _refuse_complex(chosen, "jacfwd: Expected all inputs")
        inputs, structure = flatten(chosen)
        for t in inputs:
            if not isinstance(t, Tensor) or not t.tensor_type.dtype.is_inexact:
                raise RuntimeError(
                    "jacfwd: Expected all inputs to be floating-point or complex tensors")
        aux: list[Any] = []
        partial = _of_chosen(func, argnums, args, kwargs)

        def watched(*given: Any) -> Any:
            found = partial(*given)
            if not has_aux:
                return found
            if not (isinstance(found, tuple) and len(found) == 2):
                raise RuntimeError(
                    "jacfwd: with has_aux the function must return a pair of its output and aux")
            aux[:] = [mapped(lambda t: t.detach() if isinstance(t, Tensor) else t, found[1])]
            return found[0]

        results, f_jvp = linearize(watched, *chosen)
        leaves, nesting = _check_results(results, "jacfwd")
        _refuse_complex(results, "jacfwd: Expected all outputs")

        def columns(*tangents: Tensor) -> Any:
            return tuple(flatten(f_jvp(*structure.build(tangents)))[0])

        whole = vmap(columns, out_dims=-1, randomness=randomness)(*_units(inputs))
        trees = []
        for w, t in zip(whole, leaves, strict=True):
            shape = t.tensor_type.shape
            parts = w.split([x.tensor_type.size for x in inputs], dim=-1)
            tree = structure.build(
                p.reshape(*shape, *x.tensor_type.shape) for p, x in zip(parts, inputs, strict=True))
            trees.append(tree[0] if isinstance(argnums, int) else tuple(tree))
        result = nesting.build(trees)
        return (result, aux[0]) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of ``func``: ``jacfwd(jacrev(func))``."""
    return jacfwd(jacrev(func, argnums), argnums)
