"""Pooling: maxima and means of windows, with positions and back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyloom import Spec
from lazyloom.dtypes import bool_, float64, int64

from .._core import cast, record, record_one, scalar, spec
from .._draws import uniform_value
from .._out import taking_out
from .._tensor import Tensor, operand
from . import bounds, pointwise
from .spatial import batched, constant, finish, flattened, gathered, hashable, ntuple, product

_wrap = Tensor.from_value


def _ceil_extra(
    size: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...],
) -> tuple[int, ...]:
    """Places more at the end so that the last, partial window counts (``ceil_mode``)."""
    extra = []
    for d, k, s, p, away in zip(size, window, stride, padding, dilation, strict=True):
        room = d + 2 * p - away * (k - 1) - 1
        count = -(-room // s) + 1
        if (count - 1) * s >= d + p:  # a window may not start in the padding at the end
            count -= 1
        extra.append(max((count - 1) * s - room, 0))
    return tuple(extra)


def _arguments(
    x: Any, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> dict[str, Any]:
    window = ntuple(kernel_size, n, "kernel_size")
    steps = window if stride is None or stride in ((), []) else ntuple(stride, n, "stride")
    low = ntuple(padding, n, "padding")
    away = ntuple(dilation, n, "dilation")
    if min(window) < 1 or min(steps) < 1 or min(away) < 1:
        raise RuntimeError(
            f"kernel size, stride and dilation should be greater than zero, but got {window}, "
            f"{steps} and {away}")
    if min(low) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {low}")
    if any(p > ((k - 1) * d + 1) // 2 for p, k, d in zip(low, window, away, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={low}, kernel_size="
            f"{window} and dilation={away}")
    extra = _ceil_extra(x.shape[-n:], window, steps, low, away) if ceil_mode else (0,) * n
    return {"window": window, "strides": steps, "padding_low": low, "dilation": away,
            "padding_high": tuple(p + e for p, e in zip(low, extra, strict=True))}


def _taken(x: Any, indices: Any, n: int) -> Any:
    """The elements at flat positions in the last n dimensions."""
    rows = record("take_along_axis", [flattened(x, n), flattened(indices, n)], {"axis": -1})
    return record("reshape", [rows], {"shape": indices.shape})


def _max_pool(n: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"max_pool{n}d"
    specs: dict[Any, Spec] = {}

    def function(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:
        x = operand(input)
        key = (x.type, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        try:
            ready = specs.get(key)
        except TypeError:  # lists
            key = tuple(map(hashable, key))
            ready = specs.get(key)
        if ready is not None:
            return _wrap(record_one(ready, x))
        x, was = batched(x, n, name)
        _check_sizes(x, n, name)
        given = _arguments(x.type, n, kernel_size, stride, padding, dilation, ceil_mode)
        if not return_indices:
            if was:
                specs[key] = spec("max_pool", 1, given)
            return finish(record("max_pool", [x], given), was)
        indices = record("max_pool_indices", [x], given)
        return finish(_taken(x, indices, n), was), finish(indices, was)

    def with_indices(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:
        return function(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The maximum of each window over {n} spatial dimensions; with ``return_indices`` also "
        "its position in them, flat (int64).")
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = f"``{name}`` with ``return_indices``."
    return function, with_indices


def _check_sizes(x: Any, n: int, name: str) -> None:
    if 0 in x.shape[1:]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got: {list(x.shape)}")


def max_pool2d_with_indices_backward(
    grad_output: Tensor, input: Tensor, kernel_size: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: bool, indices: Tensor,
) -> Tensor:
    """The gradient of ``max_pool2d`` from that of its result and its positions."""
    x, g, at = operand(input), operand(grad_output), operand(indices)
    flat = flattened(x, 2)
    zeros = record("full", [scalar(0, x.dtype)], {"shape": flat.shape})
    found = record("scatter_along_axis", [zeros, flattened(at, 2), flattened(g, 2)], {
        "axis": -1, "mode": "add"})
    found = record("reshape", [found], {"shape": x.shape})
    if x.requires_grad and not found.requires_grad:
        # part of the input's history, as in PyTorch, though its derivative is zero
        never = record("full", [scalar(False, bool_)], {"shape": x.shape})
        found = record("where", [never, x, found])
    return _wrap(found)


def _avg_pool(n: int) -> Callable[..., Tensor]:
    name = f"avg_pool{n}d"
    specs: dict[Any, Spec] = {}

    def function(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        x = operand(input)
        key = tuple(map(hashable, (x.type, kernel_size, stride, padding, ceil_mode,
                                   count_include_pad, divisor_override)))
        ready = specs.get(key)
        if ready is not None:
            return _wrap(record_one(ready, x))
        x, was = batched(x, n, name)
        if x.dtype.is_complex or x.dtype.kind == "b":
            raise NotImplementedError(f"{name} is not implemented for {input.dtype!r}")
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        _check_sizes(x, n, name)
        given = _arguments(x.type, n, kernel_size, stride, padding, 1, ceil_mode)
        whole = x.dtype.kind in "iu"
        if whole:
            x = cast(x, float64)
        size = product(given["window"])
        if divisor_override is not None:
            found = record("avg_pool", [x], {**given, "count_include_pad": True})
            if divisor_override != size:
                found = record("multiply", [found, scalar(size / divisor_override, found.dtype)])
        elif count_include_pad and given["padding_high"] != given["padding_low"]:
            found = record("avg_pool", [x], {**given, "count_include_pad": True})
            found = record("multiply", [found, constant(_shares(
                x.shape[-n:], found.shape[-n:], given).astype(found.dtype.numpy))])
        else:
            given["count_include_pad"] = count_include_pad
            found = record("avg_pool", [x], given)
            if was and not whole:
                specs[key] = spec("avg_pool", 1, given)
        if whole:
            found = cast(record("trunc", [found]), input.tensor_type.dtype)
        return finish(found, was)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The mean of each window over {n} spatial dimensions."
    return function


def _shares(sizes: Any, places: Any, given: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The window's size over how many of its elements lie in the input and its padding.

    The places that ``ceil_mode`` adds count for nothing, unlike the padding.
    """
    result = np.ones((), np.float64)
    for d, out, k, s, p in zip(sizes, places, given["window"], given["strides"],
                               given["padding_low"], strict=True):
        start = np.arange(out) * s - p
        inside = np.minimum(start + k, d + p) - start
        result = np.multiply.outer(result, k / inside)
    return result


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(n) for n in (1, 2, 3))


