"""Arithmetic of sparse tensors, recorded with their indices and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dtypes
from .._core import axis, shape_of
from .._errors import SparseOperandError
from .._functions import pointwise, sparsity
from .._functions.creation import arange, zeros
from .._functions.layers import FUNCTIONS as _LAYERS
from .._functions.scattering import index_add, index_select
from .._functions.shaping import cat, repeat_interleave
from .._functions.sorting import searchsorted
from .._promotion import is_number, promote_types
from .._tensor import Tensor
from ._tensors import CooTensor, SparseTensor, _rows, coo, of_dense

#: functions f with f(0) = 0, which change values alone; of repeated indices their sums
_OF_VALUES = sorted(sparsity.ELEMENTWISE - {"pow", "true_divide"} | {"conj"})
#: those for which the sum of values may come later
_LINEAR = frozenset("neg negative positive conj deg2rad rad2deg".split())


def _of_values(name: str) -> Callable[..., Any]:
    function = pointwise.FUNCTIONS.get(name) or _LAYERS.get(name) or getattr(Tensor, name)

    def method(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        held = self if name in _LINEAR or not isinstance(self, CooTensor) else self.coalesce()
        return held._with(function(held._held, *args, **options))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{name}`` of the elements that are kept; of 0 it is 0."
    return method


def _error(text: str) -> RuntimeError:
    return RuntimeError(text)


def _matching(name: str, a: Any, b: Any) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise _error(f"{name}: expected sizes of 'self' and 'other' to match, but "
                     f"{list(a.shape)} != {list(b.shape)}")


def _joined(a: CooTensor, b: CooTensor) -> CooTensor:
    """The elements of both, which add up."""
    _matching("add", a, b)
    if a.sparse_dim() != b.sparse_dim():
        raise _error("add: both sparse tensors need the same number of sparse dimensions")
    kind = promote_types(a.dtype, b.dtype)
    values = cat([a._held.to(kind), b._held.to(kind)])
    return coo(cat([a._at, b._at], 1), values, tuple(a.shape))


def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """The sum of two sparse tensors, or of a dense one and a sparse one, which is dense."""
    if not (is_number(alpha) and alpha == 1):
        b = b * alpha
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        joined = _joined(a._coo(), b._coo())
        # as PyTorch's: sums of coalesced tensors are
        both = a._coo()._is_unique and b._coo()._is_unique
        return a._like(joined.coalesce() if both else joined)
    if isinstance(b, SparseTensor) and isinstance(a, Tensor):
        return a + b.to_dense()
    raise _error("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """The difference; as :func:`add`."""
    return add(a, b if not is_number(b) else -b, alpha=-alpha)


def _scalar(x: Any) -> bool:
    return is_number(x) or isinstance(x, Tensor) and not isinstance(x, SparseTensor) and not x.ndim


def mul(a: Any, b: Any) -> Any:
    """The product, which is sparse: by a number, element by element, or by a dense tensor."""
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if _scalar(b):
        return a._with(a._held * b)
    if isinstance(b, SparseTensor):
        _matching("mul", a, b)
        found = a._coo().coalesce()
        return a._like(_masked(b._coo(), found)._with(_masked(b._coo(), found)._held
                                                      * found._held))
    found = a._coo().coalesce()
    wide = b.expand(tuple(found.shape))
    at = tuple(found._at.unbind(0))
    return a._like(found._with(found._held * wide[at]))


def _masked(x: CooTensor, mask: CooTensor) -> CooTensor:
    """The elements of a sparse tensor at the indices of a coalesced one; 0 where it has none."""
    x = x.coalesce()
    keys, wanted = x._keys(x.sparse_dim()), mask._keys(mask.sparse_dim())
    if not x._nnz():
        return mask._with(zeros(mask._nnz(), *x._held.shape[1:], dtype=x.dtype))
    place = searchsorted(keys, wanted).clamp(max=x._nnz() - 1)
    found = keys[place] == wanted
    values = x._held[place]
    shape = (-1,) + (1,) * (values.ndim - 1)
    return mask._with(values * found.reshape(shape).to(values.dtype))


def sparse_mask(self: Any, mask: SparseTensor) -> SparseTensor:
    """The elements at the indices of a sparse tensor, in its layout."""
    if not isinstance(mask, SparseTensor):
        raise _error("sparse_mask(): the mask should be a sparse tensor")
    _matching("sparse_mask", self, mask)
    held = mask._coo()
    if isinstance(self, SparseTensor):
        return mask._like(_masked(self._coo(), held.coalesce()))
    return mask._like(held._with(self[tuple(held._at.unbind(0))]))


def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient by a number or a 0-d tensor."""
    if not isinstance(a, SparseTensor) or not _scalar(b):
        raise _error("Sparse division requires a scalar or zero-dim dense tensor divisor "
                     f"(got {getattr(b, 'shape', b)} for divisor)")
    held = a if rounding_mode is None or not isinstance(a, CooTensor) else a.coalesce()
    return held._with(pointwise.FUNCTIONS["div"](held._held, b, rounding_mode=rounding_mode))


