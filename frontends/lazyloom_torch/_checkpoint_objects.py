"""What PyTorch's checkpoint files name, and what these names mean here.

A checkpoint is a pickle that names a few functions and classes of ``torch``, and beside it the
bytes of the storages that its tensors are made of.
"""

from __future__ import annotations

import codecs
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lazyloom
from lazyloom.frontend import Strided, make_on

from . import _dtypes
from ._strides import row_major, same_layout
from ._tensor import Tensor
from .nn.parameter import Parameter

#: PyTorch's names of typed storages
STORAGES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}
STORAGE_OF = {dtype: f"{name}Storage" for name, dtype in STORAGES.items()}


class StorageType:
    """A class of storages, as ``torch.FloatStorage``; ``dtype`` is None for an untyped one."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: _dtypes.dtype | None) -> None:
        self.dtype = dtype


class StoredBytes:
    """A storage in a file: its bytes, the device to put it on (None for the default one), and
    the tensor that was first made of it."""

    __slots__ = ("data", "device", "first")

    def __init__(self, data: Any, device: str | None = None) -> None:
        self.device = device
        self.data = data  # None while only the places of the storages are looked for
        self.first: Tensor | None = None

    def tensor(self, kind: _dtypes.dtype, offset: int, size: Sequence[int], stride: Sequence[int]
               ) -> Tensor:  # fmt: skip
        """A tensor over the storage; those of one storage share memory."""
        size, stride = tuple(size), tuple(stride)
        numbers = (offset, *size, *stride)
        if len(size) != len(stride) or any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError(f"load: the file is damaged: a tensor of size {size}, strides "
                             f"{stride}, offset {offset}")
        if self.data is None:
            return Tensor.from_value(lazyloom.from_host(np.zeros(0, kind.lazy.numpy)))
        available = len(self.data) // kind.itemsize
        last = offset + sum((d - 1) * s for d, s in zip(size, stride))
        if 0 not in size and last >= available:
            raise ValueError(f"load: the file is damaged: a tensor of size {size}, strides "
                             f"{stride}, offset {offset} in a storage of {available} elements")
        plain = same_layout(size, stride, row_major(size))
        if 0 in size:
            return Tensor.from_value(self._placed(np.zeros(size, kind.lazy.numpy)))
        if self.first is None:
            whole = offset == 0 and plain and _dtypes.Size(size).numel() == available
            flat = np.frombuffer(self.data, kind.lazy.numpy, available)
            if kind is _dtypes.bool_:
                flat = flat.view(np.uint8) != 0
            held = self._placed(flat.reshape(size) if whole else flat)
            self.first = Tensor.from_value(held)
            if whole:
                return self.first
        base = self.first.detach()
        if base.dtype is not kind:
            base = base.reshape(-1).view(kind)
        if offset == 0 and plain and size == base.tensor_type.shape:
            return base
        if plain:
            made: Tensor = base.view(-1)[offset:last + 1].view(size)
            return made
        return base._share(Strided(offset, size, stride), stride, offset)

    def _placed(self, array: np.ndarray) -> lazyloom.Value:
        value = lazyloom.from_host(array)
        return value if self.device is None else make_on(value, self.device)


def rebuild_tensor(storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False,
                   hooks: Any = None, metadata: Any = None) -> Tensor:  # fmt: skip
    """``torch._utils._rebuild_tensor`` and ``_rebuild_tensor_v2``."""
    return rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, None, metadata)


def rebuild_tensor_v3(storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool,
                      hooks: Any, dtype: Any, metadata: Any = None) -> Tensor:  # fmt: skip
    """``torch._utils._rebuild_tensor_v3``: the dtype stands beside an untyped storage."""
    if not (isinstance(storage, tuple) and len(storage) == 2
            and isinstance(storage[0], StoredBytes)):  # fmt: skip
        raise ValueError("load: the file is damaged: a tensor without a storage")
    found, kind = storage[0], dtype or storage[1]
    if not isinstance(kind, _dtypes.dtype):
        raise ValueError("load: the file is damaged: a tensor without a dtype")
    if metadata:
        raise ValueError(f"load: tensors with pending {', '.join(map(str, metadata))} are not "
                         "supported: resolve() them before saving")
    made = found.tensor(kind, offset, size, stride)
    return made.requires_grad_() if requires_grad else made


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    """``torch._utils._rebuild_parameter`` and ``_rebuild_parameter_with_state``."""
    return Parameter(data, requires_grad)


def rebuild_from_type(function: Any, kind: Any, args: tuple[Any, ...], state: Any) -> Any:
    """``torch._tensor._rebuild_from_type_v2``: a tensor with attributes, which are left out."""
    if function not in (rebuild_tensor, rebuild_tensor_v3, rebuild_parameter):
        raise ValueError("load: the file is damaged: a tensor that no known function makes")
    return function(*args)


def _numpy_array(kind: Any, shape: Any, code: Any) -> Any:
    if kind is not np.ndarray:
        raise ValueError("load: the file holds a subclass of numpy.ndarray, which is not read")
    return NumpyArray()


class NumpyArray:
    """An array of NumPy between its making and its state; the state makes it."""

    def filled(self, state: Any) -> np.ndarray:
        _, shape, kind, fortran, raw = state
        if not isinstance(kind, np.dtype) or kind.hasobject or not isinstance(raw, bytes):
            raise ValueError("load: the file holds an array of Python objects, which is not read")
        flat = np.frombuffer(raw, kind)
        return flat.reshape(shape, order="F" if fortran else "C").copy()


def _numpy_dtype(text: str, align: bool = False, copy: bool = True) -> np.dtype[Any]:
    found = np.dtype(text)
    if found.kind not in "biufcSU":
        raise ValueError(f"load: the file holds an array of dtype {text!r}, which is not read")
    return found


def _numpy_scalar(kind: np.dtype[Any], raw: Any) -> Any:
    if not isinstance(kind, np.dtype) or kind.hasobject or not isinstance(raw, bytes):
        raise ValueError("load: the file holds a NumPy scalar of an unknown kind")
    return np.frombuffer(raw, kind)[0]


def _layout(name: str) -> str:
    if name != "torch.strided":
        raise ValueError(f"load: the file holds a tensor of layout {name}, which is not supported")
    return name


def _encode(text: str, encoding: str) -> bytes:
    """``_codecs.encode``, by which bytes travel in old pickles."""
    if encoding != "latin1":
        raise ValueError("load: the file is damaged: bytes that are not encoded as latin1")
    return codecs.encode(text, "latin1")


def _bytearray(text: str | bytes = b"", encoding: str = "latin1") -> bytearray:
    if not isinstance(text, (str, bytes)):  # a number would be a size
        raise ValueError("load: the file is damaged: a bytearray of no bytes")
    return bytearray(_encode(text, "latin1") if isinstance(text, str) else text)


def _device(*args: Any) -> _dtypes.device:
    found = _dtypes.device(*args)
    return found if found.type == "cpu" else _dtypes.CPU  # wherever it was, it is here now


def _known() -> dict[str, Any]:
    found: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter,
        "_codecs.encode": _encode, "torch.device": _device, "torch.Size": _dtypes.Size,
        "torch.serialization._get_layout": _layout,
        "torch.Tensor": Tensor, "torch.nn.parameter.Parameter": Parameter,
        "torch._utils._rebuild_tensor": rebuild_tensor,
        "torch._utils._rebuild_tensor_v2": rebuild_tensor,
        "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
        "torch._utils._rebuild_parameter": rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": rebuild_parameter,
        "torch._tensor._rebuild_from_type_v2": rebuild_from_type,
        "torch.storage.UntypedStorage": StorageType(None),
        "numpy.ndarray": np.ndarray, "numpy.dtype": _numpy_dtype,
    }
    for module in ("builtins", "__builtin__"):
        found |= {f"{module}.{kind.__name__}": kind for kind in (set, frozenset, complex)}
        found[f"{module}.bytearray"] = _bytearray
    for module in ("numpy.core", "numpy._core"):
        found[f"{module}.multiarray._reconstruct"] = _numpy_array
        found[f"{module}.multiarray.scalar"] = _numpy_scalar
    for name, kind in STORAGES.items():
        found[f"torch.{name}Storage"] = StorageType(_dtypes.NAMES[kind])
    for dtype in _dtypes.ALL:
        found[f"torch.{dtype.name}"] = dtype
    return found


#: what a file may name, and what it stands for here
KNOWN: dict[str, Any] = _known()
#: of these, what may be called
CALLABLE: frozenset[Any] = frozenset(
    f for f in KNOWN.values() if isinstance(f, (type, Callable))  # type: ignore[arg-type]
    and f not in (Tensor, np.ndarray))  # fmt: skip
#: classes that may be made without calling them (opcode NEWOBJ)
NEW: frozenset[Any] = frozenset([OrderedDict, Counter, set, frozenset, _dtypes.Size])

#: names that a user has allowed beside them, by "module.name"
allowed: dict[str, Any] = {}
