"""ONNX models, written as protocol buffers (onnx.proto of the ONNX project)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...types import TensorType
from ..onnx import CONTRIB, DTYPES, IR_VERSIONS, OnnxGraph, OnnxNode

#: the version of the operators that ONNX Runtime has beside the standard's
CONTRIB_VERSION: Final = 1
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
    assert not isinstance(value, OnnxGraph), "no region has a body"
    return head + b"".join(number(8, int(v)) for v in value) + number(20, _INTS)


def _tensor(name: str, array: Any) -> bytes:
    dims = b"".join(number(1, n) for n in array.shape)
    return (dims + number(2, DTYPES[array.dtype.name]) + data(8, name)
            + data(9, np.ascontiguousarray(array).tobytes()))


def _value(name: str, t: TensorType) -> bytes:
    shape = b"".join(data(1, number(1, n)) for n in t.shape)
    return data(1, name) + data(2, data(1, number(1, DTYPES[t.dtype.name]) + data(2, shape)))


def model(
    graph: OnnxGraph, inputs: Sequence[tuple[str, TensorType]],
    outputs: Sequence[tuple[str, TensorType]],
) -> bytes:
    """Return a graph with some inputs and outputs as a model, without what they do not need."""
    needed = {name for name, _ in outputs}
    nodes = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
            nodes.append(node)
    nodes.reverse()
    written = b"".join([
        *(data(1, _node(node)) for node in nodes), data(2, "region"),
        *(data(5, _tensor(name, array)) for name, array in graph.constants.items()
          if name in needed),
        *(data(11, _value(*each)) for each in inputs),
        *(data(12, _value(*each)) for each in outputs)])
    return b"".join([
        number(1, IR_VERSIONS[graph.opset]), data(2, "lazyloom"), data(7, written),
        data(8, data(1, "") + number(2, graph.opset)),
        *([data(8, data(1, CONTRIB) + number(2, CONTRIB_VERSION))]
          if any(node.domain for node in nodes) else [])])


def _node(node: OnnxNode) -> bytes:
    return b"".join([
        *(data(1, name) for name in node.inputs), *(data(2, name) for name in node.outputs),
        data(3, f"{node.op}_{node.outputs[0]}"), data(4, node.op),
        *(data(5, _attribute(name, value)) for name, value in node.attributes.items()),
        *([data(7, node.domain)] if node.domain else [])])
