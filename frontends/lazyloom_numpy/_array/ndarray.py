"""The array class: NumPy's ``ndarray`` over the runtime's tensors.

Storage, view chains and version counters are the runtime's; this class adds NumPy's
dtype objects, strides (which decide where a reshape is a view), and what an array says of itself.
What NumPy has as functions, too, and the operators are attached by :mod:`._methods`.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from sys import getrefcount
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final

import numpy as onp

import lazyloom
from lazyloom.frontend import (
    Imag,
    Real,
    exports_buffers,
    hold,
    look,
    share_view,
    to_host,
    view,
    write,
)

from .._arguments.convert import full_value
from .._arguments.options import memory_order
from . import array_api, scalars
from .exporting import exported
from .layout import (
    ViewInfo,
    base_of,
    c_strides,
    element_strides,
    flagsobj,
    is_writeable,
    lay_out,
    set_info,
    view_info,
)  # fmt: skip

if TYPE_CHECKING:
    from .._methods.attached import ArrayMethods as _Base
else:
    _Base = lazyloom.Tensor


class ndarray(_Base):
    """A multidimensional array whose operations are recorded and run when data is needed.

    Args:
        shape, dtype: as ``numpy.ndarray``; the data is zeros. Use ``array``, ``zeros``
            and the other creation functions instead.

    Reading (printing, ``float``, ``bool``, ``tolist``, ``numpy.asarray``) runs what is
    pending. Semantics of every method and operator: ``numpy.ndarray``.
    """

    __slots__ = ("_info",) if "__weakref__" in dir(lazyloom.Tensor) else ("_info", "__weakref__")
    _info: Any
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    @property
    def ndim(self) -> int:
        return len(self.tensor_type.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.type.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(s * self.itemsize for s in element_strides(self))

    @property
    def base(self) -> Any:
        return base_of(self)

    @property
    def flags(self) -> flagsobj:
        return flagsobj(self)

    @property
    def device(self) -> str:
        """Where the data lives: "cpu", or what else the runtime runs on, or such as "cpu:3"."""
        return array_api.device_of(self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> ndarray:
        """The array on a device, itself if it is there. ValueError for an unknown one or a stream.
        """
        if stream is not None:
            raise ValueError("to_device: stream must be None, the runtime orders its work itself")
        if device is None:
            raise ValueError("to_device: device must be given, got None")
        there = array_api.elsewhere(device, "to_device")
        if not there and self.tensor_type.placement.is_default:
            return self
        moved: ndarray = lazyloom.to_device(self, device if there else None)
        return moved

    @property
    def T(self) -> ndarray:
        return self.transpose()

    @property
    def mT(self) -> ndarray:
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> ndarray:
        if self.type.dtype.kind != "c":
            return self
        return _alias(self, Real(), tuple(2 * s for s in element_strides(self)))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        if self.type.dtype.kind == "c":
            return _alias(self, Imag(), tuple(2 * s for s in element_strides(self)))
        zeros = full_value(self.shape, 0, self.type.dtype)
        if type(self) is ScalarArray:
            return wrap(zeros)  # type: ignore[no-any-return]
        result = ndarray.from_value(zeros)
        result.setflags(write=False)
        return result

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.type.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def item(self, *args: Any) -> Any:
        """The one element (or the one at an index) as a Python number; reads."""
        if args:
            return self.read().item(*args)
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.read_number()

    def tolist(self) -> Any:
        value = self.value
        return look(value).tolist()

    def tobytes(self, order: str = "C") -> bytes:
        order = memory_order(order)
        if order == "K":
            # NumPy's tobytes knows no order to keep
            order = "C"
        column_major = order == "A" and self.flags.fnc
        return bytes(self.read().tobytes("F" if column_major else order))

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the data to a file, as bytes or as text; reads."""
        self.read().tofile(fid, sep, format)

    def dumps(self) -> bytes:
        """The pickled array; reads."""
        return pickle.dumps(self)

    def dump(self, file: Any) -> None:
        """Write the pickled array to a file, given by name or open; reads."""
        if hasattr(file, "write"):
            file.write(self.dumps())
        else:
            Path(file).write_bytes(self.dumps())

    def __class_getitem__(cls, parameters: Any) -> Any:
        return GenericAlias(cls, parameters)

    def to_numpy(self) -> onp.ndarray[Any, Any]:
        """A ``numpy.ndarray`` of the data that shares no memory with any array of ours; reads.

        Other packages look for this name.
        """
        references = getrefcount(self)
        plain = type(self) is ndarray
        host: onp.ndarray[Any, Any] = to_host(self, references) if plain else self.read()
        return host

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol: a read-only look at the data, row by row; evaluates.

        Before Python 3.12 it is there where the package's functions in C were compiled.
        """
        return exported(self, flags)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __int__(self) -> int:
        return int(self._one_element())

    def __complex__(self) -> complex:
        return complex(self._one_element())

    def __index__(self) -> int:
        if self.shape or self.type.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index; for a "
                            "Python number, give x.item()")
        return int(self.read_number())

    def _one_element(self) -> Any:
        if self.size != 1 or self.ndim > 0:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.read_number()

    def _truth(self) -> bool:
        """``bool(x)`` of an array with dimensions."""
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()" if self.size else
                "The truth value of an empty array is ambiguous. "
                "Use `array.size > 0` to check that an array is not empty.")
        return bool(self.read_number())

    def _as_float(self) -> float:
        """``float(x)`` of an array with dimensions, or of a complex one."""
        return float(self._one_element())

    def __format__(self, spec: str) -> str:
        if not self.shape:
            return format(self.read()[()], spec)
        return format(self.read(), spec)

    def __copy__(self) -> ndarray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy("K")

    def copy(self, order: str = "C") -> ndarray:
        """An independent array of the same data; records nothing."""
        return lay_out(type(self).from_value(self.value), memory_order(order), self)

    def setflags(self, write: bool | None = None, align: Any = None, uic: Any = None) -> None:
        if write is None:
            return
        info = view_info(self)
        if info is None:
            info = ViewInfo(element_strides(self), None, True)
            set_info(self, info)
        elif write and info.base is not None and not is_writeable(info.base):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        info.writeable = bool(write)
        if not write:
            self.slow_path = True

    def fill(self, value: Any) -> None:
        self[...] = value

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The bytes of each number (of a complex one, of each part) in reverse order."""
        d = self.dtype
        part = d.itemsize // 2 if d.kind == "c" else d.itemsize
        if not self.size:
            return self if inplace else self.copy()
        whole = self.copy().reshape(-1).view(onp.uint8).reshape(-1, part)
        swapped: ndarray = whole[:, ::-1].reshape(-1).copy().view(d).reshape(self.shape)
        if not inplace:
            return ScalarArray.from_value(swapped.value) if type(self) is ScalarArray else swapped
        self[...] = swapped
        return self


