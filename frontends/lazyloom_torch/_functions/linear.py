"""Products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._autocast import casting, lowered
from .._core import axis, broadcast_shapes, cast, record, record_two, spec
from .._dtypes import int64
from .._promotion import is_number, promote_types
from .._registry import declare
from .._tensor import Tensor, operand
from . import pointwise
from .reductions import distances, norm
from .reductions import sum as total
from .views import diagonal

_wrap = Tensor.from_value
_MATMUL = spec("matmul", 2)


def _same_dtype(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: torch."
            f"{a.dtype.name} != torch.{b.dtype.name}")


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product with batches broadcast; dtypes must be equal."""
    if casting:
        input, other = lowered(input, other)
    a, b = operand(input), operand(other)
    if a.dtype is not b.dtype:
        _same_dtype(a, b)
    if not a.shape or not b.shape:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a.shape)}D and "
            f"{len(b.shape)}D")
    made: Tensor = _wrap(record_two(_MATMUL, a, b))
    return made


def _check_ranks(name: str, input: Tensor, other: Tensor, ranks: tuple[int, int]) -> None:
    if input.ndim != ranks[0] or other.ndim != ranks[1]:
        raise RuntimeError(
            f"{name}: expected a {ranks[0]}-D and a {ranks[1]}-D tensor, got {input.ndim}-D and "
            f"{other.ndim}-D")


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    _check_ranks("mm", input, mat2, (2, 2))
    return matmul(input, mat2)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, of one size."""
    _check_ranks("bmm", input, mat2, (3, 3))
    if input.tensor_type.shape[0] != mat2.tensor_type.shape[0]:
        raise RuntimeError(
            f"bmm: expected batches of one size, got {list(input.shape)} and {list(mat2.shape)}")
    return matmul(input, mat2)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    _check_ranks("mv", input, vec, (2, 1))
    return matmul(input, vec)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The product of two vectors."""
    _check_ranks("dot", input, tensor, (1, 1))
    return matmul(input, tensor)


