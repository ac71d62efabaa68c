"""What is attached to the classes of arrays and ufuncs, from this one place.

The classes come first in the order of imports, since every function makes arrays. Their methods
call those functions, so that they are written here, at the end of that order, and put into the
classes by :func:`_attach`. A type checker takes :class:`ArrayMethods` and :class:`UfuncMethods` for
base classes of ``ndarray`` and ``ufunc``.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import as_dtype
from lazyloom.frontend import (
    ABSOLUTE,
    EQUAL,
    NOT_EQUAL,
    SQUARE,
    OpFunction,
    as_html,
    of_numbers,
    share_view,
    write_lock,
)

from .._arguments.assigning import warn_discarded
from .._arguments.convert import full_value
from .._arguments.dtypes import HostOnly, internal
from .._arguments.options import casting_rule, row_or_column
from .._array import array_api, exporting, hosted
from .._array.layout import lay_out, set_info
from .._array.ndarray import ScalarArray, assign, ndarray, plain, recast, wrap
from .._functions import elementwise, manipulation, memory, products, reductions, selecting, sorting
from .._functions.creation import zeros
from .._indexing import flat, items
from .._interop import protocols, rebuild
from .._ufuncs import operators
from .._ufuncs import ufunc as _u
from . import gufuncs

_t: Final = _u.TABLE
_power, _equal, _not_equal = _t["power"], _t["equal"], _t["not_equal"]
_Class: Final = type


class ArrayMethods(lazyloom.Tensor):
    """The methods of ``ndarray`` that are functions, too; ``self`` is an ``ndarray``."""

    __slots__ = ()

    def __init__(self: Any, shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0,
                 strides: Any = None, order: str | None = None) -> None:  # fmt: skip
        if buffer is None:
            lazyloom.Tensor.__init__(self, zeros(shape, dtype).value)
            lay_out(self, row_or_column(order))
        else:
            part = memory.over_buffer(shape, dtype, buffer, offset, strides)
            share_view(self, part)
            set_info(self, part._info)

    @classmethod
    def __init_subclass__(cls: Any, **kwargs: Any) -> None:
        made: type[ndarray] = cls
        super(ndarray, made).__init_subclass__(**kwargs)
        if not cls.__module__.startswith("lazyloom_numpy."):
            from .._interop.subclasses import derive  # for start-up time

            derive(cls)

    @property
    def dtype(self: Any) -> Any:
        return self.type.dtype.numpy

    @dtype.setter
    def dtype(self: Any, dtype: Any) -> None:
        memory.set_dtype(self, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor_type.shape

    @shape.setter
    def shape(self: Any, shape: Any) -> None:
        memory.set_shape(self, shape)

    @property
    def data(self: Any) -> memoryview:
        """A read-only look at the data, in its own memory where that is the host's; evaluates."""
        return protocols.host_view(self).data

    @property
    def __array_interface__(self: Any) -> dict[str, Any]:
        """NumPy's description of memory, which is a copy's; reads. See :mod:`.exporting`."""
        return exporting.described(self, memory.copied)

    @property
    def flat(self: Any) -> Any:
        return flat.flatiter(self)

    @flat.setter
    def flat(self: Any, value: Any) -> None:
        flat.set_flat(self, value)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        items.set_item(self, key, value)

    def __floordiv__(self: Any, other: Any) -> Any:
        return _u.binary(_t["floor_divide"], self, other)

    def __rfloordiv__(self: Any, other: Any) -> Any:
        return _u.binary(_t["floor_divide"], other, self)

    def __mod__(self: Any, other: Any) -> Any:
        return _u.binary(_t["remainder"], self, other)

    def __rmod__(self: Any, other: Any) -> Any:
        return _u.binary(_t["remainder"], other, self)

    def __divmod__(self: Any, other: Any) -> Any:
        return _t["divmod"](self, other)

    def __rdivmod__(self: Any, other: Any) -> Any:
        return _t["divmod"](other, self)

    def __pow__(self: Any, other: Any, modulo: Any = None) -> Any:
        if modulo is not None:
            return NotImplemented
        if type(other) is int and not self.slow_path and self.tensor_type.dtype.is_inexact:
            found = of_numbers(self, None, SQUARE) if other == 2 else None
            return wrap(_u.integer_power(self.value, other)) if found is None else found
        if self.tensor_type.dtype.kind == "b" and type(other) is int and other == 2 and (
            type(self) is not ScalarArray
        ):
            # NumPy squares here, and the square of bool is int8
            return _t["square"](self)
        return _u.binary(_power, self, other)

    def __rpow__(self: Any, other: Any) -> Any:
        return _u.binary(_t["power"], other, self)

    def __and__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_and"], self, other)

    def __rand__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_and"], other, self)

    def __or__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_or"], self, other)

    def __ror__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_or"], other, self)

    def __xor__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_xor"], self, other)

    def __rxor__(self: Any, other: Any) -> Any:
        return _u.binary(_t["bitwise_xor"], other, self)

    def __lshift__(self: Any, other: Any) -> Any:
        return _u.binary(_t["left_shift"], self, other)

    def __rlshift__(self: Any, other: Any) -> Any:
        return _u.binary(_t["left_shift"], other, self)

    def __rshift__(self: Any, other: Any) -> Any:
        return _u.binary(_t["right_shift"], self, other)

    def __rrshift__(self: Any, other: Any) -> Any:
        return _u.binary(_t["right_shift"], other, self)

    def __pos__(self: Any) -> Any:
        return _t["positive"](self)

    def __abs__(self: Any) -> Any:
        found = of_numbers(self, None, ABSOLUTE)
        return _t["absolute"](self) if found is None else found

    def __invert__(self: Any) -> Any:
        return _t["invert"](self)

    def __eq__(self: Any, other: Any) -> Any:
        found = of_numbers(self, other, EQUAL)
        if found is not None:
            return found
        result = _u.binary(_equal, self, other)
        return _unlike(self, other, False) if result is NotImplemented else result

    def __ne__(self: Any, other: Any) -> Any:
        found = of_numbers(self, other, NOT_EQUAL)
        if found is not None:
            return found
        result = _u.binary(_not_equal, self, other)
        return _unlike(self, other, True) if result is NotImplemented else result

    def __ifloordiv__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["floor_divide"], self, other)

    def __imod__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["remainder"], self, other)

    def __ipow__(self: Any, other: Any) -> Any:  # type: ignore[misc]
        return _u.inplace(_t["power"], self, other)

    def __iand__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["bitwise_and"], self, other)

    def __ior__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["bitwise_or"], self, other)

    def __ixor__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["bitwise_xor"], self, other)

    def __ilshift__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["left_shift"], self, other)

    def __irshift__(self: Any, other: Any) -> Any:
        return _u.inplace(_t["right_shift"], self, other)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> onp.ndarray[Any, Any]:
        if copy is False:
            shared = protocols.host_view(self, copy=False)
            if dtype is not None and onp.dtype(dtype) != shared.dtype:
                raise ValueError(f"__array__: {shared.dtype} cannot be given as {onp.dtype(dtype)} "
                                 "without a copy; pass copy=None or copy=True")
            return shared
        data: onp.ndarray[Any, Any] = self.read()
        return data if dtype is None else data.astype(dtype, copy=False)

    def __array_ufunc__(self: Any, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return protocols.array_ufunc(function, method, inputs, kwargs)

    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.array_function(func, args, kwargs)

    def __array_namespace__(self: Any, *, api_version: str | None = None) -> Any:
        """The module ``lazyloom_numpy``; ValueError for an unsupported version of the standard."""
        array_api.check_api_version(api_version)
        return sys.modules["lazyloom_numpy"]

    def __dlpack__(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:  # fmt: skip
        return protocols.dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return protocols.dlpack_device(self)

    def __repr__(self: Any) -> str:
        return protocols.array_repr(self)

    def __str__(self: Any) -> str:
        return protocols.array_str(self)

    def _repr_html_(self: Any) -> str:
        """What a notebook shows; it reads what :func:`repr` does, and starts no device."""
        t = self.tensor_type
        return as_html(repr(self), {
            "shape": str(t.shape), "dtype": t.dtype.name,
            "device": "default" if t.placement.is_default else str(self.device)})

    def __reduce__(self: Any) -> Any:
        return rebuild, (self.read(), type(self) is ScalarArray)

    def astype(self: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True) -> ndarray:  # fmt: skip
        try:
            target, casting = internal(dtype), casting_rule(casting)
        except HostOnly:  # strings, objects: arrays of those are NumPy's
            return self.read().astype(dtype, order, casting)  # type: ignore[no-any-return]
        made: ndarray = self
        if target is not self.type.dtype:
            warn_discarded(self.type.dtype, target)
            made = type(self).from_value(_u.cast_values(self.value, target, casting))
        elif copy:
            made = type(self).from_value(self.value)
        return made if made is self else lay_out(made, order, self)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same bytes, as ``numpy.ndarray.view``."""
        if type is None and isinstance(dtype, _Class) and issubclass(dtype, ndarray):
            dtype, type = None, dtype
        if dtype is not None:
            try:
                internal(dtype)
            except HostOnly:  # records, bytes: NumPy's, whose writes would not be seen here
                view = self.read().view(dtype)
                view.flags.writeable = False
                return view
        if type is None and not hasattr(self, "_derived"):
            return manipulation.view_as(self, dtype)
        view = manipulation.view_as(plain(self), dtype)
        return recast(view, self.__class__ if type is None else type, self)

    def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        return manipulation.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def ravel(self: Any, order: str = "C") -> ndarray:
        return manipulation.ravel(self, order)

    def flatten(self: Any, order: str = "C") -> ndarray:
        return manipulation.ravel(self, order).copy()

    def transpose(self: Any, *axes: Any) -> ndarray:
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        return manipulation.transpose(self, given or None)

    def swapaxes(self: Any, axis1: int, axis2: int) -> ndarray:
        return manipulation.swapaxes(self, axis1, axis2)

    def squeeze(self: Any, axis: Any = None) -> ndarray:
        return manipulation.squeeze(self, axis)

    def diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        return manipulation.diagonal(self, offset, axis1, axis2)

    def repeat(self: Any, repeats: Any, axis: Any = None) -> ndarray:
        return selecting.repeat(self, repeats, axis)

    def resize(self: Any, *shape: Any, refcheck: bool = True) -> None:
        memory.resize(self, shape[0] if len(shape) == 1 else shape, refcheck)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
            initial: Any = None, where: Any = True) -> Any:  # fmt: skip
        return reductions.sum(self, axis, dtype, out, keepdims, initial, where)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
             initial: Any = None, where: Any = True) -> Any:  # fmt: skip
        return reductions.prod(self, axis, dtype, out, keepdims, initial, where)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
            where: Any = True) -> Any:  # fmt: skip
        return reductions.max(self, axis, out, keepdims, initial, where)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
            where: Any = True) -> Any:  # fmt: skip
        return reductions.min(self, axis, out, keepdims, initial, where)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
             *, where: Any = True) -> Any:  # fmt: skip
        return reductions.mean(self, axis, dtype, out, keepdims, where=where)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
            keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        return reductions.var(self, axis, dtype, out, ddof, keepdims, **kwargs)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
            keepdims: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        return reductions.std(self, axis, dtype, out, ddof, keepdims, **kwargs)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, *,
            where: Any = True) -> Any:  # fmt: skip
        return reductions.all(self, axis, out, keepdims, where=where)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, *,
            where: Any = True) -> Any:  # fmt: skip
        return reductions.any(self, axis, out, keepdims, where=where)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return reductions.argmax(self, axis, out, keepdims=keepdims)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return reductions.argmin(self, axis, out, keepdims=keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return reductions.cumsum(self, axis, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return reductions.cumprod(self, axis, dtype, out)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
              out: Any = None) -> Any:  # fmt: skip
        return products.trace(self, offset, axis1, axis2, dtype, out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return elementwise.clip(self, min, max, out, **kwargs)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return elementwise.round(self, decimals, out)

    def conj(self, out: Any = None, /) -> Any:
        if out is None and not self.type.dtype.is_complex:
            return self  # itself, as NumPy's method has it; the function copies
        return _t["conjugate"](self, out=out)

    conjugate = conj

    def dot(self, b: Any, out: Any = None) -> Any:
        return products.dot(self, b, out)

    def matvec(self, x: Any) -> Any:
        """``self @ x``, by which ``scipy.sparse.linalg`` knows a linear operator."""
        return products.dot(self, x)

    def rmatvec(self: Any, x: Any) -> Any:
        """The product of the conjugate transpose and ``x``, for ``scipy.sparse.linalg``."""
        return products.dot(self.conj().T, x)

    matmat, rmatmat = matvec, rmatvec

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        return sorting.take(self, indices, axis, out, mode)

    def put(self: Any, indices: Any, values: Any, mode: str = "raise") -> None:
        sorting.put(self, indices, values, mode)

    def choose(self: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        return sorting.choose(self, choices, out, mode)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return selecting.compress(condition, self, axis, out)

    def nonzero(self: Any) -> tuple[ndarray, ...]:
        return selecting.nonzero(self)

    def sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None, *,
             stable: bool | None = None) -> None:  # fmt: skip
        with write_lock(self):
            assign(self, sorting.sort(self, axis, kind, order, stable=stable).value, "sort array")

    def argsort(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *,
                stable: bool | None = None) -> Any:  # fmt: skip
        return sorting.argsort(self, axis, kind, order, stable=stable)

    def partition(self: Any, kth: Any, axis: int = -1, kind: str = "introselect",
                  order: Any = None) -> None:  # fmt: skip
        with write_lock(self):
            assign(self, sorting.partition(self, kth, axis, kind, order).value, "partition array")

    def argpartition(self: Any, kth: Any, axis: Any = -1, kind: str = "introselect",
                     order: Any = None) -> Any:  # fmt: skip
        return sorting.argpartition(self, kth, axis, kind, order)

    def searchsorted(self: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
        return sorting.searchsorted(self, v, side, sorter)


def _unlike(a: ndarray, b: Any, answer: bool) -> Any:
    """The comparison with what is no number, where NumPy has an answer."""
    if b is None or isinstance(b, str) or _knows_no_numbers(b):
        if not isinstance(b, str) and type(a) is ScalarArray:
            return answer
        return wrap(full_value(a.shape, answer, as_dtype(bool)))
    return NotImplemented


#: comparisons of which a number is never equal to what they compare
_OF_THEIR_OWN: Final[tuple[Any, ...]] = (
    object.__eq__, type.__eq__, dict.__eq__, set.__eq__, frozenset.__eq__)


def _knows_no_numbers(b: Any) -> bool:
    """Whether NumPy, which compares element by element, finds no element equal to ``b``."""
    return type(b).__eq__ in _OF_THEIR_OWN and not hasattr(type(b), "__array_ufunc__")


class UfuncMethods(OpFunction):
    """The methods of ``ufunc`` beside its call; ``self`` is a ``ufunc``."""

    __slots__ = ()

    def asked(self: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operands' classes make of the ufunc; None where all of them are plain."""
        from .._interop.subclasses import asked  # for start-up time

        return asked(self, method, inputs, kwargs)

    def reduce(
        self: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = _u.MISSING, where: Any = True,
    ) -> Any:  # fmt: skip
        """Reduce along axes by the function, as ``numpy.ufunc.reduce``."""
        from . import ufunc_methods as methods  # for start-up time

        try:
            return methods.reduce(self, array, axis, dtype, out, keepdims, initial, where)
        except HostOnly:
            given = {} if initial is _u.MISSING else {"initial": initial}
            return hosted.call(self.np.reduce, (array, axis), {
                "dtype": dtype, "out": out, "keepdims": keepdims, "where": where, **given})

    def accumulate(self: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The running results of the function along an axis, as ``numpy.ufunc.accumulate``."""
        from . import ufunc_methods as methods  # for start-up time

        try:
            return methods.accumulate(self, array, axis, dtype, out)
        except HostOnly:
            return hosted.call(self.np.accumulate, (array, axis), {"dtype": dtype, "out": out})

    def reduceat(self: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None,
                 out: Any = None) -> Any:  # fmt: skip
        """Reductions of segments that start at the indices, as ``numpy.ufunc.reduceat``.

        IndexError for indices outside the axis, of computed ones when the result is read.
        """
        from . import ufunc_methods as methods  # for start-up time

        try:
            return methods.reduceat(self, array, indices, axis, dtype, out)
        except HostOnly:
            return hosted.call(
                self.np.reduceat, (array, indices, axis), {"dtype": dtype, "out": out})

    def outer(self: Any, A: Any, B: Any, /, **kwargs: Any) -> Any:
        """The function of all pairs, shape ``A.shape + B.shape``; ``numpy.ufunc.outer``."""
        from . import ufunc_methods as methods  # for start-up time

        try:
            return methods.outer(self, A, B, kwargs)
        except HostOnly:
            return hosted.call(self.np.outer, (A, B), kwargs)

    def at(self: Any, a: Any, indices: Any, b: Any = _u.MISSING, /) -> None:
        """Unbuffered operation in place at indices, as ``numpy.ufunc.at``.

        An index that is repeated is operated on as often.
        """
        from . import ufunc_methods as methods  # for start-up time

        try:
            methods.at(self, a, indices, b)
        except HostOnly:
            rest = () if b is _u.MISSING else (b,)
            hosted.call_writing(self.np.at, (a, indices, *rest), {})


def _attach(members: type, cls: type) -> None:
    """Put what a class defines into another class."""
    for name, member in vars(members).items():
        if isinstance(member, FunctionType):
            member.__qualname__ = f"{cls.__name__}.{name}"
        elif not isinstance(member, (property, classmethod)):
            continue
        setattr(cls, name, member)


_u.TABLE.update(gufuncs.FUNCTIONS)
_u.PUBLIC.update(gufuncs.FUNCTIONS)
_attach(ArrayMethods, ndarray)
_attach(UfuncMethods, _u.ufunc)
operators.register(ndarray, ScalarArray, items.get_item)
