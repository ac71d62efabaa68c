"""A backward op repeats its forward op: XLA merges the two, or the entry asks for residuals.

For each heavy op without residuals the program of the op and of its derivative, which
computes the op again, has as many heavy instructions as ``jax.vjp`` of the whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.ops import lookup, table
from lazyloom.ops.derived import FORWARD
from lazyloom.ops.samples import Sample, samples
from lazyloom.ops.spec import OpDef

_HEAVY = re.compile(
    r" (dot|convolution|sort|scatter|gather|while|custom-call|reduce-window|select-and-scatter)\(")

CHECKED = [n for n, o in table().items()
           if o.execution.heavy and o.derivative.differentiable and not o.derivative.residuals
           and not n.startswith("random_") and o.T != "complex"]  # fmt: skip


def _heavy(f: Callable[..., Any], *args: Any) -> Counter[str]:
    return Counter(_HEAVY.findall(jax.jit(f).lower(*args).compile().as_text()))


def _differentiable(op: OpDef, sample: Sample) -> list[int]:
    """Positions of the operands that get a gradient, if they are float32."""
    return [i for i, o in enumerate(sample.operands)
            if o is not None and o.dtype == np.float32 and o.size > 1 and op.has_gradient(i)]


def _function(op: OpDef, sample: Sample, at: list[int]) -> Callable[..., list[Any]]:
    attributes = op.canonical_attributes(sample.attributes)

    def call(*values: Any) -> list[Any]:
        operands = list(sample.operands)
        for i, v in zip(at, values, strict=True):
            operands[i] = v
        found = op.fn(*map(_array, operands), **attributes)
        return [r for r in (found if isinstance(found, tuple) else (found,))
                if r.dtype == np.float32]

    return call


def _array(operand: Any) -> Any:
    return None if operand is None else jax.numpy.asarray(operand)


@pytest.mark.parametrize("name", CHECKED)
def test_merges(name: str) -> None:
    op = lookup(name)
    sample = next((s for s in samples(op) if _differentiable(op, s)), None)
    assert sample is not None
    at = _differentiable(op, sample)
    call = _function(op, sample, at)
    values = [sample.operands[i] for i in at]

    def whole(values: Any, weights: Any) -> Any:
        results, backward = jax.vjp(call, *values)
        return results, backward(weights)

    def op_by_op(values: Any, weights: Any) -> Any:
        return call(*values), jax.vjp(call, *values)[1](weights)

    with jax.enable_x64(True):
        weights = [np.ones(r.shape, np.float32) for r in jax.eval_shape(call, *values)]
        assert _heavy(op_by_op, values, weights) == _heavy(whole, values, weights)


def test_residuals_are_the_same_under_another_derivative() -> None:
    op = lookup("eig").derive(FORWARD)

    def forward(x: Any) -> Any:
        return op.fn(x, forward_argnums=(0,))

    with jax.enable_x64(True):
        x = jax.ShapeDtypeStruct((2, 2), "float64")
        alone = jax.eval_shape(forward, x)
        under = jax.eval_shape(lambda x: jax.vjp(forward, x)[0], x)
    assert [(r.shape, r.dtype) for r in alone] == [(r.shape, r.dtype) for r in under]
