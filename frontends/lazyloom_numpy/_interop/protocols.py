"""Protocols towards NumPy and others: dispatch, printing, pickling, DLPack."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments.convert import computes_itself
from .._array import hosted
from .._array.hosted import asnumpy
from .._array.ndarray import ScalarArray, ndarray, wrap
from .._functions.elementwise import clip
from .._ufuncs.ufunc import PUBLIC


def array_ufunc(function: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``numpy.add(numpy_array, ours)`` and its kind: our function of the same name."""
    ours = PUBLIC.get(function.__name__)
    if ours is None or ours.np is not function:
        if function is onp._core.umath.clip:  # type: ignore[attr-defined]
            return clip(*inputs, **kwargs)
        return of_others(function, method, inputs, kwargs)
    if method == "at" and isinstance(inputs[0], onp.ndarray):
        return function.at(*hosted.on_host(inputs))
    out = kwargs.get("out")
    if out is not None and any(isinstance(o, onp.ndarray) for o in out):
        return _into_numpy(ours, method, inputs, kwargs)
    if out is not None and len(out) == 1:
        kwargs["out"] = out[0]
    call = ours if method == "__call__" else getattr(ours, method)
    return call(*inputs, **kwargs)


def of_others(
    function: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A ufunc of another package (SciPy's, ``frompyfunc``'s): on the host, and ours again."""
    if not all(type(x) in _TAKES_PART or isinstance(x, _ARRAYS) or not hasattr(
            type(x), "__array_ufunc__") for x in (*inputs, *(kwargs.get("out") or ()))):
        return NotImplemented  # another class is asked
    if method == "at":
        return hosted.call_writing(function.at, inputs, kwargs)
    if kwargs.get("out") is not None and len(kwargs["out"]) == 1:
        kwargs = {**kwargs, "out": kwargs["out"][0]}
    call = function if method == "__call__" else getattr(function, method)
    return hosted.call(call, inputs, kwargs)


_ARRAYS: Final = (onp.ndarray, onp.generic, ndarray)
_TAKES_PART: Final = frozenset((int, float, bool, complex, list, tuple, type(None)))


def _into_numpy(ours: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out")
    call = ours if method == "__call__" else getattr(ours, method)
    result = call(*inputs, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    # a call leaves alone what its mask leaves out; a reduction's mask is about what it reads
    where = asnumpy(kwargs.get("where", True)) if method == "__call__" else True
    for target, r in zip(out, results):
        onp.copyto(target, onp.asarray(r), casting="same_kind", where=where)
    return out if len(out) > 1 else out[0]


def array_function(func: Any, args: Any, kwargs: Any) -> Any:
    """``numpy.concatenate([ours, ...])`` and its kind: our function of the same name."""
    module: Any = sys.modules["lazyloom_numpy"]
    for part in func.__module__.split(".")[1:]:
        if part.startswith("_"):
            continue
        module = getattr(module, part, None)
        if module is None:
            return NotImplemented
    ours = getattr(module, func.__name__, None)
    if ours is None or ours is func:
        return NotImplemented
    given = (args, kwargs)
    if _writes_to_numpy(func.__name__, args, kwargs) or any(
        _is_out_of_scope(leaf, func.__name__) for leaf in _leaves(given)
    ):
        # NumPy's own is asked, and what is ours is read
        args, kwargs = hosted.on_host(given)
        return func(*args, **kwargs)
    if args and computes_itself(args[0]) and not any(
        isinstance(leaf, ndarray) for leaf in _leaves(given)
    ):
        # arrays of ours are the elements of a Series, which NumPy takes for a list
        args = (list(args[0]), *args[1:])
    return ours(*args, **kwargs)


#: what writes to its first argument
_WRITERS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


def _writes_to_numpy(function: str, args: Any, kwargs: dict[str, Any]) -> bool:
    target = args[0] if function in _WRITERS and args else kwargs.get("out")
    return isinstance(target, onp.ndarray)


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, (tuple, list)):
        for part in given:
            yield from _leaves(part)
    elif isinstance(given, dict):
        yield from _leaves(list(given.values()))
    else:
        yield given


def _is_out_of_scope(leaf: Any, function: str) -> bool:
    if leaf is None:  # an array of objects where every argument is an array, as plots have it
        return function in ("broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d")
    return isinstance(leaf, onp.ndarray) and leaf.dtype.kind in "OSUVMm"


def array_repr(arr: ndarray, max_line_width: Any = None, precision: Any = None,
               suppress_small: Any = None) -> str:  # fmt: skip
    """What ``numpy`` prints for the same data; reads. See ``numpy.array_repr``."""
    if not isinstance(arr, ndarray):
        return onp.array_repr(arr, max_line_width, precision, suppress_small)
    data = arr.read()
    if type(arr) is ScalarArray:
        return repr(data[()])
    return onp.array_repr(data, max_line_width, precision, suppress_small)


def array_str(a: ndarray, max_line_width: Any = None, precision: Any = None,
              suppress_small: Any = None) -> str:  # fmt: skip
    """What ``numpy`` prints for the same data; reads. See ``numpy.array_str``."""
    if not isinstance(a, ndarray):
        return onp.array_str(a, max_line_width, precision, suppress_small)
    data = a.read()
    if type(a) is ScalarArray:
        return str(data[()])
    return onp.array_str(data, max_line_width, precision, suppress_small)


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """As ``numpy.array2string``; reads."""
    return onp.array2string(onp.asarray(a), *args, **kwargs)


def rebuilt(data: onp.ndarray[Any, Any], scalar: bool) -> ndarray:
    """The array that was pickled."""
    value = lazyloom.from_host(data)
    return wrap(value) if scalar else ndarray.from_value(value)


def dlpack(x: ndarray, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A DLPack capsule of the data; the capsule shares it unless a copy is asked for."""
    if dl_device is not None and tuple(dl_device) != dlpack_device(x):
        raise BufferError(f"__dlpack__: device {dl_device} was asked for, the data is on "
                          f"{dlpack_device(x)}")  # fmt: skip
    if copy:
        return x.read().__dlpack__()
    return lazyloom.to_dlpack(x.value, stream=stream)


def dlpack_device(x: ndarray) -> tuple[int, int]:
    """The DLPack device of the data (evaluates it)."""
    kind, number = lazyloom.dlpack_device(x.value)
    return int(kind), int(number)


def host_view(x: ndarray, copy: bool | None = None) -> onp.ndarray[Any, Any]:
    """The data as a read-only NumPy array, in the value's own memory where that is the host's.

    A value that is shared so is never donated. With ``copy=False``, ValueError where the memory
    cannot be shared: on another device, or for a dtype that DLPack has no name for in NumPy.
    """
    try:
        return onp.from_dlpack(x)
    except (BufferError, RuntimeError):
        if copy is False:
            raise ValueError(
                f"__array__: {x.dtype} data on {x.device} cannot be given to NumPy without a copy; "
                "pass copy=None or copy=True") from None
    data: onp.ndarray[Any, Any] = x.read()
    data.flags.writeable = False
    return data
