"""Dropout of elements and of channels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from lazyloom import Spec

from .._core import record, record_two, scalar, spec
from .._draws import default_generator
from .._elementwise import ordered
from .._tensor import Tensor, operand
from . import convert

_wrap = Tensor.from_value
_SPECS: dict[float, Spec] = {}
#: what SELU gives far below zero, negated
_ALPHA = 1.7580993408473766


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements zero with probability p and scaled by 1 / (1 - p) otherwise, in training."""
    if not 0.0 <= p <= 1.0:
        _check(p)
    if not training or p == 0.0:
        return input
    ready = _SPECS.get(p)
    if ready is None:
        ready = _SPECS[p] = spec("dropout", 2, {"rate": float(p)})
    if inplace:
        return convert.store_of(dropout, input, p)
    value = record_two(ready, operand(input), default_generator.draw())
    return ordered(_wrap(value), input) if input.slow_path else _wrap(value)


def _kept(shape: tuple[int, ...], p: float, dtype: Any) -> Any:
    """1 / (1 - p) with probability 1 - p, else 0."""
    one = record("full", [scalar(1, dtype)], {"shape": shape})
    return record("dropout", [one, default_generator.draw()], {"rate": float(p)})


def _channels(input: Tensor, p: float, name: str, unbatched: int | None) -> tuple[int, ...]:
    """The shape of one number per channel; the input has no batch if it is of that rank."""
    _check(p)
    shape = input.tensor_type.shape
    lead = 1 if len(shape) == unbatched else 2
    return (*shape[:lead], *(1,) * (len(shape) - lead))


def _dropped(input: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    v = operand(input)
    return ordered(_wrap(record("multiply", [v, _kept(shape, p, v.dtype)])), input)


def _channel_dropout(n: int) -> Callable[..., Tensor]:
    name = f"dropout{n}d"

    def function(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
                 ) -> Tensor:
        _check(p)
        rank = len(input.tensor_type.shape)
        if n == 1 and rank not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {rank}D input.")
        if n > 1 and rank not in (n + 1, n + 2):
            warnings.warn(
                f"{name}: Received a {rank}-D input, which takes dropout of elements as those of "
                f"channels of a {n + 2}-D input", stacklevel=2)
        if not training or p == 0.0:
            return input
        # PyTorch takes 3-D inputs of dropout2d for batches, as it did in the past
        shape = _channels(input, p, name, n + 1 if n != 2 else None)
        return convert.store_of(_dropped, input, p, shape) if inplace else (
            _dropped(input, p, shape))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Dropout of whole channels of (N, C, {n} spatial dimensions)."
    return function


dropout1d, dropout2d, dropout3d = (_channel_dropout(n) for n in (1, 2, 3))


def _alpha(input: Tensor, p: float, shape: tuple[int, ...], inplace: bool) -> Tensor:
    if inplace:
        return convert.store_of(_alpha, input, p, shape, False)
    v = operand(input)
    if p == 1.0:
        return ordered(_wrap(record("multiply", [v, scalar(0, v.dtype)])), input)
    a = ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** -0.5
    kept = record("not_equal", [_kept(shape, p, v.dtype), scalar(0, v.dtype)])
    if kept.shape != v.shape:
        kept = record("broadcast_to", [kept], {"shape": v.shape})
    # a * (x or -alpha) + a * alpha * p
    chosen = record("where", [kept, v, scalar(-_ALPHA, v.dtype)])
    value = record("add", [record("multiply", [chosen, scalar(a, v.dtype)]),
                           scalar(a * _ALPHA * p, v.dtype)])
    return ordered(_wrap(value), input)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps the mean and variance of SELU's outputs (arXiv 1706.02515)."""
    _check(p)
    if not training or p == 0.0:
        return input
    return _alpha(input, p, input.tensor_type.shape, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """:func:`alpha_dropout` of whole channels (dimension 1)."""
    _check(p)
    if not training or p == 0.0:
        return input
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _alpha(input, p, _channels(input, p, "feature_alpha_dropout", None), inplace)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    dropout, dropout1d, dropout2d, dropout3d, alpha_dropout, feature_alpha_dropout)}
