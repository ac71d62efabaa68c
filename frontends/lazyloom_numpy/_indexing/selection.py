"""``x[mask]`` before anybody has asked how much that is.

The shape of ``x[mask]`` depends on data, and reading it stops the program. ``x[mask] += 1``
never needs it: Python takes ``x[mask]``, adds in place and assigns the result to ``x[mask]``.
So a selection keeps array and mask, and computes what is added in place in all positions; the
assignment then chooses by the mask. ``y[mask] = x[mask]`` needs it as little. Any other use
reads how many there are, and from then on it is the plain array.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.frontend import hold

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray
from .._functions.counting import flat_positions

record = lazyloom.record

_info: Final[Any] = ndarray.__dict__["_info"]


class _Source:
    """Where a selection comes from.

    Attributes:
        value: the array's contents when it was indexed, perhaps changed in place since.
        mask: the mask's, of the shape of the first axes.
    """

    __slots__ = ("value", "mask")

    def __init__(self, value: Any, mask: Any) -> None:
        self.value: Any = value
        self.mask: Final = mask


class Selection(ndarray):
    """An array of a shape that is not known yet; it becomes an ``ndarray`` once it must be.

    Whatever is asked of it makes it one, but for operators in place.
    """

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        settle(self)
        return getattr(self, name)

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """What is computed from one is a plain array."""
        return ndarray.from_value(value)

    @property
    def value(self) -> Any:
        settle(self)
        return self.value


def select(x: ndarray, mask: Any) -> Selection:
    """``x[mask]`` for a mask of the device that has the shape of the first axes of ``x``."""
    source = _Source(x.value, mask.value)
    made: Any = ndarray.from_value(source.mask)
    # operators take the general way, which asks for something
    made.slow_path = True
    _info.__set__(made, source)
    made.__class__ = Selection
    return made  # type: ignore[no-any-return]


def settle(x: Any) -> None:
    """Read how many elements are selected, and become the plain array of them."""
    if type(x) is not Selection:
        return
    source = _info.__get__(x)
    value, own = source.value, source.mask.type.shape
    shape = value.type.shape
    if len(own) > 1:
        value = record("reshape", (value,), {"shape": (math.prod(own), *shape[len(own):])})
    positions = flat_positions(source.mask, "an index by a boolean array")
    taken = record("take", (value, positions), {"axis": 0})
    _info.__delete__(x)
    x.__class__ = ndarray  # type: ignore[assignment]
    hold(x, taken)


def _spread(mask: Any, ndim: int) -> Any:
    """The mask with an axis of size 1 for each further one of the array."""
    shape = mask.type.shape
    if len(shape) == ndim:
        return mask
    return record("reshape", (mask,), {"shape": shape + (1,) * (ndim - len(shape))})


def full_for(given: Any, x: ndarray, mask: Any) -> Any:
    """``x`` with the selection where the mask is true, as a Value; None if it is of another."""
    if type(given) is not Selection:
        return None
    source = _info.__get__(given)
    value = source.value
    if source.mask is not mask or value.type is not x.type:
        return None
    return record("where", (_spread(mask, x.ndim), value, x.value))


def _other(given: Any, source: _Source) -> Any:
    """The other operand in all positions; None where the selection's shape is needed."""
    if type(given) is Selection:
        theirs = _info.__get__(given)
        if theirs.mask is source.mask and theirs.value.type.shape == source.value.type.shape:
            return ndarray.from_value(_harmless(theirs))
        return None
    if isinstance(given, (int, float, complex, onp.generic)):
        return given
    if isinstance(given, lazyloom.Tensor) and not given.tensor_type.shape:
        return given
    return None


def _harmless(source: _Source) -> Any:
    """The contents with ones where they are not selected: nothing is wrong with one."""
    value = source.value
    one = dt.scalar(1, value.type.dtype)
    return record("where", (_spread(source.mask, len(value.type.shape)), value, one))


def _in_place(symbol: str) -> Any:
    plain = getattr(operator, symbol)

    def method(self: Any, given: Any) -> Any:
        source = _info.__get__(self)
        other = _other(given, source)
        if other is None:
            settle(self)
            return plain(self, given)
        source.value = plain(ndarray.from_value(_harmless(source)), other).value
        return self

    method.__name__ = f"__{symbol}__"
    return method


for _symbol in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior",
                "ixor", "ilshift", "irshift"):  # fmt: skip
    setattr(Selection, f"__{_symbol}__", _in_place(_symbol))
