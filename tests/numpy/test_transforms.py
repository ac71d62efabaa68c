"""Derivatives of and maps over functions written for NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import lazyloom as ll
import lazyloom_numpy as np
from lazyloom.errors import ReadForbiddenError

pytestmark = pytest.mark.usefixtures("quick_compiler")

RNG = onp.random.default_rng(3)
POINTS = RNG.normal(size=(6, 2))
IMAGE = RNG.normal(size=(3, 5, 4))
MATRIX = RNG.normal(size=(3, 4, 4))


def check(ours: Any, expected: Any) -> None:
    leaves = jax.tree.leaves(ours, is_leaf=lambda t: isinstance(t, ll.Tensor))
    wanted = jax.tree.leaves(expected)
    assert len(leaves) == len(wanted)
    for a, b in zip(leaves, wanted, strict=True):
        assert isinstance(a, np.ndarray)
        assert a.dtype == b.dtype and a.shape == b.shape
        onp.testing.assert_allclose(onp.asarray(a), onp.asarray(b), rtol=1e-9, atol=1e-11)


#: written once for both modules: from one element of the data to what is compared
FUNCTIONS = {
    "rosenbrock": (lambda m, x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, POINTS),
    "softmax": (lambda m, x: m.log(m.sum(m.exp(x - m.max(x)))) * m.linalg.norm(x), POINTS),
    "statistics": (lambda m, x: m.var(x, axis=0).sum() + m.median(x) + m.std(x), IMAGE),
    "slices": (lambda m, x: (x[1:, ::-1] * x[:-1] + x[:1, 1]).sum(axis=1)[::2].prod(), IMAGE),
    "gathered": (lambda m, x: (x[m.array([0, 2, 2]), 1:3] ** 3).sum() + x.T.ravel()[7], IMAGE),
    "joined": (lambda m, x: m.concatenate([x, 2 * x]).max() + m.stack([x, x]).mean(), IMAGE),
    "chosen": (lambda m, x: m.where(x > 0, m.sqrt(m.abs(x)), m.clip(x, -0.5, 2)).sum(), IMAGE),
    "ordered": (lambda m, x: (m.sort(x, axis=0) * m.arange(20.0).reshape(5, 4)).sum(), IMAGE),
    "einsum": (lambda m, x: m.einsum("ij,kj->ik", x, x).trace() + m.outer(x[0], x[1]).sum(), IMAGE),
    "algebra": (lambda m, x: m.linalg.det(x) + m.linalg.solve(x + m.eye(4), x[0])[1], MATRIX),
    "running": (lambda m, x: (m.cumsum(x, axis=0) * m.cumprod(x, axis=1)).sum(), MATRIX),
    "stencil": (lambda m, x: m.tanh(m.pad(x, 1)[2:, 1:-1] - m.roll(x, 1, axis=1)).sum(), MATRIX),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_functions_are_mapped_and_differentiated(name: str) -> None:
    written, data = FUNCTIONS[name]

    def everything(t: Any, m: Any, x: Any) -> Any:
        def f(x: Any) -> Any:
            return written(m, x)

        return (
            t.vmap(f)(x), t.vmap(t.grad(f))(x), t.grad(lambda x: t.vmap(f)(x).sum())(x),
            t.jvp(t.grad(f), (x[0],), (x[1],)),
        )  # fmt: skip

    with jax.enable_x64(True):
        reference = jax.jit(lambda x: everything(jax, jnp, x))(data)
        expected = jax.tree.map(onp.asarray, reference)
    # what is pending makes one program of all that depends on it
    check(everything(ll, np, np.asarray(data) + 0.0), expected)


def test_hessians_and_jacobians() -> None:
    def f(m: Any) -> Any:
        return lambda x: m.sum(m.sin(x) * x[::-1] ** 2)

    def g(m: Any) -> Any:
        return lambda x: m.stack([m.sum(x), m.prod(x)])

    x = POINTS[:, 0]
    with jax.enable_x64(True):
        expected = jax.jit(lambda x, y: [
            jax.hessian(f(jnp))(x), jax.jacobian(g(jnp))(x), jax.vmap(jax.jacobian(g(jnp)))(y)])(
            x, POINTS)
    x, y = np.asarray(x), np.asarray(POINTS)
    check([ll.hessian(f(np))(x), ll.jacobian(g(np))(x), ll.vmap(ll.jacobian(g(np)))(y)], expected)


def newton(x: Any) -> Any:
    """The square root of x by steps until they are small: how many depends on the data."""
    y = x
    while abs(y * y - x) > 1e-12:
        y = (y + x / y) / 2
    return y


def test_a_loop_until_it_converges_is_differentiated() -> None:
    x = np.asarray(7.0)
    assert float(ll.grad(newton)(x)) == pytest.approx(0.5 / 7**0.5)
    value, slope = ll.jvp(newton, (x,), (2.0,))
    assert float(value) == pytest.approx(7**0.5) and float(slope) == pytest.approx(7**-0.5)
    assert float(ll.hessian(newton)(x)) == pytest.approx(-0.25 * 7**-1.5)
    with pytest.raises(ReadForbiddenError, match="lazyloom.vmap"):
        ll.vmap(newton)(np.asarray([1.0, 2.0]))


def test_elements_are_numpys_scalars_and_writes_stay_inside() -> None:
    def f(row: Any, k: Any) -> Any:
        assert type(k) is type(x[0, 0]) is not type(row) is np.ndarray
        out = np.zeros_like(row)
        out[1:] = row[:-1]
        out[k] += 10
        row *= 2
        return out, row.sum()

    x, k = np.asarray(MATRIX[0]), np.arange(4)
    out, sums = ll.vmap(f)(x, k)
    expected = onp.zeros((4, 4))
    expected[:, 1:] = MATRIX[0][:, :-1]
    expected[onp.arange(4), onp.arange(4)] += 10
    onp.testing.assert_allclose(onp.asarray(out), expected)
    onp.testing.assert_allclose(onp.asarray(sums), 2 * MATRIX[0].sum(axis=1))
    onp.testing.assert_array_equal(onp.asarray(x), MATRIX[0])

    total = np.zeros(4)

    def accumulate(row: Any) -> Any:
        nonlocal total
        total += row
        return row

    with pytest.raises(ValueError, match="is written in it"):
        ll.vmap(accumulate)(x)
    assert total.tolist() == [0, 0, 0, 0]


def test_random_numbers_in_a_mapped_function() -> None:
    rng = np.random.default_rng(0)
    same = onp.asarray(ll.vmap(lambda x: x + rng.normal(size=3))(np.zeros(4)))
    assert (same == same[0]).all() and len(set(same[0])) == 3
    # the state has moved on once
    assert not (onp.asarray(rng.normal(size=3)) == same[0]).any()


def test_shapes_that_depend_on_what_is_mapped_are_errors() -> None:
    x = np.asarray(MATRIX[0])
    for f in (np.nonzero, np.unique, lambda r: r[r > 0], lambda r: print(r), lambda r: r.tolist()):
        with pytest.raises(ReadForbiddenError, match="keep shapes independent of it"):
            ll.vmap(f)(x)
    # not where they depend on what is the same for all
    mask = np.asarray([True, False, True, True])
    onp.testing.assert_array_equal(
        onp.asarray(ll.vmap(lambda r: r[mask])(x)), MATRIX[0][:, [0, 2, 3]])


@pytest.mark.compiled
def test_an_optimizer_step_of_newtons_method() -> None:
    # the whole step is recorded and runs as one program
    def f(x: Any) -> Any:
        return np.sum((x - 1) ** 4 + x ** 2)

    def step(x: Any) -> Any:
        return x - np.linalg.solve(ll.hessian(f)(x), ll.grad(f)(x))

    x = np.asarray([0.0, 3.0])
    step(x).tolist()
    before = ll.stats()["executions"]
    assert step(x).shape == (2,) and ll.stats()["executions"] == before
    for _ in range(12):
        x = step(x)
    onp.testing.assert_allclose(onp.asarray(ll.grad(f)(x)), 0, atol=1e-10)
