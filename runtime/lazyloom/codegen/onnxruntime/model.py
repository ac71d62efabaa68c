"""ONNX models, written as protocol buffers (onnx.proto of the ONNX project)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...types import TensorType

#: the versions of the file format and of the operators
IR_VERSION, OPSET = 10, 20
#: TensorProto.DataType of each dtype in use
DTYPES: Final = {
    "float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9,
}  # fmt: skip
#: operators that ONNX Runtime has beside the standard's, and their version
CONTRIB: Final = "com.microsoft", 1
#: AttributeProto.AttributeType
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return a field that is an integer."""
    return _varint(field << 3) + _varint(value)


def data(field: int, value: bytes | str) -> bytes:
    """Return a field that is a string, bytes or a message."""
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _attribute(name: str, value: Any) -> bytes:
    head = data(1, name)
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, _FLOAT)
    if isinstance(value, int):
        return head + number(3, value) + number(20, _INT)
    if isinstance(value, str):
        return head + data(4, value) + number(20, _STRING)
    return head + b"".join(number(8, int(v)) for v in value) + number(20, _INTS)


def _tensor(name: str, array: Any) -> bytes:
    dims = b"".join(number(1, n) for n in array.shape)
    return (dims + number(2, DTYPES[array.dtype.name]) + data(8, name)
            + data(9, np.ascontiguousarray(array).tobytes()))


def _value(name: str, t: TensorType) -> bytes:
    shape = b"".join(data(1, number(1, n)) for n in t.shape)
    return data(1, name) + data(2, data(1, number(1, DTYPES[t.dtype.name]) + data(2, shape)))


class OnnxGraph:
    """A graph under construction: each node's results have new names."""

    def __init__(self) -> None:
        #: each node with its operands and its results
        self._nodes: Final[list[tuple[tuple[str, ...], list[str], bytes]]] = []
        self._constants: Final[dict[str, bytes]] = {}
        self._known: Final[dict[tuple[str, tuple[int, ...], bytes], str]] = {}
        self._count = 0
        self._contrib = False

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result; return the result's name."""
        return self.several(1, op, *inputs, **attributes)[0]

    def several(self, count: int, op: str, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node; return the names of its results."""
        return self._several(count, op, inputs, attributes, b"")

    def contrib(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node that ONNX Runtime has beside the standard's; return its result's name."""
        self._contrib = True
        return self._several(1, op, inputs, attributes, data(7, CONTRIB[0]))[0]

    def _several(
        self, count: int, op: str, inputs: tuple[str, ...], attributes: Mapping[str, Any],
        domain: bytes,
    ) -> list[str]:  # fmt: skip
        results = [self._name() for _ in range(count)]
        self._nodes.append((inputs, results, b"".join([
            *(data(1, name) for name in inputs), *(data(2, name) for name in results),
            data(3, f"{op}_{results[0]}"), data(4, op),
            *(data(5, _attribute(name, value)) for name, value in attributes.items()), domain])))
        return results

    def constant(self, array: Any) -> str:
        """Return the name of an array; equal small ones share one."""
        key = (array.dtype.name, array.shape, array.tobytes()) if array.size <= 16 else None
        name = self._known.get(key) if key else None
        if name is None:
            name = self._name()
            self._constants[name] = _tensor(name, array)
            if key:
                self._known[key] = name
        return name

    def ints(self, values: Sequence[int]) -> str:
        """Return the name of an array of int64."""
        return self.constant(np.array(list(values), np.int64))

    def float(self, value: float) -> str:
        """Return the name of a float32 scalar."""
        return self.constant(np.array(value, np.float32))

    def model(
        self, inputs: Sequence[tuple[str, TensorType]], outputs: Sequence[tuple[str, TensorType]]
    ) -> bytes:
        """Return the model with some inputs and outputs, without what they do not need."""
        needed = {name for name, _ in outputs}
        nodes = []
        for operands, results, node in reversed(self._nodes):
            if not needed.isdisjoint(results):
                needed.update(operands)
                nodes.append(node)
        graph = b"".join([
            *(data(1, node) for node in reversed(nodes)), data(2, "region"),
            *(data(5, tensor) for name, tensor in self._constants.items() if name in needed),
            *(data(11, _value(*each)) for each in inputs),
            *(data(12, _value(*each)) for each in outputs)])
        domains = [("", OPSET), *([CONTRIB] if self._contrib else [])]
        return b"".join([
            number(1, IR_VERSION), data(2, "lazyloom"), data(7, graph),
            *(data(8, data(1, name) + number(2, version)) for name, version in domains)])
