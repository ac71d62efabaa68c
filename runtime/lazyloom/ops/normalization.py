"""Normalisation: softmax and its logarithm, layer, group, RMS and batch normalisation.

Half-precision operands are computed on in float32 and rounded once, at the end. The
variance is the biased one, of the distance from the mean, not of squares.
"""

from __future__ import annotations

import math
from typing import Any

from ._helpers import in_float32, widened
from ._jax import jax, lax
from .cases import Cases, case
from .kinds import Array, T
from .rules import nn as rules
from .rules.shape import product
from .spec import op
from .traits import Derivative, Signature


@op(
    rules.along_axis, T="floating", source="exp(x) / sum(exp(x))",
    reference="scipy.special.softmax",
    samples=Cases(
        case((3, 4)), case((2, 3, 4), axis=1), case((1,), axis=0), case((0, 3)), case((3, 0))),
)  # fmt: skip
def softmax(x: T, *, axis: int = -1) -> Array:
    """exp(x) divided by its sum along an axis; the largest element is taken off first.

    A row of -inf only, or with inf or NaN, gives NaN. Raises ArgumentError.
    """
    return in_float32(lambda v: stable_softmax(v, axis % x.ndim), x)


@op(
    rules.along_axis, T="floating", source="x - log(sum(exp(x)))",
    reference="scipy.special.log_softmax",
    samples=Cases(
        case((3, 4)), case((2, 3, 4), axis=1), case((1,), axis=0), case((0, 3)), case((3, 0))),
)  # fmt: skip
def log_softmax(x: T, *, axis: int = -1) -> Array:
    """x minus the logarithm of the sum of exp(x) along an axis, without overflow.

    A row of -inf only, or with inf or NaN, gives NaN. Raises ArgumentError.
    """
    return in_float32(lambda v: stable_log_softmax(v, axis % x.ndim), x)


