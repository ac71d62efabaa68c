"""Element-wise functions that are no ufuncs in NumPy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.frontend import write_lock

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, is_number, operand, operand_key, param, value_of
from .._arguments.options import memory_order
from .._array.hosted import again
from .._array.layout import keep_order, lay_out
from .._array.ndarray import ScalarArray, ndarray, wrap
from .._ufuncs.outputs import finish, writing
from .._ufuncs.ufunc import TABLE, store
from .joining import concatenate
from .selecting import nonzero
from .sequences import diff
from .sorting import argsort, searchsorted, take

record = lazyloom.record
_MISSING: Any = object()


def _keyed(*operands: Any) -> Any:
    """The common dtype of what :func:`operand` returned."""
    return dt.promote(*(operand_key(x) for x in operands))


def where(condition: Any, x: Any = _MISSING, y: Any = _MISSING, /) -> Any:
    """Elements of x where the condition holds, else of y; ``nonzero`` of one argument.

    See ``numpy.where``.
    """
    if x is _MISSING and y is _MISSING:
        return nonzero(condition)
    if x is _MISSING or y is _MISSING:
        raise ValueError("either both or neither of x and y should be given")
    result = chosen(condition, x, y)
    # of no dimensions it is an array nonetheless
    return ndarray.from_value(result.value) if type(result) is ScalarArray else result


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """:func:`where` within other functions, of which a single number is a scalar."""
    try:
        a, b = operand(x), operand(y)
        d = dt.promote(operand_key(a), operand_key(b))
        if isinstance(condition, ndarray) and condition.tensor_type.dtype is dt.BOOL:
            mask = condition.value
        else:
            mask = value_of(condition, dt.BOOL)
    except dt.HostOnly:
        return again("where", condition, x, y)
    if not (isinstance(a, lazyloom.Value) and a.dtype is d):
        a = _param(a, d)
    if not (isinstance(b, lazyloom.Value) and b.dtype is d):
        b = _param(b, d)
    return keep_order(wrap(lazyloom.record_spec(_WHERE, (mask, a, b))), condition, x, y)


_WHERE = lazyloom.spec("where", 3)


def _param(x: Any, d: Any) -> Any:
    """As :func:`param`; an int that does not fit is cut, as ``numpy.where`` does."""
    if type(x) is int and d.kind in "iu" and not dt.in_range(x, d):
        return dt.unchecked_scalar(x, d)
    return param(x, d)


def rounded(x: Any) -> Any:
    """The array itself, which XLA then does not join with a sum that follows.

    The machine's fused product and sum rounds once, NumPy rounds both; where a result decides
    on a position (a bin, a quantile) the two are not the same.
    """
    return chosen(x == x, x, onp.nan) if x.dtype.kind == "f" else x


def clip(a: Any, min: Any = _MISSING, max: Any = _MISSING, out: Any = None, *,
         a_min: Any = _MISSING, a_max: Any = _MISSING, dtype: Any = None,
         casting: str = "same_kind", where: Any = True, order: str = "K",
         subok: bool = True) -> Any:  # fmt: skip
    """The elements limited to an interval; either end may be None. See ``numpy.clip``.

    The ends are called ``min`` and ``max``, as in the array API standard, or ``a_min`` and
    ``a_max``, as in NumPy. Where ``where`` is false, ``out`` or ``a`` is kept.
    """
    if (min is not _MISSING and a_min is not _MISSING) or (
            max is not _MISSING and a_max is not _MISSING):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are "
                         "provided is forbidden.")  # fmt: skip
    low, high = a_min if min is _MISSING else min, a_max if max is _MISSING else max
    low = None if low is _MISSING else low
    high = None if high is _MISSING else high
    with writing(out):
        return _clipped(a, low, high, out, dtype, casting, where, order)


def _clipped(
    a: Any, low: Any, high: Any, out: Any, dtype: Any, casting: str, where: Any, order: str
) -> Any:
    x = operand(a)
    bounds = [None if b is None else operand(b) for b in (low, high)]
    given = [b for b in bounds if b is not None]
    d = dt.internal(dtype) if dtype is not None else _keyed(x, *given)
    if d.kind in "iu":  # a Python number outside of the dtype on the far side is no limit
        bounds = [None if type(b) is int and not dt.in_range(b, d) and (b < 0) == (i == 0) else b
                  for i, b in enumerate(bounds)]  # fmt: skip
    if d.kind in "bc":
        value = wrap(as_value(x, d))
        for name, b in zip(("maximum", "minimum"), bounds):
            if b is not None:
                value = TABLE[name](value, wrap(as_value(b, d)))
        result = value.value
    elif bounds == [None, None]:
        result = as_value(x, d)
    else:
        limits = (None if b is None else param(b, d) for b in bounds)
        result = record("clip", (param(x, d), *limits))
    if where is not True:
        kept = as_value(x, d) if out is None else as_value(out.value, d)
        result = record("where", (value_of(where, dt.BOOL), result, kept))
    if out is None:
        order = memory_order(order, "K")
        made = wrap(result)
        return keep_order(made, a, low, high) if order == "K" else lay_out(made, order, a)
    store("clip", out, result, casting)
    return out


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to a number of decimals, halves to even. See ``numpy.round``."""
    with writing(out):
        return _rounded(a, decimals, out)


