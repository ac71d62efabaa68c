"""What the operators of arrays mean: the common cases by table, the rest by the ufuncs.

The runtime's operators (:mod:`lazyloom.tensor.operators`) record the cases listed here at once: two
arrays of one dtype whose loop is one op, or a floating-point array and a Python number.
Everything else, and whatever fails, goes through the ufunc of that name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from lazyloom import dtypes
from lazyloom.frontend import FLOATS, INTS, MATMUL, NAMES, Operators, set_operators

from . import errstate
from . import ufunc as _u

#: the ufunc of each operator, in the order of ``NAMES``
UFUNCS: Final = ("add", "subtract", "multiply", "divide", "matmul", "less", "less_equal",
                 "greater", "greater_equal", "negative")  # fmt: skip

_INTEGERS: Final = tuple(d for d in dtypes.ALL if d.is_integer)
#: ml_dtypes' bfloat16 meets Python numbers by rules of its own
_FLOATING: Final = (dtypes.float16, dtypes.float32, dtypes.float64)
_COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
_ARITHMETIC: Final = ("add", "sub", "mul", "matmul", "neg")
_ORDER: Final = ("lt", "le", "gt", "ge")


def _general(function: Any) -> Callable[..., Any]:
    if function.nin == 1:
        return lambda a: function(a)

    def operation(a: Any, b: Any) -> Any:
        return _u.binary(function, a, b)

    return operation


def _in_place(function: Any) -> Callable[..., Any]:
    def operation(target: Any, other: Any) -> Any:
        return _u.inplace(function, target, other)

    return operation


def _immutable(symbol: str) -> Callable[..., Any]:
    plain = getattr(operator, symbol)

    def method(self: Any, other: Any) -> Any:
        return plain(self, other)

    method.__name__ = f"__i{symbol.strip('_')}__"
    return method


def register(array: Any, scalar: type, get_item: Any) -> None:
    """Give the array class its operators; ``scalar`` is the class of 0-d results.

    ``get_item`` is the function for ``x[index]``.

    Like a number's, a scalar's operators in place make a new one.
    """
    for symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_",
                   "or_", "xor", "lshift", "rshift"):  # fmt: skip
        setattr(scalar, f"__i{symbol.strip('_')}__", _immutable(symbol))
    functions = [_u.TABLE[name] for name in UFUNCS]
    operators = Operators(
        array, scalar, [_general(f) for f in functions],
        [_in_place(f) for f in functions[: MATMUL + 1]], True, get_item, scalar,
        array._as_float, array._truth,
        [_general(_u.TABLE["equal"]), _general(_u.TABLE["not_equal"]), lambda a: a**2,
         _u.TABLE["absolute"]])
    for name, function in zip(NAMES, functions, strict=True):
        op = function.op or "matmul"
        numbers = 0 if name in ("matmul", "neg") else FLOATS | INTS
        if name in _ARITHMETIC or name in _ORDER:
            for d in _INTEGERS:
                operators.define(name, d, op)
        for d in _FLOATING:
            operators.define(name, d, op, numbers)
        if name not in _ORDER:
            for d in _COMPLEX:
                operators.define(name, d, op)
    def negated(a: Any) -> Any:
        if not isinstance(a, scalar):
            return functions[-1](a)
        with errstate.of_scalars():
            return functions[-1](a)

    checked = Operators(
        array, scalar, [*operators.general[:-1], negated], operators.general_in_place, False,
        get_item, None, array._as_float, array._truth)

    def switch(on: bool) -> None:
        set_operators(array, checked if on else operators)

    set_operators(array, operators)
    errstate.on_switch(switch)
