"""Creation of arrays: from host data, filled, counted, spaced, and from other arrays."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, host_value, operand, param, value_of
from .._arguments.options import memory_order, row_or_column
from .._array import hosted
from .._array.array_api import elsewhere, onto
from .._array.layout import ViewInfo, keep_order, lay_out, set_info
from .._array.ndarray import ScalarArray, ndarray, plain, recast, wrap
from .._ufuncs.ufunc import TABLE
from .counting import coordinates
from .manipulation import broadcast_arrays, diagonal

record = lazyloom.record
source = lazyloom.source


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: str | None = "K",
          subok: bool = False, ndmin: int = 0, ndmax: int = 0,
          like: Any = None) -> ndarray:  # fmt: skip
    """An array of host data (copied) or of another array. See ``numpy.array``.

    Sequences that hold arrays are stacked without a read. Raises TypeError for data of
    an unsupported dtype (object, strings, dates).
    """
    references = getrefcount(object)
    return _array(object, references, dtype, copy, order, subok, ndmin, ndmax)


def _array(object: Any, references: int, dtype: Any, copy: bool | None, order: str | None,
           subok: bool = False, ndmin: int = 0, ndmax: int = 0) -> ndarray:  # fmt: skip
    """:func:`array`; ``references`` as :func:`lazyloom.from_host` takes it."""
    order = memory_order(order, "K")
    if isinstance(object, ndarray) and hasattr(type(object), "_derived"):
        if subok and copy is not True and dtype in (None, object.dtype) and ndmin <= object.ndim:
            return object
        made = array(plain(object), dtype, copy=copy, order=order, ndmin=ndmin, ndmax=ndmax)
        return recast(made, type(object), object) if subok else made
    if isinstance(object, lazyloom.Tensor):
        try:
            target = None if dtype is None else dt.internal(dtype)
        except dt.HostOnly:
            return onp.array(object.read(), dtype)  # type: ignore[return-value]
        same = target in (None, object.tensor_type.dtype)
        if copy is not True and same and isinstance(object, ndarray) and _lies_in(object, order):
            result = ndarray.from_value(object.value) if type(object) is ScalarArray else object
        else:
            if copy is False:
                raise ValueError(
                    "Unable to avoid copy while creating an array as requested; use copy=None")
            result = lay_out(ndarray.from_value(as_value(object.value, target)), order, object)
    elif subok and isinstance(object, onp.ndarray) and type(object) is not onp.ndarray:
        # a class derived from NumPy's passes through, as NumPy's own
        return onp.array(object, dtype, copy=copy, order=order, subok=True,  # type: ignore
                         ndmin=ndmin)  # fmt: skip
    else:
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested: host data is always "
                "copied; use copy=None")
        try:
            value = host_value(object, dtype, references)
        except dt.HostOnly:
            # what no device has a dtype for stays NumPy's
            limits: Any = {"ndmax": ndmax} if ndmax else {}
            host = onp.array(hosted.on_host(object), dtype, copy=copy, order=order,  # type: ignore
                             ndmin=ndmin, **limits)  # fmt: skip
            return hosted.ours(host)  # type: ignore[no-any-return]
        result = lay_out(ndarray.from_value(value), order)
        if order in ("K", "A") and isinstance(object, onp.ndarray):
            result = _host_order(result, object, order)
    if 0 < ndmax < result.ndim:
        raise ValueError("setting an array element with a sequence. The requested array would "
                         f"exceed the maximum number of dimension of {ndmax}.")  # fmt: skip
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


def _lies_in(x: ndarray, order: str) -> bool:
    """Whether an array's memory is in the order asked for."""
    if order in "KA":
        return True
    return x.flags.f_contiguous if order == "F" else x.flags.c_contiguous


