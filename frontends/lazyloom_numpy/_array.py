"""The array class: NumPy's ``ndarray`` over the runtime's tensors.

Storage, view chains and version counters are the runtime's; this class adds NumPy's
dtype objects, strides (which decide where a reshape is a view), operators and methods.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import as_dtype
from lazyloom.frontend import Imag, Real, hold, share_view, view, write

from . import _info
from ._dtypes import internal
from ._layout import (
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
from ._options import casting_rule, memory_order, row_or_column

_Class: Final = type


class ndarray(lazyloom.Tensor):
    """A multidimensional array whose operations are recorded and run when data is needed.

    Args:
        shape, dtype: as ``numpy.ndarray``; the data is zeros. Use ``array``, ``zeros``
            and the other creation functions instead.

    Reading (printing, ``float``, ``bool``, ``tolist``, ``numpy.asarray``) runs what is
    pending. Semantics of every method and operator: ``numpy.ndarray``.
    """

    __slots__ = ("_info",) if "__weakref__" in dir(lazyloom.Tensor) else ("_info", "__weakref__")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0,
                 strides: Any = None, order: str | None = None) -> None:  # fmt: skip
        from ._creation import zeros

        if buffer is None:
            super().__init__(zeros(shape, dtype).value)
            lay_out(self, row_or_column(order))
        else:
            part = _memory.over_buffer(shape, dtype, buffer, offset, strides)
            share_view(self, part)
            set_info(self, part._info)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith("lazyloom_numpy."):
            from ._subclasses import derive

            derive(cls)

    # ------------------------------------------------------------- properties

    @property
    def dtype(self) -> Any:
        return self.type.dtype.numpy

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        _memory.set_dtype(self, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor_type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        _memory.set_shape(self, shape)

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
        """Where the data lives: "cpu", or what else the runtime runs on."""
        return _info.device_name()

    def to_device(self, device: Any, /, *, stream: Any = None) -> ndarray:
        """The array itself. ValueError for a device other than its own, or a stream."""
        if stream is not None:
            raise ValueError("to_device: stream must be None, the runtime orders its work itself")
        if device is None:
            raise ValueError("to_device: device must be given, got None")
        _info.check_device(device, "to_device")
        return self

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
        zeros = _u.full_value(self.shape, 0, self.type.dtype)
        result = ndarray.from_value(zeros)
        result.setflags(write=False)
        return result

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.type.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def data(self) -> memoryview:
        """A read-only look at the data, in its own memory where that is the host's; evaluates."""
        return _interop.host_view(self).data

    @property
    def flat(self) -> Any:
        return _flat.flatiter(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        _flat.set_flat(self, value)

    # --------------------------------------------------------------- indexing

    def __getitem__(self, key: Any) -> Any:
        return _indexing.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.set_item(self, key, value)

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

    # -------------------------------------------------------------- operators
    # + - * / @ < <= > >= and negation are the runtime's: see _operators

    def __floordiv__(self, other: Any) -> Any:
        return _u.binary(_t["floor_divide"], self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _u.binary(_t["floor_divide"], other, self)

    def __mod__(self, other: Any) -> Any:
        return _u.binary(_t["remainder"], self, other)

    def __rmod__(self, other: Any) -> Any:
        return _u.binary(_t["remainder"], other, self)

    def __divmod__(self, other: Any) -> Any:
        return _t["divmod"](self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _t["divmod"](other, self)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is not None:
            return NotImplemented
        if type(other) is int and not self.slow_path and self.tensor_type.dtype.is_inexact:
            return wrap(_u.integer_power(self.value, other))
        if self.tensor_type.dtype.kind == "b" and type(other) is int and other == 2 and (
            type(self) is not ScalarArray
        ):
            # NumPy squares here, and the square of bool is int8
            return _t["square"](self)
        return _u.binary(_power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _u.binary(_t["power"], other, self)

    def __and__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_and"], self, other)

    def __rand__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_and"], other, self)

    def __or__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_or"], self, other)

    def __ror__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_or"], other, self)

    def __xor__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_xor"], self, other)

    def __rxor__(self, other: Any) -> Any:
        return _u.binary(_t["bitwise_xor"], other, self)

    def __lshift__(self, other: Any) -> Any:
        return _u.binary(_t["left_shift"], self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _u.binary(_t["left_shift"], other, self)

    def __rshift__(self, other: Any) -> Any:
        return _u.binary(_t["right_shift"], self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _u.binary(_t["right_shift"], other, self)

    def __pos__(self) -> Any:
        return _t["positive"](self)

    def __abs__(self) -> Any:
        return _t["absolute"](self)

    def __invert__(self) -> Any:
        return _t["invert"](self)

    def __eq__(self, other: Any) -> Any:
        result = _u.binary(_equal, self, other)
        return _unlike(self, other, False) if result is NotImplemented else result

    def __ne__(self, other: Any) -> Any:
        result = _u.binary(_not_equal, self, other)
        return _unlike(self, other, True) if result is NotImplemented else result

    def __ifloordiv__(self, other: Any) -> Any:
        return _u.inplace(_t["floor_divide"], self, other)

    def __imod__(self, other: Any) -> Any:
        return _u.inplace(_t["remainder"], self, other)

    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc]
        return _u.inplace(_t["power"], self, other)

    def __iand__(self, other: Any) -> Any:
        return _u.inplace(_t["bitwise_and"], self, other)

    def __ior__(self, other: Any) -> Any:
        return _u.inplace(_t["bitwise_or"], self, other)

    def __ixor__(self, other: Any) -> Any:
        return _u.inplace(_t["bitwise_xor"], self, other)

    def __ilshift__(self, other: Any) -> Any:
        return _u.inplace(_t["left_shift"], self, other)

    def __irshift__(self, other: Any) -> Any:
        return _u.inplace(_t["right_shift"], self, other)

    # ----------------------------------------------------- conversion, reading

    def item(self, *args: Any) -> Any:
        """The one element (or the one at an index) as a Python number; reads."""
        if args:
            return self.read().item(*args)
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.read().item()

    def tolist(self) -> Any:
        return self.read().tolist()

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
        """A ``numpy.ndarray`` with a copy of the data; reads. Other packages look for this name."""
        host: onp.ndarray[Any, Any] = self.read()
        return host

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol, which classes of Python's take part in from Python 3.12 on."""
        if flags & 1:  # PyBUF_WRITABLE
            raise BufferError("ndarray: the data is read-only to others; use numpy.array(x)")
        return self.data

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()" if self.size else
                "The truth value of an empty array is ambiguous. "
                "Use `array.size > 0` to check that an array is not empty.")
        return bool(self.read().item())

    def __float__(self) -> float:
        return float(self._one_element())

    def __int__(self) -> int:
        return int(self._one_element())

    def __complex__(self) -> complex:
        return complex(self._one_element())

    def __index__(self) -> int:
        if self.shape or self.type.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index; for a "
                            "Python number, give x.item()")
        return int(self.read().item())

    def _one_element(self) -> Any:
        if self.size != 1 or self.ndim > 0:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.read().item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> onp.ndarray[Any, Any]:
        if copy is False:
            data = _interop.host_view(self, copy=False)
            if dtype is not None and onp.dtype(dtype) != data.dtype:
                raise ValueError(f"__array__: {data.dtype} cannot be given as {onp.dtype(dtype)} "
                                 "without a copy; pass copy=None or copy=True")
            return data
        data = self.read()
        return data if dtype is None else data.astype(dtype, copy=False)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _interop.array_ufunc(function, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _interop.array_function(func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module ``lazyloom_numpy``; ValueError for an unsupported version of the standard."""
        import lazyloom_numpy

        _info.check_api_version(api_version)
        return lazyloom_numpy

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:  # fmt: skip
        return _interop.dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _interop.dlpack_device(self)

    def __repr__(self) -> str:
        return _interop.array_repr(self)

    def __str__(self) -> str:
        return _interop.array_str(self)

    def __format__(self, spec: str) -> str:
        if not self.shape:
            return format(self.read()[()], spec)
        return format(self.read(), spec)

    def __copy__(self) -> ndarray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy("K")

    def __reduce__(self) -> Any:
        return _interop.rebuild, (self.read(), type(self) is ScalarArray)

    # ----------------------------------------------------------- shape, layout

    def copy(self, order: str = "C") -> ndarray:
        """An independent array of the same data; records nothing."""
        return lay_out(type(self).from_value(self.value), memory_order(order), self)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True) -> ndarray:  # fmt: skip
        target, casting = internal(dtype), casting_rule(casting)
        if target is self.type.dtype:
            return lay_out(type(self).from_value(self.value), order, self) if copy else self
        warn_discarded(self.type.dtype, target)
        cast = type(self).from_value(_u.cast_values(self.value, target, casting))
        return lay_out(cast, order, self)

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        """A view of the same bytes, as ``numpy.ndarray.view``."""
        if type is None and isinstance(dtype, _Class) and issubclass(dtype, ndarray):
            dtype, type = None, dtype
        if type is None and not hasattr(self, "__array_finalize__"):
            return _manipulation.view_as(self, dtype)
        from ._subclasses import plain, recast

        view = _manipulation.view_as(plain(self), dtype)
        return recast(view, self.__class__ if type is None else type, self)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        return _manipulation.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def ravel(self, order: str = "C") -> ndarray:
        return _manipulation.ravel(self, order)

    def flatten(self, order: str = "C") -> ndarray:
        return _manipulation.ravel(self, order).copy()

    def transpose(self, *axes: Any) -> ndarray:
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        return _manipulation.transpose(self, given or None)

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        return _manipulation.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> ndarray:
        return _manipulation.squeeze(self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        return _manipulation.diagonal(self, offset, axis1, axis2)

    def repeat(self, repeats: Any, axis: Any = None) -> ndarray:
        return _selecting.repeat(self, repeats, axis)

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        _memory.resize(self, shape[0] if len(shape) == 1 else shape, refcheck)

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
        raise TypeError("byteswap: arrays are always in native byte order")

    # ------------------------------------------------------------- reductions

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
            initial: Any = None, where: Any = True) -> Any:  # fmt: skip
        return _reductions.sum(self, axis, dtype, out, keepdims, initial, where)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
             initial: Any = None, where: Any = True) -> Any:  # fmt: skip
        return _reductions.prod(self, axis, dtype, out, keepdims, initial, where)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
            where: Any = True) -> Any:  # fmt: skip
        return _reductions.max(self, axis, out, keepdims, initial, where)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
            where: Any = True) -> Any:  # fmt: skip
        return _reductions.min(self, axis, out, keepdims, initial, where)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
             *, where: Any = True) -> Any:  # fmt: skip
        return _reductions.mean(self, axis, dtype, out, keepdims, where=where)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
            keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        return _reductions.var(self, axis, dtype, out, ddof, keepdims, **kwargs)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
            keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        return _reductions.std(self, axis, dtype, out, ddof, keepdims, **kwargs)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, *,
            where: Any = True) -> Any:  # fmt: skip
        return _reductions.all(self, axis, out, keepdims, where=where)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, *,
            where: Any = True) -> Any:  # fmt: skip
        return _reductions.any(self, axis, out, keepdims, where=where)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return _reductions.argmax(self, axis, out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return _reductions.argmin(self, axis, out, keepdims=keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return _reductions.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return _reductions.cumprod(self, axis, dtype, out)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
              out: Any = None) -> Any:  # fmt: skip
        return _linalg.trace(self, offset, axis1, axis2, dtype, out)

    # ---------------------------------------------------------- elements, order

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return _elementwise.clip(self, min, max, out, **kwargs)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return _elementwise.round(self, decimals, out)

    def conj(self, out: Any = None, /) -> Any:
        return _t["conjugate"](self, out=out)

    conjugate = conj

    def dot(self, b: Any, out: Any = None) -> Any:
        return _linalg.dot(self, b, out)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        return _sorting.take(self, indices, axis, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        _sorting.put(self, indices, values, mode)

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        return _sorting.choose(self, choices, out, mode)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return _selecting.compress(condition, self, axis, out)

    def nonzero(self) -> tuple[ndarray, ...]:
        return _selecting.nonzero(self)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *,
             stable: bool | None = None) -> None:  # fmt: skip
        assign(self, _sorting.sort(self, axis, kind, order, stable=stable).value, "sort array")

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, *,
                stable: bool | None = None) -> Any:  # fmt: skip
        return _sorting.argsort(self, axis, kind, order, stable=stable)

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect",
                  order: Any = None) -> None:  # fmt: skip
        assign(self, _sorting.partition(self, kth, axis, kind, order).value, "partition array")

    def argpartition(self, kth: Any, axis: Any = -1, kind: str = "introselect",
                     order: Any = None) -> Any:  # fmt: skip
        return _sorting.argpartition(self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        return _sorting.searchsorted(self, v, side, sorter)


def wrap(value: Any) -> Any:
    """An array of a recorded result; 0-d ones are scalars, as NumPy's functions return."""
    cls = ndarray if value.shape else ScalarArray
    made = _new(cls)
    hold(made, value)
    return made


_new: Final = lazyloom.Tensor.__new__


def _alias(x: Any, step: Any, strides: tuple[int, ...], writeable: bool = True) -> ndarray:
    """A view of ``x`` by one step of the runtime's view chain."""
    if type(x) is ScalarArray:
        x = ndarray.from_value(x.value)
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


def _unlike(a: ndarray, b: Any, answer: bool) -> Any:
    """The comparison with what is no number, where NumPy has an answer."""
    if b is None or isinstance(b, str):
        if b is None and type(a) is ScalarArray:
            return answer
        return wrap(_u.full_value(a.shape, answer, as_dtype(bool)))
    return NotImplemented


# at the end, because these modules need the class
from ._scalars import ScalarArray  # noqa: E402, I001
from . import (  # noqa: E402
    _elementwise,
    _flat,
    _indexing,
    _interop,
    _linalg,
    _manipulation,
    _memory,
    _operators,
    _reductions,
    _selecting,
    _sorting,
)  # fmt: skip
from . import _gufuncs as _gufuncs  # noqa: E402
from . import _ufuncs as _u  # noqa: E402
from ._assigning import warn_discarded  # noqa: E402

_t: Final = _u.TABLE
_power, _equal, _not_equal = _t["power"], _t["equal"], _t["not_equal"]
_operators.register(ndarray, ScalarArray)

__all__ = ["ScalarArray", "ViewInfo", "alias", "assign", "c_strides", "element_strides", "ndarray",
           "view_info", "wrap"]  # fmt: skip
