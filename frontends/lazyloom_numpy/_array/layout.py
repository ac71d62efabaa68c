"""Strides, ownership and flags: what NumPy knows of an array's memory.

The runtime has views but no strides. They are kept here as NumPy would have them, because
they decide where a reshape is a view and where it is a copy.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeVar

import lazyloom
from lazyloom.frontend import Permute, Reshape, view

from .._arguments.options import memory_order

Result = TypeVar("Result", bound=Any)


class ViewInfo:
    """What a view adds to its tensor: strides in elements, its owner, whether writable."""

    __slots__ = ("strides", "base", "writeable")

    def __init__(self, strides: tuple[int, ...], base: Any, writeable: bool) -> None:
        self.strides: Final = strides
        self.base = base
        self.writeable = writeable


class Hidden:
    """The base of an array that is NumPy's view of one that nobody holds.

    ``order`` says which axis of the array is which axis of that one. It is made when asked for.
    """

    __slots__ = ("order",)

    def __init__(self, order: list[int]) -> None:
        self.order: Final = order


class flagsobj:
    """An array's memory flags, as ``numpy.ndarray.flags``."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def writeable(self) -> bool:
        return is_writeable(self._array)

    @writeable.setter
    def writeable(self, flag: bool) -> None:
        self._array.setflags(write=flag)

    @property
    def c_contiguous(self) -> bool:
        return contiguous(self._array.shape, element_strides(self._array))

    @property
    def f_contiguous(self) -> bool:
        return contiguous(self._array.shape[::-1], element_strides(self._array)[::-1])

    @property
    def contiguous(self) -> bool:
        return self.c_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def owndata(self) -> bool:
        info = getattr(self._array, "_info", None)
        return info is None or info.base is None

    @property
    def behaved(self) -> bool:
        return self.writeable

    @property
    def carray(self) -> bool:
        return self.writeable and self.c_contiguous

    @property
    def farray(self) -> bool:
        return self.writeable and self.f_contiguous and not self.c_contiguous

    @property
    def num(self) -> int:
        """NumPy's bits: C 1, F 2, OWNDATA 4, ALIGNED 256, WRITEABLE 1024."""
        return (self.c_contiguous + 2 * self.f_contiguous + 4 * self.owndata + 256
                + 1024 * self.writeable)  # fmt: skip

    fortran = f_contiguous
    aligned = True
    writebackifcopy = False

    def __getitem__(self, key: str) -> bool:
        name = _FLAGS.get(key, key.lower()) if isinstance(key, str) else ""
        if key != key.upper() or not isinstance(getattr(flagsobj, name, None), (property, bool)):
            raise KeyError("Unknown flag")
        return bool(getattr(self, name))

    def __setitem__(self, key: str, flag: bool) -> None:
        if key not in ("W", "WRITEABLE"):
            raise KeyError("Unknown flag")
        self.writeable = flag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, flagsobj) and self.num == other.num

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned",
                 "writebackifcopy")  # fmt: skip
        return "\n".join(f"  {n.upper()} : {bool(getattr(self, n))}" for n in names) + "\n"


_FLAGS: Final = {
    "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "F": "f_contiguous",
    "FORTRAN": "f_contiguous", "W": "writeable", "O": "owndata", "A": "aligned",
    "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
}  # fmt: skip


def view_info(x: Any) -> ViewInfo | None:
    """The array's ViewInfo; None for an owner that nothing was said about."""
    return getattr(x, "_info", None) if x.view_steps or x.slow_path else None


def set_info(x: Any, info: ViewInfo) -> None:
    """Say what is known of an array's memory.

    Only what is not in row-major order takes the general way of the operators, which keeps
    the order of its operands; row-major operands have row-major results in any case.
    """
    x._info = info
    if not (x.view_steps and in_order(x.type.shape, info.strides)):
        x.slow_path = True


def in_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether later axes never have larger strides, so that results are row-major."""
    slower = 0
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1 and s:
            s = abs(s)
            if s < slower:
                return False
            slower = s
    return True


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def element_strides(x: lazyloom.Tensor) -> tuple[int, ...]:
    """The strides that NumPy's array of the same history would have, in elements."""
    info = view_info(x)
    return _owner_strides(x.type.shape) if info is None else info.strides


def _owner_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (0,) * len(shape) if 0 in shape else c_strides(shape)


