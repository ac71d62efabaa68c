"""Images resized, sampled at given places, and rearranged."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from lazyloom.dtypes import DType, float32

from .._core import cast, record, scalar
from .._tensor import Tensor, operand
from . import pooling
from .creation import as_tensor
from .spatial import constant, gathered, product

_wrap = Tensor.from_value
_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_MODES = ("nearest", "nearest-exact", "area", "bicubic", "lanczos", *_LINEAR)


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The spatial dimensions of (N, C, ...) resized to ``size`` or by ``scale_factor``.

    ``mode`` is "nearest", "nearest-exact", "area", "linear" (3D input), "bilinear" and
    "bicubic" (4D), "trilinear" (5D), or "lanczos" (4D, with ``antialias``).
    """
    v = operand(input)
    n = len(v.shape) - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    given = size if size is not None else scale_factor
    if isinstance(given, (list, tuple)) and len(given) != n:
        raise ValueError(
            f"interpolate: input has {n} spatial dimensions {list(v.shape[2:])}, expected as many "
            f"numbers, got {given}")
    each = list(given) if isinstance(given, (list, tuple)) else [given] * n
    factors: list[float | None] = [None] * n
    if size is not None:
        if not all(hasattr(s, "__index__") for s in each):
            raise TypeError(f"expected size to be one of int or a tuple of ints, but got {size}")
        sizes = tuple(int(s) for s in each)
    else:
        sizes = tuple(int(d * float(f)) for d, f in zip(v.shape[2:], each, strict=True))
        if not recompute_scale_factor and mode != "area":
            factors = [float(f) for f in each]
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and n == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input")
    _check(v, n, mode, antialias, sizes, input)
    if mode == "area":
        return pooling.FUNCTIONS[f"adaptive_avg_pool{n}d"](input, sizes)
    return _wrap(_resized(v, sizes, factors, mode, bool(align_corners), antialias))


def _check(v: Any, n: int, mode: str, antialias: bool, sizes: tuple[int, ...], input: Tensor
           ) -> None:  # fmt: skip
    if n not in (1, 2, 3):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n + 2}D) for the modes "
            f"{' | '.join(_MODES)} (got {mode})")
    wanted = _LINEAR.get(mode, 2 if mode in ("bicubic", "lanczos") else n)
    if mode not in _MODES or wanted != n or mode == "lanczos" and not antialias:
        raise NotImplementedError(
            f"Input Error: mode {mode!r} does not take a {n + 2}D input; expected one of "
            f"{' | '.join(_MODES)}, linear for 3D, bilinear, bicubic and (with antialias) lanczos "
            "for 4D, trilinear for 5D input")
    if min(sizes) < 1 or 0 in v.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input of size "
            f"{list(input.shape)} and output {list(sizes)}")


def _resized(
    v: Any, sizes: tuple[int, ...], factors: list[float | None], mode: str, corners: bool,
    antialias: bool,
) -> Any:
    given: DType = v.dtype
    if mode.startswith("nearest"):
        if all(s % d == 0 and (f is None or f == s // d) for s, d, f in zip(
            sizes, v.shape[2:], factors, strict=True)):
            return _repeated(v, sizes)
        for i, (size, factor) in enumerate(zip(sizes, factors, strict=True)):
            v = gathered(v, _nearest(v.shape[2 + i], size, factor, mode), 2 + i)
        return v
    if not given.is_floating or given.itemsize < 4:
        v = cast(v, float32)
    real = v.dtype.numpy.type
    for i, (size, factor) in enumerate(zip(sizes, factors, strict=True)):
        d = v.shape[2 + i]
        if d == size and (factor is None or factor == 1.0):
            continue
        if antialias:
            v = _by_matrix(v, _antialiased(d, size, factor, mode, corners, real), 2 + i)
        else:
            v = _mixed(v, d, size, factor, mode, corners, real, 2 + i)
    if given.kind == "u":
        v = record("clip", [record("round", [v]), scalar(0, v.dtype), scalar(255, v.dtype)])
    return cast(v, given)


