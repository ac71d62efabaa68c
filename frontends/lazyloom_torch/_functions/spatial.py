"""What the functions over spatial dimensions share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import lazyloom

from .._core import record
from .._tensor import Tensor

_wrap = Tensor.from_value


def ntuple(value: Any, n: int, name: str = "argument") -> tuple[int, ...]:
    """One int for all of n spatial dimensions, or one for each."""
    if isinstance(value, int):
        return (value,) * n
    found = tuple(int(v) for v in value)
    if len(found) == 1:
        return found * n
    if len(found) != n:
        raise RuntimeError(f"{name} must be an int or {n} ints, got {value!r}")
    return found


def batched(x: Any, n: int, name: str) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had one."""
    if len(x.shape) == n + 2:
        return x, True
    if len(x.shape) == n + 1:
        return record("reshape", [x], {"shape": (1, *x.shape)}), False
    raise RuntimeError(
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of "
        f"size: {list(x.shape)}")


def finish(v: Any, was_batched: bool) -> Tensor:
    """The tensor of a result, without the batch dimension that :func:`batched` gave it."""
    made: Tensor = _wrap(v if was_batched else record("reshape", [v], {"shape": v.shape[1:]}))
    return made


@functools.lru_cache(maxsize=512)
def _constant(data: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
    return lazyloom.from_host(np.frombuffer(data, dtype).reshape(shape))


def constant(array: np.ndarray[Any, Any]) -> Any:
    """A small host array as a Value; the same array is uploaded once."""
    return _constant(array.tobytes(), array.dtype.name, array.shape)


#: how many pieces a list of positions may be made of before it is gathered
_PIECES = 8


def _runs(positions: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """(start, count, step) of the runs of step 1, -1 or 0 that the positions are made of."""
    found: list[tuple[int, int, int]] = []
    i = 0
    values = positions.tolist()
    while i < len(values):
        step = values[i + 1] - values[i] if i + 1 < len(values) else 1
        if step not in (1, -1, 0):
            step = 1
        j = i + 1
        while j < len(values) and values[j] - values[j - 1] == step:
            j += 1
        found.append((values[i], j - i, step))
        i = j
        if len(found) > _PIECES:
            break
    return found


def gathered(v: Any, positions: np.ndarray[Any, Any], dim: int) -> Any:
    """The slices at positions known on the host, along a dimension.

    By slices, reversals and repetitions where a few suffice: they fuse, and their derivatives
    are no scatters.
    """
    size = v.shape[dim]
    count = len(positions)
    if count and size and count % size == 0 and count > size and np.array_equal(
        positions, np.arange(count) // (count // size)
    ):
        wide = record("expand_dims", [v], {"axes": (dim + 1,)})
        shape = (*v.shape[:dim + 1], count // size, *v.shape[dim + 1:])
        wide = record("broadcast_to", [wide], {"shape": shape})
        return record("reshape", [wide], {"shape": (*v.shape[:dim], count, *v.shape[dim + 1:])})
    runs = _runs(positions)
    if not runs or len(runs) > _PIECES:
        return record("take", [v, constant(positions.astype(np.int64))], {"axis": dim})
    parts = []
    for start, length, step in runs:
        low, high = (start - length + 1, start + 1) if step == -1 else (
            start, start + (length if step else 1))
        part = v if (low, high) == (0, size) else record("slice", [v], {
            "starts": tuple(low if i == dim else 0 for i in range(len(v.shape))),
            "stops": tuple(high if i == dim else d for i, d in enumerate(v.shape))})
        if step == -1:
            part = record("flip", [part], {"axes": (dim,)})
        elif step == 0:
            part = record("broadcast_to", [part], {
                "shape": (*v.shape[:dim], length, *v.shape[dim + 1:])})
        parts.append(part)
    return parts[0] if len(parts) == 1 else record("concatenate", parts, {"axis": dim})


def flattened(v: Any, n: int) -> Any:
    """The last n dimensions as one."""
    size = 1
    for d in v.shape[len(v.shape) - n:]:
        size *= d
    return record("reshape", [v], {"shape": (*v.shape[:len(v.shape) - n], size)})


def same_dtype(name: str, input: Tensor, weight: Tensor) -> None:
    """RuntimeError for a weight of another dtype."""
    if input.tensor_type.dtype is not weight.tensor_type.dtype:
        raise RuntimeError(
            f"{name}: Input type ({input.dtype!r}) and weight type ({weight.dtype!r}) should be "
            "the same")


def hashable(value: Any) -> Any:
    """A list as a tuple, for keys."""
    return tuple(value) if isinstance(value, list) else value


def product(sizes: Sequence[int]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n
