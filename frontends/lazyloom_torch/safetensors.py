"""Safetensors files: named tensors, no code. The functions of ``safetensors.torch``.

``from lazyloom_torch.safetensors import load_file, save_file, safe_open``. The format: eight
bytes of header length, a JSON header, the data in order
(https://huggingface.co/docs/safetensors).
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

import lazyloom
from lazyloom import dtypes as _lz
from lazyloom.errors import type_name
from lazyloom.frontend import replacing, storage_of

from . import _dtypes
from ._tensor import Tensor

_CODES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "complex64": "C64",
}
_NAMES = {code: name for name, code in _CODES.items()}
_HEADER_LIMIT = 100_000_000


# -- writing --------------------------------------------------------------------------------


def _check(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> None:
    if not isinstance(tensors, Mapping):
        raise ValueError(f"save: expected a dict of tensors, not {type_name(tensors)}")
    storages: dict[int, str] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise ValueError(f"save: the name {name!r} is no string")
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"save: {name!r} is a {type_name(tensor)}, expected a Tensor: a safetensors "
                "file holds tensors only; torch.save holds nested containers")
        if tensor.dtype.name not in _CODES:
            raise ValueError(f"save: {name!r} has dtype {tensor.dtype!r}, which the format lacks; "
                             "view_as_real() makes complex numbers pairs")
        first = storages.setdefault(id(storage_of(tensor)), name)
        if first is not name and tensor.numel():
            raise RuntimeError(
                f"save: {first!r} and {name!r} share memory, which the format cannot say: leave "
                "one out, clone() it, or use save_model, which leaves out what is shared")
    for key, text in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise ValueError(f"save: metadata are strings by strings, not {key!r}: {text!r}")


def _write(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None, out: Any) -> None:
    _check(tensors, metadata)
    head, order = header(
        {name: (_lz.dtype_named(t.dtype.name), list(t.shape)) for name, t in tensors.items()},
        metadata)
    out.write(head)
    for name in order:
        out.write(np.ascontiguousarray(tensors[name].read()).tobytes())


def header(
    described: Mapping[str, tuple[_lz.DType, list[int]]], metadata: Mapping[str, str] | None
) -> tuple[bytes, dict[str, int]]:
    """The bytes before the data; and at which byte of the data each tensor begins, in that order.

    Args:
        described: dtype and shape by name.
        metadata: strings beside the tensors.
    """
    said: dict[str, Any] = {}
    if metadata is not None:
        said["__metadata__"] = dict(metadata)
    at, begins = 0, {}
    # largest items first keeps every tensor aligned to its item size
    for name in sorted(described, key=lambda n: (-described[n][0].itemsize, n)):
        kind, shape = described[name]
        end = at + math.prod(shape) * kind.itemsize
        said[name] = {"dtype": _CODES[kind.name], "shape": shape, "data_offsets": [at, end]}
        begins[name], at = at, end
    text = json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, begins


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file with these tensors.

    Raises ValueError for what is no tensor, RuntimeError for tensors that share memory.
    """
    import io

    out = io.BytesIO()
    _write(tensors, metadata, out)
    return out.getvalue()


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a dict of tensors to a safetensors file.

    Raises ValueError for what is no tensor, RuntimeError for tensors that share memory.
    """
    with replacing(filename) as out:
        _write(tensors, metadata, out)


def save_model(
    model: Any, filename: str | os.PathLike[str], metadata: Mapping[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a module's state; of parameters that share memory, the first by name.

    The metadata says for the others, as ``safetensors.torch`` does, where their data is.
    """
    kept: dict[str, Tensor] = {}
    owners: dict[int, str] = {}
    said = dict(metadata or {})
    state = model.state_dict()
    for name in sorted(state):
        owner = owners.setdefault(id(storage_of(state[name])), name)
        if owner is name:
            kept[name] = state[name]
        else:
            said[name] = owner
    save_file(kept, filename, said or None)


def storage_ptr(tensor: Tensor) -> int:
    """A number that no other living storage has, to tell tensors that share one. No address."""
    return int(tensor.untyped_storage().data_ptr())


def storage_size(tensor: Tensor) -> int:
    """The bytes of the storage that the tensor is a part of."""
    return int(tensor.untyped_storage().nbytes())


# -- reading --------------------------------------------------------------------------------


class _File:
    """A parsed header over the bytes of a file."""

    def __init__(self, data: Any) -> None:
        self.metadata, self.entries, self.body = _parsed(data)

    def tensor(self, name: str) -> Tensor:
        kind, shape, start, end = self.entries[name]
        array = np.frombuffer(self.body[start:end], kind.numpy).reshape(shape)
        made: Tensor = Tensor.from_value(lazyloom.from_host(array))
        return made


_Entry = tuple[_lz.DType, list[int], int, int]


