"""Ops in ONNX: one mapping, for exported models and for regions that ONNX Runtime runs.

The modules: ``graph`` (graphs under construction), ``rules`` (the table, and what it is asked),
and those that fill it. Nothing here needs the package ``onnx``.
"""

from . import control_flow, elementwise, indexing, networks, recurrent, reductions, shapes
from .elementwise import ELEMENTWISE
from .graph import (
    CONTRIB,
    DTYPES,
    IR_VERSIONS,
    NEWEST_OPSET,
    OLDEST_OPSET,
    OPSET,
    OnnxGraph,
    OnnxNode,
    VaryingType,
)
from .rules import RULES, claims, emit, exports

_FILL = (control_flow, elementwise, indexing, networks, recurrent, reductions, shapes)

__all__ = [
    "CONTRIB", "DTYPES", "ELEMENTWISE", "IR_VERSIONS", "NEWEST_OPSET", "OLDEST_OPSET", "OPSET",
    "OnnxGraph", "OnnxNode", "RULES", "VaryingType", "claims", "emit", "exports",
]  # fmt: skip
