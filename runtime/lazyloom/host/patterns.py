"""Steps that take less time together: sums of pads, functions of several slices of one array, and
products that are transposed.

Derivatives of slices are sums of pads, mostly into places that do not overlap; the gates of a
recurrent cell are functions of slices; a product's derivative by its right operand is transposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ..jaxprs.walking import is_literal
from .writer import extent


class PaddedPart(NamedTuple):
    """What is padded: by axis its size, its first element in the result, how far they are apart."""

    of: Any
    sizes: list[int]
    starts: list[int]
    strides: list[int]


Parts: TypeAlias = list[PaddedPart]


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
            if len(parts_of[a]) == 1 < len(parts_of[b]):
                a, b = b, a
            parts = parts_of[a] + parts_of[b]
            # one after the other they are added in the same order
            if len(parts_of[b]) == 1 or apart(parts):
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
    sizes, starts, strides = [], [], []
    for (low, high, between), n in zip(step.params["padding_config"], x.aval.shape, strict=True):
        if low < 0 or high < 0 or (between and not n):
            return None
        sizes.append(extent(n))
        starts.append(extent(low))
        strides.append(int(between) + 1)
    return [PaddedPart(x, sizes, starts, strides)]


def apart(parts: Parts) -> bool:
    """Whether no two parts overlap, nor lie between each other."""
    ends = [[a + (n - 1) * step + 1 for n, a, step in zip(
        sizes, starts, strides, strict=True)] for _, sizes, starts, strides in parts]
    for k, part in enumerate(parts):
        for j in range(k):
            if not any(end <= b or last <= a for a, end, b, last in zip(
                part.starts, ends[k], parts[j].starts, ends[j], strict=True)
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


def transposed_products(steps: Sequence[Any], outs: Sequence[Any]) -> dict[int, Any]:
    """For transposes by their ``id``: the dot_general that they are of, whose free axes they swap.

    Nothing else uses that product; for its own ``id`` there is None. As a product of its operands
    in the other order it is in row-major order, which what comes next takes half the time for.
    """
    uses = uses_of(steps, outs)
    products: dict[Any, Any] = {}
    found: dict[int, Any] = {}
    for step in steps:
        name = step.primitive.name
        if name == "dot_general":
            products[step.outvars[0]] = step
        elif name == "transpose" and not is_literal(step.invars[0]):
            product = products.get(step.invars[0])
            if product is None or uses[step.invars[0]] != 1:
                continue
            (left, _), (batch, _) = product.params["dimension_numbers"]
            rank = len(step.outvars[0].aval.shape)
            first = len(batch)
            second = first + len(product.invars[0].aval.shape) - len(left) - len(batch)
            if tuple(step.params["permutation"]) == (
                *range(first), *range(second, rank), *range(first, second)
            ):
                found[id(product)] = None
                found[id(step)] = product
    return found


def uses_of(steps: Sequence[Any], outs: Sequence[Any]) -> dict[Any, int]:
    """How often each value is used, by steps and as a result."""
    uses: dict[Any, int] = {}
    for atom in (*[a for step in steps for a in step.invars], *outs):
        if not is_literal(atom):
            uses[atom] = uses.get(atom, 0) + 1
    return uses
