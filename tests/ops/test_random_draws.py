"""Random draws: bits, independence, moments, ranges and gradients in the parameters."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from lazyloom.dtypes import uint32
from lazyloom.ops import lookup
from tests.ops.checks import run

KEY = np.array([3, 5], np.uint32)


def test_threefry_test_vector() -> None:
    """The vector of Random123's kat_vectors for Threefry-2x32 with 20 rounds, halves mixed."""
    found = run("random_bits", np.zeros(2, np.uint32), shape=(1,), dtype=uint32)
    assert found.tolist() == [0x6B200159 ^ 0x99BA4EFE]


def test_numbers_do_not_depend_on_jax_configuration() -> None:
    usual = run("random_normal", KEY, shape=(4,))
    with jax.threefry_partitionable(False):
        np.testing.assert_array_equal(run("random_normal", KEY, shape=(4,)), usual)
    with jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(run("random_normal", KEY, shape=(4,)), usual)


@pytest.mark.slow
def test_bits_are_those_of_jax() -> None:
    with jax.threefry_partitionable(True), jax.enable_x64(True):
        key = jax.random.wrap_key_data(KEY, impl="threefry2x32")
        for name in ("uint8", "uint16", "uint32", "uint64"):
            expected = np.asarray(jax.random.bits(key, (3, 5), name))
            np.testing.assert_array_equal(
                run("random_bits", KEY, shape=(3, 5), dtype=name), expected)
        expected = np.asarray(jax.random.key_data(jax.random.split(key, 3)))
        np.testing.assert_array_equal(run("random_split", KEY, num=3), expected)
        expected = np.asarray(jax.random.key_data(jax.random.fold_in(key, 9)))
        np.testing.assert_array_equal(run("random_fold_in", KEY, np.int64(9)), expected)


def test_keys_give_independent_numbers() -> None:
    keys = run("random_split", KEY, num=3)
    folded = [run("random_fold_in", KEY, np.int64(i)) for i in (7, 8)]
    drawn = [run("random_uniform", k, np.float32(0), np.float32(1), shape=(50,))
             for k in [KEY, *keys, *folded]]
    for i in range(len(drawn)):
        for j in range(i):
            assert abs(np.corrcoef(drawn[i], drawn[j])[0, 1]) < 0.6
            assert not np.array_equal(drawn[i], drawn[j])


@pytest.mark.parametrize(("name", "params", "mean", "std"), [
    ("random_uniform", [1.0, 3.0], 2.0, 2 / math.sqrt(12)),
    ("random_normal", [], 0.0, 1.0),
    ("random_normal", [2.0, 3.0], 2.0, 3.0),
    ("random_truncated_normal", [0.0, math.inf], math.sqrt(2 / math.pi),
     math.sqrt(1 - 2 / math.pi)),
    ("random_exponential", [], 1.0, 1.0),
    ("random_gumbel", [], 0.5772156649, math.pi / math.sqrt(6)),
    ("random_laplace", [], 0.0, math.sqrt(2)),
    ("random_logistic", [], 0.0, math.pi / math.sqrt(3)),
    ("random_gamma", [4.0], 4.0, 2.0),
    ("random_beta", [2.0, 2.0], 0.5, math.sqrt(0.05)),
    ("random_poisson", [4.0], 4.0, 2.0),
    ("random_geometric", [0.5], 2.0, math.sqrt(2)),
    ("random_bernoulli", [0.25], 0.25, math.sqrt(0.1875)),
])
def test_moments(name: str, params: list[float], mean: float, std: float) -> None:
    n = 20000
    drawn = run(name, KEY, *map(np.float32, params), shape=(n,)).astype(float)
    assert abs(drawn.mean() - mean) < 5 * std / math.sqrt(n)
    assert abs(drawn.std() - std) < 0.05 * std


@pytest.mark.slow
def test_ranges() -> None:
    drawn = run("random_integers", KEY, np.int8(-3), np.int8(4), shape=(2000,))
    assert sorted(set(drawn.tolist())) == list(range(-3, 4))
    drawn = run("random_integers", KEY, np.int8(-3), np.int8(4), shape=(2000,), endpoint=True)
    assert sorted(set(drawn.tolist())) == list(range(-3, 5))
    # all there are, and three quarters of them: the upper third is as frequent as the others
    low, high = np.int64(-(2**63)), np.int64(2**63 - 1)
    drawn = run("random_integers", KEY, low, high, shape=(3000,), endpoint=True)
    assert abs((drawn < 0).mean() - 0.5) < 0.05
    drawn = run("random_integers", KEY, np.uint64(0), np.uint64(3 * 2**62), shape=(3000,))
    assert abs((drawn >= np.uint64(2**63)).mean() - 1 / 3) < 0.05
    assert run("random_integers", KEY, np.int32(5), np.int32(5), shape=(2,)).tolist() == [5, 5]
    uniform = run("random_uniform", KEY, np.float32(-1), np.float32(2), shape=(5000,))
    assert -1 <= uniform.min() < -0.9 and 1.9 < uniform.max() < 2
    assert sorted(run("random_permutation", KEY, n=50).tolist()) == list(range(50))
    logits = np.log(np.array([0.5, 0.5, 1e-30], np.float32))
    drawn = run("random_categorical", KEY, logits, shape=(4000,))
    counts = np.bincount(drawn, minlength=3)
    assert counts[2] == 0 and abs(counts[0] - 2000) < 200
    complex_ = run("random_normal", KEY, shape=(5000,), dtype="complex64")
    assert abs(complex_.real.std() - math.sqrt(0.5)) < 0.03


@pytest.mark.slow
def test_random_numbers_have_gradients_in_their_parameters() -> None:
    def of(name: str, *params: float) -> list[float]:
        op = lookup(name)

        def loss(*given: Any) -> Any:
            attributes = op.canonical_attributes({"shape": (2000,)})
            return jax.numpy.mean(op.fn(KEY, *given, **attributes))

        given = [jax.numpy.float32(p) for p in params]
        return [float(g) for g in jax.grad(loss, tuple(range(len(given))))(*given)]

    np.testing.assert_allclose(of("random_uniform", 0.0, 1.0), [0.5, 0.5], atol=0.03)
    np.testing.assert_allclose(of("random_normal", 0.0, 1.0), [1.0, 0.0], atol=0.1)
    np.testing.assert_allclose(of("random_gamma", 3.0), [1.0], atol=0.1)
