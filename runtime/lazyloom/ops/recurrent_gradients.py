"""The residuals of recurrent layers, and the derivatives computed from them.

The forward loop keeps the gates, the backward loop computes the cotangents of their inputs, and
those of the weights are products over all steps. ``jax.vjp`` would keep each factor of each gate's
slope separately.

The residuals besides operands are, in float32 for half precision: for ``lstm`` the gates
(T, N, 4 C) and the cells (T, N, C); for ``gru`` the gates (T, N, 3 H), the hidden state's part of
the third gate (T, N, H) and the states (T, N, H); for ``rnn`` the states (T, N, H).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ._helpers import broadcast_to, constant, convert, widened
from ._jax import jnp, lax
from .traits import Residuals


class RecurrentOperands(NamedTuple):
    """The names of a recurrent op's operands, and of the arrays that its loop keeps."""

    operands: tuple[str, ...]
    arrays: tuple[str, ...]


LAYOUTS: Final = {
    "lstm": RecurrentOperands(
        ("x", "h", "c", "w_input", "w_hidden", "b_input", "b_hidden", "w_project", "lengths"),
        ("gates", "cells")),
    "gru": RecurrentOperands(
        ("x", "h", "w_input", "w_hidden", "b_input", "b_hidden", "lengths"),
        ("gates", "hidden_part", "states")),
    "rnn": RecurrentOperands(
        ("x", "h", "w_input", "w_hidden", "b_input", "b_hidden", "lengths"), ("states",)),
}


def kept(op: str, argnums: Sequence[int], present: Sequence[bool]) -> tuple[str, ...]:
    """The names of the residuals, in order, for derivatives by the operands at ``argnums``.

    ``present`` says which operands are present; missing ones at the end may be left out.
    """
    names, arrays = LAYOUTS[op]
    by = {names[a] for a in argnums}
    present_names = {n for n, p in zip(names, present, strict=False) if p}
    residuals = [*arrays, "h", "w_hidden"]
    if op == "lstm":
        residuals.append("c")
    if "w_project" in present_names:
        residuals.append("w_project")
    if "lengths" in present_names:
        residuals.append("lengths")
    if "w_input" in by:
        residuals.append("x")
    if "x" in by:
        residuals.append("w_input")
    return tuple(residuals)


def _times(x: Any, weight: Any) -> Any:
    """``x @ weight``."""
    return lax.dot_general(x, weight, (((x.ndim - 1,), (0,)), ((), ())))


def _over_steps(x: Any, y: Any) -> Any:
    """``sum of x[t].T @ y[t]`` over all steps, as one product."""
    return lax.dot_general(x, y, (((0, 1), (0, 1)), ((), ())))


def _one_minus(x: Any) -> Any:
    return lax.sub(constant(x, 1), x)


def _parts(x: Any, count: int) -> list[Any]:
    size = x.shape[-1] // count
    return [lax.slice_in_dim(x, k * size, (k + 1) * size, axis=x.ndim - 1) for k in range(count)]


class BackwardStep(NamedTuple):
    """A backward step.

    Attributes:
        inputs: the cotangent of the input's part of the gates.
        hidden: that of the hidden state's part; the same array if they are equal.
        states: those of the states before, without the part through ``hidden``, None for 0.
    """

    inputs: Any
    hidden: Any
    states: tuple[Any, ...]


def _lstm(row: dict[str, Any], d: Sequence[Any]) -> BackwardStep:
    """``d``: of the hidden state, before a projection, and of the cell."""
    i, f, g, o = _parts(row["gates"], 4)
    t = lax.tanh(row["cells"])
    c = lax.add(d[1], lax.mul(lax.mul(d[0], o), _one_minus(lax.mul(t, t))))
    z = lax.concatenate([
        lax.mul(lax.mul(c, g), lax.mul(i, _one_minus(i))),
        lax.mul(lax.mul(c, row["before"]), lax.mul(f, _one_minus(f))),
        lax.mul(lax.mul(c, i), _one_minus(lax.mul(g, g))),
        lax.mul(lax.mul(d[0], t), lax.mul(o, _one_minus(o)))], c.ndim - 1)
    return BackwardStep(z, z, (None, lax.mul(c, f)))


def _gru(row: dict[str, Any], d: Sequence[Any]) -> BackwardStep:
    r, z, n = _parts(row["gates"], 3)
    through = lax.mul(lax.mul(d[0], _one_minus(z)), _one_minus(lax.mul(n, n)))
    of_r = lax.mul(lax.mul(through, row["hidden_part"]), lax.mul(r, _one_minus(r)))
    of_z = lax.mul(lax.mul(d[0], lax.sub(row["before"], n)), lax.mul(z, _one_minus(z)))
    last = through.ndim - 1
    return BackwardStep(lax.concatenate([of_r, of_z, through], last),
                lax.concatenate([of_r, of_z, lax.mul(through, r)], last), (lax.mul(d[0], z),))


def _tanh(row: dict[str, Any], d: Sequence[Any]) -> BackwardStep:
    z = lax.mul(d[0], _one_minus(lax.mul(row["states"], row["states"])))
    return BackwardStep(z, z, (None,))


def _relu(row: dict[str, Any], d: Sequence[Any]) -> BackwardStep:
    z = lax.select(lax.gt(row["states"], constant(row["states"], 0)), d[0], constant(d[0], 0))
    return BackwardStep(z, z, (None,))


