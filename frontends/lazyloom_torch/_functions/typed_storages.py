"""Storages as rows of numbers: what ``x.storage()`` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from .. import _dtypes
from .._absent import refuse_sharing
from .._errors import described
from .._registry import declare
from .._tensor import Tensor
from . import convert, creation, strided
from .storages import UntypedStorage, untyped_storage, whole_of


class TypedStorage:
    """The elements that a tensor and its views share, in the order of memory.

    It reads and writes them: ``storage[0] = 1.0`` is seen by each tensor of the storage.

    Args:
        size: so many elements, which are 0; or a sequence of numbers.
        dtype: the default dtype if none is given.
    """

    _of: Tensor

    def __init__(self, *size: Any, wrap_storage: Any = None, dtype: Any = None,
                 device: Any = None, _internal: bool = False) -> None:  # fmt: skip
        _dtypes.check_device(device)
        kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"wrap_storage must be an UntypedStorage, not {described(wrap_storage)}")
            whole = whole_of(wrap_storage)
            if dtype is not None and whole.dtype is not kind:
                raise RuntimeError(f"the storage holds {whole.dtype!r}, not {kind!r}")
            self._of = strided.as_strided(whole, (whole.numel(),), (1,), 0)
        elif len(size) == 1 and not isinstance(size[0], int):
            self._of = creation.tensor(list(size[0]), dtype=kind, device=device)
        elif len(size) <= 1:
            self._of = creation.zeros(size[0] if size else 0, dtype=kind, device=device)
        else:
            raise TypeError(f"TypedStorage takes a size or a sequence of numbers, not {size}")

    @property
    def dtype(self) -> _dtypes.dtype:
        """The dtype of the elements."""
        return self._of.dtype

    @property
    def device(self) -> _dtypes.device:
        """The device of the data."""
        return self._of.device

    is_cuda = is_hpu = is_sparse = False

    def untyped(self) -> UntypedStorage:
        """The storage without a dtype."""
        return untyped_storage(self._of)

    _untyped_storage = property(untyped)

    def size(self) -> int:
        """The number of elements."""
        return self._of.numel()

    __len__ = size

    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._of.nbytes

    def element_size(self) -> int:
        """The size of an element in bytes."""
        return self._of.element_size()

    def data_ptr(self) -> int:
        """A number that no other living storage has. It is no address."""
        return self.untyped().data_ptr()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self).__name__} with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} elements")
        return self._of[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._of.detach()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers; reads them."""
        found: list[Any] = self._of.tolist()
        return found

    def fill_(self, value: Any) -> TypedStorage:
        """Write one number everywhere."""
        convert.fill_(self._of.detach(), value)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Write the elements of another storage of that size."""
        other = source._of if isinstance(source, TypedStorage) else whole_of(source)
        if other.numel() != len(self):
            raise RuntimeError(
                f"copy_() of {other.numel()} elements to a storage of {len(self)}")
        convert.copy_(self._of.detach(), other.reshape(-1))
        return self

    def clone(self) -> TypedStorage:
        """A storage of its own with the same elements."""
        return _typed(self._of.detach().clone())

    def cpu(self) -> TypedStorage:
        """The tensor on the CPU; itself if it is there."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def share_memory_(self) -> NoReturn:
        """Raises NotImplementedError, as of tensors."""
        refuse_sharing("TypedStorage.share_memory_")

    def type(self) -> str:
        """The name of PyTorch's class for the dtype."""
        return str(convert.type(self._of)).replace("Tensor", "Storage")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.untyped() == other.untyped()

    def __hash__(self) -> int:
        return hash(self.untyped())

    def __repr__(self) -> str:
        numbers = "".join(f" {n}\n" for n in self.tolist())
        return (f"{numbers}[torch.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size "
                f"{len(self)}]")


def _typed(elements: Tensor) -> TypedStorage:
    made: TypedStorage = TypedStorage.__new__(TypedStorage)
    made._of = elements
    return made


def storage(self: Tensor) -> TypedStorage:
    """The storage of the tensor, as numbers of its dtype."""
    whole = whole_of(untyped_storage(self))
    return _typed(strided.as_strided(whole, (whole.numel(),), (1,), 0))


def storage_type(self: Tensor) -> type[TypedStorage]:
    """The class of :func:`storage`."""
    return TypedStorage


declare({"method": [storage, ("_typed_storage", storage), storage_type]})
