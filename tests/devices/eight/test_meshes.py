"""Values divided over a mesh: specs, propagation, programs, writes, many programs in flight."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom.distributed as dist
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.errors import ArgumentError, PlacementError
from lazyloom.placements import Mesh, parsed

MESH = lazyloom.make_mesh({"data": 4, "model": 2})


def spec(x: Any) -> Any:
    return lazyloom.placement_of(x).spec


def random(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def test_a_mesh_is_a_value() -> None:
    assert MESH == lazyloom.make_mesh({"data": 4, "model": 2}) and MESH.size == 8
    assert MESH.shape == {"data": 4, "model": 2}
    assert MESH != lazyloom.make_mesh({"data": 2, "model": 4})
    few = lazyloom.make_mesh({"x": 2}, ["cpu:6", "cpu:3"])
    assert few.devices == (6, 3)
    for mesh, axes in ((few, "x"), (MESH, ("model", "data"))):
        placement = lazyloom.placement_of(lazyloom.shard(np.ones((8, 8)), mesh, (None, axes)))
        assert parsed(placement.text) is placement


@pytest.mark.parametrize(("axes", "names", "message"), [
    ({}, None, "expected a mapping of names to sizes"),
    ({"a": 0}, None, "axis 'a' has size 0, expected an int of 1 or more"),
    ({"a": True}, None, "axis 'a' has size True"),
    ({"a b": 2}, None, "an axis is called 'a b'"),
    ({"a": 9}, None, "axes of 9 places were given, but there are 8 devices"),
    ({"a": 2}, ["cpu:0"], "1 different devices were given for axes of 2 places"),
    ({"a": 2}, ["cpu:0", "gpu:0"], "the device 'gpu:0' was given, expected some of cpu:0"),
])  # fmt: skip
def test_a_mesh_that_cannot_be(axes: Any, names: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        lazyloom.make_mesh(axes, names)


@pytest.mark.parametrize(("partition", "message"), [
    (("rows",), "names the axis 'rows', expected one of the mesh's: data, model"),
    (("data", "data"), "names the axis 'data' twice"),
    ((0,), "has 0 for a dimension, expected None, the name of one of the mesh's axes"),
    (3, "the partition spec is 3, expected a tuple"),
    (("data", None, "model"), "for 3 dimensions was given for a value of shape"),
    ((None, "data"), "dimension 1 of shape .8, 6. is divided into 4 parts"),
    ((("data", "model"),), None),
])  # fmt: skip
def test_a_spec_that_does_not_fit(partition: Any, message: str | None) -> None:
    x = np.ones((8, 6))
    if message is None:
        assert spec(lazyloom.shard(x, MESH, partition)) == (("data", "model"),)
        return
    with pytest.raises(PlacementError, match=message):
        lazyloom.shard(x, MESH, partition)


@pytest.mark.parametrize("partition", [
    (), ("data",), (None, "model"), ("data", "model"), (("model", "data"),), (None, ("data",)),
])  # fmt: skip
def test_data_comes_back_as_it_went(partition: Any) -> None:
    data = random(8, 16)
    x = lazyloom.shard(np.asarray(data), MESH, partition)
    assert (numpy.asarray(x) == data).all()
    assert (numpy.asarray(lazyloom.shard(x, MESH, ("model",))) == data).all()
    assert (numpy.asarray(lazyloom.to_device(x, "cpu:3")) == data).all()
    assert float(x[3, 5]) == data[3, 5] and x[1].tolist() == data[1].tolist()


def test_results_tell_how_they_are_divided() -> None:
    a, w = random(16, 32), random(32, 8)
    x = lazyloom.shard(np.asarray(a), MESH, ("data",))
    y = np.tanh(x @ lazyloom.shard(np.asarray(w), MESH, (None, "model")))
    assert spec(y) is None
    numpy.testing.assert_allclose(numpy.asarray(y), numpy.tanh(a @ w), rtol=1e-4, atol=1e-5)
    assert spec(y) == (("data",), ("model",))
    assert spec(y.T) is None and (numpy.asarray(y.T) == numpy.asarray(y).T).all()
    z = lazyloom.shard(y * 2, MESH, ("model",))
    assert spec(z) == (("model",),)
    assert (numpy.asarray(z) == numpy.asarray(y) * 2).all()


def test_what_has_no_operands_is_part_of_the_program() -> None:
    x = lazyloom.shard(np.asarray(random(8, 4)), MESH, ("data",))
    before = lazyloom.stats()["executions"]
    y = (x + np.ones((8, 4), dtype="float32") * np.arange(4, dtype="float32")).sum()
    float(y)
    assert lazyloom.stats()["executions"] == before + 1


def test_a_trace_on_a_mesh_is_matched_and_compiles_once() -> None:
    w = lazyloom.shard(np.asarray(random(16, 16)), MESH, (None, "model"))
    x = lazyloom.shard(np.asarray(random(8, 16)), MESH, ("data",))
    expected = numpy.asarray(w).astype("float64")
    data = random(8, 16)
    known = 0
    for step in range(12):
        w = w - 0.01 * (x.T @ (x @ w))
        lazyloom.sync(w)
        expected = expected - 0.01 * (data.T @ (data @ expected))
        s = lazyloom.stats()
        total = s["programs_compiled"] + s["programs_from_disk"]
        if step == 1:
            known = total
    assert total == known
    numpy.testing.assert_allclose(numpy.asarray(w), expected, rtol=1e-3, atol=1e-4)


def test_two_hundred_programs_without_a_read() -> None:
    """Two in flight may wait for each other's threads for ever."""
    w = lazyloom.shard(np.zeros((8, 8)), MESH, ())
    x = lazyloom.shard(np.ones((8, 8)), MESH, ("data",))
    for _ in range(200):
        w = w + x.sum(axis=0) / 8
        lazyloom.sync(w)
    assert (numpy.asarray(w) == 200).all()


