"""Convolution, pooling, padding and resizing over spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom

from .._core import record, scalar
from .._tensor import Tensor, operand

_wrap = Tensor._wrap


def ntuple(value: Any, n: int, name: str = "argument") -> tuple[int, ...]:
    """One int for all of n spatial dimensions, or one for each."""
    if isinstance(value, int):
        return (value,) * n
    found = tuple(int(v) for v in value)
    if len(found) == 1:
        return found * n
    if len(found) != n:
        raise RuntimeError(f"{name} must be an int or {n} ints, got {value!r}")
    return found


def _batched(x: Any, n: int, name: str) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had one."""
    if len(x.shape) == n + 2:
        return x, True
    if len(x.shape) == n + 1:
        return record("reshape", [x], {"shape": (1, *x.shape)}), False
    raise RuntimeError(
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
        f"size: {list(x.shape)}")


def _finish(v: Any, batched: bool) -> Tensor:
    made: Tensor = _wrap(v if batched else record("reshape", [v], {"shape": v.shape[1:]}))
    return made


def _with_bias(v: Any, bias: Tensor | None, n: int) -> Any:
    if bias is None:
        return v
    b = operand(bias)
    return record("add", [v, record("reshape", [b], {"shape": (b.shape[0], *(1,) * n)})])


def _conv(n: int) -> Callable[..., Tensor]:
    name = f"conv{n}d"

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        x, batched = _batched(operand(input), n, name)
        w = operand(weight)
        if x.dtype is not w.dtype:
            raise RuntimeError(
                f"Input type ({input.dtype!r}) and weight type ({weight.dtype!r}) should be the "
                "same")
        away = ntuple(dilation, n, "dilation")
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(away, w.shape[2:], strict=True)]
            low = tuple(t // 2 for t in total)
            high = tuple(t - a for t, a in zip(total, low, strict=True))
        else:
            low = high = ntuple(0 if padding == "valid" else padding, n, "padding")
        if x.shape[1] != w.shape[1] * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(w.shape)}, expected input"
                f"{list(x.shape)} to have {w.shape[1] * groups} channels, but got {x.shape[1]} "
                "channels instead")
        found = record("conv", [x, w], {
            "strides": ntuple(stride, n, "stride"), "padding_low": low, "padding_high": high,
            "dilation": away, "groups": groups})
        return _finish(_with_bias(found, bias, n), batched)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Convolution of input (N, C, {n} spatial dimensions) with weight (O, C / "\
        "groups, ...); padding may be numbers, 'same' or 'valid'."
    return function


