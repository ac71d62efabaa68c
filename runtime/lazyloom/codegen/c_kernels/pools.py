"""The gradient of maxima over windows, by ``native/c_kernels/pools.h``."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any, Final

from ...program.stream import Leaf
from ...types import TensorType
from ..answers import Answer, Call, No
from ..generator import Layout, NativeCode, Region
from ..worth import at_least
from .rows import code

#: the number of elements, and of channels, from which on an op is worth a call
FEWEST: Final = 16384
_CHANNELS: Final = 8
#: windows of more elements have another definition, with other rules for ties and NaN
_WINDOW: Final = 16
_TYPES: Final = ("float32", "bfloat16")
#: seconds per element of a window, for estimates
_EACH: Final = 4e-10


def known(op: str) -> bool:
    """Return True if an op is this gradient."""
    return op == "max_pool.vjp"


def _types(call: Call) -> tuple[TensorType, TensorType]:
    """Return the types of the images and of the cotangent."""
    x, cotangent = call.operands
    assert x is not None and cotangent is not None
    return x, cotangent


def supports(call: Call) -> Answer:
    """Return YES if a gradient is supported, or why not."""
    attrs = call.attributes
    if attrs["outnums1"] != (0,) or attrs["argnums1"] != (0,) or len(call.operands) != 2:
        return No("a derivative of another kind")
    x, _ = _types(call)
    axes = len(attrs["window"])
    if x.dtype.name not in _TYPES:
        return No(f"dtype {x.dtype.name}, expected {' or '.join(_TYPES)}")
    if axes > 2 or x.ndim != axes + 2:
        return No(f"windows of {axes} axes of {x.ndim}, expected 1 of 3 or 2 of 4")
    if math.prod(attrs["window"]) > _WINDOW:
        return No(f"windows of {math.prod(attrs['window'])} elements, expected at most {_WINDOW}")
    answer = at_least(x.shape[1], _CHANNELS, "channels")
    return at_least(x.size, FEWEST, "elements") if answer else answer


def seconds(call: Call) -> float:
    """Estimate by the elements of all windows."""
    return _EACH * _types(call)[1].size * int(math.prod(call.attributes["window"]))


def layouts(region: Region) -> Sequence[Layout]:
    """Return layouts with channels last."""
    ndim = region.results[0].ndim
    return [(0, *range(2, ndim), 1)] * (len(region.operands) + 1)


def build(region: Region) -> NativeCode:
    """Return the function with the numbers that it takes."""
    native: Any = importlib.import_module("lazyloom._c_kernels")
    call = region.calls[0]
    x, cotangent = _types(call)
    attrs = call.attributes
    axes = len(attrs["window"])

    def two(numbers: Sequence[int] | None, default: int) -> tuple[int, ...]:
        """Return a number for each of two axes; the first axis may be missing."""
        spread = (default,) * axes if numbers is None else tuple(numbers)
        return (default,) * (2 - axes) + spread

    buffers = []
    for item in region.program.structure.instructions[0].operands:
        assert isinstance(item, Leaf)
        buffers.append(item.number)
    return code(native.unpooling(), [
        x.shape[0], *two(x.shape[2:], 1), x.shape[1], *two(cotangent.shape[2:], 1),
        *two(attrs["window"], 1), *two(attrs["strides"], 1), *two(attrs["padding_low"], 0),
        *two(attrs["dilation"], 1), *buffers, len(region.operands), x.dtype.name == "bfloat16"])
