"""Recurrent layers in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..answers import YES, Answer, Call, No
from .graph import OnnxGraph
from .rules import FLOATS, given, operand, rule


def _check(call: Call) -> Answer:
    names = {"lstm": ("lengths", 8), "gru": ("lengths", 6), "rnn": ("lengths", 6)}
    at = names[call.op][1]
    if len(call.operands) > at and call.operands[at] is not None:
        return No("lengths of sequences")
    if call.op == "lstm" and len(call.operands) > 7 and call.operands[7] is not None:
        return No("a projection of the state")
    return YES


def _gates(g: OnnxGraph, name: str, order: Sequence[int], size: int) -> str:
    """Return a weight of a row for each unit of each gate, with its gates in ONNX's order, and one
    direction in front."""
    if list(order) != sorted(order):
        parts = g.several(len(order), "Split", name, g.ints([size] * len(order)), axis=0)
        name = g.add("Concat", *[parts[k] for k in order], axis=0)
    return g.add("Unsqueeze", name, g.ints([0]))


@rule("lstm", "gru", "rnn", check=_check, dtypes=FLOATS)
def _recurrent(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    states = 2 if call.op == "lstm" else 1
    size = operand(call, 1).shape[-1]
    # ours are input, forget, cell, output and reset, update, new
    order = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}[call.op]
    weights = [_gates(g, name, order, size) for name in x[1 + states:3 + states]]
    biases = [given(x, 3 + states), given(x, 4 + states)]
    bias = ""
    if any(biases):
        none = g.constant(np.zeros(len(order) * size, call.results[0].dtype.numpy))
        bias = g.add("Concat", *[_gates(g, b or none, order, size) for b in biases], axis=1)
    first = [g.add("Unsqueeze", name, g.ints([0])) for name in x[1:1 + states]]
    attributes: dict[str, str | int | Sequence[int]] = {
        "hidden_size": size,
        "direction": "reverse" if call.attributes["reverse"] else "forward"}
    if call.op == "gru":
        attributes["linear_before_reset"] = 1
    op, more = call.op.upper(), {}
    if call.op == "rnn":
        more = {"activations": [call.attributes["activation"].capitalize()]}
    found = g.several(1 + states, op, x[0], *weights, bias, "", *first, **attributes, **more)
    # without the axis of directions
    return [g.add("Squeeze", name, g.ints([1 if k == 0 else 0])) for k, name in enumerate(found)]
