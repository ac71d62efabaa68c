"""Counts and positions of true elements, by NumPy's functions.

XLA finds positions by a running sum and a scatter, and counts by a sum of integers. NumPy's own
functions take a tenth of the time of these steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jaxprs.walking import is_literal
from .indexing import scatter_rows
from .patterns import uses_of
from .writer import Expr, Writer, dtype_of, extents


def positions(steps: Sequence[Any], outs: Sequence[Any]) -> dict[int, tuple[Any, Any, Any] | None]:
    """For steps by their ``id``: what positions are written to, of what, and their bound.

    Such a step scatters 0, 1, 2... to the ranks of what is true, and all else to the bound, which
    may lie inside; steps that only it needs are there with None.
    """
    found: dict[int, tuple[Any, Any, Any] | None] = {}
    makers: dict[Any, Any] = {}
    uses = uses_of(steps, outs)

    def maker(atom: Any, name: str) -> Any:
        """The step of that name which makes what one step alone takes; None if it is another."""
        if is_literal(atom) or uses[atom] != 1:
            return None
        step = makers.get(atom)
        return step if step is not None and step.primitive.name == name else None

    for step in steps:
        for out in step.outvars:
            makers[out] = step
        if step.primitive.name != "scatter" or not _scatters_rows(step):
            continue
        target, indices, updates = step.invars
        counted, column = maker(updates, "iota"), maker(indices, "broadcast_in_dim")
        chosen = column and maker(column.invars[0], "select_n")
        if counted is None or not chosen or len(updates.aval.shape) != 1:
            continue
        mask, bound, rank = chosen.invars
        spread, less = maker(bound, "broadcast_in_dim"), maker(rank, "sub")
        if not spread or spread.invars[0].aval.shape or not less or is_literal(mask) or (
            str(mask.aval.dtype) != "bool" or not _is_one(less.invars[1], makers)
        ):
            continue
        total = maker(less.invars[0], "cumsum")
        numbers = total and not total.params["reverse"] and maker(
            total.invars[0], "convert_element_type")
        if not numbers or numbers.invars[0] is not mask:
            continue
        found[id(step)] = (target, mask, spread.invars[0])
        for needless in (counted, column, chosen, spread, less, total, numbers):
            found[id(needless)] = None
    return found


def _scatters_rows(step: Any) -> bool:
    """Whether a scatter writes single elements of a vector, and drops what is out of range."""
    p = step.params
    numbers = p["dimension_numbers"]
    return (
        p["update_jaxpr"] is None and getattr(p["mode"], "name", "") == "FILL_OR_DROP"
        and numbers.inserted_window_dims == (0,) and len(step.invars[0].aval.shape) == 1
        and step.invars[1].aval.shape[1:] == (1,)
    )  # fmt: skip


def _is_one(atom: Any, makers: dict[Any, Any]) -> bool:
    while not is_literal(atom):
        step = makers.get(atom)
        if step is None or step.primitive.name != "broadcast_in_dim":
            return False
        atom = step.invars[0]
    return bool(atom.val == 1)


def counts(steps: Sequence[Any], outs: Sequence[Any]) -> dict[int, Any]:
    """For steps by their ``id``: the mask whose true elements a step counts, all of them.

    The step that makes integers of it is there with None.
    """
    found: dict[int, Any] = {}
    made: dict[Any, Any] = {}
    uses = uses_of(steps, outs)
    for step in steps:
        name = step.primitive.name
        if name == "convert_element_type" and not is_literal(step.invars[0]) and (
            str(step.invars[0].aval.dtype) == "bool" and step.outvars[0].aval.dtype.kind in "iu"
        ):
            made[step.outvars[0]] = step
        elif name == "reduce_sum" and not is_literal(step.invars[0]):
            numbers = made.get(step.invars[0])
            if numbers and uses[step.invars[0]] == 1 and not step.outvars[0].aval.shape:
                found[id(step)] = numbers.invars[0]
                found[id(numbers)] = None
    return found


def write_positions(w: Writer, target: Expr, mask: Expr, bound: Expr) -> Expr:
    """The step of :func:`positions`."""
    x = w.own(target)
    return w.let(f"true_positions({x.text}, {w.full(mask).text}, {bound.text})", x.shape, x.dtype)


def write_count(w: Writer, mask: Expr, out: Any) -> Expr:
    """The step of :func:`counts`."""
    dtype = dtype_of(out.aval)
    return w.let(f"d_{dtype.name}.type(count_nonzero({w.full(mask).text}))",
                 extents(out.aval.shape), dtype)


def true_positions(x: Any, mask: Any, bound: Any) -> Any:
    """x, of which the first elements become the positions where the mask is true.

    The others are scattered to ``bound``, which is outside but where somebody else's steps look
    like those of ``flat_nonzero``.
    """
    if bound < len(x):
        ranks = np.where(mask, np.cumsum(mask) - 1, bound)
        return scatter_rows(x, ranks, np.arange(len(mask), dtype=x.dtype), False, None)
    found = np.flatnonzero(mask)[: len(x)]
    x[: len(found)] = found
    return x
