"""Ops derived from those of the table: each op's vjp, jvp, and itself mapped over an axis.

They are ops like any other, with names such as ``add.vjp``, and can be derived from again.
"""

from __future__ import annotations

from ..spec import OpDef, lookup
from .jvp import JVP, jvp_of, moving_attribute
from .residuals import BACKWARD, FORWARD, backward_of, forward_of, types_text
from .vjp import VJP, vjp_of
from .vmap import VMAP, mapped_attribute, vmap_of


def derived_op(name: str) -> OpDef | None:
    """The derived op of that name, or None if the name is not of that form."""
    for suffix, make in (
        (VJP, vjp_of), (FORWARD, forward_of), (BACKWARD, backward_of), (JVP, jvp_of),
        (VMAP, vmap_of),
    ):  # fmt: skip
        if name.endswith(suffix):
            return make(op_named(name[: -len(suffix)]))
    return None


def op_named(name: str) -> OpDef:
    """The op of that name, of the table or derived. Raises UnknownOpError."""
    return derived_op(name) or lookup(name)


__all__ = [
    "BACKWARD", "FORWARD", "JVP", "VJP", "VMAP", "backward_of", "derived_op", "forward_of",
    "jvp_of", "mapped_attribute", "moving_attribute", "op_named", "types_text", "vjp_of",
    "vmap_of",
]  # fmt: skip
