"""How dense tensors become sparse ones; :mod:`lazyloom_torch.sparse` is imported by the first."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from .._registry import declare
from .._tensor import Tensor

#: functions of each element that take sparse tensors, which are no methods alone
ELEMENTWISE = frozenset((
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p neg negative "
    "nan_to_num rad2deg relu round sgn sign sin sinh sqrt square tan tanh trunc arcsin arcsinh "
    "arctan arctanh absolute isnan isinf signbit positive pow true_divide").split())


def _sparse() -> Any:
    return importlib.import_module(f"{__package__.rpartition('.')[0]}.sparse")


def _function(name: str) -> Callable[..., Tensor]:
    def function(*args: Any, **options: Any) -> Tensor:
        return getattr(_sparse(), name)(*args, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See ``torch.sparse.{name}``."
    return function


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None,
              blocksize: Any = None, dense_dim: Any = None) -> Tensor:  # fmt: skip
    """The elements that are not zero, as a sparse tensor; reads how many there are.

    Of the last dimensions, which stay dense where ``sparse_dim`` is less than all, those are kept
    of which an element is not zero. ``layout`` is ``torch.sparse_coo`` if not given. RuntimeError
    for numbers of dimensions and layouts that a sparse tensor does not have.
    """
    return _sparse().of_dense_in(self, sparse_dim, layout)


def to_sparse_coo(self: Tensor) -> Tensor:
    """The elements that are not zero by their indices; reads how many there are."""
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: Any = None) -> Tensor:
    """The elements of a matrix that are not zero, by rows; reads how many there are."""
    return _sparse().of_dense_in(self, None, _sparse().sparse_csr)


def to_sparse_csc(self: Tensor, dense_dim: Any = None) -> Tensor:
    """The elements of a matrix that are not zero, by columns; reads how many there are."""
    return _sparse().of_dense_in(self, None, _sparse().sparse_csc)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the indices of a sparse tensor, in its layout."""
    return _sparse().sparse_mask(self, mask)


def _expected(name: str, kind: str) -> Callable[[Tensor], NoReturn]:
    def method(self: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected {kind} tensor layout but got Strided")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Raises RuntimeError: a dense tensor is none of {kind} layout."
    return method


declare({
    "function as-is": map(_function, (
        "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_compressed_tensor")),
    "method as-is": [
        to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, sparse_mask,
        *(_expected(n, kind) for n, kind in (
            ("indices", "sparse coordinate"), ("_indices", "sparse coordinate"),
            ("values", "sparse"), ("_nnz", "sparse"), ("coalesce", "sparse coordinate"),
            ("is_coalesced", "sparse coordinate"),
            ("crow_indices", "sparse row compressed"), ("col_indices", "sparse row compressed"),
            ("ccol_indices", "sparse column compressed"),
            ("row_indices", "sparse column compressed")))],
})