def _added(input: Tensor, found: Tensor, beta: Any, alpha: Any, name: str) -> Tensor:
    """``beta * input + alpha * found``; with beta 0 not even NaN of the input counts."""
    if found.dtype.category < 2 and (isinstance(alpha, float) or isinstance(beta, float)):
        if name == "addr":
            raise RuntimeError(
                "addr: for integral input tensors, alpha and beta must not be floating point "
                f"numbers, but they are {alpha!r} and {beta!r}")
        alpha, beta = int(alpha), int(beta)  # as PyTorch does for all others
    if found.dtype.category == 0:
        alpha, beta = bool(alpha), bool(beta)
    if input.dtype is not found.dtype:
        _same_dtype(operand(input), operand(found))
    shape = found.tensor_type.shape
    if broadcast_shapes(input.tensor_type.shape, shape) != shape:
        raise RuntimeError(
            f"{name}: the input of shape {list(input.shape)} does not expand to {list(shape)}, the "
            "shape of the product")
    if type(alpha) not in (int, float, bool) or alpha != 1:
        found = pointwise.mul(found, alpha)
    if beta == 0 and not isinstance(beta, Tensor):
        return found
    if type(beta) not in (int, float, bool) or beta != 1:
        input = pointwise.mul(input, beta)
    return pointwise.add(found, input)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return _added(input, mm(mat1, mat2), beta, alpha, "addmm")


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    return _added(input, mv(mat, vec), beta, alpha, "addmv")


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    found = outer(vec1, vec2)
    return _added(input.to(found.dtype), found.to(input.dtype) if (
        input.dtype.category > found.dtype.category) else found, beta, alpha, "addr")


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
            ) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    return _added(input, bmm(batch1, batch2), beta, alpha, "baddbmm")


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
           ) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``."""
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise RuntimeError(
            f"addbmm: expected 3-D batches, got {batch1.ndim}-D and {batch2.ndim}-D")
    found = tensordot(batch1, batch2, ([0, 2], [0, 1]))
    return _added(input, found, beta, alpha, "addbmm")


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D arguments, but got {input.ndim}-D and {vec2.ndim}-D")
    values, common = pointwise.promoted((input, vec2))
    if common.category == 0:
        return pointwise.mul(input.unsqueeze(1), vec2)
    return _wrap(record("outer", values))


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The product over the last dimensions."""
    if not input.ndim or not other.ndim:
        return pointwise.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner(): the last dimensions must match, but the shapes are {list(input.shape)} and "
            f"{list(other.shape)}")
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The product over several dimensions: the last n and first n, or two lists of them.

    A dimension of size 1 that meets a larger one is broadcast. Raises RuntimeError for dims
    that do not fit.
    """
    x, y = operand(a), operand(b)
    _same_dtype(x, y)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if hasattr(dims, "__index__"):
        n = dims.__index__()
        if n < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={n}")
        if n > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={n} for {a.ndim}-D and "
                f"{b.ndim}-D tensors")
        left: Sequence[int] = range(a.ndim - n, a.ndim)
        right: Sequence[int] = range(n)
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [axis(d, a.ndim) for d in left], [axis(d, b.ndim) for d in right]
    if len(left) != len(right):
        raise RuntimeError(
            f"both dimension lists should have same length, got {len(left)} and {len(right)}")
    for i, j in zip(left, right):
        sizes = x.shape[i], y.shape[j]
        if sizes[0] != sizes[1]:
            if 1 not in sizes:
                raise RuntimeError(
                    f"contracted dimensions need to match, but first has size {sizes[0]} in dim "
                    f"{i} and second has size {sizes[1]} in dim {j}")
            # the sum over the larger one, since the other does not depend on it
            if sizes[0] == 1:
                y = record("sum", [y], {"axes": (j,), "keepdims": True})
            else:
                x = record("sum", [x], {"axes": (i,), "keepdims": True})
    return _wrap(record("dot_general", [x, y], {
        "lhs_contract": tuple(left), "rhs_contract": tuple(right), "lhs_batch": (),
        "rhs_batch": ()}))


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _equation(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """The equation and the operands of ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""

    def term(labels: Any) -> str:
        found = ""
        for n in labels:
            if n is Ellipsis:
                found += "..."
            elif isinstance(n, int) and 0 <= n < 52:
                found += _LETTERS[n]
            else:
                raise ValueError(f"einsum(): subscript {n!r} is not in the range 0 to 51")
        return found

    equation = ",".join(term(labels) for labels in args[1::2][:len(args) // 2])
    if len(args) % 2:
        equation += "->" + term(args[-1])
    return equation, list(args[:len(args) // 2 * 2:2])


def einsum(*args: Any) -> Tensor:
    """A sum of products in Einstein's notation: ``einsum("ij,jk->ik", x, y)``, or with lists of
    numbers after each operand, and one for the result. Dtypes must be equal."""
    if not args:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    if isinstance(args[0], str):
        equation, tensors = args[0], list(args[1:])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = list(tensors[0])
    else:
        equation, tensors = _equation(args)
    if not tensors:
        raise ValueError("einsum(): must provide at least one operand")
    equation = equation.replace(" ", "")
    values = [operand(t) for t in tensors]
    for v in values[1:]:
        _same_dtype(values[0], v)
    _check_terms(equation, values)
    left, arrow, right = equation.partition("->")
    if values[0].dtype.kind in "iub" and _summed_alone(left, right if arrow else None):
        values = [cast(v, int64.lazy) for v in values]  # sums of integers are int64
    if not arrow:
        counts = {c: left.count(c) for c in left if c.isalpha()}
        right = ("..." if "..." in left else "") + "".join(
            c for c in sorted(counts) if counts[c] == 1)
    elif "..." in left and "..." not in right:
        # what the dots stand for is summed over, as PyTorch does
        found = _einsum(values, f"{left}->...{right}")
        extra = len(found.shape) - len(right)
        return _wrap(record("sum", [found], {
            "axes": tuple(range(extra)), "keepdims": False}))
    return _wrap(_einsum(values, f"{left}->{right}"))


def _summed_alone(left: str, right: str | None) -> bool:
    """Whether a dimension of one operand only is summed over."""
    terms = [set(term) - {".", ","} for term in left.split(",")]
    alone = [c for term in terms for c in term if sum(c in t for t in terms) == 1]
    if right is None:
        return any(left.count(c) > 1 for c in alone)
    return "..." in left and "..." not in right or any(c not in right for c in alone)


def _einsum(values: list[Any], equation: str) -> Any:
    """The op, sizes of 1 broadcast against others of the same letter."""
    sizes: dict[str, int] = {}
    for i, (term, v) in enumerate(zip(equation.partition("->")[0].split(","), values)):
        before, _, after = term.partition("...")
        ends = [*zip(before, v.shape), *zip(reversed(after), reversed(v.shape))]
        for c, d in ends:
            seen = sizes.setdefault(c, d)
            if d not in (1, seen) and seen != 1:
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {d} for operand {i} which does not "
                    f"broadcast with previously seen size {seen}")
            if seen == 1:
                sizes[c] = d
    return record("einsum", values, {"equation": equation})


def _check_terms(equation: str, values: list[Any]) -> None:
    left = equation.partition("->")[0]
    terms = left.split(",")
    if len(terms) != len(values):
        raise RuntimeError(
            f"einsum(): {'more' if len(terms) < len(values) else 'fewer'} operands were provided "
            f"than specified in the equation: {len(values)} for {equation!r}")
    for i, (term, v) in enumerate(zip(terms, values)):
        letters = term.replace("...", "")
        if not all(c in _LETTERS for c in letters):
            raise RuntimeError(
                f"einsum(): invalid subscript given at operand {i}: {term!r}, subscripts must be "
                "in [a-zA-Z]")
        fits = len(v.shape) >= len(letters) if "..." in term else len(v.shape) == len(letters)
        if not fits:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) does not "
                f"match the number of dimensions ({len(v.shape)}) for operand {i}")


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    pointwise.only_tensors("kron", input, other)
    common = promote_types(input.dtype, other.dtype)  # numbers as tensors count as all do
    values = [cast(operand(x), common.lazy) for x in (input, other)]
    if common.category == 0:
        return kron(input.byte(), other.byte()).bool()
    return _wrap(record("kron", values))


def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3; the others broadcast."""
    if input.ndim != other.ndim:
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions, got "
            f"{input.ndim} and {other.ndim}")
    at = axis(dim, input.ndim)
    if input.tensor_type.shape[at] != 3 or other.tensor_type.shape[at] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{input.size(at)} and {other.size(at)}")
    values, _ = pointwise.promoted((input, other))
    return _wrap(record("cross", values, {"axis": at}))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along a dimension of size 3, the first such one by default."""
    if dim is None:
        shape = broadcast_shapes(input.tensor_type.shape, other.tensor_type.shape)
        dim = next((i for i, d in enumerate(shape) if d == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product, the first vector conjugated."""
    return dot(pointwise.conj(input), other)


def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return total(diagonal(input))


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, in the cheapest order."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if m.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {m.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multiply_all(list(matrices))


def multiply_all(matrices: list[Tensor]) -> Tensor:
    """The product of 2-D tensors in the order with the fewest multiplications."""
    n = len(matrices)
    sizes = [m.tensor_type.shape[0] for m in matrices] + [matrices[-1].tensor_type.shape[1]]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j))

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        return matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    return product(0, n - 1)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension."""
    lengths = [pointwise.clamp(norm(x, 2, dim), min=eps) for x in (x1, x2)]
    return pointwise.div(total(pointwise.mul(x1, x2), dim), pointwise.mul(*lengths))


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
          "donot_use_mm_for_euclid_dist")
#: so many rows make the product of matrices worth its loss of precision
_MANY = 25


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = _MODES[0]) -> Tensor:
    """Distances of all pairs of rows of (..., P, M) and (..., R, M): (..., P, R).

    For p = 2 a product of matrices serves where there are more than 25 rows, or where
    ``compute_mode`` says so.
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            "cdist expects at least 2-D tensors with as many columns, got "
            f"{list(x1.shape)} and {list(x2.shape)}")
    if not is_number(p) or p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, not {p!r}")
    if x1.dtype is not x2.dtype or not x1.dtype.is_floating_point:
        raise RuntimeError(
            f"cdist only supports floating-point dtypes, the same, not {x1.dtype!r} and "
            f"{x2.dtype!r}")
    rows = max(x1.shape[-2], x2.shape[-2])
    if p == 2 and x1.shape[-1] and x1.numel() and x2.numel() and (
        compute_mode == _MODES[1] or (compute_mode == _MODES[0] and rows > _MANY)
    ):
        return _euclidean(x1, x2)
    return distances(pointwise.sub(x1.unsqueeze(-2), x2.unsqueeze(-3)), p, -1)


def _euclidean(x1: Tensor, x2: Tensor) -> Tensor:
    lengths = [total(pointwise.mul(x, x), -1) for x in (x1, x2)]
    squares = lengths[0].unsqueeze(-1) + lengths[1].unsqueeze(-2) - 2 * matmul(
        x1, x2.transpose(-2, -1))
    near = squares <= 0
    # the root of 0 has no slope; what is too near to tell apart counts as equal
    root = pointwise.FUNCTIONS["sqrt"](pointwise.where(near, 1.0, squares))
    return pointwise.where(near, 0.0, root)


declare({
    "function method inplace-function out fast": [addmv],
    "function method inplace out fast": [addmm, baddbmm, addbmm, addr],
    "function method out fast": [
        matmul, mm, bmm, mv, dot, outer, ("ger", outer), inner, kron, cross, vdot],
    "function method fast": [trace],
    "function out": [tensordot, chain_matmul],
    "function": [einsum, cdist],
})
