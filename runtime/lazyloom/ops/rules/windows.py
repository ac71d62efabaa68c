"""Rules of convolution and pooling, whose windows move over the last axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import int64
from ...errors import ArgumentError, ShapeError
from ...types import TensorType, tensor_type
from .shared import Attributes, Operands, Shape, Types, check_at_least, check_choice, one, operand

if TYPE_CHECKING:
    from ..spec import OpDef


def spread(value: Shape | None, count: int, default: int) -> Shape:
    """An attribute of one number per spatial axis, with its default for None."""
    return (default,) * count if value is None else value


def _per_axis(op: OpDef, attrs: Attributes, name: str, count: int, default: int, least: int
              ) -> Shape:  # fmt: skip
    values = spread(attrs.get(name), count, default)
    if len(values) != count:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {values}, expected {count} numbers, one for each "
            "spatial axis", op=op.name)
    if any(g < least for g in values):
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {values}, expected {least} or more in each",
            op=op.name)
    return values


_ANY = -(2**62)


def _windows(
    op: OpDef, x: TensorType, spatial: Shape, window: Shape, attrs: Attributes
) -> Shape:
    """How often the dilated window fits into each padded axis."""
    n = len(window)
    strides = _per_axis(op, attrs, "strides", n, 1, 1)
    low = _per_axis(op, attrs, "padding_low", n, 0, _ANY)
    high = _per_axis(op, attrs, "padding_high", n, 0, _ANY)
    dilation = _per_axis(op, attrs, "dilation", n, 1, 1)
    between = _per_axis(op, attrs, "input_dilation", n, 1, 1)
    result = []
    for i in range(n):
        size = (spatial[i] - 1) * between[i] + 1 if spatial[i] else 0
        padded = size + low[i] + high[i]
        reach = (window[i] - 1) * dilation[i] + 1
        if padded < 0:
            raise ShapeError(
                f"{op.name}: operand 'x' of shape {x.shape} with attributes 'padding_low' {low} "
                f"and 'padding_high' {high} would have size {padded} in spatial axis {i}, expected "
                "0 or more", op=op.name)
        if padded < reach:
            raise ShapeError(
                f"{op.name}: a window of {reach} elements does not fit into the {padded} of "
                f"spatial axis {i} of operand 'x' of shape {x.shape}, padding included; "
                "pad more, or use a smaller window", op=op.name)
        result.append((padded - reach) // strides[i] + 1)
    return tuple(result)


def _check_images(op: OpDef, types: Operands) -> tuple[TensorType, TensorType]:
    x, weight = operand(types, 0), operand(types, 1)
    if x.ndim < 3:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected 3 axes or more (samples, "
            "channels, spatial...)", op=op.name)
    if weight.ndim != x.ndim:
        raise ShapeError(
            f"{op.name}: operand 'weight' has shape {weight.shape}, expected {x.ndim} axes as "
            f"operand 'x' of shape {x.shape} has", op=op.name)
    if 0 in weight.shape[2:]:
        raise ShapeError(
            f"{op.name}: operand 'weight' has shape {weight.shape}, expected spatial sizes of 1 or "
            "more", op=op.name)
    return x, weight


def conv(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(N, C, spatial...) and (O, C / groups, spatial...) give (N, O, spatial...)."""
    x, weight = _check_images(op, types)
    groups = check_at_least(op, "groups", attrs["groups"], 1)
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} has {x.shape[1]} channels and operand "
            f"'weight' of shape {weight.shape} takes {weight.shape[1]} in each of {groups} groups "
            f"to {weight.shape[0]}, expected {weight.shape[1] * groups} channels and outputs that "
            "the groups divide", op=op.name)
    spatial = _windows(op, x, x.shape[2:], weight.shape[2:], attrs)
    return one((x.shape[0], weight.shape[0], *spatial), x.dtype)