@op(
    rules.trailing_norm, T="floating", source="Ba, Kiros, Hinton, Layer Normalization, 2016",
    samples=Cases(
        case((3, 4), (4,), (4,)), case((2, 3, 4), (3, 4), None, normalized_ndim=2),
        case((3, 4), None, (4,), eps=0.1), case((4,)), case((0, 3), (3,))), tolerance=4.0,
    derivative=Derivative(linear="weight bias"),
)  # fmt: skip
def layer_norm(
    x: T, weight: T = None, bias: T = None, *, normalized_ndim: int = 1, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last ``normalized_ndim`` axes.

    ``weight`` and ``bias`` have the shape of those axes. Raises ShapeError,
    ArgumentError.
    """
    axes = tuple(range(x.ndim - normalized_ndim, x.ndim))
    normal, _, _ = _standardized(widened(x), axes, eps)
    return _scaled(normal, weight, bias, axes, x.dtype)


@op(
    rules.trailing_norm, T="floating",
    source="Zhang, Sennrich, Root Mean Square Layer Normalization, 2019",
    samples=Cases(
        case((3, 4), (4,)), case((2, 3, 4), (3, 4), normalized_ndim=2), case((3, 4), eps=0.1),
        case((0, 3), (3,))), tolerance=4.0, derivative=Derivative(linear="weight"),
)  # fmt: skip
def rms_norm(x: T, weight: T = None, *, normalized_ndim: int = 1, eps: float = 1e-5) -> Array:
    """x / sqrt(mean(x**2) + eps) * weight over the last ``normalized_ndim`` axes.

    ``weight`` has the shape of those axes. Raises ShapeError, ArgumentError.
    """
    axes = tuple(range(x.ndim - normalized_ndim, x.ndim))
    v = widened(x)
    power = _mean(lax.square(v), axes)
    normal = lax.mul(v, _spread(lax.rsqrt(lax.add(power, _like(power, eps))), v.shape, axes))
    return _scaled(normal, weight, None, axes, x.dtype)


@op(
    rules.group_norm, T="floating", source="Wu, He, Group Normalization, 2018",
    samples=Cases(
        case((2, 4, 3), (4,), (4,), groups=2), case((2, 4), groups=2), case((2, 3, 2, 2), (3,),
             None, groups=3), case((0, 4, 2), groups=1)), tolerance=4.0,
    derivative=Derivative(linear="weight bias"),
)  # fmt: skip
def group_norm(
    x: T, weight: T = None, bias: T = None, *, groups: int, eps: float = 1e-5
) -> Array:
    """Channels (axis 1) in groups; each group of each sample gets mean 0 and variance 1.

    Then ``* weight + bias``, a number per channel. As many groups as channels is
    instance normalisation. Raises ShapeError, ArgumentError.
    """
    n, channels, *spatial = x.shape
    v = lax.reshape(widened(x), (n, groups, channels // groups, *spatial))
    normal, _, _ = _standardized(v, tuple(range(2, v.ndim)), eps)
    return _scaled(lax.reshape(normal, x.shape), weight, bias, (1,), x.dtype)


@op(
    rules.batch_norm_train, T="floating", source="Ioffe, Szegedy, Batch Normalization, 2015",
    samples=Cases(
        case((4, 3), (3,), (3,)), case((2, 3, 2, 2)), case((4, 3, 2), (3,), None, eps=0.1),
        case((4, 3), None, (3,))), signature=Signature(outputs=("y", "mean", "variance")),
    tolerance=4.0,
)  # fmt: skip
def batch_norm_train(
    x: T, weight: T = None, bias: T = None, *, eps: float = 1e-5
) -> Array:
    """Each channel (axis 1) over all samples and positions gets mean 0 and variance 1.

    Then ``* weight + bias``, a number per channel. Returns that, the mean and the
    biased variance of each channel. Raises ShapeError.
    """
    parameters = [widened(v) for v in (weight, bias) if v is not None]
    y, mean, variance = _batch_norm(eps, weight is not None)(widened(x), *parameters)
    return tuple(lax.convert_element_type(v, x.dtype) for v in (y, mean, variance))


@op(
    rules.batch_norm_infer, T="floating", source="Ioffe, Szegedy, Batch Normalization, 2015",
    samples=Cases(
        case((4, 3), (3,), (3,), (3,), (3,)), case((2, 3, 2, 2), (3,), (3,)),
        case((4, 3, 2), (3,), (3,), None, (3,), eps=0.1), case((0, 3), (3,), (3,)),
        low=0.5, high=2.5), tolerance=4.0,
    derivative=Derivative(linear=("x mean bias", "weight bias")),
)  # fmt: skip
def batch_norm_infer(
    x: T, mean: T, variance: T, weight: T = None, bias: T = None, *, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias, a number of each per channel.

    Channels are axis 1. Raises ShapeError.
    """
    v, m, s = widened(x), widened(mean), widened(variance)
    scale = lax.rsqrt(lax.add(s, _like(s, eps)))
    if weight is not None:
        scale = lax.mul(scale, widened(weight))
    shift = lax.neg(lax.mul(m, scale))
    if bias is not None:
        shift = lax.add(shift, widened(bias))
    y = lax.add(lax.mul(v, _per_channel(scale, v.shape)), _per_channel(shift, v.shape))
    return lax.convert_element_type(y, x.dtype)


@op(
    rules.running_moments, T="floating", source="Ioffe, Szegedy, Batch Normalization, 2015",
    # until version 1.2 the new variance had a factor; num, which tells it, is there since
    signature=Signature(outputs=("mean", "variance"), factors={"correction": 3}),
    samples=Cases(
        case((3,), (3,), (3,), (3,), (), num=5), case((0,), (0,), (0,), (0,), ()),
        low=0.1, high=0.9), derivative=Derivative(linear="mean variance new_mean new_variance"),
)  # fmt: skip
def running_moments(
    mean: T, variance: T, new_mean: T, new_variance: T, momentum: T, *, num: int = 0
) -> Array:  # fmt: skip
    """Means and variances kept over batches: (1 - momentum) * old + momentum * new, of each.

    Of ``num`` values, 2 or more, the new variance is multiplied by ``num / (num - 1)``, which
    makes a biased one unbiased. Raises ShapeError.
    """
    share = lax.broadcast_in_dim(momentum, mean.shape, ())
    rest = lax.sub(_like(share, 1.0), share)
    right = lax.mul(new_variance, _like(share, num / (num - 1))) if num > 1 else new_variance
    return tuple(lax.add(lax.mul(rest, old), lax.mul(share, new))
                 for old, new in ((mean, new_mean), (variance, right)))


def stable_softmax(x: Array, axis: int, zeros: bool = False) -> Array:
    """softmax along an axis counted from 0, with the derivative in terms of the result.

    ``zeros``: a row that is all -inf gives zeros, not NaN.
    """

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def f(x: Array) -> Array:
        best = lax.reduce_max(x, (axis,))
        if zeros:
            empty = lax.eq(best, _like(best, -math.inf))
            best = lax.select(empty, _like(best, 0.0), best)
        e = lax.exp(lax.sub(x, _spread(best, x.shape, (axis,))))
        total = lax.reduce_sum(e, (axis,))
        if zeros:
            total = lax.select(empty, _like(total, 1.0), total)
        return lax.div(e, _spread(total, x.shape, (axis,)))

    @f.defjvp  # type: ignore[untyped-decorator]
    def f_jvp(primals: Any, tangents: Any) -> Any:
        y = f(*primals)
        t = lax.mul(y, tangents[0])
        rows = _spread(lax.reduce_sum(t, (axis,)), y.shape, (axis,))
        return y, lax.sub(t, lax.mul(y, rows))

    return f(x)


def stable_log_softmax(x: Array, axis: int) -> Array:
    """log_softmax along an axis counted from 0."""
    shifted = lax.sub(x, row_max(x, axis))
    total = lax.log(lax.reduce_sum(lax.exp(shifted), (axis,)))
    return lax.sub(shifted, _spread(total, x.shape, (axis,)))


def row_max(x: Array, axis: int) -> Array:
    """The largest element along an axis, in the shape of x; constant to derivatives.

    Shifting by it changes no result, so its derivative would cancel anyway.
    """
    largest = lax.reduce_max(lax.stop_gradient(x), (axis,))
    return _spread(largest, x.shape, (axis,))


def _like(x: Array, value: float) -> Array:
    return lax.full_like(x, value)


def _spread(x: Array, shape: Any, axes: Any) -> Array:
    """A reduction over ``axes``, back in the full shape."""
    return lax.broadcast_in_dim(x, shape, [a for a in range(len(shape)) if a not in axes])


def _per_channel(x: Array, shape: Any) -> Array:
    return lax.broadcast_in_dim(x, shape, (1,))


def _mean(x: Array, axes: Any) -> Array:
    total = lax.reduce_sum(x, axes)
    return lax.div(total, _like(total, product([x.shape[a] for a in axes])))


def _standardized(x: Array, axes: Any, eps: float) -> tuple[Array, Array, Array]:
    """x with mean 0 and variance 1 over ``axes``, the mean, the variance."""

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def f(x: Array) -> tuple[Array, Array, Array]:
        mean, centred = _centred(x, axes)
        variance = _mean(lax.square(centred), axes)
        return lax.mul(centred, _spread(_inverse(variance, eps), x.shape, axes)), mean, variance

    @f.defjvp  # type: ignore[untyped-decorator]
    def f_jvp(primals: Any, tangents: Any) -> Any:
        # in terms of the result, both sums over the cotangents take one pass
        normal, mean, variance = f(*primals)
        (t,) = tangents
        scale = _inverse(variance, eps)
        t_mean, along = _mean(t, axes), _mean(lax.mul(normal, t), axes)
        rest = lax.sub(t, lax.add(_spread(t_mean, t.shape, axes),
                                  lax.mul(normal, _spread(along, t.shape, axes))))
        t_normal = lax.mul(_spread(scale, t.shape, axes), rest)
        return (normal, mean, variance), (t_normal, t_mean, _t_variance(along, scale))

    return f(x)  # type: ignore[no-any-return]


def _centred(x: Array, axes: Any) -> tuple[Array, Array]:
    """The mean and the distances from it.

    The error of a sum of many numbers far from 0 may exceed their distances from the mean; the mean
    of the distances is that error.
    """
    mean = _mean(x, axes)
    centred = lax.sub(x, _spread(mean, x.shape, axes))
    # not if it is not finite
    off = _mean(centred, axes)
    off = lax.select(lax.is_finite(off), off, _like(off, 0.0))
    return lax.add(mean, off), lax.sub(centred, _spread(off, x.shape, axes))


def _batch_norm(eps: float, weighted: bool) -> Any:
    """A function of x, the weight if ``weighted``, and perhaps the bias: y, mean and variance.

    Its derivative sums the cotangent of y, and its product with the normal values, once: for the
    bias and weight, and for x.
    """

    def parts(x: Array, parameters: Any) -> tuple[Array, Array, Array, Array, Array]:
        axes = (0, *range(2, x.ndim))
        normal, mean, variance = _standardized(x, axes, eps)
        y = normal
        if weighted:
            y = lax.mul(y, _per_channel(parameters[0], x.shape))
        if len(parameters) > weighted:
            y = lax.add(y, _per_channel(parameters[-1], x.shape))
        return y, normal, mean, variance, _inverse(variance, eps)

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def f(x: Array, *parameters: Array) -> tuple[Array, Array, Array]:
        y, _, mean, variance, _ = parts(x, parameters)
        return y, mean, variance

    @f.defjvp  # type: ignore[untyped-decorator]
    def f_jvp(primals: Any, tangents: Any) -> Any:
        x, *parameters = primals
        t, *t_parameters = tangents
        axes = (0, *range(2, x.ndim))
        y, normal, mean, variance, scale = parts(x, parameters)
        t_mean, along = _mean(t, axes), _mean(lax.mul(normal, t), axes)
        factor = lax.mul(scale, parameters[0]) if weighted else scale
        t_scale, t_shift = lax.neg(lax.mul(factor, along)), lax.neg(lax.mul(factor, t_mean))
        if weighted:
            t_scale = lax.add(t_scale, t_parameters[0])
        if len(parameters) > weighted:
            t_shift = lax.add(t_shift, t_parameters[-1])
        t_y = lax.add(
            lax.add(lax.mul(_per_channel(factor, x.shape), t), _per_channel(t_shift, x.shape)),
            lax.mul(normal, _per_channel(t_scale, x.shape)))
        return (y, mean, variance), (t_y, t_mean, _t_variance(along, scale))

    return f


def _inverse(variance: Array, eps: float) -> Array:
    return lax.rsqrt(lax.add(variance, _like(variance, eps)))


def _t_variance(along: Array, scale: Array) -> Array:
    """The tangent of the variance, from the mean of normal values times tangents."""
    return lax.div(lax.add(along, along), scale)


def _scaled(normal: Array, weight: Array, bias: Array, axes: Any, dtype: Any) -> Array:
    """normal * weight + bias, which have the sizes of ``axes``, in the given dtype."""
    if weight is not None:
        normal = lax.mul(normal, lax.broadcast_in_dim(widened(weight), normal.shape, axes))
    if bias is not None:
        normal = lax.add(normal, lax.broadcast_in_dim(widened(bias), normal.shape, axes))
    return lax.convert_element_type(normal, dtype)
