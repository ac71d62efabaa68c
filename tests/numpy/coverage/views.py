"""Cases of indexing and assignment, views and what arrays say of their memory."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import ALL, NUMERIC, Case, case

FEW = ["int32", "float64", "complex128"]


def _a(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.ndarray.{name}" for name in names)


def _told(x: Any) -> Any:
    """What an array says of itself; strides where they mean something."""
    f = x.flags
    strides = tuple(s for s, n in zip(x.strides, x.shape) if n > 1) if x.size else ()
    return (x, x.shape, x.ndim, x.size, x.itemsize, x.nbytes, strides, x.base is None,
            f.c_contiguous, f.f_contiguous, f.owndata, f.writeable, f["ALIGNED"], f.forc, f.fnc)


def _written(*writes: Any) -> Any:
    """A case's call: each write is made to a copy of the array, and the copies are compared."""

    def call(m: Any, x: Any) -> list[Any]:
        results = []
        for write in writes:
            y = m.copy(x)
            write(m, y)
            results.append(y)
        return results

    return call


def _set(key: Any, value: Any) -> Any:
    def write(m: Any, x: Any) -> None:
        x[key(m, x) if callable(key) else key] = value(m, x) if callable(value) else value

    return write


def _in_place(m: Any, x: Any, y: Any) -> Any:
    """Every operator in place that floating-point numbers have, through a view."""
    z = m.copy(x)
    view = z[::-1]
    view += y
    view -= 0.5
    view *= y
    view /= 2
    view **= 2
    view //= 3
    view %= 2
    w = m.copy(x)[:2, :2]
    w @= w
    return z, w


def _in_place_integers(m: Any, x: Any) -> Any:
    z = m.copy(x)
    view = z.T
    view &= 6
    view |= 1
    view ^= 3
    view <<= 2
    view >>= 1
    return z


def _parts(m: Any, z: Any) -> Any:
    y = m.copy(z)
    y.real += 1
    y.imag[..., 0] = 2
    return y, y.real, y.imag, y.real.flags.owndata, z.T.real


def _resized(m: Any, x: Any) -> Any:
    results = []
    for shape in ((7,), (2, 2), (3, 2)):
        y = m.copy(x)
        y.resize(shape, refcheck=False)
        results.append(y)
    z = m.copy(x)
    z.shape = (z.size,)
    return (*results, z)


def _flat(m: Any, x: Any) -> Any:
    y = m.copy(x)
    y.T.flat[1] = 9
    y.flat[[0, -1]] = [7, 8]
    z = m.copy(x)
    z.flat = [1, 2]
    return (y, z, x.flat[2], x.flat[1:5:2], x.T.flat[[0, 3]], len(x.flat), x.flat.copy(),
            m.array(list(x.T.flat)))  # fmt: skip


def _bits(m: Any, x: Any) -> Any:
    y = m.copy(x)
    y.view(m.int8)[..., 0] = 1
    return y, x.view(m.uint8), x.T.copy().view(), x.view(x.dtype)


def _shared(m: Any, x: Any) -> Any:
    pairs = [(x, x.T), (x[0], x[1]), (x[:, 0], x[:, 1]), (x[::2], x[1::2]), (x, x.copy()),
             (x.reshape(-1)[1:], x[0]), (x[:, ::-1], x[-1]), (x.diagonal(), x[0, 1:])]
    return [(m.shares_memory(a, b), m.may_share_memory(a, b)) for a, b in pairs]


def _read_only(m: Any, x: Any) -> Any:
    y = m.copy(x)
    y.setflags(write=False)
    y[1:][0] = 1