def _host_order(result: ndarray, host: onp.ndarray[Any, Any], order: str) -> ndarray:
    """The order of a copied NumPy array."""
    if order == "A":
        return lay_out(result, "F" if host.flags.fnc else "C")
    if host.ndim > 1 and not host.flags.c_contiguous:
        like = ndarray.from_value(result.value)
        set_info(like, ViewInfo(tuple(s // host.itemsize for s in host.strides), None, True))
        return keep_order(result, like)
    return result


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None,
            copy: bool | None = None, like: Any = None) -> ndarray:  # fmt: skip
    """The argument itself if it is an array of that dtype, else a new array."""
    references = getrefcount(a)
    if device is not None and elsewhere(device, "asarray"):
        return onto(device, _array(a, references, dtype, copy, order))
    return _array(a, references, dtype, copy, order)


def asanyarray(a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None,
               copy: bool | None = None, like: Any = None) -> ndarray:  # fmt: skip
    """As :func:`asarray`, but derived classes pass through. See ``numpy.asanyarray``."""
    references = getrefcount(a)
    if device is not None and elsewhere(device, "asanyarray"):
        return onto(device, _array(a, references, dtype, copy, order or "K", subok=True))
    return _array(a, references, dtype, copy, order or "K", subok=True)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> ndarray:
    """A C-contiguous array of at least one dimension. See ``numpy.ascontiguousarray``."""
    result = asarray(a, dtype)
    if not result.flags.c_contiguous:
        result = result.copy()
    return result if result.ndim else result.reshape(1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> ndarray:
    """An array with column-major strides. See ``numpy.asfortranarray``."""
    result = asarray(a, dtype)
    return result if result.flags.f_contiguous else result.copy("F")


_REQUIREMENTS: Final = {
    **{word: word[0] for word in ("C", "F", "A", "W", "O", "E", "ALIGNED", "WRITEABLE", "OWNDATA",
                                  "ENSUREARRAY")},
    **dict.fromkeys(("C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F_CONTIGUOUS", "FORTRAN"), "F"),
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None, *,
            like: Any = None) -> ndarray:  # fmt: skip
    """An array of a dtype with flags such as C, F, W, O. See ``numpy.require``."""
    wanted = set()
    for given in requirements or ():
        if given.upper() not in _REQUIREMENTS:
            raise KeyError(given.upper())
        wanted.add(_REQUIREMENTS[given.upper()])
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    result = asfortranarray(a, dtype) if "F" in wanted else asarray(a, dtype)
    if ("C" in wanted and not result.flags.c_contiguous) or (
            "W" in wanted and not result.flags.writeable) or (
            "O" in wanted and not result.flags.owndata):
        result = result.copy("F" if "F" in wanted else "C")
    return result


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """As :func:`asarray`; reads, and raises ValueError for NaN or infinity."""
    result = asarray(a, dtype, order)
    if not bool(TABLE["isfinite"](result).all()):
        raise ValueError("array must not contain infs or NaNs")
    return result


def copy(a: Any, order: str = "K", subok: bool = False) -> ndarray:
    """An independent array of the same data. See ``numpy.copy``."""
    return array(a, order=order)


def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> ndarray:
    """A one-dimensional array from an iterable of numbers. See ``numpy.fromiter``."""
    return array(onp.fromiter((x.item() if isinstance(x, ndarray) else x for x in iter),
                              dt.internal(dtype).numpy, count))  # fmt: skip


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *,
               like: Any = None) -> ndarray:  # fmt: skip
    """An array of a copy of a buffer's bytes. See ``numpy.frombuffer``."""
    return array(onp.frombuffer(buffer, dt.internal(dtype).numpy, count, offset))


def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = float,
                 **kwargs: Any) -> Any:  # fmt: skip
    """The function of the coordinates' arrays. See ``numpy.fromfunction``."""
    return function(*indices(shape, dtype=dtype), **kwargs)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """An array from any object with ``__dlpack__``. See ``numpy.from_dlpack``.

    Memory is shared where it can be, never for ``copy=True``; for ``copy=False`` what cannot be
    shared is a ValueError. Later writes to shared memory show in the array, but writes to the
    array do not show in the memory.
    """
    if device is not None and elsewhere(device, "from_dlpack"):
        return onto(device, from_dlpack(x, copy=copy))
    return ndarray.from_value(lazyloom.from_dlpack(x, copy=copy))


# ---------------------------------------------------------------------- filled


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
         like: Any = None) -> ndarray:  # fmt: skip
    """An array of one value, which may itself be an array. See ``numpy.full``."""
    if device is not None and elsewhere(device, "full"):
        return onto(device, full(shape, fill_value, dtype, order))
    dims = dt.shape_tuple(shape)
    x = operand(fill_value)
    if dtype is not None:
        target = dt.internal(dtype)
    elif isinstance(x, (lazyloom.Value, lazyloom.Scalar)):
        target = x.type.dtype
    else:
        target = dt.DEFAULT_OF_WEAK[type(x)]
    if isinstance(x, lazyloom.Value):
        value = as_value(x, target)
        made = ndarray.from_value(record("broadcast_to", (value,), {"shape": dims}))
        return lay_out(made, row_or_column(order))
    if isinstance(x, complex) and target.kind in "fiu":
        warnings.warn("Casting complex values to real discards the imaginary part",
                      onp.exceptions.ComplexWarning, stacklevel=2)  # fmt: skip
        x = x.real
    if not isinstance(x, lazyloom.Scalar) and target.kind in "iu" and isinstance(x, float):
        x = int(x)
    made = ndarray.from_value(source("full", (param(x, target),), {"shape": dims}))
    return lay_out(made, row_or_column(order))


