"""``associative_scan``: what a function makes of the elements of a dimension up to each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._functions import shaping
from ..func._trees import flatten, mapped
from ._calls import check_function, check_leaves
from .scan import scan


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:  # fmt: skip
    """The elements along a dimension, combined from the first up to each.

    ``y[0] = x[0]``, ``y[i] = combine_fn(y[i - 1], x[i])``. The function is recorded once, on
    tensors without data, as the body of a loop.

    Args:
        combine_fn: takes two elements and gives a third, nested and typed alike. It is
            associative, may use tensors from outside, but not write to them.
        xs: tensors, also in nested tuples, lists and dicts, of one size along ``dim``.
        dim: the dimension that is gone along.
        reverse: begin with the last element.
        combine_mode: "pointwise" or "generic", which are the same here.

    Returns:
        tensors nested and typed as ``xs``. Gradients pass through it, and ``torch.vmap`` maps it.

    Raises ValueError for another mode, RuntimeError for other arguments, and for elements that are
    not typed as those of ``xs``.
    """
    check_function(combine_fn, "associative_scan", "combine_fn")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            "associative_scan: combine_mode must be 'pointwise' or 'generic', but got "
            f"{combine_mode!r}")
    check_leaves(xs, "associative_scan", "xs")
    leaves = flatten(xs)[0]
    if not leaves:
        raise RuntimeError("associative_scan: xs must have at least one Tensor")
    place = dim % max(leaves[0].ndim, 1)
    sizes = {t.shape[place] if place < t.ndim else None for t in leaves}
    if len(sizes) > 1 or None in sizes or not -leaves[0].ndim <= dim < leaves[0].ndim:
        raise RuntimeError(
            f"associative_scan: dim is {dim}, but xs has leaves of shape "
            f"{', '.join(str(tuple(t.shape)) for t in leaves)}; give one size along it")
    size = leaves[0].shape[place]
    if size < 2:
        return mapped(lambda t: t.clone(), xs)
    first = size - 1 if reverse else 0
    rest = 0 if reverse else 1

    def step(before: Any, element: Any) -> tuple[Any, Any]:
        made = combine_fn(before, element)
        return made, made

    _, found = scan(
        step, mapped(lambda t: t.select(place, first), xs),
        mapped(lambda t: t.narrow(place, rest, size - 1), xs), dim=place, reverse=reverse)
    kept, made = (iter(flatten(tree)[0]) for tree in (xs, found))
    return mapped(lambda _: _joined(next(kept), next(made), place, first), xs)


def _joined(x: Any, made: Any, place: int, first: int) -> Any:
    """The element that the scan began with, beside what it made of the others."""
    edge = x.narrow(place, first, 1)
    return shaping.cat((made, edge) if first else (edge, made), place)
