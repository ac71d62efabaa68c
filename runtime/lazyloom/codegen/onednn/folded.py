"""Groups of a convolution and what follows it, which are a region each.

A group is ``relu(batch_norm_infer(conv(x, w) + a) + b)``, of which all but the convolution may be
missing, with relu6 in place of relu. What is added is a number, a number for each channel, or an
array of the result's shape. Only the last result is used outside of a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ...types import TensorType
from ..answers import Answer, Call, No
from ..generator import Layout, Region
from ..patterns import Pattern, any_value, match
from . import convolution
from .plan import OneDnnPlan
from .post_ops import LIMITS, PostOps, operands_like

#: the prefix of the names of groups
PREFIX: Final = "conv_then_"


def patterns(supports: Callable[[Call], Answer]) -> list[Pattern]:
    """Return the groups, those with the most ops first; ``supports`` is asked of convolutions."""

    def check(calls: Sequence[Call]) -> Answer:
        return _check(calls, supports)

    main = match("conv", any_value(), any_value())
    biased = match("add", main, any_value(), commutes=True, optional=True)
    normal = match("batch_norm_infer", biased, optional=True)
    summed = match("add", normal, any_value(), commutes=True, optional=True)
    roots = {
        "limit": match(" ".join(LIMITS), summed),
        "sum": match("add", normal, any_value(), commutes=True),
        "batch_norm": match("batch_norm_infer", biased)}
    return [Pattern(PREFIX + name, root, check) for name, root in roots.items()]


def is_group(region: Region) -> bool:
    """Return True if a region is one of these groups."""
    return any(name.startswith(PREFIX) for name, _ in region.composites)


def _check(calls: Sequence[Call], supports: Callable[[Call], Answer]) -> Answer:
    """Return YES if matched ops, the convolution first, have the types of a group, or why not."""
    conv, *others = calls
    result = conv.results[0]
    for call in others:
        if call.results[0] != result:
            return No(f"{call.op} gives {call.results[0].text}, the convolution {result.text}")
        types = [t for t in call.operands if t is not None]
        if any(t.dtype is not result.dtype for t in types):
            return No(f"{call.op} of several dtypes")
        if call.op == "add" and not any(
            a == result and _added(b, result) for a, b in (types, types[::-1])
        ):
            return No("a sum with what is neither a number, one for each channel, nor one for each "
                      "element")
    return supports(conv)


def _added(t: TensorType, result: TensorType) -> bool:
    """Return True if an operand of a sum is of one of the shapes of a group."""
    size = math.prod(t.shape)
    if t.shape == result.shape or size == 1:
        return True
    shape = (1,) * (result.ndim - t.ndim) + t.shape
    return size == shape[1] == result.shape[1]


def layouts(region: Region) -> Sequence[Layout]:
    """Return layouts with the channels of images last; everything else keeps logical order."""
    orders = list(convolution.layouts(region))
    last = orders[-1]
    for k in operands_like(region):
        orders[k] = last
    return orders


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add a group to a plan."""
    convolution.forward(plan, region, PostOps(plan, region))