# Adaptive


def _ranked(input: Tensor, n: int, name: str) -> tuple[Any, bool]:
    if n > 1 and len(input.tensor_type.shape) <= n:
        raise ValueError(
            f"{name}: Input dimension should be at least {n + 1}, got input of size "
            f"{list(input.shape)}")
    return batched(operand(input), n, name)


def _sizes(x: Any, n: int, output_size: Any, name: str) -> tuple[int, ...]:
    given = (output_size,) * n if isinstance(output_size, int) or output_size is None else tuple(
        output_size)
    if len(given) == 1:
        given *= n
    if len(given) != n:
        raise RuntimeError(f"{name}: output_size must be an int or {n} of them, got {output_size}")
    sizes = tuple(d if s is None else int(s) for s, d in zip(given, x.shape[-n:], strict=True))
    if min(sizes) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0, got {sizes}")
    if 0 in x.shape[1:]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has "
            f"sizes {list(x.shape)}")
    return sizes


def _adaptive_avg_pool(n: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{n}d"

    def function(input: Tensor, output_size: Any) -> Tensor:
        x, was = _ranked(input, n, name)
        sizes = _sizes(x, n, output_size, name)
        return finish(record("adaptive_avg_pool", [x], {"output": sizes}), was)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Means of as many parts as ``output_size`` says, in {n}D."
    return function


@functools.lru_cache(maxsize=256)
def _parts(size: int, parts: int) -> tuple[Any, Any]:
    """The elements of each part, the last repeated where a part is shorter, and the firsts."""
    first = np.arange(parts) * size // max(parts, 1)
    last = -(-(np.arange(parts) + 1) * size // max(parts, 1)) - 1
    longest = int((last - first).max(initial=0)) + 1
    return np.minimum(first[:, None] + np.arange(longest), last[:, None]), first


def _adaptive_indices(x: Any, sizes: tuple[int, ...]) -> Any:
    """Flat positions (int64) of the maxima of the parts of the last dimensions."""
    n, rank = len(sizes), len(x.shape)
    lead = rank - n
    spatial = x.shape[lead:]
    flat: Any = None
    stride = 1
    for i in reversed(range(n)):
        dim, size, parts = lead + i, spatial[i], sizes[i]
        if parts == size:
            chosen = np.arange(size)
            flat_step = chosen.reshape(-1, *(1,) * (n - 1 - i)) * stride
            step = constant(flat_step)
            flat = record("broadcast_to", [step], {"shape": x.shape}) if flat is None else (
                record("add", [flat, step]))
            stride *= size
            continue
        each, first = _parts(size, parts)
        longest = each.shape[1]
        wide = (*x.shape[:dim], parts, longest, *x.shape[dim + 1:])
        seen = record("reshape", [gathered(x, each.reshape(-1), dim)], {"shape": wide})
        best = record("argmax", [seen], {"axis": dim + 1, "keepdims": True})
        x = record("squeeze", [record("take_along_axis", [seen, best], {"axis": dim + 1})],
                   {"axes": (dim + 1,)})
        at = record("squeeze", [best], {"axes": (dim + 1,)})
        at = record("add", [at, constant(first.reshape(-1, *(1,) * (n - 1 - i)))])
        mine = record("multiply", [at, scalar(stride, at.dtype)]) if stride != 1 else at
        flat = mine if flat is None else record("add", [
            mine, record("take_along_axis", [flat, at], {"axis": dim})])
        stride *= size
    return flat


def _adaptive_max_pool(n: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"adaptive_max_pool{n}d"

    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        x, was = _ranked(input, n, name)
        sizes = _sizes(x, n, output_size, name)
        indices = _adaptive_indices(x, sizes)
        found = finish(_taken(x, indices, n), was)
        return (found, finish(indices, was)) if return_indices else found

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return function(input, output_size, True)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Maxima of as many parts as ``output_size`` says, in {n}D; with ``return_indices`` also "
        "their positions, flat (int64).")
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = f"``{name}`` with ``return_indices``."
    return function, with_indices


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive_avg_pool(n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


# Fractional


def _starts(samples: Any, size: int, count: int, window: int) -> Any:
    """Where the windows start (int64, one more last dimension): PyTorch's pseudo-random steps."""
    shape = (*samples.shape, count)
    if count == 1:
        return record("full", [scalar(size - window, int64)], {"shape": shape})
    step = (size - window) / (count - 1)
    u = record("expand_dims", [samples], {"axes": (len(samples.shape),)})
    places = constant(np.arange(count).astype(u.dtype.numpy))
    alpha = scalar(step, u.dtype)
    moved = record("trunc", [record("multiply", [record("add", [places, u]), alpha])])
    origin = record("trunc", [record("multiply", [u, alpha])])
    found = cast(record("subtract", [moved, origin]), int64)
    last = constant(np.arange(count) == count - 1)
    return record("where", [
        record("broadcast_to", [last], {"shape": shape}),
        scalar(size - window, int64), found])


def _fractional_max_pool(n: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{n}d"

    def function(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> Any:
        x, was = batched(operand(input), n, name)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{name} requires specifying either an output_size or an output_ratio")
        spatial = x.shape[2:]
        if output_size is None:
            ratios = (output_ratio,) * n if isinstance(output_ratio, (int, float)) else tuple(
                output_ratio)
            sizes = tuple(int(d * r) for d, r in zip(spatial, ratios, strict=True))
        else:
            sizes = ntuple(output_size, n, "output_size")
        window = ntuple(kernel_size, n, "kernel_size")
        # in 3D PyTorch asks for one element more
        if any(o + k - 1 + (n == 3) > d or o < 1 for o, k, d in zip(
            sizes, window, spatial, strict=True)):
            raise RuntimeError(
                f"{name}: kernel_size {window} and output_size {sizes} are too large relative to "
                f"input size {list(spatial)}")
        if _random_samples is None:
            samples = uniform_value((*x.shape[:2], n), 0.0, 1.0, x.dtype)
        else:
            samples = operand(_random_samples)
        indices = _fractional_indices(x, samples, window, sizes)
        found = finish(_taken(x, indices, n), was)
        return (found, finish(indices, was)) if return_indices else found

    def with_indices(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> Any:
        return function(input, kernel_size, output_size, output_ratio, True, _random_samples)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Maxima of windows of pseudo-random places in {n}D (Graham, Fractional Max-Pooling, "
        "2014); with ``return_indices`` also their positions.")
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = f"``{name}`` with ``return_indices``."
    return function, with_indices


def _fractional_indices(
    x: Any, samples: Any, window: tuple[int, ...], sizes: tuple[int, ...]
) -> Any:
    batch, channels, *spatial = x.shape
    n = len(sizes)
    # positions of every element of every window: (N, C, *sizes, *window)
    flat: Any = None
    full = (batch, channels, *sizes, *window)
    for i in range(n):
        # in 2D the first number is the width's, in 3D the depth's
        column = record("slice", [samples], {
            "starts": (0, 0, (n - 1 - i) if n == 2 else i),
            "stops": (batch, channels, ((n - 1 - i) if n == 2 else i) + 1)})
        start = _starts(record("reshape", [column], {"shape": (batch, channels)}), spatial[i],
                        sizes[i], window[i])
        shape = [1] * (2 * n)
        shape[i] = sizes[i]
        start = record("reshape", [start], {"shape": (batch, channels, *shape)})
        shape = [1] * (2 * n)
        shape[n + i] = window[i]
        at = record("add", [start, constant(np.arange(window[i]).reshape(shape))])
        flat = at if flat is None else record("add", [
            record("multiply", [flat, scalar(spatial[i], at.dtype)]), at])
    flat = record("broadcast_to", [flat], {"shape": full})
    rows = record("reshape", [flat], {"shape": (batch, channels, product(full[2:]))})
    seen = record("take_along_axis", [flattened(x, n), rows], {"axis": -1})
    apart = (batch, channels, product(sizes), product(window))
    best = record("argmax", [record("reshape", [seen], {"shape": apart})], {
        "axis": 3, "keepdims": True})
    found = record("take_along_axis", [record("reshape", [rows], {"shape": apart}), best], {
        "axis": -1})
    return record("reshape", [found], {"shape": (batch, channels, *sizes)})


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)


# Back, and powers


def _max_unpool(n: int) -> Callable[..., Tensor]:
    name = f"max_unpool{n}d"

    def function(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        x, was = batched(operand(input), n, name)
        at, _ = batched(operand(indices), n, name)
        if at.shape != x.shape:
            raise RuntimeError(
                f"{name}: Expected shape of indices to be same as that of the input tensor "
                f"({list(x.shape)}) but got indices tensor with shape: {list(at.shape)}")
        if at.dtype.name != "int64":
            raise RuntimeError(
                f"{name}: elements in indices should be type int64 but got: {indices.dtype!r}")
        window = ntuple(kernel_size, n, "kernel_size")
        steps = window if stride is None else ntuple(stride, n, "stride")
        edge = ntuple(padding, n, "padding")
        usual = tuple((d - 1) * s + k - 2 * p for d, s, k, p in zip(
            x.shape[2:], steps, window, edge, strict=True))
        sizes = usual if output_size is None else _wanted(output_size, usual, steps, n, name)
        total = product(sizes)
        rows = flattened(x, n)
        zeros = record("full", [scalar(0, x.dtype)], {"shape": (*rows.shape[:2], total)})
        where = bounds.checked(flattened(at, n), total, None, name, negative=False)
        found = record("scatter_along_axis", [zeros, where, rows], {"axis": -1})
        if rows.requires_grad:
            # PyTorch's derivative takes no notice of which of equal positions won
            every = record("scatter_along_axis", [zeros, where, rows], {"axis": -1, "mode": "add"})
            found = record("straight_through", [every, found.detach()])
        return finish(record("reshape", [found], {"shape": (*x.shape[:2], *sizes)}), was)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Zeros with the elements of a ``max_pool{n}d`` put back at their indices."
    return function


def _wanted(
    output_size: Any, usual: tuple[int, ...], steps: tuple[int, ...], n: int, name: str
) -> tuple[int, ...]:
    sizes = tuple(int(s) for s in output_size)
    sizes = sizes[-n:] if len(sizes) in (n, n + 2) else sizes
    if len(sizes) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(output_size)}'")
    for s, u, t in zip(sizes, usual, steps, strict=True):
        if not u - t < s < u + t:
            raise ValueError(
                f"{name}: invalid output_size {list(sizes)}: each must be less than a stride "
                f"{steps} away from {list(usual)}")
    return sizes


max_unpool1d, max_unpool2d, max_unpool3d = (_max_unpool(n) for n in (1, 2, 3))


def _lp_pool(
    n: int, avg_pool: Callable[..., Tensor], max_pool: Callable[..., Any]
) -> Callable[..., Tensor]:
    def function(
        input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        absolute = pointwise.FUNCTIONS["abs"]
        if math.isinf(norm_type):
            sign = math.copysign(1.0, norm_type)
            largest = max_pool(pointwise.mul(absolute(input), sign), kernel_size, stride,
                               ceil_mode=ceil_mode)
            return pointwise.mul(largest, sign)
        mean = avg_pool(pointwise.pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
        size = product(ntuple(kernel_size, n, "kernel_size"))
        positive = pointwise.mul(
            pointwise.FUNCTIONS["sign"](mean), pointwise.FUNCTIONS["relu"](absolute(mean)))
        return pointwise.pow(pointwise.mul(positive, size), 1.0 / norm_type)

    function.__name__ = function.__qualname__ = f"lp_pool{n}d"
    function.__doc__ = (
        f"``sum(x ** p) ** (1 / p)`` of each window over {n} spatial dimensions: the largest |x| "
        "for an infinite p, the smallest for a negative infinite one.")
    return function


lp_pool1d, lp_pool2d, lp_pool3d = (_lp_pool(n, average, largest) for n, average, largest in (
    (1, avg_pool1d, max_pool1d), (2, avg_pool2d, max_pool2d), (3, avg_pool3d, max_pool3d)))

FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    max_pool1d, max_pool2d, max_pool3d, max_pool1d_with_indices, max_pool2d_with_indices,
    max_pool3d_with_indices, avg_pool1d, avg_pool2d, avg_pool3d, adaptive_avg_pool1d,
    adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices, fractional_max_pool2d, fractional_max_pool3d,
    fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices, max_unpool1d,
    max_unpool2d, max_unpool3d, lp_pool1d, lp_pool2d, lp_pool3d)}
for _name in ("avg_pool1d", "avg_pool2d", "avg_pool3d"):
    FUNCTIONS[_name] = taking_out(FUNCTIONS[_name])
