"""``vectorize``: a Python function called for every element, on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as onp

import lazyloom

from .._array.hosted import asnumpy, ours
from .._array.ndarray import recast


class vectorize:
    """A Python function of numbers made one of arrays, with broadcasting.

    The function is host code: a call reads its arguments and calls it element by element (for
    each vector or matrix that ``signature`` names), as ``numpy.vectorize``, which holds for
    all arguments. A function that is written in array operations needs none of this and stays
    on the device.

    Results of a dtype that no device has, such as object, are NumPy's own arrays.
    """

    def __init__(self, pyfunc: Any = onp._NoValue, otypes: Any = None, doc: str | None = None,
                 excluded: Any = None, cache: bool = False,
                 signature: str | None = None) -> None:  # fmt: skip
        self._options: Final = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache,
            "signature": signature}  # fmt: skip
        self.pyfunc: Any = pyfunc
        self._inner: Any = None
        if pyfunc is not onp._NoValue:
            self._take(pyfunc)

    def _take(self, pyfunc: Callable[..., Any]) -> None:
        self.pyfunc = pyfunc
        self._inner = onp.vectorize(_on_host(pyfunc), **self._options)
        self.otypes = self._inner.otypes
        self.excluded = self._inner.excluded
        self.cache = self._inner.cache
        self.signature = self._inner.signature
        self.__name__ = getattr(pyfunc, "__name__", "vectorize")
        self.__doc__ = self._options["doc"] or getattr(pyfunc, "__doc__", None)

    def __reduce__(self) -> Any:
        return _rebuilt, (self.pyfunc, self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._inner is None:  # @vectorize(otypes=...) decorates
            self._take(args[0])
            return self
        skip = self.excluded
        given = [a if i in skip else _read(a) for i, a in enumerate(args)]
        named = {k: a if k in skip else _read(a) for k, a in kwargs.items()}
        result = self._inner(*given, **named)
        # without a signature NumPy calls a ufunc, whose results have the operands' class
        owner = None if self.signature is not None else next(
            (a for a in args if getattr(a, "_derived", False)), None)
        if isinstance(result, tuple):
            return tuple([_array(r, owner) for r in result])
        return _array(result, owner)


def _rebuilt(pyfunc: Any, options: dict[str, Any]) -> vectorize:
    return vectorize(pyfunc, **options)


def _read(given: Any) -> Any:
    return asnumpy(given) if isinstance(given, lazyloom.Tensor) else given


def _on_host(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results of ours read, so that NumPy can put them together."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = pyfunc(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple([_read(r) for r in result])
        return _read(result)

    return call


def _array(result: Any, owner: Any = None) -> Any:
    # NumPy gives a 0-d array here, not a scalar
    made = ours(result if isinstance(result, (onp.ndarray, onp.generic)) else onp.asarray(result))
    if owner is None or not isinstance(made, lazyloom.Tensor):
        return made
    return recast(made, type(owner), owner)


def frompyfunc(func: Any, /, nin: int, nout: int, *, identity: Any = onp._NoValue) -> Any:
    """NumPy's ufunc of a Python function. See ``numpy.frompyfunc``.

    Its results are of dtype object, and therefore NumPy's own arrays. What it is called with is
    read; ``vectorize(func, otypes=[...])`` gives arrays of numbers.
    """
    given = {} if identity is onp._NoValue else {"identity": identity}
    return onp.frompyfunc(_on_host(func), nin, nout, **given)
