"""``ndarray.flat``: the elements one after another."""

from __future__ import annotations

import math
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.frontend import write_lock

from .._arguments.assigning import assigned, repeated
from .._arguments.bounds import check_host
from .._arguments.convert import contains_tensor
from .._array.layout import is_writeable
from .._array.ndarray import ScalarArray, assign, ndarray, recast

record = lazyloom.record


class flatiter:
    """A one-dimensional, row-major look at an array, as ``numpy.ndarray.flat``.

    Indexing gives scalars and copies; what is assigned to an index goes to the array, repeated
    as often as needed.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._next = 0

    @property
    def base(self) -> ndarray:
        """The array."""
        return self._array

    @property
    def index(self) -> int:
        """How many elements were iterated over."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Where in the array the next element is."""
        left, found = self._next, []
        for i, _ in enumerate(self._array.shape):
            below = math.prod(self._array.shape[i + 1:])
            found.append(left // below if below else 0)
            left -= found[-1] * below
        return tuple(found)

    def _flat(self) -> ndarray:
        shape = (self._array.size,)
        return ndarray.from_value(record("reshape", (self._array.value,), {"shape": shape}))

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self._flat()[self._next - 1]

    def _key(self, key: Any) -> Any:
        """A key that means the same for the one-dimensional array."""
        if isinstance(key, tuple):
            if len(key) != 1:
                raise _too_many(len(key))
            key = key[0]
        if isinstance(key, (bool, onp.bool_)):
            return slice(0, int(key))
        if key is Ellipsis or isinstance(key, slice):
            return key
        if isinstance(key, (list, onp.ndarray)) and not contains_tensor(key):
            key = onp.asarray(key) if len(key) else onp.zeros(0, onp.int64)
            if key.dtype.kind in "iu":
                check_host(key, len(self), None)
        if isinstance(key, (ndarray, onp.ndarray)):
            if key.dtype.kind == "b" and key.ndim > 1:
                raise _too_many(key.ndim)
            if key.dtype.kind in "iub":
                return key
        elif hasattr(key, "__index__"):
            number = key.__index__()
            check_host(onp.array(number), len(self), None)
            return number
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are "
            "valid indices")

    def __getitem__(self, key: Any) -> Any:
        result = self._flat()[self._key(key)]
        if isinstance(result, ScalarArray):
            return result
        made = result.copy()
        if getattr(self._array, "_derived", False):
            return recast(made, type(self._array), self._array)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        if not is_writeable(self._array):
            raise ValueError("underlying array is read-only")
        key = self._key(key)
        flat = self._flat()
        new = assigned(value, flat.type.dtype)
        if isinstance(new, lazyloom.Value) and new.type.shape:
            count = _selected(flat, key)
            if isinstance(key, int) and new.type.size != 1:
                raise ValueError("Error setting single item of array.")
            if not new.type.size:
                return
            new = repeated(new, count)
            if isinstance(key, int):
                new = record("reshape", (new,), {"shape": ()})
        with write_lock(self._array):
            flat = self._flat()
            flat[key] = ndarray.from_value(new) if isinstance(new, lazyloom.Value) else new
            shape = self._array.shape
            assign(self._array, record("reshape", (flat.value,), {"shape": shape}))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> onp.ndarray[Any, Any]:
        return self._flat().__array__(dtype)

    def copy(self) -> ndarray:
        """The elements as a one-dimensional array of their own."""
        return self._flat()

    def __eq__(self, other: Any) -> Any:
        return self._flat() == _plain(other)

    def __ne__(self, other: Any) -> Any:
        return self._flat() != _plain(other)

    def __lt__(self, other: Any) -> Any:
        return self._flat() < _plain(other)

    def __le__(self, other: Any) -> Any:
        return self._flat() <= _plain(other)

    def __gt__(self, other: Any) -> Any:
        return self._flat() > _plain(other)

    def __ge__(self, other: Any) -> Any:
        return self._flat() >= _plain(other)


def _too_many(count: int) -> IndexError:
    return IndexError(
        "too many indices for flat iterator: flat iterator is 1-dimensional, but "
        f"{count} were indexed")


def _plain(x: Any) -> Any:
    return x._flat() if isinstance(x, flatiter) else x


def _selected(flat: ndarray, key: Any) -> int:
    """How many elements a key selects; a mask of the device is read for it."""
    if isinstance(key, slice):
        return len(range(*key.indices(flat.size)))
    return int(flat[key].size)


def set_flat(array: ndarray, value: Any) -> None:
    """``array.flat = value``."""
    flatiter(array)[:] = value


__all__ = ["flatiter", "set_flat"]
