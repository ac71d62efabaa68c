"""Conversions of dtype and device, and whole-tensor writes."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.errors import LoomError
from lazyloom.frontend import storage_of, write, write_lock

from .. import _dtypes
from .._core import broadcast_shapes, cast, record, scalar
from .._elementwise import alike
from .._errors import as_torch
from .._grad_mode import is_grad_enabled
from .._inference import seen as inference
from .._interchange import is_foreign
from .._placing import put_beside
from .._promotion import can_cast, is_number
from .._registry import declare
from .._tensor import Tensor, operand
from .creation import as_tensor, check_fits, full_value

_wrap = Tensor.from_value


def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None,
       non_blocking: bool = False, copy: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor in another dtype: ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or
    ``to(other)``. Itself if nothing changes and ``copy`` is False."""
    for a in args:
        if isinstance(a, lazyloom.Tensor):
            dtype = a.tensor_type.dtype
        elif is_foreign(a):
            dtype = a.dtype
        elif isinstance(a, (str, _dtypes.device)):
            device = a
        elif isinstance(a, bool):
            copy = copy or (a and a is not args[-1])
        elif a is not None:
            dtype = _dtypes.as_dtype(a)
    if device is not None and (
        device is not _dtypes.CPU or not self.tensor_type.placement.is_default
    ):
        self = _moved(self, device)
    if dtype is None or _dtypes.as_dtype(dtype) is self.dtype:
        return self.clone(memory_format=memory_format) if copy else self
    return alike(_wrap(cast(operand(self), _dtypes.as_dtype(dtype).lazy)), self, memory_format)


def _moved(self: Tensor, device: Any) -> Tensor:
    """The tensor on a device; itself if it is there."""
    name = _dtypes.placed_on(device)
    if name is None and self.tensor_type.placement.is_default:
        return self
    found: Tensor = lazyloom.to_device(self, name)
    return found


def _converter(name: str, target: _dtypes.dtype) -> Any:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return to(self, target, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {target!r}; itself if it is one."
    return method


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in another's dtype."""
    return to(self, other)


def type(self: Tensor, dtype: Any = None) -> Any:
    """The tensor in another dtype; without one, the name of PyTorch's tensor type."""
    if dtype is None:
        return f"torch.{_TYPE_NAMES.get(self.dtype.name, self.dtype.name)}Tensor"
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removesuffix("Tensor")
        found = [k for k, n in _TYPE_NAMES.items() if n == name]
        if not found:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = getattr(_dtypes, found[0] if found[0] != "bool" else "bool_")
    return to(self, getattr(dtype, "_dtype", dtype))  # _dtype: of torch.LongTensor and its kind


#: what PyTorch calls its tensors of each dtype
_TYPE_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU; itself if it is there."""
    return self if self.tensor_type.placement.is_default else _moved(self, "cpu")


def cuda(self: Tensor, device: Any = None) -> Tensor:
    """Raises RuntimeError: there is only the CPU."""
    _dtypes.check_device("cuda")
    return self


def store(self: Tensor, value: Any, repeated: bool = False) -> Tensor:
    """Write a Value in place: cast and broadcast to this tensor, as PyTorch's in-place ops do.

    Raises RuntimeError where the dtype would lose its kind or the shape would grow, and where
    elements are one place in memory unless that is no harm (``repeated``).
    """
    kind = self.tensor_type
    if self.shared is None and value.type is kind and is_grad_enabled() and not inference.mode and (
        value.requires_grad or not self.value.requires_grad
    ):
        # nothing shares its storage, so it is neither a leaf nor a view
        try:
            write(self, value)
        except LoomError as error:
            raise as_torch(error) from None
        return self
    if value.dtype is not kind.dtype:
        made, here = _dtypes.of(value.dtype), self.dtype
        if not can_cast(made, here):
            raise RuntimeError(
                f"result type {made!r} can't be cast to the desired output type {here!r}")
        value = cast(value, kind.dtype)
    if value.shape != kind.shape:
        if broadcast_shapes(value.shape, kind.shape) != kind.shape:
            raise RuntimeError(
                f"output with shape {list(kind.shape)} doesn't match the broadcast shape "
                f"{list(broadcast_shapes(value.shape, kind.shape))}")
        value = record("broadcast_to", [value], {"shape": kind.shape})
    return self._assign(value, repeated)


def store_of(function: Any, self: Tensor, *args: Any) -> Tensor:
    """:func:`store` what a function makes of this tensor; one step for other threads."""
    with write_lock(self):
        return store(self, operand(function(self, *args)))


def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor, cast and broadcast."""
    source = other if isinstance(other, Tensor) else as_tensor(other)
    value = cast(operand(source), self.tensor_type.dtype)
    if value.shape != self.tensor_type.shape:
        if broadcast_shapes(value.shape, self.tensor_type.shape) != self.tensor_type.shape:
            raise RuntimeError(
                f"The size of tensor a {list(self.tensor_type.shape)} must match the size of "
                f"tensor b {list(value.shape)}")
        value = record("broadcast_to", [value], {"shape": self.tensor_type.shape})
    return self._assign(written_over(self, value))


def written_over(self: Tensor, value: Any) -> Any:
    """What is written to a tensor in place of all that it, or what it is a view of, held."""
    if value.requires_grad and not self.view_steps and is_grad_enabled():
        value = record("identity", [value])  # its source has hooks and a gradient of its own
    if value.requires_grad and self.tensor_type.size == storage_of(self).value.type.size:
        return overwritten(operand(self), value)
    return value


def overwritten(old: Any, new: Any) -> Any:
    """What replaces a value. It requires a gradient, which is 0, if that one does."""
    if not (old.requires_grad and is_grad_enabled()):
        return new
    return record("where", [scalar(False, _dtypes.bool_.lazy), old, new])


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number, or a 0-d tensor, everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} "
                "dimensions.")
        return copy_(self, value)
    if not is_number(value):
        raise TypeError(f"fill_() takes a number or a 0-d tensor, not {value!r}")
    if isinstance(value, complex) and not self.is_complex():
        raise RuntimeError(f"value {value} cannot be converted to {self.dtype!r} without overflow")
    check_fits(value, self.dtype)
    new = put_beside(full_value(self.tensor_type.shape, value, self.dtype), self)
    return self._assign(overwritten(operand(self), new), True)


def zero_(self: Tensor) -> Tensor:
    """Write zeros."""
    return fill_(self, 0)


declare({
    "function method as-is": [fill_, zero_],
    "method as-is": [to, type_as, type, cpu, cuda, copy_, *(_converter(n, d) for n, d in {
        "float": _dtypes.float32, "double": _dtypes.float64, "half": _dtypes.float16,
        "bfloat16": _dtypes.bfloat16, "long": _dtypes.int64, "int": _dtypes.int32,
        "short": _dtypes.int16, "char": _dtypes.int8, "byte": _dtypes.uint8, "bool": _dtypes.bool_,
        "cfloat": _dtypes.complex64, "cdouble": _dtypes.complex128}.items())],
})
