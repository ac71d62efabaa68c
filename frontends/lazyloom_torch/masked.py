"""``torch.masked``: reductions and normalisations of the elements that a mask lets through.

Where ``mask`` is true an element counts; without one all do. It broadcasts to the input. Where
nothing is left, sums and their kind give the identity of the operation, means and medians NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _absent, _dtypes, linalg
from ._core import axis
from ._errors import not_a_tensor
from ._functions import (
    activations,
    creation,
    pointwise,
    reductions,
    representation,
    sorting,
    views,
)
from ._tensor import Tensor

inf = float("inf")


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant, each once; all of them for None or an empty tuple."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    given = (dim,) if hasattr(dim, "__index__") else tuple(dim)
    found = tuple(axis(d, ndim) for d in given)
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim={dim} appears multiple times in the list of dims")
    return () if ndim == 0 else found


def _mask(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as a bool tensor of the input's shape. Raises TypeError, IndexError."""
    if not isinstance(mask, Tensor):
        raise not_a_tensor(mask, "mask: ")
    if mask.ndim > input.ndim:
        raise IndexError(
            "mask must have at most as many dimensions as the input, got "
            f"{mask.ndim} and {input.ndim}")
    kept = mask if mask.dtype is _dtypes.bool_ else mask != 0
    return views.expand(kept, input.shape) if kept.shape != input.shape else kept


def _filled(input: Tensor, mask: Tensor | None, number: Any) -> Tensor:
    """The input with a number where the mask is false."""
    if mask is None:
        return input
    found: Tensor = pointwise.where(_mask(input, mask), input, creation.full(
        (), number, dtype=input.dtype))
    return found


def _extreme(dtype: Any, largest: bool) -> Any:
    """The identity of a minimum (the largest number), or of a maximum."""
    if dtype.is_floating_point or dtype.is_complex:
        return inf if largest else -inf
    if dtype is _dtypes.bool_:
        raise NotImplementedError("extrema of bool tensors have no identity; use .int()")
    limits = np.iinfo(dtype.lazy.numpy)
    return int(limits.max if largest else limits.min)


def _accumulating(dtype: Any) -> Any:
    return _dtypes.int64 if dtype.category < 2 else dtype


def sum(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
        mask: Tensor | None = None) -> Tensor:
    """The sum over dimensions; integers give int64."""
    found: Tensor = reductions.sum(
        _filled(input, mask, 0), _dims(dim, input.ndim), bool(keepdim),
        dtype=dtype or _accumulating(input.dtype))
    return found


def prod(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The product over dimensions; integers give int64."""
    found: Tensor = _filled(input, mask, 1).to(dtype or _accumulating(input.dtype))
    for d in sorted(_dims(dim, input.ndim), reverse=True):
        found = reductions.prod(found, d, bool(keepdim))
    return found


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums along a dimension."""
    kind = dtype or input.dtype
    found: Tensor = reductions.cumsum(_filled(input, mask, 0), dim, dtype=kind)
    return found.to(kind)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products along a dimension."""
    kind = dtype or input.dtype
    found: Tensor = reductions.cumprod(_filled(input, mask, 1), dim, dtype=kind)
    return found.to(kind)


def amax(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The maximum over dimensions."""
    filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, False))
    return reductions.amax(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def amin(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The minimum over dimensions."""
    filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, True))
    return reductions.amin(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The index of the maximum along a dimension, or in the flattened tensor."""
    filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, False))
    return reductions.argmax(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The index of the minimum along a dimension, or in the flattened tensor."""
    filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, True))
    return reductions.argmin(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Any:
    """How many elements count, over dimensions."""
    if mask is None:
        n = 1
        for d in _dims(dim, input.ndim):
            n *= input.shape[d]
        return n
    found: Tensor = reductions.sum(_mask(input, mask), _dims(dim, input.ndim), keepdim)
    return found


def _quotient(total: Tensor, count: Any) -> Tensor:
    if not isinstance(count, Tensor):
        count = creation.full((), count, dtype=_dtypes.int64)
    found: Tensor = total / count
    return found


def mean(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The mean over dimensions; NaN of nothing. Raises ValueError for integers."""
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            "mean(): expected a dtype that is floating point or complex, as input or as dtype; "
            f"got {kind!r}")
    total = sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask)
    return _quotient(total, _count(input, dim, bool(keepdim), mask))


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The lower median along a dimension; NaN of nothing.

    Of integers the result is looked at: ValueError where nothing is left, which has no median.
    """
    floating = input.dtype.is_floating_point
    given = input if floating else input.to(_dtypes.float32)
    found: Tensor = sorting.nanmedian(
        _filled(given, mask, float("nan")), axis(dim, input.ndim), bool(keepdim)).values
    if floating:
        return found
    if mask is not None and bool(pointwise.isnan(found).any()):
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


def logsumexp(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))`` over dimensions."""
    filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, False))
    return reductions.logsumexp(filled, _dims(dim, input.ndim), bool(keepdim)).to(
        dtype or input.dtype)