def _parsed(data: Any) -> tuple[dict[str, str], dict[str, _Entry], memoryview]:
    """Metadata, entries by name and the data. Raises ValueError for a damaged file."""
    whole = memoryview(data)
    problem = "load: this is no safetensors file, or it is damaged: "
    if len(whole) < 8:
        raise ValueError(f"{problem}it has {len(whole)} bytes")
    (length,) = struct.unpack("<Q", whole[:8])
    if length > min(len(whole) - 8, _HEADER_LIMIT):
        raise ValueError(f"{problem}a header of {length} bytes in a file of {len(whole)}")
    head = bytes(whole[8:8 + length])
    if head[:1] != b"{":
        raise ValueError(f"{problem}its header is no JSON object, which begins with a brace")
    try:
        # not the bytes, which could be of any encoding
        header = json.loads(head.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except _Malformed as error:
        raise ValueError(f"{problem}{error}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{problem}its header is no JSON") from None
    metadata = header.pop("__metadata__", None)
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise ValueError(f"{problem}its metadata is no JSON object")
    for key, text in metadata.items():
        if not isinstance(text, str):
            raise ValueError(f"{problem}its metadata {key!r} is {text!r}, expected a string")
    body = whole[8 + length:]
    entries = {name: _entry(name, entry, len(body)) for name, entry in header.items()}
    at = 0
    for start, end, name in sorted((e[2], e[3], n) for n, e in entries.items()):
        if start != at:
            raise ValueError(f"{problem}tensor {name!r} begins at byte {start}, expected {at}")
        at = end
    if at != len(body):
        raise ValueError(f"{problem}{len(body)} bytes of data, expected {at}")
    return metadata, entries, body


class _Malformed(Exception):
    """The header is JSON, and none that says one thing."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object each of whose names stands in it once."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Malformed(f"the name {name!r} stands in its header twice")
        found[name] = value
    return found


def _no_number(text: str) -> Any:
    raise _Malformed(f"its header has {text}, which is no JSON")


def _entry(name: str, entry: Any, available: int) -> _Entry:
    try:
        code, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, start, end))
    except (TypeError, KeyError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"load: the file is damaged: tensor {name!r} is described as {entry!r}")
    if code not in _NAMES:
        raise ValueError(f"load: tensor {name!r} has dtype {code!r}, expected one of "
                         f"{', '.join(_NAMES)}")
    kind = _lz.dtype_named(_NAMES[code])
    count = 1
    for d in shape:
        count *= d
    if end > available or end - start != count * kind.itemsize:
        raise ValueError(f"load: the file is damaged: tensor {name!r} of {shape} {kind.name} has "
                         f"bytes {start} to {end} of {available}")
    return kind, shape, start, end


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file. Raises ValueError if it is damaged."""
    found = _File(data)
    return {name: found.tensor(name) for name in found.entries}


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name. Raises ValueError if it is damaged."""
    with safe_open(filename, "pt", device) as found:
        return {name: found.get_tensor(name) for name in found.keys()}  # noqa: SIM118


def load_model(
    model: Any, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu"
) -> tuple[list[str], list[str]]:
    """Load what :func:`save_model` wrote; names that are missing, and unexpected ones.

    A name may be missing if it shares memory with one that is there. Raises RuntimeError
    with ``strict`` for others.
    """
    found = load_file(filename, device)
    here = model.state_dict()
    given = {id(storage_of(here[name])) for name in found if name in here}
    missing = [n for n in here if n not in found and id(storage_of(here[n])) not in given]
    unexpected = [n for n in found if n not in here]
    if strict and (missing or unexpected):
        raise RuntimeError(f"Error(s) in loading state_dict for {type_name(model)}: missing "
                           f"keys {missing}, unexpected keys {unexpected}")
    model.load_state_dict(found, strict=False)
    return missing, unexpected


class _Slice:
    """A tensor in a file of which parts are read by indexing."""

    def __init__(self, file: _File, name: str) -> None:
        self._file, self._name = file, name

    def get_shape(self) -> list[int]:
        return list(self._file.entries[self._name][1])

    def get_dtype(self) -> str:
        return _CODES[self._file.entries[self._name][0].name]

    def __getitem__(self, key: Any) -> Tensor:
        kind, shape, start, end = self._file.entries[self._name]
        array = np.frombuffer(self._file.body[start:end], kind.numpy).reshape(shape)
        made: Tensor = Tensor.from_value(lazyloom.from_host(np.asarray(array[key])))
        return made


class safe_open:  # noqa: N801  (the library's name)
    """A safetensors file whose tensors are read one by one; a context manager.

    Raises ValueError if it is damaged, FileNotFoundError if there is none.
    """

    def __init__(self, filename: str | os.PathLike[str], framework: str = "pt",
                 device: Any = "cpu") -> None:  # fmt: skip
        if framework not in ("pt", "torch", "pytorch"):
            raise ValueError(f"safe_open: framework is 'pt' here, not {framework!r}")
        self._device = _dtypes.placed_on(device)
        with open(os.fspath(filename), "rb") as source:
            empty = os.fstat(source.fileno()).st_size == 0
            data: Any = b"" if empty else mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        self._found = _File(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        del self._found

    def keys(self) -> list[str]:
        """The names, in the order of the data."""
        return list(self._found.entries)

    def offset_keys(self) -> list[str]:
        return sorted(self._found.entries, key=lambda name: self._found.entries[name][2])

    def metadata(self) -> dict[str, str] | None:
        """The strings that were saved beside the tensors."""
        return self._found.metadata or None

    def get_tensor(self, name: str) -> Tensor:
        """One tensor. Raises KeyError."""
        if name not in self._found.entries:
            raise KeyError(f"File does not contain tensor {name}")
        found = self._found.tensor(name)
        return found if self._device is None else found.to(self._device)

    def get_slice(self, name: str) -> _Slice:
        """What reads a part of one tensor: ``get_slice(name)[:10]``. Raises KeyError."""
        if name not in self._found.entries:
            raise KeyError(f"File does not contain tensor {name}")
        return _Slice(self._found, name)


__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]
