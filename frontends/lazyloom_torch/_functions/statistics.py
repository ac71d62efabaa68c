"""Differences, integrals, covariances and selections of elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import lazyloom

from .. import _dtypes
from .._core import axes, axis, cast, record
from .._promotion import combine, is_number
from .._registry import declare
from .._tensor import Tensor, operand
from . import linear, pointwise, reductions
from .bounds import require
from .creation import tensor
from .shaping import cat, pad_value

_wrap = Tensor.from_value


# ------------------------------------------------------------- differences, integrals


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along a dimension, n times over."""
    if input.ndim < 1:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    at = axis(dim, input.ndim)
    if n == 0:
        return input.clone()
    parts = [x for x in (prepend, input, append) if x is not None]
    for x in parts:
        if x.ndim != input.ndim:
            raise RuntimeError(
                "diff expects prepend or append to be the same dimension as input, got "
                f"{x.ndim}-D and {input.ndim}-D")
    found = cat(parts, at) if len(parts) > 1 else input
    for _ in range(n):
        size = found.tensor_type.shape[at]
        if size <= 1:
            return found.narrow(at, 0, 0).clone()
        ahead, behind = found.narrow(at, 1, size - 1), found.narrow(at, 0, size - 1)
        found = pointwise.FUNCTIONS["logical_xor"](ahead, behind) if (
            found.dtype is _dtypes.bool_) else ahead - behind
    return found


def _along(x: Tensor, at: int, ndim: int) -> Tensor:
    """A vector as a tensor of ``ndim`` dimensions that varies along one."""
    return x.reshape([-1 if i == at else 1 for i in range(ndim)])


