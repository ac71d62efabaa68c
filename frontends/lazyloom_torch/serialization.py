"""``save`` and ``load``: nested containers of tensors as a safetensors file.

Tensors are stored under their path (``"layers.0.weight"``), so a plain state dict is an
ordinary safetensors file that other libraries read. What is no tensor (numbers,
strings, the nesting) stands as JSON in the file's metadata. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
import struct
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

import lazyloom
from lazyloom import dtypes as _lz

from . import _dtypes
from ._tensor import Tensor

_KEY = "lazyloom_torch"
_CODES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "complex64": "C64",
}
_NAMES = {code: name for name, code in _CODES.items()}


def _describe(obj: Any, path: str, tensors: dict[str, tuple[np.ndarray, str]]) -> Any:
    """The JSON form of an object; its tensors are collected by path."""
    if isinstance(obj, Tensor):
        name = path or "tensor"
        while name in tensors:
            name += "_"
        array = obj.read()
        kind = obj.dtype.name
        if kind == "complex128":
            array, kind = array.view(np.float64).reshape(*array.shape, 2), "float64"
        tensors[name] = (array, kind)
        return {"t": name, "leaf": obj._leaf is not None, "dtype": obj.dtype.name}
    if isinstance(obj, np.ndarray):
        from ._functions.creation import from_numpy

        return {**_describe(from_numpy(obj), path, tensors), "numpy": True}
    if obj is None or isinstance(obj, (bool, int, float, str)) and type(obj) in (
            bool, int, float, str, type(None)):
        return {"v": obj} if not isinstance(obj, float) or np.isfinite(obj) else {"f": repr(obj)}
    if isinstance(obj, complex):
        return {"c": [obj.real, obj.imag]}
    if isinstance(obj, _dtypes.dtype):
        return {"dtype": obj.name}
    if isinstance(obj, _dtypes.Size):
        return {"size": list(obj)}
    if isinstance(obj, Mapping):
        items = [[_describe(k, "", {}), _describe(v, f"{path}.{k}" if path else str(k), tensors)]
                 for k, v in obj.items()]
        return {"od" if isinstance(obj, OrderedDict) else "d": items}
    if isinstance(obj, (list, tuple)):
        items = [_describe(v, f"{path}.{i}" if path else str(i), tensors)
                 for i, v in enumerate(obj)]
        return {"tu" if isinstance(obj, tuple) else "l": items}
    if isinstance(obj, np.generic):
        return _describe(obj.item(), path, tensors)
    raise TypeError(
        f"save: {path or 'the object'} is a {type(obj).__name__}, expected tensors, numbers, "
        "strings and containers of them; save a module's state_dict()")


def _restore(d: dict[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    if "t" in d:
        found = tensors[d["t"]]
        if d.get("dtype") == "complex128":
            array = found.read()
            found = _tensor_of(array.view(np.complex128).reshape(array.shape[:-1]))
        if d.get("numpy"):
            return found.read()
        return found.requires_grad_() if d.get("leaf") else found
    if "v" in d:
        return d["v"]
    if "f" in d:
        return float(d["f"])
    if "c" in d:
        return complex(*d["c"])
    if "dtype" in d:
        return _dtypes.NAMES[d["dtype"]]
    if "size" in d:
        return _dtypes.Size(d["size"])
    if "l" in d:
        return [_restore(v, tensors) for v in d["l"]]
    if "tu" in d:
        return tuple(_restore(v, tensors) for v in d["tu"])
    made: dict[Any, Any] = OrderedDict() if "od" in d else {}
    for k, v in d["od"] if "od" in d else d["d"]:
        made[_restore(k, tensors)] = _restore(v, tensors)
    return made


def _tensor_of(array: np.ndarray) -> Tensor:
    made: Tensor = Tensor._wrap(lazyloom.from_host(array))
    return made


def _serialised(tensors: dict[str, tuple[np.ndarray, str]], metadata: dict[str, str]) -> bytes:
    """A safetensors file: 8 bytes of header length, JSON header, data in order."""
    header: dict[str, Any] = {"__metadata__": metadata}
    parts = []
    at = 0
    # largest items first keeps every tensor aligned to its item size
    for name, (array, kind) in sorted(tensors.items(), key=lambda kv: -kv[1][0].dtype.itemsize):
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": _CODES[kind], "shape": list(array.shape),
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def save(obj: Any, f: Any) -> None:
    """Write tensors, numbers, strings and nested containers of them to a path or file.

    Raises TypeError for anything else, such as a whole module.
    """
    tensors: dict[str, tuple[np.ndarray, str]] = {}
    described = _describe(obj, "", tensors)
    data = _serialised(tensors, {"format": "pt", _KEY: json.dumps(described)})
    if hasattr(f, "write"):
        f.write(data)
        return
    path = os.fspath(f)
    # a reader never sees half a file, and a failed write leaves the old one
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as out:
            out.write(data)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _parsed(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    problem = "load: this is no safetensors file; files made by torch.save hold pickles, which " \
        "are not read: convert them with safetensors"
    if len(data) < 8:
        raise ValueError(problem)
    (length,) = struct.unpack("<Q", data[:8])
    if length > len(data) - 8:
        raise ValueError(problem)
    try:
        header = json.loads(data[8:8 + length])
    except ValueError:
        raise ValueError(problem) from None
    if not isinstance(header, dict):
        raise ValueError(problem)
    metadata = header.pop("__metadata__", {})
    body = memoryview(data)[8 + length:]
    found = {}
    for name, entry in header.items():
        if entry.get("dtype") not in _NAMES:
            raise ValueError(f"load: tensor {name!r} has dtype {entry.get('dtype')!r}, expected "
                             f"one of {', '.join(_NAMES)}")
        kind = _lz.dtype_named(_NAMES[entry["dtype"]])
        start, end = entry["data_offsets"]
        count = 1
        for d in entry["shape"]:
            count *= d
        if not 0 <= start <= end <= len(body) or end - start != count * kind.itemsize:
            raise ValueError(f"load: the file is damaged: tensor {name!r} of {entry['shape']} "
                             f"{kind.name} has bytes {start} to {end} of {len(body)}")
        array = np.frombuffer(body[start:end], kind.numpy).reshape(entry["shape"])
        found[name] = _tensor_of(array)
    return found, metadata


def load(f: Any, map_location: Any = None, *, weights_only: bool = True, mmap: Any = None) -> Any:
    """Read what :func:`save` wrote, or any safetensors file (as a dict of tensors).

    Raises ValueError for a file that is neither, or damaged.
    """
    _dtypes.check_device(map_location)
    if hasattr(f, "read"):
        data = f.read()
    else:
        with open(os.fspath(f), "rb") as source:
            data = source.read()
    tensors, metadata = _parsed(data)
    described = metadata.get(_KEY)
    if described is None:
        return tensors
    return _restore(json.loads(described), tensors)
