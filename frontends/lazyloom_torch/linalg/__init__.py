"""``torch.linalg``: factorisations, equations, norms and products of matrices.

Matrices are (..., m, n) of float32, float64, complex64 and complex128. What PyTorch refuses
because of the data (a singular matrix, one that is not positive definite) is a
:class:`LinAlgError` here too, raised when something that depends on the result is read.
"""

from __future__ import annotations

from .. import _absent, _autocast
from .._filling import treat as _treat
from .._functions.linear import linalg_cross, matmul
from ._arguments import LinAlgError
from ._equations import (
    det,
    diagonal,
    inv,
    inv_ex,
    lstsq,
    lu_solve,
    matrix_exp,
    matrix_power,
    multi_dot,
    pinv,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from ._factors import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from ._norms import cond, matrix_norm, matrix_rank, norm, vector_norm

cross = linalg_cross

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip

_treat(__name__, set(__all__) - {"LinAlgError", "diagonal", "matrix_exp", "vander"},
       _autocast.LINALG)

__getattr__ = _absent.missing(__name__)