#: Python's numbers as float64 has them
_ZERO: Final = dt.scalar(0, dt.FLOAT64)
_ONE: Final = dt.scalar(1, dt.FLOAT64)


def _usual(shape: Any, dtype: Any, order: Any, device: Any) -> Any:
    """The shape of an array in float64 whose arguments say no more than that; None for others."""
    if dtype is not float or order != "C" or device is not None:
        return None
    if type(shape) is int:
        return (shape,) if shape >= 0 else None
    if type(shape) is not tuple or len(shape) > 64:
        return None
    for n in shape:
        if type(n) is not int or n < 0:
            return None
    return shape


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None,
          like: Any = None) -> ndarray:  # fmt: skip
    """An array of zeros. See ``numpy.zeros``."""
    usual = _usual(shape, dtype, order, device)
    if usual is not None:
        return ndarray.from_value(source("full", (_ZERO,), {"shape": usual}))
    if device is not None and elsewhere(device, "zeros"):
        return onto(device, zeros(shape, dtype, order))
    try:
        target = dt.internal(float if dtype is None else dtype)
    except dt.HostOnly:
        return hosted.again("zeros", shape, dtype, order=order)  # type: ignore[no-any-return]
    value = source("full", (dt.scalar(0, target),), {"shape": dt.shape_tuple(shape)})
    return lay_out(ndarray.from_value(value), row_or_column(order))


def ones(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None,
         like: Any = None) -> ndarray:  # fmt: skip
    """An array of ones. See ``numpy.ones``."""
    usual = _usual(shape, dtype, order, device)
    if usual is not None:
        return ndarray.from_value(source("full", (_ONE,), {"shape": usual}))
    if device is not None and elsewhere(device, "ones"):
        return onto(device, ones(shape, dtype, order))
    target = dt.internal(float if dtype is None else dtype)
    value = source("full", (dt.scalar(1, target),), {"shape": dt.shape_tuple(shape)})
    return lay_out(ndarray.from_value(value), row_or_column(order))


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None,
          like: Any = None) -> ndarray:  # fmt: skip
    """An array of zeros; NumPy leaves the content open. See ``numpy.empty``."""
    if dtype is not float:
        dt.internal(float if dtype is None else dtype)  # objects are None there, not 0
    return zeros(shape, dtype, order, device=device)


def _like(a: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    if not isinstance(a, (ndarray, onp.ndarray)):
        a = asarray(a)
    return (a.shape if shape is None else shape), (a.dtype if dtype is None else dtype)


def _beside(a: Any, device: Any) -> Any:
    """Where an array like another one is made: on its device, unless another one is named."""
    if device is not None or not isinstance(a, ndarray):
        return device
    placement = a.tensor_type.placement
    # what is on a mesh is met by arrays of the default device
    return None if placement.is_default or placement.mesh is not None else placement.device


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
              shape: Any = None, *, device: Any = None) -> ndarray:  # fmt: skip
    """An array of one value, with the shape and dtype of ``a``. See ``numpy.full_like``."""
    dims, kind = _like(a, dtype, shape)
    filled = full(dims, fill_value, kind, device=_beside(a, device))
    return lay_out(filled, order if shape is None else "C", a)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
               *, device: Any = None) -> ndarray:  # fmt: skip
    """Zeros with the shape and dtype of ``a``. See ``numpy.zeros_like``."""
    filled = zeros(*_like(a, dtype, shape), device=_beside(a, device))
    return lay_out(filled, order if shape is None else "C", a)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
              *, device: Any = None) -> ndarray:  # fmt: skip
    """Ones with the shape and dtype of ``a``. See ``numpy.ones_like``."""
    filled = ones(*_like(a, dtype, shape), device=_beside(a, device))
    return lay_out(filled, order if shape is None else "C", a)


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True,
               shape: Any = None, *, device: Any = None) -> ndarray:  # fmt: skip
    """Zeros with the shape and dtype of ``prototype``. See ``numpy.empty_like``."""
    return zeros_like(prototype, dtype, order, subok, shape, device=device)


# ---------------------------------------------------------------------- counted


def _number(x: Any) -> Any:
    """A Python number of a number, a NumPy scalar or (by a read) a 0-d array."""
    return x.item() if isinstance(x, (ndarray, onp.generic, onp.ndarray)) else x


