"""Functions that make indices: open meshes, flat indices and coordinates."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.errors import ArgumentError

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, host_array, operand, value_of
from .._arguments.options import clip_mode, row_or_column
from .._array.ndarray import wrap
from .counting import coordinates
from .creation import asarray
from .selecting import nonzero

record = lazyloom.record


def ix_(*args: Any) -> tuple[Any, ...]:
    """An open mesh from sequences, as ``numpy.ix_``; how many of a mask are true is read."""
    arrays = []
    for i, given in enumerate(args):
        a = asarray(given)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.size == 0:
            a = a.astype(onp.intp)
        if a.dtype == bool:
            (a,) = nonzero(a)
        arrays.append(a.reshape((1,) * i + (a.size,) + (1,) * (len(args) - i - 1)))
    return tuple(arrays)


#: what a position that is no element's is called, by the kind of check
_MESSAGES: Final[dict[str, Any]] = {
    "flat index": lambda bad, size: f"index {bad} is out of bounds for array with size {size}",
    "coordinate": lambda bad, size: "invalid entry in coordinates array",
}


def _judge(data: Any, check: lazyloom.Check) -> ArgumentError:
    (size,) = check.info
    bad = int(data[data != 0].flat[0])
    text = _MESSAGES[check.kind](bad + size if bad < 0 else bad, size)
    return ArgumentError(f"{text} (op {check.of}, recorded at {check.site})", op=check.of,
                         site=str(check.site))  # fmt: skip


for _kind in _MESSAGES:
    lazyloom.register_check(_kind, _judge)


def _positions(given: Any, size: int, kind: str, of: str) -> Any:
    """A Value of int64 in ``0 .. size - 1``; ValueError for another, now or when it is read.

    Now where it is known on the host, as in :mod:`.bounds`.
    """
    if isinstance(given, (list, tuple)) and not len(given):
        raise TypeError(
            "indices must be integral: the provided empty sequence was inferred as float. Wrap it "
            "with 'np.array(indices, dtype=np.intp)'")
    if not isinstance(given, (lazyloom.Tensor, lazyloom.Value, list, tuple)):
        given = lazyloom.from_host(host_array(given))
    value = as_value(operand(given))
    if value.type.dtype.kind not in "iu":
        raise TypeError("only int indices permitted")
    if not value.type.size:
        return as_value(value, dt.INT64)
    known = lazyloom.known_range(value)
    value = as_value(value, dt.INT64)
    if known is not None or not size:
        bad = [n for n in known or (0,) if not 0 <= n < size]
        if bad:
            raise ValueError(_MESSAGES[kind](bad[0], size))
        return value
    negative = record("less", (value, dt.scalar(0, dt.INT64)))
    moved = record("subtract", (value, dt.scalar(size, dt.INT64)))
    flag = record(
        "first_out_of_range", (record("where", (negative, moved, value)),), {"size": size})
    return record("checked", (value, flag), {"kind": kind, "of": of, "info": (size,)})[0]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Coordinates of flat indices, as ``numpy.unravel_index``."""
    dims = dt.shape_tuple(shape)
    rest = _positions(indices, math.prod(dims), "flat index", "unravel_index")
    order = row_or_column(order)
    found = coordinates(rest, dims if order == "C" else dims[::-1])
    return tuple(wrap(c) for c in (found if order == "C" else found[::-1]))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Flat indices of coordinates, as ``numpy.ravel_multi_index``."""
    shape = dt.shape_tuple(dims)
    several = isinstance(mode, (tuple, list))
    modes = tuple(map(clip_mode, mode)) if several else (clip_mode(mode),) * len(shape)
    given = tuple(multi_index)
    if len(given) != len(shape):
        raise ValueError(
            f"parameter multi_index must be a sequence of length {len(shape)}")
    order = row_or_column(order)
    total: Any = None
    for i, (c, n, how) in enumerate(zip(given, shape, modes)):
        if how == "raise":
            value = _positions(c, n, "coordinate", "ravel_multi_index")
        else:
            value = value_of(c, dt.INT64)
            size = dt.scalar(n, dt.INT64)
            value = record("remainder", (value, size)) if how == "wrap" else record(
                "clip", (value, dt.scalar(0, dt.INT64), dt.scalar(n - 1, dt.INT64)))
        below = shape[i + 1:] if order == "C" else shape[:i]
        part = record("multiply", (value, dt.scalar(math.prod(below), dt.INT64)))
        total = part if total is None else record("add", (total, part))
    return wrap(total)
