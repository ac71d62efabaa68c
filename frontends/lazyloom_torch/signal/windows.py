"""Window functions: ``torch.signal.windows``.

A window of M points is symmetric, or with ``sym=False`` the first M points of one with M + 1,
which continues periodically. Results are float32 or float64 (the default dtype if None).
Raises ValueError for a negative M or another dtype.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _absent, _dtypes
from .._core import record
from .._functions import pointwise
from .._functions.creation import linspace, ones
from .._placing import placed as _placed
from .._tensor import Tensor, operand


def _check(name: str, M: int, dtype: Any, layout: Any, device: Any) -> _dtypes.dtype:  # noqa: N803
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, "torch.strided") and str(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    _dtypes.check_device(device)
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if kind not in (_dtypes.float32, _dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind!r}")
    return kind


def _places(start: float, step: float, count: int, kind: _dtypes.dtype) -> Tensor:
    return linspace(start * step, (start + count - 1) * step, count, dtype=kind)


def _length(M: int, sym: bool) -> int:  # noqa: N803
    """The number of steps between the ends of the symmetric window."""
    return M - 1 if sym or M <= 1 else M


def cosine_sum(count: int, a: Sequence[float], sym: bool, kind: _dtypes.dtype) -> Tensor:
    """The sum of ``(-1)**i * a[i] * cos(i x)`` for x over a period."""
    if count <= 1:
        return ones((count,), dtype=kind)
    x = _places(0.0, 2 * math.pi / _length(count, sym), count, kind)
    found: Any = a[0]
    for i, weight in enumerate(a[1:], 1):
        found = pointwise.cos(x * i) * (weight * (-1) ** i) + found
    return found if isinstance(found, Tensor) else x * 0 + a[0]


def triangle(count: int, sym: bool, kind: _dtypes.dtype) -> Tensor:
    """From 0 up to 1 and down to 0."""
    if count <= 1:
        return ones((count,), dtype=kind)
    step = 2 / _length(count, sym)
    x = linspace(-1, -1 + (count - 1) * step, count, dtype=kind)
    return 1 - pointwise.abs(x)


def bessel(count: int, beta: float, sym: bool, kind: _dtypes.dtype) -> Tensor:
    """``I0(beta * sqrt(1 - x**2)) / I0(beta)`` for x from -1 to 1."""
    if count <= 1:
        return ones((count,), dtype=kind)
    step = 2.0 / _length(count, sym)
    x = linspace(-1.0, min(1.0, -1.0 + (count - 1) * step), count, dtype=kind)
    inner = pointwise.FUNCTIONS["sqrt"](pointwise.clamp(1 - x * x, min=0)) * beta
    edge = linspace(beta, beta, 1, dtype=kind)
    scaled = (Tensor.from_value(record("bessel_i0e", [operand(t)])) for t in (inner, edge))
    above, below = scaled
    # scaled functions do not overflow for a large beta
    found: Tensor = above / below * pointwise.FUNCTIONS["exp"](inner - beta)
    return found


def _finish(window: Tensor, requires_grad: bool) -> Tensor:
    return window.requires_grad_() if requires_grad else window


@_placed
def general_cosine(M: int, *, a: Sequence[float], sym: bool = True, dtype: Any = None,  # noqa: N803
                   layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A sum of cosines with the weights ``a``, of alternating signs."""
    kind = _check("general_cosine", M, dtype, layout, device)
    if not isinstance(a, Sequence):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _finish(cosine_sum(M, a, sym, kind), requires_grad)


@_placed
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None,  # noqa: N803
                    layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``alpha - (1 - alpha) * cos(x)``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


@_placed
def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
            device: Any = None, requires_grad: bool = False) -> Tensor:
    """``0.54 - 0.46 * cos(x)``."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


@_placed
def hann(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
         device: Any = None, requires_grad: bool = False) -> Tensor:
    """``0.5 - 0.5 * cos(x)``."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)


@_placed
def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
             device: Any = None, requires_grad: bool = False) -> Tensor:
    """``0.42 - 0.5 * cos(x) + 0.08 * cos(2 x)``."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


@_placed
def nuttall(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
            device: Any = None, requires_grad: bool = False) -> Tensor:
    """The minimum 4-term window of Nuttall (1981)."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype,
                          layout=layout, device=device, requires_grad=requires_grad)


@_placed
def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
             device: Any = None, requires_grad: bool = False) -> Tensor:
    """A triangle that is 0 at both ends."""
    kind = _check("bartlett", M, dtype, layout, device)
    return _finish(triangle(M, sym, kind), requires_grad)


@_placed
def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None,  # noqa: N803
           device: Any = None, requires_grad: bool = False) -> Tensor:
    """Half a period of a sine."""
    kind = _check("cosine", M, dtype, layout, device)
    step = math.pi / (_length(M, sym) + 1) if M else 1.0
    return _finish(pointwise.FUNCTIONS["sin"](_places(0.5, step, M, kind)), requires_grad)


@_placed
def exponential(M: int, *, center: float | None = None, tau: float = 1.0,  # noqa: N803
                sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
                requires_grad: bool = False) -> Tensor:
    """``exp(-|n - center| / tau)``. Raises ValueError for tau <= 0, or a centre if symmetric."""
    kind = _check("exponential", M, dtype, layout, device)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _length(M, sym) / 2 if center is None else center
    x = _places(-middle, 1 / tau, M, kind)
    return _finish(pointwise.FUNCTIONS["exp"](-pointwise.abs(x)), requires_grad)


@_placed
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None,  # noqa: N803
             layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``exp(-((n - middle) / std)**2 / 2)``. Raises ValueError for std <= 0."""
    kind = _check("gaussian", M, dtype, layout, device)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    x = _places(-_length(M, sym) / 2, 1 / (std * math.sqrt(2)), M, kind)
    return _finish(pointwise.FUNCTIONS["exp"](-x * x), requires_grad)


@_placed
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None,  # noqa: N803
           layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``I0(beta * sqrt(1 - x**2)) / I0(beta)``. Raises ValueError for beta < 0."""
    kind = _check("kaiser", M, dtype, layout, device)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _finish(bessel(M, float(beta), sym, kind), requires_grad)

__getattr__ = _absent.missing(__name__)