def pow(a: Any, exponent: Any) -> Any:  # noqa: A001
    """The elements to the power of a positive number."""
    if not isinstance(a, SparseTensor) or not is_number(exponent) or exponent <= 0:
        raise _error("pow of a sparse tensor takes a positive number as exponent")
    held = a.coalesce() if isinstance(a, CooTensor) else a
    return held._with(held._held ** exponent)


# -- products of matrices -------------------------------------------------------------------


def _matrix(x: SparseTensor) -> CooTensor:
    found = x._coo()
    if found.ndim != 2 or found.dense_dim():
        raise _error("mm: expected matrices, but a sparse tensor of "
                     f"{found.sparse_dim()} sparse and {found.dense_dim()} dense dimensions was "
                     "given")
    return found


def _fit(a: Any, b: Any) -> None:
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise _error(f"mat1 and mat2 shapes cannot be multiplied ({list(a.shape)} and "
                     f"{list(b.shape)})")


def _times_dense(a: CooTensor, b: Tensor) -> Tensor:
    _fit(a, b)
    if a.dtype is not b.dtype:
        raise _error(f"expected both matrices to have the same dtype, but got {a.dtype!r} and "
                     f"{b.dtype!r}")
    rows, columns = a._at.unbind(0)
    parts = a._held.unsqueeze(1) * index_select(b, 0, columns)
    return index_add(zeros(a.shape[0], b.shape[1], dtype=b.dtype), 0, rows, parts)


def _times_sparse(a: CooTensor, b: CooTensor) -> CooTensor:
    """The product of two sparse matrices: each element by all of the row that it meets."""
    _fit(a, b)
    a, b = a.coalesce(), b.coalesce()
    count = index_add(zeros(b.shape[0] + 1, dtype=_dtypes.int64), 0, b._at[0] + 1,
                      zeros(b._nnz(), dtype=_dtypes.int64) + 1)
    starts = count.cumsum(0)
    each = count[1:][a._at[1]]
    mine = repeat_interleave(arange(a._nnz()), each)
    within = arange(int(mine.shape[0])) - (each.cumsum(0) - each)[mine]
    theirs = starts[:-1][a._at[1][mine]] + within
    at = _rows(a._at[0][mine], b._at[1][theirs])
    kind = promote_types(a.dtype, b.dtype)
    values = a._held[mine].to(kind) * b._held[theirs].to(kind)
    return coo(at, values, (a.shape[0], b.shape[1])).coalesce()


def mm(a: Any, b: Any) -> Any:
    """The product of two matrices, one of them sparse: dense if the other one is."""
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return a._like(_times_sparse(_matrix(a), _matrix(b)))
    if a.ndim != 2 or b.ndim != 2:
        raise _error(f"mm: expected matrices, got {a.ndim} and {b.ndim} dimensions")
    if isinstance(a, SparseTensor):
        return _times_dense(_matrix(a), b)
    _fit(a, b)
    return _times_dense(_matrix(b.t()), a.t()).t()


def matmul(a: Any, b: Any) -> Any:
    """``a @ b``: of matrices, of a matrix and a vector, of a batch of sparse matrices."""
    if a.ndim == 3 and b.ndim == 3:
        return bmm(a, b)
    if isinstance(a, SparseTensor) and b.ndim == 1:
        return mm(a, b.to_dense().unsqueeze(1) if isinstance(b, SparseTensor)
                  else b.unsqueeze(1)).squeeze(1)
    if a.ndim == 1 and b.ndim == 2 and not isinstance(a, SparseTensor):
        return mm(a.unsqueeze(0), b).squeeze(0)
    return mm(a, b)