CASES: list[Case] = [
    case(("numpy.ndarray", *_a("base", "flags", "strides", "shape", "size", "ndim", "itemsize",
                               "nbytes", "dtype", "T", "mT", "swapaxes", "transpose", "squeeze",
                               "reshape", "ravel", "flatten", "copy", "diagonal", "astype"),
          "numpy.asfortranarray", "numpy.ascontiguousarray", "numpy.isfortran"),
         lambda m, x: [_told(v) for v in (
             x, x.T, x.mT, x[0], x[:, 0], x[::-1, 1:], x[None, ..., None], x.reshape(3, 2),
             x.T.reshape(-1), x.T.ravel(), x.ravel("F"), x.ravel("K"), x.T.ravel("A"),
             x.flatten("F"), x.swapaxes(0, 1), x.transpose(1, 0), x[:1].squeeze(), x.squeeze(),
             x.T.copy(), x.T.copy("K"), x.copy("F"), x.diagonal(1), x.astype("float32"),
             x.T.astype("float64"), m.asfortranarray(x), m.ascontiguousarray(x.T), x[[0, 1]],
             x[:, [1, 0]], x.T[[0, 1]], x + x, x.T * 2, m.broadcast_to(x, (2, 2, 3)),
             x.reshape(3, 2, order="F"))] + [m.isfortran(x.T), x.T.dtype],
         shapes=[((2, 3),)], dtypes=["int32", "float64"]),
    case(_a("__getitem__", "__len__", "__iter__", "__contains__"), lambda m, x: (
        x[1], x[-1, 1], x[..., 0], x[:, None, 1], x[::-1, ::2], x[()], x[...], x[[1, 0, 1]],
        x[m.array([0, 1]), [2, 0]], x[1, [0, 2]], x[:, [[0], [2]]], x[True], x[None, False],
        x[[True, False]], x[:, m.asarray([0, 2])], x[m.argmax(x[:, 0].real)], x[[]], x[1:1],
        x[(0, 1), (1, 2)], len(x), list(x)), shapes=[((2, 3),)], dtypes=ALL),
    case(_a("__getitem__", "__contains__"), lambda m, x: (
        x[x != 0], x[x[:, 0] != 0], x[:, (x != 0)[0]], (x != 0)[x == 0], bool(x[0, 0] in x)),
         shapes=[((2, 3),), ((0, 2),), ((3, 1),)], dtypes=FEW, reads="the shape depends on data"),
    *[case("numpy.ndarray.__getitem__", lambda m, x, key=key: x[key], shapes=[((2, 3),)])
      for key in (2, (0, -4), (0, 0, 0), 1.5, "a", [0, 2], ([0, 1], [0, 1, 2]), [True] * 3,
                  (..., ...), [0.5], ([0, 1], [0, 3]))],
    case(_a("__setitem__", "fill"), _written(
        _set(0, 1), _set((slice(None), 1), [7, 8]), _set((..., -1), True),
        _set([0, 0], [[1], [2]]), _set(lambda m, x: x != 0, 3),
        _set(([0, 1], [2, 0]), lambda m, x: x[0, :2]), _set(lambda m, x: (x != 0)[:, 0], 2),
        _set((), 5), _set(slice(None, None, -1), lambda m, x: x),
        _set(slice(1, None), lambda m, x: x[:-1]),
        _set(lambda m, x: m.argmax(x[:, 0].real), 4), _set(True, 6), _set(([], 0), 9),
        lambda m, x: x.fill(2), _set((slice(None), [1, 1]), lambda m, x: m.ones((2, 2), x.dtype))),
         shapes=[((2, 3),)], dtypes=ALL),
    *[case("numpy.ndarray.__setitem__", _written(_set(key, value)), shapes=[((2, 3),)],
           dtypes=["int64", "float64"])
      for key, value in ((0, [1, 2]), (2, 1), ((0, 0), 1j), ((0, 0), [1, 2]), ([0, 1], [1, 2]),
                         ((0, 0), "x"), (slice(None), [[1, 2]]))],
    case(_a("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__", "__ifloordiv__",
            "__imod__", "__imatmul__"), _in_place, shapes=[((3, 3), (3, 3)), ((3, 3), (3,))],
         dtypes=["float32", "float64"], low=1),
    case(_a("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"), _in_place_integers,
         shapes=[((2, 3),)], dtypes=["int32", "uint8", "int64"], low=0),
    case(_a("__iadd__"), lambda m, x: x.__iadd__(0.5), shapes=[((3,),)], dtypes=["int64"]),
    case(_a("__iadd__"), lambda m, x, y: x.__iadd__(y), shapes=[((3,), (2, 3))]),
    case(_a("real", "imag"), _parts, shapes=[((2, 3),)], dtypes=["complex64", "complex128"]),
    case(_a("real", "imag"), lambda m, x: (x.real, x.imag, x.imag.flags.writeable),
         shapes=[((2, 3),)], dtypes=NUMERIC),
    case(_a("resize", "shape"), _resized, shapes=[((3, 2),)], dtypes=ALL),
    case(_a("flat", "flatten"), _flat, shapes=[((2, 3),)], dtypes=NUMERIC),
    case(_a("view"), _bits, shapes=[((2, 3),)], dtypes=["int16", "int64", "float32", "float64"]),
    case("numpy.ndarray.view", lambda m, x: x.T.view("int16"), shapes=[((2, 3),)]),
    case(("numpy.shares_memory", "numpy.may_share_memory"), _shared, shapes=[((4, 3),)],
         dtypes=FEW),
    case(_a("flags", "setflags"), _read_only, shapes=[((3,),)]),
    case(_a("item", "tolist", "tobytes", "__int__", "__float__", "__complex__", "__bool__",
            "__index__"), lambda m, x: (
        x.item(2), x.item(1, 0), x.tolist(), x.T.tolist(), x.tobytes(), x.T.tobytes("A"),
        complex(x[0, 0]), bool(x[0, 1]), x[0].tolist()[m.array(1).__index__()],
        int(x[0, 0].real), float(x[1, 1].real)),
         shapes=[((2, 3),)], dtypes=ALL, reads="values are asked for"),
    *[case("numpy.ndarray.__bool__", call, shapes=[((2,),)], reads="a value is asked for")
      for call in (lambda m, x: bool(x), lambda m, x: int(x), lambda m, x: float(x),
                   lambda m, x: bool(x[:0]), lambda m, x: x.item(), lambda m, x: len(x[0]))],
    case(_a("__copy__", "__deepcopy__", "copy"), lambda m, x: (
        x.__copy__(), x.T.__deepcopy__({}), x.T.copy(), _told(x.T.__copy__())),
         shapes=[((2, 3),)], dtypes=FEW),
]  # fmt: skip
