"""Losses of sequences whose alignment is not known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._helpers import constant, convert, widened
from ._jax import jax, jnp, lax
from .cases import Cases, case
from .kinds import Array, Integer, T
from .rules import nn as rules
from .spec import op
from .traits import HEAVY, Derivative


def _logs(*shape: int) -> Any:
    def make(rng: np.random.Generator, dtype: Any) -> np.ndarray[Any, Any]:
        x = rng.normal(size=shape)
        logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
        return np.asarray(logs, dtype.numpy)

    return make


@op(
    rules.ctc_loss, T="floating", execution=HEAVY,
    derivative=Derivative(residuals=True, differentiable=("log_probabilities",)),
    source="Graves et al., Connectionist Temporal Classification, 2006", tolerance=32.0,
    # intentionally, the derivative is that by the logits whose log_softmax the operand is
    samples=Cases(
        case(_logs(5, 2, 4), [[1, 2], [3, 3]], [5, 4], [2, 2]),
        case(_logs(6, 3, 3), [[1, 1, 2], [2, 0, 0], [1, 2, 1]], [6, 3, 2], [3, 0, 3]),
        case(_logs(3, 1, 3), [[0, 1]], [3], [2], blank=2),
        case(_logs(2, 1, 3), np.zeros((1, 0), np.int64), [2], [0]), smooth=False),
)  # fmt: skip
def ctc_loss(
    log_probabilities: T, targets: Integer, input_lengths: Integer, target_lengths: Integer, *,
    blank: int = 0,
) -> Array:  # fmt: skip
    """-log of the probability of all alignments of a target with an input, for each of N.

    ``log_probabilities`` (T, N, classes) are results of log_softmax, ``targets`` (N, S) hold
    classes, of which the first ``target_lengths`` (N,) count, as do the first ``input_lengths``
    (N,) steps. ``blank`` is the class that stands for none. inf where nothing aligns.

    The derivative is PyTorch's: that with respect to the logits behind the operand, the sum of
    which over the classes is 0. Raises ShapeError, ArgumentError.
    """
    steps, batch, _ = log_probabilities.shape
    logs = widened(log_probabilities)
    labels = convert(targets, jnp.int64)
    length = convert(input_lengths, jnp.int64)
    # a blank before, between and after the labels
    places = 2 * labels.shape[1] + 1
    blanks = lax.full((batch, labels.shape[1], 1), blank, jnp.int64)
    pairs = lax.concatenate([blanks, lax.expand_dims(labels, (2,))], 2)
    spread = lax.concatenate([lax.reshape(pairs, (batch, places - 1)),
                              lax.full((batch, 1), blank, jnp.int64)], 1)
    # a label may follow the one before it without a blank unless both are equal
    before = lax.pad(spread, np.int64(blank), [(0, 0, 0), (2, -2, 0)]) if places > 2 else spread
    skips = lax.bitwise_and(lax.ne(spread, constant(spread, blank)), lax.ne(spread, before))
    emitted = jnp.take_along_axis(
        logs, lax.broadcast_in_dim(spread, (steps, batch, places), (1, 2)), axis=2)
    never = constant(emitted[0], -math.inf) if steps else lax.full((batch, places), -math.inf,
                                                                   logs.dtype)
    first = lax.eq(lax.broadcasted_iota("int32", never.shape, 1),
                   lax.full(never.shape, 0, "int32"))
    start = lax.select(first, constant(never, 0), never)
    fill = np.array(-np.inf, logs.dtype)

    def step(state: Any, time_and_emission: Any) -> Any:
        time, emission = time_and_emission
        from_one = lax.pad(state, fill, [(0, 0, 0), (1, -1, 0)])
        from_two = lax.pad(state, fill, [(0, 0, 0), (2, -2, 0)]) if places > 2 else never
        moved = lax.add(_log_sum(state, from_one, lax.select(skips, from_two, never)), emission)
        runs = lax.broadcast_in_dim(lax.lt(lax.broadcast_in_dim(time, length.shape, ()), length),
                                    state.shape, (0,))
        return lax.select(runs, moved, state), None

    state, _ = lax.scan(step, start, (lax.iota(jnp.dtype("int64"), steps), emitted))
    last = lax.mul(convert(target_lengths, jnp.int64), constant(length, 2))
    ends = [jnp.take_along_axis(state, lax.expand_dims(lax.clamp(
        constant(last, 0), at, constant(at, places - 1)), (1,)), axis=1)[:, 0]
        for at in (last, lax.sub(last, constant(last, 1)))]
    empty = lax.eq(last, constant(last, 0))
    none = lax.full_like(ends[1], -math.inf)
    loss = lax.neg(_log_sum(ends[0], lax.select(empty, none, ends[1]), none))
    # a term that the derivative of log_softmax takes off again; its value is 0
    counted = lax.lt(lax.broadcasted_iota("int64", logs.shape, 0),
                     lax.broadcast_in_dim(length, logs.shape, (1,)))
    mass = lax.reduce_sum(lax.select(counted, lax.exp(logs), constant(logs, 0)), (0, 2))
    loss = lax.add(loss, lax.sub(mass, lax.stop_gradient(mass)))
    return convert(loss, log_probabilities.dtype)


def _log_sum(*xs: Any) -> Any:
    """log(sum(exp(x))), -inf with derivative 0 where all are -inf."""
    best = jax.lax.stop_gradient(xs[0])
    for x in xs[1:]:
        best = lax.max(best, jax.lax.stop_gradient(x))
    none = lax.eq(best, constant(best, -math.inf))
    best = lax.select(none, constant(best, 0), best)
    total = None
    for x in xs:
        part = lax.exp(lax.sub(x, best))
        total = part if total is None else lax.add(total, part)
    total = lax.select(none, constant(best, 1), total)
    return lax.select(none, constant(best, -math.inf), lax.add(lax.log(total), best))
