"""Many tensors as few: those of one dtype after each other in one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lazyloom import TensorType, Value

from .._core import numel, record
from . import calls

#: bytes of a bucket of what is broadcast
LARGE: Final = 250 << 20


def buckets_of(types: Sequence[TensorType], limit: int) -> list[list[int]]:
    """Positions of tensors, put together by dtype, in order, up to a number of bytes each."""
    found: list[list[int]] = []
    begun: dict[str, tuple[list[int], int]] = {}
    for i, kind in enumerate(types):
        name = kind.dtype.name
        bucket, size = begun.get(name, (None, 0))
        if bucket is None or size + kind.nbytes > limit:
            bucket, size = [], 0
            found.append(bucket)
        bucket.append(i)
        begun[name] = (bucket, size + kind.nbytes)
    return found


def flat(values: Sequence[Value]) -> Value:
    """The elements of values of one dtype, after each other."""
    rows = [calls.reshaped(v, (v.type.size,)) for v in values]
    return rows[0] if len(rows) == 1 else record("concatenate", rows, {"axis": 0})


def parts(whole: Value, shapes: Sequence[tuple[int, ...]]) -> list[Value]:
    """What :func:`flat` was made of, values of these shapes."""
    if len(shapes) == 1:
        return [calls.reshaped(whole, shapes[0])]
    rows = record("split", [whole], {"sizes": tuple([numel(s) for s in shapes]), "axis": 0})
    return [calls.reshaped(row, shape) for row, shape in zip(rows, shapes, strict=True)]


def together(
    values: Sequence[Value], limit: int, collective: Callable[[Value], Value]
) -> list[Value]:
    """What a collective that keeps shapes makes of each of many values, of few buckets."""
    found: list[Value] = list(values)
    for bucket in buckets_of([v.type for v in values], limit):
        whole = collective(flat([values[i] for i in bucket]))
        for i, part in zip(bucket, parts(whole, [values[i].shape for i in bucket]), strict=True):
            found[i] = part
    return found
