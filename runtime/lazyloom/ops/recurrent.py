"""Recurrent layers: one op for all steps of one layer in one direction.

``x`` is (steps, batch, features). The product with the input's weight is one product for all
steps; only the product with the hidden state and elementwise work remain in the loop. The
derivative is written by hand only where that matters: the weights' part of it is taken out of
the loop, as one product over all steps, where ``lax.scan`` would add up one product per step.

Gates are in PyTorch's order. ``lengths`` gives the number of steps of each sequence; outside of
them the state does not change, and the output is 0. ``reverse`` runs from the last step to the
first. Half-precision operands are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._helpers import broadcast_to, constant, convert, widened
from ._jax import jax, jnp, lax
from .cases import Cases, case
from .kinds import Array, Integer, T
from .recurrent_gradients import residuals_of
from .rules import recurrent as rules
from .spec import op
from .traits import HEAVY, Derivative, Residuals, Signature

#: ``(u, p, states, extra) -> (hidden, *other states), arrays kept, by name`` for the input's part
#: ``u`` and the hidden state's part ``p`` of the gates' inputs
Cell = Callable[[Any, Any, tuple[Any, ...], Any], tuple[tuple[Any, ...], dict[str, Any]]]


def _product(x: Any, weight: Any) -> Any:
    """``x @ weight.T``."""
    return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))


def _where(keep: Any, new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
    if keep is None:
        return new
    return tuple(lax.select(lax.broadcast_in_dim(keep, n.shape, (0,)), n, o)
                 for n, o in zip(new, old, strict=True))  # fmt: skip


def _scan(step: Any, carry: Any, rows: Any, steps: int, reverse: bool) -> Any:
    """``lax.scan`` without a loop for a single step."""
    if steps == 1:
        row = jax.tree.map(lambda r: lax.squeeze(r, (0,)), rows)
        carry, results = step(carry, row)
        return carry, jax.tree.map(lambda r: lax.expand_dims(r, (0,)), results)
    return lax.scan(step, carry, rows, reverse=reverse)


def _layer(cell: Cell, reverse: bool) -> Any:
    """A function of a layer's arrays that returns its states after each step.

    Arguments: the input's part of the gates (T, N, G), the first states (N, ...), the hidden
    weight (G, H), the projection's weight or None, the cell's extra argument, and which steps
    count (T, N), or None.
    """

    def forward(u: Any, states: Any, weight: Any, project: Any, extra: Any, keep: Any) -> Any:
        def step(states: Any, row: Any) -> Any:
            u, keep = row
            p = _product(states[0], weight)
            (outputs, *others), _ = cell(u, p, states, extra)
            hidden = outputs if project is None else _product(outputs, project)
            new = _where(keep, (hidden, *others), states)
            return new, (new, p, outputs)

        return _scan(step, states, (u, keep), u.shape[0], reverse)[1]

    def before(states: Any, after: Any) -> Any:
        """Each state before each step."""
        if reverse:
            return lax.concatenate([after[1:], lax.expand_dims(states, (0,))], 0)
        return lax.concatenate([lax.expand_dims(states, (0,)), after[:-1]], 0)

    def rule(arrays: Any, tangents: Any) -> Any:
        u, states, weight, project, extra, keep = arrays
        t_u, t_states, t_weight, t_project, t_extra, _ = tangents
        after, p, outputs = forward(*arrays)
        earlier = jax.tree.map(before, states, after)
        q = _product(earlier[0], t_weight)
        r = None if project is None else _product(outputs, t_project)

        def step(t_states: Any, row: Any) -> Any:
            u, p, states, keep, t_u, q, r = row
            t_p = lax.add(_product(t_states[0], weight), q)
            _, (t_hidden, *others) = jax.jvp(
                lambda *row: cell(*row)[0], (u, p, states, extra), (t_u, t_p, t_states, t_extra))
            if project is not None:
                t_hidden = lax.add(_product(t_hidden, project), r)
            new = _where(keep, (t_hidden, *others), t_states)
            return new, new

        t_after = _scan(step, t_states, (u, p, earlier, keep, t_u, q, r), u.shape[0], reverse)[1]
        return after, t_after

    layer = jax.custom_jvp(lambda *arrays: forward(*arrays)[0])
    layer.defjvp(rule)
    return lambda *arrays: (layer(*arrays), {})


def _keeping(cell: Cell, reverse: bool) -> Any:
    """Like :func:`_layer`, with the arrays that the cell keeps at each step."""

    def forward(u: Any, states: Any, weight: Any, project: Any, extra: Any, keep: Any) -> Any:
        def step(states: Any, row: Any) -> Any:
            u, keep = row
            (output, *others), kept = cell(u, _product(states[0], weight), states, extra)
            hidden = output if project is None else _product(output, project)
            new = _where(keep, (hidden, *others), states)
            return new, (new, kept)

        return _scan(step, states, (u, keep), u.shape[0], reverse)[1]

    return forward


def _run(
    cell: Cell, x: Any, states: tuple[Any, ...], w_input: Any, w_hidden: Any, b_input: Any,
    b_hidden: Any, project: Any, extra: Any, lengths: Any, reverse: bool, layer: Any = _layer,
) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """The results, the states after each step in the dtype of the loop, and the arrays it kept."""
    dtype = x.dtype
    keep = None
    if lengths is not None:
        at = lax.broadcasted_iota(jnp.int64, x.shape[:2], 0)
        keep = lax.lt(at, broadcast_to(convert(lengths, jnp.int64), at.shape))
        # elements outside of a sequence may be NaN, which must not reach a weight's gradient
        x = lax.select(lax.broadcast_in_dim(keep, x.shape, (0, 1)), x, constant(x, 0))
    u = _product(widened(x), widened(w_input))
    for bias in (b_input, b_hidden):
        if bias is not None:
            u = lax.add(u, broadcast_to(widened(bias), u.shape))
    after, kept = layer(cell, reverse)(
        u, tuple(widened(s) for s in states), widened(w_hidden),
        None if project is None else widened(project),
        None if extra is None else widened(extra), keep)
    output = after[0]
    if keep is not None:
        seen = lax.broadcast_in_dim(keep, output.shape, (0, 1))
        output = lax.select(seen, output, constant(output, 0))
    last = 0 if reverse else u.shape[0] - 1
    return tuple(lax.convert_element_type(v, dtype) for v in (
        output, *(lax.index_in_dim(s, last, 0, keepdims=False) for s in after))), after, kept


def _gates(x: Any, count: int) -> list[Any]:
    size = x.shape[-1] // count
    return [lax.slice_in_dim(x, i * size, (i + 1) * size, axis=x.ndim - 1) for i in range(count)]


def _lstm_cell(u: Any, p: Any, states: tuple[Any, ...], extra: Any) -> Any:
    i, f, g, o = _gates(lax.add(u, p), 4)
    i, f, g, o = lax.logistic(i), lax.logistic(f), lax.tanh(g), lax.logistic(o)
    c = lax.add(lax.mul(f, states[1]), lax.mul(i, g))
    return (lax.mul(o, lax.tanh(c)), c), {"gates": lax.concatenate([i, f, g, o], u.ndim - 1)}


def _gru_cell(u: Any, p: Any, states: tuple[Any, ...], extra: Any) -> Any:
    if extra is not None:
        p = lax.add(p, broadcast_to(extra, p.shape))
    (ur, uz, un), (pr, pz, pn) = _gates(u, 3), _gates(p, 3)
    r, z = lax.logistic(lax.add(ur, pr)), lax.logistic(lax.add(uz, pz))
    n = lax.tanh(lax.add(un, lax.mul(r, pn)))
    return (lax.add(n, lax.mul(z, lax.sub(states[0], n))),), {
        "gates": lax.concatenate([r, z, n], u.ndim - 1), "hidden_part": pn}


def _rnn_cell(activation: str) -> Cell:
    if activation == "tanh":
        return lambda u, p, states, extra: ((lax.tanh(lax.add(u, p)),), {})
    # the derivative at 0 is 0, like that of op relu
    return lambda u, p, states, extra: ((jax.nn.relu(lax.add(u, p)),), {})


def _run_rnn(
    x: Any, h: Any, w_input: Any, w_hidden: Any, b_input: Any = None, b_hidden: Any = None,
    lengths: Any = None, *, activation: str, reverse: bool, layer: Any = _layer,
) -> Any:  # fmt: skip
    return _run(_rnn_cell(activation), x, (h,), w_input, w_hidden, b_input, b_hidden, None, None,
                lengths, reverse, layer)


def _run_gru(
    x: Any, h: Any, w_input: Any, w_hidden: Any, b_input: Any = None, b_hidden: Any = None,
    lengths: Any = None, *, reverse: bool, layer: Any = _layer,
) -> Any:  # fmt: skip
    return _run(_gru_cell, x, (h,), w_input, w_hidden, b_input, None, None, b_hidden, lengths,
                reverse, layer)


def _run_lstm(
    x: Any, h: Any, c: Any, w_input: Any, w_hidden: Any, b_input: Any = None, b_hidden: Any = None,
    w_project: Any = None, lengths: Any = None, *, reverse: bool, layer: Any = _layer,
) -> Any:  # fmt: skip
    return _run(_lstm_cell, x, (h, c), w_input, w_hidden, b_input, b_hidden, w_project, None,
                lengths, reverse, layer)


def _kept(op: str, run: Any, states: dict[str, int]) -> Residuals:
    """The residuals of an op: ``states`` are those that its loop keeps, by name."""

    def running(*operands: Any, **attributes: Any) -> Any:
        results, after, kept = run(*operands, layer=_keeping, **attributes)
        return results, {**kept, **{name: after[k] for name, k in states.items()}}

    return residuals_of(op, running, _scan)


@op(
    rules.rnn, T="floating", source="Elman, Finding Structure in Time, 1990; PyTorch RNN",
    execution=HEAVY, derivative=Derivative(residuals=_kept("rnn", _run_rnn, {"states": 0})),
    signature=Signature(outputs=("output", "state")), tolerance=16.0,
    samples=Cases(
        case((3, 2, 3), (2, 2), (2, 3), (2, 2), (2,), (2,), None),
        case((2, 2, 1), (2, 3), (3, 1), (3, 3), None, None, [1, 2]),
        case((1, 1, 2), (1, 2), (2, 2), (2, 2), activation="relu"),
        case((3, 2, 1), (2, 2), (2, 1), (2, 2), (2,), None, [2, 0], reverse=True),
        low=-1.0, high=1.0),
)  # fmt: skip
def rnn(
    x: T, h: T, w_input: T, w_hidden: T, b_input: T = None, b_hidden: T = None,
    lengths: Integer = None, *, activation: str = "tanh", reverse: bool = False,
) -> Array:  # fmt: skip
    """h' = f(x @ w_input.T + b_input + h @ w_hidden.T + b_hidden) for each step in turn.

    f is ``activation``, "tanh" or "relu"; x is (T, N, I), h (N, H), the weights are (H, I) and
    (H, H). Returns the state after each step (T, N, H) and after the last (N, H).
    ``lengths`` (N,) is how many steps count. Raises ShapeError, ArgumentError.
    """
    return _run_rnn(x, h, w_input, w_hidden, b_input, b_hidden, lengths, activation=activation,
                    reverse=reverse)[0]


@op(
    rules.gru, T="floating", source="Cho et al., 2014; PyTorch GRU", execution=HEAVY,
    derivative=Derivative(residuals=_kept("gru", _run_gru, {"states": 0})),
    signature=Signature(outputs=("output", "state")), tolerance=16.0,
    samples=Cases(
        case((3, 2, 3), (2, 2), (6, 3), (6, 2), (6,), (6,), None),
        case((2, 2, 1), (2, 2), (6, 1), (6, 2), None, None, [1, 2]),
        case((1, 1, 2), (1, 1), (3, 2), (3, 1)),
        case((3, 2, 1), (2, 2), (6, 1), (6, 2), None, (6,), [2, 0], reverse=True),
        low=-1.0, high=1.0),
)  # fmt: skip
def gru(
    x: T, h: T, w_input: T, w_hidden: T, b_input: T = None, b_hidden: T = None,
    lengths: Integer = None, *, reverse: bool = False,
) -> Array:  # fmt: skip
    """A gated recurrent unit for each step in turn: h' = n + z * (h - n).

    The reset gate r, the update gate z (both sigmoids) and n = tanh(x's part + r * h's part)
    come from a third each of x @ w_input.T + b_input and h @ w_hidden.T + b_hidden; x is
    (T, N, I), h (N, H), the weights are (3 H, I) and (3 H, H). Returns the state after each
    step (T, N, H) and after the last (N, H). ``lengths`` (N,) is how many steps count. Raises
    ShapeError.
    """
    return _run_gru(x, h, w_input, w_hidden, b_input, b_hidden, lengths, reverse=reverse)[0]


@op(
    rules.lstm, T="floating", source="Hochreiter, Schmidhuber, 1997; PyTorch LSTM", execution=HEAVY,
    derivative=Derivative(residuals=_kept("lstm", _run_lstm, {"cells": 1})),
    signature=Signature(outputs=("output", "state", "cell")), tolerance=16.0,
    samples=Cases(
        case((3, 2, 3), (2, 2), (2, 2), (8, 3), (8, 2), (8,), (8,), None, None),
        case((2, 2, 1), (2, 2), (2, 3), (12, 1), (12, 2), None, None, (2, 3), [1, 2]),
        case((1, 1, 2), (1, 2), (1, 2), (8, 2), (8, 2)),
        case((3, 2, 1), (2, 2), (2, 2), (8, 1), (8, 2), None, (8,), None, [2, 0], reverse=True),
        low=-1.0, high=1.0),
)  # fmt: skip
def lstm(
    x: T, h: T, c: T, w_input: T, w_hidden: T, b_input: T = None, b_hidden: T = None,
    w_project: T = None, lengths: Integer = None, *, reverse: bool = False,
) -> Array:  # fmt: skip
    """Long short-term memory for each step in turn: c' = f * c + i * g, h' = o * tanh(c').

    The gates i, f, o (sigmoids) and g (a tanh) come from a quarter each, in the order i, f, g,
    o, of x @ w_input.T + b_input + h @ w_hidden.T + b_hidden; x is (T, N, I), c (N, C), the
    weights are (4 C, I) and (4 C, H). h (N, H) has the size of c unless it is multiplied by
    ``w_project`` (H, C). Returns h after each step (T, N, H), and h and c after the last.
    ``lengths`` (N,) is how many steps count. Raises ShapeError.
    """
    return _run_lstm(x, h, c, w_input, w_hidden, b_input, b_hidden, w_project, lengths,
                     reverse=reverse)[0]
