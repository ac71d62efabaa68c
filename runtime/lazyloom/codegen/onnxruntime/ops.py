"""What ONNX Runtime's regions do with ops, beside :mod:`lazyloom.codegen.onnx`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from ...types import TensorType
from ..answers import Call

#: ops that give their operand another shape
RESHAPES: Final = ("reshape", "expand_dims", "squeeze", "identity")
#: ops that move weights, whose results are weights, too
MOVES: Final = frozenset({"reshape", "expand_dims", "squeeze", "transpose", "broadcast_to",
                          "slice", "cast", "identity", "dequantize"})
#: positions of operands that are weights
WEIGHTS: Final[Mapping[str, tuple[int, ...]]] = {
    "conv": (1,), "batch_norm_infer": (1, 2, 3, 4), "layer_norm": (1, 2), "group_norm": (1, 2),
    "rms_norm": (1,), "embedding": (0,), "matmul": (1,), "dot_general": (1,),
    "quantize": (1, 2), "dequantize": (1, 2),
}


def _type(call: Call, k: int) -> TensorType:
    t = call.operands[k]
    assert t is not None
    return t


def known_starts(call: Call) -> list[int] | None:
    """Return where a dynamic slice begins, if its starts are constants of the program."""
    starts = []
    for start, n, size in zip(
        call.values[1:], _type(call, 0).shape, call.attributes["sizes"], strict=True
    ):
        if start is None:
            return None
        starts.append(min(max(int(start) + (n if start < 0 else 0), 0), n - size))
    return starts


def work(call: Call) -> int:
    """Return the multiplications of a product, a convolution or attention; 0 for another op."""
    size = call.results[0].size
    if call.op == "conv":
        return size * math.prod(_type(call, 1).shape[1:])
    if call.op == "matmul":
        return size * _type(call, 0).shape[-1]
    if call.op == "dot_general":
        summed: Sequence[int] = call.attributes["lhs_contract"]
        return size * math.prod(_type(call, 0).shape[d] for d in summed)
    if call.op == "scaled_dot_product_attention":
        q, k, v = (_type(call, n) for n in range(3))
        return q.size * k.shape[-2] + size * v.shape[-2]
    return 0
