"""Random programs of the ops that a generator claims, and of others between them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..errors import LoomError
from ..ops.samples import Sample
from ..ops.spec import OpDef, lookup
from ..tensor.apply import apply
from .programs import several, tensor

#: ops per program
FEWEST: Final = 4
MOST: Final = 14


def recorded(seed: int, claimed: Mapping[str, Sequence[Sample]]) -> list[list[Any]]:
    """Record a random program; return the results that are wanted of it.

    Operands are results of ops before where types allow it, and results are used by several ops,
    or wanted, or neither.
    """
    rng = random.Random(seed)
    given = [(lookup(name), sample) for name in sorted(claimed) for sample in claimed[name]]
    values: list[Any] = []
    for _ in range(rng.randint(FEWEST, MOST)):
        op, sample = rng.choice(given)
        if values and rng.random() < 0.35:
            op, sample = rng.choice([g for g in given if _fitting(g[1], values)] or [(op, sample)])
        values += _applied(op, sample, values, rng)
        if rng.random() < 0.3:
            values += _between(rng.choice(values))
    wanted = [x for x in values if rng.random() < 0.4] or values[-1:]
    return [[x] for x in wanted]


def _key(x: Any) -> tuple[Any, ...]:
    return tuple(x.value.type.shape), x.value.type.dtype.numpy


def _fitting(sample: Sample, values: Sequence[Any]) -> bool:
    there = {_key(v) for v in values}
    return any(x is not None and (x.shape, x.dtype) in there for x in sample.operands)


def _applied(op: OpDef, sample: Sample, values: Sequence[Any], rng: random.Random) -> list[Any]:
    operands = []
    for x in sample.operands:
        known = [] if x is None or x.dtype.kind in "iub" else [
            v for v in values if _key(v) == (x.shape, x.dtype)]
        if known and rng.random() < 0.7:
            operands.append(rng.choice(known))
        else:
            operands.append(None if x is None else tensor(_tame(x)))
    return several(apply(op.name, operands, sample.attributes))


def _between(value: Any) -> list[Any]:
    """Return an op of another kind on a value, which keeps numbers small."""
    if not value.value.type.dtype.is_floating:
        return []
    try:
        return several(apply("tanh", [value], {}))
    except LoomError:
        return []


def _tame(array: Any) -> Any:
    """Return an array without what is not finite: rounding would decide about all that follows."""
    if array.dtype.kind in "biu":
        return array
    with np.errstate(all="ignore"):
        finite = np.isfinite(array) & (np.abs(array) < 100)
        return np.where(finite, array, np.ones((), array.dtype)).astype(array.dtype)
