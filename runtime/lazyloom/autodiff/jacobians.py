"""Matrices of derivatives: ``jacobian``, in either direction, and ``hessian``.

The function runs once; then all columns are computed at once by propagating up its tape, or all
rows by propagating down it, mapped over the unit tangents or cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..batching.mapping import map_values, moved
from ..batching.replay import spread
from ..errors import GradientError
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import MappedCall
from ..trace.recording import record
from ..trace.source import user_site
from .api import argument_positions
from .linear import DifferentiatedRun

Argnums = int | Sequence[int]


def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the derivatives of every element of the results of ``f`` by every
    element of its arguments.

    It differentiates in the direction that needs fewer passes: that of :func:`jacfwd` if the
    arguments have fewer elements than the results, else that of :func:`jacrev`.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns such.
        argnums: position or positions of the arguments to differentiate by.
        has_aux: ``f`` returns a pair of its results and anything else.
        holomorphic: ``f`` is complex-differentiable; needed if arguments and results are complex.

    Returns:
        a function of the same arguments; it returns a tree with the structure of the results and,
        in place of each leaf, a tree with the structure of the argument (a tuple of such for
        several argnums), whose leaves have the shape of the result followed by that of the
        argument. With ``has_aux`` a pair of that and the aux value. Nestable.

    Raises (when called):
        GradientError: an argument or result is not a tensor or has a dtype without derivative, or
            is complex in a way that has no Jacobian.

    Example:

        >>> lazyloom.jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """
    return _jacobian("jacobian", f, argnums, has_aux, holomorphic, None)


def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """:func:`jacobian` by tangents: as many passes as the arguments have elements, all at once.

    Arguments must be real, unless ``holomorphic``.

    Example:

        >>> lazyloom.jacfwd(lambda x: x ** 2)(np.array([1.0, 3.0]))
        array([[2., 0.],
               [0., 6.]])
    """
    return _jacobian("jacfwd", f, argnums, has_aux, holomorphic, True)


def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """:func:`jacobian` by cotangents: as many passes as the results have elements, all at once.

    Results must be real, unless ``holomorphic``.

    Example:

        >>> lazyloom.jacrev(lambda x: x ** 2)(np.array([1.0, 3.0]))
        array([[2., 0.],
               [0., 6.]])
    """
    return _jacobian("jacrev", f, argnums, has_aux, holomorphic, False)


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """A function that returns the second derivatives of the results of ``f``.

    It is ``jacfwd(jacrev(f))``: see there for arguments and errors. It returns a tree with the
    structure of the results of ``f``, of trees with that of the argument, of trees with the same.

    Example:

        >>> lazyloom.hessian(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]))
        array([[ 6.,  0.],
               [ 0., 12.]])
    """
    inner = jacrev(f, argnums, has_aux, holomorphic)
    outer = jacfwd(inner, argnums, has_aux, holomorphic)
    outer.__name__ = f"hessian({getattr(f, '__name__', 'f')})"
    return outer


def _jacobian(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool,
    forward: bool | None,
) -> Callable[..., Any]:  # fmt: skip
    find = argument_positions(f, argnums)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        run = DifferentiatedRun(name, f, args, kwargs, find(args), has_aux)
        run.check_results()
        for number, (t, leaf) in enumerate(zip(run.given, run.leaves, strict=True)):
            if leaf is None:
                shown = t.value.type.text if isinstance(t, Tensor) else type(t).__name__
                raise GradientError(
                    f"{name}: leaf {number} of the arguments to differentiate by is a {shown}, "
                    "expected a floating-point or complex tensor")
        forward_mode = _direction(run, forward, holomorphic)
        mapping = MappedCall(f"lazyloom.{name}", user_site())
        rows = (_by_tangents if forward_mode else _by_cotangents)(run, mapping)
        trees = [
            run.structure.build(
                wrap_as(t, value) for t, value in zip(run.given, row, strict=True))
            for row in rows]
        whole = run.out_structure.build(
            tree[0] if isinstance(argnums, int) else tuple(tree) for tree in trees)
        run.results(end=True)
        return (whole, run.aux) if has_aux else whole

    wrapped.__name__ = f"{name}({getattr(f, '__name__', 'f')})"
    return wrapped


def _direction(run: DifferentiatedRun, forward: bool | None, holomorphic: bool) -> bool:
    """Return True to use forward mode. Raises GradientError if a direction has no Jacobian."""
    inputs = any(v.dtype.is_complex for v in run.moving)
    outputs = any(t.value.dtype.is_complex for t in run.out)
    if holomorphic:
        values = [*run.moving, *[t.value for t in run.out]]
        if not all(v.dtype.is_complex for v in values):
            raise GradientError(
                f"{run.name}: holomorphic is set, but not all arguments and results are complex")
    elif inputs and (outputs or forward):
        raise GradientError(
            f"{run.name}: an argument is complex{' and so is a result' if outputs else ''}; "
            "expected holomorphic=True, which says that the function is complex-differentiable"
            f"{'' if outputs else ', or jacrev, which takes complex arguments of real results'}")
    elif outputs and forward is False:
        raise GradientError(
            f"{run.name}: a result is complex, for which cotangents give no Jacobian; expected "
            "jacfwd, or real results")
    if forward is not None:
        return forward
    if inputs != outputs:
        return outputs
    return _elements(run.moving) < _elements([t.value for t in run.out])


def _elements(values: Sequence[Value]) -> int:
    return sum([v.type.size for v in values])


def _units(values: Sequence[Value]) -> list[Value]:
    """For each value, its part of the unit vectors of all values, along a new first axis."""
    total = _elements(values)
    units = []
    at = 0
    for v in values:
        size = v.type.size
        eye = record("eye", [], {"n": total, "m": size, "k": -at, "dtype": v.dtype})
        units.append(_reshaped(eye, (total, *v.shape)))
        at += size
    return units


def _parts(whole: Value, values: Sequence[Value]) -> list[Value]:
    """Pieces of the first axis, one per value, with as many rows as the value has elements."""
    parts = []
    at = 0
    rest = whole.shape[1:]
    for v in values:
        size = v.type.size
        parts.append(whole if size == whole.shape[0] else record("slice", [whole], {
            "starts": (at, *[0] * len(rest)), "stops": (at + size, *rest)}))
        at += size
    return parts


def _reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    if value.shape == shape:
        return value
    reshaped: Value = record("reshape", [value], {"shape": shape})
    return reshaped


def _mapped(
    run: DifferentiatedRun, body: Any, like: Sequence[Value], mapping: MappedCall
) -> list[Value]:
    size = _elements(like)
    return [value if has_axis else spread(value, size)
            for value, has_axis in map_values(body, _units(like), size, mapping)]


def _by_tangents(run: DifferentiatedRun, mapping: MappedCall) -> list[list[Value]]:
    """The derivatives of each result by each leaf."""
    rows = []
    for column, t in zip(_mapped(run, run.jvp, run.moving, mapping), run.out, strict=True):
        shape = t.value.shape
        rows.append([
            _reshaped(moved(part, 0, len(shape)), (*shape, *v.shape))
            for part, v in zip(_parts(column, run.moving), run.moving, strict=True)])
    return rows


def _by_cotangents(run: DifferentiatedRun, mapping: MappedCall) -> list[list[Value]]:
    """The same, computed from cotangents."""
    results = [t.value for t in run.out]
    by_leaf = [
        _parts(row, results) for row in _mapped(run, run.vjp, results, mapping)]
    return [
        [_reshaped(parts[number], (*r.shape, *v.shape))
         for parts, v in zip(by_leaf, run.moving, strict=True)]
        for number, r in enumerate(results)]
