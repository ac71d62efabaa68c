"""``torch.sparse``: tensors most of whose elements are zero.

Tensors of elements by their indices (COO), and matrices by rows or columns (CSR, CSC). What is
computed of them is recorded like all else; how many elements a result has is read where data decide
it (``to_sparse``, ``coalesce``, products of two sparse matrices).
"""

from __future__ import annotations

from contextlib import ContextDecorator
from itertools import pairwise
from typing import Any

from .. import _absent, _dtypes
from .._core import check_shape, shape_of
from .._foreign import of_sparse as _of_sparse
from .._formats import layout, sparse_coo, sparse_csc, sparse_csr
from .._functions.creation import arange, as_tensor
from .._functions.shaping import cat
from .._placing import placed as _placed
from .._tensor import Tensor
from ._operations import addmm, attach, empty, log_softmax, mm, softmax
from ._operations import call as _call
from ._operations import sparse_mask as sparse_mask
from ._operations import sum as _sum
from ._tensors import (
    CompressedTensor,
    SparseTensor,
    _rows,
    compressed,
    coo,
    in_layout,
)
from ._tensors import of_dense_in as of_dense_in

attach()
_of_sparse.append(_call)


class check_sparse_tensor_invariants(ContextDecorator):  # noqa: N801  (PyTorch's name)
    """Whether tensors that are made of indices look at them, which reads; not unless asked for."""

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self.state, self._before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> check_sparse_tensor_invariants:
        self._before = check_sparse_tensor_invariants._on
        check_sparse_tensor_invariants._on = self.state
        return self

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._on = self._before


def _whole(given: Any, what: str) -> Tensor:
    """Indices as a tensor of int64. RuntimeError for fractions."""
    found = as_tensor(given)
    if not found.numel():
        return found.to(_dtypes.int64)
    if found.dtype.is_floating_point or found.dtype.is_complex or found.dtype is _dtypes.bool_:
        raise RuntimeError(f"{what} must be an int tensor, not of {found.dtype!r}")
    return found.to(_dtypes.int64)


def _numbers(given: Any, dtype: Any) -> Tensor:
    found = as_tensor(given)
    return found if dtype is None else found.to(_dtypes.as_dtype(dtype))


@_placed
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Tensor:
    """A tensor of elements by their indices; other elements are 0.

    Args:
        indices: (sparse dimensions, elements), whole numbers. Alone, it is the size of a tensor
            without elements, as ``size`` alone is.
        values: (elements, *dense dimensions); those of equal indices add up. One number serves a
            single element.
        size: the shape; the least that holds all indices if not given, which reads them.
        check_invariants: look whether the indices are inside of the size, which reads them.
        is_coalesced: that no index comes twice and they are in row-major order.

    Raises RuntimeError for shapes that do not fit, and for indices outside, or not coalesced though
    they are said to be, if asked to look.
    """
    _dtypes.check_device(device)
    if values is None or indices is None:
        kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
        if values is not None or (indices is None) is (size is None):
            raise TypeError("sparse_coo_tensor() takes indices and values, or a size alone")
        made = empty(check_shape(shape_of((size if indices is None else indices,))), kind)
        return made.requires_grad_(requires_grad)
    at, held = _whole(indices, "indices"), _numbers(values, dtype)
    if not held.ndim:
        held = held.expand(1)
    if at.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if held.ndim < 1 or held.shape[0] != at.shape[1]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: "
                           f"{at.shape[1]}, nnz from values: {list(held.shape)[:1]}")
    least = None
    if size is None or check_invariants or check_sparse_tensor_invariants._on:
        if at.numel():
            low, least = at.amin(1).tolist(), [n + 1 for n in at.amax(1).tolist()]
            if min(low) < 0:
                raise RuntimeError(f"found negative index {min(low)}")
        else:
            least = [0] * at.shape[0]
    if size is None:
        shape = (*(least or ()), *held.shape[1:])
    else:
        shape = shape_of((size,))
        if len(shape) != at.shape[0] + held.ndim - 1:
            raise RuntimeError(
                f"number of dimensions must be sparse_dim ({at.shape[0]}) + dense_dim "
                f"({held.ndim - 1}), but got {len(shape)}")
        if shape[at.shape[0]:] != tuple(held.shape[1:]):
            raise RuntimeError(f"values has incorrect size, expected {list(shape[at.shape[0]:])}, "
                               f"got {list(held.shape[1:])}")
        for d, n in enumerate(least or ()):
            if n > shape[d]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is "
                                   f"{shape[d]} but found index {n - 1}")
    if held.requires_grad:
        held = held.view(held.shape)  # the tensor is no leaf where its values are one
    made = coo(at, held, check_shape(tuple(shape)), bool(is_coalesced))
    if is_coalesced and (check_invariants or check_sparse_tensor_invariants._on):
        keys = made._keys(made.sparse_dim())
        if bool((keys[1:] <= keys[:-1]).any()):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    if requires_grad and not held.requires_grad:
        made._held = held.detach()
        made.requires_grad_()
    return made