def _repeated(v: Any, sizes: tuple[int, ...]) -> Any:
    """Each element a whole number of times along each spatial dimension."""
    apart: list[int] = list(v.shape[:2])
    wide: list[int] = list(v.shape[:2])
    for d, s in zip(v.shape[2:], sizes, strict=True):
        apart += (d, 1)
        wide += (d, s // d)
    v = record("reshape", [v], {"shape": tuple(apart)})
    v = record("broadcast_to", [v], {"shape": tuple(wide)})
    return record("reshape", [v], {"shape": (*v.shape[:2], *sizes)})


def _nearest(d: int, size: int, factor: float | None, mode: str) -> Any:
    scale = np.float32(1.0 / factor) if factor else np.float32(d) / np.float32(size)
    place = np.arange(size, dtype=np.float32) + np.float32(0.5 if mode == "nearest-exact" else 0)
    return np.minimum(np.floor(place * scale).astype(np.int64), d - 1)


def _mixed(
    v: Any, d: int, size: int, factor: float | None, mode: str, corners: bool, real: Any, dim: int
) -> Any:
    """Neighbours along one dimension, each times its weight."""
    places, weights = _neighbours(d, size, factor, mode == "bicubic", corners, real)
    shape = (-1, *(1,) * (len(v.shape) - 1 - dim))
    total: Any = None
    for place, weight in zip(places, weights, strict=True):
        part = record("multiply", [gathered(v, place, dim), constant(weight.reshape(shape))])
        total = part if total is None else record("add", [total, part])
    return total


@functools.lru_cache(maxsize=256)
def _neighbours(
    d: int, size: int, factor: float | None, cubic: bool, corners: bool, real: Any
) -> tuple[list[Any], list[Any]]:
    """Positions and weights of the neighbours of each place: 2, or 4 of a cubic kernel."""
    index = np.arange(size).astype(real)
    if corners:
        place = index * real((d - 1) / (size - 1) if size > 1 else 0.0)
    else:
        scale = real(1.0 / factor) if factor else real(d) / real(size)
        place = (index + real(0.5)) * scale - real(0.5)
        if not cubic:
            place = np.maximum(place, real(0))
    low = np.floor(place)
    t = place - low
    if not cubic:
        low = np.minimum(low, d - 1)
        t = np.clip(place - low, 0, 1).astype(real)
        first = low.astype(np.int64)
        return [first, np.minimum(first + 1, d - 1)], [real(1) - t, t]
    near = [np.clip(low.astype(np.int64) + o, 0, d - 1) for o in (-1, 0, 1, 2)]
    weights = [_cubic(np.abs(t - o), -0.75).astype(real) for o in (-1, 0, 1, 2)]
    return near, weights


def _cubic(t: Any, a: float) -> Any:
    inner = ((a + 2) * t - (a + 3)) * t * t + 1
    outer = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, inner, np.where(t < 2, outer, 0.0))


def _lanczos(t: Any) -> Any:
    return np.where(t < 3, np.sinc(t) * np.sinc(t / 3), 0.0)


def _antialiased(
    d: int, size: int, factor: float | None, mode: str, corners: bool, real: Any
) -> Any:
    """The matrix (size, d) of a kernel that widens where the image shrinks, as Pillow's does."""
    if corners:
        scale = (d - 1) / (size - 1) if size > 1 else 0.0
    else:
        scale = 1.0 / factor if factor else d / size
    support = {"bilinear": 1.0, "bicubic": 2.0, "lanczos": 3.0}[mode] * max(scale, 1.0)
    matrix = np.zeros((size, d))
    for i in range(size):
        centre = scale * (i + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), d)
        t = np.abs((np.arange(first, last) - centre + 0.5) / max(scale, 1.0))
        weights = np.maximum(1 - t, 0) if mode == "bilinear" else (
            _cubic(t, -0.5) if mode == "bicubic" else _lanczos(t))
        total = weights.sum()
        matrix[i, first:last] = weights / total if total else weights
    return matrix.astype(real)


def _by_matrix(v: Any, matrix: Any, dim: int) -> Any:
    found = record("dot_general", [v, constant(matrix)], {
        "lhs_contract": (dim,), "rhs_contract": (1,), "lhs_batch": (), "rhs_batch": ()})
    last = len(v.shape) - 1
    return record("moveaxis", [found], {"source": (last,), "destination": (dim,)})


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """:func:`interpolate`, by its former name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """:func:`interpolate` by nearest neighbours."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """:func:`interpolate`, bilinear with aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# Sampling

