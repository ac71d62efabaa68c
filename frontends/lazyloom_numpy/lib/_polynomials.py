"""Polynomials by their coefficients, the highest power first.

How many coefficients a polynomial has is a matter of its data: products, quotients, roots
and ``poly1d`` drop leading zeros, so they read the coefficients unless they are on the host.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import contains_tensor, value_of
from .._array.ndarray import ndarray, wrap
from .._functions.creation import arange, array, diag, ones, vander, zeros
from .._functions.elementwise import chosen as where
from .._functions.joining import concatenate
from .._functions.manipulation import atleast_1d
from .._functions.matrices import least_squares, precise
from .._functions.products import outer
from .._functions.sequences import convolve
from .._functions.sorting import sort
from .._ufuncs.ufunc import TABLE
from ..linalg import eigvals, inv, lstsq

record = lazyloom.record


def _coefficients(given: Any) -> Any:
    return given.coeffs if isinstance(given, poly1d) else atleast_1d(given)


def _known(given: Any, function: str) -> tuple[Any, Any]:
    """Coefficients as an array here and on the host, which reads them if they are not there."""
    if isinstance(given, poly1d):
        given = given.coeffs
    on_device = isinstance(given, lazyloom.Tensor) or (
        isinstance(given, (list, tuple)) and contains_tensor(given))
    if on_device:
        here = atleast_1d(given)
        return here, lazyloom.read_for_shape(here, function)
    host = onp.atleast_1d(onp.asarray(given))
    return array(host), host


def _as_given(result: Any, *arguments: Any) -> Any:
    """A poly1d where an argument is one."""
    return poly1d(result) if any(isinstance(a, poly1d) for a in arguments) else result


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Two polynomials with zeros before the shorter one."""
    x, y = _coefficients(a1), _coefficients(a2)
    missing = len(y) - len(x)
    if missing > 0:
        x = concatenate((zeros(missing, x.dtype), x))
    elif missing < 0:
        y = concatenate((zeros(-missing, y.dtype), y))
    return x, y


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials. See ``numpy.polyadd``."""
    x, y = _aligned(a1, a2)
    return _as_given(x + y, a1, a2)


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials. See ``numpy.polysub``."""
    x, y = _aligned(a1, a2)
    return _as_given(x - y, a1, a2)


def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, without leading zeros. See ``numpy.polymul``."""
    return _as_given(convolve(_trimmed(a1, "polymul"), _trimmed(a2, "polymul")), a1, a2)


def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials. See ``numpy.polydiv``.

    The remainder has no leading zeros, so it is read.
    """
    dividend, divisor = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    m, n = len(dividend) - 1, len(divisor) - 1
    dtype = dt.promote(dividend.type.dtype, divisor.type.dtype).numpy
    if m < 0:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    scale = 1.0 / divisor[0]
    rest = dividend.astype(dtype)
    quotient = []
    for k in range(m - n + 1):
        factor = scale * rest[k]
        quotient.append(factor)
        rest[k:k + n + 1] -= factor * divisor
    q = _stacked(quotient, dtype) if quotient else zeros(1, dtype)
    known = lazyloom.read_for_shape(rest, "polydiv, remainder")
    first = 0
    while first < len(known) - 1 and onp.isclose(known[first], 0, rtol=1e-14):
        first += 1
    return _as_given(q, u, v), _as_given(rest[first:], u, v)


def _stacked(numbers: list[Any], dtype: Any) -> Any:
    return wrap(record("stack", [x.value for x in numbers])).astype(dtype)


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative. See ``numpy.polyder``."""
    count = int(m)
    if count < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    y = p.coeffs if isinstance(p, poly1d) else _array(p)
    len(y)  # refuses a number
    for _ in range(count):
        y = y[:-1] * arange(len(y) - 1, 0, -1)
    return _as_given(y, p)


def _array(given: Any) -> Any:
    return given if isinstance(given, ndarray) else array(given)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative, with constants ``k``. See ``numpy.polyint``."""
    count = int(m)
    if count < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = zeros(count) if k is None else atleast_1d(k)
    if len(constants) == 1 and count > 1:
        constants = constants[0] * ones(count)
    if len(constants) < count:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    y = p.coeffs if isinstance(p, poly1d) else _array(p)
    for i in range(count):
        y = concatenate((y / arange(len(y), 0, -1), constants[i:i + 1]))
    return _as_given(y, p)