exports_buffers(ndarray)


class ScalarArray(ndarray):
    """A 0-d result: what NumPy returns as a scalar.

    Like NumPy's scalars it is no view, ``s += 1`` makes a new one, and it is hashable (which
    reads it); unlike them it is an ``ndarray``, so that it stays pending and, as the array API
    standard has it for arrays of no dimension, ``s[...] = 1`` writes to it.
    """

    __slots__ = ()
    __iter__ = None  # type: ignore[assignment]
    __len__ = scalars.Missing("a 0-d result has no len()")

    def __init__(self, value: Any = 0.0) -> None:
        hold(self, lazyloom.from_host(scalars.host_number(value)))

    @property  # type: ignore[misc]  # nobody sets it, as object lets them
    def __class__(self) -> Any:
        """NumPy's type of such scalars, as ``isinstance`` asks; ``type(x)`` is the array's."""
        return self.tensor_type.dtype.numpy.type

    def __getattr__(self, name: str) -> Any:
        return scalars.attribute(self, name)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.item())

    def _one_element(self) -> Any:
        # a complex scalar becomes real with NumPy's warning, where a 0-d array is refused
        return self.read()[()] if self.type.dtype.is_complex else self.read_number()

    def __round__(self, ndigits: Any = None) -> Any:
        return round(self.read()[()], ndigits)

    def __trunc__(self) -> int:
        return math.trunc(float(self))


def wrap(value: Any) -> Any:
    """An array of a recorded result; 0-d ones are scalars, as NumPy's functions return."""
    cls = ndarray if value.shape else ScalarArray
    made = _new(cls)
    hold(made, value)
    return made


_new: Final = lazyloom.Tensor.__new__


def same_place(x: ndarray, cls: Any) -> Any:
    """The same memory as an array of another class, to which nothing is said yet."""
    made = _new(cls)
    info = getattr(x, "_info", None)
    share_view(made, x)
    if info is not None:
        set_info(made, info)
    elif type(x) is not ScalarArray:
        set_info(made, ViewInfo(element_strides(x), x, is_writeable(x)))
    return made


def plain(x: Any) -> Any:
    """An array of a derived class as one of ours; anything else as it is."""
    if isinstance(x, ndarray) and hasattr(type(x), "_derived"):
        return same_place(x, ndarray)
    return x


def recast(x: Any, cls: Any, template: Any) -> Any:
    """The same memory as an array of a derived class, which is told what it was made from."""
    if cls is ndarray:
        return plain(x)
    made = same_place(x, cls)
    made.slow_path = True
    if made.__array_finalize__ is not None:
        made.__array_finalize__(template)
    return made


def _alias(x: Any, step: Any, strides: tuple[int, ...], writeable: bool = True) -> ndarray:
    """A view of ``x`` by one step of the runtime's view chain.

    A scalar is no view and has none: what keeps it without dimensions (``z.imag``, ``s.T``) is
    another scalar, and the rest are arrays of their own.
    """
    kind = type(x)
    if kind is ScalarArray:
        x = ndarray.from_value(x.value)
        part: ndarray = view(x, step)
        if not part.tensor_type.shape:
            return ScalarArray.from_value(part.value)
    elif kind is not ndarray:
        x = same_place(x, ndarray)  # to make one of a derived class is its own affair
    info = getattr(x, "_info", None)
    result: ndarray = view(x, step)
    base = x
    if info is not None:
        writeable = writeable and info.writeable
        if info.base is not None:
            base = base_of(x)
    set_info(result, ViewInfo(strides, base, writeable))
    return result


alias = _alias


def assign(target: ndarray, value: Any, what: str = "assignment destination") -> None:
    """Write a value of the array's exact shape and dtype; ValueError if it is read-only."""
    if not is_writeable(target):
        raise ValueError(f"{what} is read-only")
    write(target, value)


__all__ = ["ScalarArray", "ViewInfo", "alias", "assign", "c_strides", "element_strides", "ndarray",
           "plain", "recast", "same_place", "view_info", "wrap"]  # fmt: skip
