"""Steps that take less time together: sums of pads, and functions of several slices of one array.

Derivatives of slices are sums of pads into places that do not overlap; the gates of a recurrent
cell are functions of slices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..jaxprs import is_literal
from .writer import extent

#: what is padded, and where it begins
Parts: TypeAlias = "list[tuple[Any, list[int]]]"


def sums_of_pads(steps: Sequence[Any], outs: Sequence[Any]) -> dict[int, Parts]:
    """For steps by their ``id``: what their result is assembled of, or nothing if it is not needed.

    ``outs`` are the results of the function that the steps are of.
    """
    uses = uses_of(steps, outs)
    found: dict[int, Parts] = {}
    makers: dict[Any, Any] = {}
    parts_of: dict[Any, Parts] = {}
    for step in steps:
        name = step.primitive.name
        if name == "pad":
            parts = _padded(step)
            if parts is not None:
                parts_of[step.outvars[0]] = parts
                makers[step.outvars[0]] = step
        elif name in ("add", "add_any"):
            a, b = step.invars
            if is_literal(a) or is_literal(b) or a not in parts_of or b not in parts_of or (
                uses[a] != 1 or uses[b] != 1
            ):
                continue
            parts = parts_of[a] + parts_of[b]
            if _apart(parts):
                found[id(makers[a])] = found[id(makers[b])] = []
                found[id(step)] = parts
                parts_of[step.outvars[0]] = parts
                makers[step.outvars[0]] = step
    return found


def _padded(step: Any) -> Parts | None:
    """The one part of a pad with zeros around; None if it is another."""
    x, value = step.invars
    if is_literal(x) or not is_literal(value) or value.val != 0:
        return None
    starts = []
    for low, high, between in step.params["padding_config"]:
        if low < 0 or high < 0 or between:
            return None
        starts.append(extent(low))
    return [(x, starts)]


def _apart(parts: Parts) -> bool:
    """Whether no two parts overlap."""
    for k, (x, at) in enumerate(parts):
        for y, where in parts[:k]:
            if not any(a + n <= b or b + m <= a for a, n, b, m in zip(
                at, x.aval.shape, where, y.aval.shape, strict=True)
            ):
                return False
    return True


def functions_of_slices(steps: Sequence[Any]) -> dict[int, Any]:
    """For steps by their ``id``: the step that takes the slice which they are a function of.

    There is another one of the same function and array, so that it pays to call it with all.
    """
    slices: dict[Any, Any] = {}
    together: dict[tuple[str, Any], list[Any]] = {}
    for step in steps:
        name = step.primitive.name
        if name == "slice" and not is_literal(step.invars[0]):
            slices[step.outvars[0]] = step
        elif name in ("logistic", "tanh") and not is_literal(step.invars[0]):
            cut = slices.get(step.invars[0])
            if cut is not None:
                together.setdefault((name, cut.invars[0]), []).append(step)
    found: dict[int, Any] = {}
    for (_, whole), several in together.items():
        size = sum(math.prod(step.outvars[0].aval.shape) for step in several)
        if len(several) > 1 and 2 * size >= math.prod(whole.aval.shape):
            for step in several:
                found[id(step)] = slices[step.invars[0]]
    return found


def uses_of(steps: Sequence[Any], outs: Sequence[Any]) -> dict[Any, int]:
    """How often each value is used, by steps and as a result."""
    uses: dict[Any, int] = {}
    for atom in (*[a for step in steps for a in step.invars], *outs):
        if not is_literal(atom):
            uses[atom] = uses.get(atom, 0) + 1
    return uses
