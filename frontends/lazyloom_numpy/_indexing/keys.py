"""Keys of ``x[key]``, taken apart by NumPy's rules.

A key becomes one entry an axis: a number, a slice, a new axis, a position that the device
knows, or an array of positions. Boolean arrays become arrays of positions, one an axis; where
the device has the mask, how many is read.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.bounds import check, check_host, out_of_bounds
from .._arguments.convert import contains_tensor, operand
from .._array.layout import is_array
from .._array.ndarray import ScalarArray, ndarray
from .._functions.counting import coordinates, flat_positions, host_positions
from .._functions.creation import array

_MASK: Final = "an index by a boolean array"
_NO_INDEX: Final = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
    "boolean arrays are valid indices")


class Entry:
    """What happens to one axis of the array (or to a new one).

    Attributes:
        kind: ``"int"``, ``"slice"``, ``"new"``, ``"pick"``, ``"array"``, or ``"gap"`` for an
            Ellipsis that stands for no axis: arrays on both sides of it are still apart.
        start, step, length: of a slice; an int has its position as start.
        array: a Value of integers, checked, of ``"array"`` and ``"pick"`` (0-d).
        given: the Value that it was made of.
        inserted: the axis is a new one of size 1 (a 0-d mask indexes it).
    """

    __slots__ = ("kind", "start", "step", "length", "array", "given", "inserted")

    def __init__(self, kind: str, start: int = 0, step: int = 1, length: int = 1,
                 array: Any = None, given: Any = None, inserted: bool = False) -> None:  # fmt: skip
        self.kind: Final = kind
        self.start: Final = start
        self.step: Final = step
        self.length: Final = length
        self.array: Final = array
        self.given: Final = given
        self.inserted: Final = inserted


def as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def is_mask(k: Any) -> bool:
    """Whether an item of a key is boolean."""
    if isinstance(k, (bool, onp.bool_)):
        return True
    if isinstance(k, lazyloom.Tensor):
        return k.tensor_type.dtype is dt.BOOL
    if isinstance(k, (list, tuple, onp.ndarray)):
        return not _holds_tensor(k) and onp.asarray(k).dtype == bool
    return False


def _holds_tensor(k: Any) -> bool:
    return isinstance(k, (list, tuple)) and contains_tensor(k)


def _prepared(k: Any) -> Any:
    """An item as an int, slice, None, Ellipsis, tensor or NumPy array."""
    kind = type(k)
    if isinstance(k, lazyloom.Tensor) and not is_array(k):
        return array(k)
    if (
        k is None or k is Ellipsis or kind is int or kind is slice
        or isinstance(k, (lazyloom.Tensor, onp.ndarray, bool, onp.bool_))
    ):
        return k
    if isinstance(k, (list, tuple)) and contains_tensor(k):
        return array(k)
    if hasattr(k, "__dlpack__") and not isinstance(k, onp.generic):
        return array(k)  # a mask or indices of another library
    if hasattr(k, "__index__"):
        return k.__index__()
    try:
        host = onp.asarray(k)
    except ValueError:
        raise IndexError(_NO_INDEX) from None
    if not host.size and not isinstance(k, onp.generic):
        return host.astype(onp.intp)  # of nothing NumPy makes floating-point numbers
    if host.dtype.kind not in "iub":
        raise IndexError(_NO_INDEX)
    return host


def _width(k: Any) -> int:
    """How many axes of the array an item consumes."""
    if k is None or k is Ellipsis:
        return 0
    if is_mask(k):
        return len(k.tensor_type.shape) if isinstance(k, lazyloom.Tensor) else onp.ndim(k)
    return 1


def copies(key: Any) -> bool:
    """Whether a 0-d array of positions is among the items: NumPy then gives no view."""
    return any(
        isinstance(k, (ndarray, onp.ndarray)) and type(k) is not ScalarArray and not k.shape
        for k in as_tuple(key))


def parse(key: Any, shape: tuple[int, ...]) -> list[Entry]:
    """The key, entry by entry, with ``Ellipsis`` expanded. Raises IndexError as NumPy."""
    items = [_prepared(k) for k in as_tuple(key)]
    ellipses = sum(1 for k in items if k is Ellipsis)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(map(_width, items))
    ndim = len(shape)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    if not ellipses:
        items.append(Ellipsis)
    parsed: list[Entry] = []
    axis = 0
    for k in items:
        if k is Ellipsis:
            if ellipses and used == ndim:
                parsed.append(Entry("gap"))
            for _ in range(ndim - used):
                parsed.append(Entry("slice", length=shape[axis]))
                axis += 1
        elif k is None:
            parsed.append(Entry("new"))
        elif isinstance(k, slice):
            parsed.append(_slice(k, shape[axis]))
            axis += 1
        elif is_mask(k):
            width = _width(k)
            if not width:
                parsed.append(_no_axis(k))
            for array in _masked(k, shape[axis:], axis):
                parsed.append(Entry("array", array=array))
            axis += width
        elif isinstance(k, (lazyloom.Tensor, onp.ndarray)):
            parsed.append(_positions(k, shape[axis], axis))
            axis += 1
        else:
            parsed.append(Entry("int", _integer(k, shape[axis], axis)))
            axis += 1
    return parsed


def _slice(k: slice, n: int) -> Entry:
    if isinstance(k.start, lazyloom.Tensor) or isinstance(k.stop, lazyloom.Tensor) or isinstance(
        k.step, lazyloom.Tensor
    ):
        k = slice(*(None if b is None else b.__index__() for b in (k.start, k.stop, k.step)))
    start, stop, step = k.indices(n)
    length = len(range(start, stop, step))
    return Entry("slice", start if length else 0, step if length else 1, length)


def _integer(k: int, n: int, axis: int) -> int:
    if not -n <= k < n:
        out_of_bounds(k, n, axis)
    return k + n if k < 0 else k


def _positions(k: Any, n: int, axis: int) -> Entry:
    if k.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if isinstance(k, onp.ndarray):
        check_host(k, n, axis)
        if not k.ndim:
            return Entry("int", _integer(int(k), n, axis))
        return Entry("array", array=operand(k))
    given = k.value
    checked = check(given, n, axis, "index")
    return Entry("array" if given.type.shape else "pick", array=checked, given=given)


def _no_axis(k: Any) -> Entry:
    """A 0-d mask: a new axis of size 1, of which one position is taken or none."""
    true = bool(lazyloom.read_for_shape(k, _MASK) if isinstance(k, lazyloom.Tensor) else k)
    return Entry("array", array=lazyloom.from_host(onp.zeros(int(true), onp.int64)), inserted=True)


def _masked(k: Any, shape: tuple[int, ...], axis: int) -> list[Any]:
    mask: Any = k if isinstance(k, lazyloom.Tensor) else onp.asarray(k)
    check_mask(mask.shape, shape, axis)
    if isinstance(mask, lazyloom.Tensor):
        return coordinates(flat_positions(mask.value, _MASK), mask.tensor_type.shape) if (
            mask.tensor_type.shape) else []
    return host_positions(mask) if mask.ndim else []


def check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """IndexError where a mask's shape is not that of the axes from ``axis`` on."""
    for i, (m, n) in enumerate(zip(mask, shape)):
        if m != n:
            raise IndexError(
                "boolean index did not match indexed array along axis "
                f"{axis + i}; size of axis is {n} but size of corresponding boolean axis is {m}")