def conv_transpose(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(N, C, spatial...) and (C, O / groups, spatial...) give (N, O, spatial...)."""
    x, weight = _check_images(op, types)
    groups = check_at_least(op, "groups", attrs["groups"], 1)
    if x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} has {x.shape[1]} channels and operand "
            f"'weight' of shape {weight.shape} takes {weight.shape[0]}, expected the same number, "
            f"that attribute 'groups' {groups} divides", op=op.name)
    n = x.ndim - 2
    strides = _per_axis(op, attrs, "strides", n, 1, 1)
    low = _per_axis(op, attrs, "padding_low", n, 0, _ANY)
    high = _per_axis(op, attrs, "padding_high", n, 0, _ANY)
    dilation = _per_axis(op, attrs, "dilation", n, 1, 1)
    extra = _per_axis(op, attrs, "output_padding", n, 0, 0)
    spatial = tuple([
        (x.shape[2 + i] - 1) * strides[i] + (weight.shape[2 + i] - 1) * dilation[i] + 1
        - low[i] - high[i] + extra[i] for i in range(n)])
    if any(s < 1 for s in spatial) or 0 in x.shape[2:]:
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} with attributes 'padding_low' {low} and "
            f"'padding_high' {high} would give the spatial sizes {spatial}, expected 1 or more",
            op=op.name)
    return one((x.shape[0], weight.shape[1] * groups, *spatial), x.dtype)


def _window(op: OpDef, attrs: Attributes, most: int, of: str) -> Shape:
    """Attribute ``window``, of at most so many sizes."""
    window: Shape = attrs["window"]
    if not 1 <= len(window) <= most:
        raise ArgumentError(
            f"{op.name}: attribute 'window' is {window}, expected 1 to {most} sizes for {of}",
            op=op.name)
    if any(w < 1 for w in window):
        raise ArgumentError(
            f"{op.name}: attribute 'window' is {window}, expected sizes of 1 or more", op=op.name)
    return window


def _places(op: OpDef, types: Operands, attrs: Attributes) -> tuple[Shape, Shape]:
    """The axes that the window does not move over, and its places along the others."""
    x = operand(types, 0)
    window = _window(op, attrs, x.ndim, f"operand 'x' of shape {x.shape}")
    n = len(window)
    return x.shape[:-n], _windows(op, x, x.shape[-n:], window, attrs)


def pool(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A window of attribute ``window`` moves over as many last axes."""
    lead, places = _places(op, types, attrs)
    return one((*lead, *places), operand(types, 0).dtype)


def pool_indices(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """As ``pool``, but int64."""
    lead, places = _places(op, types, attrs)
    return one((*lead, *places), int64)


def patches(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The axes of a window that moves over as many last axes, then those of its places."""
    lead, places = _places(op, types, attrs)
    return one((*lead, *attrs["window"], *places), operand(types, 0).dtype)


def patches_sum(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``sizes`` in place of the axes of a window and of its places."""
    x = operand(types, 0)
    window = _window(op, attrs, x.ndim // 2, f"operand 'x' of shape {x.shape}")
    n = len(window)
    sizes: Shape = attrs["sizes"]
    if len(sizes) != n or any(s < 0 for s in sizes):
        raise ArgumentError(
            f"{op.name}: attribute 'sizes' is {sizes}, expected {n} sizes of 0 or more, one for "
            "each of attribute 'window'", op=op.name)
    lead = x.shape[:x.ndim - 2 * n]
    places = _windows(op, tensor_type((*lead, *sizes), x.dtype), sizes, window, attrs)
    if x.shape[x.ndim - 2 * n:] != (*window, *places):
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected the last axes "
            f"{(*window, *places)}, those of attribute 'window' and of its places in {sizes}",
            op=op.name)
    return one((*lead, *sizes), x.dtype)


MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def grid_sample(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(N, C, spatial...) at places (N, ..., number of spatial axes) give (N, C, ...)."""
    x, grid = operand(types, 0), operand(types, 1)
    check_choice(op, "mode", attrs["mode"], MODES)
    check_choice(op, "padding", attrs["padding"], PADDINGS)
    n = x.ndim - 2
    if n not in (2, 3) or n == 3 and attrs["mode"] == "bicubic":
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected (N, C, H, W) or, unless "
            "attribute 'mode' is 'bicubic', (N, C, D, H, W)", op=op.name)
    if grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != n:
        raise ShapeError(
            f"{op.name}: operand 'grid' has shape {grid.shape}, expected {x.ndim} axes, the first "
            f"of size {x.shape[0]} and the last of size {n}, for operand 'x' of shape {x.shape}",
            op=op.name)
    if 0 in x.shape[2:] and grid.size:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected spatial sizes of 1 or more",
            op=op.name)
    return one((*x.shape[:2], *grid.shape[1:-1]), x.dtype)


def adaptive_pool(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``output`` in place of as many last axes."""
    x = operand(types, 0)
    output = attrs["output"]
    if not 1 <= len(output) <= x.ndim or any(o < 0 for o in output):
        raise ArgumentError(
            f"{op.name}: attribute 'output' is {output}, expected 1 to {x.ndim} sizes of 0 or more "
            f"for operand 'x' of shape {x.shape}", op=op.name)
    if 0 in x.shape[-len(output):]:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected sizes of 1 or more in the last "
            f"{len(output)} axes", op=op.name)
    return one((*x.shape[:-len(output)], *output), x.dtype)