_GRID_MODES = ("bilinear", "nearest", "bicubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (N, C, H, W) or (N, C, D, H, W) at places (N, ..., 2 or 3) from -1 to 1."""
    if mode not in _GRID_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'")
    if padding_mode not in _GRID_PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'")
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has align_corners=False; give "
                      "align_corners=True for the other one.", stacklevel=2)
    x, g = operand(input), operand(grid)
    if x.dtype is not g.dtype:
        raise RuntimeError(
            f"grid_sample: expected input and grid to have same dtype, but input has "
            f"{input.dtype!r} and grid has {grid.dtype!r}")
    return _wrap(record("grid_sample", [x, g], {
        "mode": mode, "padding": padding_mode, "align_corners": bool(align_corners)}))


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                 align_corners: bool) -> Tensor:
    """:func:`grid_sample` with its modes by number."""
    return grid_sample(input, grid, _GRID_MODES[interpolation_mode], _GRID_PADDINGS[padding_mode],
                       align_corners)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Places for :func:`grid_sample` by affine maps theta (N, 2, 3) or (N, 3, 4)."""
    t = operand(theta)
    if not t.dtype.is_floating:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype!r}")
    sizes = tuple(int(s) for s in size)
    n = len(sizes) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(sizes)}")
    if t.shape != (sizes[0], n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape {sizes[0]}x{n}x{n + 1} for size "
            f"{list(sizes)}. Got {list(t.shape)}.")
    if min(sizes) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(sizes)}")
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has align_corners=False; give "
                      "align_corners=True for the other one.", stacklevel=2)
    axes = []
    for s in sizes[2:]:
        line = np.linspace(-1, 1, s) if s > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (s - 1) / s)
    grid = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(grid), np.ones_like(grid[0])], -1).reshape(-1, n + 1)
    found = record("dot_general", [
        t, constant(base.astype(np.float64 if t.dtype.itemsize == 8 else np.float32)) if
        t.dtype.itemsize >= 4 else cast(constant(base.astype(np.float32)), t.dtype)], {
        "lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (), "rhs_batch": ()})
    found = record("swapaxes", [found], {"axis1": 1, "axis2": 2})
    return _wrap(record("reshape", [found], {"shape": (sizes[0], *sizes[2:], n)}))


# Rearranging


def _moved(input: Tensor, shape: tuple[int, ...], order: tuple[int, ...],
           result: tuple[int, ...]) -> Tensor:  # fmt: skip
    v = record("reshape", [operand(input)], {"shape": shape})
    v = record("transpose", [v], {"axes": order})
    return _wrap(record("reshape", [v], {"shape": result}))


def _images(input: Tensor, factor: Any, name: str) -> tuple[tuple[int, ...], int]:
    shape = input.tensor_type.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{len(shape)} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive factor, but got {factor}")
    return shape, int(factor)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""
    shape, r = _images(input, upscale_factor, "pixel_shuffle")
    *lead, c, h, w = shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    n = len(lead)
    return _moved(input, (*lead, c // (r * r), r, r, h, w),
                  (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""
    shape, r = _images(input, downscale_factor, "pixel_unshuffle")
    *lead, c, h, w = shape
    if h % r or w % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"{h}x{w} is not divisible by {r}")
    n = len(lead)
    return _moved(input, (*lead, c, h // r, r, w // r, r),
                  (*range(n), n, n + 2, n + 4, n + 1, n + 3), (*lead, c * r * r, h // r, w // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (dimension 1) of each group interleaved with those of the others."""
    shape = input.tensor_type.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0 or shape[1] % groups:
        raise RuntimeError(
            "Number of groups to divide channels in must be positive and divide them: got "
            f"{groups} groups for {shape[1]} channels")
    inner = (shape[0], groups, shape[1] // groups, product(shape[2:]))
    return _moved(input, inner, (0, 2, 1, 3), shape)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """:func:`channel_shuffle`."""
    return channel_shuffle(as_tensor(input), groups)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    interpolate, upsample, upsample_nearest, upsample_bilinear, grid_sample, affine_grid,
    pixel_shuffle, pixel_unshuffle, channel_shuffle, native_channel_shuffle)}
