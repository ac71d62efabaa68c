"""Rules of ops that work element by element, including casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import (
    DType,
    bool_,
    float32,
    float64,
)
from ...errors import ArgumentError, DTypeError, ShapeError
from .shared import (
    Attributes,
    Operands,
    Types,
    broadcast_shapes,
    check_choice,
    complex_of,
    one,
    operand,
    variable_dtype,
)

if TYPE_CHECKING:
    from ..spec import OpDef



def elementwise(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; the result has the dtype of the op's variable ``T``."""
    first = types[0]
    if len(types) == 1 and first is not None:
        return (first,)
    return one(broadcast_shapes(op, types), variable_dtype(op, types))


def comparison(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; the result is bool."""
    return one(broadcast_shapes(op, types), bool_)


def predicate(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A bool for each element of one operand."""
    return one(operand(types, 0).shape, bool_)


def real_part(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; a complex dtype gives the dtype of its parts."""
    return one(broadcast_shapes(op, types), variable_dtype(op, types).real)


def complex_pair(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two float32 operands give complex64, two float64 ones complex128."""
    for i, t in enumerate(types):
        if t is not None and t.dtype is not float32 and t.dtype is not float64:
            raise DTypeError(
                f"{op.name}: operand {op.operand_name(i)!r} has dtype {t.dtype.name}, expected "
                "float32 or float64; cast it first", op=op.name)
    return one(broadcast_shapes(op, types), complex_of(operand(types, 0).dtype))


def approximated(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``approximate`` is "none" or "tanh"."""
    check_choice(op, "approximate", attrs["approximate"], ("none", "tanh"))
    return elementwise(op, types, attrs)


def chebyshev(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``kind`` is the letter of a kind of Chebyshev polynomials."""
    check_choice(op, "kind", attrs["kind"], ("t", "u", "v", "w"))
    return elementwise(op, types, attrs)


def orthogonal(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``kind`` names orthogonal polynomials."""
    check_choice(op, "kind", attrs["kind"],
                 ("hermite_h", "hermite_he", "laguerre_l", "legendre_p"))
    return elementwise(op, types, attrs)


def integral_power(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; an integer operand takes no negative ``exponent``."""
    x = operand(types, 0)
    if attrs["exponent"] < 0 and x.dtype.is_integer:
        raise ArgumentError(
            f"{op.name}: attribute 'exponent' is {attrs['exponent']} for operand 'x' of dtype "
            f"{x.dtype.name}, expected 0 or more; cast to a floating-point type first", op=op.name)
    return (x,)


def cast(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's shape with attribute ``dtype``."""
    return one(operand(types, 0).shape, attrs["dtype"])


def bitcast(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The same bytes with attribute ``dtype``; a last axis carries the ratio of the sizes."""
    x = operand(types, 0)
    dtype: DType = attrs["dtype"]
    if dtype.itemsize == x.dtype.itemsize:
        return one(x.shape, dtype)
    if dtype.itemsize < x.dtype.itemsize:
        return one((*x.shape, x.dtype.itemsize // dtype.itemsize), dtype)
    ratio = dtype.itemsize // x.dtype.itemsize
    if not x.shape or x.shape[-1] != ratio:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape} and dtype {x.dtype.name}, expected a last "
            f"axis of size {ratio} to make one {dtype.name} of", op=op.name)
    return one(x.shape[:-1], dtype)
