"""Every op on its samples, divided over a mesh, beside the same on one device."""

from __future__ import annotations

import zlib
from typing import Any

import numpy
import pytest

import lazyloom
from lazyloom.backends.xla import jax_compat
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import lookup
from tests import quick_options

MESH = lazyloom.make_mesh({"a": 2, "b": 2})
#: of the ops of the table, one in so many without --thorough
OPS = 4
#: samples of an op that are taken with --thorough, of those that can be divided
TAKEN = 3


@pytest.fixture(autouse=True)
def compiled_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    options = [*jax_compat.XLA_OPTIONS, *quick_options.OPTIONS[:2]]
    monkeypatch.setattr(jax_compat, "XLA_OPTIONS", options)


def divisions(shape: tuple[int, ...], seed: int) -> tuple[Any, ...]:
    """A spec that divides a value over as many axes as its shape allows, in an order by seed."""
    axes = ["a", "b"] if seed % 2 else ["b", "a"]
    spec: list[Any] = []
    for n in shape:
        if axes and n and n % 2 == 0:
            spec.append(axes.pop())
        else:
            spec.append(None)
    return tuple(spec)


def divided(name: str, most: int) -> list[Any]:
    """Samples in which an operand can be divided, that many at most."""
    found = []
    for sample in samples(lookup(name)):
        if any(o is not None and any(n and n % 2 == 0 for n in numpy.shape(o))
               for o in sample.operands):
            found.append(sample)
    step = max(1, len(found) // most)
    return found[::step][:most]


def test_results_are_those_of_one_device(
    op_names: list[str], request: pytest.FixtureRequest
) -> None:
    thorough = request.config.getoption("--thorough")
    counted = 0
    for name in op_names:
        op = lookup(name)
        if op.execution.effect or op.execution.places or not (
            thorough or zlib.crc32(name.encode()) % OPS == 0
        ):
            continue
        for sample in divided(name, TAKEN if thorough else 1):
            plain = [None if o is None else lazyloom.from_host(numpy.asarray(o))
                     for o in sample.operands]
            seed = zlib.crc32(name.encode())
            placed = [None if v is None else lazyloom.shard(v, MESH, divisions(v.shape, seed + i))
                      for i, v in enumerate(plain)]
            with lazyloom.options(reproducible=True):
                expected = read(lazyloom.record(name, plain, sample.attributes))
            found = read(lazyloom.record(name, placed, sample.attributes))
            for e, f in zip(expected, found, strict=True):
                compare(name, e, f)
            counted += 1
    assert counted > (30 if thorough else 3)


def read(results: Any) -> list[Any]:
    values = results if isinstance(results, tuple) else (results,)
    return [v.read() for v in values]


def compare(name: str, expected: Any, found: Any) -> None:
    assert expected.dtype == found.dtype and expected.shape == found.shape, name
    if expected.dtype.kind in "biu":
        assert (expected == found).all(), (name, expected, found)
        return
    wide = "complex128" if expected.dtype.kind == "c" else "float64"
    e, f = expected.astype(wide), found.astype(wide)
    assert (numpy.isnan(e) == numpy.isnan(f)).all(), (name, expected, found)
    eps = 2.0 ** -7 if expected.dtype.itemsize == 2 else (
        1e-4 if expected.dtype in (numpy.float32, numpy.complex64) else 1e-9)
    scale = numpy.abs(e[numpy.isfinite(e)]).max(initial=0.0)
    with numpy.errstate(invalid="ignore"):
        near = numpy.isclose(f, e, rtol=eps, atol=eps * min(scale, 1e3), equal_nan=True)
    assert near.all(), (name, expected, found)


@pytest.mark.parametrize("partition", [("a",), (None, "b"), ("b", "a")])
def test_scan_and_cond_on_a_mesh(partition: Any) -> None:
    import lazyloom_numpy as np

    data = numpy.random.default_rng(0).standard_normal((4, 8))
    x = lazyloom.shard(np.asarray(data), MESH, partition)

    def step(carry: Any, row: Any) -> Any:
        new = np.tanh(carry + row)
        return new, new * 2

    last, all_ = lazyloom.scan(step, np.zeros(8), x)
    carry = numpy.zeros(8)
    for k, row in enumerate(data):
        carry = numpy.tanh(carry + row)
        numpy.testing.assert_allclose(numpy.asarray(all_[k]), carry * 2, rtol=1e-12)
    numpy.testing.assert_allclose(numpy.asarray(last), carry, rtol=1e-12)
    chosen = lazyloom.cond(x.sum() > 1e9, lambda v: v + 1, lambda v: v - 1, x)
    numpy.testing.assert_allclose(numpy.asarray(chosen), data - 1)


def test_vmap_and_grad_on_a_mesh() -> None:
    import lazyloom_numpy as np

    data = numpy.random.default_rng(0).standard_normal((4, 8))
    x = lazyloom.shard(np.asarray(data), MESH, ("a", "b"))
    mapped = lazyloom.vmap(lambda row: np.tanh(row) * row.sum())(x)
    expected = numpy.tanh(data) * data.sum(1, keepdims=True)
    numpy.testing.assert_allclose(numpy.asarray(mapped), expected, rtol=1e-12)
    gradient = lazyloom.grad(lambda v: (v**3).sum())(x)
    numpy.testing.assert_allclose(numpy.asarray(gradient), 3 * data**2, rtol=1e-12)
