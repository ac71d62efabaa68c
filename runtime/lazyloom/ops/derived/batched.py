"""Mapped ops as the same ops on one more axis.

``matmul.vmap`` of two stacks of matrices is ``matmul`` of the stacks. Where this is so stands here
for each family of ops, by its rule of types, and holds for the ops of this package alone: another
package's op of such a family may treat its axes otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...types import TensorType
from .. import rules
from ..rules import contraction, nn, pointwise, shape
from ..spec import TABLE, OpDef
from .vjp import VJP
from .vmap import VMAP

Types: TypeAlias = "Sequence[TensorType | None]"
#: of (attributes, operand types with the axis, positions that have it): the attributes of the same
#: op on all axes; None if that is another op
_Batched: TypeAlias = "Callable[[Mapping[str, Any], Types, Sequence[int]], dict[str, Any] | None]"


def batched(
    op: OpDef, attrs: Mapping[str, Any], types: Types
) -> tuple[OpDef, dict[str, Any]] | None:
    """Return the op, with attributes, that does what a mapped one does, on the same operands.

    Args:
        types: those of the operands, None for one that is absent.

    Returns:
        None if the op is not mapped, or if there is none.
    """
    if op.root.version != TABLE or op.base is None:
        return None
    own, rest = {k: attrs[k] for k in op.own}, {k: v for k, v in attrs.items() if k not in op.own}
    if op.kind == VJP:
        # the gradient of what is the same is the same
        primals = types[: own[op.own[0]]]
        forward = batched(op.base, rest, primals)
        return None if forward is None else _gradient(op, own, *forward)
    if op.kind != VMAP:
        return None
    mapped: tuple[int, ...] = own[op.own[0]]
    base = op.base
    if base.kind == VJP:
        return _mapped_gradient(base, rest, types, mapped)
    if base.base is not None:
        elements = _elements(types, mapped)
        inner = batched(base, rest, elements)
        if inner is None:
            return None
        base, rest = inner
    if base.base is not None or base.execution.places:
        return None
    rule = _RULES.get(base.rule)
    found = None if rule is None else rule(rest, types, mapped)
    return None if found is None else (base, found)


def _elements(types: Types, mapped: Sequence[int]) -> list[TensorType | None]:
    """Return the types of operands without the axis."""
    return [t.like(t.shape[1:], t.dtype) if t is not None and k in mapped else t
            for k, t in enumerate(types)]


def _gradient(
    op: OpDef, own: Mapping[str, Any], base: OpDef, attrs: Mapping[str, Any]
) -> tuple[OpDef, dict[str, Any]]:
    """Return the gradient of another op with the same operands and results."""
    gradient = base.derive(VJP)
    values = [own[k] for k in op.own]
    return gradient, {**attrs, **dict(zip(gradient.own, values, strict=True))}


def _mapped_gradient(
    op: OpDef, attrs: Mapping[str, Any], types: Types, mapped: tuple[int, ...]
) -> tuple[OpDef, dict[str, Any]] | None:
    """Return the gradient for a whole axis, of a gradient for each of its elements.

    It is the same if whatever has a cotangent has the axis: else its elements are added up.
    """
    assert op.base is not None
    own = {k: attrs[k] for k in op.own}
    rest = {k: v for k, v in attrs.items() if k not in op.own}
    count, argnums = own[op.own[0]], own[op.own[1]]
    if not all(k in mapped for k in (*argnums, *range(count, len(types)))):
        return None
    forward = op.base.derive(VMAP)
    primals = tuple(k for k in mapped if k < count)
    found = batched(forward, {**rest, forward.own[0]: primals}, types[:count])
    return None if found is None else _gradient(op, own, *found)


def _ranks(types: Types, mapped: Sequence[int]) -> list[int]:
    """Return the number of axes of each operand for one element; -1 for one that is absent."""
    return [-1 if t is None else t.ndim - (k in mapped) for k, t in enumerate(types)]


def _leading(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> (
    dict[str, Any] | None
):
    """Operands broadcast from the last axis on, so that those with the axis have to be as long."""
    ranks = _ranks(types, mapped)
    return dict(attrs) if all(ranks[k] == max(ranks) for k in mapped) else None


def _matmul(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> (
    dict[str, Any] | None
):
    # a vector is a row or a column only by itself
    return _leading(attrs, types, mapped) if min(_ranks(types, mapped)) > 1 else None


def _dot_general(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> (
    dict[str, Any] | None
):
    """Batch axes come first, then the other axes of x, then those of y."""
    ranks = _ranks(types, mapped)
    found = dict(attrs)
    for k, side in enumerate(("lhs", "rhs")):
        for role in ("contract", "batch"):
            axes = [a % ranks[k] for a in attrs[f"{side}_{role}"]]
            found[f"{side}_{role}"] = tuple(a + (k in mapped) for a in axes)
    if len(mapped) == 2:
        for side in ("lhs", "rhs"):
            found[f"{side}_batch"] = (0, *found[f"{side}_batch"])
        return found
    if attrs["lhs_batch"]:
        return None
    return found if mapped[0] == 0 or len(attrs["lhs_contract"]) == ranks[0] else None


def _attention(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> (
    dict[str, Any] | None
):
    # leading axes of q and k broadcast, those of k and v are equal
    if (1 in mapped) != (2 in mapped) or not {0, 1} & set(mapped):
        return None
    return _leading(attrs, types, mapped)


def _axis(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> dict[str, Any]:
    (rank,) = _ranks(types, mapped)
    return {**attrs, "axis": attrs["axis"] % rank + 1}


def _axes(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> dict[str, Any] | None:
    """Reductions of one operand; no axes are all of them."""
    if len(types) != 1:
        return None
    (rank,) = _ranks(types, mapped)
    axes = attrs["axes"]
    if not rank or axes == ():
        return None
    return {**attrs, "axes": tuple(
        a % rank + 1 for a in (range(rank) if axes is None else axes))}


def _transpose(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> dict[str, Any]:
    (rank,) = _ranks(types, mapped)
    axes = attrs["axes"]
    order = range(rank)[::-1] if axes is None else axes
    return {**attrs, "axes": (0, *(a % rank + 1 for a in order))}


def _trailing(attrs: Mapping[str, Any], types: Types, mapped: Sequence[int]) -> (
    dict[str, Any] | None
):
    # weights are of the last axes alone
    return dict(attrs) if tuple(mapped) == (0,) else None


_RULES: Final[dict[Any, _Batched]] = {
    **dict.fromkeys((
        pointwise.elementwise, pointwise.comparison, pointwise.predicate, pointwise.real_part,
        pointwise.cast, pointwise.approximated), _leading),
    **dict.fromkeys((
        rules.accumulation, rules.extremum, rules.reduction, rules.truth_reduction,
        rules.real_reduction), _axes),
    contraction.matmul: _matmul, contraction.dot_general: _dot_general,
    nn.attention: _attention, nn.along_axis: _axis, nn.trailing_norm: _trailing,
    shape.transpose: _transpose,
}