@_placed
def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:
    """A matrix by rows (``torch.sparse_csr``) or columns (``torch.sparse_csc``).

    Args:
        compressed_indices: where each row or column begins, and at the end how many elements.
        plain_indices: the columns, or rows, of the elements.
        size: the shape; the least that holds all elements if not given.

    Raises RuntimeError for what does not fit.
    """
    _dtypes.check_device(device)
    if layout not in (sparse_csr, sparse_csc):
        raise RuntimeError(f"layout {layout} is not supported, expected torch.sparse_csr or "
                           "torch.sparse_csc")
    starts = _whole(compressed_indices, "compressed_indices")
    others, held = _whole(plain_indices, "plain_indices"), _numbers(values, dtype)
    if starts.ndim != 1 or others.ndim != 1 or held.ndim != 1:
        raise RuntimeError("batches of sparse matrices, and dense dimensions of them, are not "
                           "supported; indices and values are vectors")
    if others.shape != held.shape:
        raise RuntimeError(f"plain_indices and values have {others.shape[0]} and {held.shape[0]} "
                           "elements")
    lines = starts.shape[0] - 1
    if size is None:
        most = int(others.max().item()) + 1 if others.numel() else 0
        size = (lines, most) if layout is sparse_csr else (most, lines)
    shape = shape_of((size,))
    if len(shape) != 2 or shape[0 if layout is sparse_csr else 1] != lines:
        raise RuntimeError(
            f"compressed_indices of {lines + 1} elements do not fit the size {shape}")
    if held.requires_grad:
        held = held.view(held.shape)  # as above
    made = compressed(starts, others, held, shape, layout)
    if check_invariants or check_sparse_tensor_invariants._on:
        _check(made)
    if requires_grad and not held.requires_grad:
        made._held = held.detach()
        made.requires_grad_()
    return made


def _check(x: CompressedTensor) -> None:
    """Raise RuntimeError for starts that fall, and indices outside or not sorted; reads."""
    starts, across = x._starts.tolist(), x.shape[1 if x._by_rows() else 0]
    if starts[0] or starts[-1] != x._nnz() or sorted(starts) != starts:
        raise RuntimeError(f"compressed_indices must rise from 0 to nnz, {x._nnz()}")
    if x._nnz() and not 0 <= int(x._others.min()) <= int(x._others.max()) < across:
        raise RuntimeError(f"plain_indices must be from 0 to {across - 1}")
    others = x._others.tolist()
    for i, j in pairwise(starts):
        if any(a >= b for a, b in pairwise(others[i:j])):
            raise RuntimeError("plain_indices must be sorted, and distinct, in each row or column")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None,
                      **options: Any) -> Tensor:
    """A matrix by rows; see :func:`sparse_compressed_tensor`."""
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_csr,
                                    **options)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None,
                      **options: Any) -> Tensor:
    """A matrix by columns; see :func:`sparse_compressed_tensor`."""
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_csc,
                                    **options)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001
    """The sum of a sparse tensor, of all elements or over some dimensions."""
    if not isinstance(input, SparseTensor):
        raise TypeError("torch.sparse.sum takes a sparse tensor")
    return _sum(input, dim, False, dtype)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0,
                  ) -> Tensor:  # fmt: skip
    """``alpha * (mat1 @ mat2)`` at the elements of a sparse matrix, plus ``beta`` times those."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("sampled_addmm: expected a sparse matrix as the first argument")
    held = input._coo()
    rows, columns = held._at.unbind(0)
    products = (mat1[rows] * mat2.t()[columns]).sum(1)
    return input._like(held._with(products * alpha + held._held * beta))


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with these diagonals: row ``i`` is the one at ``offsets[i]``.

    RuntimeError for a number of offsets that is not that of rows, and for offsets that come twice.
    """
    rows = diagonals.reshape(1, -1) if diagonals.ndim < 2 else diagonals
    given = [int(n) for n in offsets.reshape(-1).tolist()]
    if len(given) != rows.shape[0]:
        raise RuntimeError("Number of diagonals must match the number of offsets")
    if len(set(given)) < len(given):
        raise RuntimeError("Offset tensor contains duplicate values")
    height, width = shape_of((shape,))
    at, values = [], []
    for row, offset in zip(rows.unbind(0), given):
        first = max(0, offset)
        last = max(first, min(width, height + offset, int(row.shape[0])))
        columns = arange(first, last)
        at.append(_rows(columns - offset, columns))
        values.append(row[first:last])
    made = coo(cat(at, 1), cat(values), (height, width))
    return made if layout in (None, sparse_coo) else in_layout(made, layout)


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """Raises NotImplementedError: gradients of sparse tensors are checked by their values."""
    _absent.refuse("torch.sparse.as_sparse_gradcheck",
                   "check the gradient of a function of the values")


def made_empty(size: Any, dtype: Any, asked: layout) -> Tensor:
    """``torch.zeros(size, layout=torch.sparse_coo)``: a tensor without elements."""
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    made = empty(shape_of((size,)), kind)
    return made if asked is sparse_coo else in_layout(made, asked)


__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm",
    "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip

__getattr__ = _absent.missing(__name__)
