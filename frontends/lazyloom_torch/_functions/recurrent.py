"""Recurrent layers and cells: one op for each layer and direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom

from .._autocast import casting, lowered_values
from .._core import cast, record, record_spec, spec
from .._registry import declare
from .._tensor import Tensor, operand
from . import dropping
from .packed import PackedSequence

_wrap = Tensor.from_value

#: PyTorch's mode -> (op, number of states, attributes)
MODES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "LSTM": ("lstm", 2, {}), "GRU": ("gru", 1, {}),
    "RNN_TANH": ("rnn", 1, {"activation": "tanh"}), "RNN_RELU": ("rnn", 1, {"activation": "relu"}),
}
_specs: dict[tuple[str, bool], lazyloom.Spec] = {}


def _ready(mode: str, reverse: bool) -> lazyloom.Spec:
    found = _specs.get((mode, reverse))
    if found is None:
        op, states, attributes = MODES[mode]
        # the input, the states, four weights, a projection (for LSTM) and the lengths
        arity = 7 if states == 1 else 9
        found = _specs[mode, reverse] = spec(op, arity, {**attributes, "reverse": reverse})
    return found


def _one(mode: str, reverse: bool, x: Any, states: Sequence[Any], weights: Sequence[Any],
         lengths: Any) -> Any:  # fmt: skip
    """One layer in one direction: all outputs, then each last state."""
    more = [None] * (5 - len(weights)) if mode == "LSTM" else []
    if casting:
        kind = states[0].dtype
        values = lowered_values((x, *states, *weights))
        found = record_spec(_ready(mode, reverse), (*values, *more, lengths))
        # as PyTorch's own GRU, which adds to its states in their dtype
        return found if mode != "GRU" else tuple(cast(v, kind) for v in found)
    return record_spec(_ready(mode, reverse), (x, *states, *weights, *more, lengths))


def per_layer(params: Sequence[Tensor], mode: str, has_biases: bool, projected: bool
              ) -> list[list[Any]]:  # fmt: skip
    """A flat list of weights, as the values of each layer and direction: four, and a projection."""
    values = [operand(p) for p in params]
    each = 2 + 2 * has_biases + projected
    found = []
    for i in range(0, len(values), each):
        mine = values[i:i + each]
        biases = mine[2:4] if has_biases else [None, None]
        found.append([*mine[:2], *biases, *(mine[-1:] if projected else ())])
    return found


def layers(
    mode: str, x: Tensor, states: Sequence[Tensor], weights: Sequence[Sequence[Any]],
    bidirectional: bool, dropout: float = 0.0, training: bool = False,
    lengths: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Layers of (T, N, I), one above another: the outputs (T, N, D * H) and each last state.

    ``states`` are (layers * D, N, H); ``weights`` hold four values, or five, for each layer and
    direction. ``lengths`` is how many steps of each sequence count.
    """
    directions = 2 if bidirectional else 1
    given = [_rows(s, len(weights)) for s in states]
    last: list[list[Any]] = [[] for _ in states]
    count = None if lengths is None else operand(lengths)
    value = operand(x)
    for layer in range(0, len(weights), directions):
        if layer and dropout and training:
            value = operand(dropping.dropout(_wrap(value), dropout, True))
        outputs = []
        for d in range(directions):
            i = layer + d
            output, *finals = _one(mode, d == 1, value, [s[i] for s in given], weights[i], count)
            outputs.append(output)
            for found, final in zip(last, finals, strict=True):
                found.append(final)
        value = outputs[0] if directions == 1 else record("concatenate", outputs, {"axis": 2})
    return _wrap(value), [_wrap(record("stack", s, {"axis": 0})) for s in last]


def _rows(state: Tensor, count: int) -> list[Any]:
    """The states of each layer and direction."""
    value = operand(state)
    if count == 1:
        return [record("reshape", [value], {"shape": value.shape[1:]})]
    parts = record("split", [value], {"sizes": (1,) * count, "axis": 0})
    return [record("reshape", [v], {"shape": value.shape[1:]}) for v in parts]


def cell(mode: str, input: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor | None]
         ) -> list[Tensor]:  # fmt: skip
    """One step for (N, I): each new state (N, H)."""
    x = operand(input)
    values = [None if w is None else operand(w) for w in weights]
    found = _one(mode, False, record("reshape", [x], {"shape": (1, *x.shape)}),
                 [operand(s) for s in states], values, None)
    return [_wrap(v if v.dtype is x.dtype else cast(v, x.dtype)) for v in found[1:]]


def _check(mode: str, input: Tensor, hx: Sequence[Tensor], packed: bool) -> None:
    if len(hx) != MODES[mode][1]:
        raise RuntimeError(f"{mode.lower()} expects {MODES[mode][1]} hidden states, got {len(hx)}")
    wanted = 2 if packed else 3
    if input.dim() != wanted:
        raise RuntimeError(f"{mode.lower()}: input must have {wanted} dimensions, got "
                           f"{input.dim()}")


def _functional(mode: str, name: str) -> Any:
    states = MODES[mode][1]

    def function(input: Tensor, *args: Any) -> Any:
        packed = isinstance(args[1], Tensor) and not isinstance(args[0], (tuple, list)) or (
            states == 2 and isinstance(args[0], Tensor))
        if packed:
            batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
            batch_first = False
        else:
            (hx, params, has_biases, num_layers, dropout, train, bidirectional,
             batch_first) = args
        hidden = [hx] if states == 1 else list(hx)
        _check(mode, input, hidden, packed)
        projected = len(params) == num_layers * (1 + bool(bidirectional)) * (
            3 + 2 * bool(has_biases))
        weights = per_layer(params, mode, has_biases, projected)
        if packed:
            given = PackedSequence(input, batch_sizes)
            padded, lengths = given._as_padded()
            output, last = layers(mode, padded, hidden, weights, bidirectional, dropout, train,
                                  lengths)
            return (given._again(output).data, *last)
        x = input.transpose(0, 1) if batch_first else input
        output, last = layers(mode, x, hidden, weights, bidirectional, dropout, train)
        return (output.transpose(0, 1) if batch_first else output, *last)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{mode} layers: ``(input, hx, params, has_biases, num_layers, dropout, train, "
        "bidirectional, batch_first)``, or for packed data ``(data, batch_sizes, hx, params, "
        "has_biases, num_layers, dropout, train, bidirectional)``.")
    return function


def _cell_function(mode: str, name: str) -> Any:
    states = MODES[mode][1]

    def function(
        input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        found = cell(mode, input, [hx] if states == 1 else hx, (w_ih, w_hh, b_ih, b_hh))
        return found[0] if states == 1 else tuple(found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"One step of {mode} for (N, I); see the op reference."
    return function


declare({"function": [
    *(_functional(name.upper(), name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")),
    *(_cell_function(name.removesuffix("_cell").upper(), name) for name in (
        "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"))]})
