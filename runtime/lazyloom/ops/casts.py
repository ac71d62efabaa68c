"""Changes of dtype: by value (cast) and by bits (bitcast)."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType
from . import rules
from ._helpers import constant, convert, is_inexact, kind, widened
from ._jax import jnp, lax
from .compare import truth
from .kinds import AnyType, Array
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative


@op(rules.cast, source="C11 6.3.1; NumPy astype", derivative=Derivative(linear="x"))
def cast(x: AnyType, *, dtype: DType) -> Array:
    """x converted to ``dtype``.

    To bool: whether x is not zero. Floating point to integer truncates towards zero. Where C
    and NumPy leave the result open it is the one that NumPy and PyTorch have on x86: what int32,
    or int64 for 32 unsigned bits and more, does not hold, NaN included, is the smallest integer,
    and of what it holds narrower integers keep the low bits (300.0 as uint8 is 44).
    Integers wrap. Complex to real drops the imaginary part.
    """
    return cast_to(x, dtype)


def cast_to(x: Any, dtype: DType) -> Any:
    """The definition of ``cast``, for other ops."""
    if x.dtype == dtype.numpy:
        return x
    if dtype.kind == "b":
        return truth(x)
    if kind(x) == "c" and dtype.kind != "c":
        x = lax.real(x)
    if kind(x) == "b" and dtype.is_inexact:
        # XLA would turn a product with this into a select, in which 0 times infinity is 0
        return lax.optimization_barrier(convert(x, dtype))
    if is_inexact(x) and dtype.is_integer:
        return _truncated(x, dtype)
    return convert(x, dtype)


def _truncated(x: Any, dtype: DType) -> Any:
    """Floating point to integer, by x86's conversion to 32 or 64 signed bits."""
    wide = jnp.int32 if dtype.itemsize < 4 or dtype.name == "int32" else jnp.int64
    limit = -float(jnp.iinfo(wide).min)
    x = widened(x)
    below = lax.lt(x, constant(x, limit))
    fits = lax.bitwise_and(below, lax.ge(x, constant(x, -limit)))
    truncated = lax.convert_element_type(x, wide)
    truncated = lax.select(fits, truncated, constant(truncated, jnp.iinfo(wide).min))
    if dtype.name == "uint64":
        # a number that 64 signed bits do not hold may still fit into unsigned bits
        above = lax.bitwise_not(lax.bitwise_or(below, lax.ne(x, x)))
        return lax.select(above, convert(x, dtype), convert(truncated, dtype))
    return convert(truncated, dtype)


@op(rules.bitcast, source="XLA BitcastConvertType; C memcpy", derivative=NOT_DIFFERENTIABLE)
def bitcast(x: AnyType, *, dtype: DType) -> Array:
    """The bytes of x read as ``dtype``.

    Equal sizes keep the shape. A smaller dtype appends an axis, a larger one takes
    the last axis, whose size is the ratio of the sizes (least significant first).
    A bool is one byte, 0 or 1; any other byte than 0 reads as true.
    """
    if x.dtype == dtype.numpy:
        return x
    if kind(x) in "iuf" and dtype.kind in "iuf":
        return lax.bitcast_convert_type(x, dtype.numpy)
    return _from_words(_to_words(x, dtype), x, dtype)


def _part_size(kind: str, itemsize: int) -> int:
    return itemsize // 2 if kind == "c" else itemsize


def _to_words(x: Any, dtype: DType) -> Any:
    """Unsigned words whose size divides the parts of both dtypes, along an additional last axis."""
    size = x.dtype.itemsize
    word = min(_part_size(kind(x), size), _part_size(dtype.kind, dtype.itemsize))
    if kind(x) == "c":
        parts = lax.concatenate(
            [lax.expand_dims(part, [x.ndim]) for part in (lax.real(x), lax.imag(x))], x.ndim)
    else:
        parts = lax.expand_dims(convert(x, jnp.uint8) if kind(x) == "b" else x, [x.ndim])
    unsigned = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[word]
    return lax.reshape(lax.bitcast_convert_type(parts, unsigned), (*x.shape, size // word))


def _from_words(words: Any, x: Any, dtype: DType) -> Any:
    per_element = dtype.itemsize // words.dtype.itemsize
    shape = x.shape
    if dtype.itemsize < x.dtype.itemsize:
        shape = (*shape, x.dtype.itemsize // dtype.itemsize)
    elif dtype.itemsize > x.dtype.itemsize:
        shape = shape[:-1]
    if dtype.kind == "b":
        return truth(lax.reshape(words, shape))
    if dtype.kind != "c":
        if per_element == 1:
            return lax.bitcast_convert_type(lax.reshape(words, shape), dtype.numpy)
        return lax.bitcast_convert_type(lax.reshape(words, (*shape, per_element)), dtype.numpy)
    part = jnp.float32 if dtype.itemsize == 8 else jnp.float64
    per_part = (per_element // 2,) if per_element > 2 else ()
    parts = lax.bitcast_convert_type(lax.reshape(words, (*shape, 2, *per_part)), part)
    return lax.complex(*[lax.index_in_dim(parts, i, len(shape), keepdims=False) for i in (0, 1)])