def bmm(a: Any, b: Any) -> Tensor:
    """Products of a batch of sparse matrices with dense ones."""
    if not isinstance(a, CooTensor) or isinstance(b, SparseTensor) or a.dense_dim():
        raise _error("bmm: takes a sparse tensor of layout torch.sparse_coo and a dense one")
    batch, rows, inner = a.shape
    if b.shape[0] != batch:
        raise _error(f"bmm: {batch} and {b.shape[0]} matrices")
    at = _rows(a._at[0] * rows + a._at[1], a._at[0] * inner + a._at[2])
    flat = coo(at, a._held, (batch * rows, batch * inner))
    if b.shape[1] != inner:
        _fit(a, b)
    return _times_dense(flat, b.reshape(batch * inner, -1)).reshape(batch, rows, -1)


def addmm(input: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    first = input if beta == 1 else input * beta
    return add(first, product) if isinstance(product, SparseTensor) else first + product


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias`` where one of the matrices is sparse."""
    found = mm(input, weight.t())
    return found if bias is None else found + bias


# -- reductions, parts, structure ------------------------------------------------------------


def sum(self: SparseTensor, dim: Any = None, keepdim: bool = False, dtype: Any = None  # noqa: A001
        ) -> Any:  # fmt: skip
    """The sum of all elements, dense; or over some dimensions, sparse if one is left that is."""
    held: Any = self if dtype is None else self.to(dtype)
    if dim is None:
        return held._held.sum()
    found = held._coo()
    count = found.sparse_dim()
    dims = {axis(d, found.ndim) for d in shape_of((dim,))}
    values = found._held
    dense = [d - count + 1 for d in dims if d >= count]
    if dense:
        values = values.sum(dense, keepdim=keepdim)
    left = [d for d in range(count) if d not in dims]
    kept = keepdim and len(left) < count
    shape = tuple(found.shape[d] if d not in dims else 1 for d in range(found.ndim)
                  if d not in dims or keepdim)
    if not left and not kept:
        return values.sum(0)
    at = found._at.clone() if kept else found._at[left]
    if kept:
        for d in range(count):
            if d in dims:
                at[d] = 0
    return coo(at, values, shape).coalesce()


def select(self: SparseTensor, dim: int, index: Any) -> Any:
    """The part at one position of a dimension: ``self[index]``."""
    found = self._coo()
    at = axis(dim, found.ndim)
    size, count = found.shape[at], found.sparse_dim()
    i = int(index)
    if not -size <= i < size:
        raise IndexError(f"select(): index {i} out of range for tensor of size "
                         f"{list(found.shape)} at dimension {dim}")
    shape = tuple(d for j, d in enumerate(found.shape) if j != at)
    if at >= count:
        return coo(found._at, found._held.select(at - count + 1, i), shape, found._is_unique)
    here = (found._at[at] == i % size).nonzero().reshape(-1)
    values = found._held[here]
    if count == 1:
        return values.sum(0)
    others = [d for d in range(count) if d != at]
    return coo(found._at[others][:, here], values, shape, found._is_unique)


def getitem(self: SparseTensor, index: Any) -> Any:
    """Positions, ``:`` and ``...``."""
    given = index if isinstance(index, tuple) else (index,)
    if any(g is Ellipsis for g in given):
        i = next(n for n, g in enumerate(given) if g is Ellipsis)
        given = (*given[:i], *(slice(None),) * (self.ndim - len(given) + 1), *given[i + 1:])
    found: Any = self
    dim = 0
    for g in given:
        if isinstance(g, slice) and g == slice(None):
            dim += 1
        elif isinstance(g, Tensor) and g.ndim == 1:
            found = index_select_(found, dim, g if g.dtype is not _dtypes.bool_
                                  else g.nonzero().reshape(-1))
            dim += 1
        elif hasattr(g, "__index__") and not isinstance(g, bool):
            found = found[g] if not isinstance(found, SparseTensor) else select(found, dim, g)
        else:
            raise SparseOperandError(f"a sparse tensor is not indexed by {g!r}; use to_dense()")
    return found


def index_select_(self: SparseTensor, dim: int, index: Tensor) -> CooTensor:
    """The parts at some positions of a dimension."""
    found = self._coo()
    at, count = axis(dim, found.ndim), found.sparse_dim()
    shape = list(found.shape)
    size, shape[at] = shape[at], int(index.shape[0])
    if at >= count:
        values = index_select(found._held, at - count + 1, index)
        return coo(found._at, values, tuple(shape), found._is_unique)
    # a matrix with a 1 in each row says which part goes where
    chosen = coo(_rows(arange(int(index.shape[0])), index % size),
                 zeros(int(index.shape[0]), dtype=found.dtype) + 1, (shape[at], size))
    others = [d for d in range(count) if d != at]
    held = coo(_rows(found._at[at], arange(found._nnz())),
               zeros(found._nnz(), dtype=found.dtype) + 1, (size, found._nnz()))
    met = _times_sparse(chosen, held)
    new, which = met._at.unbind(0)
    rows: list[Tensor] = [new] * count
    for d in others:
        rows[d] = found._at[d][which]
    return coo(_rows(*rows), found._held[which], tuple(shape), at == 0 and found._is_unique)


def joined(tensors: Any, dim: int = 0) -> CooTensor:
    """Sparse tensors one after the other along a sparse dimension (``torch.cat``)."""
    held = [t._coo() if isinstance(t, SparseTensor) else of_dense(t) for t in tensors]
    first = held[0]
    at, shape, start = axis(dim, first.ndim), list(first.shape), 0
    if any(t.sparse_dim() != first.sparse_dim() for t in held) or at >= first.sparse_dim():
        raise _error("cat: sparse tensors are joined along a sparse dimension that all have")
    indices = []
    for t in held:
        if [n for d, n in enumerate(t.shape) if d != at] != [
                n for d, n in enumerate(shape) if d != at]:
            raise _error(f"cat: sizes {list(t.shape)} and {shape} do not fit at dimension {at}")
        rows = list(t._at.unbind(0))
        rows[at] = rows[at] + start
        indices.append(_rows(*rows))
        start += t.shape[at]
    shape[at] = start
    return coo(cat(indices, 1), cat([t._held for t in held]), tuple(shape))


def unsqueeze(self: SparseTensor, dim: int) -> CooTensor:
    """A dimension of one position more."""
    found = self._coo()
    at, count = axis(dim, found.ndim + 1), found.sparse_dim()
    shape = list(found.shape)
    shape.insert(at, 1)
    if at > count:
        return coo(found._at, found._held.unsqueeze(at - count + 1), tuple(shape),
                   found._is_unique)
    rows = list(found._at.unbind(0))
    rows.insert(at, zeros(found._nnz(), dtype=_dtypes.int64))
    return coo(_rows(*rows), found._held, tuple(shape), found._is_unique)


def stacked(tensors: Any, dim: int = 0) -> CooTensor:
    """Sparse tensors along a new dimension (``torch.stack``)."""
    return joined([unsqueeze(t, dim) for t in tensors], dim)


def norm(self: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:  # fmt: skip
    """The norm of all elements."""
    if dim is not None:
        raise SparseOperandError("norm of a sparse tensor is of all elements; use to_dense()")
    held = self.coalesce() if isinstance(self, CooTensor) else self
    return held._held.norm(p, dtype=dtype)


def zeros_like(self: SparseTensor, *, dtype: Any = None, **options: Any) -> CooTensor:
    """A sparse tensor of this shape with no elements."""
    kind = self.dtype if dtype is None else _dtypes.as_dtype(dtype)
    return empty(tuple(self.shape), kind)


def empty(shape: tuple[int, ...], kind: Any) -> CooTensor:
    """A sparse tensor without elements."""
    return coo(zeros(len(shape), 0, dtype=_dtypes.int64), zeros(0, dtype=kind), shape, True)


def softmax(self: SparseTensor, dim: int, dtype: Any = None) -> SparseTensor:
    """The softmax along a dimension of the elements that are kept; others count as -inf."""
    return _normalised(self, dim, dtype, False)


def log_softmax(self: SparseTensor, dim: int, dtype: Any = None) -> SparseTensor:
    """The logarithm of :func:`softmax`."""
    return _normalised(self, dim, dtype, True)


def _normalised(self: SparseTensor, dim: int, dtype: Any, logarithm: bool) -> SparseTensor:
    given: Any = self if dtype is None else self.to(dtype)
    held = given._coo().coalesce()
    at, count = axis(dim, held.ndim), held.sparse_dim()
    if at >= count:
        function = Tensor.log_softmax if logarithm else Tensor.softmax
        return self._like(held._with(function(held._held, at - count + 1)))
    others = [d for d in range(count) if d != at]
    shape = [held.shape[d] for d in others]
    keys = coo(held._at[others] if others else held._at[:0], held._held, tuple(shape))
    which, total = keys._keys(len(others)), 1
    for n in shape:
        total *= n
    rest = tuple(held._held.shape[1:])
    top = zeros(total, *rest, dtype=held.dtype).index_reduce(
        0, which, held._held.detach(), "amax", include_self=False)
    shifted = held._held - top[which]
    sums = index_add(zeros(total, *rest, dtype=held.dtype), 0, which, shifted.exp())[which]
    return self._like(held._with(shifted - sums.log() if logarithm else shifted.exp() / sums))


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(other, self)


def _changing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A method in place: the tensor gets the indices and values of the result."""
    def method(self: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        made = function(self, *args, **options)
        if type(made) is not type(self) or made.shape != self.shape or (
                made.dtype is not self.dtype):
            raise _error(f"{name}: the result has another layout, shape or dtype")
        self.__dict__.update(made.__dict__)
        return self

    method.__name__ = method.__qualname__ = name
    return method


#: functions of torch that take sparse tensors, by name
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: _of_values(n) for n in _OF_VALUES},
    "add": add, "sub": sub, "subtract": sub, "mul": mul, "multiply": mul, "div": div,
    "divide": div, "true_divide": div, "pow": pow, "mm": mm, "matmul": matmul, "bmm": bmm,
    "mv": matmul, "smm": mm, "hspmm": mm, "addmm": addmm, "sspaddmm": addmm, "linear": linear,
    "sum": sum, "select": select,
    "index_select": index_select_, "cat": joined, "concat": joined, "concatenate": joined,
    "stack": stacked, "unsqueeze": unsqueeze, "norm": norm, "zeros_like": zeros_like,
    "empty_like": zeros_like, "sparse_mask": sparse_mask, "t": lambda x: x.t(),
    "transpose": lambda x, dim0, dim1: x.transpose(dim0, dim1),
    "permute": lambda x, dims: x.permute(dims), "clone": lambda x, **_: x.clone(),
    "any": lambda x: (x.to_dense() != 0).any(),
}  # fmt: skip


