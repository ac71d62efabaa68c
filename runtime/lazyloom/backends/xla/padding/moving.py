"""Slices, pads, concatenations: elements at positions that are known when the extents are."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from .dims import ANY, Description, NotPadded, is_any, is_dynamic, is_static, unified
from .interpret import PaddedRun, PaddedValue, Rule


def moved(run: PaddedRun, at: Any, description: Description, *, to_padded: bool) -> Any:
    """Convert positions along a dimension without padding to positions in the padded one, or back.
    """
    from jax import lax

    if is_any(description) or len(description) == 1:
        return at

    def number(n: Any) -> Any:
        return lax.broadcast(lax.convert_element_type(n, at.dtype), at.shape)

    position, stride = None, number(1)
    for k, factor in reversed(list(enumerate(description))):
        actual, padded = number(run.actual(factor)), number(run.sizes.at_bucket(factor))
        here, there = (actual, padded) if to_padded else (padded, actual)
        part = lax.rem(at, lax.max(here, number(1))) if k else at
        at = lax.div(at, lax.max(here, number(1)))
        position = part * stride if position is None else position + part * stride
        stride = stride * there
    return position


def _longer(data: Any, axis: int, size: int) -> Any:
    """Return the array with zeros at the end of an axis, so that its size is at least ``size``."""
    from jax import lax

    more = size - data.shape[axis]
    if more <= 0:
        return data
    return lax.pad(data, np.zeros((), data.dtype),
                   [(0, more if d == axis else 0, 0) for d in range(data.ndim)])


def _starts(data: Any, at: dict[int, Any]) -> list[Any]:
    from jax import lax

    return [lax.convert_element_type(at[d], np.int64) if d in at else np.int64(0)
            for d in range(data.ndim)]


def cut(
    data: Any, axis: int, start: Any, size: int, *, inside: bool = False, stride: int = 1
) -> Any:
    """Return ``size`` elements of an array along an axis, from a start that is an int or a scalar.

    ``inside`` means that all of them exist. Otherwise those beyond the array may be anything.
    """
    from jax import lax

    reach = max((size - 1) * stride + 1, 0)
    if isinstance(start, int):
        data = _longer(data, axis, start + reach)
        return lax.slice_in_dim(data, start, start + reach, stride, axis)
    if not inside:
        data = _longer(data, axis, data.shape[axis] + reach)
    sizes = [reach if d == axis else n for d, n in enumerate(data.shape)]
    data = lax.dynamic_slice(data, _starts(data, {axis: start}), sizes)
    return data if stride == 1 else lax.slice_in_dim(data, 0, reach, stride, axis)


def _part(
    run: PaddedRun, x: PaddedValue, axis: int, start: Any, size: Any, stride: int = 1
) -> PaddedValue:
    """Return a slice along one axis; start and size are ints or JAX's expressions."""
    described, text = x.dims[axis], run.sizes.text(size)
    first = run.sizes.text(start)
    if first == "0" and stride == 1 and text == run.sizes.total(described):
        return x
    many = run.sizes.at_bucket(size)
    if is_any(described) and not is_static(text) and many <= x.data.shape[axis]:
        data, description = cut(x.data, axis, 0, many), run.sizes.free(size)
    else:
        run.first(described)
        at = int(first) if is_static(first) else run.actual(first)
        data = cut(x.data, axis, at, many, inside=is_static(text), stride=stride)
        description = run.sizes.plain(size)
    return PaddedValue(data, (*x.dims[:axis], description, *x.dims[axis + 1 :]))