def polyval(p: Any, x: Any) -> Any:
    """A polynomial's values by Horner's rule. See ``numpy.polyval``."""
    coefficients = p.coeffs if isinstance(p, poly1d) else _array(p)
    if isinstance(x, poly1d):
        y: Any = 0
    else:
        x = _array(x)
        y = zeros(x.shape, x.dtype)
    for c in coefficients:
        y = y * x + c
    return y


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these roots, or a matrix's characteristic one. See ``numpy.poly``.

    It is real if complex roots come in conjugate pairs, so complex roots are read.
    """
    points = atleast_1d(seq_of_zeros)
    shape = points.shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        points = eigvals(points)
    elif len(shape) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    elif points.dtype.char not in "fdFD":
        points = points.astype(float)
    n = points.shape[0]
    if not n:
        return 1.0
    one, index = ones(1, points.dtype), arange(n)
    rest = zeros(n, points.dtype)
    for k in range(n):
        # a product by (x - points[k]): what follows the leading 1, up to the power so far
        shifted = points[k] * concatenate((one, rest[:-1]))
        rest = rest - where(index <= k, shifted, 0).astype(points.dtype)
    result = concatenate((one, rest))
    if result.dtype.kind == "c":
        roots_ = points.astype(complex)
        if lazyloom.read_for_shape(
            (_sorted(roots_) == _sorted(roots_.conj())).all(), "poly, real or complex"
        ):
            result = result.real.copy()
    return result


def _sorted(x: Any) -> Any:
    return sort(x)


def roots(p: Any) -> Any:
    """The roots of a polynomial. See ``numpy.roots``.

    How many there are, and whether they are real, is read.
    """
    here, host = _known(p, "roots")
    if host.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = onp.flatnonzero(host)
    if not len(places):
        return zeros(0)
    first, last = int(places[0]), int(places[-1])
    here = here[first:last + 1]
    if here.dtype.kind not in "fc":
        here = here.astype(float)
    n = len(here)
    if n > 1:
        companion = diag(ones(n - 2, here.dtype), -1)
        companion[0] = -here[1:] / here[0]
        found: Any = eigvals(companion)
    else:
        found = zeros(0)
    return concatenate((found, zeros(len(host) - last - 1, found.dtype)))


# ------------------------------------------------------------------------- fitting


def _warn(data: Any, check: lazyloom.Check) -> None:
    warnings.warn(f"Polyfit may be poorly conditioned (called at {check.site})",
                  onp.exceptions.RankWarning, stacklevel=2)  # fmt: skip


lazyloom.register_check("polyfit", _warn)


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None,
            cov: Any = False) -> Any:  # fmt: skip
    """The polynomial of least squares through points. See ``numpy.polyfit``.

    What NumPy warns of (too few distinct points) is warned of when the result is read.
    With ``full`` the rank is read, since there are no residuals where it is too small.
    """
    order = int(deg) + 1
    points, targets = _array(x) + 0.0, _array(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if points.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if points.size == 0:
        raise TypeError("expected non-empty vector for x")
    if targets.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if points.shape[0] != targets.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(points) * onp.finfo(points.dtype).eps
    left, right = vander(points, order), targets
    if w is not None:
        weights = _array(w) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != targets.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = (left * weights[:, None]).astype(left.dtype)
        right = right * (weights[:, None] if right.ndim == 2 else weights)
        right = right.astype(targets.dtype)
    scale = TABLE["sqrt"]((left * left).sum(0))
    left = left / scale
    per_row = scale if right.ndim == 1 else scale[:, None]
    if full:
        c, residuals, rank, s = lstsq(left, right, rcond)
        return c / per_row, residuals, rank, s, rcond
    c, squares, rank = _fit(left, right, rcond)
    lost = record("not_equal", (rank.value, dt.scalar(order, rank.type.dtype)))
    c = wrap(record("checked", (c.value, lost), {"kind": "polyfit", "of": "polyfit"})[0])
    c = c / per_row
    if not cov:
        return c
    base = inv(TABLE["matmul"](left.T, left)) / outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    else:
        if len(points) <= order:
            raise ValueError("the number of data points must exceed order to scale the "
                             "covariance matrix")  # fmt: skip
        factor = squares / (len(points) - order)
    return c, base * factor if targets.ndim == 1 else base[:, :, None] * factor


def _fit(left: Any, right: Any, rcond: Any) -> tuple[Any, Any, Any]:
    """Solution, sums of squared residuals (of each column) and rank; nothing is read."""
    (a, b), target = precise(left, right)
    x, y = wrap(a), wrap(b)
    columns = y[:, None] if y.ndim == 1 else y
    solution, _, rank = least_squares(x, columns, rcond)
    misfit = abs(columns - TABLE["matmul"](x, solution))
    squares = (misfit * misfit).sum(0).astype(target.real.numpy)
    solution = solution.astype(target.numpy)
    return (solution[:, 0] if y.ndim == 1 else solution), squares, rank


# ------------------------------------------------------------------------ the class


def _trimmed(given: Any, function: str = "poly1d") -> Any:
    """The coefficients of a polynomial without leading zeros, one at least."""
    if isinstance(given, poly1d):
        return given.coeffs
    here, host = _known(given, function)
    if host.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    places = onp.flatnonzero(host)
    if not len(places):
        return zeros(1, here.dtype)
    first = int(places[0])
    return here[first:] if first else here


class poly1d:
    """A polynomial of one variable: its coefficients with arithmetic. See ``numpy.poly1d``.

    Args:
        c_or_r: coefficients, the highest power first, or roots.
        r: whether ``c_or_r`` are roots.
        variable: what the variable is called in print.
    """

    __hash__ = None  # type: ignore[assignment]
    #: an array beside it is asked after it, though it gives an array of its coefficients
    __array_priority__ = 1.0

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        known = isinstance(c_or_r, poly1d)
        self._variable: str = variable or (c_or_r._variable if known else "x")
        self._coeffs: Any = _trimmed(poly(c_or_r) if r and not known else c_or_r)

    @property
    def coeffs(self) -> Any:
        """The coefficients, the highest power first."""
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        # p.coeffs += 1 works in place and comes here with the same array
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def variable(self) -> str:
        """What the variable is called in print."""
        return self._variable

    @property
    def order(self) -> int:
        """The degree."""
        return len(self._coeffs) - 1

    o = order

    @property
    def roots(self) -> Any:
        """The roots."""
        return roots(self._coeffs)

    r = roots

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._coeffs.__array__(dtype, copy)

    def __repr__(self) -> str:
        return repr(self._host())

    def __str__(self) -> str:
        return str(self._host())

    def _host(self) -> onp.poly1d:
        """The same as NumPy's, for print."""
        return onp.poly1d(self._coeffs.read(), variable=self._variable)

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coeffs)

    def __call__(self, val: Any) -> Any:
        return polyval(self._coeffs, val)

    def __pos__(self) -> poly1d:
        return self

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __add__(self, other: Any) -> poly1d:
        return poly1d(polyadd(self._coeffs, _trimmed(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(polysub(self._coeffs, _trimmed(other)))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(polysub(_trimmed(other), self._coeffs))

    def __mul__(self, other: Any) -> poly1d:
        if onp.isscalar(other):
            return poly1d(self._coeffs * other)
        return poly1d(polymul(self._coeffs, _trimmed(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return poly1d(self._coeffs / other) if onp.isscalar(other) else polydiv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if onp.isscalar(other):
            return poly1d(other / self._coeffs)
        return polydiv(poly1d(other), self)

    def __pow__(self, val: Any) -> poly1d:
        known: bool = onp.isscalar(val)  # which would narrow the type to one without an order
        if not known or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        result: Any = array([1])
        for _ in range(val):
            result = polymul(self._coeffs, result)
        return poly1d(result)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        if len(self._coeffs) != len(other._coeffs):
            return False
        return (self._coeffs == other._coeffs).all()

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        return not self.__eq__(other)

    def __getitem__(self, val: int) -> Any:
        if not 0 <= val <= self.order:
            return wrap(value_of(self._coeffs.dtype.type(0)))
        return self._coeffs[self.order - val]

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        missing = key - self.order
        if missing > 0:
            self._coeffs = concatenate((zeros(missing, self._coeffs.dtype), self._coeffs))
        self._coeffs[self.order - key] = val

    def integ(self, m: int = 1, k: Any = 0) -> poly1d:
        """An antiderivative; see ``polyint``."""
        return poly1d(polyint(self._coeffs, m, k))

    def deriv(self, m: int = 1) -> poly1d:
        """A derivative; see ``polyder``."""
        return poly1d(polyder(self._coeffs, m))
