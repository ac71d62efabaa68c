"""Cases of array creation, constants and types."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import ALL, NUMERIC, REALS, Case, case

CONSTANTS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi", "False_", "True_", "little_endian")
TYPES = (
    "bool", "bool_", "byte", "cdouble", "complex128", "complex64", "csingle", "double", "float16",
    "float32", "float64", "half", "int16", "int32", "int64", "int8", "int_", "intc", "intp", "long",
    "longlong", "short", "single", "ubyte", "uint", "uint16", "uint32", "uint64", "uint8", "uintc",
    "uintp", "ulong", "ulonglong", "ushort",
)  # fmt: skip
KINDS = ("complexfloating", "floating", "inexact", "integer", "number", "signedinteger",
         "unsignedinteger")  # fmt: skip


def _layout(x: Any) -> tuple[Any, ...]:
    return x, x.strides, x.flags.c_contiguous, x.flags.f_contiguous


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


CASES: list[Case] = [
    case(_n("zeros_like", "ones_like", "full_like"),
         lambda m, x: (m.zeros_like(x), m.ones_like(x, dtype="i4"), m.full_like(x, 1, shape=(2,))),
         shapes=[((3,),), ((),)], dtypes=ALL),
    case(_n("zeros", "ones", "full"),
         lambda m: (m.zeros(3), m.zeros((2, 3), int), m.zeros((), "c8"), m.ones((2, 1), bool),
                    m.full((2, 2), 3), m.full(2, [1.5, 2], dtype="f4"), m.full((), 1j))),
    case(_n("empty", "empty_like"),
         lambda m, x: (m.empty((2, 3), "i2").shape, m.empty(3).dtype, m.empty_like(x).dtype,
                       m.empty_like(x, shape=(4, 1)).shape), shapes=[((3,),)], dtypes=ALL),
    case("numpy.zeros_like", lambda m, x: (*_layout(m.zeros_like(x.T)), *_layout(
         m.zeros_like(x.T, order="C"))), shapes=[((2, 3),)]),
    case(_n("array", "asarray", "asanyarray", "copy", "asarray_chkfinite"),
         lambda m, x: (m.array(x, copy=True), m.asarray(x[None])[0], m.array([[1, 2.5]]),
                       m.array([x, x], "c16"), m.array(3, ndmin=2), m.asanyarray(x),
                       m.copy(x), m.copy(x.T, order="K").strides, m.asarray_chkfinite(x),
                       m.array([True, 2]), m.array([]), m.array([1, 2], "u1")),
         shapes=[((2, 3),), ((),)], dtypes=["int32", "float32", "complex128"],
         reads="asarray_chkfinite looks for NaN"),
    case("numpy.array", lambda m, x: m.array([[1], [2, 3]]), shapes=[((1,),)]),
    case("numpy.asarray", lambda m, x: m.asarray(x, copy=False).shape, shapes=[((3,),)]),
    case(_n("ascontiguousarray", "asfortranarray", "require"),
         lambda m, x: (*_layout(m.ascontiguousarray(x.T)), *_layout(m.asfortranarray(x)),
                       *_layout(m.require(x, "f8", ["F", "O"])), m.ascontiguousarray(x[0, 0])),
         shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case("numpy.arange", lambda m: (
        m.arange(5), m.arange(2, 9, 3), m.arange(0, 1, 0.3), m.arange(5, 0, -2), m.arange(3.0),
        m.arange(3, dtype="f4"), m.arange(0), m.arange(2, 8, dtype="u1"), m.arange(stop=3, start=1),
        m.arange(m.float32(2)), m.arange(True))),
    case("numpy.linspace", lambda m, x: (
        m.linspace(x, 3, 5), m.linspace(0, x, 4, endpoint=False, axis=-1),
        m.linspace(-2, 7, 6, dtype=int), m.linspace(1, 2, 1), m.linspace(0, 1, 0),
        m.linspace(0, 1, 5, retstep=True)), shapes=[((2,),)], dtypes=NUMERIC),
    case(_n("logspace", "geomspace"), lambda m, x: (
        m.logspace(0, 2, 5), m.logspace(x, 2, 3, base=2.0), m.logspace(0, 1, 3, base=[2, 3],
        axis=-1), m.geomspace(1, 1000, 4), m.geomspace(-8, -1, 4), m.geomspace(x, 9, 3, axis=-1),
        m.geomspace(1, 2, 3, endpoint=False, dtype="f4")),
         shapes=[((2,),)], dtypes=["float32", "complex128"], low=1, scale=8),
    case("numpy.geomspace", lambda m: m.geomspace(0, 2)),
    case(_n("eye", "identity", "tri"), lambda m: (
        m.eye(3), m.eye(2, 4, 1, int), m.eye(3, k=-1, dtype="c8"), m.identity(2),
        m.identity(3, "i4"),
        m.tri(3), m.tri(3, 5, 2, int), m.tri(3, k=-1))),
    case(_n("tril", "triu", "diag", "diagflat", "trace"), lambda m, x: (
        m.tril(x), m.triu(x, 1), m.tril(x, -1), m.diag(x), m.diag(x, 1), m.diagflat(x, -1),
        m.trace(x), m.trace(x, 1)), shapes=[((2, 4),)], dtypes=ALL),
    case(_n("tril", "diag"), lambda m, x: (m.tril(x), m.diag(x, -2)), shapes=[((3,),)]),
    case("numpy.diag", lambda m, x: m.diag(x), shapes=[((2, 2, 2),), ((),)]),
    case(_n("tril_indices", "triu_indices", "tril_indices_from", "triu_indices_from"),
         lambda m, x: (m.tril_indices(3), m.tril_indices(3, 1, 5), m.triu_indices(4, -1),
                       m.triu_indices(2, 3), m.tril_indices_from(x, 1), m.triu_indices_from(x)),
         shapes=[((3, 4),)], reads=None),
    case(_n("diag_indices", "diag_indices_from"), lambda m, x: (
        m.diag_indices(3), m.diag_indices(2, 3), m.diag_indices_from(x)),
         shapes=[((3, 3),), ((2, 3),)]),
    case("numpy.fill_diagonal", lambda m, x: [
        m.fill_diagonal(x, 7), x, m.fill_diagonal(x.T, [1, 2]), x,
        m.fill_diagonal(x, 3, wrap=True), x][1::2],
         shapes=[((5, 2),), ((2, 2, 2),)], dtypes=["int64", "complex128"]),
    case(_n("vander", "meshgrid"), lambda m, x, y: (
        m.vander(x), m.vander(x, 2, increasing=True), m.meshgrid(x, y),
        m.meshgrid(x, y, indexing="ij"), m.meshgrid(x, y, sparse=True), m.meshgrid(x)),
         shapes=[((3,), (2,))], dtypes=["int64", "float32"]),
    case(_n("mgrid", "ogrid"), lambda m: (
        m.mgrid[0:3, 1:3], m.mgrid[0:2], m.mgrid[-1:1:5j], m.mgrid[0:1:3j, 0:2:0.5],
        m.ogrid[0:3, 0:2],
        m.ogrid[0:1:4j], m.mgrid[5:0:-2])),
    case(_n("r_", "c_"), lambda m, x: (
        m.r_[x, 0, 1:4], m.r_[-1:1:3j, x], m.r_["0,2", x, x], m.r_["1,2,0", x, x], m.c_[x, x],
        m.c_[x, m.zeros(3, x.dtype)], m.r_[1, 2.5], m.r_["-1", x[None], x[None]]),
         shapes=[((3,),)], dtypes=NUMERIC),
    case(_n("r_",), lambda m: m.r_[1, "0"]),
    case(_n("indices", "fromfunction", "fromiter"), lambda m: (
        m.indices((2, 3)), m.indices((2, 1), float), m.indices((2, 3), sparse=True),
        m.fromfunction(lambda i, j: i * 2 + j, (2, 3)), m.fromiter(iter([1, 2]), "f4"),
        m.fromiter((i for i in range(9)), int, 3))),
    case(_n("frombuffer", "fromstring"), lambda m: (
        m.frombuffer(b"\1\2\3\4", "u1"), m.frombuffer(b"\1\2\3\4\5\6", "<i2", 2, 2),
        m.fromstring("1 2.5", sep=" "), m.fromstring("1,2", int, sep=","))),
    case("numpy.from_dlpack", lambda m, x: m.from_dlpack(x), shapes=[((2, 3),)], dtypes=REALS,
         reads="the data is shared"),
    case(_n(*CONSTANTS), lambda m: [getattr(m, n) for n in CONSTANTS if n != "nan"] + [
        m.nan != m.nan]),
    case(_n(*TYPES), lambda m: [m.zeros(2, getattr(m, n)) for n in TYPES]),
    case(_n(*KINDS, "issubdtype", "isdtype", "dtype", "iinfo", "finfo"), lambda m, x: (
        [m.issubdtype(x.dtype, getattr(m, k)) for k in KINDS], m.isdtype(x.dtype, "integral"),
        m.dtype("f4"), m.iinfo("i2").max, m.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0),
         shapes=[((2,),)], dtypes=ALL),
    case(_n("can_cast", "promote_types", "result_type", "min_scalar_type", "common_type"),
         lambda m, x: (
             m.can_cast(x.dtype, "f4"), m.can_cast("i8", x.dtype, "same_kind"),
             m.promote_types(x.dtype, "i2"), m.result_type(x, 3), m.result_type(x, 2.5, "u1"),
             m.min_scalar_type(300), m.min_scalar_type(x), m.common_type(x, m.ones(1, "f4"))),
         shapes=[((2,),)], dtypes=ALL),
    case(_n("isscalar", "iterable", "shape", "ndim", "size"), lambda m, x: (
        m.isscalar(3), m.isscalar(x), m.iterable(x), m.shape(x), m.ndim(x), m.size(x),
        m.shape([[1, 2]]), m.ndim(2.5), m.size([[1, 2]], 1)), shapes=[((2, 3),), ((),)]),
    case(_n("index_exp", "s_"), lambda m, x: (m.s_[1:3, ...], m.index_exp[2], x[m.s_[::2]]),
         shapes=[((4,),)]),
    case("numpy.reshape", lambda m, x: m.reshape(x, (5, 5)), shapes=[((3,),)]),
]  # fmt: skip
