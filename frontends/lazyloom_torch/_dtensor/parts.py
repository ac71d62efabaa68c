"""Functions of DTensors as functions of this process's parts, for what records with these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom

from .._tensor import Tensor
from .tensors import DTensor


def _parts(leaves: list[Any]) -> tuple[list[Any], list[DTensor | None]]:
    """Parts in the place of DTensors, and how each of these lies."""
    return ([x._local_tensor if isinstance(x, DTensor) else x for x in leaves],
            [x if isinstance(x, DTensor) else None for x in leaves])


def _whole(parts: list[Any], like: list[Any]) -> list[Any]:
    return [x if spec is None else spec._with(x) for x, spec in zip(parts, like, strict=True)]


def of_parts(
    function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Callable[..., Any], list[Any], Callable[[Any], Any]]:
    """A function whose tensors are this process's parts.

    Returns it, its arguments, and what makes of its results those of the function.
    """
    leaves, nesting = lazyloom.tree_flatten((list(args), kwargs), Tensor)
    given, like = _parts(leaves)
    like = [None if x is None else x.detach() for x in like]  # type: ignore[misc]
    results: list[Any] = []

    def inner(*parts: Any) -> Any:
        a, k = nesting.build(_whole(list(parts), like))
        found, outer = lazyloom.tree_flatten(function(*a, **k), Tensor)
        made, lies = _parts(found)
        results[:] = [outer, [None if x is None else x.detach() for x in lies]]
        return made

    def wrapped(found: list[Any]) -> Any:
        outer, lies = results
        return outer.build(_whole(found, lies))

    return inner, given, wrapped
