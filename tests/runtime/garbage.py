"""Arrays at a bucket, whose padding is whatever must not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyloom.backends.xla.padding.dims import (
    SYMBOL,
    Description,
    elements,
    is_any,
    is_dynamic,
    named,
    size_at,
)


def garbage(rng: np.random.Generator, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return np.ones(shape, bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(rng.choice(np.array([info.min, info.max, 77], dtype), shape))
    found = np.asarray(rng.choice(np.array([np.nan, np.inf, -np.inf, 1e4]), shape))
    if dtype.kind == "c":
        found = found.astype(dtype)
        found.imag = rng.choice(np.array([np.nan, np.inf, 3.0]), shape)
        return found
    return found.astype(dtype)


def padded_with_garbage(
    array: np.ndarray, dims: Sequence[Description], bucket: Sequence[int],
    extents: Sequence[int], rng: np.random.Generator,
) -> np.ndarray:
    for axis, description in enumerate(dims):
        if is_any(description):
            # it does not vary along this one, padding included
            array = np.take(array, np.zeros(elements(description, named(bucket)), int), axis)
    whole = [elements(d, named(bucket)) for d in dims]
    found = garbage(rng, whole, array.dtype)
    found[np.ix_(*[positions(d, bucket, bucket if is_any(d) else extents) for d in dims])] = array
    return found


def positions(
    description: Description, bucket: Sequence[int], extents: Sequence[int]
) -> np.ndarray[Any, Any]:
    """Where the valid elements of a dimension at the bucket are, in order, int64."""
    if is_any(description):
        description = description[1:]
    at, actual = named(bucket), named(extents)
    found = np.zeros(1, np.int64)
    for factor in description:
        found = (found[:, None] * size_at(factor, at)
                 + np.arange(size_at(factor, actual), dtype=np.int64)).reshape(-1)
    return found


def without_padding(
    array: np.ndarray[Any, Any], dims: Sequence[Description], bucket: Sequence[int],
    extents: Sequence[int],
) -> np.ndarray[Any, Any]:
    """The valid part of an array at the bucket; a view where that can be."""
    for axis, description in enumerate(dims):
        if not is_dynamic(description) and not any(map(SYMBOL.search, description)):
            continue
        if is_any(description) or len(description) == 1:
            size = size_at(description[-1], named(extents))
            array = array[(slice(None),) * axis + (slice(size),)]
        else:
            array = array.take(positions(description, bucket, extents), axis)
    return array


def with_padding(
    array: np.ndarray[Any, Any], dims: Sequence[Description], bucket: Sequence[int],
    extents: Sequence[int], fill: Any = 0,
) -> np.ndarray[Any, Any]:
    """An array at the bucket with that valid part, and ``fill`` elsewhere."""
    shape = [elements(description, named(bucket)) for description in dims]
    found = np.full(shape, fill, array.dtype)
    found[np.ix_(*[positions(d, bucket, extents) for d in dims])] = array
    return found
