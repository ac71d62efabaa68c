"""What makes a 0-d result pass for the scalar that NumPy returns in its place.

A result stays pending, so that it is an array of ours. By ``__class__`` it says that it is an
instance of NumPy's scalar type: ``isinstance(s, float)`` is asked that way, and so are the abstract
classes of ``numbers``. Python code that asks goes on by duck typing, which works. C code does not
ask, it looks at the type itself: what it takes is known by the slots for ``float`` and ``int``.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.frontend import hold

from ._array import ndarray


def attribute(x: Any, name: str) -> Any:
    """What NumPy's scalar has and arrays do not, such as ``is_integer``; its methods read."""
    if name.startswith("_"):  # the slot of an array that is no view, mostly
        raise AttributeError(name)
    kind = x.tensor_type.dtype.numpy.type
    if not hasattr(kind, name):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
    if not callable(getattr(kind, name)):
        return getattr(x.read()[()], name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return getattr(x.read()[()], name)(*args, **kwargs)

    method.__name__ = name
    return method


def host_number(given: Any) -> Any:
    """What a scalar is made of: a number that NumPy knows, or a float of another one."""
    found = onp.asarray(given)
    if found.dtype == object:
        found = onp.asarray(float(given))
    if found.shape:
        raise TypeError(
            f"a scalar was made of an array of shape {found.shape}, expected one number")
    return found


#: Python's operators by the names of ufuncs
_OPERATORS: Final = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow"}  # fmt: skip

_TEXT: Final = (str, bytes, bytearray)  # Python repeats it


def of_number(name: str, a: Any, b: Any) -> Any:
    """An operator with an object that is no array: a scalar's number, if the object wants one.

    ``timedelta``, ``Decimal`` and ``Fraction`` know Python's numbers by their types. Where an
    object takes a scalar of ours as it is, nothing is read. NotImplemented for arrays.
    """
    symbol = _OPERATORS.get(name)
    if symbol is None or isinstance(a, _TEXT) or isinstance(b, _TEXT):
        return NotImplemented
    plain = getattr(operator, symbol)
    if type(b) is ScalarArray:  # Python has asked the object
        return plain(a, b.item())
    if type(a) is not ScalarArray:
        return NotImplemented
    reflected = getattr(type(b), f"__r{symbol}__", None)
    found = NotImplemented if reflected is None else reflected(b, a)
    return found if found is not NotImplemented else plain(a.item(), b)


class NoLength(AttributeError, TypeError):
    """Scalars have no length: for who asks by ``hasattr``, and for who asks by ``len``."""


class Missing:
    """An attribute that arrays have and scalars do not."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise NoLength(self.text)


class ScalarArray(ndarray):
    """A 0-d result: what NumPy returns as a scalar.

    Like NumPy's scalars it is no view, ``s += 1`` makes a new one, and it is hashable (which
    reads it); unlike them it is an ``ndarray``, so that it stays pending and, as the array API
    standard has it for arrays of no dimension, ``s[...] = 1`` writes to it.
    """

    __slots__ = ()
    __iter__ = None  # type: ignore[assignment]
    __len__ = Missing("a 0-d result has no len()")  # type: ignore[assignment]

    def __init__(self, value: Any = 0.0) -> None:
        hold(self, lazyloom.from_host(host_number(value)))

    @property
    def __class__(self) -> Any:
        """NumPy's type of such scalars, as ``isinstance`` asks; ``type(x)`` is the array's."""
        return self.tensor_type.dtype.numpy.type

    def __getattr__(self, name: str) -> Any:
        return attribute(self, name)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.item())

    def _one_element(self) -> Any:
        # a complex scalar becomes real with NumPy's warning, where a 0-d array is refused
        return self.read()[()]

    def __round__(self, ndigits: Any = None) -> Any:
        return round(self.read()[()], ndigits)

    def __trunc__(self) -> int:
        return math.trunc(float(self))


def _teach_json() -> None:
    """Let ``json`` write what it writes of NumPy's scalars, and say what to do with the others.

    Its encoder looks for floats by their type in C, and asks ``default`` about what it does not
    know; in Python (``indent=``, ``json.dump``) by ``isinstance``, and formats by a method of
    ``float`` itself.
    """
    from json import encoder

    inner, make = encoder.JSONEncoder.default, getattr(encoder, "_make_iterencode", None)

    def default(self: Any, o: Any) -> Any:
        if type(o) is ScalarArray:
            if isinstance(o, float):
                return o.item()
            raise TypeError(
                f"Object of type {o.dtype.name} is not JSON serializable: give it as x.item()")
        if isinstance(o, ndarray):
            raise TypeError(
                f"Object of type {type(o).__name__} is not JSON serializable: give it as "
                "x.tolist()")
        return inner(self, o)

    def _make_iterencode(markers: Any, ask: Any, text: Any, indent: Any, floatstr: Any,
                         *args: Any, **kwargs: Any) -> Any:  # fmt: skip
        def formatted(o: Any) -> str:
            return str(floatstr(o if type(o) is not ScalarArray else o.item()))

        return make(markers, ask, text, indent, formatted, *args, **kwargs)

    encoder.JSONEncoder.default = default  # type: ignore[method-assign]
    if make is not None:  # no part of the documented interface
        encoder._make_iterencode = _make_iterencode


_teach_json()
