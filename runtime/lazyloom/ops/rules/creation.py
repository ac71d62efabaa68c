"""Rules of ops that create arrays only from attributes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import (
    bool_,
)
from ...errors import DTypeError
from .shared import (
    Attributes,
    Operands,
    Types,
    broadcast_shapes,
    check_at_least,
    check_ndim,
    check_sizes,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef



def filled(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` with the dtype of a 0-d operand."""
    value = check_ndim(op, types, 0, 0)
    return one(check_sizes(op, "shape", attrs["shape"]), value.dtype)


def progression(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``length`` elements with the dtype of the 0-d operands."""
    check_ndim(op, types, 0, 0)
    check_ndim(op, types, 1, 0)
    return one((check_at_least(op, "length", attrs["length"], 0),), operand(types, 0).dtype)


def spaced(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new first axis of attribute ``num`` before the shape that the operands broadcast to."""
    num = check_at_least(op, "num", attrs["num"], 0)
    return one((num, *broadcast_shapes(op, types)), operand(types, 0).dtype)


def identity_matrix(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attributes ``n`` rows and ``m`` columns (``n`` for None) of attribute ``dtype``."""
    n = check_at_least(op, "n", attrs["n"], 0)
    m = n if attrs["m"] is None else check_at_least(op, "m", attrs["m"], 0)
    return one((n, m), attrs["dtype"])


def counting(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of attribute ``dtype``, counted along attribute ``axis``."""
    shape = check_sizes(op, "shape", attrs["shape"])
    normalize_axis(op, "axis", attrs["axis"], len(shape))
    if attrs["dtype"] is bool_:
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is bool, expected a number's; cast the result",
            op=op.name)
    return one(shape, attrs["dtype"])
