"""XLA's gather and scatter, and slices at positions that are data, with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
#: elements of rows from which those of the same place are summed before they are added
MANY = 1 << 12
#: of a gather: offset, collapsed, map of starts, batching of the operand and of the indices
Plan = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _positions(
    shape: tuple[int, ...], indices: Array, sizes: tuple[int, ...], plan: Plan,
    window: tuple[int, ...], rank: int, clip: bool,
) -> tuple[list[Array], Array | None]:
    """Per axis of the operand the positions, broadcast over the result's axes; and what is inside.

    ``window`` are the axes of the result that run over a slice, in the order of the operand's axes
    that are neither collapsed nor batching.
    """
    _, collapsed, mapped, batching, of_indices = plan
    batch = [d for d in range(rank) if d not in window]

    def spread(values: Array, axes: list[int]) -> Array:
        full = [1] * rank
        for axis, n in zip(axes, values.shape, strict=True):
            full[axis] = n
        return values.reshape(full)

    inside: Array | None = None
    found: list[Array] = []
    kept = iter(window)
    for d, n in enumerate(shape):
        position: Array = 0
        if d in mapped:
            start = indices[..., mapped.index(d)].astype(np.int64)
            last = n - sizes[d]
            if clip:
                start = np.clip(start, 0, last)
            else:
                good = (start >= 0) & (start <= last)
                if not good.all():
                    spread_good = spread(good, batch)
                    inside = spread_good if inside is None else inside & spread_good
                    start = np.where(good, start, 0)
            position = spread(start, batch)
        elif d in batching:
            axis = of_indices[batching.index(d)]
            position = spread(np.arange(n), [batch[axis]])
        if d not in collapsed and d not in batching:
            axis = next(kept)
            if sizes[d] != 1 or d not in mapped:
                position = position + spread(np.arange(sizes[d]), [axis])
        found.append(position)
    return found, inside


def gather(
    x: Array, indices: Array, plan: Plan, sizes: tuple[int, ...], fill: Array | None,
    shape: tuple[int, ...],
) -> Array:
    """Slices of x at starts that are data, in the last axis of ``indices``."""
    if 0 in shape:
        return np.empty(shape, x.dtype)
    if 0 in x.shape:
        nothing = np.empty(shape, x.dtype)
        nothing[...] = 0 if fill is None else fill
        return nothing
    at, inside = _positions(x.shape, indices, sizes, plan, plan[0], len(shape), fill is None)
    found: Array = x[tuple(at)] if at else x
    if found.shape != shape:
        found = np.array(np.broadcast_to(found, shape))
    elif not at:
        found = np.array(found)
    if inside is not None:
        found = np.where(inside, found, fill)
    return found


def scatter_rows(x: Array, indices: Array, updates: Array, clip: bool, function: Any) -> Array:
    """:func:`scatter` of whole rows of the first axis."""
    count = len(x)
    if not updates.size or not count:
        return x
    if indices.size == 1:
        at = int(indices.item())
        if clip:
            at = min(max(at, 0), count - 1)
        if 0 <= at < count:
            new = updates.reshape(x.shape[1:])
            x[at] = new if function is None else function(x[at], new)
        return x
    where = indices.reshape(-1).astype(np.int64)
    rows = updates.reshape((len(where), *x.shape[1:]))
    if clip:
        where = np.clip(where, 0, count - 1)
    else:
        inside = (where >= 0) & (where < count)
        if not inside.all():
            where, rows = where[inside], rows[inside]
    if function is None:
        x[where] = rows
    elif function is np.add and rows.size > MANY:
        _add_rows(x, where, rows)
    else:
        function.at(x, where, rows)
    return x


def _add_rows(found: Array, where: Array, rows: Array) -> None:
    """Add rows to those of ``found`` that are named, of which some may be the same."""
    order = np.argsort(where, kind="stable")
    where = where[order]
    starts = np.flatnonzero(np.concatenate(([True], where[1:] != where[:-1])))
    rows = rows[order]
    if len(starts) < len(where):
        rows = np.add.reduceat(rows, starts, 0, found.dtype)
    found[where[starts]] += rows


def scatter(
    x: Array, indices: Array, updates: Array, plan: Plan, clip: bool, function: Any
) -> Array:
    """x, which is written to, with slices combined with updates; what is not inside is left out."""
    found = x
    if not updates.size or not x.size:
        return found
    window, inserted, _, batching, _ = plan
    sizes, kept = [], iter(window)
    for d in range(x.ndim):
        sizes.append(1 if d in inserted or d in batching else updates.shape[next(kept)])
    at, inside = _positions(
        x.shape, indices, tuple(sizes), plan, window, updates.ndim, clip)
    where: Any
    if not at:
        where = ()
    else:
        where = tuple(np.broadcast_to(a, updates.shape) for a in at)
        if inside is not None:
            chosen = np.broadcast_to(inside, updates.shape)
            where = tuple([a[chosen] for a in where])
            updates = updates[chosen]
    if function is None:
        found[where] = updates
    else:
        function.at(found, where, updates)
    return found