def test_threads_run_programs_on_one_mesh() -> None:
    found: list[float] = []

    def work(n: int) -> None:
        x = lazyloom.shard(np.full((8, 8), float(n)), MESH, ("data", "model"))
        for _ in range(30):
            x = x + x.sum() * 0
            lazyloom.sync(x)
        found.append(float(x.sum()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(found) == [64.0 * n for n in range(4)]


def test_writes_keep_the_division() -> None:
    data = random(8, 8)
    x = lazyloom.shard(np.asarray(data), MESH, ("data", "model"))
    expected = data.copy()
    for target in (x, expected):
        target[2] = 5
        target[:, 1] += 1
        target *= 2
        target[0, 0] = -1
        target[target > 9] = 0
    assert (numpy.asarray(x) == expected).all()
    assert spec(x) == (("data",), ("model",))


def test_two_meshes_are_an_error() -> None:
    x = lazyloom.shard(np.ones((8, 8)), MESH, ("data",))
    y = lazyloom.shard(np.ones((8, 8)), lazyloom.make_mesh({"x": 8}), ("x",))
    with pytest.raises(PlacementError, match="multiply: operands are on the mesh"):
        x * y
    with pytest.raises(PlacementError, match="and on device cpu:1"):
        x * lazyloom.to_device(np.ones(8), "cpu:1")
    z = lazyloom.shard(y * 3, MESH, ("model",)) + x
    assert (numpy.asarray(z) == 4).all()


def test_the_text_of_a_program_names_devices() -> None:
    x = lazyloom.shard(np.ones((8, 8)), MESH, ("data",))
    text = lazyloom.program_of((x + 1).value).text()
    assert "on cpu:0,1,2,3,4,5,6,7[data=4,model=2](data)" in text


def test_the_record_names_the_collectives() -> None:
    x = lazyloom.shard(np.asarray(random(16, 32)), MESH, ("data",))
    w = lazyloom.shard(np.asarray(random(32, 8)), MESH, (None, "model"))
    lazyloom.sync((x @ w).sum(axis=0))
    evaluation = lazyloom.last_evaluation()
    (found,) = evaluation.collectives
    assert (found.name, found.types, found.nbytes) == ("all-reduce", ("f32[4]",), 16)
    assert found.op == "sum"
    assert "all-reduce for sum of f32[4]: 16 bytes on each device" in evaluation.text()


def test_a_donated_parameter_is_written_over() -> None:
    w = lazyloom.shard(np.zeros((64, 64)), MESH, ("data",))
    for _ in range(4):
        w = w + 1
        lazyloom.sync(w)
    assert lazyloom.last_evaluation().bytes_donated == 64 * 64 * 8
    assert (numpy.asarray(w) == 4).all()


def test_random_numbers_do_not_depend_on_the_division() -> None:
    import lazyloom_torch as torch

    drawn = []
    for partition in (None, (), ("data",), (None, "model")):
        torch.manual_seed(3)
        x = torch.zeros(16, 16)
        if partition is not None:
            x = lazyloom.shard(x, MESH, partition)
        drawn.append(torch.nn.functional.dropout(x + 1, 0.5).numpy())
        drawn.append((x + torch.randn(16, 16)).numpy())
    for k in range(2, 8, 2):
        assert (drawn[k] == drawn[0]).all() and (drawn[k + 1] == drawn[1]).all()


def test_a_gradient_comes_back_to_a_mesh_from_a_device() -> None:
    """What arrives is divided as XLA chooses there, which is not where it came from."""
    import lazyloom_torch as torch

    data = random(8, 8)
    x = lazyloom.shard(torch.tensor(data), MESH, ("data",)).requires_grad_()
    for _ in range(3):
        x.grad = None
        y = lazyloom.to_device(torch.tanh(x), "cpu:1")
        (y * y).sum().backward()
        expected = 2 * numpy.tanh(data) * (1 - numpy.tanh(data) ** 2)
        numpy.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4, atol=1e-6)
        assert lazyloom.placement_of(x.grad).mesh == MESH
        h = torch.tanh(x)
        y = lazyloom.to_device(h, "cpu:1")
        (cotangent,) = torch.autograd.grad((y * y).sum(), h)
        lazyloom.sync(cotangent, wait=True)
        numpy.testing.assert_allclose(
            (cotangent + x.detach()).numpy(), 2 * numpy.tanh(data) + data, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [2**14, 2**14 + 8, 2**16])
@pytest.mark.parametrize("captured", [False, True])
def test_long_extents_give_what_one_device_gives(rows: int, captured: bool) -> None:
    data = random(rows, 4)

    def f(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        return p.T @ x, p.argmax(axis=0), np.cumsum(p, axis=0)[-1], (x > 0).sum()

    run = lazyloom.jit(f) if captured else f
    for _ in range(4):
        found = run(lazyloom.shard(np.asarray(data), MESH, (("data", "model"),)))
    wide = data.astype("float64")
    e = numpy.exp(wide - wide.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    for a, b, at_most in zip(found, (p.T @ wide, p.argmax(axis=0), p.sum(axis=0), (wide > 0).sum()),
                             (1e-3, 0, 1e-3, 0), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=at_most, atol=at_most * 10)


def test_a_mesh_of_one_device() -> None:
    mesh = lazyloom.make_mesh({"data": 1}, ["cpu:3"])
    x = lazyloom.shard(np.arange(6.0).reshape(3, 2), mesh, ("data",))
    y = lazyloom.shard(np.tanh(x), mesh, ("data",)).sum(axis=1)
    numpy.testing.assert_allclose(
        numpy.asarray(y), numpy.tanh(numpy.arange(6.0).reshape(3, 2)).sum(1), rtol=1e-12)
    assert spec(y) == ()


def test_a_failure_names_the_line() -> None:
    with pytest.raises(ArgumentError, match="shard: the mesh is a dict"):
        lazyloom.shard(np.ones(8), {"data": 4}, ("data",))
    assert isinstance(MESH, Mesh)


def test_parts_of_numpy_become_tensors() -> None:
    mesh = lazyloom.make_mesh({"data": 8})
    part = numpy.arange(16.0).reshape(8, 2)
    made = dist.array_from_local(part, mesh, ("data",))
    part[:] = 0
    for x in (np.asarray(made), torch.as_tensor(made)):
        assert lazyloom.placement_of(x).spec == (("data",),)
        assert x.tolist() == numpy.arange(16.0).reshape(8, 2).tolist()
    with pytest.raises(ArgumentError, match="array_from_local: a list was given, expected a"):
        dist.array_from_local([1.0], mesh, ())
