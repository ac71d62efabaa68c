"""Embedding and dropout."""

from __future__ import annotations

import numpy as np

from ._jax import lax
from .cases import Cases, case, integers, rough
from .indexing import _wide, take
from .kinds import Array, Integer, T
from .random import _drawn
from .rules import nn as rules
from .spec import op
from .traits import Access, Derivative

_KEY = np.array([1, 2], np.uint32)


@op(
    rules.embedding, T="inexact", source="torch.nn.functional.embedding",
    derivative=Derivative(differentiable=("weight",), linear="weight"),
    samples=Cases(
        case((4, 3), [2, 0, -1, 2]), rough((4, 3), [[0, 9], [3, 1]], padding_index=3),
        case((4, 3), integers(1, np.int32)), case((0, 3), integers([])), case((4, 0), [1])),
    access=Access(data_movement=True),
)  # fmt: skip
def embedding(weight: T, indices: Integer, *, padding_index: int | None = None) -> Array:
    """The rows of ``weight`` (rows, features) at ``indices``, of any shape.

    Negative indices count from the end; others out of range are clamped. The
    derivative adds up what each index took; rows taken as ``padding_index`` get none.
    Raises ShapeError, ArgumentError.
    """
    rows = take(weight, indices, axis=0)
    if padding_index is None:
        return rows
    where = _wide(indices)
    pad = lax.broadcast_in_dim(
        lax.eq(where, lax.full_like(where, padding_index)), rows.shape, range(where.ndim))
    return lax.select(pad, lax.stop_gradient(rows), rows)


@op(
    rules.dropout, T="floating", source="Srivastava et al., Dropout, 2014",
    derivative=Derivative(differentiable=("x",), linear="x"),
    samples=Cases(
        case((3, 4), _KEY, rate=0.5), case((3, 4), _KEY, rate=0.0), case((3, 4), _KEY, rate=1.0),
        case((), _KEY, rate=0.25), case((0, 3), _KEY, rate=0.25)),
)  # fmt: skip
def dropout(x: T, key: Integer, *, rate: float) -> Array:
    """x with each element zero with probability ``rate``, and divided by ``1 - rate`` else.

    An element stays where ``random_bernoulli`` of the same key, of the shape of x and
    of the float32 number ``1 - rate``, is true. Raises ArgumentError.
    """
    if rate == 0.0:
        return x
    drawn = _drawn("uniform", key, x.shape, "float32")
    keep = lax.lt(drawn, lax.full_like(drawn, 1.0 - rate))
    scale = 0.0 if rate == 1.0 else 1.0 / (1.0 - rate)
    return lax.select(keep, lax.mul(x, lax.full_like(x, scale)), lax.full_like(x, 0.0))