def logaddexp(input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))``; a masked operand counts as ``exp(-inf)``."""
    a = _filled(input, input_mask, -inf)
    b = _filled(other, other_mask, -inf)
    found: Tensor = representation.logaddexp(a, b)
    return found.to(dtype or input.dtype)


def norm(input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool = False,
         dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The vector norm of order ``ord`` over dimensions."""
    filled = _filled(input, mask, inf if ord == -inf else 0)
    found: Tensor = linalg.vector_norm(
        filled, 2 if ord is None else ord, _dims(dim, input.ndim), bool(keepdim),
        dtype=dtype or input.dtype)
    return found


def _spread(input: Tensor, dim: Any, unbiased: bool | None, correction: Any, keepdim: bool,
            dtype: Any, mask: Tensor | None) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    by = 1.0 if unbiased is None else float(unbiased)
    if correction is not None:
        by = float(correction)
    kind = dtype or input.dtype
    wide = kind if kind.is_floating_point or kind.is_complex else _dtypes.float32
    if dtype is None:
        kind = wide
    centre = _quotient(sum(input, dim, keepdim=True, dtype=kind, mask=mask),
                       _count(input, dim, True, mask))
    x = input - centre
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=wide, mask=mask)
    count = _count(input, dim, bool(keepdim), mask)
    real = wide.to_real()
    if isinstance(count, Tensor):
        left: Any = pointwise.clamp(count.to(real) - by, 0)
    else:
        left = creation.full((), max(count - by, 0), dtype=real)
    return (total / left).to(kind)


def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None,
        keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The variance over dimensions, with Bessel's correction of 1 by default; NaN of nothing."""
    return _spread(input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None,
        keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The square root of :func:`var`."""
    found: Tensor = pointwise.FUNCTIONS["sqrt"](
        _spread(input, dim, unbiased, correction, bool(keepdim), dtype, mask))
    return found


def _normalised(name: str, largest: bool) -> Callable[..., Tensor]:
    base = activations.FUNCTIONS[name]

    def function(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
                 ) -> Tensor:
        filled = input if mask is None else _filled(input, mask, _extreme(input.dtype, largest))
        found: Tensor = base(filled, axis(dim, input.ndim), dtype=dtype or input.dtype)
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} along a dimension of what the mask lets through."
    return function


softmax, log_softmax, softmin = (
    _normalised("softmax", False), _normalised("log_softmax", False),
    _normalised("softmin", True))


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """Divided by the norm of order ``ord`` along a dimension, or by ``eps`` if that is larger."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    found: Tensor = _filled(input, mask, 0) / pointwise.FUNCTIONS["maximum"](
        length, creation.full((), eps, dtype=length.dtype))
    return found


__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip

__getattr__ = _absent.missing(__name__)
