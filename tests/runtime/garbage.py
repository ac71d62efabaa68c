"""Operands whose padding is whatever must not matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyloom.backends.xla.padding.dims import Description, elements, is_any, named, positions


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
