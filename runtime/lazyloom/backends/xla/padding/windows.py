"""Convolutions and folds over windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .dims import Description, NotPadded, is_dynamic, is_static, unified
from .identities import IDENTITIES, lowest, nothing
from .interpret import PaddedRun, PaddedValue, Rule


def _convolution(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x, w = xs
    p = step.params
    numbers = p["dimension_numbers"]
    lhs, rhs, out = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
    shape = step.outvars[0].aval.shape
    if p["feature_group_count"] != 1 or p["batch_group_count"] != 1:
        if any(is_dynamic(v.dims[d]) for v, d in (
            (x, lhs[1]), (w, rhs[0]), (w, rhs[1]), *[(x, lhs[0])] * (p["batch_group_count"] != 1))
        ):
            raise NotPadded("conv_general_dilated of groups of a dynamic size")
        features = None
    else:
        features = unified(x.dims[lhs[1]], w.dims[rhs[1]])
    dims: list[Description] = [run.sizes.plain(n) for n in shape]
    if p["batch_group_count"] == 1:
        dims[out[0]] = x.dims[lhs[0]]
    dims[out[1]] = w.dims[rhs[0]]
    padding = []
    for k, (low, high) in enumerate(p["padding"]):
        a, b = x.dims[lhs[2 + k]], w.dims[rhs[2 + k]]
        if not any(map(is_dynamic, (a, b, dims[out[2 + k]]))):
            padding.append((int(low), int(high)))
            continue
        run.first(a)
        run.first(b)
        padding.append(edges(
            run, low, dims[out[2 + k]], _reach(x.data.shape[lhs[2 + k]], p["lhs_dilation"][k]),
            _reach(w.data.shape[rhs[2 + k]], p["rhs_dilation"][k]), p["window_strides"][k]))
    # axes that are summed over are filled with zeros, like the surroundings
    filled: list[PaddedValue] = []
    for v, spec in ((x, lhs), (w, rhs)):
        described = list(v.dims)
        if features is not None:
            described[spec[1]] = features
        filled.append(PaddedValue(run.filled(
            PaddedValue(v.data, tuple(described)), spec[1:], np.zeros((), v.data.dtype)), v.dims))
    axes = [k for k in range(len(padding)) if is_dynamic(w.dims[rhs[2 + k]])]
    if axes:
        return _by_position(run, step, filled[0], filled[1], dims, padding, axes)
    return run.bound(step, filled, tuple(dims), padding=tuple(padding))


#: the most positions at which a kernel of a dynamic size is applied one by one: 7 by 7
MOST_POSITIONS: Final = 49


def _by_position(
    run: PaddedRun, step: Any, x: PaddedValue, w: PaddedValue, dims: Sequence[Description],
    padding: Sequence[tuple[int, int]], axes: Sequence[int],
) -> list[PaddedValue]:
    """Run a convolution whose kernel is dynamic along spatial axes, as derivatives by the weight.

    The padding of the kernel meets valid elements of ``x``, different ones at each position, and
    zeros there are not enough: times an infinite element they are NaN. So at each position, the
    part of ``x`` that the kernel covers is cut out, with zeros where the kernel is padding.
    """
    from jax import lax

    p = step.params
    lhs, rhs, out = (getattr(p["dimension_numbers"], f"{each}_spec") for each in
                     ("lhs", "rhs", "out"))
    if any(is_dynamic(dims[out[2 + k]]) for k in axes):
        raise NotPadded("a convolution with a dynamic kernel to a dynamic size")
    counts = {k: int(dims[out[2 + k]][0]) for k in axes}
    if not 0 < math.prod(counts.values()) <= MOST_POSITIONS:
        raise NotPadded(
            f"a convolution with a dynamic kernel at {tuple(counts.values())} positions")
    changed = {key: list(p[key]) for key in ("window_strides", "lhs_dilation", "rhs_dilation")}
    changed["padding"] = list(padding)
    steps, data, zero = {}, x.data, np.zeros((), x.data.dtype)
    for k in axes:
        axis, low = lhs[2 + k], padding[k][0]
        stride, dilation = int(p["window_strides"][k]), int(p["rhs_dilation"][k])
        reach = _reach(w.data.shape[rhs[2 + k]], dilation)
        between = int(p["lhs_dilation"][k])
        high = (counts[k] - 1) * stride + reach - low - _reach(data.shape[axis], between)
        data = lax.pad(data, zero, [
            (low, high, between - 1) if d == axis else (0, 0, 0) for d in range(data.ndim)])
        steps[k] = stride, reach, dilation
        for key in changed:
            changed[key][k] = (0, 0) if key == "padding" else 1

    def part(data: Any, k: int, i: int) -> Any:
        stride, reach, dilation = steps[k]
        axis = lhs[2 + k]
        data = lax.slice_in_dim(data, i * stride, i * stride + reach, dilation, axis)
        valid = lax.broadcast_in_dim(run.valid(w.dims[rhs[2 + k]]), data.shape, (axis,))
        return lax.select(valid, data, lax.broadcast(zero, data.shape))

    def applied(data: Any, axes: Sequence[int]) -> Any:
        if not axes:
            (result,) = run.bound(step, [PaddedValue(data, x.dims), w], tuple(dims),
                                 **{key: tuple(each) for key, each in changed.items()})
            return result.data
        k, *others = axes
        return lax.concatenate(
            [applied(part(data, k, i), others) for i in range(counts[k])], out[2 + k])

    return [PaddedValue(applied(data, axes), tuple(dims))]


def _reach(size: int, dilation: int) -> int:
    """Return how many elements a dilated dimension spans, from its first to its last."""
    return (size - 1) * int(dilation) + 1 if size else 0


def edges(
    run: PaddedRun, low: Any, description: Description, size: int, window: int, stride: int
) -> tuple[int, int]:
    """Return the padding of a dimension at the bucket that gives the right number of windows.

    Raises NotPadded where the padding before the first element is dynamic.
    """
    before = run.sizes.text(low)
    if not is_static(before.removeprefix("-")):
        raise NotPadded("windows with a dynamic number of elements before the first one")
    times = run.sizes.at_bucket(run.sizes.total(description))
    return int(before), (times - 1) * int(stride) + window - int(before) - size


#: parameters with one entry per dimension, and the entry that leaves a dimension unchanged
_WINDOWS: Final = {
    "window_dimensions": 1, "window_strides": 1, "padding": (0, 0), "base_dilation": 1,
    "window_dilation": 1,
}  # fmt: skip
#: the identity element of each fold over windows
_IN_WINDOWS: Final[dict[str, Callable[[Any], Any]]] = {
    f"reduce_window_{name}": IDENTITIES[name] for name in ("sum", "max", "min")}


def _windowed(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    name, p = step.primitive.name, step.params
    # windows change the size of a dimension: the last operand has the longer one
    x = xs[-1] if name == "select_and_scatter_add" else xs[0]
    shorter = xs[0].dims if name == "select_and_scatter_add" else [
        run.sizes.plain(n) for n in step.outvars[0].aval.shape]
    changed: dict[str, Any] = {}
    for key in _WINDOWS:
        if key in p:
            changed[key] = [
                n if isinstance(n, tuple) else run.sizes.at_bucket(n) for n in p[key]]
    moved_over = []
    for d, (a, b) in enumerate(zip(x.dims, shorter, strict=True)):
        entries = {key: p[key][d] for key in changed}
        if all(_alone(run, entry, _WINDOWS[key]) for key, entry in entries.items()):
            changed["padding"][d] = (0, 0)
            continue
        if not _as_at_bucket(run, entries, a, b):
            raise NotPadded("windows that are dynamic")
        if is_dynamic(a) or is_dynamic(b):
            run.first(a)
            run.first(b)
            moved_over.append(d)
            low, _ = changed["padding"][d]
            changed["padding"][d] = edges(
                run, low, b, _reach(x.data.shape[d], changed.get("base_dilation", [1] * 99)[d]),
                _reach(changed["window_dimensions"][d],
                       changed.get("window_dilation", [1] * 99)[d]),
                changed["window_strides"][d])
        else:
            changed["padding"][d] = tuple(map(run.sizes.at_bucket, changed["padding"][d]))
    filled = list(xs)
    if moved_over:
        identity = _IN_WINDOWS.get(name)
        if name == "select_and_scatter_add":
            source = PaddedValue(run.filled(xs[0], moved_over, nothing(x.data.dtype)), xs[0].dims)
            sign = {"ge": 1, "le": -1}.get(str(p["select_prim"]))
            if sign is None:
                raise NotPadded(f"select_and_scatter_add by {p['select_prim']}")
            filled = [source, PaddedValue(
                run.filled(x, moved_over, lowest(x.data.dtype, sign)), x.dims)]
        elif identity is not None:
            filled = [PaddedValue(run.filled(x, moved_over, identity(x.data.dtype)), x.dims)]
        else:
            raise NotPadded(f"{name} over a dynamic dimension")
    others = [v.dims for v in xs if v.dims and v is not x]
    dims = list(x.dims)
    for d in range(len(dims)):
        if d not in moved_over:
            for each in others:
                if is_dynamic(dims[d]) or is_dynamic(each[d]):
                    dims[d] = unified(dims[d], each[d])
    results = [
        tuple(dims[d] if is_dynamic(dims[d]) and d not in moved_over else run.sizes.plain(n)
              for d, n in enumerate(v.aval.shape)) for v in step.outvars]
    return run.bound(step, filled, *results, **{k: tuple(v) for k, v in changed.items()})


def _alone(run: PaddedRun, entry: Any, alone: Any) -> bool:
    """Return True if an entry of a step over windows leaves its dimension unchanged, whatever the
    extents."""
    if isinstance(entry, tuple):
        return all(run.sizes.text(n) == "0" for n in entry)
    return run.sizes.text(entry) == str(alone)


def _as_at_bucket(run: PaddedRun, entries: dict[str, Any], a: Description, b: Description) -> bool:
    """Return True if windows over a dimension ``a``, ``b`` of them, are right at the bucket.

    They are where nothing about them is dynamic, and where there is one, over the whole dimension.
    """
    texts = {key: run.sizes.text(n) for key, n in entries.items() if key != "padding"}
    if all(map(is_static, texts.values())):
        return True
    return (b == ("1",) and texts["window_dimensions"] == run.sizes.total(a)
            and all(run.sizes.text(n) == "0" for n in entries["padding"])
            and all(texts.get(key, "1") == "1" for key in ("base_dilation", "window_dilation")))


WINDOWS: Final[dict[str, Rule]] = {
    "conv_general_dilated": _convolution,
    **dict.fromkeys(
        ("reduce_window", "reduce_window_max", "reduce_window_min", "reduce_window_sum",
         "select_and_gather_add", "select_and_scatter_add"), _windowed),
}  # fmt: skip