def base_of(x: Any) -> Any:
    """The array that owns a view's memory, as ``numpy.ndarray.base``; None for an owner."""
    info = getattr(x, "_info", None)
    if info is None:
        return None
    base = info.base
    if type(base) is Hidden:
        order = tuple(base.order)
        step = Reshape(x.type.shape) if order == tuple(range(len(order))) else (
            Permute(order))
        base = view(x, step)
        base._info = ViewInfo(tuple(info.strides[a] for a in order), None, True)
        info.base = base
    return base


def hide_owner(x: Result) -> Result:
    """A fresh row-major array that NumPy's would be a view, of all of a copy."""
    shape = x.type.shape
    x._info = ViewInfo(c_strides(shape), Hidden(list(range(len(shape)))), True)
    return x


def contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    return all(n == 1 or s == c for n, s, c in zip(shape, strides, c_strides(shape)))


def is_writeable(x: lazyloom.Tensor) -> bool:
    """Whether the array may be written to."""
    info = view_info(x)
    return info is None or info.writeable


def axis_order(shape: tuple[int, ...], operands: list[tuple[int, ...]]) -> list[int]:
    """Axes from the slowest to the fastest, as ``numpy.nditer`` orders them for 'K'."""
    fastest_first: list[int] = []
    for axis in range(len(shape) - 1, -1, -1):
        place = len(fastest_first)
        for i in range(len(fastest_first) - 1, -1, -1):
            other = fastest_first[i]
            ambiguous, swap = True, False
            for strides in operands:
                a, b = abs(strides[axis]), abs(strides[other])
                if a and b and shape[axis] != 1 and shape[other] != 1:
                    if b <= a:
                        swap = False  # in a conflict between operands row-major order wins
                    elif ambiguous:
                        swap = True
                    ambiguous = False
            if not ambiguous:
                if not swap:
                    break
                place = i
        fastest_first.insert(place, axis)
    return fastest_first[::-1]


def ordered_strides(shape: tuple[int, ...], order: list[int]) -> tuple[int, ...]:
    """Contiguous strides for axes given from the slowest to the fastest."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def keep_order(result: Result, *sources: Any) -> Result:
    """Give a fresh result the memory order that NumPy's has when it keeps its sources' order.

    Nothing moves: the order only decides what a later reshape of the result aliases.
    """
    shape = result.type.shape
    ndim = len(shape)
    if ndim < 2:
        return result
    for x in sources:
        if is_array(x) and x.slow_path:
            break
    else:
        return result
    strides = _kept(shape, tuple([
        (x.type.shape, None if (info := view_info(x)) is None else info.strides)
        for x in sources if is_array(x) and x.type.shape]))
    if strides is not None:
        set_info(result, ViewInfo(strides, None, True))
    return result


@lru_cache(maxsize=4096)
def _kept(
    shape: tuple[int, ...], sources: tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...]
) -> tuple[int, ...] | None:
    """The strides of a result of arrays of these shapes and strides; None for row-major order.

    Strides of None: an owner that nothing was said about.
    """
    ndim = len(shape)
    operands = []
    for own, known in sources:
        strides = known if known is not None else _owner_strides(own)
        strides = tuple(0 if n == 1 else s for s, n in zip(strides, own))
        operands.append((0,) * (ndim - len(own)) + strides)
    order = axis_order(shape, [s for s in operands if len(s) == ndim])
    return None if order == list(range(ndim)) else ordered_strides(shape, order)


def is_array(x: Any) -> bool:
    """Whether it is an array of this frontend, not a tensor of another one."""
    return isinstance(x, lazyloom.Tensor) and hasattr(type(x), "flags")


def lay_out(result: Result, order: str | None, source: Any = None) -> Result:
    """A fresh result with the memory order that an ``order`` argument asks for."""
    order = memory_order(order, "K")
    if not is_array(source):
        source = None
    if order == "F" or (order == "A" and source is not None and flagsobj(source).fnc):
        shape = result.type.shape
        if len(shape) > 1:
            axes = list(range(len(shape)))[::-1]
            set_info(result, ViewInfo(ordered_strides(shape, axes), None, True))
        return result
    if order == "K" and source is not None and (source.view_steps or source.slow_path):
        # by the strides alone, unlike the results of operations: a repeated axis is the fastest
        strides = element_strides(source)
        by_stride = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
        if by_stride != list(range(len(strides))) and not contiguous(result.type.shape, strides):
            set_info(result, ViewInfo(
                ordered_strides(result.type.shape, by_stride), None, True))
    return result
