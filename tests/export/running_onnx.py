"""ONNX models, checked and run: by ONNX Runtime, or by the reference evaluator of ``onnx``."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from typing import Any

import numpy
import pytest

import lazyloom

REASON = "onnx and onnx-ir are not installed"


def installed() -> bool:
    """Whether models can be made and checked."""
    try:
        importlib.import_module("onnx_ir")
        importlib.import_module("onnx.reference")
    except ImportError:
        return False
    return True


needed = pytest.mark.skipif(not installed(), reason=REASON)


def written(function: Any, *arguments: Any, **options: Any) -> Any:
    """A program as a ModelProto, which the checker of ``onnx`` has looked at."""
    onnx: Any = importlib.import_module("onnx")
    file = io.BytesIO()
    lazyloom.export_onnx(function, file, *arguments, **options)
    proto = onnx.load_from_string(file.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    return proto


def by_reference(proto: Any, feed: Mapping[str, Any]) -> list[Any]:
    """The outputs by the reference evaluator."""
    reference: Any = importlib.import_module("onnx.reference")
    with numpy.errstate(all="ignore"):
        return [numpy.asarray(x) for x in reference.ReferenceEvaluator(proto).run(None, dict(feed))]


def by_runtime(proto: Any, feed: Mapping[str, Any]) -> list[Any] | None:
    """The outputs by ONNX Runtime; None if it is not installed, or lacks an operator or a dtype."""
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        return None
    dtypes = {str(x.dtype) for x in feed.values()}
    # it has no NumPy arrays of bfloat16
    if dtypes & {"bfloat16", "complex64", "complex128"} or any(
        output.type.tensor_type.elem_type in (14, 15, 16) for output in proto.graph.output
    ):
        return None
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = runtime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found: list[Any] = session.run(None, dict(feed))
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "does not support double" in str(error):
            return None
        raise
    return found


def run(proto: Any, *arrays: Any) -> list[Any]:
    """The outputs, by ONNX Runtime where that can."""
    names = [v.name for v in proto.graph.input]
    feed = dict(zip(names, arrays, strict=True))
    found = by_runtime(proto, feed)
    return by_reference(proto, feed) if found is None else found
