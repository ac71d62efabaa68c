"""Cases of an array's attributes, operators and methods."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as onp

from tests.numpy.coverage.case import ALL, FLOATS, Case, case

INTS = ["bool", "int32", "uint8", "int64"]
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
          "rshift")  # fmt: skip
ORDER = ("eq", "ne", "lt", "le", "gt", "ge")


def _a(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.ndarray.{name}" for name in names)


def _arithmetic(names: tuple[str, ...]) -> Callable[..., Any]:
    """Array with array, with a number and a number with array, by operator."""

    def call(m: Any, x: Any, y: Any) -> list[Any]:
        results = []
        for name in names:
            op = getattr(operator, f"{name}_" if name in ("and", "or") else name)
            results += [op(x, y), op(x, 2), op(2, y), op(x[0], y), op([1, 2, 3], y)]
        return results

    return call


def _in_place(names: tuple[str, ...]) -> Callable[..., Any]:
    def call(m: Any, x: Any, y: Any) -> list[Any]:
        results = []
        for name in names:
            z = x.copy()
            view = z[::2]
            kept = z
            z = getattr(operator, f"i{name}")(z, y)
            results += [z, view, z is kept]
        return results

    return call


def _changed(m: Any, x: Any) -> list[Any]:
    results = []
    for change in (
        lambda y: y.sort(axis=0), lambda y: y.sort(), lambda y: y.partition(1),
        lambda y: y.put([0, -1], 7), lambda y: y.fill(3), lambda y: y.__setitem__(0, 5),
        lambda y: y.__setitem__((slice(None), 1), [8, 9]), lambda y: y.__setitem__(y > 0, 0),
    ):  # fmt: skip
        z = x.copy()
        change(z)
        results.append(m.sort(z, axis=1) if change.__code__.co_names == ("partition",) else z)
    return results


def _resized(m: Any, x: Any) -> Any:
    y = x.copy()
    y.resize((2, 2), refcheck=False)
    z = x.copy()
    z.resize(8, refcheck=False)
    return y, z


CASES: list[Case] = [
    case(_a("shape", "ndim", "size", "itemsize", "nbytes", "strides", "dtype", "flags", "base",
            "T", "mT", "flat", "device"), lambda m, x: (
        x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides, x.dtype, x.T, x.mT, x.T.strides,
        x.flags.c_contiguous, x.T.flags.f_contiguous, x.flags["WRITEABLE"], x.base is None,
        x.T.base is x, x.flat[3], x.flat[1:4], len(x.flat), list(x.flat)[2], x.device),
         shapes=[((2, 3),), ((2, 2, 3),)], dtypes=ALL),
    case(_a("real", "imag", "conj", "conjugate"), lambda m, x: (
        x.real, x.imag, x.conj(), x.conjugate(), x.real.strides),
         shapes=[((2, 3),)], dtypes=["int32", "float32", "complex64"]),
    case(_a("data", "tobytes", "tolist", "item", "__array__"), lambda m, x: (
        bytes(x.data), x.data.shape, x.data.format, x.tobytes(), x.T.tobytes(), x.tobytes("F"),
        x.tolist(), x.item(2), x.item(1, 0), x[0, 0].item(), onp.asarray(x).tolist(),
        x.__array__().shape), shapes=[((2, 3),)], dtypes=ALL, reads="the data is asked for"),
    case(_a("__bool__", "__int__", "__float__", "__complex__", "__index__", "__len__", "__iter__",
            "__contains__"), lambda m, x: (
        bool(x[0]), int(x[0]), float(x[1]), complex(x[1]), len(x), list(x), 3 in x,
        operator.index(m.asarray(3)[()])), shapes=[((3,),)],
         dtypes=["bool", "int32", "float64"], reads="Python asks for a number"),
    case("numpy.ndarray.__bool__", lambda m, x: bool(x), shapes=[((2,),)]),
    case("numpy.ndarray.__int__", lambda m, x: int(x), shapes=[((2,),)]),
    case("numpy.ndarray.__float__", lambda m, x: float(x), shapes=[((1,),)]),
    case("numpy.ndarray.__index__", lambda m, x: operator.index(x), shapes=[((),)]),
    case("numpy.ndarray.__len__", lambda m, x: len(m.asarray(x[0])[()]), shapes=[((2,),)]),
    case(_a("__repr__", "__str__"), lambda m, x: (repr(x), str(x), repr(x[:0]), f"{x[0, 0]}"),
         shapes=[((2, 3),)], dtypes=ALL, reads="printing"),
    case(_a("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "copy"), lambda m, x: (
        copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy(), x.T.copy("F"),
        x.T.copy("K").strides, pickle.loads(pickle.dumps(x, 2))),
         shapes=[((2, 3),)], dtypes=["int32", "float32"], reads="pickling"),
    case(_a("__dlpack__", "__dlpack_device__", "to_device"), lambda m, x: (
        m.from_dlpack(x), tuple(map(int, x.__dlpack_device__())), x.to_device("cpu") is x),
         shapes=[((2, 3),)], dtypes=["int32", "float32"], reads="the data is shared"),
    case(_a("__array_ufunc__", "__array_function__", "__array_namespace__"), lambda m, x: (
        onp.add(x, 1), onp.sum(x), onp.concatenate([x, x]), onp.multiply.outer(x, x),
        type(onp.sin(x)) is type(m.sin(x)), x.__array_namespace__() is m),
         shapes=[((3,),)], dtypes=["int32", "float64"]),
    case(_a(*[f"__{p}{n}__" for p in ("", "r") for n in ("add", "sub", "mul")]),
         _arithmetic(("add", "sub", "mul")), shapes=[((2, 3), (3,))],
         dtypes=["int32", "uint8", "float32", "complex64"]),
    case(_a(*[f"__{p}{n}__" for p in ("", "r") for n in ("truediv", "floordiv", "mod", "divmod")]),
         lambda m, x, y: [*_arithmetic(("truediv", "floordiv", "mod"))(m, x, y), divmod(x, y),
                          divmod(x, 2), divmod(7, y)],
         shapes=[((2, 3), (3,))], dtypes=["int32", "uint8", "float32"], low=1),
    case(_a("__pow__", "__rpow__"), _arithmetic(("pow",)), shapes=[((2, 3), (3,))],
         dtypes=["int32", "uint8", "float64"], low=0, scale=8),
    case(_a(*[f"__{p}{n}__" for p in ("", "r") for n in ("and", "or", "xor")]),
         _arithmetic(("and", "or", "xor")), shapes=[((2, 3), (3,))], dtypes=INTS),
    case(_a(*[f"__{p}{n}__" for p in ("", "r") for n in ("lshift", "rshift")]),
         _arithmetic(("lshift", "rshift")), shapes=[((2, 3), (3,))],
         dtypes=["int32", "uint8"], low=0),
    case(_a("__matmul__", "__rmatmul__", "dot"), lambda m, x, y: (
        x @ y, y.T @ x.T, [[1, 2, 3]] @ y, x.dot(y), x @ y[:, 0]), shapes=[((2, 3), (3, 4))],
         dtypes=["int32", "float32", "complex64"], scale=4),
    case(_a("__neg__", "__pos__", "__abs__"), lambda m, x: (-x, +x, abs(x)), shapes=[((3,),)],
         dtypes=["int8", "uint8", "float32", "complex128"]),
    case("numpy.ndarray.__invert__", lambda m, x: ~x, shapes=[((3,),)], dtypes=INTS),
    case(_a(*[f"__{n}__" for n in ORDER]), _arithmetic(ORDER), shapes=[((2, 3), (3,))],
         dtypes=["bool", "int32", "float32", "complex64"], low=-1, high=2),
    case(_a(*[f"__i{n}__" for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")]),
         _in_place(("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")),
         shapes=[((4,), (4,)), ((4,), ())], dtypes=["float32", "float64"], low=1, scale=4),
    case(_a("__iadd__", "__ifloordiv__"), _in_place(("add", "mul", "floordiv")),
         shapes=[((4,), (4,))], dtypes=["int32", "uint8"], low=1),
    case("numpy.ndarray.__itruediv__", _in_place(("truediv",)), shapes=[((4,), (4,))],
         dtypes=["int32"]),
    case(_a(*[f"__i{n}__" for n in ("and", "or", "xor", "lshift", "rshift")]),
         _in_place(("and", "or", "xor", "lshift", "rshift")), shapes=[((4,), (4,))],
         dtypes=["int32", "uint8"], low=0),
    case("numpy.ndarray.__imatmul__", _in_place(("matmul",)), shapes=[((2, 2), (2, 2))],
         dtypes=FLOATS, scale=4),
    case(_a("__getitem__", "__setitem__", "sort", "partition", "put", "fill"), _changed,
         shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case(_a("__getitem__"), lambda m, x: (
        x[1], x[1, 0], x[..., 0], x[:, ::-1], x[None, 1:], x[[1, 0]], x[x > 0], x[[0, 1], [1, 2]],
        x[m.array([True, False])], x[-1][1], x[()]), shapes=[((2, 3),)],
         dtypes=["int32", "float64"], reads="a mask decides on the shape"),
    case("numpy.ndarray.__getitem__", lambda m, x: x[5], shapes=[((2, 3),)]),
    case(_a("all", "any", "argmax", "argmin", "max", "min", "sum", "prod", "mean", "std", "var",
            "cumsum", "cumprod", "trace", "round"), lambda m, x: (
        x.all(), x.any(0), x.argmax(), x.argmin(1, keepdims=True), x.max(0), x.min(axis=-1),
        x.sum(), x.sum(0, keepdims=True), x.prod(1), x.mean(), x.std(0), x.var(1, ddof=1),
        x.cumsum(), x.cumprod(1), x.trace(), x.round(1), x.sum(where=x > 0, initial=1)),
         shapes=[((2, 3),)], dtypes=["int32", "float32"], scale=8),
    case(_a("argsort", "argpartition", "searchsorted", "nonzero", "compress", "choose", "take",
            "clip", "repeat", "diagonal"), lambda m, x: (
        x.argsort(kind="stable"), m.take_along_axis(x, x.argpartition(1), 1)[:, 1],
        m.sort(x[0]).searchsorted(1), x.nonzero(), x.compress([True, False], 0),
        m.array([0, 1, 1]).choose([x[0], x[1]]), x.take([0, 2], 1), x.clip(-1, 2), x.clip(min=0),
        x.clip(max=1), x.repeat(2, 0), x.diagonal(1)),
         shapes=[((2, 3),)], dtypes=["int32", "float64"], reads="what is not zero is a shape"),
    case(_a("reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "view", "astype"),
         lambda m, x: (
             x.reshape(3, 2), x.reshape((-1,)), x.reshape(3, 2, order="F"), x.ravel("F"),
             x.T.flatten(), x.flatten("F"), x.transpose(1, 0), x.transpose(), x.swapaxes(0, 1),
             x[:1].squeeze(0), x.view(), x.view("u1"), x.astype("f4"), x.astype("i2", copy=False),
             x.astype(x.dtype, copy=False) is x, x.T.astype("f8").strides),
         shapes=[((2, 3),)], dtypes=["int32", "float32", "int64"]),
    case("numpy.ndarray.astype", lambda m, x: x.astype("i4", casting="safe"), shapes=[((2,),)]),
    case("numpy.ndarray.resize", _resized, shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case("numpy.ndarray", lambda m: (
        m.ndarray((2, 3), "i4").shape, isinstance(m.ones(2), m.ndarray), m.ndarray.__name__)),
]  # fmt: skip
