"""Layouts and memory formats: names that programs pass on.

Tensors are dense, and how they lie in memory is XLA's choice: a memory format is accepted
wherever PyTorch takes one, and changes neither values nor ``stride()``.
"""

from __future__ import annotations

from typing import Any

from lazyloom.errors import OutOfMemoryError

from ._placing import get_default_device, set_default_device
from ._registry import declare


class layout:  # noqa: N801  (PyTorch's name)
    """A kind of storage: ``torch.strided``, or one of sparse tensors."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return _named, (self._name,)


class memory_format(layout):  # noqa: N801  (PyTorch's name)
    """An order of dimensions in memory, such as ``torch.channels_last``."""

    __slots__ = ()


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = (layout(n) for n in ("sparse_coo", "sparse_csr", "sparse_csc"))
contiguous_format, preserve_format, channels_last, channels_last_3d = (
    memory_format(n)
    for n in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
_ALL = {f._name: f for f in (
    strided, sparse_coo, sparse_csr, sparse_csc, contiguous_format, preserve_format,
    channels_last, channels_last_3d)}


def _named(name: str) -> layout:
    return _ALL[name]


declare({"function as-is": [
    *_ALL.items(), layout, memory_format, set_default_device, get_default_device,
    OutOfMemoryError]})
