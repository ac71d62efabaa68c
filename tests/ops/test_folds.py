"""Folds of elementwise ops, and the exceptions that an operation met, against plain loops."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops.spec import lookup
from tests.ops import checks

MINE = checks.ops_of("folds", "status")


def _rows(x: np.ndarray, axis: int) -> list[np.ndarray]:
    return list(np.moveaxis(x, axis, 0))


def _fold(x: np.ndarray, *, function: str, axis: int) -> np.ndarray:
    return np.asarray(functools.reduce(getattr(np, function), _rows(x, axis)), x.dtype)


def _running(x: np.ndarray, *, function: str, axis: int) -> np.ndarray:
    rows = _rows(x, axis)
    for i in range(1, len(rows)):
        rows[i] = getattr(np, function)(rows[i - 1], rows[i])
    return np.stack(rows, axis) if rows else x


def _segments(x: np.ndarray, starts: np.ndarray, *, function: str, axis: int) -> np.ndarray:
    rows, found = _rows(x, axis), []
    for first, after in zip(starts, [*starts[1:], len(rows)]):
        found.append(functools.reduce(getattr(np, function), rows[first:max(after, first + 1)]))
    return np.stack(found, axis) if found else np.take(x, [], axis)


def _at(x: np.ndarray, positions: np.ndarray, update: Any = None, *, function: str,
        dtype: Any) -> np.ndarray:  # fmt: skip
    x = x.copy()
    for i, p in enumerate(positions):
        old = x[p] if dtype is None else x[p].astype(dtype.numpy)
        more = () if update is None else (update[i],)
        x[p] = np.asarray(getattr(np, function)(old, *more)).astype(x.dtype)
    return x


def _status(result: np.ndarray, *operands: np.ndarray, function: str) -> np.ndarray:
    bits = 0
    for r, *xs in zip(*(a.reshape(-1).tolist() for a in np.broadcast_arrays(result, *operands))):
        if result.dtype.kind == "b":
            continue
        if result.dtype.kind in "iu":
            bits |= int(function == "divide" and xs[-1] == 0)
            continue
        parts = [(v.real, v.imag) if isinstance(v, complex) else (v,) for v in (r, *xs)]
        given = [p for x in parts[1:] for p in x]
        if any(map(math.isnan, parts[0])) and not any(map(math.isnan, given)):
            bits |= 8
        if all(map(math.isfinite, given)):
            if any(map(math.isinf, parts[0])):
                pole = {"divide": xs[-1] == 0, "log": xs[0] == 0}.get(function, False)
                bits |= 1 if pole else 2
            elif len(parts[0]) == 1 and (function == "exp" or function == "divide" and xs[0]):
                bits |= 4 * bool(abs(r) < np.finfo(result.dtype).tiny)
    return np.array(bits, np.uint8)


REFERENCES: dict[str, Any] = {
    "fold": _fold, "running_fold": _running, "segment_fold": _segments, "apply_at": _at,
    "float_status": _status,
}  # fmt: skip


@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    for run in checks.run_all(name):
        checks.check_types(run)
        checks.check_slope(run)
        checks.check_values(run, REFERENCES[name])


def _status_of(function: str, result: Any, *operands: Any) -> int:
    import jax

    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in (result, *operands)]
        return int(lookup("float_status").fn(*arrays, function=function))


@pytest.mark.parametrize(("function", "operands", "bits"), [
    ("floor_divide", (np.int32([-2**31]), np.int32([-1])), 2),
    ("floor_divide", (np.int32([-2**31, 3]), np.int32([1, 0])), 1),
    ("scalar add", (np.int8(100), np.int8(28)), 2),
    ("scalar add", (np.int8(100), np.int8(27)), 0),
    ("scalar add", (np.uint8(200), np.uint8(56)), 2),
    ("scalar subtract", (np.uint8(3), np.uint8(4)), 2),
    ("scalar subtract", (np.int8(-100), np.int8(29)), 2),
    ("scalar multiply", (np.int64(2**40), np.int64(2**24)), 2),
    ("scalar multiply", (np.int64(-2**63), np.int64(-1)), 2),
    ("scalar multiply", (np.int64(-2**31), np.int64(2**32)), 0),
    ("scalar negative", (np.int8(-128),), 2),
    ("scalar negative", (np.uint8(1),), 2),
    ("add", (np.int8(100), np.int8(100)), 0),
    ("reciprocal", (np.float32(0),), 1),
    ("arctanh", (np.float64(-1),), 1),
    ("log1p", (np.float64(-1),), 1),
    ("power", (np.float64(0), np.float64(-1)), 1),
    ("power", (np.float64(1e200), np.float64(2)), 2),
    ("sqrt", (np.float64(-1),), 8),
    ("sqrt", (np.float64("nan"),), 0),
    ("add", (np.float64("inf"), np.float64("-inf")), 8),
    ("multiply", (np.float32(1e-30), np.float32(1e-30)), 4),
    ("multiply", (np.float32(0), np.float32(1e-30)), 0),
])  # fmt: skip
def test_status_of(function: str, operands: Any, bits: int) -> None:
    with np.errstate(all="ignore"):
        result = getattr(np, function.removeprefix("scalar "))(*(np.array(x) for x in operands))
    assert _status_of(function, result, *operands) == bits


@pytest.mark.parametrize(("number", "dtype", "bits"), [
    (127.9, np.int8, 0), (128.0, np.int8, 8), (-128.9, np.int8, 0), (-129.0, np.int8, 8),
    (-0.9, np.uint8, 0), (-1.0, np.uint8, 8), (255.5, np.uint8, 0), (2.0**63, np.int64, 8),
    (-(2.0**63), np.int64, 0), (float("nan"), np.int32, 8), (1e300, np.float32, 2),
    (float("inf"), np.float32, 0), (3.0, np.bool_, 0),
])  # fmt: skip
def test_status_of_casts(number: float, dtype: Any, bits: int) -> None:
    with np.errstate(all="ignore"):
        result = np.array(number).astype(dtype)
    assert _status_of("cast", result, np.array(number)) == bits


@pytest.mark.parametrize(("name", "operands", "attributes", "error", "text"), [
    ("fold", ["float32 3"], {"function": "less", "axis": 0}, DTypeError, "gives bool"),
    ("fold", ["float32 3"], {"function": "exp", "axis": 0}, ArgumentError, "2 operands"),
    ("fold", ["float32 0 3"], {"function": "add", "axis": 0}, ShapeError, "size 0"),
    ("running_fold", ["float32 3"], {"function": "add", "axis": 1}, ArgumentError, "axis"),
    ("segment_fold", ["float32 0", "int64 2"], {"function": "add", "axis": 0}, ShapeError,
     "size 0"),
    ("apply_at", ["float32 3", "int64 2", "float32 3"], {"function": "add"}, ShapeError,
     "'update'"),
    ("apply_at", ["float32 0", "int64 2", "float32 2"], {"function": "add"}, ShapeError,
     "no elements"),
    ("apply_at", ["float32 3", "int64 2"], {"function": "divmod"}, LookupError, "divmod"),
])  # fmt: skip
def test_error(name: str, operands: Any, attributes: Any, error: Any, text: str) -> None:
    types = [checks.type_of(np.zeros(tuple(map(int, t.split()[1:])), t.split()[0]))
             for t in operands]  # fmt: skip
    op = lookup(name)
    with pytest.raises(error, match=text):
        op.infer(types, op.canonical_attributes(attributes))