def _key(x: Any) -> Any:
    if isinstance(x, lazyloom.Tensor):
        return x.tensor_type.dtype
    if isinstance(x, (onp.generic, onp.ndarray)):
        return dt.internal(x.dtype)
    return dt.BOOL if isinstance(x, bool) else type(x)


#: integers nearer to 0 are int64 numbers, and so are their differences
_FAR: Final = 1 << 62


def arange(start: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None, *,
           device: Any = None, like: Any = None) -> ndarray:  # fmt: skip
    """Numbers from start (0 if only one is given) to before stop. See ``numpy.arange``.

    The length decides the shape, so arguments that are arrays are read.
    """
    if dtype is None and device is None and type(start) is int and type(step) is int and (
        step != 0 and (stop is None or type(stop) is int)
    ):
        numbers = range(start) if stop is None and step == 1 else range(
            0 if stop is None else start, start if stop is None else stop, step)
        if not numbers or -_FAR < numbers[0] < _FAR and -_FAR < numbers[-1] < _FAR:
            parameters = (dt.scalar(numbers.start, dt.INT64),
                          dt.scalar(step if len(numbers) > 1 else 1, dt.INT64))
            return ndarray.from_value(source("arange", parameters, {"length": len(numbers)}))
    if device is not None and elsewhere(device, "arange"):
        return onto(device, arange(start, stop, step, dtype))
    if stop is None:
        start, stop = None, start
    if stop is None:
        raise TypeError("arange() requires stop to be specified.")
    start = 0 if start is None else start
    # a NumPy number or array meets int64 here, as in numpy.arange
    keys = dict.fromkeys(k for k in map(_key, (start, stop, step)) if k is not dt.BOOL)
    target = dt.internal(dtype) if dtype is not None else dt.promote(dt.INT64, *keys)
    first, last, by = (_number(x) for x in (start, stop, step))
    if by == 0:
        raise ZeroDivisionError("arange: step is zero")
    if any(isinstance(x, complex) for x in (first, last, by)):
        raise TypeError("arange: complex arguments are not supported")
    try:
        length = max(0, math.ceil((last - first) / by)) if target.kind in "fc" or not all(
            isinstance(x, int) for x in (first, last, by)) else len(range(first, last, by))
    except OverflowError as error:
        raise ValueError("arange: Maximum allowed size exceeded") from error
    # NumPy fills with the difference of the first two elements, rounded to the dtype
    with onp.errstate(all="ignore"):
        zero = target.numpy.type(first)
        if target.kind in "iub":
            delta = int(target.numpy.type(first + by)) - int(zero) if length > 1 else 1
        else:
            delta = (target.numpy.type(first + by) - zero).item()
    if target is dt.BOOL:
        if length > 2:
            raise TypeError("arange() is only supported for booleans when the result has at most "
                            "length 2.")  # fmt: skip
        return array([bool(first), bool(first + by)][:length], onp.bool_)
    parameters = (dt.scalar(zero.item(), target), dt.unchecked_scalar(delta, target))
    return ndarray.from_value(source("arange", parameters, {"length": length}))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *,
        device: Any = None, like: Any = None) -> ndarray:  # fmt: skip
    """Ones on diagonal k, zeros elsewhere. See ``numpy.eye``."""
    if device is not None and elsewhere(device, "eye"):
        return onto(device, eye(N, M, k, dtype, order))
    columns = N if M is None else M
    attributes = {"n": operator.index(N), "m": operator.index(columns), "k": operator.index(k),
                  "dtype": dt.internal(float if dtype is None else dtype)}  # fmt: skip
    return lay_out(ndarray.from_value(source("eye", (), attributes)), row_or_column(order))


def identity(n: int, dtype: Any = None, *, like: Any = None) -> ndarray:
    """The n by n identity matrix. See ``numpy.identity``."""
    return eye(n, dtype=float if dtype is None else dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *,
        like: Any = None) -> ndarray:  # fmt: skip
    """Ones at and below diagonal k, zeros elsewhere. See ``numpy.tri``."""
    whole = ones((N, N if M is None else M), dtype).value
    return ndarray.from_value(record("tril", (whole,), {"k": k}))


