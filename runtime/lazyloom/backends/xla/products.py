"""Convolutions that are products of matrices, written as such.

XLA's CPU code is up to five times faster with a product for a window of one element (two thirds
of a ResNet's convolutions, forward and for the gradient of their input), and for a result of one
position, which the gradient of such a window is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .layouts import InLayout, identity


class _Convolution:
    """The parameters of ``conv_general_dilated``, by name and as plain integers.

    Attributes:
        batch, channel, places: the axes of the input; ``x`` is the input.
        inputs, window: the axes of the weight that match the input's; ``w`` is the weight.
        out: the axes of the result: batch, channel, places.
        edges, steps, gaps, away: per place, the padding at both ends, the window's stride, the
            distance between elements of the input and of the weight.
    """

    __slots__ = (
        "x", "w", "batch", "channel", "places", "inputs", "window", "out", "edges", "steps",
        "gaps", "away", "found", "kinds",
    )  # fmt: skip

    def __init__(self, step: Any, x: InLayout, w: InLayout) -> None:
        p = step.params
        numbers = p["dimension_numbers"]
        self.x, self.w = x, w
        self.batch, self.channel, *self.places = numbers.lhs_spec
        _, self.inputs, *self.window = numbers.rhs_spec
        self.out = numbers.out_spec
        self.edges = [(int(low), int(high)) for low, high in p["padding"]]
        self.steps, self.gaps, self.away = p["window_strides"], p["lhs_dilation"], p["rhs_dilation"]
        self.found = step.outvars[0].aval.shape
        self.kinds = {k: p[k] for k in ("precision", "preferred_element_type")}

    def per_axis(self, order: Sequence[int], values: Sequence[Any], other: Any) -> list[Any]:
        """For each axis of the input in an order, return its place's value, or ``other``."""
        value_by_axis = dict(zip(self.places, values, strict=True))
        return [value_by_axis.get(d, other) for d in order]


def as_product(step: Any, x: InLayout, w: InLayout) -> InLayout | None:
    """Return the traced convolution of x and w as one product; None if that is impossible."""
    if step.params["feature_group_count"] != 1 or step.params["batch_group_count"] != 1:
        return None
    c = _Convolution(step, x, w)
    if 0 in x.data.shape or 0 in w.data.shape or 0 in c.found:
        return None
    if all(w.shape[d] == 1 for d in c.window):
        return _small_window(c)
    if all(c.found[d] == 1 for d in c.out[2:]):
        return _one_place(c)
    return None


def _small_window(c: _Convolution) -> InLayout | None:
    """Convolve with a window of one element: a product at every place."""
    from jax import lax

    order = c.x.layout
    data = c.x.data
    dilated = any(g != 1 for g in c.gaps)
    if dilated and any(s != 1 for s in c.steps):
        return None
    if not dilated:
        data = _padded(c, data, order)
        if any(s != 1 for s in c.steps):
            data = lax.slice(data, [0] * data.ndim, data.shape, c.per_axis(order, c.steps, 1))
    weight = lax.squeeze(c.w.data, [c.w.layout.index(d) for d in c.window])
    rows = [d for d in c.w.layout if d not in c.window]
    data = lax.dot_general(
        data, weight, (((order.index(c.channel),), (rows.index(c.inputs),)), ((), ())), **c.kinds)
    order = tuple(d for d in order if d != c.channel)
    if dilated:
        # a place between elements has zeros: the product of zeros is zeros
        data = _padded(c, data, (*order, c.channel))
    renamed = dict(zip((c.batch, *c.places), (c.out[0], *c.out[2:]), strict=True))
    return InLayout(data, (*(renamed[d] for d in order), c.out[1]))


def _padded(c: _Convolution, data: Any, order: Sequence[int]) -> Any:
    from jax import lax

    config = c.per_axis(
        order, [(*edge, gap - 1) for edge, gap in zip(c.edges, c.gaps, strict=True)], (0, 0, 0))
    if all(edge == (0, 0, 0) for edge in config):
        return data
    return lax.pad(data, lax.full((), 0, data.dtype), config)


def _one_place(c: _Convolution) -> InLayout | None:
    """Convolve to one place with a window inside the input: the places are summed over, too."""
    from jax import lax

    first = [-low for low, _ in c.edges]
    last = [
        start + (c.w.shape[k] - 1) * a
        for start, k, a in zip(first, c.window, c.away, strict=True)]
    inside = all(
        start >= 0 and end < c.x.shape[d]
        for start, end, d in zip(first, last, c.places, strict=True))
    if not inside or any(g != 1 for g in c.gaps):
        return None
    order = c.x.layout
    barriers = c.per_axis(order, [end + 1 for end in last], None)
    data = lax.slice(
        c.x.data, c.per_axis(order, first, 0),
        [n if stop is None else stop for n, stop in zip(c.x.data.shape, barriers, strict=True)],
        c.per_axis(order, c.away, 1))
    matches = dict(zip((c.channel, *c.places), (c.inputs, *c.window), strict=True))
    summed = [d for d in order if d in matches]
    data_axes = [order.index(d) for d in summed]
    weight_axes = [c.w.layout.index(matches[d]) for d in summed]
    # in the order of the result's axes: a product with a transpose afterwards takes twice as long
    if c.out[0] < c.out[1]:
        data = lax.dot_general(data, c.w.data, ((data_axes, weight_axes), ((), ())), **c.kinds)
    else:
        data = lax.dot_general(c.w.data, data, ((weight_axes, data_axes), ((), ())), **c.kinds)
    return InLayout(lax.expand_dims(data, sorted(c.out[2:])), identity(len(c.found)))
