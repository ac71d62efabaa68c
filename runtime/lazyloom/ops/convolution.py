"""Convolution in any number of spatial axes.

As in neural networks the weight is not mirrored (a cross-correlation). Layouts are
(samples, channels, spatial...) and (outputs, channels / groups, spatial...).
"""

from __future__ import annotations

from ._jax import lax
from .cases import Cases, case
from .kinds import Array, Ints, T
from .rules import windows as rules
from .rules.windows import spread
from .spec import op
from .traits import HEAVY, Derivative


@op(
    rules.conv, T="number", source="StableHLO convolution", execution=HEAVY, tolerance=4.0,
    samples=Cases(
        case((2, 3, 5), (4, 3, 3)), case((2, 2, 4, 5), (3, 2, 2, 3), strides=(2, 1),
             padding_low=(1, 0), padding_high=(0, 2)),
        case((1, 4, 5, 5), (4, 1, 3, 3), groups=4, padding_low=(1, 1), padding_high=(1, 1)),
        case((1, 4, 6), (2, 2, 2), groups=2, dilation=(2,)),
        case((1, 2, 3), (1, 2, 2), input_dilation=(2,), padding_low=(-1,), padding_high=(1,)),
        case((1, 1, 3, 3, 3), (2, 1, 2, 2, 2)), case((0, 2, 4), (3, 2, 2))),
    derivative=Derivative(multilinear="x weight"),
)  # fmt: skip
def conv(
    x: T, weight: T, *, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, dilation: Ints | None = None,
    input_dilation: Ints | None = None, groups: int = 1,
) -> Array:  # fmt: skip
    """x (N, C, spatial...) convolved with weight (O, C / groups, spatial...).

    One number per spatial axis in each attribute: steps of the window, zeros before and
    after (negative: elements cut off), distance of the weight's elements, and of x's
    (zeros lie between). Each of ``groups`` equal parts of the channels has its own
    outputs. Size: (padded - dilation * (window - 1) - 1) // stride + 1. Raises
    ShapeError, ArgumentError.
    """
    n = x.ndim - 2
    padding = list(zip(spread(padding_low, n, 0), spread(padding_high, n, 0), strict=True))
    return lax.conv_general_dilated(
        x, weight, spread(strides, n, 1), padding, lhs_dilation=spread(input_dilation, n, 1),
        rhs_dilation=spread(dilation, n, 1), feature_group_count=groups)


@op(
    rules.conv_transpose, T="number", source="torch.nn.functional.conv_transpose2d",
    execution=HEAVY, tolerance=4.0,
    samples=Cases(
        case((2, 3, 4), (3, 2, 3)), case((1, 2, 3, 2), (2, 3, 2, 3), strides=(2, 3),
             padding_low=(1, 0), padding_high=(0, 1), output_padding=(1, 0)),
        case((1, 4, 3), (4, 2, 2), groups=2, dilation=(2,), strides=(2,)),
        case((1, 1, 2, 2, 2), (1, 2, 2, 2, 2), strides=(2, 2, 2)), case((0, 2, 4), (2, 3, 2))),
    derivative=Derivative(multilinear="x weight"),
)  # fmt: skip
def conv_transpose(
    x: T, weight: T, *, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, output_padding: Ints | None = None,
    dilation: Ints | None = None, groups: int = 1,
) -> Array:  # fmt: skip
    """The derivative of ``conv`` with respect to its input, as an op: weight (C, O / groups, ...).

    Every element of x spreads the weight over the output, ``strides`` apart; the
    paddings cut elements off the output and ``output_padding`` adds some at its end.
    Size: (size - 1) * stride + dilation * (window - 1) + 1 - low - high + output_padding.
    Raises ShapeError, ArgumentError.
    """
    n = x.ndim - 2
    away = spread(dilation, n, 1)
    reach = [d * (w - 1) for d, w in zip(away, weight.shape[2:], strict=True)]
    padding = [
        (r - low, r - high + extra) for r, low, high, extra in zip(
            reach, spread(padding_low, n, 0), spread(padding_high, n, 0),
            spread(output_padding, n, 0), strict=True)]
    inputs, outputs, *window = weight.shape
    split = lax.reshape(weight, (groups, inputs // groups, outputs, *window))
    swapped = lax.transpose(split, (0, 2, 1, *range(3, n + 3)))
    mirrored = lax.rev(lax.reshape(swapped, (groups * outputs, inputs // groups, *window)),
                       tuple(range(2, n + 2)))
    return lax.conv_general_dilated(
        x, mirrored, (1,) * n, padding, lhs_dilation=spread(strides, n, 1), rhs_dilation=away,
        feature_group_count=groups)
