"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

from .._core import axis, record, record_two, spec
from .._tensor import Tensor, operand
from . import pointwise

_wrap = Tensor._wrap
_MATMUL = spec("matmul", 2)


def _same_dtype(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: torch."
            f"{a.dtype.name} != torch.{b.dtype.name}")


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product with batches broadcast; dtypes must be equal."""
    a, b = operand(input), operand(other)
    if a.dtype is not b.dtype:
        _same_dtype(a, b)
    if not a.shape or not b.shape:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a.shape)}D and "
            f"{len(b.shape)}D")
    made: Tensor = _wrap(record_two(_MATMUL, a, b))
    return made


def _ranked(name: str, ranks: tuple[int, int]) -> Any:
    def function(input: Tensor, other: Tensor) -> Tensor:
        for x, rank, which in ((input, ranks[0], "self"), (other, ranks[1], "mat2")):
            if x.ndim != rank:
                raise RuntimeError(f"{name}: {which} must be a {rank}-D tensor, got {x.ndim}-D")
        return matmul(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The matrix product of a {ranks[0]}-D and a {ranks[1]}-D tensor."
    return function


mm, bmm, mv, dot = (_ranked(n, r) for n, r in (
    ("mm", (2, 2)), ("bmm", (3, 3)), ("mv", (2, 1)), ("dot", (1, 1))))


def _added(name: str, product: Any) -> Any:
    def function(input: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        found = product(a, b)
        if alpha != 1:
            found = pointwise.mul(found, alpha)
        return pointwise.add(found, input if beta == 1 else pointwise.mul(input, beta))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``beta * input + alpha * {product.__name__}(a, b)``."
    return function


addmm, addmv, baddbmm = _added("addmm", mm), _added("addmv", mv), _added("baddbmm", bmm)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input.ndim}-D and {vec2.ndim}-D")
    values, _ = pointwise.promoted((input, vec2))
    return _wrap(record("outer", values))


addr = _added("addr", outer)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The product over the last dimensions."""
    if not input.ndim or not other.ndim:
        return pointwise.mul(input, other)
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The product over several dimensions: the last n and first n, or two lists of them."""
    x, y = operand(a), operand(b)
    _same_dtype(x, y)
    if isinstance(dims, int):
        left = list(range(a.ndim - dims, a.ndim))
        right = list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    return _wrap(record("dot_general", [x, y], {
        "lhs_contract": tuple(axis(d, a.ndim) for d in left),
        "rhs_contract": tuple(axis(d, b.ndim) for d in right), "lhs_batch": (), "rhs_batch": ()}))


def einsum(equation: str, *operands: Any) -> Tensor:
    """A sum of products in Einstein's notation."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else (
        operands)
    values, _ = pointwise.promoted(tuple(tensors))
    return _wrap(record("einsum", values, {"equation": equation.replace(" ", "")}))


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    values, _ = pointwise.promoted((input, other))
    return _wrap(record("kron", values))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along a dimension of size 3."""
    if dim is None:
        dim = next((i for i, d in enumerate(input._type.shape) if d == 3), -1)
    values, _ = pointwise.promoted((input, other))
    return _wrap(record("cross", values, {"axis": axis(dim, input.ndim)}))


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product, the first vector conjugated."""
    return dot(pointwise.conj(input), other)


def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    from .reductions import sum as total
    from .views import diagonal

    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return total(diagonal(input))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension."""
    from .reductions import norm
    from .reductions import sum as total

    lengths = [pointwise.clamp(norm(x, 2, dim), min=eps) for x in (x1, x2)]
    return pointwise.div(total(pointwise.mul(x1, x2), dim), pointwise.mul(*lengths))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all pairs of rows."""
    from .reductions import norm

    return norm(pointwise.sub(x1.unsqueeze(-2), x2.unsqueeze(-3)), p, -1)


FUNCTIONS = {f.__name__: f for f in (
    matmul, mm, bmm, mv, dot, addmm, addmv, baddbmm, addr, outer, inner, tensordot, einsum, kron,
    cross, vdot, trace, cosine_similarity, cdist)}
FUNCTIONS["ger"] = outer
NOT_METHODS = ("einsum", "tensordot", "cosine_similarity", "cdist")
