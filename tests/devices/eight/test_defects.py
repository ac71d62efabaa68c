"""Defects of XLA that guards keep programs from: JAX alone still has them.

A test that fails says that upstream has mended its defect: then the guard can go from that version
on, and ``docs/compiler_defects.md`` says so.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import numpy
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STUCK = 12

FLIGHT = """
import jax, jax.numpy as jnp, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(numpy.array(jax.devices()), ("a",))
w = jax.device_put(numpy.ones((64, 64), "float32"), NamedSharding(mesh, P()))
x = jax.device_put(numpy.ones((64, 64), "float32"), NamedSharding(mesh, P("a")))
step = jax.jit(lambda w, x: w - 1e-6 * (x.T @ (x @ w)), out_shardings=NamedSharding(mesh, P()))
for _ in range(1000):
    w = step(w, x)
w.block_until_ready()
print("ended")
"""


def rows(array: Any) -> Any:
    mesh = Mesh(numpy.array(jax.devices()), ("a",))
    return jax.device_put(array, NamedSharding(mesh, PartitionSpec("a")))


def test_programs_in_flight_wait_for_each_other(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--thorough"):
        pytest.skip("with --thorough: it takes as long as one waits for it")
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", FLIGHT], capture_output=True, timeout=STUCK)


def test_a_reduction_by_another_function_is_not_implemented() -> None:
    def first(x: Any) -> Any:
        return jax.lax.reduce(
            x, numpy.int32(0), lambda a, b: jax.lax.select(a != 0, a, b), (0,))

    with pytest.raises(Exception, match="Unsupported reduction computation"):
        jax.jit(first)(rows(numpy.arange(16, dtype="int32")))


def test_a_divided_array_is_read_in_part() -> None:
    x = rows(numpy.arange(16, dtype="int32"))
    read, _ = x._single_device_array_to_np_array_did_copy()
    assert read.shape == (2,)
