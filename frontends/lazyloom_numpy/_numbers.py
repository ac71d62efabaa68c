"""Where scalars pass for Python's numbers: operators with objects of other kinds, and ``json``."""

from __future__ import annotations

import operator
from typing import Any, Final

from ._array import ScalarArray, ndarray

#: Python's operators by the names of ufuncs
_OPERATORS: Final = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow"}  # fmt: skip

#: what makes the encoder in Python
_ITERENCODE: Final = "_make_iterencode"
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
