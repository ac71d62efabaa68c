"""Parametrizations that are often used: weight and spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any

from ... import linalg, random
from ..._dtypes import finfo
from ..._functions import pointwise, shaping
from ..._functions.creation import eye, zeros
from ..._grad_mode import no_grad
from ..._matrices import geqrf
from ..._tensor import Tensor
from ..modules.module import Module
from . import parametrize
from ._norms import (
    as_matrix,
    norm_except_dim,
    output_dim,
    power_iterations,
    random_direction,
    singular_value,
    weight_of,
)

_MAPS = ("matrix_exp", "cayley", "householder")


def _orthonormal(a: Tensor) -> Tensor:
    """The orthogonal factor of tall matrices, of which the diagonal of R is positive."""
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        n, k = X.size(-2), X.size(-1)
        if self.orthogonal_map == "householder":
            a = X.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = linalg.householder_product(a, tau)
            # the diagonal of X holds signs, which are not learned
            q = q * X.detach().diagonal(dim1=-2, dim2=-1).trunc().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = shaping.cat([X, zeros((*X.shape[:-1], n - k), dtype=X.dtype)], -1)
            q = self._of_skew(X - X.mH)
            if n != k:
                q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _of_skew(self, a: Tensor) -> Tensor:
        if self.orthogonal_map == "matrix_exp":
            made: Tensor = linalg.matrix_exp(a)
            return made
        identity = eye(a.size(-1), dtype=a.dtype)
        made = linalg.solve(identity - 0.5 * a, identity + 0.5 * a)
        return made

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got "
                             f"a tensor of shape {Q.shape}.")
        with no_grad():
            wide = Q.size(-2) < Q.size(-1)
            q = Q.mT if wide else Q
            if hasattr(self, "base"):
                self.base = self._completed(q.detach())
                return _minus_identity(Q)
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False.")
            found = _reflectors(q.detach())
            return found.mT if wide else found

    @staticmethod
    def _completed(q: Tensor) -> Tensor:
        """An orthogonal square matrix that begins with q, if q is orthogonal."""
        n, k = q.size(-2), q.size(-1)
        if n != k:
            more = random.randn(*q.shape[:-2], n, n - k, dtype=q.dtype)
            return _orthonormal(shaping.cat([q, more], -1))
        identity = eye(k, dtype=q.dtype)
        error = (q.mH @ q - identity).abs()
        close = (error <= 10.0 * n * finfo(q.dtype).eps + 1e-5 * identity.abs()).all()
        return pointwise.where(close, q, _orthonormal(q))


def _minus_identity(like: Tensor) -> Tensor:
    """Minus the identity: the reflections without vectors give the identity with it."""
    made: Tensor = (-eye(like.size(-2), like.size(-1), dtype=like.dtype)).expand(
        like.shape).clone()
    return made


def _reflectors(q: Tensor) -> Tensor:
    """Vectors of Householder's reflections for q, and signs on the diagonal."""
    a, tau = geqrf(q)
    signs = a.diagonal(dim1=-2, dim2=-1).sign()
    signs = pointwise.where(tau == 0.0, -signs, signs)
    k = a.size(-1)
    rows = eye(a.size(-2), k, dtype=a.dtype)
    return pointwise.where(rows != 0, signs.unsqueeze(-2) * rows, a)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if isinstance(found, Tensor):
        return found
    raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight's rows or columns, whichever are fewer, orthonormal.

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; ``use_trivialization`` starts
    from the weight as it is. Raises ValueError for vectors and unknown maps.
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError("Expected a matrix or batch of matrices. Got a tensor of "
                         f"{weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn a weight's norm and direction separately (Salimans and Kingma, 2016).

    ``dim`` is the dimension along which norms are taken apart; None takes one for all.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        """The older kind of weight norm called its parameters otherwise."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(k in state_dict for k in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError("Dimension out of range (expected to be in range of "
                             f"[-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for buffer, size in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
                self.register_buffer(buffer, random_direction(matrix, size, eps))
            power_iterations(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            from ..functional import normalize

            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_iterations(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        made: Tensor = weight / singular_value(matrix, self._u, self._v)
        return made

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., 2018).

    The value comes from power iterations, some in each training step. Raises ValueError.
    """
    weight = _tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