def _part(x: Tensor, at: int, start: int, stop: int) -> Tensor:
    """x[start:stop] along a dimension; a stop of 0 or less counts from the end."""
    size = x.tensor_type.shape[at]
    start = start + size if start < 0 else start
    stop = stop + size if stop <= 0 else stop
    return x.narrow(at, start, stop - start)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
             ) -> tuple[Tensor, ...]:
    """Estimates of the derivative along dimensions, by central differences.

    ``spacing`` is a number, numbers for the dimensions, or coordinates as 1-D tensors.
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    over = tuple(range(input.ndim)) if dim is None else axes(dim, input.ndim)
    if is_number(spacing) or spacing is None:
        steps: list[Any] = [1 if spacing is None else spacing] * len(over)
    else:
        steps = list(spacing) if not isinstance(spacing, Tensor) else [spacing]
        if isinstance(spacing, Tensor) and dim is None:
            raise RuntimeError("torch.gradient expected spacing to be a sequence of tensors")
    if len(steps) != len(over):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"{len(over)}, but it has length {len(steps)}")
    for at in over:
        if input.tensor_type.shape[at] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1, got "
                f"size {input.tensor_type.shape[at]}")
    if not input.tensor_type.dtype.is_inexact:
        input = input.to(_dtypes.get_default_dtype())
    return tuple(_slope(input, at, step, edge_order) for at, step in zip(over, steps))


def _slope(x: Tensor, at: int, step: Any, order: int) -> Tensor:
    n = x.ndim
    if isinstance(step, Tensor):
        if step.ndim != 1 or step.tensor_type.shape[0] != x.tensor_type.shape[at]:
            raise RuntimeError(
                "torch.gradient expected each coordinate to be a 1-D tensor as long as its "
                f"dimension, got {list(step.shape)} for size {x.tensor_type.shape[at]}")
        h = diff(step)
        h0, h1 = _along(h[:-1], at, n), _along(h[1:], at, n)
        inner = (_part(x, at, 0, -2) * (-h1 / (h0 * (h0 + h1)))
                 + _part(x, at, 1, -1) * ((h1 - h0) / (h0 * h1))
                 + _part(x, at, 2, 0) * (h0 / (h1 * (h0 + h1))))
        first: Any = h[0], h[1] if order == 2 else None
        last: Any = h[-1], h[-2] if order == 2 else None
    else:
        inner = (_part(x, at, 2, 0) - _part(x, at, 0, -2)) / (2 * step)
        first = last = (step, step)
    if order == 1:
        low = (_part(x, at, 1, 2) - _part(x, at, 0, 1)) / first[0]
        high = (_part(x, at, -1, 0) - _part(x, at, -2, -1)) / last[0]
    else:
        low = _edge([_part(x, at, i, i + 1) for i in range(3)], *first)
        high = -_edge([_part(x, at, -1, 0), _part(x, at, -2, -1), _part(x, at, -3, -2)], *last)
    return cat([low, inner, high], at)


def _edge(points: Sequence[Tensor], h0: Any, h1: Any) -> Tensor:
    """The slope at the first of three points, of the parabola through them."""
    a, b, c = points
    return (a * (-(2 * h0 + h1) / (h0 * (h0 + h1))) + b * ((h0 + h1) / (h0 * h1))
            - c * (h0 / (h1 * (h0 + h1))))


def _areas(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Any:
    if x is not None and dx is not None:
        raise RuntimeError(f"{name}() takes x or dx, not both")
    if y.dtype is _dtypes.bool_ or (x is not None and x.dtype is _dtypes.bool_):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not "
                           "supported")
    at = axis(dim, y.ndim)
    size = y.tensor_type.shape[at]
    if not size:
        return None, None, at
    pairs = y.narrow(at, 1, size - 1) + y.narrow(at, 0, size - 1)
    if x is None:
        return pairs, 1 if dx is None else dx, at
    if x.ndim == 1:
        if x.tensor_type.shape[0] != size:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point, got {x.shape[0]} for "
                f"{size}")
        return pairs, _along(diff(x), at, y.ndim), at
    if x.ndim < y.ndim:
        x = x.reshape((*[1] * (y.ndim - x.ndim), *x.tensor_type.shape))
        width = diff(x, 1, at)
    else:
        width = diff(x, 1, dim)
    return pairs, width, at


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, at places x or dx apart."""
    pairs, width, at = _areas("trapezoid", y, x, dx, dim)
    if pairs is None:
        return reductions.sum(y, at).to(y.dtype)
    if is_number(width):
        return reductions.sum(pairs, at) * (width / 2)
    return reductions.sum(pairs * width, dim) / 2


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
                         ) -> Tensor:
    """The integrals up to each place but the first, by the trapezoidal rule."""
    pairs, width, at = _areas("cumulative_trapezoid", y, x, dx, dim)
    if pairs is None:
        return y / 2
    if is_number(width):
        return reductions.cumsum(pairs, at) * (width / 2)
    return reductions.cumsum(pairs * width, dim) / 2


# ---------------------------------------------------------------------- covariance


def _weights(name: str, w: Tensor, count: int, integral: bool) -> None:
    if w.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got "
                           f"{w.ndim}-D")
    if (w.dtype.category == 1) != integral:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {w.dtype!r}")
    if w.numel() != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are "
                           f"observations ({count}), got {w.numel()}")


def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """The covariance of variables (rows) over observations (columns), weighted if asked."""
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an "
                           f"input with {input.ndim} dimensions")
    if input.dtype is _dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    count = x.tensor_type.shape[1]
    if not x.tensor_type.dtype.is_inexact:
        x = x.to(_dtypes.get_default_dtype())
    refused: Any = None
    w: Tensor | None = None
    if fweights is not None:
        _weights("fweights", fweights, count, True)
        w = fweights
        refused = reductions.any(w < 0)
    if aweights is not None:
        _weights("aweights", aweights, count, False)
        w = aweights if w is None else w * aweights
        refused = reductions.any(w < 0)
    if w is None:
        mean = reductions.mean(x, 1, True)
        scale: Any = max(count - correction, 0)
        centred = x - mean
        right = pointwise.conj(centred)
    else:
        total = reductions.sum(w)
        mean = reductions.sum(x * w, 1, True) / total
        if correction and aweights is not None:
            scale = total - correction * reductions.sum(w * aweights) / total
        else:
            scale = total - correction
        scale = _wrap(require(operand(pointwise.clamp(scale, min=0)), operand(refused),
                              "torch.cov"))
        centred = x - mean
        right = pointwise.conj(centred * w)
    found = linear.matmul(centred, right.transpose(0, 1)) / scale
    return found.squeeze()


