"""Comparing this frontend with NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as onp

import lazyloom
import lazyloom_numpy as np

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def data(shape: tuple[int, ...], dtype: Any, seed: int = 0, low: int = -4, high: int = 5) -> Any:
    """Small numbers of any dtype, with fractions where the dtype has them."""
    rng = onp.random.default_rng(seed)
    d = onp.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(d)
    if d.kind == "u":
        return rng.integers(0, high, shape).astype(d)
    if d.kind == "i":
        return rng.integers(low, high, shape).astype(d)
    x = rng.uniform(low, high, shape)
    if d.kind == "c":
        x = x + 1j * rng.uniform(low, high, shape)
    return x.astype(d)


def tolerance(dtype: Any) -> dict[str, float]:
    """How far two results of one dtype may differ."""
    name = onp.dtype(dtype).name
    rtol = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 3e-6, "complex64": 1e-5,
            "float64": 1e-12, "complex128": 1e-12}.get(name, 0.0)  # fmt: skip
    return {"rtol": rtol, "atol": rtol}


def same(ours: Any, theirs: Any, exact: bool = False, scale: float = 1.0) -> None:
    """Assert equal structure, shape, dtype and (nearly) equal data."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, (tuple, list)) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b, exact, scale)
        return
    if not isinstance(ours, np.ndarray):
        assert not isinstance(theirs, onp.ndarray) or theirs.ndim == 0, type(ours)
        assert ours == theirs
        return
    expected = onp.asarray(theirs)
    assert ours.shape == expected.shape
    assert ours.dtype == expected.dtype
    got = onp.asarray(ours)
    if exact or expected.dtype.kind in "biu":
        onp.testing.assert_array_equal(got, expected)
        return
    limits = {k: v * scale for k, v in tolerance(expected.dtype).items()}
    if expected.dtype.name == "bfloat16":
        got, expected = got.astype(onp.float32), expected.astype(onp.float32)
    onp.testing.assert_allclose(got, expected, equal_nan=True, **limits)


def flattened(x: Any) -> list[Any]:
    """The leaves of nested tuples and lists."""
    return [y for part in x for y in flattened(part)] if isinstance(x, (tuple, list)) else [x]


def both(function: Any, *arrays: Any, exact: bool = False, scale: float = 1.0) -> None:
    """Call ``function(np, *arrays)`` with both modules, and compare."""
    with onp.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = function(onp, *(a.copy() if isinstance(a, onp.ndarray) else a for a in arrays))
    ours = function(np, *(np.array(a) if isinstance(a, onp.ndarray) else a for a in arrays))
    pending = [x for x in flattened(ours) if isinstance(x, np.ndarray)]
    lazyloom.sync(*pending)  # one program for all results that share an argument
    same(ours, theirs, exact, scale)
