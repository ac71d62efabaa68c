"""What a shadow makes of the steps of a definition that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .folds import scattered
from .shades import Shade, is_inexact, wide

#: where an index points at nothing: what a gather fills with
NOWHERE: Final = np.iinfo(np.int64).min


def rule(name: str, xs: Sequence[Shade], params: Any, aval: Any, step: Any) -> Shade | None:
    """The result of a step that moves; None if this is none."""
    single = _SINGLE.get(name)
    if single is not None:
        return xs[0].moved(lambda a: single(a, params, aval))
    if name == "concatenate":
        axis = params["dimension"]
        return Shade(aval.dtype, np.concatenate([x.v for x in xs], axis),
                     np.concatenate([x.e for x in xs], axis))
    if name == "iota":
        shape, at = tuple(params["shape"]), params["dimension"]
        line = np.arange(shape[at]).reshape([-1 if k == at else 1 for k in range(len(shape))])
        return Shade(aval.dtype, np.broadcast_to(line, shape).astype(wide(aval.dtype)))
    if name == "pad":
        x, value = xs
        return Shade(aval.dtype, _padded(x.v, value.v, params, aval),
                     _padded(x.e, value.e, params, aval))
    if name in _BY_NUMBER:
        return _by_number(name, xs, aval, step)
    return None


def _broadcast(a: Any, p: Any, aval: Any) -> Any:
    shape = [1] * len(aval.shape)
    for axis, extent in zip(p["broadcast_dimensions"], a.shape, strict=True):
        shape[axis] = extent
    return np.broadcast_to(a.reshape(shape), aval.shape)


def _slice(a: Any, p: Any, aval: Any) -> Any:
    strides = p["strides"] or (1,) * a.ndim
    return a[tuple(map(slice, p["start_indices"], p["limit_indices"], strides))]


_SINGLE: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "broadcast_in_dim": _broadcast, "slice": _slice,
    "reshape": lambda a, p, aval: a.reshape(aval.shape),
    "squeeze": lambda a, p, aval: a.reshape(aval.shape),
    "expand_dims": lambda a, p, aval: a.reshape(aval.shape),
    "transpose": lambda a, p, aval: a.transpose(p["permutation"]),
    "rev": lambda a, p, aval: np.flip(a, p["dimensions"]),
}  # fmt: skip


def _padded(a: Any, value: Any, p: Any, aval: Any) -> Any:
    for axis, (low, high, inside) in enumerate(p["padding_config"]):
        extent = a.shape[axis]
        spread = max(0, extent + inside * (extent - 1)) if extent else 0
        made = np.full((*a.shape[:axis], spread, *a.shape[axis + 1 :]), value, a.dtype)
        made[(slice(None),) * axis + (slice(None, None, inside + 1),)] = a
        before = np.full((*a.shape[:axis], max(low, 0), *a.shape[axis + 1 :]), value, a.dtype)
        after = np.full((*a.shape[:axis], max(high, 0), *a.shape[axis + 1 :]), value, a.dtype)
        made = np.concatenate([before, made, after], axis)
        cut = slice(max(-low, 0), made.shape[axis] - max(-high, 0))
        a = made[(slice(None),) * axis + (cut,)]
    return a.reshape(aval.shape)


#: steps that take indices, with how many operands are moved (the first ones, or those at 0 and 2)
_BY_NUMBER: Final = {
    "gather": (0,), "dynamic_slice": (0,), "dynamic_update_slice": (0, 1), "scatter": (0, 2),
}  # fmt: skip


def _by_number(name: str, xs: Sequence[Shade], aval: Any, step: Any) -> Shade:
    """A step that moves to places which are data: run on the numbers of elements, then taken."""
    import jax

    at = _BY_NUMBER[name]
    pools, given, begin = [], [], 0
    for k, x in enumerate(xs):
        if k in at:
            given.append(np.arange(begin, begin + x.v.size).reshape(x.shape))
            pools.append(x)
            begin += x.v.size
        else:
            if not x.is_exact:
                return Shade(aval.dtype, np.zeros(aval.shape, wide(aval.dtype)), np.inf)
            given.append(x.v)
    params = dict(step.params)
    if "fill_value" in params:
        params["fill_value"] = -1
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(g) for g in given]
        found = np.asarray(scattered(jax.lax.scatter, arrays, params) if name == "scatter" else (
            step.primitive.bind(*arrays, **params)))
    v = np.concatenate([p.v.reshape(-1) for p in pools])
    e = np.concatenate([p.e.reshape(-1) for p in pools])
    beyond = found < 0
    places = np.where(beyond, 0, found)
    if not v.size:
        v, e = np.zeros(1, v.dtype), np.zeros(1)
    numbers, bounds = v[places], e[places]
    if beyond.any():
        fill = step.params.get("fill_value")
        if fill is None:
            fill = _fill_of(aval.dtype)
        numbers = np.where(beyond, np.asarray(fill).astype(v.dtype), numbers)
        bounds = np.where(beyond, 0, bounds)
    return Shade(aval.dtype, numbers, bounds)


def _fill_of(dtype: Any) -> Any:
    """What JAX puts where an index points at nothing."""
    if is_inexact(dtype):
        return np.nan
    if np.dtype(dtype).kind == "b":
        return True
    return np.iinfo(dtype).min if np.dtype(dtype).kind == "i" else np.iinfo(dtype).max
