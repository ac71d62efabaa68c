"""Cases of what NumPy and the array API standard share: clip, spread, sorts, the namespace."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import FLOATS, NUMERIC, Case, case


def _bounds(m: Any, x: Any) -> Any:
    return (
        m.clip(x, 1, 3), m.clip(x, None, 2), m.clip(x, min=1), m.clip(x, a_min=1, a_max=None),
        x.clip(0, 2), x.clip(max=1), m.clip(x, 3, 1), m.clip(x, None, None),
        m.clip(x, x[::-1], 3), m.clip(x, 1, 3, out=x.copy()),
        m.clip(x, 1, 2, where=x > 0, out=m.zeros_like(x)),
    )  # fmt: skip


def _error(call: Any) -> Any:
    try:
        return call()
    except (OverflowError, ValueError, TypeError) as error:
        return [k.__name__ for k in (OverflowError, ValueError, TypeError) if isinstance(error, k)]


def _wide_bounds(m: Any, x: Any) -> Any:
    """Limits that the dtype cannot hold: none on the far side, an error on the near one."""
    small = x.astype("int8")
    return (m.clip(small, -300, 2), m.clip(small, 1, 300), small.clip(-300, 300),
            _error(lambda: m.clip(small, 300, 400)), _error(lambda: m.clip(small, None, -300)),
            m.clip(x, 1.5, 3), m.clip(x > 0, False, True),
            _error(lambda: m.clip(x, a_min=1, a_max=2, max=3)))  # fmt: skip


CASES: list[Case] = [
    case(("numpy.clip", "numpy.ndarray.clip"), _bounds, shapes=[((5,),), ((2, 3),)],
         dtypes=["int64", "float32"]),
    case("numpy.clip", _wide_bounds, shapes=[((5,),)], dtypes=["int64", "uint8"]),
    case("numpy.clip", lambda m, x: (m.clip(x, 1 + 1j, 2), m.clip(x[0], x, x)), shapes=[((3,),)],
         dtypes=["complex64", "complex128"]),
    case(("numpy.var", "numpy.std", "numpy.ndarray.var", "numpy.ndarray.std"), lambda m, x: (
        m.var(x, axis=0, correction=1), m.std(x, axis=-1, ddof=1, keepdims=True),
        x.var(mean=x.mean(keepdims=True)), x.std(0, mean=x.mean(0, keepdims=True), where=x != x[0]),
        m.var(x, axis=0, where=x > -9), _error(lambda: m.var(x, ddof=1, correction=1))),
        shapes=[((5,),), ((3, 4),)], dtypes=NUMERIC),
    case(("numpy.sort", "numpy.argsort"), lambda m, x: (
        m.sort(x), m.sort(x, axis=0), m.argsort(x, stable=True),
        m.argsort(x, axis=0, kind="stable"), m.sort(x, axis=None)),
        shapes=[((3, 4),)], dtypes=["bool", "uint8", "float32", "complex128"]),
    case(("numpy.searchsorted", "numpy.ndarray.searchsorted"), lambda m, a, v: (
        m.searchsorted(m.sort(a), v), m.sort(a).searchsorted(v, "right"),
        m.searchsorted(a, v, sorter=m.argsort(a))), shapes=[((5,), (2, 3)), ((0,), (2,))],
        dtypes=["bool", "int64", "float32", "complex128"]),
    case(("numpy.cumulative_sum", "numpy.cumulative_prod"), lambda m, x: (
        m.cumulative_sum(x, axis=-1), m.cumulative_prod(x, axis=0, include_initial=True),
        m.cumulative_sum(m.sum(x)), m.cumulative_prod(x.ravel(), dtype="complex128"),
        _error(lambda: m.cumulative_sum(m.zeros((2, 2))))), shapes=[((3, 4),), ((0, 2),)],
        dtypes=["uint8", "int64", "float32"]),
    case(("numpy.ndarray.device", "numpy.ndarray.to_device", "numpy.ndarray.__array_namespace__"),
         lambda m, x: (x.to_device(x.device) is x, x.__array_namespace__() is m,
                       x.__array_namespace__(api_version="2024.12") is m,
                       _error(lambda: x.__array_namespace__(api_version="1.0")),
                       _error(lambda: x.to_device("abacus"))), shapes=[((2,),)], dtypes=FLOATS),
]  # fmt: skip
