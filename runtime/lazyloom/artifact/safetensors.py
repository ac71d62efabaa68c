"""The safetensors format: named arrays as bytes, without code.

Eight bytes with the length of the header, a JSON header, the data in order
(https://huggingface.co/docs/safetensors). A dtype that the format has no code for is written as
the bytes of its elements, uint8 with a further last axis; the manifest has the dtype.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..dtypes import DType
from ..errors import ArgumentError

_CODES: Final = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "complex64": "C64",
}
#: the data begin at a multiple of it
_ALIGNMENT: Final = 8
#: bytes of a header, as the format's own library bounds them
_LONGEST_HEADER: Final = 100_000_000


def packed(
    arrays: Mapping[str, tuple[DType, Any]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return a file of named NumPy arrays, each with its dtype, and of texts by name."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    parts: list[bytes] = []
    at = 0
    for name, (dtype, array) in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        code = _CODES.get(dtype.name)
        shape = [int(d) for d in array.shape]
        header[name] = {
            "dtype": code or "U8", "shape": shape if code else [*shape, dtype.itemsize],
            "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def unpacked(
    data: bytes, expected: Mapping[str, tuple[DType, tuple[int, ...]]], where: str
) -> dict[str, Any]:
    """Return the arrays of a file as NumPy arrays that share its memory, by name.

    Args:
        expected: the dtype and the shape of each array that the file must have, and no other.
        where: what messages call the file.

    Raises ArgumentError for a file that is damaged or has other arrays.
    """
    header = _header(data, where)
    begin = 8 + int.from_bytes(data[:8], "little")
    if set(header) != set(expected):
        missing, other = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
        raise ArgumentError(
            f"{where}: it lacks the arrays {missing} and has {other} besides, expected those of "
            "the manifest; export the program again")
    arrays: dict[str, Any] = {}
    for name, (dtype, shape) in expected.items():
        code = _CODES.get(dtype.name)
        stored = list(shape) if code else [*shape, dtype.itemsize]
        entry = header[name]
        if entry["dtype"] != (code or "U8") or entry["shape"] != stored:
            raise ArgumentError(
                f"{where}: the array {name!r} is {entry['dtype']}{entry['shape']}, expected "
                f"{code or 'U8'}{stored} as the manifest says; export the program again")
        first, last = entry["data_offsets"]
        size = math.prod(shape) * dtype.itemsize
        if last - first != size or begin + last > len(data) or first < 0:
            raise ArgumentError(
                f"{where}: the array {name!r} has the bytes {first} to {last} of "
                f"{len(data) - begin}, expected {size} of them; the file is damaged")
        arrays[name] = np.frombuffer(
            data, dtype.numpy, math.prod(shape), begin + first).reshape(shape)
    return arrays


def metadata_of(data: bytes, where: str) -> dict[str, str]:
    """Return the texts of a file by name.

    Raises ArgumentError for a file that is damaged.
    """
    found = _parsed(data, where).get("__metadata__", {})
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise ArgumentError(f"{where}: its metadata are no texts by name; the file is damaged")
    return found


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(len(data) - 8, _LONGEST_HEADER):
        raise ArgumentError(
            f"{where}: it has {len(data)} bytes, and a header of {size}; the file is damaged")
    try:
        header = json.loads(data[8 : 8 + size])
        if not isinstance(header, dict):
            raise TypeError("it is no object")
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"{where}: its header is no safetensors header: {error}") from error
    return header


def _header(data: bytes, where: str) -> dict[str, Any]:
    header = _parsed(data, where)
    try:
        header.pop("__metadata__", None)
        for entry in header.values():
            first, last = entry["data_offsets"]
            if not (isinstance(first, int) and isinstance(last, int)):
                raise TypeError("offsets are no integers")
            if not (isinstance(entry["dtype"], str) and isinstance(entry["shape"], list)):
                raise TypeError("a dtype or a shape is of another kind")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{where}: its header is no safetensors header: {error}") from error
    found: dict[str, Any] = header
    return found
