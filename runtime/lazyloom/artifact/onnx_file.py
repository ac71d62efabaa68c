"""Graphs of ONNX as models of the package ``onnx_ir``, and models as files."""

from __future__ import annotations

import errno
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..codegen.onnx import DTYPES, IR_VERSIONS, OnnxGraph, VaryingType
from ..dtypes import DType
from ..errors import ArgumentError, type_name
from ..files import is_stream, move, replace
from ..installed import VERSION
from ..types import TensorType

#: the most bytes of parameters in a file without external data: protocol buffers have at most
#: 2 GiB, of which the nodes take some
MOST_BYTES: Final = (1 << 31) - (1 << 24)

#: the most bytes of an array that stays in the file where others do not
_INLINE: Final = 256

#: a shape with the names of extents that vary
Shape = Sequence[int | str]


def library(where: str) -> Any:
    """Return ``onnx_ir``. Raises ImportError, which says how to install it."""
    try:
        return importlib.import_module("onnx_ir")
    except ImportError as error:
        raise ImportError(
            f"{where} needs the package onnx-ir, which is not installed; install it with "
            "pip install 'lazyloom[onnx]', or pip install onnx-ir") from error


def model_of(
    graph: OnnxGraph, inputs: Mapping[str, tuple[DType, Shape]],
    parameters: Mapping[str, Any], outputs: Mapping[str, tuple[DType, Shape]],
    name: str, metadata: Mapping[str, str], where: str,
) -> Any:  # fmt: skip
    """Return a graph as an ``onnx_ir.Model``.

    Args:
        graph: the nodes and constants.
        inputs, outputs: dtypes and shapes by name, in order.
        parameters: arrays by name, which become initializers where the graph reads them.
        name: of the graph.
        metadata: texts by name.
        where: the function that messages begin with.
    """
    ir = library(where)
    values: dict[str, Any] = {}

    def value(name: str, dtype: DType, shape: Shape) -> Any:
        made = values[name] = ir.Value(
            name=name, type=ir.TensorType(ir.DataType(DTYPES[dtype.name])), shape=ir.Shape(shape))
        return made

    given = [value(n, dtype, shape) for n, (dtype, shape) in inputs.items()]
    read = _read(graph)
    initializers = []
    for n, array in (*parameters.items(), *graph.constants.items()):
        if n in read and n not in values:
            tensor = ir.tensor(array, name=n)
            made = values[n] = ir.Value(
                name=n, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)
            initializers.append(made)
    nodes = _nodes(ir, graph, values)
    results = []
    for n, (dtype, shape) in outputs.items():
        made = values[n]
        made.type, made.shape = ir.TensorType(ir.DataType(DTYPES[dtype.name])), ir.Shape(shape)
        results.append(made)
    return ir.Model(
        ir.Graph(given, results, nodes=nodes, initializers=initializers, name=name,
                 opset_imports={"": graph.opset}),
        ir_version=IR_VERSIONS[graph.opset], producer_name="lazyloom", producer_version=VERSION,
        metadata_props=dict(metadata))


def _read(graph: OnnxGraph) -> set[str]:
    """Return the names that the nodes read, those in bodies too."""
    found: set[str] = set()
    for node in graph.nodes:
        found.update(node.inputs)
        for value in node.attributes.values():
            if isinstance(value, OnnxGraph):
                found |= _read(value)
    return found


def _nodes(ir: Any, graph: OnnxGraph, values: dict[str, Any]) -> list[Any]:
    nodes = []
    for node in graph.nodes:
        attributes = []
        for name, x in node.attributes.items():
            if isinstance(x, OnnxGraph):
                attributes.append(ir.AttrGraph(name, _body(ir, x, values)))
            else:
                attributes.append(ir.convenience.convert_attribute(
                    name, list(x) if isinstance(x, (tuple, range)) else x))
        made = ir.Node(
            "", node.op, [values[n] if n else None for n in node.inputs], attributes,
            num_outputs=len(node.outputs), name=f"{node.op}_{node.outputs[0]}")
        for name, output in zip(node.outputs, made.outputs, strict=True):
            output.name = name
            values[name] = output
        nodes.append(made)
    return nodes


def _body(ir: Any, graph: OnnxGraph, values: dict[str, Any]) -> Any:
    def typed(made: Any, t: TensorType | VaryingType) -> Any:
        made.type = ir.TensorType(ir.DataType(DTYPES[t.dtype.name]))
        # an extent without a name
        made.shape = ir.Shape([None if d == "" else d for d in t.shape])
        return made

    inputs = []
    for name, t in graph.inputs:
        values[name] = typed(ir.Value(name=name), t)
        inputs.append(values[name])
    nodes = _nodes(ir, graph, values)
    outputs = [typed(values[name], t) for name, t in graph.outputs]
    return ir.Graph(inputs, outputs, nodes=nodes, name=f"body_{graph.outputs[0][0]}")


def size_of(model: Any) -> int:
    """Return the bytes of a model's initializers."""
    return sum(v.const_value.nbytes for v in model.graph.initializers.values())


def write(model: Any, target: Any, external: bool, where: str) -> None:
    """Write a model to a path or a binary file; one that is there is replaced when all is written.

    ``external`` has arrays of more than 256 bytes in a second file beside it, whose name is that of
    the file and ``.data``. Raises ArgumentError for what is no model, and for one that is too large
    for one file and has no other; OSError.
    """
    ir = library(where)
    if not isinstance(model, ir.Model):
        raise ArgumentError(
            f"{where}: model is a {type_name(model)}, expected an onnx_ir.Model, as "
            "lazyloom.export_onnx returns")
    size = size_of(model)
    what = "a file that is open"
    if not hasattr(target, "write"):
        path = os.fsdecode(target)
        large = external and any(
            v.const_value.nbytes > _INLINE for v in model.graph.initializers.values())
        if (large or size > MOST_BYTES) and not is_stream(path):
            _write_two(ir, model, path)
            return
        # a device or a pipe has no other file beside it
        external, what = large, "a device or a pipe"
    if external or size > MOST_BYTES:
        why = "external_data is True" if external else f"the parameters have {size} bytes"
        raise ArgumentError(
            f"{where}: {why} and the target is {what}, expected a path: a second file beside it "
            "has the parameters then")
    data = ir.serde.serialize_model(model).SerializeToString()
    if hasattr(target, "write"):
        target.write(data)
    else:
        replace(path, [data])


def _write_two(ir: Any, model: Any, path: str) -> None:
    """Write a model, and its arrays to a second file beside it."""
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.basename(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    try:
        # in the same folder, so that the second file is moved and not copied
        made = tempfile.TemporaryDirectory(prefix=".lazyloom-", dir=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    with made:
        # the model names the second file, and nothing else of the folder that it is made in
        written, data = os.path.join(made.name, "model"), f"{name}.data"
        ir.save(model, written, external_data=data, size_threshold_bytes=_INLINE)
        with open(written, "rb") as file:
            whole = file.read()
        # the data first: a file that names it is never without it
        move(os.path.join(made.name, data), os.path.join(folder, data))
        replace(path, [whole])