def _rounded(a: Any, decimals: int, out: Any) -> Any:
    value = value_of(a)
    decimals = operator.index(decimals)
    if value.type.dtype is dt.BOOL:
        if decimals:
            raise dt.UFuncTypeError(
                "Cannot cast ufunc 'multiply' output from dtype('float64') to dtype('bool') with "
                "casting rule 'same_kind'")
        value = record("cast", (value,), {"dtype": dt.internal(onp.float16)})
    if value.type.dtype.kind in "iu" and decimals >= 0:
        return finish(value, out, "round", True)
    rounded = finish(record("round", (value,), {"decimals": decimals}), out, "round", True)
    return rounded if out is not None else keep_order(rounded, a)


around = round


def fix(x: Any, out: Any = None) -> Any:
    """Rounded towards zero. See ``numpy.fix``."""
    return TABLE["trunc"](x, out=out)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None,
               neginf: Any = None) -> Any:  # fmt: skip
    """NaN and infinities replaced by finite numbers. See ``numpy.nan_to_num``."""
    value = value_of(x)
    if not copy and isinstance(x, ndarray) and value.type.dtype.kind in "fc":
        with write_lock(x):
            store("nan_to_num", x, nan_to_num(x, True, nan, posinf, neginf).value)
        return x
    if value.type.dtype.kind not in "fc":
        return wrap(value)
    if all(n is None or is_number(n) for n in (nan, posinf, neginf)):
        result = record(
            "nan_to_num", (value,), {"nan": float(nan), "posinf": posinf, "neginf": neginf})
    else:
        result = _replaced(value, nan, posinf, neginf)
    return wrap(result)


