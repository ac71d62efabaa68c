"""Recurrent layers against plain loops, and what their derivatives cost."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.dtypes import dtype_named
from lazyloom.errors import ArgumentError, ShapeError
from lazyloom.ops.derived import BACKWARD, FORWARD, types_attributes
from lazyloom.ops.spec import lookup
from lazyloom.types import tensor_type
from tests import quick_options
from tests.ops import checks

MINE = checks.ops_of("recurrent")


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _part(x: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
    return x @ weight.T + (0 if bias is None else bias)


def _steps(step: Any, x: np.ndarray, states: list[np.ndarray], lengths: Any, reverse: bool) -> Any:
    output = [np.zeros_like(states[0]) for _ in x]
    states = [s.copy() for s in states]
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        new = step(x[t], *states)
        for n in range(x.shape[1]):
            if lengths is None or t < lengths[n]:
                for s, v in zip(states, new):
                    s[n] = v[n]
                output[t][n] = states[0][n]
    return (np.stack(output), *states)


def _rnn(x: Any, h: Any, w: Any, v: Any, b: Any = None, d: Any = None, lengths: Any = None, *,
         activation: str, reverse: bool) -> Any:  # fmt: skip
    f = np.tanh if activation == "tanh" else lambda a: np.maximum(a, 0)
    return _steps(lambda x, h: [f(_part(x, w, b) + _part(h, v, d))], x, [h], lengths, reverse)


def _gru(x: Any, h: Any, w: Any, v: Any, b: Any = None, d: Any = None, lengths: Any = None, *,
         reverse: bool) -> Any:  # fmt: skip
    def step(x: Any, h: Any) -> Any:
        xr, xz, xn = np.split(_part(x, w, b), 3, -1)
        hr, hz, hn = np.split(_part(h, v, d), 3, -1)
        z = _sigmoid(xz + hz)
        return [(1 - z) * np.tanh(xn + _sigmoid(xr + hr) * hn) + z * h]

    return _steps(step, x, [h], lengths, reverse)


def _lstm(x: Any, h: Any, c: Any, w: Any, v: Any, b: Any = None, d: Any = None, p: Any = None,
          lengths: Any = None, *, reverse: bool) -> Any:  # fmt: skip
    def step(x: Any, h: Any, c: Any) -> Any:
        i, f, g, o = np.split(_part(x, w, b) + _part(h, v, d), 4, -1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        return [h if p is None else h @ p.T, c]

    return _steps(step, x, [h, c], lengths, reverse)


REFERENCES: dict[str, Any] = {"rnn": _rnn, "gru": _gru, "lstm": _lstm}


@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    for run in checks.run_all(name):
        checks.check_types(run)
        checks.check_values(run, REFERENCES[name])
        checks.check_slope(run)


@pytest.mark.parametrize(("name", "types", "attributes", "error", "text"), [
    ("rnn", ["float32 0 2 3", "float32 2 4", "float32 4 3", "float32 4 4"], {}, ShapeError,
     "rnn: operand 'x' has shape (0, 2, 3), expected 3 axes (steps, batch, features) and 1 step or "
     "more"),
    ("gru", ["float32 5 2 3", "float32 1 4", "float32 12 3", "float32 12 4"], {}, ShapeError,
     "gru: operand 'h' has shape (1, 4), expected (2, size) for the 2 sequences of operand 'x'"),
    ("gru", ["float32 5 2 3", "float32 2 4", "float32 4 3", "float32 12 4"], {}, ShapeError,
     "gru: operand 'w_input' has shape (4, 3), expected (12, 3), the gates and the features of "
     "operand 'x'"),
    ("lstm", ["float32 5 2 3", "float32 2 4", "float32 2 5", "float32 20 3", "float32 20 4"], {},
     ShapeError,
     "lstm: operands 'h' (2, 4) and 'c' (2, 5) differ in size, expected the same without operand "
     "'w_project'"),
    ("rnn", ["float32 5 2 3", "float32 2 4", "float32 4 3", "float32 4 4"],
     {"activation": "sigmoid"}, ArgumentError,
     "rnn: attribute 'activation' is 'sigmoid', expected one of 'tanh', 'relu'"),
])  # fmt: skip
def test_refusals(name: str, types: Any, attributes: Any, error: Any, text: str) -> None:
    checks.refuses(name, types, attributes, error, text)


def _arrays(gates: int) -> tuple[list[np.ndarray], int]:
    rng = np.random.default_rng(gates)
    shapes = [(5, 2, 3), (2, 4), *([(2, 4)] if gates == 4 else []), (4 * gates, 3), (4 * gates, 4)]
    return [rng.uniform(-1, 1, s) for s in shapes], len(shapes) - 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "gates"), [("gru", 3), ("lstm", 4)])
def test_second_derivatives(name: str, gates: int) -> None:
    """The derivative of the gradient along a direction, against central differences."""
    arrays, at = _arrays(gates)
    entry = lookup(name)

    def gradient(weight: Any) -> Any:
        def loss(weight: Any) -> Any:
            return jax.numpy.sum(entry.fn(*arrays[:at], weight, reverse=False)[0] ** 2)

        return jax.grad(loss)(weight)

    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(a) for a in arrays]
        d = jax.numpy.asarray(np.random.default_rng(1).normal(size=arrays[at].shape))
        found, ahead, behind = jax.jit(lambda w: (
            jax.jvp(gradient, (w,), (d,))[1], gradient(w + 1e-5 * d), gradient(w - 1e-5 * d)),
            compiler_options=quick_options.AS_FUSED)(arrays[at])
        np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-7)


def test_a_weights_gradient_is_one_product() -> None:
    """No loop of the backward pass makes, or adds to, an array as large as a weight."""
    arrays, at = _arrays(4)
    arrays[0] = np.concatenate([arrays[0]] * 3)

    def loss(weight: Any) -> Any:
        return jax.numpy.sum(lookup("lstm").fn(*arrays[:at], weight, reverse=False)[0])

    with jax.enable_x64(True):
        text = str(jax.make_jaxpr(jax.grad(loss))(arrays[at]))
    scans = re.findall(r"scan\[.*?\n", text)
    assert scans
    made = re.findall(r"(\w+):f64\[16,4\] = (\w+)", text)
    assert [kind for _, kind in made if kind == "dot_general"], text
    assert not [kind for _, kind in made if kind in ("add_any", "add")], text


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, [3, 5], [0, 1]])
@pytest.mark.parametrize("name", ["rnn", "rnn relu", "gru", "lstm", "lstm projected"])
def test_derivatives_from_what_is_kept(name: str, lengths: Any, reverse: bool) -> None:
    """Beside ``jax.vjp`` of the definition, by all operands and by some."""
    op = lookup(name.split()[0])
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[op.name]
    hidden = 3 if name == "lstm projected" else 4
    rng = np.random.default_rng(1)
    shapes = [(5, 2, 3), (2, hidden), *([(2, 4)] if gates == 4 else []), (4 * gates, 3),
              (4 * gates, hidden), (4 * gates,), (4 * gates,)]  # fmt: skip
    operands: list[Any] = [rng.uniform(-1, 1, s) for s in shapes]
    if op.name == "lstm":
        operands.append(rng.uniform(-1, 1, (3, 4)) if hidden == 3 else None)
    operands.append(None if lengths is None else np.array(lengths))
    attributes: dict[str, Any] = {"reverse": reverse}
    if op.name == "rnn":
        attributes["activation"] = "relu" if name.endswith("relu") else "tanh"
    every = tuple(k for k, x in enumerate(operands[:-1]) if x is not None)
    types = tuple(None if x is None else tensor_type(x.shape, dtype_named(x.dtype.name))
                  for x in operands)  # fmt: skip
    count = len(op.signature.outputs)
    chosen = [(every, tuple(range(count))), (every[1:], (0,)), (every[:1], (count - 1,)),
              (every[-2:], (0, 1))]  # fmt: skip

    def everything(operands: list[Any], weights: list[Any]) -> Any:
        results = op.fn(*operands, **attributes)
        compared = []
        for (argnums, outnums), cotangents in zip(chosen, weights, strict=True):
            def given(*some: Any, argnums: Any = argnums) -> Any:
                full = list(operands)
                for k, x in zip(argnums, some):
                    full[k] = x
                return op.fn(*full, **attributes)

            _, pull = jax.vjp(given, *[operands[k] for k in argnums])
            made = op.derive(FORWARD).fn(*operands, forward_argnums=argnums, **attributes)
            found = op.derive(BACKWARD).fn(
                *made[count:], *[cotangents[k] for k in outnums], **types_attributes(types),
                backward_argnums=argnums, backward_outnums=outnums, **attributes)
            compared.append((
                made[:count], (found,) if len(argnums) == 1 else found, pull(tuple(cotangents))))
        return results, compared

    shapes = [t.shape for t in op.infer(types, attributes)]
    assert len(shapes) == count
    weights = [[rng.uniform(-1, 1, shape) if k in outnums else np.zeros(shape)
                for k, shape in enumerate(shapes)] for _, outnums in chosen]
    with jax.enable_x64(True):
        results, compared = jax.device_get(quick_options.jit(everything)(operands, weights))
    for (argnums, _), (made, found, pulled) in zip(chosen, compared, strict=True):
        for a, b in zip(made, results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
        for k, a, b in zip(argnums, found, pulled, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13, err_msg=str(k))
