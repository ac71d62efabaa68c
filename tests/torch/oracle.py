"""Runs one function under PyTorch and under the frontend, and compares what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lazyloom_torch


def host(x: Any) -> Any:
    """A tensor of either library as (dtype name, array); containers by member."""
    if isinstance(x, lazyloom_torch.Tensor):
        found = x.read()
        if x.dtype.name == "bfloat16":
            found = found.astype(np.float32)
        return x.dtype.name, found
    if type(x).__module__.startswith("torch") and hasattr(x, "detach"):
        name = str(x.dtype).removeprefix("torch.")
        plain = x.detach().resolve_conj()
        return name, (plain.float() if name == "bfloat16" else plain).numpy()
    if isinstance(x, dict):
        return {k: host(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return [host(v) for v in x]
    return x


def check(mine: Any, theirs: Any, rtol: float, atol: float, path: str = "result") -> None:
    """Assert that two results of :func:`host` agree in structure, dtype, shape and value."""
    if isinstance(theirs, tuple):
        assert isinstance(mine, tuple), f"{path}: {mine!r}, expected a tensor"
        assert mine[0] == theirs[0], f"{path}: dtype {mine[0]}, expected {theirs[0]}"
        assert mine[1].shape == theirs[1].shape, (
            f"{path}: shape {mine[1].shape}, expected {theirs[1].shape}")
        loose = theirs[0] in ("float16", "bfloat16")
        np.testing.assert_allclose(
            mine[1], theirs[1], rtol=1e-2 if loose else rtol, atol=1e-2 if loose else atol,
            err_msg=path)
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs), path
        for i, (a, b) in enumerate(zip(mine, theirs)):
            check(a, b, rtol, atol, f"{path}[{i}]")
    elif isinstance(theirs, dict):
        assert list(mine) == list(theirs), path
        for k in theirs:
            check(mine[k], theirs[k], rtol, atol, f"{path}[{k!r}]")
    elif isinstance(theirs, float):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol, err_msg=path)
    else:
        assert mine == theirs, f"{path}: {mine!r}, expected {theirs!r}"


def same(
    f: Callable[[Any], Any], theirs: Any, rtol: float = 2e-5, atol: float = 2e-6
) -> None:
    """Assert that ``f(frontend)`` and ``f(torch)`` give the same, or raise alike."""
    try:
        expected = host(f(theirs))
    except Exception as error:
        kind = type(error)
        builtin = next(c for c in kind.__mro__ if c.__module__ == "builtins")
        try:
            found = f(lazyloom_torch)
        except builtin:
            return
        raise AssertionError(f"expected {kind.__name__}: {error}; got {found!r}") from None
    check(host(f(lazyloom_torch)), expected, rtol, atol)