def _replaced(value: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """:func:`nan_to_num` by arrays of replacements."""
    x = wrap(value)
    if x.dtype.kind == "c":
        parts = [_replaced(p.value, nan, posinf, neginf) for p in (x.real, x.imag)]
        return record("complex", parts)
    limits = onp.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    for bad, new in ((TABLE["isnan"](x), nan), (isposinf(x), high), (isneginf(x), low)):
        x = chosen(bad, wrap(value_of(new, x.type.dtype)), x)
    return x.value


def real(val: Any) -> Any:
    """The real part; a view where NumPy gives one. See ``numpy.real``."""
    if isinstance(val, ndarray) or is_number(val):
        return val.real
    return wrap(value_of(val)).real


def imag(val: Any) -> Any:
    """The imaginary part. See ``numpy.imag``."""
    if isinstance(val, ndarray) or is_number(val):
        return val.imag
    return wrap(value_of(val)).imag


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers, in radians or degrees. See ``numpy.angle``."""
    value = value_of(z)
    if value.type.dtype.kind == "c":
        result = wrap(record("angle", (value,)))
    else:
        result = TABLE["arctan2"](0, wrap(value))
    return result * (180 / onp.pi) if deg else result


def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part if all imaginary parts are close to 0 (reads). See NumPy's."""
    x = a if type(a) is ndarray else ndarray.from_value(value_of(a))
    if x.type.dtype.kind != "c":
        return x
    if tol > 1:
        tol = float(tol * onp.finfo(x.dtype).eps)
    return x.real if bool((abs(x.imag) < tol).all()) else x


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex. See ``numpy.iscomplexobj``."""
    return bool(value_of(x).type.dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex. See ``numpy.isrealobj``."""
    return not iscomplexobj(x)


def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not zero. See ``numpy.iscomplex``."""
    a = wrap(value_of(x))
    return a.imag != 0


def isreal(x: Any) -> Any:
    """Where the imaginary part is zero. See ``numpy.isreal``."""
    return wrap(value_of(x)).imag == 0


def isposinf(x: Any, out: Any = None) -> Any:
    """Where the element is plus infinity. See ``numpy.isposinf``."""
    a = wrap(value_of(x))
    return TABLE["logical_and"](TABLE["isinf"](a), TABLE["logical_not"](TABLE["signbit"](a)),
                                out=out)  # fmt: skip


def isneginf(x: Any, out: Any = None) -> Any:
    """Where the element is minus infinity. See ``numpy.isneginf``."""
    a = wrap(value_of(x))
    return TABLE["logical_and"](TABLE["isinf"](a), TABLE["signbit"](a), out=out)


def _weak(given: Any) -> Any:
    """A Python number as it is, anything else as an array."""
    return given if is_number(given) else wrap(value_of(given))


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Where ``|a - b| <= atol + rtol * |b|``. See ``numpy.isclose``."""
    x, y = _weak(a), _weak(b)
    if is_number(y):
        y = float(y) if isinstance(y, int) else y
        if is_number(x):
            x = wrap(value_of(x))
    elif y.type.dtype.kind not in "fc":
        y = y.astype(dt.promote(y.type.dtype, float).numpy)
    isfinite = TABLE["isfinite"]
    close = (abs(x - y) <= _weak(atol) + _weak(rtol) * abs(y)) & isfinite(y) | (x == y)
    if equal_nan:
        close = close | (TABLE["isnan"](x) & TABLE["isnan"](y))
    return close


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close; reads. See ``numpy.allclose``."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and elements are equal; reads. See ``numpy.array_equal``."""
    x, y = wrap(value_of(a1)), wrap(value_of(a2))
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = same | (TABLE["isnan"](x) & TABLE["isnan"](y))
    return bool(same.all())


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether the arrays are equal after broadcasting; reads. See ``numpy.array_equiv``."""
    x, y = wrap(value_of(a1)), wrap(value_of(a2))
    try:
        onp.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool((x == y).all())


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None,
           period: Any = None) -> Any:  # fmt: skip
    """Piecewise linear interpolation at ``x`` of points ``(xp, fp)``. See ``numpy.interp``."""
    given = value_of(x)
    if given.type.dtype.kind == "c":
        raise TypeError("Cannot cast array data from dtype('complex128') to dtype('float64') "
                        "according to the rule 'safe'")  # fmt: skip
    a = wrap(as_value(given, dt.FLOAT64))
    points, values = wrap(value_of(xp, dt.FLOAT64)), wrap(value_of(fp))
    if points.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if points.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    values = values.astype(dt.promote(values.type.dtype, dt.FLOAT64).numpy)
    if period is not None:
        if not isinstance(period, lazyloom.Tensor) and period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        a, points = a % period, points % period
        order = argsort(points)
        points, values = take(points, order), take(values, order)
        points = concatenate([points[-1:] - period, points, points[:1] + period])
        values = concatenate([values[-1:], values, values[:1]])
    n = points.size
    if n == 0:
        raise ValueError("array of sample points is empty")
    right_index = clip(searchsorted(points, a, "right"), 1, n - 1) if n > 1 else None
    if right_index is None:
        result = chosen(a == a, values[0], a)
    else:
        x0, x1 = take(points, right_index - 1), take(points, right_index)
        y0, y1 = take(values, right_index - 1), take(values, right_index)

        def line(y0: Any, y1: Any) -> Any:
            width = x1 - x0
            slope = (y1 - y0) / chosen(width == 0, 1.0, width)
            # from the other end where the line comes from infinity
            near, far = slope * (a - x0) + y0, slope * (a - x1) + y1
            found = chosen(near == near, near, far)
            return chosen((found != found) & (y0 == y1), y0, found)

        if values.dtype.kind == "c":
            result = TABLE["add"](line(y0.real, y1.real), 1j * line(y0.imag, y1.imag))
        else:
            result = line(y0, y1)
        result = chosen(a == x1, y1, chosen(a == x0, y0, result))
        result = chosen(a == a, result, a)
    result = chosen(a > points[-1], values[-1] if right is None else right, result)
    result = chosen(a < points[0], values[0] if left is None else left, result)
    return result


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * onp.pi) -> Any:
    """Differences larger than half a period taken out. See ``numpy.unwrap``."""
    a = wrap(value_of(p))
    d = diff(a, axis=axis)
    if discont is None:
        discont = period / 2
    result_dtype = dt.promote(d.type.dtype, operand_key(operand(period))).numpy
    half: Any = period / 2
    even = True
    if result_dtype.kind in "iu":
        half, odd = divmod(period, 2)
        even = not odd
    wrapped = (d + half) % period - half
    if even:
        wrapped = chosen((wrapped == -half) & (d > 0), half, wrapped)
    correction = chosen(abs(d) < discont, 0, wrapped - d)
    key: list[Any] = [slice(None)] * a.ndim
    key[axis] = slice(0, 1)
    rest: list[Any] = [slice(None)] * a.ndim
    rest[axis] = slice(1, None)
    tail = a[tuple(rest)] + correction.cumsum(axis)
    parts = [x.astype(result_dtype) for x in (a[tuple(key)], tail)]
    return concatenate(parts, axis)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Elements of the first choice whose condition holds. See ``numpy.select``."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    operands = [operand(c) for c in (*choicelist, default)]
    d = _keyed(*operands)
    result: Any = _param(operands[-1], d)
    for condition, choice in zip(reversed(condlist), reversed(operands[:-1])):
        mask = value_of(condition)
        if mask.type.dtype is not dt.BOOL:
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        result = record("where", (mask, param(choice, d), result))
    return wrap(result)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function (or constant) where its condition holds. See ``numpy.piecewise``.

    Functions get the whole of ``x``, not the selected elements, as nothing is read.
    """
    a = wrap(value_of(x))
    if onp.ndim(condlist[0] if isinstance(condlist, (list, tuple)) else condlist) == 0 and (
        a.ndim or not isinstance(condlist, (list, tuple))
    ):
        condlist = [condlist]  # one condition
    elif isinstance(condlist, (ndarray, onp.ndarray)) and a.ndim and condlist.ndim == 1:
        condlist = [condlist]
    conditions = [wrap(value_of(c, dt.BOOL)) for c in condlist]
    # as masks they are of the first axes
    conditions = [c.reshape(c.shape + (1,) * (a.ndim - c.ndim)) if 0 < c.ndim < a.ndim else c
                  for c in conditions]
    if len(funclist) == len(conditions) + 1:
        anyone = conditions[0]
        for c in conditions[1:]:
            anyone = anyone | c
        conditions.append(~anyone)
    elif len(funclist) != len(conditions):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or "
                         f"{len(conditions) + 1} functions are expected")
    result = wrap(record("full", (dt.scalar(0, a.type.dtype),), {"shape": a.shape}))
    for condition, f in zip(conditions, funclist):
        piece = f(a, *args, **kw) if callable(f) else f
        piece = as_value(operand(piece), a.type.dtype)
        result = wrap(record("where", (condition.value, piece, result.value)))
    return result
