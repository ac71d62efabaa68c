"""Values of PyTorch's sample inputs for the frontend, and how results are compared.

Imports PyTorch, so only modules that skip without it may import this one.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import lazyloom
import lazyloom_torch

#: dtype -> (relative, absolute) tolerance; the absolute one is multiplied by the largest
#: magnitude of the expected result where that is above 1
TOLERANCE: dict[torch.dtype, tuple[float, float]] = {
    torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-10), torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-9, 1e-10), torch.bfloat16: (3e-2, 2e-2), torch.float16: (5e-3, 5e-3),
}  # fmt: skip
#: gradients pass through twice as many operations
GRADIENT = 10.0


def _dtype(d: torch.dtype) -> Any:
    return getattr(lazyloom_torch, str(d).removeprefix("torch."))


def _host(t: torch.Tensor) -> np.ndarray[Any, Any]:
    plain = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        import ml_dtypes

        return plain.float().numpy().astype(ml_dtypes.bfloat16)
    return plain.numpy(force=True)  # gradients that are 0 have no memory


def _laid_out(t: torch.Tensor) -> Any:
    """A tensor of the frontend with these contents, and these strides where they permute."""
    if t.ndim > 1 and not t.is_contiguous() and t.numel():
        order = sorted(range(t.ndim), key=lambda d: -t.stride(d))
        dense = t.detach().permute(order)
        if dense.is_contiguous():
            made = lazyloom_torch.from_numpy(np.array(_host(dense)))
            return made.permute([order.index(d) for d in range(t.ndim)])
    return lazyloom_torch.from_numpy(np.array(_host(t)))


class Converter:
    """Turns PyTorch's arguments into the frontend's; one tensor given twice stays one.

    ``leaves`` holds pairs of (PyTorch's tensor, the frontend's) that require a gradient.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self.leaves: list[tuple[torch.Tensor, Any]] = []

    def _tensor(self, t: torch.Tensor) -> Any:
        found = self._made.get(id(t))
        if found is None:
            found = _laid_out(t)
            if isinstance(t, torch.nn.Parameter):
                found = lazyloom_torch.nn.Parameter(found, requires_grad=t.requires_grad)
            elif t.requires_grad:
                found = found.detach().requires_grad_()
            if t.requires_grad:
                self.leaves.append((t, found))
            self._made[id(t)] = found
            self._kept.append(t)
        return found

    def __call__(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return self._tensor(x)
        if isinstance(x, torch.dtype):
            return _dtype(x)
        if isinstance(x, torch.device):
            return lazyloom_torch.device("cpu")
        if isinstance(x, torch.layout):
            return lazyloom_torch.strided
        if isinstance(x, torch.memory_format):
            return getattr(lazyloom_torch, str(x).removeprefix("torch."))
        if isinstance(x, torch.Size):
            return lazyloom_torch.Size(x)
        if isinstance(x, slice):
            return slice(self(x.start), self(x.stop), self(x.step))
        if isinstance(x, (tuple, list)):
            found = [self(v) for v in x]
            return type(x)(*found) if hasattr(x, "_fields") else type(x)(found)
        if isinstance(x, dict):
            return {k: self(v) for k, v in x.items()}
        if isinstance(x, torch.nn.Module):
            return getattr(lazyloom_torch.nn, type(x).__name__)()
        if isinstance(x, types.FunctionType) and x.__module__.startswith("torch"):
            return rebound(x)
        if isinstance(x, types.BuiltinFunctionType):
            own = getattr(lazyloom_torch.nn.functional, x.__name__, None)
            return x if own is None else own
        return x


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    lazyloom_torch.manual_seed(42)
    return op(*args, **kwargs)


def rebound(function: Any, names: Mapping[str, Any] | None = None) -> Any:
    """A Python function of PyTorch's test definitions, with ``torch`` meaning the frontend."""
    scope = {**function.__globals__, "torch": lazyloom_torch, "wrapper_set_seed": _seeded,
             "F": lazyloom_torch.nn.functional, **(names or {})}
    made = types.FunctionType(function.__code__, scope, function.__name__,
                              function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def tensors(x: Any, kind: type) -> list[Any]:
    """The tensors of that class in a result, in order."""
    if isinstance(x, kind):
        return [x]
    if isinstance(x, dict):
        return [t for v in x.values() for t in tensors(v, kind)]
    if isinstance(x, (tuple, list)):
        return [t for v in x for t in tensors(v, kind)]
    return []


def evaluate(values: list[lazyloom.Value]) -> None:
    """Run what the values wait for as one program, which compiles once for all of them."""
    last: Any = None
    for value in values:
        if value.is_pending:
            one = lazyloom.record("any", (value,))
            last = one if last is None else lazyloom.record("logical_or", (last, one))
    lazyloom.sync(*values)


def difference(mine: Any, theirs: Any, loose: float = 1.0, mask: Any = None, exact: bool = True,
               ) -> str | None:
    """What differs between a result of the frontend and PyTorch's; None if nothing does.

    ``exact=False`` compares shapes and dtypes only, for results that are random.
    """
    if isinstance(theirs, torch.Tensor):
        return _tensor_difference(mine, theirs, loose, mask, exact)
    if isinstance(theirs, torch.dtype):
        return None if mine is _dtype(theirs) else f"{mine!r}, expected {theirs!r}"
    if isinstance(theirs, (tuple, list)):
        if not isinstance(mine, (tuple, list)) or len(mine) != len(theirs):
            return f"{type(mine).__name__} {len(mine) if hasattr(mine, '__len__') else mine!r}, " \
                f"expected {type(theirs).__name__} of {len(theirs)}"
        for i, (a, b) in enumerate(zip(mine, theirs)):
            found = difference(a, b, loose, mask, exact)
            if found:
                return f"[{i}] {found}"
        return None
    if isinstance(theirs, (float, complex)) and isinstance(mine, (float, complex)):
        return None if np.allclose(mine, theirs, 1e-4, 1e-5, equal_nan=True) else (
            f"{mine!r}, expected {theirs!r}")
    return None if not exact or mine == theirs else f"{mine!r}, expected {theirs!r}"


def _tensor_difference(mine: Any, theirs: torch.Tensor, loose: float, mask: Any, exact: bool,
                       ) -> str | None:
    if not isinstance(mine, lazyloom_torch.Tensor):
        return f"{type(mine).__name__} {mine!r}, expected a tensor"
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape {list(mine.shape)}, expected {list(theirs.shape)}"
    if mine.dtype is not _dtype(theirs.dtype):
        return f"dtype {mine.dtype!r}, expected {theirs.dtype!r}"
    if not exact:
        return None
    a, b = mine.detach().read(), _host(theirs)
    if mask is not None:
        m = np.broadcast_to(mask, b.shape)
        a, b = np.where(m, a, 0), np.where(m, b, 0)
    if theirs.dtype not in TOLERANCE:
        if np.array_equal(a, b):
            return None
        return f"{_first(a, b, a != b)}"
    rtol, atol = TOLERANCE[theirs.dtype]
    wide = np.complex128 if theirs.dtype.is_complex else np.float64
    a, b = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol * loose, atol * loose * scale, equal_nan=True)
    return None if close.all() else _first(a, b, ~close)


def _first(a: Any, b: Any, wrong: Any) -> str:
    place = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    here = place if np.ndim(b) else ()
    return (f"{int(np.sum(wrong))} of {np.size(b)} elements differ, first at {list(place)}: "
            f"{a[here]!r}, expected {b[here]!r}")
