"""Padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import record, scalar
from .._tensor import Tensor, operand
from .spatial import gathered

_wrap = Tensor.from_value
#: by the number of padded dimensions, the ranks that PyTorch pads but by constants
_RANKS = {1: (2, 3), 2: (3, 4), 3: (4, 5)}


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements added (or cut, for negative numbers) at the ends of the last dimensions.

    ``pad`` lists (before, after) from the last dimension backwards; mode is "constant",
    "reflect", "replicate" or "circular".
    """
    v = operand(input)
    amounts = [int(p) for p in pad]
    rank = len(v.shape)
    count = len(amounts) // 2
    if len(amounts) % 2 or count > rank:
        raise RuntimeError(
            f"Padding length must be even and at most twice the input's rank, got {amounts} for "
            f"{list(v.shape)}")
    low, high = [0] * rank, [0] * rank
    for i in range(count):
        low[-1 - i], high[-1 - i] = amounts[2 * i], amounts[2 * i + 1]
    if mode == "constant":
        if any(d + a + b < 0 for d, a, b in zip(v.shape, low, high, strict=True)):
            raise RuntimeError(
                f"The input size {list(v.shape)}, plus negative padding {amounts}, resulted in a "
                "negative output size, which is invalid")
        return _wrap(record("pad", [v, scalar(0 if value is None else value, v.dtype)], {
            "low": tuple(low), "high": tuple(high), "interior": (0,) * rank}))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode!r}")
    if value is not None and value != 0:
        raise RuntimeError(f"Padding mode {mode!r} doesn't take in value argument, got {value!r}")
    if rank not in _RANKS.get(count, ()):
        raise NotImplementedError(
            f"Padding mode {mode!r} takes 2 amounts for 2D and 3D inputs, 4 for 3D and 4D and 6 "
            f"for 4D and 5D, got {len(amounts)} for an input of size {list(v.shape)}")
    if 0 in v.shape[1:]:
        raise RuntimeError(
            f"Expected an input of non-zero sizes but for its batch, but got {list(v.shape)}")
    for dim, (a, b) in enumerate(zip(low, high, strict=True)):
        if a or b:
            v = gathered(v, _positions(mode, v.shape[dim], a, b, dim, input), dim)
    return _wrap(v)


def _positions(mode: str, size: int, a: int, b: int, dim: int, input: Tensor) -> Any:
    """Which elements the padded dimension shows."""
    if size + a + b < (1 if mode != "circular" else 0):
        raise RuntimeError(
            f"input of size {list(input.shape)} is too small for padding ({a}, {b}) of dimension "
            f"{dim}: nothing would be left")
    if mode == "circular":
        if a > size or b > size:
            raise RuntimeError(
                f"Padding value causes wrapping around more than once, got ({a}, {b}) for "
                f"dimension {dim} of {list(input.shape)}")
        inside = np.arange(max(-a, 0), size - max(-b, 0))
        return inside[np.arange(-max(a, 0), len(inside) + max(b, 0)) % max(len(inside), 1)]
    position = np.arange(-a, size + b)
    if mode == "replicate":
        return position.clip(0, size - 1)
    if a >= size or b >= size:
        raise RuntimeError(
            "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({a}, {b}) at dimension {dim} of input {list(input.shape)}")
    position = np.abs(position)
    return np.where(position >= size, 2 * (size - 1) - position, position)


FUNCTIONS: dict[str, Any] = {"pad": pad}
