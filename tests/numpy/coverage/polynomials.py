"""Cases of polynomials, of window functions and of what these are made of."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import FLOATS, NUMERIC, Case, case

LEADING = "how many coefficients there are depends on data"
REAL = "the dtype depends on the roots"
WINDOWS = ("bartlett", "blackman", "hamming", "hanning")


def ordered(m: Any, x: Any) -> Any:
    """Roots in an order that rounding does not change."""
    return m.sort_complex(m.round(x, 6)), x.dtype


def arithmetic(m: Any, a: Any, b: Any) -> Any:
    p, q = m.poly1d(a), m.poly1d(b)
    found = [p + q, p - q, p * q, *(p / q), p**2, -p, +p, p * 2, 2 * p, p + 1, 1 - p, p + [1, 2],
             p / 2, 2.0 / m.poly1d([4.0]), p.deriv(), p.integ(2, 1), p(q)]  # fmt: skip
    return [x.coeffs for x in found], p(3), p(b), p[0], p[99], p == p, p != q, list(p)


def changed(m: Any, a: Any) -> Any:
    p = m.poly1d(a)
    p[1] = 7
    p[len(a) + 1] = 2
    p.coeffs += 1
    return p.coeffs, p.order, len(p), p.variable


def refused(m: Any, what: str) -> Any:
    p = m.poly1d([1, 2])
    if what == "coeffs":
        p.coeffs = [1]
    elif what == "power":
        p[-1] = 2
    return {"exponent": lambda: p ** -1, "ndim": lambda: m.poly1d([[1]]), "hash": lambda: hash(p)}[
        what]()


CASES: list[Case] = [
    case(("numpy.polyadd", "numpy.polysub"), lambda m, a, b: (
        m.polyadd(a, b), m.polysub(a, b), m.polyadd(b, a), m.polysub(a, 2), m.polyadd([1, 2], b)),
         shapes=[((3,), (5,)), ((), (2,))], dtypes=NUMERIC),
    case("numpy.polymul", lambda m, a, b: (m.polymul(a, b), m.polymul(a * 0, b)),
         shapes=[((3,), (5,)), ((2,), (2,)), ((), (2,))], dtypes=NUMERIC, reads=LEADING),
    case("numpy.polymul", lambda m: (m.polymul([0, 1, 2], [0, 0, 3.5]), m.polymul([0, 0], 2))),
    case("numpy.polydiv", lambda m, a, b: (
        m.polydiv(a, b), m.polydiv(b, a), m.polydiv(a, 2.0), m.polydiv(m.polymul(a, b), b)),
         shapes=[((5,), (3,)), ((2,), (2,))], dtypes=["int64", "complex128"], low=1,
         scale=1e4, reads=LEADING),
    case("numpy.polydiv", lambda m: m.polydiv([1.0, -3.0, 2.0], [1.0, -1.0]), reads=LEADING),
    case("numpy.polyder", lambda m, p: (m.polyder(p), m.polyder(p, 2), m.polyder(p, 0)),
         shapes=[((5,),), ((1,),)], dtypes=NUMERIC),
    case("numpy.polyder", lambda m: m.polyder([1, 2], -1)),
    case("numpy.polyint", lambda m, p: (
        m.polyint(p), m.polyint(p, 2, 3), m.polyint(p, 2, k=[1, 2]), m.polyint(p, 0)),
         shapes=[((4,),), ((1,),)], dtypes=NUMERIC),
    case("numpy.polyint", lambda m: m.polyint([1, 2], 3, [1, 2])),
    case("numpy.polyval", lambda m, p, x: (
        m.polyval(p, x), m.polyval(p, 2), m.polyval([1, 2], x), m.polyval(p[:0], x)),
         shapes=[((4,), (3,)), ((1,), (2, 2)), ((3,), ())],
         dtypes=["int64", "complex128", ("float32", "int32"), ("int64", "float32")]),
    case("numpy.poly", lambda m, x: m.poly(x), shapes=[((4,),), ((1,),), ((0,),)],
         dtypes=["uint8", "float16", *FLOATS], scale=4),
    case("numpy.poly", lambda m, x: m.poly(m.concatenate([x, m.conj(x)])), shapes=[((2,),)],
         dtypes=["complex64", "complex128"], scale=8, reads=REAL),
    case("numpy.poly", lambda m, x: m.poly(x), shapes=[((3,),)], dtypes=["complex128"], reads=REAL),
    case("numpy.poly", lambda m, x: m.poly(x), shapes=[((3, 3),)], scale=100, reads=REAL),
    case("numpy.poly", lambda m, x: m.poly(x), shapes=[((2, 3),), ((1, 1, 1),)]),
    case("numpy.roots", lambda m, p: (
        ordered(m, m.roots(p)), ordered(m, m.roots(m.concatenate([p * 0, p, p * 0])))),
         shapes=[((4,),), ((1,),)], dtypes=["int64", "float32", "complex128"], low=1,
         scale=4, reads=LEADING),
    case("numpy.roots", lambda m: (
        m.roots([0, 0]), ordered(m, m.roots([1, -6, 11, -6])), m.roots([5]), m.roots([])),
         reads=REAL),
    case("numpy.roots", lambda m: m.roots([[1, 2]])),
    case("numpy.polyfit", lambda m, x, y: (
        m.polyfit(x, y, 2), m.polyfit(x, y, 1, w=m.arange(1, 7)), m.polyfit(x, y, 0),
        m.polyfit(x, y, 1, cov=True), m.polyfit(x, y, 1, cov="unscaled")),
         shapes=[((6,), (6,)), ((6,), (6, 2))], dtypes=FLOATS, scale=100),
    case("numpy.polyfit", lambda m, y: m.polyfit([0, 1, 2, 3], y, 3), shapes=[((4,),)],
         dtypes=["int32", "float64", "complex128"], scale=1e3),
    case("numpy.polyfit", lambda m, x, y: m.polyfit(x, y, 2, full=True),
         shapes=[((6,), (6,)), ((6,), (6, 2)), ((3,), (3,))], dtypes=FLOATS, scale=100,
         reads="the shape of the residuals depends on the rank"),
    *[case("numpy.polyfit", call, shapes=shapes) for call, shapes in [
        (lambda m, x: m.polyfit(x, x, -1), [((3,),)]),
        (lambda m, x: m.polyfit(x, x, 1), [((3, 1),), ((0,),)]),
        (lambda m, x: m.polyfit(x, x[1:], 1), [((3,),)]),
        (lambda m, x: m.polyfit(x, x, 1, w=x[1:]), [((3,),)]),
        (lambda m, x: m.polyfit(x, x, 2, cov=True), [((3,),)])]],
    case("numpy.poly1d", arithmetic, shapes=[((4,), (2,))],
         dtypes=["int64", "complex128"], low=1, scale=1e3, reads=LEADING),
    case("numpy.poly1d", changed, shapes=[((3,),)], dtypes=["int64", "float32"], low=1,
         reads=LEADING),
    case("numpy.poly1d", lambda m: [
        (str(p), repr(p), p.order, p.variable) for p in (
            m.poly1d([1.0, -2.5, 0.0, 3.0]), m.poly1d([0, 0, 5]), m.poly1d([0]),
            m.poly1d([1 + 2j, 3]), m.poly1d([2, 1], variable="z"), m.poly1d(m.poly1d([1, 2])),
            m.poly1d([1, 2], True))], reads="printing"),
    case("numpy.poly1d", lambda m: (
        ordered(m, m.poly1d([1, -3, 2]).r), m.polyadd(m.poly1d([1, 2]), [1]).coeffs,
        m.polyder(m.poly1d([1, 2, 3])).coeffs, m.polyint(m.poly1d([1, 2, 3])).c,
        m.polyval(m.poly1d([1, 2, 3]), 2), m.polymul(m.poly1d([1, 2]), [0, 1]).coef,
        m.polyval([1, 2], m.poly1d([1, 2, 3])).o, m.poly1d([1, 2]) == [1, 2]), reads=LEADING),
    *[case("numpy.poly1d", lambda m, what=what: refused(m, what))
      for what in ("coeffs", "power", "exponent", "ndim", "hash")],
    *[case(f"numpy.{name}", lambda m, name=name: [
        getattr(m, name)(n) for n in (0, 1, 2, 7, 12, -3, 5.5)], scale=4) for name in WINDOWS],
    case("numpy.kaiser", lambda m: [m.kaiser(n, b) for n in (0, 1, 2, 7) for b in (0, 5, 8.6, 14)],
         scale=16),
    case("numpy.i0", lambda m, x: (m.i0(x), m.i0(x * 9), m.i0(2)),
         shapes=[((6,),), ((),)], dtypes=["bool", "int32", *FLOATS], scale=16),
    case("numpy.i0", lambda m, x: m.i0(x), shapes=[((2,),)], dtypes=["complex64"]),
    case("numpy.sinc", lambda m, x: (m.sinc(x), m.sinc(x * 0), m.sinc(m.round(x)), m.sinc(0.5)),
         shapes=[((6,),), ((2, 0),), ((),)], dtypes=["bool", "float16", *FLOATS, "complex64"],
         scale=4),
]  # fmt: skip
