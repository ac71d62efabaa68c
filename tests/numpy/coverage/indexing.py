"""Cases of taking, putting, choosing and index arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.numpy.coverage.case import Case, case


def _n(*names: str) -> tuple[str, ...]:
    return tuple(f"numpy.{name}" for name in names)


def _changed(*changes: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A case's call: each change is made to a copy of the array, and the copies are compared."""

    def call(m: Any, x: Any) -> list[Any]:
        results = []
        for change in changes:
            y = m.copy(x)
            change(m, y)
            results.append(y)
        return results

    return call


CASES: list[Case] = [
    case(_n("take", "take_along_axis"), lambda m, x: (
        m.take(x, [0, -1]), m.take(x, [[1, 0]], axis=0), m.take(x, 1, axis=1),
        m.take(x, [7, -9], mode="wrap"), m.take(x, [7, -9], mode="clip", axis=1),
        m.take(x, m.array([0, 2]), 1), m.take_along_axis(x, m.argmax(x.real, 1, keepdims=True), 1),
        m.take_along_axis(x, m.array([[0], [1]]), axis=1),
        m.take_along_axis(x, m.array([1]), None)),
         shapes=[((2, 3),)], dtypes=["bool", "uint8", "float64", "complex64"]),
    case("numpy.take", lambda m, x: m.take(x, 9), shapes=[((3,),)]),
    case("numpy.take", lambda m, x: m.take(x, [1.5]), shapes=[((3,),)]),
    case("numpy.take_along_axis", lambda m, x: m.take_along_axis(x, m.array([0]), 0),
         shapes=[((2, 3),)]),
    case(_n("put", "place", "putmask", "put_along_axis"), _changed(
        lambda m, x: m.put(x, [0, -1], [7, 8]), lambda m, x: m.put(x, [1, 2, 3], 5),
        lambda m, x: m.put(x, [9, -8], [1, 2], mode="wrap"),
        lambda m, x: m.put(x, [9, -8], [1, 2], mode="clip"),
        lambda m, x: m.putmask(x, x.real > 0, 3), lambda m, x: m.putmask(x, x.real > 0, [4, 5]),
        lambda m, x: m.put_along_axis(x, m.array([[0], [2]]), 9, 1),
        lambda m, x: m.put_along_axis(x, m.array([[1, 0, 1]]), m.array([[1, 2, 3]]), axis=0),
        lambda m, x: m.put_along_axis(x, m.array([0, 5]), 4, None),
        lambda m, x: m.place(x, x.real > 0, [4, 5])),
         shapes=[((2, 3),)], dtypes=["int64", "complex64"]),
    case("numpy.put", lambda m, x: m.put(x, 9, 1), shapes=[((3,),)]),
    case("numpy.place", lambda m, x: m.place(x, [True, False], 1), shapes=[((3,),)]),
    case(_n("choose", "select", "piecewise", "where"), lambda m, x, y: (
        m.choose(m.array([0, 1, 0]), [x, y]), m.choose(m.array([0, 5, -1]), [x, y], mode="clip"),
        m.choose(m.array([0, 5, -1]), (x, 3), mode="wrap"), m.select([x > 1, x > 0], [x, y], 7),
        m.select([x > 1, [True, False, True]], [x * 2, 1.5]), m.where(x > 0, x, y),
        m.where(x > 0, 1, y), m.where(x > 0, x, 2.5), m.where([[True], [False]], x, y),
        m.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * v]),
        m.piecewise(x, [x < 0], [lambda v: -v, lambda v: v + 1]),
        m.piecewise(x, x > 0, [lambda v, k: v + k, 0], 3)),
         shapes=[((3,), (3,)), ((3,), (2, 3))], dtypes=["float64", ("int32", "float32")],
         reads=None),
    case("numpy.choose", lambda m, x: m.choose([0, 3, 0], [x, x]), shapes=[((3,),)]),
    case("numpy.select", lambda m, x: m.select([x > 0], [x, x]), shapes=[((3,),)]),
    case("numpy.select", lambda m, x: m.select([x], [x]), shapes=[((3,),)]),
    case("numpy.piecewise", lambda m, x: m.piecewise(x, [x > 0], [1, 2, 3]), shapes=[((3,),)]),
    case("numpy.where", lambda m, x: m.where(x, 1), shapes=[((3,),)]),
    case(_n("ix_", "unravel_index", "ravel_multi_index", "mask_indices"), lambda m: (
        m.ix_([0, 1], [2, 4, 5]), m.ix_([True, False, True], [1]),
        m.unravel_index([22, 41], (7, 6)),
        m.unravel_index(5, (2, 3), order="F"), m.ravel_multi_index(([1, 0], [2, 1]), (2, 3)),
        m.ravel_multi_index(([3, -1], [4, 1]), (2, 3), mode="wrap"),
        m.ravel_multi_index(([3, 0], [4, 1]), (2, 3), mode=("clip", "wrap"), order="F"),
        m.mask_indices(3, m.triu), m.mask_indices(4, m.tril, 1)),
         reads="boolean indices decide on the shape"),
    case("numpy.ravel_multi_index", lambda m: m.ravel_multi_index(([3], [4]), (2, 3))),
    case("numpy.unravel_index", lambda m: m.unravel_index([22], (2, 3))),
    case(_n("ndindex", "ndenumerate"), lambda m, x: (
        list(m.ndindex(2, 1)), list(m.ndindex((1, 2))), [i for i, _ in m.ndenumerate(x)],
        [v for _, v in m.ndenumerate(x.T)]), shapes=[((2, 2),), ((),)],
         dtypes=["int32", "complex64"]),
]  # fmt: skip
