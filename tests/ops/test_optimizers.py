"""The steps of optimizers: types, refusals, and the direction of L-BFGS.

Their values are compared with PyTorch's by tests/torch/test_optimizers.py.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pytest

import lazyloom
from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import lookup
from tests.ops import checks

MINE = checks.ops_of("optimizers")


@pytest.mark.parametrize("name", MINE)
def test_the_rules_types_are_the_definitions(name: str) -> None:
    op = lookup(name)
    for sample in samples(op):
        attributes = op.canonical_attributes(sample.attributes)
        inferred = op.infer([checks.type_of(x) for x in sample.operands], attributes)
        with jax.enable_x64(True):
            found = jax.eval_shape(functools.partial(op.fn, **attributes), *sample.operands)
        found = found if isinstance(found, tuple) else (found,)
        assert [(str(x.dtype), x.shape) for x in found] == [
            (t.dtype.name, t.shape) for t in inferred], sample


N = "float32"
V = "float32 3"


@pytest.mark.parametrize(("name", "types", "attributes", "error", "text"), [
    ("step_sgd", [N, N, N, V, V, V], {}, ShapeError,
     "step_sgd: operand 'share' has shape (3,), expected () as a number has"),
    ("step_sgd", [N] * 4 + [V, V, V], {}, ArgumentError,
     "step_sgd: 3 tensors were given, expected a positive multiple of 2"),
    ("step_sgd", [N] * 4 + [V, "float32 4"], {}, ShapeError,
     "step_sgd: operand 'tensors[1]' has shape (4,), expected (3,) as its parameter 'tensors[0]'"),
    ("step_adam", [N] * 6 + [V, V, V], {}, ArgumentError, "expected a positive multiple of 4"),
    ("step_adam", [N] * 6 + [V, V, V, "float64 3"], {}, DTypeError, "ops never promote"),
    ("step_adafactor", [N] * 7 + [V, V, V, V], {}, ShapeError,
     "expected two axes or more where attribute 'factored' is set"),
    ("step_adafactor", [N] * 7 + ["float32 2 3"] * 2 + ["float32 2 1", "float32 2 3"], {},
     ShapeError, "operand 'tensors[3]' has shape (2, 3), expected (1, 3)"),
    ("step_muon", [N] * 4 + [V] * 3, {"coefficients": (1.0, 2.0, 3.0), "steps": 1}, ShapeError,
     "expected a matrix"),
    ("step_muon", [N] * 4 + [V] * 3, {"coefficients": (1.0,), "steps": 1}, ArgumentError,
     "attribute 'coefficients' is (1.0,), expected three numbers"),
    ("step_muon", [N] * 4 + [V] * 3, {"coefficients": (1.0,) * 3, "steps": 1, "adjust": "x"},
     ArgumentError, "attribute 'adjust' is 'x', expected one of 'original'"),
    ("select_all", ["bool", V, "float32 2"], {}, ShapeError, "expected (3,)"),
    ("lbfgs_direction", [V, V], {}, ShapeError, "operand 'scale' has shape (3,), expected ()"),
    ("lbfgs_direction", [N, N], {}, ShapeError, "expected a vector"),
    ("lbfgs_direction", [N, V, V, V], {}, ArgumentError, "expected a multiple of 3"),
    ("lbfgs_direction", [N, V, V, V, V], {}, ShapeError,
     "operand 'history[2]' has shape (3,), expected ()"),
])  # fmt: skip
def test_refusals(name: str, types: Any, attributes: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        checks.infer(name, types, attributes)
    assert str(caught.value).startswith(f"{name}: ") and text in str(caught.value)


def test_the_direction_of_lbfgs_is_that_of_the_bfgs_update() -> None:
    rng = np.random.default_rng(1)
    n, gradient, scale = 4, rng.normal(size=4), 0.7
    moves = rng.normal(size=(3, n))
    changes = moves * rng.uniform(0.5, 2.0, size=(3, n))
    inverses = 1 / np.sum(changes * moves, 1)
    hessian = scale * np.eye(n)
    for y, s, r in zip(changes, moves, inverses, strict=True):
        turn = np.eye(n) - r * np.outer(s, y)
        hessian = turn @ hessian @ turn.T + r * np.outer(s, s)
    # an entry of zeros has no effect
    given = [np.float64(scale), gradient, np.zeros(n), *changes, np.zeros(n), *moves,
             np.float64(0), *inverses]
    found = lazyloom.record("lbfgs_direction", [lazyloom.from_host(x) for x in given])
    np.testing.assert_allclose(found.read(), -hessian @ gradient, rtol=1e-12)
