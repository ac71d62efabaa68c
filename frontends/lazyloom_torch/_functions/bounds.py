"""Positions and divisors that are data: in range and not 0, or an error.

What is known of indices on the host raises at the call. For what the device computes a check is
recorded with them, and reading anything that depends on an index out of range raises. Either way
the error is an IndexError and a RuntimeError: PyTorch raises the one or the other, by function.
"""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.errors import IndexRangeError

from .._core import record


def checked(value: Any, size: int, dim: int | None, of: str, *, negative: bool = True) -> Any:
    """Indices (a Value of integers) into ``size`` elements of dimension ``dim``, checked.

    Without ``negative``, indices below 0 are out of range. ``dim`` None means the flattened
    tensor. Raises IndexRangeError where the indices are known already.
    """
    if not value.type.size:
        return value
    least = -size if negative else 0
    bounds = lazyloom.known_bounds(value)
    if bounds is not None and least <= bounds[0] and bounds[1] < size:
        return value
    known = lazyloom.known_range(value)
    if known is not None:
        bad = known[0] if known[0] < least else known[1]
        place = "" if dim is None else f"dimension {dim} with "
        raise IndexRangeError(f"{of}: index {bad} is out of bounds for {place}size {size}")
    if size == 0:
        raise IndexRangeError(f"{of}: index is out of bounds for dimension {dim} with size 0")
    return lazyloom.check_indices(value, size, dim, of, negative)


def require(value: Any, flag: Any, kind: str) -> Any:
    """The value, which raises what ``kind`` says when it is read if the flag is not zero."""
    return record("checked", [value, flag], {"kind": kind})[0]


def divisor(dividend: Any, given: Any) -> Any:
    """A divisor of integers, which raises when the quotient is read if an element is 0.

    Raises RuntimeError at the call where that is known already. Both are a Value or a Scalar; there
    is nothing wrong with 0 where there is nothing to divide.
    """
    if any(isinstance(v, Value) and not v.type.size for v in (dividend, given)):
        return given
    if not isinstance(given, Value):
        if given.number == 0:
            raise RuntimeError("ZeroDivisionError")
        return given
    bounds = lazyloom.known_bounds(given)
    if bounds is not None and not bounds[0] <= 0 <= bounds[1]:
        return given
    if 0 in (lazyloom.known_range(given) or ()):
        raise RuntimeError("ZeroDivisionError")
    return require(given, record("any", [record("equal", [
        given, lazyloom.Scalar(0, given.dtype)])]), "torch.divisor")


def _says(text: str) -> Any:
    def judge(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
        return lazyloom.errors.ExecutionError(f"{text} (recorded at {check.site})")

    return judge


#: what is refused for its data, and in which words
REFUSALS = {
    "torch.divisor": "ZeroDivisionError: integers were divided by 0",
    "torch.masked_scatter": "masked_scatter: source has fewer elements than the mask has true ones",
    "torch.histogram_range": "histc: the range of the elements is not finite",
    "torch.quantile_range": "quantile() q must be in the range [0, 1]",
    "torch.bincount": "bincount only supports 1-d non-negative integral inputs: an element is "
                      "negative",
    "torch.probabilities": "binary_cross_entropy: all elements of input should be between 0 and 1",
    "torch.cov": "cov(): fweights and aweights cannot be negative",
    "torch.bernoulli": "bernoulli expects all probabilities to be in [0, 1]",
    "torch.multinomial": "multinomial: the weights must be finite and not negative, and some of "
                         "each row positive",
    "torch.normal": "normal expects all elements of std >= 0.0",
    "torch.segments": "segment_reduce(): lengths must not be negative, and those of each row must "
                      "add up to the extent of data along axis",
    "torch.repeats": "repeat_interleave: repeats must not be negative",
}
for _kind, _text in REFUSALS.items():
    lazyloom.register_check(_kind, _says(_text))
