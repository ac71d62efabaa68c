"""Ops that make a tensor out of scalars and attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..dtypes import ALL, CLASSES_SORTED, DType, float32, int64
from . import rules
from ._helpers import broadcast, broadcast_to, constant, convert, divided_by, isnan, kind, widened
from ._jax import jnp, lax
from .kinds import AnyType, Array, Ints, T
from .samples import Sample
from .spec import OpDef, op
from .traits import NOT_DIFFERENTIABLE, Access, Derivative, Signature


def _full_samples(op: OpDef) -> Iterator[Sample]:
    for d in ALL:
        yield Sample([np.array(1, d.numpy)], {"shape": (2, 3)}, d.name)
    for shape in ((), (0, 3), (4,)):
        yield Sample([np.array(2.5, np.float32)], {"shape": shape}, f"shape={shape}")
    for value in (np.nan, -np.inf, -0.0):
        yield Sample([np.array(value, np.float64)], {"shape": (2,)}, str(value), smooth=False)


@op(rules.filled, source="array API full", reference="numpy.full", samples=_full_samples,
    derivative=Derivative(linear="value"), signature=Signature(of_numbers=True),
    access=Access(data_movement=True))
def full(value: AnyType, *, shape: Ints) -> Array:
    """A tensor of that shape, every element the 0-d ``value``, of its dtype.

    ArgumentError for a negative size.
    """
    return lax.broadcast(value, shape)


def _arange_samples(op: OpDef) -> Iterator[Sample]:
    for d in CLASSES_SORTED[op.T]:
        yield Sample([np.array(1, d.numpy), np.array(2, d.numpy)], {"length": 5}, d.name)
    for start, step in ((-1.5, 0.25), (10.0, -3.0)):
        for length in (0, 1, 7):
            yield Sample([np.array(start), np.array(step)], {"length": length},
                         f"{start} {step} {length}")


@op(rules.progression, T="number", source="NumPy arange", samples=_arange_samples, tolerance=4.0,
    derivative=Derivative(linear="start step"))
def arange(start: T, step: T, *, length: int) -> Array:
    """start, start + step, ...: ``length`` elements start + i * step.

    Integers wrap; float16 and bfloat16 are computed in float32.
    """
    first, by = widened(start), widened(step)
    real = first.real.dtype if kind(first) == "c" else first.dtype
    index = convert(lax.iota(real, length), first.dtype)
    steps = lax.mul(index, lax.broadcast(by, (length,)))
    return convert(lax.add(lax.broadcast(first, (length,)), steps), start.dtype)


def _linspace_samples(op: OpDef) -> Iterator[Sample]:
    for d in CLASSES_SORTED[op.T]:
        for num, endpoint in ((5, True), (5, False), (1, True), (0, True)):
            yield Sample([np.array(-1, d.numpy), np.array(2, d.numpy)],
                         {"num": num, "endpoint": endpoint}, f"{d.name} {num} {endpoint}")
    yield Sample([np.array([0.0, 1.0]), np.array([[1.0], [3.0]])], {"num": 4}, "broadcast")


@op(rules.spaced, T="inexact", source="array API linspace", samples=_linspace_samples,
    tolerance=4.0, derivative=Derivative(linear="start stop"))
def linspace(start: T, stop: T, *, num: int, endpoint: bool = True) -> Array:
    """``num`` evenly spaced numbers from start to stop, which ``endpoint`` includes.

    Operands broadcast; the numbers run along a new first axis. float16 and bfloat16
    are computed in float32.
    """
    dtype = start.dtype
    first, last = broadcast(widened(start), widened(stop))
    shape = (num, *first.shape)
    pieces = max(num - 1 if endpoint else num, 1)
    real = first.real.dtype if kind(first) == "c" else first.dtype
    index = lax.broadcasted_iota(real, shape, 0)
    step = broadcast_to(divided_by(lax.sub(last, first), pieces), shape)
    first, last = broadcast_to(first, shape), broadcast_to(last, shape)
    offset = lax.mul(convert(index, first.dtype), step)
    # A compiler that fuses the product with the sum rounds some elements twice and others once,
    # so numbers would depend on how many there are; the selection prevents the fusion.
    offset = lax.select(isnan(offset), constant(offset, math.nan), offset)
    at_end = lax.eq(index, constant(index, pieces))
    return convert(lax.select(at_end, last, lax.add(first, offset)), dtype)


def _eye_samples(op: OpDef) -> Iterator[Sample]:
    for d in ALL:
        yield Sample([], {"n": 3, "dtype": d}, d.name)
    for n, m, k in ((2, 4, 1), (4, 2, -1), (3, 3, 5), (0, 3, 0), (3, None, -3)):
        yield Sample([], {"n": n, "m": m, "k": k, "dtype": float32}, f"{n} {m} {k}")


@op(rules.identity_matrix, source="array API eye", reference="numpy.eye", samples=_eye_samples,
    derivative=NOT_DIFFERENTIABLE)
def eye(*, n: int, m: int | None = None, k: int = 0, dtype: DType) -> Array:
    """An n by m (n by n for None) matrix with ones on diagonal ``k`` and zeros elsewhere.

    ArgumentError for a negative size.
    """
    shape = (n, n if m is None else m)
    row, column = (lax.broadcasted_iota(jnp.int64, shape, i) for i in (0, 1))
    return convert(lax.eq(lax.add(row, constant(row, k)), column), dtype)


def _iota_samples(op: OpDef) -> Iterator[Sample]:
    for d in ALL:
        if d.kind != "b":
            yield Sample([], {"shape": (2, 3), "axis": 1, "dtype": d}, d.name)
    for shape, axis in (((3,), 0), ((2, 0), 1), ((2, 3, 4), -2)):
        yield Sample([], {"shape": shape, "axis": axis, "dtype": int64}, f"{shape} {axis}")


@op(rules.counting, source="XLA Iota", samples=_iota_samples, derivative=NOT_DIFFERENTIABLE)
def iota(*, shape: Ints, axis: int = 0, dtype: DType) -> Array:
    """A tensor whose elements are their own index along ``axis``.

    ArgumentError for a negative size, an axis out of range or dtype bool.
    """
    real = dtype.real
    return convert(lax.broadcasted_iota(real.numpy, shape, axis % len(shape)), dtype)