_STEPS: Final[dict[str, Callable[..., BackwardStep]]] = {
    "lstm": _lstm, "gru": _gru, "tanh": _tanh, "relu": _relu}


def _before(first: Any, after: Any, reverse: bool) -> Any:
    """Each state before each step."""
    first = lax.expand_dims(first, (0,))
    if after.shape[0] == 1:
        return first
    return lax.concatenate(
        [after[1:], first] if reverse else [first, after[:-1]], 0)


def residuals_of(op: str, run: Callable[..., Any], scan: Callable[..., Any]) -> Residuals:
    """The residuals of an op.

    ``run(*operands, **attributes)`` returns the results, and the arrays that the loop keeps by
    name; ``scan(step, carry, rows, steps, reverse)`` returns the last carry and each step's rows.
    """
    names, arrays = LAYOUTS[op]

    def forward(
        *operands: Any, argnums: tuple[int, ...], **attributes: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results, of_loop = run(*operands, **attributes)
        by_name = {**dict(zip(names, operands, strict=False)), **of_loop}
        wanted = kept(op, argnums, [o is not None for o in operands])
        return results, tuple(by_name[n] for n in wanted)

    def backward(
        types: Sequence[Any], residuals: Sequence[Any], cotangents: Sequence[Any], *,
        argnums: tuple[int, ...], reverse: bool, activation: str = "",
    ) -> tuple[Any, ...]:  # fmt: skip
        wanted = kept(op, argnums, [t is not None for t in types])
        r = {n: (v if n == "lengths" else widened(v))
             for n, v in zip(wanted, residuals, strict=True)}
        by = {names[a] for a in argnums}
        steps = r[arrays[0]].shape[0]
        keep = None
        if "lengths" in r:
            at = lax.broadcasted_iota(jnp.int64, r[arrays[0]].shape[:2], 0)
            keep = lax.lt(at, broadcast_to(convert(r["lengths"], jnp.int64), at.shape))
        d_out, *d_last = [None if c is None else widened(c) for c in cotangents]
        if d_out is not None and keep is not None:
            d_out = _kept_only(keep, d_out)
        rows: dict[str, Any] = {n: r[n] for n in arrays}
        rows["before"] = _before(r["c"], r["cells"], reverse) if op == "lstm" else (
            _before(r["h"], r["states"], reverse))
        project = r.get("w_project")
        first = tuple(constant(r[n], 0) if d is None else d
                      for n, d in zip("hc", d_last, strict=False))
        backward_step = _STEPS[activation or op]

        def step(d: Any, row: Any) -> Any:
            row, d_out, keep = row
            if d_out is not None:
                d = (lax.add(d[0], d_out), *d[1:])
            unprojected = d if project is None else (_times(d[0], project), *d[1:])
            back = backward_step(row, unprojected)
            hidden = _times(back.hidden, r["w_hidden"])
            if back.states[0] is not None:
                hidden = lax.add(hidden, back.states[0])
            before = (hidden, *back.states[1:])
            inputs, p, outer = back.inputs, back.hidden, d[0]
            if keep is not None:
                before = tuple(_select(keep, n, o) for n, o in zip(before, d, strict=True))
                inputs, p, outer = (_select(keep, v, constant(v, 0)) for v in (inputs, p, outer))
            same = back.hidden is back.inputs
            return before, (inputs, None if same else p, None if project is None else outer)

        d_first, (d_inputs, d_hidden, d_outer) = scan(
            step, first, (rows, d_out, keep), steps, not reverse)
        if d_hidden is None:
            d_hidden = d_inputs
        by_operand: dict[str, Any] = dict(zip("hc", d_first, strict=False))
        hidden = None
        if op == "lstm" and by & {"w_hidden", "w_project"}:
            outputs = lax.mul(_parts(r["gates"], 4)[3], lax.tanh(r["cells"]))
            if "w_project" in by:
                by_operand["w_project"] = _over_steps(d_outer, outputs)
            hidden = outputs if project is None else lax.dot_general(
                outputs, project, (((2,), (1,)), ((), ())))
            if keep is not None:
                hidden = lax.select(
                    lax.broadcast_in_dim(keep, hidden.shape, (0, 1)), hidden,
                    broadcast_to(r["h"], hidden.shape))
        elif op != "lstm":
            hidden = r["states"]
        if "w_hidden" in by:
            by_operand["w_hidden"] = _over_steps(d_hidden, _before(r["h"], hidden, reverse))
        if "w_input" in by:
            x = r["x"] if keep is None else _kept_only(keep, r["x"])
            by_operand["w_input"] = _over_steps(d_inputs, x)
        if "x" in by:
            by_operand["x"] = _times(d_inputs, r["w_input"])
        for bias, d in (("b_input", d_inputs), ("b_hidden", d_hidden)):
            if bias in by:
                by_operand[bias] = lax.reduce(d, np.zeros((), d.dtype), lax.add, (0, 1))
        return tuple(
            lax.convert_element_type(by_operand[names[a]], types[a].dtype) for a in argnums)

    return Residuals(forward, backward)


def _select(keep: Any, new: Any, old: Any) -> Any:
    return lax.select(lax.broadcast_in_dim(keep, new.shape, (0,)), new, old)


def _kept_only(keep: Any, x: Any) -> Any:
    return lax.select(lax.broadcast_in_dim(keep, x.shape, (0, 1)), x, constant(x, 0))
