"""Functions mapped by vmap: generators are offered the batched op, or it is said why not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen.mapped import with_batches
from tests.codegen.generators import InNumPy
from tests.codegen.programs import Doing


def array(*shape: int) -> Any:
    found = np.asarray(numpy.linspace(-1, 1, int(numpy.prod(shape))).reshape(shape), np.float32)
    lazyloom.sync(found)
    return found


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) + x


def test_a_mapped_program_is_one_region_as_the_batched_one_is() -> None:
    x, w = array(4, 3, 5), array(5, 5)
    mine = Doing("mapped_mine", "matmul tanh add")
    codegen.register(mine)
    program = lazyloom.program_of(lazyloom.vmap(layer, in_axes=(0, None))(x, w))
    assert [op.rpartition(".")[2] for op in program.ops] == ["vmap"] * 3
    with codegen.use("mapped_mine"):
        found = codegen.explain(program)
    assert found.coverage == 1 and len(found.partition.parts) == 1
    (region,) = [p.region for p in found.partition.parts]
    assert [c.op for c in region.calls] == ["matmul", "tanh", "add"]
    assert [t.shape for t in region.operands] == [(4, 3, 5), (5, 5)]
    # the plain program is the same region
    with codegen.use("mapped_mine"):
        plain = codegen.explain(lazyloom.program_of(layer(x, w)))
    assert plain.partition.parts[0].region == region
    # nothing changes in a program without mapped ops
    structure = lazyloom.program_of(layer(x, w)).structure
    assert with_batches(structure) is structure


def test_what_is_no_batched_op_is_told_of() -> None:
    images, weights = array(3, 2, 4, 6, 6), array(3, 4, 4, 3, 3)
    spec: Any = lazyloom.apply
    mapped = lazyloom.vmap(lambda x, w: spec("conv", [x, w]))(images, weights)
    program = lazyloom.program_of(mapped)
    codegen.register(Doing("mapped_convs", "conv"))
    with codegen.use("mapped_convs"):
        found = codegen.explain(program)
    assert not found.partition.parts and found.left_behind() == [0]
    assert "conv.vmap : float32[3,2,4,4,4] -> xla (mapped_convs: it does conv, but not for each " \
           "element of an axis, which is no conv of one more axis)" in found.text()
    # who does not do it for one element, either, says nothing of an axis
    codegen.register(Doing("mapped_nothing", ""))
    with codegen.use("mapped_nothing"):
        found = codegen.explain(program)
    assert found.left_behind() == [] and "no conv.vmap" in found.text()


class Run(InNumPy):
    """Some ops in NumPy."""


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_values_are_xlas(in_axes: Any) -> None:
    pytest.importorskip("jax")
    if engines.available():
        pytest.skip(engines.available())
    a = numpy.random.default_rng(0).standard_normal((4, 3, 5)).astype("f4")
    b = numpy.random.default_rng(1).standard_normal((4, 5, 5)).astype("f4")
    x, y = (v if axis == 0 else v[0] for v, axis in zip((a, b), in_axes, strict=True))
    expected = numpy.stack([
        numpy.tanh((x[k] if in_axes[0] == 0 else x) @ (y[k] if in_axes[1] == 0 else y)) * 2
        for k in range(4)])
    generator = Run("matmul", "tanh", "multiply", name="mapped_numpy")
    codegen.register(generator)
    with codegen.use("mapped_numpy"):
        found = numpy.asarray(lazyloom.vmap(
            lambda u, v: np.tanh(u @ v) * 2, in_axes=in_axes)(np.asarray(x), np.asarray(y)))
        record = lazyloom.last_evaluation()
    assert record is not None and record.regions.text() == "1 by mapped_numpy"
    numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert generator.calls == 1
