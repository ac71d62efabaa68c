"""Cases of the universal functions, their methods, and how floating-point errors are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.numpy.coverage.case import FLOATS, INTS, Case, case

REAL_FLOATS = ["float16", *FLOATS]


def _names(names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{n}" for n in names.split())


def _each(names: str, prepare: Callable[..., Any] = lambda m, *x: x) -> Callable[..., Any]:
    """Every function of what the arrays are made into, with results of one dtype kept apart."""

    def call(m: Any, *arrays: Any) -> list[Any]:
        operands = prepare(m, *arrays)
        return [getattr(m, n)(*operands) for n in names.split()]

    return call


def _group(names: str, dtypes: Any, prepare: Any = lambda m, *x: x, operands: int = 1,
           **options: Any) -> Case:  # fmt: skip
    shapes = [((3, 4),) + ((4,),) * (operands - 1)]
    return case(_names(names), _each(names, prepare), shapes, dtypes, **options)


def _small(m: Any, x: Any) -> Any:
    return (x / 8,)


def _above_one(m: Any, x: Any) -> Any:
    return (abs(x) + 1,)


def _shifts(m: Any, a: Any, b: Any) -> Any:
    return a, b % 4


def _nonzero(m: Any, a: Any, b: Any) -> Any:
    return a, m.where(b == 0, m.ones_like(b), b)


def _powers(m: Any, a: Any, b: Any) -> Any:
    return abs(a) + m.ones_like(a), b % 3


def _errors(m: Any) -> Any:
    """The settings, their nesting, and what is raised; the same with both modules."""
    before = m.seterr(all="ignore")
    try:
        told: list[Any] = []
        old = m.seterrcall(lambda text, bit: told.append((text, bit)))
        with m.errstate(divide="call", under="raise"):
            inner = m.geterr()
            quotient = (m.array([1.0, -1.0]) / m.zeros(2)).tolist()
        with m.errstate(invalid="raise"):
            try:
                m.sqrt(m.array([-1.0])).tolist()
            except FloatingPointError as error:
                told.append(str(error).partition(" (")[0])
        callback = m.geterrcall() is not None
        m.seterrcall(old)
        return inner, m.geterr(), quotient, told, callback
    finally:
        m.seterr(**before)


def _at(m: Any, x: Any) -> Any:
    added, divided, negated, smallest = (m.array(x) for _ in range(4))
    m.add.at(added, [0, 0, -1], x[1])
    m.subtract.at(added, (slice(None), [1, 1]), 2)
    m.floor_divide.at(divided, ([0, 2, 0], [1, 1, 1]), 2)
    m.negative.at(negated, [0, 1, 0])
    m.minimum.at(smallest, m.array([1, 1]), 0)
    m.logical_xor.at(smallest, [2], 1)
    return added, divided, negated, smallest


def _out(m: Any, a: Any, b: Any) -> Any:
    out, low, high = m.zeros((3, 4)), m.zeros((3, 4)), m.zeros((3, 4))
    result = m.add(a, b, out=out)
    m.modf(out, out=(low, None))
    m.multiply(a, b, where=a > 0, out=high)
    m.subtract(high[:, 1:], high[:, :-1], out=high[:, 1:])
    return result is out, out, low, high, m.add(a, b, dtype="f8", casting="unsafe", order="F")


def _loops(m: Any, a: Any, b: Any) -> Any:
    return (m.add(a, b, signature="dd->d"), m.sqrt(abs(a), sig=("f", "f"), casting="unsafe"),
            m.true_divide(a, b * b + 1, dtype="d"))  # fmt: skip


def _attributes(m: Any) -> Any:
    chosen = [m.add, m.divmod, m.sqrt, m.logical_and, m.bitwise_and, m.matmul, m.subtract]
    return [(f.nin, f.nout, f.nargs, f.identity, f.signature, f.types, f.ntypes) for f in chosen]


def _resolved(m: Any) -> Any:
    a, b = m.dtype("int8"), m.dtype("float32")
    return (m.add.resolve_dtypes((a, b, None)), m.equal.resolve_dtypes((a, int, None)),
            m.multiply.resolve_dtypes((None, a, None), reduction=True))  # fmt: skip


def _vectorized(m: Any, a: Any, b: Any) -> Any:
    larger = m.vectorize(lambda x, y: x if x > y else y)
    parts = m.vectorize(lambda x: (int(x), x / 2), otypes=["i4", "f8"])
    dots = m.vectorize(lambda u, v: (u * v).sum(), signature="(n),(n)->()")
    scaled = m.vectorize(lambda x, scale=1: x * scale, excluded=["scale"], cache=True)
    return larger(a, b), parts(a), dots(a, b), scaled(b, scale=3)


CASES: list[Case] = [
    _group("sin cos tan sinh cosh tanh arctan atan arcsinh asinh exp expm1",
           ["float16", "float64", "complex64"], scale=8),
    _group("exp2 negative positive conjugate conj square absolute abs sign",
           ["float32", "int8", "complex128"], scale=16),
    _group("arcsin asin arccos acos arctanh atanh", ["float32", "float64", "complex64"], _small,
           scale=64),
    _group("arccosh acosh log log2 log10 log1p sqrt reciprocal",
           ["float16", "float64", "complex64"], _above_one, scale=64),
    _group("cbrt fabs degrees rad2deg radians deg2rad", REAL_FLOATS, scale=4),
    _group("floor ceil trunc rint isnan isinf isfinite", ["bool", "int32", "float16", "float64"],
           exact=True),
    _group("signbit spacing modf frexp", FLOATS, exact=True),
    _group("invert bitwise_not bitwise_invert", ["bool", *INTS, "int8"]),
    _group("bitwise_count", ["bool", *INTS, "int8", "uint64"]),
    _group("logical_not", ["bool", "int8", "float64", "complex64"]),
    _group("add subtract multiply", ["float16", "float64", "uint8", "complex64",
                                     ("uint64", "int64"), ("float32", "int16")], operands=2),
    _group("divide true_divide", ["float16", "float32", "int64", "bool", "complex128"],
           _nonzero, operands=2),
    _group("floor_divide remainder mod fmod divmod",
           ["float16", "float64", "uint8", ("int8", "uint8")], _nonzero, operands=2),
    _group("power pow float_power", ["float32", "int32", "complex128"], _powers, operands=2,
           scale=16),
    _group("maximum minimum fmax fmin", ["float16", "float64", "uint8", "bool", "complex64"],
           operands=2),
    _group("equal not_equal less less_equal greater greater_equal",
           ["bool", "float32", "complex128", ("uint64", "int64")], operands=2),
    _group("logical_and logical_or logical_xor",
           ["bool", "int32", "float64", ("complex64", "uint8")], operands=2),
    _group("bitwise_and bitwise_or bitwise_xor", ["bool", *INTS, ("int8", "uint8")], operands=2),
    _group("left_shift right_shift bitwise_left_shift bitwise_right_shift gcd lcm",
           [*INTS, "int8"], _shifts, operands=2),
    _group("arctan2 atan2 copysign hypot logaddexp logaddexp2 heaviside",
           ["float16", "float64", "int16"], operands=2, scale=16),
    _group("nextafter", ["float32", "float64", ("float32", "float64")], operands=2, exact=True),
    _group("ldexp", [("float32", "int32"), ("float64", "int64"), ("int16", "int8")], operands=2),
    case(_names("matmul vecdot matvec vecmat"), lambda m, a, b, v: (
        m.matmul(a, b), m.vecdot(a, a), m.matvec(a, v), m.vecmat(a[0, :, 0], b[0, :3]),
        m.matmul(a, b, axes=[(-2, -1), (-2, -1), (-1, -2)]), m.vecdot(a, a, axis=1, keepdims=True)),
         shapes=[((2, 3, 4), (2, 4, 3), (4,))],
         dtypes=["bool", "float32", "complex128"], scale=8),
    case("numpy.ufunc.reduce", lambda m, x: (
        m.add.reduce(x), m.multiply.reduce(x, axis=1, keepdims=True),
        m.maximum.reduce(x, axis=None), m.subtract.reduce(x, axis=0, initial=7),
        m.add.reduce(x, where=x.real > 0),
        m.logical_and.reduce(x, axis=-1), m.add.reduce(x[:0]), m.minimum.reduce(
            x, axis=(0, 1), initial=100, where=x.real > 1)),
         shapes=[((3, 4),)], dtypes=["float32", "uint8", "complex128"], scale=4),
    case("numpy.ufunc.reduce", lambda m, x: (
        m.bitwise_and.reduce(x), m.gcd.reduce(x, axis=1), m.bitwise_xor.reduce(x, axis=None),
        m.floor_divide.reduce(x, axis=0), m.left_shift.reduce(x % 3, axis=0)),
         shapes=[((3, 4),)], dtypes=["int64", "uint8"], low=1),
    case("numpy.ufunc.reduce", lambda m, x: m.subtract.reduce(x, axis=None),
         shapes=[((3, 4),)], dtypes=["float64"]),
    case("numpy.ufunc.reduce", lambda m, x: m.maximum.reduce(x), shapes=[((0, 3),)],
         dtypes=["float64"]),
    case("numpy.ufunc.accumulate", lambda m, x: (
        m.add.accumulate(x), m.multiply.accumulate(x, axis=1), m.minimum.accumulate(x, axis=-1),
        m.subtract.accumulate(x), m.logical_or.accumulate(x), m.add.accumulate(x, dtype="c16")),
         shapes=[((3, 4),)], dtypes=["float64", "int32", "complex64"], scale=4),
    case("numpy.ufunc.reduceat", lambda m, x: (
        m.add.reduceat(x, [0, 2, 1, 1], axis=1), m.maximum.reduceat(x, [0, 2]),
        m.subtract.reduceat(x, [1, 2]), m.multiply.reduceat(x, [0, 3], axis=1)),
         shapes=[((3, 4),)], dtypes=["int8", "float32"], scale=4),
    case("numpy.ufunc.reduceat", lambda m, x: m.add.reduceat(x, [0, 4], axis=1),
         shapes=[((3, 4),)]),
    case("numpy.ufunc.outer", lambda m, x, y: (
        m.multiply.outer(x, y), m.less.outer(y, x[0]), m.divmod.outer(x, y + 7)),
         shapes=[((2, 3), (4,)), ((), (2,))], dtypes=["int16", "float64"]),
    case("numpy.ufunc.at", _at, shapes=[((3, 4),)], dtypes=["int8", "float64"]),
    case("numpy.ufunc.at", lambda m, x: m.add.at(x, [5], 1), shapes=[((3,),)]),
    case(tuple(f"numpy.ufunc.{n}" for n in ("nin", "nout", "nargs", "identity", "signature",
                                            "types")), _attributes),  # fmt: skip
    case("numpy.ufunc.resolve_dtypes", _resolved),
    case("numpy.add", _out, shapes=[((3, 4), (4,))], dtypes=FLOATS),
    case("numpy.sqrt", _loops, shapes=[((3, 4), (4,))], dtypes=["float32", "int32"]),
    case("numpy.add", lambda m, x: m.add(x, 1.5, out=m.zeros(3, int)), shapes=[((3,),)]),
    case("numpy.add", lambda m, x: m.add(x, 2**40, dtype="i4"), shapes=[((3,),)],
         dtypes=["int32", "uint8"]),
    case(_names("errstate seterr geterr seterrcall geterrcall"), _errors,
         reads="the case prints its results"),
    case("numpy.frompyfunc", lambda m, a, b: m.asarray(
        m.frompyfunc(lambda x, y: x if x > y else y, 2, 1)(a, b).astype(a.dtype)),
         shapes=[((2, 3), (3,))], dtypes=["int64", *FLOATS],
         reads="the function is Python and is called with numbers"),
    case("numpy.vectorize", _vectorized, shapes=[((2, 3), (3,))], dtypes=["int64", *FLOATS],
         reads="the function is Python and is called with numbers"),
]  # fmt: skip