def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
    """The coordinates of a grid. See ``numpy.indices``."""
    dims = dt.shape_tuple(tuple(dimensions))
    target = dt.internal(dtype)
    parts = []
    for axis, n in enumerate(dims):
        shape = dims
        if sparse:
            shape = tuple(n if i == axis else 1 for i in range(len(dims)))
        parts.append(source("iota", (), {"shape": shape, "axis": axis, "dtype": target}))
    if sparse:
        return tuple(map(ndarray.from_value, parts))
    if not parts:
        return zeros((0,), dtype)
    return ndarray.from_value(record("stack", parts, {"axis": 0}))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays from coordinate vectors. See ``numpy.meshgrid``."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    shaped = []
    for i, x in enumerate(xi):
        position = 1 - i if indexing == "xy" and count > 1 and i < 2 else i
        shape = tuple(-1 if j == position else 1 for j in range(count))
        shaped.append(asarray(x).reshape(shape))
    if not sparse:
        shaped = list(broadcast_arrays(*shaped))
    return tuple(x.copy() for x in shaped) if copy else tuple(shaped)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> ndarray:
    """The Vandermonde matrix. See ``numpy.vander``."""
    base = asarray(x)
    if base.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = base.size if N is None else N
    exponents = arange(count) if increasing else arange(count - 1, -1, -1)
    result = TABLE["power"](base[:, None], exponents)
    wanted = dt.promote(base.type.dtype, dt.INT64)
    return result.astype(wanted.numpy)  # type: ignore[no-any-return]


# ------------------------------------------------------------- triangles, diagonals


def tril(m: Any, k: int = 0) -> ndarray:
    """The lower triangle, zeros elsewhere. See ``numpy.tril``."""
    return wrap(record("tril", (_matrix(m, "tril"),), {"k": k}))  # type: ignore[no-any-return]


def triu(m: Any, k: int = 0) -> ndarray:
    """The upper triangle, zeros elsewhere. See ``numpy.triu``."""
    return wrap(record("triu", (_matrix(m, "triu"),), {"k": k}))  # type: ignore[no-any-return]


def _matrix(m: Any, name: str) -> Any:
    value = value_of(m)
    if len(value.type.shape) == 1:
        n = value.type.shape[0]
        return record("broadcast_to", (value,), {"shape": (n, n)})
    return value


def diag(v: Any, k: int = 0) -> ndarray:
    """A matrix's diagonal (a read-only view), or a matrix of a diagonal. See ``numpy.diag``."""
    value = value_of(v)
    ndim = len(value.type.shape)
    if ndim == 1:
        return ndarray.from_value(
            record("diag_embed", (value,), {"offset": k, "axis1": 0, "axis2": 1}))
    if ndim != 2:
        raise ValueError("Input must be 1- or 2-d.")
    return diagonal(v if isinstance(v, ndarray) else ndarray.from_value(value), k)


def diagflat(v: Any, k: int = 0) -> ndarray:
    """A matrix whose diagonal is the flattened input. See ``numpy.diagflat``."""
    return diag(asarray(v).reshape(-1), k)


def _triangle(n: int, k: int, m: int | None, lower: bool) -> tuple[ndarray, ndarray]:
    """Indices of a triangle of an (n, m) array; how many is known without looking."""
    rows, columns, first = operator.index(n), operator.index(n if m is None else m), int(k)
    below = first + 1 if lower else first  # the first column that is not below, in row 0
    size = sum(min(max(i + below, 0), columns) for i in range(rows))
    mask = record("tril", (ones((rows, columns), bool).value,), {"k": below - 1})
    if not lower:
        mask, size = record("logical_not", (mask,)), rows * columns - size
    flat = record("flat_nonzero", (mask,), {"size": size})
    row, column = coordinates(flat, (rows, columns))
    return ndarray.from_value(row), ndarray.from_value(column)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ndarray]:
    """Indices of the lower triangle of an (n, m) array. See ``numpy.tril_indices``."""
    return _triangle(n, k, m, True)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ndarray]:
    """Indices of the upper triangle of an (n, m) array. See ``numpy.triu_indices``."""
    return _triangle(n, k, m, False)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ndarray]:
    """Indices of the lower triangle of ``arr``. See ``numpy.tril_indices_from``."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr: Any, k: int = 0) -> tuple[ndarray, ndarray]:
    """Indices of the upper triangle of ``arr``. See ``numpy.triu_indices_from``."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """Indices of the main diagonal. See ``numpy.diag_indices``."""
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[ndarray, ...]:
    """Indices of the main diagonal of ``arr``. See ``numpy.diag_indices_from``."""
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def fill_diagonal(a: ndarray, val: Any, wrap: bool = False) -> None:
    """Write a value (or values) to the main diagonal in place. See ``numpy.fill_diagonal``."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = None if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
        end = None
    a.flat[:end:step] = val
