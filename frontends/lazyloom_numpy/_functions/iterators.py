"""``nditer`` and ``broadcast``: several arrays element by element.

Which place comes after which, and which calls are wrong, is asked of NumPy's own iterator over
stand-ins: arrays of the same shape, dtype and strides whose memory nobody touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as onp

from .._array.ndarray import ndarray
from .creation import asarray, empty
from .manipulation import broadcast_to

#: flags that say how NumPy moves data, where nothing is moved
_OF_BUFFERS: Final = frozenset({"buffered", "delay_bufalloc", "grow_inner", "copy_if_overlap"})


def _stand_in(x: Any) -> Any:
    """An array that NumPy takes for ``x``: its shape, dtype and strides, in untouched memory."""
    reach = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)] if x.size else []
    before = -sum(r for r in reach if r < 0)
    memory = onp.empty(before + sum(r for r in reach if r > 0) + x.dtype.itemsize, onp.uint8)
    made: Any = onp.ndarray(x.shape, x.dtype, memory, before, x.strides)
    made.flags.writeable = x.flags.writeable
    return made


def _view(x: ndarray, place: tuple[int, ...], write: bool) -> Any:
    """The element of ``x`` at a place of the shape that it is broadcast to."""
    own = place[len(place) - x.ndim:] if x.ndim else ()
    index = tuple(0 if n == 1 else p for p, n in zip(own, x.shape, strict=True))
    element = x[(*index, ...)]
    if not write:
        element.setflags(write=False)
    return element


class nditer:
    """Elements of several arrays broadcast together, one place after another.

    ``numpy.nditer`` with one element at a time: views of no dimensions, through which is written
    where ``op_flags`` say so. An operand that is None is made.

    Raises:
        NotImplementedError: the flag ``external_loop``, or ``op_axes``, ``itershape`` or
            ``op_dtypes`` are given; whole arrays are reached without an iterator.
        ValueError, TypeError: what NumPy's iterator raises for these operands and flags.
    """

    def __init__(
        self, op: Any, flags: Any = None, op_flags: Any = None, op_dtypes: Any = None,
        order: str = "K", casting: str = "safe", op_axes: Any = None, itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        flags = [] if flags is None else list(flags)
        for name, given in (("op_dtypes", op_dtypes), ("op_axes", op_axes),
                            ("itershape", itershape)):  # fmt: skip
            if given is not None:
                raise NotImplementedError(
                    f"nditer has no {name} here; use astype, moveaxis or broadcast_to first")
        if "external_loop" in flags:
            raise NotImplementedError(
                "nditer goes element by element here; instead of external_loop use the arrays "
                "themselves")
        several = isinstance(op, (list, tuple))
        given = [x if x is None else asarray(x) for x in (op if several else [op])]
        stand_ins = [x if x is None else _stand_in(x) for x in given]
        flags = [f for f in flags if f not in _OF_BUFFERS]
        self._shown = "multi_index" in flags
        if not self._shown:
            flags.append("multi_index")
        options: dict[str, Any] = {"flags": flags, "order": order, "casting": casting}
        first: Any = stand_ins if several else stand_ins[0]
        self._places: Any = onp.nditer(first, op_flags=op_flags, **options)
        made = self._places.operands
        self.operands: tuple[ndarray, ...] = tuple(
            _like(stand_in) if x is None else x for x, stand_in in zip(given, made, strict=True))
        self._writable = tuple(bool(stand_in.flags.writeable) for stand_in in self._looks())
        self._started = False

    def _looks(self) -> tuple[Any, ...]:
        found = self._places.itviews
        return tuple(found)

    def _check(self, shown: bool) -> None:
        if not shown:
            raise ValueError("Iterator is not tracking a multi-index")

    @property
    def multi_index(self) -> tuple[int, ...]:
        """Where the current element is; ``flags`` must have asked for it. May be set."""
        self._check(self._shown)
        return tuple(self._places.multi_index)

    @multi_index.setter
    def multi_index(self, place: tuple[int, ...]) -> None:
        self._check(self._shown)
        self._places.multi_index = place

    @property
    def index(self) -> int:
        """The flat index of the current element, with the flag ``c_index`` or ``f_index``."""
        return int(self._places.index)

    @index.setter
    def index(self, place: int) -> None:
        self._places.index = place

    @property
    def iterindex(self) -> int:
        """How many elements came before the current one. May be set."""
        return int(self._places.iterindex)

    @iterindex.setter
    def iterindex(self, place: int) -> None:
        self._places.iterindex = place

    @property
    def finished(self) -> bool:
        """Whether all elements were iterated over."""
        return bool(self._places.finished)

    @property
    def has_index(self) -> bool:
        """Whether ``index`` is there."""
        return bool(self._places.has_index)

    @property
    def has_multi_index(self) -> bool:
        """Whether ``multi_index`` is there."""
        return self._shown

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the operands are broadcast to."""
        return tuple(self._places.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions of ``shape``."""
        return len(self.shape)

    @property
    def nop(self) -> int:
        """The number of operands."""
        return len(self.operands)

    @property
    def itersize(self) -> int:
        """The number of elements."""
        return int(self._places.itersize)

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """The dtypes of the operands."""
        return tuple(x.dtype for x in self.operands)

    def _elements(self) -> tuple[Any, ...]:
        if self.finished:
            raise ValueError("Iterator is past the end")
        place = tuple(self._places.multi_index)
        return tuple(_view(x, place, write)
                     for x, write in zip(self.operands, self._writable, strict=True))

    @property
    def value(self) -> Any:
        """The current element, or a tuple of them where there are several operands."""
        found = self._elements()
        return found if len(found) > 1 else found[0]

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, key: Any) -> Any:
        return self._elements()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._elements()[key][...] = value

    def iternext(self) -> bool:
        """Go to the next element; False where there is none."""
        return bool(self._places.iternext())

    def reset(self) -> None:
        """Go back to the first element."""
        self._places.reset()
        self._started = False

    def close(self) -> None:
        """Nothing is left to write."""

    def __enter__(self) -> nditer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._started and not self.finished:
            self.iternext()
        self._started = True
        if self.finished:
            raise StopIteration
        return self.value


def _like(stand_in: Any) -> ndarray:
    order = "F" if stand_in.flags.f_contiguous and not stand_in.flags.c_contiguous else "C"
    return empty(stand_in.shape, stand_in.dtype, order=order)


class broadcast:
    """What arrays are broadcast to, and their elements there, as ``numpy.broadcast``.

    Raises:
        ValueError: the shapes do not go together.
    """

    def __init__(self, *args: Any) -> None:
        self._arrays = [asarray(x) for x in args]
        self._places: Any = onp.broadcast(*map(_stand_in, self._arrays))

    shape = property(lambda self: tuple(self._places.shape), doc="The common shape.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions of ``shape``.")
    nd = ndim
    size = property(lambda self: int(self._places.size), doc="The number of elements.")
    numiter = property(lambda self: len(self._arrays), doc="The number of arrays.")
    index = property(lambda self: int(self._places.index), doc="How many elements came before.")

    @property
    def iters(self) -> tuple[Any, ...]:
        """A ``flat`` of each array, broadcast."""
        return tuple(broadcast_to(x, self.shape).flat for x in self._arrays)

    def reset(self) -> None:
        """Go back to the first element."""
        self._places.reset()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        number = self.index
        next(self._places)
        place = tuple(int(i) for i in onp.unravel_index(number, self.shape))
        return tuple(_view(x, place, False)[()] for x in self._arrays)


__all__ = ["broadcast", "nditer"]
