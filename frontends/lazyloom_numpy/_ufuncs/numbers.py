"""Where scalars pass for Python's numbers: operators with objects of other kinds, and ``json``."""

from __future__ import annotations

import operator
from numbers import Number
from typing import Any, Final

from .._array.hosted import on_host, ours
from .._array.ndarray import ScalarArray, ndarray

#: Python's operators by the names of ufuncs, and what the other operand is asked
_OPERATORS: Final = {
    "add": ("add", "radd"), "subtract": ("sub", "rsub"), "multiply": ("mul", "rmul"),
    "divide": ("truediv", "rtruediv"), "floor_divide": ("floordiv", "rfloordiv"),
    "remainder": ("mod", "rmod"), "power": ("pow", "rpow"), "matmul": ("matmul", "rmatmul"),
    "less": ("lt", "gt"), "less_equal": ("le", "ge"), "greater": ("gt", "lt"),
    "greater_equal": ("ge", "le"), "equal": ("eq", "eq"), "not_equal": ("ne", "ne")}  # fmt: skip

#: what makes the encoder in Python
_ITERENCODE: Final = "_make_iterencode"
_TEXT: Final = (str, bytes, bytearray)  # Python repeats it


def of_number(name: str, a: Any, b: Any) -> Any:
    """An operator with an object that is no array: what it makes of a scalar's number, or of data.

    ``timedelta``, ``Decimal`` and ``Fraction`` know Python's numbers by their types, and SciPy's
    sparse matrices know NumPy's arrays. Where an object takes what is ours as it is, nothing is
    read. NotImplemented where it has no such operator at all.
    """
    found = _OPERATORS.get(name)
    if found is None or isinstance(a, _TEXT) or isinstance(b, _TEXT):
        return NotImplemented
    symbol, reflected = found
    plain = getattr(operator, symbol)
    if symbol in ("eq", "ne"):  # anything may be compared; numbers of other kinds are by value
        if not isinstance(b if isinstance(a, ndarray) else a, Number):
            return NotImplemented
        return ours(plain(on_host(a), on_host(b)))
    if not isinstance(a, ndarray):  # Python has asked the object
        return plain(a, b.item()) if type(b) is ScalarArray else _of_data(plain, a, b, symbol, a)
    answer = getattr(type(b), f"__{reflected}__", None)
    if answer is not None and answer is not getattr(object, f"__{reflected}__", None):
        made = answer(b, a)
        if made is not NotImplemented:
            return made
    if type(a) is ScalarArray:
        return plain(a.item(), b)
    return _of_data(plain, a, b, reflected, b)


def _of_data(plain: Any, a: Any, b: Any, symbol: str, other: Any) -> Any:
    if not (hasattr(other, f"__{symbol}__")
            or hasattr(other, f"__{symbol.removeprefix('r')}__")):  # fmt: skip
        return NotImplemented
    return ours(plain(on_host(a), on_host(b)))


def _teach_json() -> None:
    """Let ``json`` write what it writes of NumPy's scalars, and say what to do with the others.

    Its encoder looks for floats by their type in C, and asks ``default`` about what it does not
    know; in Python (``indent=``, ``json.dump``) by ``isinstance``, and formats by a method of
    ``float`` itself.
    """
    from json import encoder

    inner = encoder.JSONEncoder.default
    make: Any = getattr(encoder, _ITERENCODE, None)  # no part of the documented interface

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

    def made(markers: Any, ask: Any, text: Any, indent: Any, floatstr: Any,
             *args: Any, **kwargs: Any) -> Any:  # fmt: skip
        def formatted(o: Any) -> str:
            return str(floatstr(o if type(o) is not ScalarArray else o.item()))

        return make(markers, ask, text, indent, formatted, *args, **kwargs)

    encoder.JSONEncoder.default = default  # type: ignore[method-assign]
    if make is not None:
        setattr(encoder, _ITERENCODE, made)


_teach_json()
