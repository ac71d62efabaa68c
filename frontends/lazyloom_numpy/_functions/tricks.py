"""Index tricks: grids and concatenations written with brackets, and iteration with indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as onp

from .._arguments import dtypes as dt
from .._arguments.convert import is_number
from .._array.ndarray import ndarray
from .creation import arange, array, asarray, indices, ones
from .joining import concatenate, stack
from .manipulation import ravel, transpose
from .selecting import nonzero
from .spaced import linspace


def _is_complex(x: Any) -> bool:
    return isinstance(x, (complex, onp.complexfloating))


def _bounds(piece: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step of a slice; as NumPy's grids want them, a start may be left out."""
    start = 0 if piece.start is None else piece.start
    step = 1 if piece.step is None else piece.step
    if piece.stop is None:
        raise TypeError(f"a grid needs the end of each slice, {piece} has none")
    return start, piece.stop, step


class _Grid:
    """What ``mgrid[...]`` and ``ogrid[...]`` are: grids from slices.

    A complex step such as ``5j`` is a number of points, with both ends.
    """

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, stop, step = _bounds(key)
            if not _is_complex(step):
                return arange(start, stop, step)
            count = int(abs(step))
            width = (stop - start) / float(count - 1) if count != 1 else 1
            d = dt.promote(*dict.fromkeys((type(start), type(stop), float)))
            return arange(0, count, 1, dtype=d.numpy) * width + start
        axes = [_bounds(k) for k in key]
        counts, numbers = [], [0]
        for start, stop, step in axes:
            if _is_complex(step):
                counts.append(int(abs(step)))
            else:
                counts.append(math.ceil((stop - start) / step))
            numbers += [start, stop, abs(step) * 1.0 if _is_complex(step) else step]
        d = dt.promote(*dict.fromkeys(type(x) for x in numbers))
        if self._sparse:
            grids = indices(counts, d.numpy, sparse=True)
        else:
            grids = tuple(indices(counts, d.numpy)) if counts else ()
        placed = []
        for grid, (start, stop, step) in zip(grids, axes):
            width = step
            if _is_complex(step):
                count = int(abs(step))
                width = (stop - start) / float(count - 1) if count != 1 else 1
            placed.append(grid * width + start)
        if self._sparse:
            return tuple(placed)
        return stack(placed) if placed else indices((), d.numpy)


#: dense and open grids from slices, see ``numpy.mgrid`` and ``numpy.ogrid``
mgrid = _Grid(False)
ogrid = _Grid(True)


class _Concatenator:
    """What ``r_[...]`` and ``c_[...]`` are: arrays, numbers and slices joined along an axis.

    A first entry such as ``"0,2"`` says the axis and the least number of dimensions, a third
    number where the axes of smaller arrays go. See ``numpy.r_``. The matrix forms ``"r"`` and
    ``"c"`` are refused, as there is no matrix class.
    """

    def __init__(self, axis: int, ndmin: int = 1, place: int = -1) -> None:
        self._defaults = (axis, ndmin, place)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        axis, ndmin, place = self._defaults
        entries = key if isinstance(key, tuple) else (key,)
        parts: list[Any] = []
        keys: list[Any] = []
        for position, entry in enumerate(entries):
            if isinstance(entry, str):
                if position:
                    raise ValueError("special directives must be the first entry.")
                axis, ndmin, place = self._directive(entry)
            elif isinstance(entry, slice):
                part = _points(entry)
                if ndmin > 1:
                    part = part.reshape((1,) * (ndmin - 1) + part.shape)
                    part = part if place == -1 else part.swapaxes(-1, place)
                parts.append(part)
                keys.append(part.type.dtype)
            elif is_number(entry):
                parts.append(entry)
                keys.append(
                    type(entry) if type(entry) in dt.WEAK else dt.internal(onp.asarray(entry).dtype)
                )
            else:
                part = array(entry, copy=None, ndmin=ndmin)
                missing = ndmin - len(asarray(entry).shape)
                if place != -1 and missing > 0:
                    part = _placed(part, place, missing)
                parts.append(part)
                keys.append(part.type.dtype)
        if not parts:
            raise ValueError("need at least one array to concatenate")
        d = dt.promote(*dict.fromkeys(keys)).numpy
        return concatenate([array(p, d, copy=None, ndmin=ndmin) for p in parts], axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        if text in ("r", "c"):
            raise NotImplementedError(
                f"the directive {text!r} makes a numpy.matrix, which is not supported; use "
                "vstack or column_stack")
        axis, ndmin, place = self._defaults
        try:
            numbers = [int(x) for x in text.split(",")]
            if len(numbers) == 1:
                return numbers[0], ndmin, place
            axis, ndmin = numbers[:2]
            return axis, ndmin, numbers[2] if len(numbers) == 3 else place
        except ValueError:
            raise ValueError(f"unknown special directive {text!r}") from None


def _points(piece: slice) -> ndarray:
    """The numbers that a slice stands for in ``r_``."""
    start, stop, step = _bounds(piece)
    if _is_complex(step):
        return linspace(start, stop, num=int(abs(step)))  # type: ignore[no-any-return]
    return arange(start, stop, step)


def _placed(part: ndarray, place: int, missing: int) -> ndarray:
    """The new leading axes moved behind the first ``place`` of the array's own."""
    first = place + missing + 1 if place < 0 else place
    axes = list(range(part.ndim))
    return transpose(part, axes[:first] + axes[missing:] + axes[first:missing])


r_ = _Concatenator(0)
c_ = _Concatenator(-1, 2, 0)


class ndenumerate:
    """Pairs of an index tuple and the element there, as ``numpy.ndenumerate``.

    The elements are 0-d arrays; nothing is read.
    """

    def __init__(self, arr: Any) -> None:
        self.iter = asarray(arr).flat
        self._positions = onp.ndindex(*self.iter.base.shape)
        self._flat = ravel(self.iter.base)
        self._next = 0

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        position = next(self._positions)
        self._next += 1
        return position, self._flat[self._next - 1]


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[ndarray, ...]:
    """Where a function such as ``triu`` leaves ones of an (n, n) array; reads.

    See ``numpy.mask_indices``.
    """
    return nonzero(mask_func(ones((n, n), int), k) != 0)


__all__ = ["c_", "mask_indices", "mgrid", "ndenumerate", "ogrid", "r_"]