def _conv_transpose(n: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{n}d"

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:
        x, batched = _batched(operand(input), n, name)
        cut = ntuple(padding, n, "padding")
        found = record("conv_transpose", [x, operand(weight)], {
            "strides": ntuple(stride, n, "stride"), "padding_low": cut, "padding_high": cut,
            "output_padding": ntuple(output_padding, n, "output_padding"),
            "dilation": ntuple(dilation, n, "dilation"), "groups": groups})
        return _finish(_with_bias(found, bias, n), batched)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Transposed convolution in {n}D, weight (C, O / groups, ...)."
    return function


conv1d, conv2d, conv3d = (_conv(n) for n in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(n) for n in (1, 2, 3))


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


def _pool_arguments(
    x: Any, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> dict[str, Any]:
    window = ntuple(kernel_size, n, "kernel_size")
    steps = window if stride is None or stride == () else ntuple(stride, n, "stride")
    low = ntuple(padding, n, "padding")
    away = ntuple(dilation, n, "dilation")
    if any(p > k // 2 for p, k in zip(low, window, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={low} and "
            f"kernel_size={window}")
    extra = _ceil_extra(x.shape[-n:], window, steps, low, away) if ceil_mode else (0,) * n
    return {"window": window, "strides": steps, "padding_low": low, "dilation": away,
            "padding_high": tuple(p + e for p, e in zip(low, extra, strict=True))}


def _max_pool(n: int) -> Callable[..., Tensor]:
    name = f"max_pool{n}d"

    def function(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Tensor:
        if return_indices:
            raise RuntimeError(f"{name}: return_indices=True is not supported; leave it out")
        x, batched = _batched(operand(input), n, name)
        return _finish(record("max_pool", [x], _pool_arguments(
            x, n, kernel_size, stride, padding, dilation, ceil_mode)), batched)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The maximum of each window over {n} spatial dimensions."
    return function


def _avg_pool(n: int) -> Callable[..., Tensor]:
    name = f"avg_pool{n}d"

    def function(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        x, batched = _batched(operand(input), n, name)
        given = _pool_arguments(x, n, kernel_size, stride, padding, 1, ceil_mode)
        if ceil_mode and count_include_pad and given["padding_high"] != given["padding_low"]:
            raise RuntimeError(
                f"{name}: ceil_mode with a partial last window is supported only with "
                "count_include_pad=False")
        found = record("avg_pool", [x], {**given, "count_include_pad": count_include_pad})
        if divisor_override is not None:
            size = 1
            for k in given["window"]:
                size *= k
            found = record("multiply", [found, scalar(size / divisor_override, found.dtype)])
        return _finish(found, batched)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The mean of each window over {n} spatial dimensions."
    return function


max_pool1d, max_pool2d, max_pool3d = (_max_pool(n) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(n) for n in (1, 2, 3))


def _adaptive(kind: str, n: int) -> Callable[..., Tensor]:
    name = f"adaptive_{kind}_pool{n}d"

    def function(input: Tensor, output_size: Any) -> Tensor:
        x, batched = _batched(operand(input), n, name)
        given = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
        sizes = tuple(d if s is None else int(s)
                      for s, d in zip(given, x.shape[-n:], strict=True))
        return _finish(record(f"adaptive_{kind}_pool", [x], {"output": sizes}), batched)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{kind} pooling to a given size in {n}D."
    return function


(adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d) = (
    _adaptive("avg", n) for n in (1, 2, 3))
(adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d) = (
    _adaptive("max", n) for n in (1, 2, 3))


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements added (or cut, for negative numbers) at the ends of the last dimensions.

    ``pad`` lists (before, after) from the last dimension backwards; mode is "constant",
    "reflect", "replicate" or "circular".
    """
    v = operand(input)
    amounts = [int(p) for p in pad]
    if len(amounts) % 2 or len(amounts) // 2 > len(v.shape):
        raise RuntimeError(
            f"Padding length must be even and at most twice the input's rank, got {amounts} for "
            f"{list(v.shape)}")
    low, high = [0] * len(v.shape), [0] * len(v.shape)
    for i in range(len(amounts) // 2):
        low[-1 - i], high[-1 - i] = amounts[2 * i], amounts[2 * i + 1]
    if mode == "constant":
        return _wrap(record("pad", [v, scalar(0 if value is None else value, v.dtype)], {
            "low": tuple(low), "high": tuple(high), "interior": (0,) * len(v.shape)}))
    import numpy as np

    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode!r}")
    for at, (a, b) in enumerate(zip(low, high, strict=True)):
        if not a and not b:
            continue
        d = v.shape[at]
        limit = {"reflect": d - 1, "circular": d, "replicate": a + b}[mode]
        if a > limit or b > limit:
            raise RuntimeError(
                f"Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({a}, {b}) at dimension {at} of input {list(v.shape)}")
        position = np.arange(-a, d + b)
        if mode == "replicate":
            position = position.clip(0, d - 1)
        elif mode == "circular":
            position %= d
        else:
            position = np.abs(position)
            position = np.where(position >= d, 2 * (d - 1) - position, position)
        v = record("take", [v, lazyloom.from_host(position)], {"axis": at})
    return _wrap(v)


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The spatial dimensions resized, by "nearest", or "linear", "bilinear", "trilinear"."""
    import numpy as np

    v = operand(input)
    n = len(v.shape) - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one must be")
    if size is not None:
        sizes = ntuple(size, n, "size")
        scales = [d / s for d, s in zip(v.shape[2:], sizes, strict=True)]
    else:
        factors = [float(scale_factor)] * n if isinstance(scale_factor, (int, float)) else [
            float(f) for f in scale_factor]
        sizes = tuple(int(d * f) for d, f in zip(v.shape[2:], factors, strict=True))
        scales = [1.0 / f for f in factors]
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"interpolate: mode {mode!r} is not supported; expected "
                                  "'nearest', 'linear', 'bilinear' or 'trilinear'")
    for i, (s, scale) in enumerate(zip(sizes, scales, strict=True)):
        at, d = i + 2, v.shape[i + 2]
        if mode == "nearest":
            position = np.minimum((np.arange(s) * scale).astype(np.int64), d - 1)
            v = record("take", [v, lazyloom.from_host(position)], {"axis": at})
            continue
        if align_corners:
            where = np.arange(s) * ((d - 1) / (s - 1) if s > 1 else 0.0)
        else:
            where = np.maximum((np.arange(s) + 0.5) * scale - 0.5, 0.0)
        low = np.minimum(where.astype(np.int64), d - 1)
        high = np.minimum(low + 1, d - 1)
        weight = (where - low).astype(v.dtype.numpy).reshape(-1, *(1,) * (n - 1 - i))
        a, b = (record("take", [v, lazyloom.from_host(p)], {"axis": at}) for p in (low, high))
        v = record("lerp", [a, b, lazyloom.from_host(weight)])
    return _wrap(v)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(N, C * r * r, H, W) as (N, C, H * r, W * r)."""
    n, c, h, w = input.shape
    r = upscale_factor
    made: Tensor = input.reshape(n, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(
        n, c // (r * r), h * r, w * r)
    return made


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns of all 2D windows: (N, C * window, places)."""
    x, _ = _batched(operand(input), 2, "unfold")
    k, away, edge, step = (ntuple(a, 2) for a in (kernel_size, dilation, padding, stride))
    c = x.shape[1]
    import numpy as np

    eye = np.eye(k[0] * k[1]).reshape(k[0] * k[1], 1, *k).astype(x.dtype.numpy)
    weight = lazyloom.from_host(np.tile(eye, (c, 1, 1, 1)))
    found = record("conv", [x, weight], {
        "strides": step, "padding_low": edge, "padding_high": edge, "dilation": away,
        "groups": c})
    return _wrap(record("reshape", [found], {
        "shape": (x.shape[0], c * k[0] * k[1], found.shape[2] * found.shape[3])}))


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, max_pool1d,
    max_pool2d, max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, adaptive_avg_pool1d,
    adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, pad, interpolate, pixel_shuffle, unfold)}
