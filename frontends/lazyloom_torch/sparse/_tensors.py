"""Sparse tensors: elements by their indices (COO), or by rows or columns (CSR and CSC).

A sparse tensor holds dense ones, its indices and its values; what is done with it is recorded with
those. It has no storage: a function that is not made for it raises SparseOperandError.
"""

from __future__ import annotations

from typing import Any, NoReturn

from lazyloom import tensor_type

from .. import _dtypes
from .._core import axis, numel, shape_of
from .._errors import SparseOperandError
from .._formats import layout, sparse_coo, sparse_csc, sparse_csr
from .._functions.convert import to as _to_dense_dtype
from .._functions.counting import unique
from .._functions.creation import arange, zeros
from .._functions.scattering import index_add
from .._functions.shaping import cat, repeat_interleave
from .._tensor import Tensor, _new
from ._text import sparse_text


class SparseTensor(Tensor):
    """What sparse tensors of every layout share. Made by :func:`torch.sparse_coo_tensor` and kin.
    """

    _held: Tensor
    is_sparse = True
    _backward_hooks = None

    def _hold(self, values: Tensor, shape: tuple[int, ...]) -> None:
        self._held = values
        self.tensor_type = tensor_type(shape, values.tensor_type.dtype)
        self.slow_path = True

    # -- what stands for a dense tensor's contents ------------------------------------------

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise SparseOperandError(
            f"this function takes dense tensors, not one of layout {self.layout}; use "
            "x.to_dense(), or a function that docs/torch.md lists for sparse tensors")

    def _operand(self) -> Any:
        self._refuse()

    @property
    def value(self) -> Any:
        self._refuse()

    shared = property(_refuse)
    element_strides = property(_refuse)
    element_offset = property(_refuse)

    @property
    def version(self) -> int:
        return self._held.version

    def read(self) -> Any:
        self._refuse()

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError(f"can't convert a tensor of layout {self.layout} to numpy. Use "
                        "Tensor.to_dense() first.")

    def _with(self, values: Tensor) -> SparseTensor:
        """Other values at the same indices."""
        raise NotImplementedError

    def _coo(self) -> CooTensor:
        """The same elements by their indices."""
        raise NotImplementedError

    def _like(self, other: CooTensor) -> SparseTensor:
        """A result in this tensor's layout."""
        raise NotImplementedError

    # -- gradients ---------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._held.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self._held.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return self._held.is_leaf

    @property
    def grad(self) -> Tensor | None:
        found = self._held.grad
        return None if found is None else self._with(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._held.grad = value._held if isinstance(value, SparseTensor) else value

    grad_fn = property(lambda self: self._held.grad_fn)

    def detach(self) -> Tensor:
        return self._with(self._held.detach())

    def detach_(self) -> Tensor:
        self._held.detach_()
        return self

    data = property(detach)

    # -- shape, dtype, copies ------------------------------------------------------------------

    is_sparse_csr = property(lambda self: self.layout is sparse_csr)

    def stride(self, dim: int | None = None) -> Any:
        found = (0,) * self.ndim
        return found if dim is None else found[axis(dim, self.ndim)]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of the dimensions."""
        return False

    def storage(self) -> Any:
        raise NotImplementedError("a sparse tensor has no storage; its values have")

    untyped_storage = data_ptr = storage

    def _nnz(self) -> int:
        """The number of elements that are kept."""
        return int(self._held.shape[0])

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        made = _to_dense_dtype(self._held, *args, **kwargs)
        return self if made is self._held else self._with(made)

    def clone(self, *, memory_format: Any = None) -> Tensor:
        return self._with(self._held.clone())

    def __copy__(self) -> Tensor:
        return self._with(self._held)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            memo[id(self)] = self._with(self._held.__deepcopy__(memo))
        found: Tensor = memo[id(self)]
        return found

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        return sparse_text(self)

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.to_dense())

    def item(self) -> Any:
        return self.to_dense().item()

    def values(self) -> Tensor:
        """The values that are kept."""
        return self._held

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """The tensor with all elements stored."""
        return self._coo().to_dense(dtype)

    def to_sparse(self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
                  dense_dim: Any = None) -> Tensor:  # fmt: skip
        return self._coo() if layout in (None, sparse_coo) else in_layout(self, layout)

    to_sparse_coo = _coo

    def to_sparse_csr(self, dense_dim: Any = None) -> Tensor:
        return in_layout(self, sparse_csr)

    def to_sparse_csc(self, dense_dim: Any = None) -> Tensor:
        return in_layout(self, sparse_csc)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        self._refuse()

    def is_coalesced(self) -> bool:
        raise RuntimeError(f"is_coalesced expected sparse coordinate tensor layout but got "
                           f"{self.layout}")


class CooTensor(SparseTensor):
    """Elements by their indices: ``values[i]`` stands at ``indices[:, i]``; zero elsewhere.

    Values of several places with the same indices add up. ``values`` may have more dimensions
    than one: then the last dimensions of the tensor are dense.
    """

    _at: Tensor
    _is_unique = False
    layout = sparse_coo

    def _with(self, values: Tensor) -> CooTensor:
        return coo(self._at, values, tuple(self.shape), self._is_unique)

    def _coo(self) -> CooTensor:
        return self

    def _like(self, other: CooTensor) -> SparseTensor:
        return other

    def sparse_dim(self) -> int:
        """The number of dimensions that are stored sparsely."""
        return int(self._at.shape[0])

    def dense_dim(self) -> int:
        """The number of dimensions that are stored densely."""
        return self._held.ndim - 1

    def _values(self) -> Tensor:
        """The values as they are, of repeated indices too."""
        return self._held

    def _indices(self) -> Tensor:
        """The indices as they are, with repetitions."""
        return self._at

    def indices(self) -> Tensor:
        """The indices, (sparse dimensions, elements). RuntimeError if not coalesced."""
        if not self._is_unique:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call "
                               ".coalesce() first")
        return self._at

    def values(self) -> Tensor:
        """The values, (elements, *dense dimensions). RuntimeError if not coalesced."""
        if not self._is_unique:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call "
                               ".coalesce() first")
        return self._held

    def is_coalesced(self) -> bool:
        return self._is_unique

    def _keys(self, dims: int) -> Tensor:
        """The positions of the elements in row-major order of the first dimensions."""
        made: Tensor = zeros(self._nnz(), dtype=_dtypes.int64)
        for d in range(dims):
            made = made * self.shape[d] + self._at[d]
        return made

    def coalesce(self) -> CooTensor:
        """The same tensor with each index once, in row-major order; reads how many there are."""
        if self._is_unique:
            return self
        dims = self.sparse_dim()
        if not dims:
            return coo(self._at[:, :1], self._held.sum(0, keepdim=True), tuple(self.shape), True)
        keys, place = unique(self._keys(dims), return_inverse=True)
        sums = zeros(keys.shape[0], *self._held.shape[1:], dtype=self.dtype)
        values = index_add(sums, 0, place, self._held)
        return coo(_unraveled(keys, tuple(self.shape[:dims])), values, tuple(self.shape), True)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """A dense tensor of the elements and zeros."""
        shape, dims = tuple(self.shape), self.sparse_dim()
        flat = zeros(numel(shape[:dims]), *shape[dims:], dtype=self.dtype)
        if self._nnz():
            flat = index_add(flat, 0, self._keys(dims), self._held)
        found: Tensor = flat.reshape(shape)
        return found if dtype is None else found.to(dtype)

    def permute(self, *dims: Any) -> Tensor:
        """Dimensions in another order, of those that are sparse."""
        order = [axis(d, self.ndim) for d in shape_of(dims)]
        count = self.sparse_dim()
        if sorted(order) != list(range(self.ndim)):
            raise RuntimeError(f"permute(): {order} are not the dimensions of the tensor")
        if any(order[d] != d for d in range(count, self.ndim)):
            raise RuntimeError("permute(): dense dimensions of a sparse tensor stay where they are")
        made = coo(self._at[order[:count]], self._held, tuple(self.shape[d] for d in order))
        made._is_unique = self._is_unique and order == list(range(self.ndim))
        return made

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Two sparse dimensions exchanged."""
        order = list(range(self.ndim))
        a, b = axis(dim0, self.ndim), axis(dim1, self.ndim)
        order[a], order[b] = b, a
        return self.permute(order)

    def t(self) -> Tensor:
        """The transposed matrix."""
        if self.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
        return self if self.ndim < 2 else self.transpose(0, 1)

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its dimensions reversed: a view."""
        return self.permute(*reversed(range(self.ndim)))

    mT = property(lambda self: self.transpose(-2, -1))  # noqa: N815


class CompressedTensor(SparseTensor):
    """A matrix whose elements are in the order of rows (CSR), or of columns (CSC).

    ``_starts[i]`` is where row ``i`` begins among the elements, ``_others`` holds their columns.
    """

    _starts: Tensor
    _others: Tensor
    layout: layout

    def _by_rows(self) -> bool:
        return self.layout is sparse_csr

    def _with(self, values: Tensor) -> CompressedTensor:
        return compressed(self._starts, self._others, values, tuple(self.shape), self.layout)

    def _coo(self) -> CooTensor:
        lines = self._starts.shape[0] - 1
        each = self._starts[1:] - self._starts[:-1]
        mine = repeat_interleave(arange(lines), each, output_size=self._nnz())
        pair = (mine, self._others) if self._by_rows() else (self._others, mine)
        made = coo(_rows(*pair), self._held, tuple(self.shape), self._by_rows())
        return made if self._by_rows() else made.coalesce()

    to_sparse_coo = _coo

    def _like(self, other: CooTensor) -> SparseTensor:
        return in_layout(other, self.layout)

    def sparse_dim(self) -> int:
        """The number of dimensions that are stored sparsely."""
        return 2

    def dense_dim(self) -> int:
        """The number of dimensions that are stored densely."""
        return self._held.ndim - 1

    def _of(self, name: str, found: Tensor, rows: bool) -> Tensor:
        if rows is not self._by_rows():
            raise RuntimeError(f"{name} expected sparse {'row' if rows else 'column'} compressed "
                               f"tensor layout but got {self.layout}")
        return found

    def crow_indices(self) -> Tensor:
        """Where each row begins, and the number of elements."""
        return self._of("crow_indices", self._starts, True)

    def col_indices(self) -> Tensor:
        """The column of each element."""
        return self._of("col_indices", self._others, True)

    def ccol_indices(self) -> Tensor:
        """Where each column begins, and the number of elements."""
        return self._of("ccol_indices", self._starts, False)

    def row_indices(self) -> Tensor:
        """The row of each element."""
        return self._of("row_indices", self._others, False)

    def indices(self) -> Tensor:
        raise RuntimeError(
            f"indices expected sparse coordinate tensor layout but got {self.layout}")

    def t(self) -> Tensor:
        """The transposed matrix, by columns if this one is by rows."""
        return compressed(self._starts, self._others, self._held, tuple(self.shape)[::-1],
                          sparse_csc if self._by_rows() else sparse_csr)

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """The transposed matrix."""
        return self if axis(dim0, 2) == axis(dim1, 2) else self.t()

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its dimensions reversed: a view."""
        return self.t()


def _rows(*rows: Tensor) -> Tensor:
    """Indices of each dimension as a matrix."""
    found: Tensor = cat([r.reshape(1, -1) for r in rows])
    return found


def _unraveled(keys: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The indices of row-major positions."""
    rows: list[Tensor] = []
    for d in reversed(shape):
        rows.insert(0, keys % d if d else keys)
        keys = keys // d if d else keys
    return _rows(*rows)


def coo(at: Tensor, values: Tensor, shape: tuple[int, ...], is_unique: bool = False) -> CooTensor:
    """A tensor of elements by their indices; nothing is checked."""
    made: CooTensor = _new(CooTensor)
    made._at, made._is_unique = at, is_unique
    made._hold(values, shape)
    return made


def compressed(starts: Tensor, others: Tensor, values: Tensor, shape: tuple[int, ...],
               layout: layout) -> CompressedTensor:  # fmt: skip
    """A matrix by rows or columns; nothing is checked."""
    made: CompressedTensor = _new(CompressedTensor)
    made._starts, made._others, made.layout = starts, others, layout
    made._hold(values, shape)
    return made


def of_dense(x: Tensor, sparse_dim: int | None = None) -> CooTensor:
    """The elements of a dense tensor that are not zero; reads how many there are.

    Of the last dimensions, which stay dense where ``sparse_dim`` is less, those are kept of which
    an element is not zero.
    """
    dims = x.ndim if sparse_dim is None else sparse_dim
    if not 0 <= dims <= x.ndim or (x.ndim and not dims):
        raise RuntimeError(f"to_sparse(): sparse_dim is {sparse_dim}, expected 1 to {x.ndim}")
    which = x != 0
    if dims < x.ndim:
        which = which.flatten(dims).any(-1)
    at = which.nonzero().t()
    values = x[tuple(at.unbind(0))] if x.ndim else x.reshape(1)[:int(at.shape[1])]
    return coo(at, values, tuple(x.shape), True)


def in_layout(x: Tensor, wanted: layout) -> SparseTensor:
    """A matrix in a sparse layout. RuntimeError for other tensors and layouts."""
    if isinstance(x, SparseTensor) and x.layout is wanted:
        return x
    elements = (x._coo() if isinstance(x, SparseTensor) else of_dense(x)).coalesce()
    if wanted is sparse_coo:
        return elements
    if wanted not in (sparse_csr, sparse_csc):
        raise RuntimeError(f"to_sparse(): layout {wanted} is not supported; the sparse layouts are "
                           "torch.sparse_coo, sparse_csr and sparse_csc")
    if elements.ndim != 2 or elements.dense_dim():
        raise RuntimeError(f"a tensor of layout {wanted} is a matrix, but {elements.ndim} "
                           "dimensions were given")
    rows, columns = elements._at.unbind(0)
    values, lines = elements._held, elements.shape[0]
    if wanted is sparse_csc:
        order = (columns * max(lines, 1) + rows).argsort()
        rows, columns, values = columns[order], rows[order], values[order]
        lines = elements.shape[1]
    counted = index_add(zeros(lines + 1, dtype=_dtypes.int64), 0, rows + 1,
                        zeros(rows.shape[0], dtype=_dtypes.int64) + 1)
    return compressed(counted.cumsum(0), columns, values, tuple(elements.shape), wanted)


def of_dense_in(x: Tensor, sparse_dim: int | None, layout: Any) -> Tensor:
    """A dense tensor in a sparse layout, by its indices if none is given."""
    return of_dense(x, sparse_dim) if layout in (None, sparse_coo) else in_layout(x, layout)
