"""One way to say how a name of NumPy's is exercised: a call made with both modules.

An area's module lists its cases; ``test_coverage`` runs every one with NumPy and with this
frontend, and ``docs/numpy_coverage.md`` names them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as onp

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import data, flattened, same

BOOL = ["bool"]
INTS = ["int32", "int64", "uint8"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REALS = ["int64", "float32", "float64"]
NUMERIC = ["int64", "float32", "float64", "complex128"]
ALL = ["bool", "int32", "uint8", "float16", "float32", "float64", "complex128"]

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """A call, the names that it exercises, and the arrays that it is made with.

    Args:
        names: full names of the fixed list, such as ``"numpy.fft.fft"``.
        call: ``call(m, *arrays)`` with ``m`` either module; what it returns is compared:
            arrays by shape, dtype and data, tuples and lists element by element, all else
            by ``==``. An exception must be of NumPy's type.
        shapes: one entry per run: a shape for each array.
        dtypes: one run per entry: a dtype for all arrays, or a tuple of one for each.
        low, high: the range of the numbers.
        scale: what the helpers' tolerance is multiplied with.
        exact: whether floating-point data must be equal to the last bit.
        reads: why the call reads data; a call that reads without saying so fails.
    """

    names: tuple[str, ...]
    call: Callable[..., Any]
    shapes: Sequence[Shapes]
    dtypes: Sequence[Any]
    low: int
    high: int
    scale: float
    exact: bool
    reads: str | None
    place: str

    @property
    def area(self) -> str:
        """The file that the case stands in."""
        return self.place.partition(":")[0]

    def runs(self) -> Iterator[tuple[Shapes, Any]]:
        """Every combination of shapes and dtypes."""
        for dtype in self.dtypes if any(self.shapes) else self.dtypes[:1]:
            for shapes in self.shapes:
                yield shapes, dtype


def case(
    names: str | tuple[str, ...], call: Callable[..., Any], shapes: Sequence[Shapes] = ((),),
    dtypes: Sequence[Any] = ("float64",), low: int = -4, high: int = 5, scale: float = 1.0,
    exact: bool = False, reads: str | None = None,
) -> Case:  # fmt: skip
    """A :class:`Case` that knows where it was written."""
    names = (names,) if isinstance(names, str) else names
    frame = sys._getframe(1)  # inspect.stack reads every caller's source: 30 ms a case
    place = f"{Path(frame.f_code.co_filename).stem}:{frame.f_lineno}"
    return Case(names, call, shapes, dtypes, low, high, scale, exact, reads, place)


def _arrays(c: Case, shapes: Shapes, dtype: Any) -> list[Any]:
    dtypes = dtype if isinstance(dtype, tuple) else (dtype,) * len(shapes)
    return [data(s, d, i + 1, c.low, c.high) for i, (s, d) in enumerate(zip(shapes, dtypes))]


def _attempt(call: Callable[..., Any], module: Any, arrays: list[Any]) -> Any:
    try:
        return call(module, *arrays)
    except Exception as error:
        return error


def _evaluate(values: list[Any]) -> None:
    """Run what the values wait for as one program, which compiles once for all of them."""
    last: Any = None
    for value in values:
        if value.is_pending:
            one = lazyloom.record("any", (value,))
            last = one if last is None else lazyloom.record("logical_or", (last, one))
    lazyloom.sync(*values)


def check(c: Case) -> None:
    """Run a case with both modules and compare, run by run; all results are one evaluation."""
    results = []
    for shapes, dtype in c.runs():
        with onp.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = _attempt(c.call, onp, _arrays(c, shapes, dtype))
            ours_in = [np.array(a) for a in _arrays(c, shapes, dtype)]
            before = lazyloom.stats()["reads"]
            ours = _attempt(c.call, np, ours_in)
        read = lazyloom.stats()["reads"] - before
        assert c.reads is not None or not read, f"{c.place}: reads without being listed for it"
        results.append((shapes, dtype, ours, theirs))
    _evaluate([x.value for *_, ours, _ in results for x in flattened(ours)
               if isinstance(x, np.ndarray)])  # fmt: skip
    for shapes, dtype, ours, theirs in results:
        try:
            _compare(c, ours, theirs)
        except AssertionError as error:
            raise AssertionError(f"{c.place}, shapes {shapes}, {dtype}: {error}") from error


def _compare(c: Case, ours: Any, theirs: Any) -> None:
    if isinstance(theirs, Exception):
        kind = next(k for k in type(theirs).__mro__ if "._" not in k.__module__)
        assert isinstance(ours, kind), f"{theirs!r} was expected, got {ours!r}"
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"raised {ours!r}") from ours
    _same(c, ours, theirs, "result")


def _same(c: Case, ours: Any, theirs: Any, place: str) -> None:
    """:func:`same`, whose failure says which part of a result it is."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list)), f"{place}: {ours!r} for {theirs!r}"
        assert len(ours) == len(theirs), f"{place}: {len(ours)} parts for {len(theirs)}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            _same(c, a, b, f"{place}[{i}]")
        return
    try:
        same(ours, theirs, c.exact, c.scale)
    except AssertionError as error:
        raise AssertionError(f"{place}: {ours!r} for {theirs!r} {error}") from None
