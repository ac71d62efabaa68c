"""What PyTorch's programs ask of a tensor's storage, and methods that few of them use."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import lazyloom
from lazyloom.frontend import Storage, Strided, storage_of, view_of_storage

from .. import _dtypes
from .._absent import refuse_sharing
from .._core import numel, shape_of
from .._errors import described
from .._inference import check_write, is_inference, seen
from .._registry import declare
from .._strides import row_major
from .._tensor import Tensor
from . import convert, creation, strided
from .shaping import flip


class UntypedStorage:
    """The elements that a tensor and its views share.

    It tells storages apart and knows their size; the memory itself belongs to the runtime.
    """

    def __init__(self, storage: Storage, strides: tuple[int, ...] | None = None) -> None:
        self.elements = storage
        self.strides = strides  # of the tensor that is all of it

    def data_ptr(self) -> int:
        """A number that no other living storage has. It is no address."""
        return id(self.elements) << 40

    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return int(self.elements.value.type.nbytes)

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other.elements is self.elements

    def __hash__(self) -> int:
        return id(self.elements)

    @property
    def device(self) -> Any:
        """The device of the data."""
        return _dtypes.device(_dtypes.location_of(self.elements.value.type))

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def share_memory_(self) -> NoReturn:
        """Raises NotImplementedError, as of tensors."""
        refuse_sharing("UntypedStorage.share_memory_")

    def __repr__(self) -> str:
        return f"UntypedStorage of {self.nbytes()} bytes"


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The storage of the tensor, to tell whether another shares it."""
    root = self._root()
    whole = storage_of(root) is storage_of(self) and not root.view_steps
    return UntypedStorage(storage_of(self), root.element_strides if whole else None)


def whole_of(storage: UntypedStorage) -> Tensor:
    """A tensor of all elements of a storage, which shares it."""
    elements = storage.elements
    whole: Tensor = Tensor.from_value(elements.value.detach())
    view_of_storage(whole, elements, (), elements.value.type)
    whole._lay(storage.strides, 0)
    return whole


def data_ptr(self: Tensor) -> int:
    """A number for the tensor's first element: equal for two that begin at one place."""
    return untyped_storage(self).data_ptr() + self.element_offset * self.itemsize


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same part of one storage."""
    return (storage_of(self) is storage_of(tensor) and self.element_offset == tensor.element_offset
            and self.tensor_type is tensor.tensor_type and self.stride() == tensor.stride())


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None,
         stride: Any = None) -> Tensor:  # fmt: skip
    """Make the tensor share the storage of another tensor, or that of a storage as given."""
    if seen.mode:
        check_write(self)
    if self.requires_grad:
        raise RuntimeError("set_() of a tensor that requires grad is not possible")
    if source is None:
        source = creation.empty(0, dtype=self.dtype)
    if not isinstance(source, (Tensor, UntypedStorage)) and hasattr(source, "untyped"):
        source = source.untyped()
    if isinstance(source, UntypedStorage):
        whole = whole_of(source)
        if whole.tensor_type.dtype is not self.tensor_type.dtype:
            raise RuntimeError(
                f"set_(): the storage holds {whole.dtype!r}, the tensor {self.dtype!r}")
        size = (whole.numel(),) if size is None else size
        source = whole
    if not isinstance(source, Tensor):
        raise TypeError(f"set_() takes a Tensor or a storage, not {described(source)}")
    if size is not None:
        shape = shape_of((size,))
        source = strided.as_strided(
            source, shape, row_major(shape) if stride is None else stride, storage_offset)
    return strided.become(self, source, "set_")


def share_memory_(self: Tensor) -> NoReturn:
    """Raises NotImplementedError: what processes write to tensors is seen by themselves."""
    refuse_sharing("Tensor.share_memory_")


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: there is no accelerator that copies from pinned memory."""
    return self


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: there is no accelerator that copies from pinned memory."""
    return False


def get_device(self: Tensor) -> int:
    """-1, as for every tensor on the CPU."""
    return -1


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions in the order of their strides, the largest first."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))


def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """A tensor of this dtype, of a size or with some data."""
    made = Tensor(*data, device=device)
    found: Tensor = made.to(self.dtype)
    return found


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal; with ``wrap`` it begins again below a tall matrix."""
    shape = self.tensor_type.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(row_major(shape))
    count = min(shape)
    if wrap and len(shape) == 2 and shape[0] > shape[1]:
        count = math.ceil(numel(shape) / step)
    part = self._share(Strided(0, (count,), (step,)), (sum(self.stride()),), self.element_offset)
    convert.fill_(part, fill_value)
    return self


