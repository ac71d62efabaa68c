"""Rules of linear algebra: the last two axes are matrices, those before are a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import bool_, int32
from ...errors import ArgumentError, ShapeError
from ...types import TensorType, tensor_type
from .shape import check_matrix
from .shared import Attributes, Operands, Types, check_choice, complex_of, one, operand

if TYPE_CHECKING:
    from ..spec import OpDef


def _square(op: OpDef, types: Operands) -> TensorType:
    x = check_matrix(op, types, 0)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(0)!r} has shape {x.shape}, expected square "
            "matrices in the last two axes", op=op.name)
    return x


def square(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, square matrices."""
    return (_square(op, types),)


def determinant(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A number per square matrix."""
    x = _square(op, types)
    return one(x.shape[:-2], x.dtype)


def singular(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A bool per square matrix."""
    return one(_square(op, types).shape[:-2], bool_)


def signed_logarithm(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two numbers per square matrix, the second real."""
    x = _square(op, types)
    return (tensor_type(x.shape[:-2], x.dtype), tensor_type(x.shape[:-2], x.dtype.real))


def solution(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The type of the second operand, whose rows are those of the square first one."""
    a, b = _square(op, types), check_matrix(op, types, 1)
    if a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(
            f"{op.name}: operands 'a' of shape {a.shape} and 'b' of shape {b.shape} differ in "
            "their leading axes, expected the same; broadcast one of them", op=op.name)
    left = attrs.get("left_side", True)
    size = b.shape[-2] if left else b.shape[-1]
    if size != a.shape[-1]:
        raise ShapeError(
            f"{op.name}: operand 'b' of shape {b.shape} has {size} "
            f"{'rows' if left else 'columns'}, expected {a.shape[-1]} as the matrices of operand "
            f"'a' of shape {a.shape}", op=op.name)
    return (b,)


def failure(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """An int32 per square matrix."""
    return one(_square(op, types).shape[:-2], int32)


def lu(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, and min(m, n) int32 per matrix."""
    x = check_matrix(op, types, 0)
    return (x, tensor_type((*x.shape[:-2], min(x.shape[-2:])), int32))


def permutation(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """``size`` int32 in place of the last axis."""
    pivots, size = operand(types, 0), attrs["size"]
    if not pivots.shape or pivots.shape[-1] > size:
        raise ShapeError(
            f"{op.name}: operand 'pivots' has shape {pivots.shape}, expected {size} or fewer along "
            "the last axis, as attribute 'size' says", op=op.name)
    return one((*pivots.shape[:-1], size), int32)


def reflections(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The type of the vectors; no more factors than columns, no more columns than rows."""
    a, taus = check_matrix(op, types, 0), operand(types, 1)
    m, n = a.shape[-2:]
    if m < n:
        raise ShapeError(
            f"{op.name}: operand 'a' has shape {a.shape}, expected no more columns than rows",
            op=op.name)
    if taus.shape[:-1] != a.shape[:-2] or not taus.shape or taus.shape[-1] > n:
        raise ShapeError(
            f"{op.name}: operand 'taus' has shape {taus.shape}, expected {a.shape[:-2]} and {n} or "
            f"fewer along the last axis, as operand 'a' of shape {a.shape} asks", op=op.name)
    return (a,)


def pinv_within(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., n, m); the limits have the leading axes."""
    x = _square(op, types) if attrs["hermitian"] else check_matrix(op, types, 0)
    for i in (1, 2):
        limit = operand(types, i)
        if limit.shape != x.shape[:-2]:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {limit.shape}, expected "
                f"{x.shape[:-2]}, a number per matrix of operand 'x' of shape {x.shape}",
                op=op.name)
    return one((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


def qr(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., m, k) and (..., k, n)."""
    x = check_matrix(op, types, 0)
    mode = check_choice(op, "mode", attrs["mode"], ("reduced", "complete"))
    m, n = x.shape[-2:]
    k = min(m, n) if mode == "reduced" else m
    return (tensor_type((*x.shape[:-2], m, k), x.dtype),
            tensor_type((*x.shape[:-2], k, n), x.dtype))


def qr_raw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., n, m) and min(m, n) numbers."""
    x = check_matrix(op, types, 0)
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    return (tensor_type((*lead, n, m), x.dtype), tensor_type((*lead, min(m, n)), x.dtype))


def eig(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Complex eigenvalues, and complex matrices whose columns are eigenvectors."""
    x = _square(op, types)
    dtype = complex_of(x.dtype)
    return (tensor_type(x.shape[:-1], dtype), tensor_type(x.shape, dtype))


def eigvals(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Complex eigenvalues."""
    return eig(op, types, attrs)[:1]


def eigh(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Real eigenvalues, and matrices whose columns are eigenvectors."""
    x = _square(op, types)
    return (tensor_type(x.shape[:-1], x.dtype.real), x)


def eigvalsh(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Real eigenvalues."""
    x = _square(op, types)
    return one(x.shape[:-1], x.dtype.real)


def svd(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., m, k), k real numbers and (..., k, n)."""
    x = check_matrix(op, types, 0)
    m, n = x.shape[-2:]
    return _decomposed(x, min(m, n), min(m, n))


def svd_full(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., m, m), min(m, n) real numbers and (..., n, n)."""
    x = check_matrix(op, types, 0)
    return _decomposed(x, x.shape[-2], x.shape[-1])


def _decomposed(x: TensorType, rows: int, columns: int) -> Types:
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    return (tensor_type((*lead, m, rows), x.dtype),
            tensor_type((*lead, min(m, n)), x.dtype.real),
            tensor_type((*lead, columns, n), x.dtype))


def svdvals(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """min(m, n) real numbers per matrix."""
    x = check_matrix(op, types, 0)
    return one((*x.shape[:-2], min(x.shape[-2:])), x.dtype.real)


def pinv(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., m, n) gives (..., n, m)."""
    x = check_matrix(op, types, 0)
    if not attrs["rtol"] >= 0.0:
        raise ArgumentError(
            f"{op.name}: attribute 'rtol' is {attrs['rtol']}, expected 0.0 or more", op=op.name)
    return one((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


def matrix_power(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, square matrices; any number for a negative exponent."""
    return (_square(op, types),)
