"""Cases of array creation."""

from __future__ import annotations

from tests.numpy.coverage.case import ALL, Case, case

CASES: list[Case] = [
    case(("numpy.zeros_like", "numpy.ones_like", "numpy.full_like"),
         lambda m, x: (m.zeros_like(x), m.ones_like(x, dtype="i4"), m.full_like(x, 1, shape=(2,))),
         shapes=[((3,),), ((2, 0),), ((),)], dtypes=ALL),
    case("numpy.zeros", lambda m: (m.zeros(3), m.zeros((2, 3), int), m.zeros((), "c8"))),
    case("numpy.reshape", lambda m, x: m.reshape(x, (5, 5)), shapes=[((3,),)]),
]  # fmt: skip
