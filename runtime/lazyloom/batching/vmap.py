"""``vmap``: a function of one element becomes a function of a whole axis.

The function runs once, on placeholders of the type that one element has. From them it records
ordinary nodes that never run (``graph.MAPPED``). Then the part of them that leads to the results
is recorded again on the whole axis (:mod:`lazyloom.batching.replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import MappedCall
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from .mapping import map_values, moved
from .replay import spread


def vmap(
    f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> Callable[..., Any]:
    """A function that does for every element of an axis of its arguments what ``f`` does for one.

    ``f`` is called once, with tensors that lack the axis. It may use everything except data that
    depends on the axis: a branch, print or shape that depends on such data raises
    ReadForbiddenError at its line. Values from outside are the same for every element, and so are
    random numbers drawn from a key that does not depend on the axis.

    Args:
        f: takes tensors of any frontend, alone or in lists, tuples and dicts, and returns such.
        in_axes: which axis of the arguments is mapped: an int for all of them, None for none, or
            a tuple or list with one entry per argument, each an int, None, or a tree of those whose
            leaves stand for parts of the argument. Keyword arguments are mapped over their first.
        out_axes: where the axis is put in the results, likewise; None for a result that does not
            depend on it, which is returned as it is.
        axis_size: the size of the axis, if no argument has it.

    Returns:
        a function of the same arguments. Nestable, with gradients too.

    Raises (when called):
        ArgumentError: axes that do not fit the arguments or results, or no tensor to map over.
        ShapeError: sizes along the axis differ.
        AliasError: ``f`` writes in place to a tensor that it did not make.

    Example:

        >>> lazyloom.vmap(lambda row: row / row.sum())(np.array([[1.0, 3.0], [2.0, 2.0]]))
        array([[0.25, 0.75],
               [0.5 , 0.5 ]])
    """
    if not callable(f):
        raise ArgumentError(f"a {type(f).__name__} was given to map, expected a function")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    for axis in _leaves(in_axes):
        _check_axis("in_axes", axis)
    for axis in _leaves(out_axes):
        _check_axis("out_axes", axis)
    if axis_size is not None:
        _check_axis("axis_size", axis_size)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ArgumentError(
                f"vmap: in_axes has {len(in_axes)} entries, expected one for each of the "
                f"{len(args)} positional arguments")
        leaves, structure = flatten((list(args), kwargs), Tensor)
        of_args, of_kwargs = structure.children
        prefix = list(in_axes) if isinstance(in_axes, tuple) else in_axes
        axes = of_args.broadcast(prefix, "vmap: in_axes") + [0] * of_kwargs.count
        inputs, size = _inputs(leaves, axes, axis_size)
        mapping = MappedCall("lazyloom.vmap", user_site())
        result_leaves: list[Any] = []
        results: list[TreeDef] = []

        def body(values: list[Value]) -> list[Value]:
            rest = iter(values)
            full = [
                t if axis is None else wrap_as(t, next(rest))
                for t, axis in zip(leaves, axes, strict=True)]
            positional, named = structure.build(full)
            out_leaves, nesting = flatten(f(*positional, **named), Tensor)
            result_leaves.extend(out_leaves)
            results.append(nesting)
            return [t.value for t in out_leaves if isinstance(t, Tensor)]

        whole = iter(map_values(body, inputs, size, mapping))
        places = results[0].broadcast(out_axes, "vmap: out_axes")
        return results[0].build([
            _result(number, t, place, whole, size)
            for number, (t, place) in enumerate(zip(result_leaves, places, strict=True))])

    wrapped.__name__ = f"vmap({getattr(f, '__name__', 'f')})"
    return wrapped


def _leaves(tree: Any) -> Iterable[Any]:
    return [a for a in flatten(tree, int)[0] if a is not None]


def _check_axis(name: str, axis: Any) -> None:
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ArgumentError(
            f"vmap: {name} has {axis!r}, expected "
            f"{'a size' if name == 'axis_size' else 'an axis, None, or a tree of those'}")


def _inputs(
    leaves: Sequence[Any], axes: Sequence[int | None], axis_size: int | None
) -> tuple[list[Value], int]:
    """The mapped arguments with their axis in front, and its size."""
    inputs: list[Value] = []
    size = axis_size
    first = "axis_size"
    for number, (t, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        name = f"tensor {number} among the arguments"
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"vmap: leaf {number} of the arguments is a {type(t).__name__}, which has no axis "
                f"{axis} to map over, expected a tensor; give None for it in in_axes")
        value = t.value
        ndim = len(value.shape)
        if not -ndim <= axis < ndim:
            raise ArgumentError(
                f"vmap: {name}, a {value.type.text}, has no axis {axis} to map over; in_axes "
                f"names an axis of each, or None")
        axis %= ndim
        if size is None:
            size, first = value.shape[axis], name
        elif value.shape[axis] != size:
            raise ShapeError(
                f"vmap: {name}, a {value.type.text}, has size {value.shape[axis]} along axis "
                f"{axis}, expected {size} as {first} has")
        inputs.append(moved(value, axis, 0))
    if size is None:
        raise ArgumentError(
            "vmap: no argument is mapped over; name an axis of one in in_axes, or give axis_size")
    return inputs, size


def _result(number: int, t: Any, place: int | None, whole: Any, size: int) -> Any:
    """A result of the mapped function with the axis at its place."""
    if not isinstance(t, Tensor):
        if place is None:
            return t
        raise ArgumentError(
            f"vmap: result {number} of the mapped function is a {type(t).__name__}, expected a "
            "tensor; give None for it in out_axes to get it as it is")
    value, has_axis = next(whole)
    if place is None:
        if has_axis:
            raise ArgumentError(
                f"vmap: result {number} of the mapped function depends on the mapped axis, so "
                "out_axes must say where the axis goes; expected an axis, None was given")
        return t
    if not has_axis:
        value = spread(value, size)
    ndim = len(value.shape)
    if not -ndim <= place < ndim:
        raise ArgumentError(
            f"vmap: out_axes has {place} for result {number}, which is a {value.type.text} with "
            f"the axis in front; expected an axis between {-ndim} and {ndim - 1}")
    return wrap_as(t, moved(value, 0, place % ndim))