def _slice(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    p, x = step.params, xs[0]
    strides = p["strides"] or (1,) * len(x.dims)
    for axis, (start, size, stride) in enumerate(
        zip(p["start_indices"], step.outvars[0].aval.shape, strides, strict=True)
    ):
        if not is_static(run.sizes.text(stride)):
            raise NotPadded(f"a slice of every {stride} elements")
        x = _part(run, x, axis, start, size, int(stride))
    return [x]


def _split(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    axis, at, parts = int(step.params["axis"]), 0, []
    for size in step.params["sizes"]:
        parts.append(_part(run, xs[0], axis, at, size))
        at = at + size
    return parts


def clipped(run: PaddedRun, start: Any, description: Description, size: str) -> Any:
    """Return a start clamped so that a slice of a size fits in a dimension without padding."""
    from jax import lax

    last = run.actual(run.sizes.total(description)) - run.actual(size)
    start = lax.convert_element_type(start, np.int64)
    return lax.max(lax.min(start, lax.broadcast(last, start.shape)),
                   np.zeros(start.shape, np.int64))


def clamped(start: Any, last: int) -> Any:
    """Clamp a start to 0 to ``last``; JAX's functions count a negative one from the end."""
    from jax import lax

    return lax.clamp(np.int64(0), lax.convert_element_type(start, np.int64), np.int64(last))


def part_from(run: PaddedRun, x: PaddedValue, axis: int, start: Any, size: Any) -> PaddedValue:
    """Return a slice along one axis from a start that is data."""
    described, text = x.dims[axis], run.sizes.text(size)
    if text == run.sizes.total(described):
        return x
    many, description = run.sizes.at_bucket(size), run.sizes.plain(size)
    if is_static(text) and not is_dynamic(described):
        data = cut(x.data, axis, clamped(start, x.data.shape[axis] - many), many, inside=True)
    else:
        run.first(described)
        data = cut(x.data, axis, clipped(run, start, described, text), many,
                   inside=is_static(text))
    return PaddedValue(data, (*x.dims[:axis], description, *x.dims[axis + 1 :]))


def _dynamic_slice(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x = xs[0]
    for axis, (start, size) in enumerate(zip(xs[1:], step.params["slice_sizes"], strict=True)):
        x = part_from(run, x, axis, start.data, size)
    return [x]


def _dynamic_update_slice(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    x, new, *starts = xs
    dims, at, masked, data = list(x.dims), {}, [], x.data
    for axis, (a, b, start) in enumerate(zip(x.dims, new.dims, starts, strict=True)):
        size = run.sizes.total(b)
        if run.sizes.total(a) == size:
            dims[axis] = unified(a, b)
            continue
        dims[axis] = run.varying(a)
        if not is_dynamic(a) and not is_dynamic(b):
            at[axis] = clamped(start.data, int(a[0]) - int(b[0]))
        else:
            run.first(a)
            run.first(b)
            at[axis] = clipped(run, start.data, a, size)
            if is_dynamic(b):
                masked.append(axis)
                data = _longer(data, axis, data.shape[axis] + new.data.shape[axis])
    position, update = _starts(data, at), new.data
    if masked:
        there = lax.dynamic_slice(data, position, update.shape)
        update = lax.select(run.mask(new.dims, masked), update, there)
    data = lax.dynamic_update_slice(data, update, position)
    return [PaddedValue(lax.slice(data, [0] * data.ndim, x.data.shape), tuple(dims))]


def _concatenate(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    axis = int(step.params["dimension"])
    parts = [x for x in xs if x.dims[axis] != ("0",)] or xs[:1]
    if len(parts) == 1:
        return parts
    size = step.outvars[0].aval.shape[axis]
    dims = list(run.common([x._replace(dims=tuple(
        ("1",) if k == axis else d for k, d in enumerate(x.dims))) for x in xs]))
    dims[axis] = run.sizes.plain(size)
    if not any(is_dynamic(x.dims[axis]) for x in parts[:-1]):
        run.first(parts[-1].dims[axis])
        return [PaddedValue(lax.concatenate([x.data for x in parts], axis), tuple(dims))]
    # in order: each part overwrites the padding of the one before
    data = _longer(parts[0].data, axis, run.sizes.at_bucket(size))
    at: Any = run.actual(run.first(parts[0].dims[axis]))
    for x in parts[1:]:
        data = lax.dynamic_update_slice(data, x.data, _starts(data, {axis: at}))
        at = at + run.actual(run.first(x.dims[axis]))
    return [PaddedValue(data, tuple(dims))]


def _pad(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    x, fill = xs
    data, dims = x.data, list(x.dims)
    config = [tuple(map(run.sizes.text, edge)) for edge in step.params["padding_config"]]
    axes = [d for d, edge in enumerate(config) if edge != ("0", "0", "0")]
    for axis in axes:
        run.first(x.dims[axis])
        dims[axis] = run.sizes.plain(step.outvars[0].aval.shape[axis])
        if not is_static(config[axis][2]):
            raise NotPadded("a pad between elements by a dynamic number of them")
    data = run.filled(x, axes, fill.data)
    for axis in axes:
        low, _, between = config[axis]
        size = run.sizes.at_bucket(dims[axis][0])
        have = data.shape[axis]
        have += max(have - 1, 0) * int(between)

        def padded(low: int, high: int, gap: int, data: Any = data, axis: int = axis) -> Any:
            return lax.pad(data, fill.data, [
                (low, high, gap) if d == axis else (0, 0, 0) for d in range(data.ndim)])

        if _is_number(low):
            data = padded(int(low), size - int(low) - have, int(between))
        else:
            # ``low`` from -have to size: beyond that there is only fill
            data = cut(padded(size, size, int(between)), axis,
                       np.int64(size) - run.actual(low), size, inside=True)
    return [PaddedValue(data, tuple(dims))]


def _is_number(text: str) -> bool:
    return is_static(text.removeprefix("-"))


def _rev(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    x, axes = xs[0], [int(d) for d in step.params["dimensions"]]
    shape: list[int] = []
    factors: list[tuple[int, str]] = []
    for axis, (description, size) in enumerate(zip(x.dims, x.data.shape, strict=True)):
        split = description[1:] if description[0] == ANY else description
        if axis not in axes:
            shape.append(size)
            continue
        for factor in split:
            factors.append((len(shape), factor))
            shape.append(run.sizes.at_bucket(factor))
    assert math.prod(shape) == math.prod(x.data.shape)
    data = lax.rev(lax.reshape(x.data, shape), [k for k, _ in factors])
    for k, factor in factors:
        if not is_static(factor):
            # the padding comes first now
            data = cut(data, k, np.int64(shape[k]) - run.actual(factor), shape[k])
    return [PaddedValue(lax.reshape(data, x.data.shape), x.dims)]


MOVING: Final[dict[str, Rule]] = {
    "slice": _slice, "split": _split, "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice, "concatenate": _concatenate, "pad": _pad,
    "rev": _rev,
}  # fmt: skip