def attach() -> None:
    """Give sparse tensors their methods."""
    cls: Any = SparseTensor
    for name, function in FUNCTIONS.items():
        if name not in ("cat", "concat", "concatenate", "stack", "linear", "t", "transpose",
                        "permute", "clone", "zeros_like", "empty_like"):
            setattr(cls, name, function)
    for name in ("add", "sub", "mul", "div", "neg", "abs", "pow", "relu", "sqrt", "sin", "tanh"):
        setattr(cls, f"{name}_", _changing(f"{name}_", FUNCTIONS[name]))
    cls.zero_ = _changing("zero_", lambda self: self._like(zeros_like(self)))
    cls.copy_ = _changing("copy_", lambda self, other, non_blocking=False: other.to(self.dtype))
    for name in "float double half bfloat16 long int short char byte bool cfloat cdouble".split():
        kind = getattr(_dtypes, {"half": "float16", "float": "float32", "double": "float64",
                                 "long": "int64", "int": "int32", "short": "int16",
                                 "char": "int8", "byte": "uint8", "bool": "bool_",
                                 "cfloat": "complex64", "cdouble": "complex128"}.get(name, name))
        setattr(cls, name, lambda self, memory_format=None, kind=kind: self.to(kind))
    cls.__getitem__ = getitem
    for name, function in (("add", add), ("sub", sub), ("mul", mul), ("truediv", div),
                           ("matmul", matmul)):
        setattr(cls, f"__{name}__", function)
        setattr(cls, f"__r{name}__", _reflected(function))
        if name != "matmul":
            setattr(cls, f"__i{name}__", _changing(f"__i{name}__", function))
    cls.__pow__, cls.__neg__, cls.__abs__ = pow, FUNCTIONS["neg"], FUNCTIONS["abs"]
    for name in "eq ne lt le gt ge floordiv mod rpow".split():
        setattr(cls, f"__{name}__", SparseTensor._refuse)
    cls.__hash__ = lambda self: id(self)


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """A function of torch by its name, one of whose arguments is sparse."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise error
    return function(*args, **{("self" if k == "input" else k): v for k, v in kwargs.items()
                              if k != "out"})
