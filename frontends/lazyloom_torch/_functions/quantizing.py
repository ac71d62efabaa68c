"""Rounding to what few bits hold, and back, for training that is to be quantised."""

from __future__ import annotations

from typing import Any

from lazyloom.dtypes import bfloat16, float16, float32, int32

from .._core import axis as checked_axis
from .._core import cast, record, scalar
from .._promotion import is_number
from .._registry import declare
from .._tensor import Tensor, operand

_wrap = Tensor.from_value


def _record(input: Tensor, scale: Any, zero_point: Any, axis: int | None, low: int, high: int,
            name: str) -> Tensor:  # fmt: skip
    if low > high:
        raise RuntimeError(
            f"{name}: `quant_min` should be less than or equal to `quant_max`, got {low} and "
            f"{high}")
    x = operand(input)
    dtype = x.dtype
    if not dtype.is_floating:
        raise NotImplementedError(
            f"{name}: expected input of a floating-point dtype, got {input.dtype!r}")
    wide = float32 if dtype in (float16, bfloat16) else dtype
    found = record(
        "fake_quantize",
        [cast(x, wide), scalar(scale, wide) if is_number(scale) else cast(scale, wide), zero_point],
        {"axis": axis, "low": int(low), "high": int(high)})
    return _wrap(cast(found, dtype))


def _parameter(value: Any, name: str, what: str) -> Any:
    """A scale or zero point that is a tensor of one element, as a 0-d value."""
    if value.requires_grad:
        raise RuntimeError(
            f"{name}: {what} has requires_grad=True, but there is no derivative by it; detach it")
    v = operand(value)
    if v.shape not in ((), (1,)):
        raise RuntimeError(f"{name}: expected {what} of one element, got shape {tuple(v.shape)}")
    return record("reshape", [v], {"shape": ()}) if v.shape else v


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """What input becomes by quantisation to integers from quant_min to quant_max and back.

    ``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``, of
    input's shape and floating-point dtype. scale and zero_point are a number or a tensor of one
    element each, zero_point an integer. The gradient passes where the integer was not limited.
    NaN stays NaN. A zero_point that is a tensor is not read, so that one beyond the limits is no
    error. Raises RuntimeError, NotImplementedError.
    """
    name = "fake_quantize_per_tensor_affine"
    s: Any
    if isinstance(scale, Tensor):
        s = _parameter(scale, name, "scale")
    elif is_number(scale):
        s = float(scale)
    else:
        raise TypeError(f"{name}: expected scale as a number or a tensor, got {type(scale)}")
    if isinstance(zero_point, Tensor):
        z = _parameter(zero_point, name, "zero_point")
        if not z.dtype.is_integer:
            raise RuntimeError(
                f"{name}: expected zero_point of an integer dtype, got {zero_point.dtype!r}")
    else:
        if not quant_min <= zero_point <= quant_max:
            raise RuntimeError(
                f"{name}: `zero_point` must be between `quant_min` and `quant_max`, got "
                f"{zero_point}, {quant_min} and {quant_max}")
        z = scalar(int(zero_point), int32)
    return _record(input, s, z, None, quant_min, quant_max, name)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As ``fake_quantize_per_tensor_affine``, with a scale and zero point for each place of axis.

    scale and zero_point, of int32, have one element for each place along axis. PyTorch also takes
    zero points that are no integers; here they are refused. Raises RuntimeError, IndexError,
    NotImplementedError.
    """
    name = "fake_quantize_per_channel_affine"
    x, s, z = operand(input), operand(scale), operand(zero_point)
    at = checked_axis(axis, len(x.shape))
    if z.dtype != int32:
        raise RuntimeError(f"{name}: expected zero_point of dtype int32, got {zero_point.dtype!r}")
    if scale.requires_grad:
        raise RuntimeError(
            f"{name}: scale has requires_grad=True, but there is no derivative by it; detach it")
    for what, v in (("scale", s), ("zero_point", z)):
        if tuple(v.shape) != (x.shape[at],):
            raise RuntimeError(
                f"{name}: expected {what} of shape ({x.shape[at]},), one element for each place "
                f"along axis {axis} of input, got shape {tuple(v.shape)}")
    return _record(input, s, z, at, quant_min, quant_max, name)


declare({"function": [fake_quantize_per_tensor_affine, fake_quantize_per_channel_affine]})
