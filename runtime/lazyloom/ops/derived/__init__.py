"""Ops derived from those of the table: each op's vjp, jvp, and itself mapped over an axis.

They are ops like any other, with names such as ``add.vjp``, and ops can be derived from them again.
:meth:`OpDef.derive` makes them. They know their kind, their base and the attributes that they add,
and have the traits that follow from those of their base.
"""

from __future__ import annotations

from ..spec import OpDef, derivations, lookup
from .jvp import JVP
from .residuals import BACKWARD, FORWARD, types_attributes, types_of
from .vjp import VJP
from .vmap import VMAP


def op_named(name: str) -> OpDef:
    """The op of that name, of the table or derived: the name that a stored program uses.

    Raises UnknownOpError. All other code uses the kind and base of the op itself.
    """
    base, dot, kind = name.rpartition(".")
    return op_named(base).derive(kind) if dot and kind in derivations() else lookup(name)


__all__ = ["BACKWARD", "FORWARD", "JVP", "VJP", "VMAP", "op_named", "types_attributes", "types_of"]
