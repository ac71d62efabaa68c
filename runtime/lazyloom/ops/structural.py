"""Ops that exist for the runtime itself: identities that differ in their gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ShapeError
from ..types import TensorType
from ._jax import lax
from .cases import Cases, case
from .kinds import Array, T
from .spec import OpDef, op


def same(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The result has the first operand's type, and every operand that shape."""
    for i, t in enumerate(types):
        if t.shape != types[0].shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected "
                f"{types[0].shape} as operand {op.operand_name(0)!r} has", op=op.name)
    return (types[0],)


same.family = "elementwise"  # type: ignore[attr-defined]


@op(same, source="stablehlo.add of nothing: the identity function")
def identity(x: T) -> Array:
    """x itself, as a value of its own. The gradient passes through."""
    return x


@op(
    same, source="straight-through estimator, arXiv 1308.3432", differentiable=("x",),
    # by intent the gradient is not that of the data
    samples=Cases(case((2, 3), (2, 3)), case((), ()), case((0, 3), (0, 3)), smooth=False),
)
def straight_through(x: T, y: T) -> Array:
    """The data of y with the gradient of x: the cotangent passes to x unchanged.

    For data that was overwritten without recording a gradient.
    """
    if x.dtype.kind not in "fcV" and str(x.dtype) != "bfloat16":
        return y
    return _straight_through(x, y)


def _straight_through(x: Any, y: Any) -> Any:
    from ._jax import jax

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def pass_through(x: Any, y: Any) -> Any:
        return y

    def forward(x: Any, y: Any) -> Any:
        return y, None

    def backward(_: Any, cotangent: Any) -> Any:
        return cotangent, lax.full_like(cotangent, 0)

    pass_through.defvjp(forward, backward)
    return pass_through(x, y)
