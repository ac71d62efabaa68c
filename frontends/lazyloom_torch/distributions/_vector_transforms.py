"""Maps of vectors and matrices: to simplices, Cholesky factors, positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch.nn.functional import pad, softplus

from . import constraints
from ._transform import Transform
from .utils import diagonal_of, formula, inside_unit, tril_matrix_to_vec, vec_to_tril_matrix


def log_slope_of_tanh(x: Any) -> Any:
    """``log(1 - tanh(x)**2)``, written so that it does not cancel."""
    return 2 * (math.log(2) - x - softplus(-2 * x))


def _before(left: Any) -> Any:
    """What was left before each step: 1, and then what is left after all steps but the last."""
    return pad(left[..., :-1], [1, 0], value=1)


def _reshaped(shape: Any, dims: int, event: Any) -> Any:
    """A shape whose last dimensions are those of a value."""
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - dims
    return (*shape[:cut], *event(*shape[cut:]))


class _OfVectors(Transform):
    """A map of the last dimension of tensors; ``_size`` and ``_size_back`` tell the new one."""

    domain: Any = constraints.real_vector
    codomain: Any = constraints.simplex
    forward_shape = formula(lambda t, shape: _reshaped(shape, t.domain.event_dim, t._size))
    inverse_shape = formula(lambda t, shape: _reshaped(
        shape, t.codomain.event_dim, t._size_back))
    _size: Any = formula(lambda t, n: (n,))
    _size_back: Any = formula(lambda t, n: (n,))
    _equal_by: Any = ()


class SoftmaxTransform(_OfVectors):
    """``softmax(x)`` over the last dimension; not a bijection, but it has a right inverse."""

    _call = formula(lambda t, x: x.softmax(-1))
    _inverse = formula(lambda t, y: y.log())


class StickBreakingTransform(_OfVectors):
    """Vectors of n numbers as points of the simplex of n + 1, by breaking a stick n times.

    The break before which k pieces are left is at ``sigmoid(x - log(k))`` of the rest.
    """

    bijective = True
    _size = formula(lambda t, n: (n + 1,))
    _size_back = formula(lambda t, n: (n - 1,))
    # dy/dx of a piece is the piece times 1 - sigmoid
    _slope = formula(lambda t, x, y: (y[..., :-1].log() - softplus(x - t._shift(x))).sum(-1))

    @staticmethod
    def _shift(x: Any) -> Any:
        return torch.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()

    def _call(self, x: Any) -> Any:
        broken = inside_unit((x - self._shift(x)).sigmoid())
        rest = pad((1 - broken).cumprod(-1), [1, 0], value=1)
        return rest * pad(broken, [0, 1], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        rest = (1 - pieces.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return (pieces / rest).log() + self._shift(pieces)


class CorrCholeskyTransform(_OfVectors):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of n by n correlation matrices.

    A row has the length 1; ``tanh(x)**2`` is the share of an element in what the elements before
    it have left of that, and the diagonal gets the rest.
    """

    bijective = True
    codomain = constraints.corr_cholesky
    _equal_by = None

    def _call(self, x: Any) -> Any:
        limit = 1 - torch.finfo(x.dtype).eps
        share = vec_to_tril_matrix(x.tanh().clamp(-limit, limit), diag=-1)
        rest = _before((1 - share * share).sqrt().cumprod(-1))
        return rest * (share + torch.eye(share.shape[-1], dtype=share.dtype))

    def _inverse(self, y: Any) -> Any:
        rest = _before(1 - (y * y).cumsum(-1))
        return torch.atanh(tril_matrix_to_vec(y / rest.sqrt(), diag=-1))

    def _slope(self, x: Any, y: Any) -> Any:
        # of each number, and the root of what was left for its element
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return log_slope_of_tanh(x).sum(-1) + rest.log().sum(-1) / 2

    def _size(self, n: int) -> tuple[int, ...]:
        size = (1 + math.isqrt(1 + 8 * n)) // 2
        if size * (size - 1) != 2 * n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (size, size)

    def _size_back(self, rows: int, columns: int) -> tuple[int, ...]:
        if rows != columns:
            raise ValueError("Input is not square")
        return (rows * (rows - 1) // 2,)


def _on_diagonal(f: Any, x: Any) -> Any:
    """A lower triangle with a function of the diagonal for the diagonal."""
    return x.tril(-1) + torch.diag_embed(f(diagonal_of(x)))


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    _equal_by = ()
    _call = formula(lambda t, x: _on_diagonal(torch.exp, x))
    _inverse = formula(lambda t, y: _on_diagonal(torch.log, y))


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive definite ones, of which the lower Cholesky factor is mapped."""

    domain, codomain = LowerCholeskyTransform.domain, constraints.positive_definite
    _equal_by = ()
    _inverse = formula(lambda t, y: _on_diagonal(torch.log, torch.linalg.cholesky(y)))

    def _call(self, x: Any) -> Any:
        factor = _on_diagonal(torch.exp, x)
        return factor @ factor.mT