def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows)."""
    if input.ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got "
                           f"an input with {input.ndim} dimensions")
    c = cov(input)
    if not c.ndim:
        return c / c
    spread = pointwise.FUNCTIONS["sqrt"](pointwise.real(c.diagonal()))
    c = c / spread.unsqueeze(-1) / spread.unsqueeze(0)
    if c.is_complex():
        return pointwise.complex(pointwise.clamp(pointwise.real(c), -1, 1),
                                 pointwise.clamp(pointwise.imag(c), -1, 1))
    return pointwise.clamp(c, -1, 1)


# ----------------------------------------------------------------------- selections


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The ways to choose r elements of a vector, in order, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.narrow(0, 0, 0).clone()
    choose = itertools.combinations_with_replacement if with_replacement else (
        itertools.combinations)
    rows = np.array(list(choose(range(input.tensor_type.shape[0]), r)), np.int64).reshape(-1, r)
    return _wrap(record("take", [operand(input), operand(tensor(rows))], {"axis": 0}))


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones (or rows, or numbers) along its diagonal."""
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else (
        list(tensors))
    blocks, kinds = [], []
    for i, t in enumerate(given):
        x = t if isinstance(t, Tensor) else tensor(t)
        kinds.append(pointwise.ranked(x))
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{x.ndim} dimensions")
        blocks.append(x.reshape(1, -1) if x.ndim < 2 else x)
    if not blocks:
        return tensor([]).reshape(1, 0)
    kind = combine(kinds)
    width = sum(b.tensor_type.shape[1] for b in blocks)
    rows, before = [], 0
    for b in blocks:
        n = b.tensor_type.shape[1]
        rows.append(_wrap(pad_value(
            operand(b.to(kind)), (0, before), (0, width - before - n), 0)))
        before += n
    return cat(rows, 0)


def hash_tensor(input: Tensor, dim: Any = None, *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the elements' 64 bits (as float64 or int64), uint64."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor: unknown reduction mode {mode}, expected 0")
    v = operand(input)
    if v.dtype.is_complex:
        raise RuntimeError("hash_tensor: complex tensors are not supported")
    wide = lazyloom.dtypes.float64 if v.dtype.is_inexact else lazyloom.dtypes.int64
    if v.dtype.kind in "ub":
        wide = lazyloom.dtypes.uint64
    bits = cast(v, wide)
    if wide is not lazyloom.dtypes.uint64:
        bits = record("bitcast", [bits], {"dtype": lazyloom.dtypes.uint64})
    every = dim is None or (not hasattr(dim, "__index__") and not tuple(dim))
    over = tuple(range(input.ndim)) if every else axes(dim, input.ndim) if input.ndim else ()
    shape = bits.shape
    for at in sorted(over, reverse=True):
        if shape[at]:
            bits = record("fold", [bits], {"function": "bitwise_xor", "axis": at})
        else:
            bits = record("sum", [bits], {"axes": (at,), "keepdims": False})
    if keepdim:
        bits = record("reshape", [bits], {
            "shape": tuple(1 if i in over else d for i, d in enumerate(shape))})
    return _wrap(bits)


declare({
    "function method out": [diff, hash_tensor],
    "function method": [cov, corrcoef],
    "function": [
        gradient, trapezoid, ("trapz", trapezoid), cumulative_trapezoid, combinations, block_diag],
})