def _on_host(self: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    """Call a Python function for each element, which reads them, and write what it gives."""
    arrays = np.broadcast_arrays(self.read(), *[o.read() for o in others])
    found = np.empty(self.tensor_type.shape, self.tensor_type.dtype.numpy)
    flat = found.reshape(-1)
    for i, given in enumerate(zip(*[a.reshape(-1).tolist() for a in arrays], strict=True)):
        flat[i] = function(*given)
    return convert.store(self, lazyloom.from_host(found))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it; reads them all."""
    return _on_host(self, callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it and another's; reads them."""
    return _on_host(self, callable, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Tensor:
    """Replace each element by what a Python function makes of it and two others'; reads them."""
    return _on_host(self, callable, x, y)


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have one shape."""
    return bool(self.tensor_type.shape == other.tensor_type.shape)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """As ``resize_``, of an alias. Deprecated in PyTorch."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return strided.resize_(self.detach(), *sizes)


def resize_as(self: Tensor, the_template: Tensor) -> Tensor:
    """As ``resize_as_``, of an alias. Deprecated in PyTorch."""
    return resize(self, the_template.tensor_type.shape)


def reversed_(self: Tensor) -> Tensor:
    """All dimensions in reverse order of their elements (``reversed(x)``)."""
    found: Tensor = flip(self, tuple(range(self.ndim)))
    return found


def _no_deleting(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def _false(self: Tensor) -> bool:
    """False: a tensor is neither shared with other processes nor one of several."""
    return False


def _none_sparse(self: Tensor) -> int:
    """The number of sparse dimensions: 0."""
    return 0


def _dense(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor itself, which is dense."""
    return self


# so that they are published, and pickled, by the methods' names
_none_sparse.__name__ = _none_sparse.__qualname__ = "sparse_dim"
_dense.__name__ = _dense.__qualname__ = "to_dense"


def typename(obj: Any) -> str:
    """The name of an object's type; of a tensor, PyTorch's name with its dtype."""
    if isinstance(obj, Tensor):
        return str(convert.type(obj))
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", "") else (
        f"{kind.__module__}.{kind.__qualname__}")


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0,
               requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A vector of the elements in a buffer, copied. Raises ValueError where they do not fit."""
    kind = _dtypes.as_dtype(dtype).lazy
    view = memoryview(buffer).cast("B")
    left = len(view) - offset
    if left <= 0 or offset < 0:
        raise ValueError(f"offset is {offset}, expected 0 to less than the {len(view)} bytes")
    if count < 0 and left % kind.itemsize:
        raise ValueError(
            f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({kind.itemsize})")
    if count == 0 or count * kind.itemsize > left:
        raise ValueError(f"count is {count}, which {left} bytes do not hold (or it is zero)")
    array = np.frombuffer(view, kind.numpy, count, offset)
    return creation.finish(lazyloom.from_host(array.copy()), requires_grad)


declare({
    "function": [is_same_size, typename, frombuffer, is_inference],
    "method as-is": [
        untyped_storage, data_ptr, is_set_to, set_, share_memory_, new, fill_diagonal_, apply_,
        map_, map2_, is_same_size, resize, resize_as, pin_memory, is_pinned, is_inference,
        get_device, dim_order, ("const_data_ptr", data_ptr), ("__reversed__", reversed_),
        ("__delitem__", _no_deleting), ("is_shared", _false), ("is_distributed", _false),
        ("dense_dim", Tensor.dim), ("sparse_dim", _none_sparse),
        ("to_dense", _dense), ("name", None), ("output_nr", 0),
        *((attribute, False) for attribute in (
            "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_sparse_csr",
            "is_vulkan", "is_xpu", "volatile"))],
})
