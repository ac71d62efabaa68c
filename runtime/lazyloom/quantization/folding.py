"""Folding of normalisation with known moments into the convolution before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluate.reading import read
from ..ops.spec import lookup
from ..tensor.host import from_host
from .graph import Constant, Op, OpGraph, OpOutput, Rewriter, Source

_ADD, _BATCH_NORM, _CONV = lookup("add"), lookup("batch_norm_infer"), lookup("conv")


def data_of(x: Source) -> Any:
    """Return the data of a constant."""
    assert isinstance(x, Constant)
    return read(x.value)


def constant(array: Any, like: Any = np.float32) -> Constant:
    """Return a constant with the data of an array, in the dtype of ``like``."""
    return Constant(from_host(np.asarray(array).astype(like)))


def fold_batch_norms(graph: OpGraph) -> OpGraph:
    """Turn ``batch_norm_infer(conv(x, w) + b)`` into one convolution with another weight and bias.

    This requires that the weights and all parameters of the normalisation are constants of float32,
    and that nothing else uses the intermediate results.
    """
    uses = graph.uses()
    new = Rewriter(graph)
    for op in graph.ops:
        parts = _convolution_before(op, uses)
        if parts is None:
            new.keep(op)
            continue
        conv, bias = parts
        scale, shift = _scale_and_shift(op)
        weight = data_of(conv.operands[1])  # type: ignore[arg-type]
        axes = (-1, *(1,) * (weight.ndim - 1))
        if bias is not None:
            shift = shift + data_of(bias).reshape(-1) * scale
        x = conv.operands[0]
        assert x is not None
        product = new.add("conv", [new.of(x), constant(weight * scale.reshape(axes))],
                       **conv.spec.attrs)
        shape = (1, -1, *(1,) * (weight.ndim - 2))
        new.instead[OpOutput(op, 0)] = new.add("add", [product, constant(shift.reshape(shape))])
    return new.finished()


def bias_of(op: Op) -> tuple[Source, Source] | None:
    """Return the non-constant operand of a sum, and what is added to each channel (axis 1)."""
    if op.kind is not _ADD:
        return None
    result = op.types[0]
    for x, b in (op.operands, op.operands[::-1]):
        if isinstance(x, OpOutput) and isinstance(b, Constant) and x.type == result:
            shape = (*(1,) * (result.ndim - b.type.ndim), *b.type.shape)
            if result.ndim > 1 and shape[1] == result.shape[1] == b.type.size:
                return x, b
    return None


def _convolution_before(op: Op, uses: dict[Source, int]) -> tuple[Op, Source | None] | None:
    """Return the convolution that an op normalises, and what is added to it."""
    if op.kind is not _BATCH_NORM or op.types[0].dtype.name != "float32" or not all(
        x is None or isinstance(x, Constant) for x in op.operands[1:]
    ):
        return None
    x, bias = op.operands[0], None
    if isinstance(x, OpOutput) and uses[x] == 1:
        split = bias_of(x.op)
        if split is not None:
            x, bias = split
    if not isinstance(x, OpOutput) or uses[x] != 1 or x.op.kind is not _CONV or not isinstance(
        x.op.operands[1], Constant
    ):
        return None
    return x.op, bias


def _scale_and_shift(op: Op) -> tuple[Any, Any]:
    """Return the factor and the summand of a normalisation for each channel, in float64."""
    mean, variance, weight, bias = [
        None if x is None else data_of(x).astype(np.float64)
        for x in (*op.operands[1:], None, None)[:4]]
    assert mean is not None and variance is not None
    scale = 1 / np.sqrt(variance + op.spec.attrs["eps"])
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    return scale, shift if bias is None else shift + bias
