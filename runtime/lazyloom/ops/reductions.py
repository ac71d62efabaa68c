"""Reductions over axes, and indices of extrema.

Attribute ``axes`` names the reduced axes, all of them for ``None``; ``keepdims``
leaves them with size 1. float16 and bfloat16 accumulate in float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..dtypes import DType
from . import rules
from ._helpers import (
    all_axes,
    constant,
    convert,
    divided_by,
    is_inexact,
    isnan,
    kind,
    modulus,
    widened,
)
from ._jax import jax, jnp, lax
from .casts import cast_to
from .compare import truth
from .kinds import Array, Ints, T
from .samples import Reduction
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative


def finished(x: Any, axes: tuple[int, ...], keepdims: bool, result: Any) -> Any:
    """The result of reducing x over axes, in the shape that keepdims requires."""
    return lax.expand_dims(result, sorted(axes)) if keepdims else result


@op(rules.accumulation, T="any", source="array API sum", tolerance=4.0,
    derivative=Derivative(linear="x"))
def sum_(x: T, *, axes: Ints | None = None, dtype: DType | None = None,
         keepdims: bool = False) -> Array:  # fmt: skip
    """The sum of the elements, cast to ``dtype`` first if that is given; 0 of none.

    The result of bool is bool (whether any is true) unless ``dtype`` says otherwise;
    integers wrap.
    """
    axes = all_axes(x, axes)
    result = x.dtype if dtype is None else dtype.numpy
    x = x if dtype is None else cast_to(x, dtype)
    if kind(x) == "b":
        return finished(x, axes, keepdims, lax.reduce_or(x, axes))
    return finished(x, axes, keepdims, convert(lax.reduce_sum(widened(x), axes), result))


@op(rules.accumulation, T="any", source="array API prod", tolerance=8.0)
def prod(x: T, *, axes: Ints | None = None, dtype: DType | None = None,
         keepdims: bool = False) -> Array:  # fmt: skip
    """The product of the elements, cast to ``dtype`` first if that is given; 1 of none.

    The result of bool is bool (whether all are true) unless ``dtype`` says otherwise;
    integers wrap. The derivatives of all orders are right where elements are 0.
    """
    axes = all_axes(x, axes)
    result = x.dtype if dtype is None else dtype.numpy
    x = x if dtype is None else cast_to(x, dtype)
    if kind(x) == "b":
        return finished(x, axes, keepdims, lax.reduce_and(x, axes))
    if not is_inexact(x):
        return finished(x, axes, keepdims, lax.reduce_prod(x, axes))
    return finished(x, axes, keepdims, convert(_product(widened(x), axes), result))


def _product(x: Any, axes: tuple[int, ...]) -> Any:
    """The product; its derivative by an element is the product of the others.

    That is product / x except with zeros: with one zero only the derivative by that element is
    not zero, with several all are. XLA compiles this 20 times faster than the tree of products
    that ``lax.reduce_prod`` differentiates to.
    """
    rest = [i for i in range(x.ndim) if i not in axes]

    def spread(v: Any) -> Any:
        return lax.broadcast_in_dim(v, x.shape, rest)

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        return product(x), lax.reduce_sum(lax.mul(dx, others(x)), axes)

    def quotients(x: Any) -> Any:
        zero = lax.eq(x, constant(x, 0))
        filled = lax.select(zero, constant(x, 1), x)
        zeros = lax.reduce_sum(convert(zero, jnp.int64), axes)
        of_nonzero = product(filled)
        alone = lax.select(lax.eq(zeros, constant(zeros, 1)), of_nonzero, constant(of_nonzero, 0))
        return lax.select(zero, spread(alone), lax.div(spread(product(x)), filled))

    def others(x: Any) -> Any:
        """For each element, the product of the others."""
        function = jax.custom_jvp(quotients)
        # with two zero elements the quotients do not say how these products change
        function.defjvp(
            lambda primals, tangents: jax.jvp(_products_of_others(axes), primals, tangents))
        return function(x)

    product = jax.custom_jvp(lambda x: lax.reduce_prod(x, axes))
    product.defjvp(rule)
    return product(x)


def _products_of_others(axes: tuple[int, ...]) -> Callable[[Any], Any]:
    """For each element, the product of the others along the axes, by running products."""

    def function(x: Any) -> Any:
        if 0 in x.shape:
            return x
        rest = [a for a in range(x.ndim) if a not in axes]
        order = (*rest, *axes)
        moved = lax.transpose(x, order)
        last = len(rest)
        flat = lax.reshape(moved, (*moved.shape[:last], math.prod(moved.shape[last:])))
        one = lax.full((*flat.shape[:-1], 1), 1, flat.dtype)
        before = lax.concatenate([one, flat[..., :-1]], last)
        after = lax.concatenate([flat[..., 1:], one], last)
        products = lax.mul(lax.cumprod(before, axis=last),
                           lax.cumprod(after, axis=last, reverse=True))
        back = [order.index(a) for a in range(x.ndim)]
        return lax.transpose(lax.reshape(products, moved.shape), back)

    return function


def _extremum(f: Callable[..., Any], x: Any, axes: tuple[int, ...]) -> Any:
    """The largest or smallest element; all elements equal to it share its gradient."""
    if not is_inexact(x):
        return f(x, axes)
    extremum = jax.custom_jvp(lambda x: f(x, axes))
    rest = [i for i in range(x.ndim) if i not in axes]

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        value = extremum(x)
        spread = lax.broadcast_in_dim(value, x.shape, rest)
        # NaN differs from itself
        at = lax.bitwise_or(lax.eq(x, spread), lax.bitwise_and(isnan(x), isnan(spread)))
        shares = convert(at, x.dtype)
        total = lax.reduce_sum(lax.select(at, dx, constant(dx, 0)), axes)
        return value, lax.div(total, lax.reduce_sum(shares, axes))

    extremum.defjvp(rule)
    return extremum(x)


@op(rules.extremum, T="ordered", source="array API max",
    derivative=Derivative(piecewise_linear="x"))
def max_(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """The largest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.

    ShapeError for an axis of size 0.
    """
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, _extremum(lax.reduce_max, x, axes))


@op(rules.extremum, T="ordered", source="array API min",
    derivative=Derivative(piecewise_linear="x"))
def min_(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """The smallest element; NaN if there is one. Elements that tie, or are NaN, share the gradient.

    ShapeError for an axis of size 0.
    """
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, _extremum(lax.reduce_min, x, axes))


def _count(x: Any, axes: tuple[int, ...]) -> int:
    count = 1
    for a in axes:
        count *= x.shape[a]
    return count


def _mean(x: Any, axes: tuple[int, ...]) -> Any:
    total = lax.reduce_sum(x, axes)
    return divided_by(total, _count(x, axes))


@op(rules.reduction, T="inexact", source="array API mean", tolerance=4.0,
    derivative=Derivative(linear="x"))
def mean(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """The arithmetic mean; NaN of no element."""
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, convert(_mean(widened(x), axes), x.dtype))


def _variance(x: Any, axes: tuple[int, ...], correction: float) -> Any:
    """The variance of x (float32 at least) over axes, of the real dtype."""
    centre = lax.expand_dims(_mean(x, axes), sorted(axes))
    gap = lax.sub(x, lax.broadcast_in_dim(centre, x.shape, range(x.ndim)))
    # the error of the mean, which is no part of the derivative: it is 0 except for rounding
    if kind(x) != "c":
        off = lax.stop_gradient(_mean(gap, axes))
        off = lax.select(lax.is_finite(off), off, constant(off, 0))
        gap = lax.sub(gap, lax.broadcast_in_dim(
            lax.expand_dims(off, sorted(axes)), x.shape, range(x.ndim)))
    if kind(x) == "c":
        squares = lax.add(lax.square(lax.real(gap)), lax.square(lax.imag(gap)))
    else:
        squares = lax.square(gap)
    total = lax.reduce_sum(squares, axes)
    # an integer if possible, since the count may be a symbol
    number = int(correction) if float(correction).is_integer() else correction
    return divided_by(total, max(_count(x, axes) - number, 0))


@op(rules.real_reduction, T="inexact", source="array API var",
    samples=Reduction({"correction": 1.0}), tolerance=8.0)
def var(x: T, *, axes: Ints | None = None, correction: float = 0.0,
        keepdims: bool = False) -> Array:  # fmt: skip
    """The mean squared distance from the mean, by the two-pass formula.

    The sum is divided by max(count - correction, 0). Complex operands give a real
    result.
    """
    axes = all_axes(x, axes)
    variance = _variance(widened(x), axes, correction)
    return finished(x, axes, keepdims, convert(variance, jnp.finfo(x.dtype).dtype))


@op(rules.real_reduction, T="inexact", source="array API std",
    samples=Reduction({"correction": 1.0}), tolerance=8.0)
def std(x: T, *, axes: Ints | None = None, correction: float = 0.0,
        keepdims: bool = False) -> Array:  # fmt: skip
    """The square root of var. The gradient is 0 where the variance is 0, as PyTorch's.

    It is finite for all finite elements, though their squares may not be.
    """
    axes = all_axes(x, axes)
    wide = widened(x)
    scale = _scale_for_squares(wide, axes)
    broad = lax.broadcast_in_dim(
        lax.expand_dims(scale, sorted(axes)), wide.shape, range(wide.ndim))
    scaled = lax.mul(wide, convert(broad, wide.dtype))
    deviation = lax.div(_safe_sqrt(_variance(scaled, axes, correction)), scale)
    return finished(x, axes, keepdims, convert(deviation, jnp.finfo(x.dtype).dtype))


def _scale_for_squares(x: Any, axes: tuple[int, ...]) -> Any:
    """A power of two for each result, of the real dtype, 1 unless squares of x overflow."""
    parts = [x] if kind(x) != "c" else [lax.real(x), lax.imag(x)]
    largest = [lax.reduce_max(lax.abs(lax.stop_gradient(part)), axes) for part in parts]
    half = int(jnp.finfo(x.dtype).maxexp) // 2
    large = functools.reduce(
        lax.bitwise_or, [lax.gt(each, constant(each, 2.0 ** (half - 4))) for each in largest])
    return lax.select(large, constant(largest[0], 2.0**-half), constant(largest[0], 1.0))


def _safe_sqrt(x: Any) -> Any:
    """Square root whose gradient at 0 is 0."""
    zero = lax.eq(x, constant(x, 0))
    return lax.select(zero, constant(x, 0), lax.sqrt(lax.select(zero, constant(x, 1), x)))


@op(rules.real_reduction, T="inexact", source="array API vector_norm",
    samples=Reduction({"order": 1.0}, {"order": 3.0}, {"order": float("inf")},
                      {"order": float("-inf")}, {"order": 0.0}, special=False), tolerance=8.0)
def norm(x: T, *, axes: Ints | None = None, order: float = 2.0, keepdims: bool = False) -> Array:
    """The vector norm sum(|x|**order)**(1/order).

    Order inf gives the largest |x|, -inf the smallest, 0 the number of elements that
    are not 0. The gradient at 0 is 0.
    """
    axes = all_axes(x, axes)
    real = jnp.finfo(x.dtype).dtype
    if order == 0.0:
        total = lax.reduce_sum(convert(truth(x), widened(lax.real(x) if kind(x) == "c" else x)
                                       .dtype), axes)
        return finished(x, axes, keepdims, convert(total, real))
    wide = widened(x)
    if order == 2.0:
        squares = lax.square(wide) if kind(x) != "c" else lax.add(
            lax.square(lax.real(wide)), lax.square(lax.imag(wide)))
        return finished(x, axes, keepdims, convert(
            _safe_sqrt(lax.reduce_sum(squares, axes)), real))
    size = modulus(wide)
    if order == float("inf"):
        # The norm of nothing is 0.
        total = (_extremum(lax.reduce_max, size, axes) if _count(x, axes)
                 else lax.reduce_sum(size, axes))
    elif order == float("-inf"):
        total = _extremum(lax.reduce_min, size, axes)
    elif order == 1.0:
        total = lax.reduce_sum(size, axes)
    else:
        if kind(x) == "f":
            # the slope at NaN is NaN, unlike that of |x|, and 0 at 0, where that of a power may be
            # inf
            zero = lax.eq(wide, constant(wide, 0))
            size = lax.abs(lax.select(zero, lax.stop_gradient(wide), wide))
        total = lax.reduce_sum(lax.pow(size, constant(size, order)), axes)
        if order > 0:
            zero = lax.eq(total, constant(total, 0))
            root = lax.pow(lax.select(zero, constant(total, 1), total), constant(total, 1 / order))
            total = lax.select(zero, constant(total, 0), root)
        else:
            total = lax.pow(total, constant(total, 1 / order))
    return finished(x, axes, keepdims, convert(total, real))


@op(rules.reduction, T="inexact", source="SciPy logsumexp", tolerance=8.0)
def logsumexp(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) without overflow, with the principal logarithm; -inf of no element."""
    axes = all_axes(x, axes)
    wide = widened(x)
    if _count(x, axes) == 0:
        result = lax.log(lax.reduce_sum(wide, axes))
        return finished(x, axes, keepdims, convert(result, x.dtype))
    top = lax.stop_gradient(lax.reduce_max(lax.real(wide) if kind(x) == "c" else wide, axes))
    # Subtracting an infinite maximum from itself gives NaN; with 0, exp gives the infinity.
    top = convert(lax.select(lax.is_finite(top), top, constant(top, 0)), wide.dtype)
    spread = lax.broadcast_in_dim(top, x.shape, [i for i in range(x.ndim) if i not in axes])
    result = lax.add(lax.log(lax.reduce_sum(lax.exp(lax.sub(wide, spread)), axes)), top)
    return finished(x, axes, keepdims, convert(result, x.dtype))


