"""Gathers and scatters: elements at positions that are data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .dims import Description, NotPadded, is_dynamic, is_static, unified
from .identities import IDENTITIES
from .interpret import PaddedRun, PaddedValue, Rule
from .moving import moved, part_from

#: a position at which there is no element
_NOWHERE: Final = -1


def _mode(step: Any) -> str:
    name = str(step.params["mode"]).lower()
    for mode in ("clip", "fill_or_drop", "promise_in_bounds"):
        if mode in name:
            return mode
    raise NotPadded(f"indexing mode {name}")


def _drop() -> Any:
    from jax import lax

    return lax.GatherScatterMode.FILL_OR_DROP


def _column(at: Any, number: int) -> Any:
    from jax import lax

    return lax.index_in_dim(at, number, at.ndim - 1, keepdims=False)


def _located(
    run: PaddedRun, column: Any, description: Description, size: str, mode: str
) -> Any:
    """Convert starts of windows along a dimension without padding to starts in the padded one,
    int64.

    A start outside is moved inside or becomes NOWHERE, depending on the mode.
    """
    from jax import lax

    if column.dtype == np.uint64:
        column = lax.min(column, np.full(column.shape, 1 << 62, np.uint64))
    column = lax.convert_element_type(column, np.int64)
    last = lax.broadcast(
        run.actual(run.sizes.total(description)) - run.actual(size), column.shape)
    first = np.zeros(column.shape, np.int64)
    inside = None
    if mode == "clip":
        column = lax.max(lax.min(column, last), first)
    elif mode == "fill_or_drop":
        inside = lax.bitwise_and(lax.ge(column, first), lax.le(column, last))
    if len(description) > 1:
        if size != "1":
            run.first(description)
        column = moved(run, column, description, to_padded=True)
    if inside is not None:
        column = lax.select(inside, column, np.full(column.shape, _NOWHERE, np.int64))
    return column


def _with_columns(at: Any, columns: dict[int, Any]) -> Any:
    """Return the indices with these columns, int64."""
    from jax import lax

    if not columns:
        return at
    each = [columns.get(c) for c in range(at.shape[-1])]
    return lax.concatenate([lax.expand_dims(
        lax.convert_element_type(_column(at, c), np.int64) if new is None else new,
        [at.ndim - 1]) for c, new in enumerate(each)], at.ndim - 1)


def _gather(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x, at = xs
    p, mode = step.params, _mode(step)
    n = p["dimension_numbers"]
    sizes = [run.sizes.text(s) for s in p["slice_sizes"]]
    index = at.data
    columns: dict[int, Any] = {}
    for c, d in enumerate(n.start_index_map):
        if sizes[d] == run.sizes.total(x.dims[d]) or (
            not is_dynamic(x.dims[d]) and is_static(sizes[d])
        ):
            continue
        if is_static(sizes[d]):
            columns[c] = _located(run, _column(index, c), x.dims[d], sizes[d], mode)
        elif index.ndim == 1 and mode != "fill_or_drop":
            # one window
            x = part_from(run, x, d, _column(index, c), run.sizes.expression(sizes[d]))
            columns[c] = np.zeros((), np.int64)
        else:
            raise NotPadded("a gather of windows of a dynamic size")
    lead = list(at.dims[:-1])
    for a, b in zip(n.start_indices_batching_dims, n.operand_batching_dims, strict=True):
        lead[a] = unified(lead[a], x.dims[b])
    window = [d for d in range(len(x.dims))
              if d not in n.collapsed_slice_dims and d not in n.operand_batching_dims]
    inner = []
    for d in window:
        if sizes[d] == run.sizes.total(x.dims[d]):
            inner.append(x.dims[d])
        elif is_static(sizes[d]):
            inner.append((sizes[d],))
        else:
            raise NotPadded("a gather of windows of a dynamic size")
    dims: list[Description] = []
    for d in range(step.outvars[0].aval.ndim):
        dims.append(inner.pop(0) if d in n.offset_dims else lead.pop(0))
    return run.bound(
        step, [x, PaddedValue(_with_columns(index, columns), at.dims)], tuple(dims),
        slice_sizes=tuple(map(run.sizes.at_bucket, sizes)))


def _scatter(identity: Callable[[Any], Any] | None) -> Rule:
    def rule(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
        return _scattered(run, step, xs, identity)

    return rule


def _scattered(
    run: PaddedRun, step: Any, xs: list[PaddedValue], identity: Callable[[Any], Any] | None
) -> list[PaddedValue]:
    from jax import lax

    x, at, new = xs
    p, mode = step.params, _mode(step)
    n = p["dimension_numbers"]
    dims, update_dims = list(x.dims), list(new.dims)
    window = [d for d in range(len(x.dims))
              if d not in n.inserted_window_dims and d not in n.operand_batching_dims]
    sizes = ["1"] * len(x.dims)
    for d, u in zip(window, n.update_window_dims, strict=True):
        sizes[d] = run.sizes.total(new.dims[u])
        if sizes[d] == run.sizes.total(x.dims[d]):
            dims[d] = update_dims[u] = unified(x.dims[d], new.dims[u])
        elif not is_static(sizes[d]):
            raise NotPadded("a scatter of windows of a dynamic size")
    lead = [u for u in range(len(new.dims)) if u not in n.update_window_dims]
    batched: dict[int, int] = dict(
        zip(n.scatter_indices_batching_dims, n.operand_batching_dims, strict=True))
    for a, u in enumerate(lead):
        update_dims[u] = unified(at.dims[a], update_dims[u])
        if a in batched:
            dims[batched[a]] = update_dims[u] = unified(dims[batched[a]], update_dims[u])
    rows = [update_dims[u] for u in lead]
    # padded batches are padded in the operand, too
    apart = [a for a in range(len(rows)) if a not in batched and is_dynamic(rows[a])]
    columns: dict[int, Any] = {}
    for c, d in enumerate(n.scatter_dims_to_operand_dims):
        whole = sizes[d] == run.sizes.total(x.dims[d])
        if not whole:
            dims[d] = run.varying(dims[d])
        if (is_dynamic(x.dims[d]) and not whole) or (apart and mode == "clip"):
            columns[c] = _located(run, _column(at.data, c), x.dims[d], sizes[d], mode)
    update, changed = new.data, {}
    if apart:
        mask = run.mask(rows, apart)
        if n.scatter_dims_to_operand_dims:
            column = columns.get(0)
            if column is None:
                column = lax.convert_element_type(_column(at.data, 0), np.int64)
            columns[0] = lax.select(mask, column, np.full(column.shape, _NOWHERE, np.int64))
            changed = {"mode": _drop(), "unique_indices": False, "indices_are_sorted": False}
        elif identity is not None:
            update = run.filled(
                PaddedValue(update, tuple(update_dims)), [lead[a] for a in apart],
                identity(update.dtype))
        else:
            raise NotPadded("a scatter of a dynamic number of windows to one place")
    elif columns:
        changed = {"unique_indices": False, "indices_are_sorted": False}
    return run.bound(
        step, [x, PaddedValue(_with_columns(at.data, columns), at.dims), PaddedValue(update,
            new.dims)],
        tuple(dims), **changed)


INDEXING: Final[dict[str, Rule]] = {
    "gather": _gather, "scatter": _scatter(None),
    **{f"scatter{joined}{name}": _scatter(IDENTITIES[fold]) for joined in "-_"
       for name, fold in (("add", "sum"), ("sub", "sum"), ("mul", "prod"), ("min", "min"),
                          ("max", "max"))},
}  # fmt: skip
