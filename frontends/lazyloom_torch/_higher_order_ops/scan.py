"""``scan``: a function over the elements of a dimension, one after the other, with a carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom

from ..func._trees import flatten, mapped, plain
from ._calls import called, check_function, check_leaves, giving_plain


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``combine_fn`` over the elements of a dimension of ``xs``, each step going on from the last.

    The function is recorded once, on tensors without data, as the body of a loop.

    Args:
        combine_fn: takes the carry and one element, and gives the next carry, nested and typed as
            ``init``, and what the step gives. It may use tensors from outside, but not write to
            them.
        init: tensors, also in nested tuples, lists and dicts.
        xs: likewise, of one size along ``dim``.
        dim: the dimension that is gone along.
        reverse: begin with the last element.

    Returns:
        the last carry, and what the steps gave, stacked along a new dimension: ``dim``, or the
        first of what has no such. Gradients pass through it, and ``torch.vmap`` maps it.

    Raises RuntimeError for other arguments, and for a carry that is not typed as ``init``.
    """
    check_function(combine_fn, "scan", "combine_fn")
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise RuntimeError(f"scan: dim must be an int, but got {dim!r}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"scan: reverse must be a bool, but got {reverse!r}")
    for name, tree in (("init", init), ("xs", xs)):
        check_leaves(tree, "scan", name)
        if not flatten(tree)[0]:
            raise RuntimeError(f"scan: {name} must have at least one Tensor")
    shapes = [t.tensor_type.shape for t in flatten(xs)[0]]
    ndim = len(shapes[0])
    if not -ndim <= dim < ndim:
        raise RuntimeError(f"scan: dim is {dim}, but a leaf of xs has {ndim} dimensions")
    place = dim % ndim
    for shape in shapes:
        if len(shape) <= place or shape[place] == 0:
            raise RuntimeError(
                f"scan: a leaf of xs has the shape {tuple(shape)}, expected elements along "
                f"dimension {place}")
    rows = plain(mapped(lambda t: t.movedim(place, 0), xs))
    last, given = called(lambda: lazyloom.scan(
        giving_plain(combine_fn), plain(init), rows, reverse=reverse))
    if place:
        given = mapped(
            lambda t: t.movedim(0, place) if len(t.tensor_type.shape) > place else t, given)
    return last, given