@op(rules.truth_reduction, T="any", source="array API all", derivative=NOT_DIFFERENTIABLE)
def all_(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """Whether no element is 0 (NaN counts as not 0); true of none."""
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, lax.reduce_and(truth(x), axes))


@op(rules.truth_reduction, T="any", source="array API any", derivative=NOT_DIFFERENTIABLE)
def any_(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """Whether an element is not 0 (NaN counts as not 0); false of none."""
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, lax.reduce_or(truth(x), axes))


@op(rules.count_reduction, T="any", source="array API count_nonzero", derivative=NOT_DIFFERENTIABLE)
def count_nonzero(x: T, *, axes: Ints | None = None, keepdims: bool = False) -> Array:
    """The number of elements that are not 0, as int64."""
    axes = all_axes(x, axes)
    return finished(x, axes, keepdims, lax.reduce_sum(convert(truth(x), jnp.int64), axes))


def _arg(x: Any, axis: int | None, keepdims: bool, find: Any) -> Any:
    if axis is None:
        position = find(lax.reshape(x, (x.size,)), 0, jnp.int64)
        return lax.reshape(position, (1,) * x.ndim) if keepdims else position
    axis %= x.ndim
    return finished(x, (axis,), keepdims, find(x, axis, jnp.int64))


@op(rules.arg_reduction, T="ordered", source="array API argmax", reference="numpy.argmax",
    derivative=NOT_DIFFERENTIABLE)
def argmax(x: T, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int64) of the first largest element, a NaN counting as larger than all.

    Along ``axis``, or into the flattened operand for None. ShapeError for size 0.
    """
    return _arg(x, axis, keepdims, lax.argmax)


@op(rules.arg_reduction, T="ordered", source="array API argmin", reference="numpy.argmin",
    derivative=NOT_DIFFERENTIABLE)
def argmin(x: T, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The index (int64) of the first smallest element, a NaN counting as smaller than all.

    Along ``axis``, or into the flattened operand for None. ShapeError for size 0.
    """
    return _arg(x, axis, keepdims, lax.argmin)
