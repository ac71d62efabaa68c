"""What NumPy does itself, on the host: dtypes that no device has, and functions of others.

Arrays of strings, bytes, objects, records, dates and extended precision stay NumPy's own arrays.
A function that meets one raises :class:`~.dtypes.HostOnly` where it converts its arguments; it is
then NumPy's function of that name that is called, with what is ours read, and what comes back is
ours again where a device has its dtype.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from sys import getrefcount
from types import FunctionType
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import as_dtype
from lazyloom.frontend import to_host

from .._arguments import dtypes as dt
from .._arguments.convert import computes_itself
from .ndarray import ScalarArray, assign, ndarray, wrap


def on_host(given: Any) -> Any:
    """What was given with arrays of ours read, inside of sequences and dicts, too."""
    kind = type(given)
    if isinstance(given, lazyloom.Tensor):
        data = given.read()
        return data[()] if kind is ScalarArray else data
    if kind is list or kind is tuple:
        return kind([on_host(part) for part in given])
    if kind is dict:
        return {key: on_host(part) for key, part in given.items()}
    return given


def ours(result: Any) -> Any:
    """What NumPy gave as arrays of ours where a device has the dtype; the rest as it is."""
    kind = type(result)
    if kind is onp.ndarray or isinstance(result, onp.generic):
        try:
            as_dtype(result.dtype)
        except lazyloom.errors.DTypeError:
            return result
        value = lazyloom.from_host(onp.asarray(result))
        return ndarray.from_value(value) if kind is onp.ndarray else wrap(value)
    if kind is list or kind is tuple:
        return kind([ours(part) for part in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[ours(part) for part in result])
    return result


def call(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's kind on the host; what it writes to ``out`` goes to arrays of ours."""
    out = kwargs.get("out")
    given = {key: on_host(part) for key, part in kwargs.items() if key != "out"}
    if out is None:
        result = function(*on_host(tuple(args)), **given)
        # a number that a data frame computed itself stays NumPy's, as its own methods give it
        own = isinstance(result, onp.generic) and args and computes_itself(args[0])
        return result if own else ours(result)
    targets = out if isinstance(out, tuple) else (out,)
    written = tuple([on_host(target) for target in targets])
    result = function(*on_host(tuple(args)), **given,
                      out=written if isinstance(out, tuple) else written[0])  # fmt: skip
    for target, host in zip(targets, written):
        if isinstance(target, ndarray):
            assign(target, lazyloom.from_host(onp.asarray(host)), "output array")
    results = result if isinstance(result, tuple) else (result,)
    given_back = tuple([
        next((t for t, host in zip(targets, written) if host is r and r is not None), ours(r))
        for r in results])
    return given_back if isinstance(result, tuple) else given_back[0]


def asnumpy(x: Any) -> onp.ndarray[Any, Any]:
    """The data as a NumPy array, which shares no memory with any array of ours; reads."""
    references = getrefcount(x)
    if type(x) is ndarray:
        return to_host(x, references)  # type: ignore[no-any-return]
    return x.read() if isinstance(x, lazyloom.Tensor) else onp.asarray(x)


#: the operators of ufuncs that an array's class may have another meaning for
_OPERATORS: Final = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "matmul": operator.matmul}  # fmt: skip


def operate(function: Any, a: Any, b: Any) -> Any:
    """An operator with an array that is NumPy's; its class decides whether it goes first."""
    other = b if isinstance(a, lazyloom.Tensor) else a
    if isinstance(other, onp.ndarray) and type(other) is not onp.ndarray:
        # a derived class has operators of its own: masked arrays, matrices
        a, b = on_host(a), on_host(b)
        symbol = _OPERATORS.get(function.__name__)
        return ours(function(a, b) if symbol is None else symbol(a, b))
    return call(function, (a, b), {})


#: what writes to its first argument
_WRITERS: Final = frozenset(
    ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))


def call_writing(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """:func:`call` of a function that writes to its first argument."""
    target = args[0] if args else None
    if not isinstance(target, ndarray):
        return function(*on_host(tuple(args)), **on_host(dict(kwargs)))
    host = target.read()
    result = function(host, *on_host(tuple(args[1:])), **on_host(dict(kwargs)))
    assign(target, lazyloom.from_host(host))
    return result


def again(name: str, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function of that name for a call that was refused; options of no effect are left."""
    given = {key: x for key, x in kwargs.items() if x is not None and x is not False and (
        key != "where" or x is not True)}  # fmt: skip
    return call(getattr(onp, name), args, given)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """NumPy's matrix of blocks, of which those that are ours are read. See ``numpy.bmat``.

    A text names variables of the caller's.
    """
    if not isinstance(obj, str):
        return onp.bmat(on_host(obj))
    frame = sys._getframe(1)
    names = {**(frame.f_globals if gdict is None else gdict),
             **(frame.f_locals if ldict is None else ldict)}  # fmt: skip
    return onp.bmat(obj, {k: on_host(v) for k, v in names.items() if isinstance(v, (
        lazyloom.Tensor, onp.ndarray))}, names)  # fmt: skip


_OURS: Final = frozenset((ndarray, ScalarArray))


def hosted(function: Any, numpys: Any) -> Any:
    """A function that leaves to NumPy's what no device has a dtype for."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args or type(args[0]) in _OURS or not computes_itself(args[0]):
            try:
                return function(*args, **kwargs)
            except dt.HostOnly:
                pass
        return call(numpys, args, kwargs)

    @functools.wraps(function)
    def writer(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], onp.ndarray):
            return call_writing(numpys, args, kwargs)
        try:
            return function(*args, **kwargs)
        except dt.HostOnly:
            pass
        return call_writing(numpys, args, kwargs)

    return writer if function.__name__ in _WRITERS else wrapper


#: functions that see to it themselves: they count who else has what they are given, or have no
#: argument that a device could not have, or are called so often that one more call would show
_THEMSELVES: Final = frozenset("""
    array asarray asanyarray asnumpy from_dlpack zeros reshape where
    sum prod max min amax amin mean argmax argmin
    array_repr array_str array2string
""".split())


def install(namespace: dict[str, Any], numpys: Any) -> None:
    """Put :func:`hosted` around the functions of a module that NumPy has, too."""
    made: dict[Any, Any] = {}  # of two names of one function, both get one
    for name, function in list(namespace.items()):
        theirs = getattr(numpys, name, None)
        if name.startswith("_") or name in _THEMSELVES or not isinstance(function, FunctionType):
            continue
        if not callable(theirs) or not function.__module__.startswith("lazyloom_numpy") or (
            theirs is function
        ):
            continue
        if function not in made:
            made[function] = hosted(function, theirs)
            # where it is found, for pickle
            made[function].__module__, made[function].__qualname__ = namespace["__name__"], name
        namespace[name] = made[function]
