"""What is left of numbers when their mean is taken off, as statistics and normalisations do.

The bound of the mean of numbers far from zero is wider than their distances from it. It is one
number for all of them, though, and a definition that takes the mean of what is left off as well has
nothing left of it. So the contract says of variances and normalisations that they lose no more
than the numbers' own rounding, and that is the bound here, whatever a definition does: of one that
takes the mean off once, the error is larger.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyloom.jaxprs.walking import is_literal

from .folds import finite_bounds, magnitude_of, unit_of
from .shades import Shade, folded, is_float, limits

#: steps between a sum and the mean that is taken off, by the operand that is followed
_BETWEEN: Final = {"broadcast_in_dim": 0, "reshape": 0, "expand_dims": 0, "div": 0, "mul": 0,
                   "stop_gradient": 0, "copy": 0}  # fmt: skip


def axes_of_mean(step: Any, made_by: dict[Any, Any]) -> tuple[int, ...] | None:
    """Over which axes the mean of a subtraction's left operand is its right one; None if not."""
    x, other = step.invars
    while not is_literal(other):
        before = made_by.get(other)
        if before is None:
            return None
        name = before.primitive.name
        if name == "reduce_sum":
            return tuple(before.params["axes"]) if before.invars[0] is x else None
        if name not in _BETWEEN:
            return None
        other = before.invars[_BETWEEN[name]]
    return None


def centred(found: Shade, x: Shade, axes: tuple[int, ...]) -> Shade:
    """The distances from the mean with the bound that the contract has for them."""
    if not is_float(found.dtype) or not axes or 0 in x.shape:
        return found
    count = int(np.prod([x.shape[a] for a in axes]))
    own, unknown = finite_bounds(x)
    with np.errstate(all="ignore"):
        size = magnitude_of(found.v)
        left = np.mean(own + unit_of(x.dtype) * folded(count) * size, axes, keepdims=True)
        bound = own + left + 2 * limits(found.dtype).unit * size
        # a zero whose sign is not decided
        bound = np.fmax(bound, np.where(
            (found.v == 0) & (found.e > 0), float(limits(found.dtype).tiny), 0))
        bound = np.where(np.isfinite(found.e) & np.isfinite(found.v) & np.isfinite(bound),
                         np.fmin(found.e, bound), found.e)
    return found if unknown is not None else Shade(found.dtype, found.v, bound)
