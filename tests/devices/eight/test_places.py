"""Values on single devices: where they are, copies between them, gradients, errors."""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.errors import PlacementError

DEFAULT = os.environ.get("LAZYLOOM_DEVICE", "cpu:0")
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]


def place(x: object) -> str:
    return lazyloom.placement_of(x).device


def test_the_devices_have_names() -> None:
    assert lazyloom.devices() == tuple(f"cpu:{n}" for n in range(8))
    assert lazyloom.default_device() == DEFAULT


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (4, 5)])
def test_data_comes_back_as_it_went(dtype: str, shape: tuple[int, ...]) -> None:
    data = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = np.asarray(data)
    for name in ("cpu:1", "cpu:6", DEFAULT, "cpu:2"):
        x = lazyloom.to_device(x, name)
        assert place(x) == ("default:0" if name == DEFAULT else name)
    back = numpy.asarray(x)
    assert back.dtype == data.dtype and back.shape == shape
    assert (back == data).all()


def test_a_result_is_where_its_operands_are() -> None:
    x = lazyloom.to_device(np.arange(6.0), "cpu:3")
    y = np.tanh(x) * 2 + x
    assert place(y) == "cpu:3"
    data = numpy.arange(6.0)
    numpy.testing.assert_allclose(numpy.asarray(y), numpy.tanh(data) * 2 + data, rtol=1e-15)
    assert place(y[1:3]) == place(y.sum()) == "cpu:3"


def test_values_of_the_default_device_go_along() -> None:
    x = lazyloom.to_device(np.ones((2, 3), dtype="float32"), "cpu:5")
    offset = np.asarray(numpy.float32([1, 2, 3]))
    for _ in range(3):
        y = x + offset + np.zeros(3, dtype="float32")
        assert numpy.asarray(y).tolist() == [[2, 3, 4]] * 2
        assert numpy.asarray(offset * 2).tolist() == [2, 4, 6]
    assert place(offset) == "default:0"


def test_two_other_devices_are_an_error_at_the_line() -> None:
    x, y = (lazyloom.to_device(np.ones(3), name) for name in ("cpu:1", "cpu:2"))
    with pytest.raises(PlacementError, match="add: operands are on device cpu:1 and on device"):
        x + y
    assert issubclass(PlacementError, RuntimeError)
    with pytest.raises(PlacementError, match="'cpu:17' was asked for, expected one of cpu:0"):
        lazyloom.to_device(x, "cpu:17")


def test_a_pipeline_goes_from_device_to_device_and_its_gradient_back() -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(5, 5) for _ in range(3)]
    x = torch.randn(4, 5)
    expected = x
    for layer in layers:
        expected = torch.tanh(layer(expected))
    (expected * expected).sum().backward()
    grads = [layer.weight.grad.numpy().copy() for layer in layers]
    for n, layer in enumerate(layers):
        for p in layer.parameters():
            p.grad = None
            p.data = lazyloom.to_device(p.data, f"cpu:{n + 1}")
    y = x
    for n, layer in enumerate(layers):
        y = torch.tanh(layer(lazyloom.to_device(y, f"cpu:{n + 1}")))
    assert place(y) == "cpu:3"
    numpy.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=2e-6)
    (y * y).sum().backward()
    for n, (layer, grad) in enumerate(zip(layers, grads, strict=True)):
        assert place(layer.weight.grad) == f"cpu:{n + 1}"
        numpy.testing.assert_allclose(layer.weight.grad.numpy(), grad, rtol=2e-5, atol=1e-6)


def test_a_value_that_left_and_came_back_meets_itself() -> None:
    """A -> B -> A: what depends on both runs after both."""
    a = np.arange(4.0) * 3
    b = lazyloom.to_device(a, "cpu:1") + 1
    c = lazyloom.to_device(b, DEFAULT) + a
    d = lazyloom.to_device(c * 2, "cpu:1") + b
    assert numpy.asarray(d).tolist() == [3.0 + 15 * n - 0 for n in range(4)]


def test_values_shared_by_two_devices() -> None:
    """What is pending on the default device runs once, and goes to both."""
    shared = np.arange(3.0) + 1
    x = lazyloom.to_device(np.ones(3), "cpu:1") * shared
    y = lazyloom.to_device(np.ones(3), "cpu:2") * shared
    assert numpy.asarray(x).tolist() == numpy.asarray(y).tolist() == [1, 2, 3]
    assert numpy.asarray(shared).tolist() == [1, 2, 3]


def test_writes_stay_where_the_tensor_is() -> None:
    x = lazyloom.to_device(np.zeros((2, 3)), "cpu:4" if DEFAULT != "cpu:4" else "cpu:0")
    where = place(x)
    x[0] = numpy.ones(3)
    x[1, 1] = 7
    x += np.ones(3)
    view = x[:, 2]
    view *= 10
    assert place(x) == where
    assert numpy.asarray(x).tolist() == [[2, 2, 20], [1, 8, 10]]
    y = np.zeros(3)
    y[:] = x[0]
    assert place(y) == "default:0" and numpy.asarray(y).tolist() == [2, 2, 20]


def test_second_derivatives_go_through_a_move() -> None:
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    y = (lazyloom.to_device(x, "cpu:2") ** 3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == pytest.approx([0.75, 6.75]) and h.tolist() == pytest.approx([3.0, 9.0])


def test_programs_of_two_devices_are_two() -> None:
    before = lazyloom.stats()["programs_compiled"] + lazyloom.stats()["programs_from_disk"]
    for name in ("cpu:1", "cpu:2", "cpu:1", "cpu:2"):
        x = lazyloom.to_device(np.arange(5.0), name)
        assert float((x * 3.25 - 1).sum()) == 27.5
    after = lazyloom.stats()["programs_compiled"] + lazyloom.stats()["programs_from_disk"]
    assert after - before == 2


def test_arrays_say_and_choose_where_they_are() -> None:
    info = np.__array_namespace_info__()
    others = [name for name in lazyloom.devices() if name != DEFAULT]
    assert info.devices() == ["cpu", *others] and info.default_device() == "cpu"
    x = np.ones((2, 3))
    assert x.device == "cpu" and x.to_device("cpu") is x and x.to_device(DEFAULT) is x
    y = x.to_device("cpu:6")
    assert y.device == "cpu:6" and (y * 2).device == "cpu:6"
    assert y.to_device("cpu").device == "cpu" and y.to_device("cpu:6").tolist() == x.tolist()
    made = [
        np.zeros(3, device="cpu:6"), np.ones(3, device="cpu:6"), np.full(3, 2, device="cpu:6"),
        np.arange(3, device="cpu:6"), np.eye(3, device="cpu:6"), np.empty(3, device="cpu:6"),
        np.asarray([1, 2], device="cpu:6"), np.linspace(0, 1, 5, device="cpu:6"),
        np.zeros_like(x, device="cpu:6"), np.astype(x, np.float32, device="cpu:6"),
        np.full_like(x, 3, device="cpu:6"), np.asanyarray(x, device="cpu:6"),
        np.zeros_like(y), np.ones_like(y, int), np.full_like(y, 3, shape=(2,)), np.empty_like(y),
    ]  # fmt: skip
    for a in made:
        assert a.device == "cpu:6"
        assert (numpy.asarray(a) == numpy.asarray(a.to_device("cpu"))).all()
    with pytest.raises(ValueError, match="device 'gpu:0' is not known; expected None or one of"):
        np.zeros(3, device="gpu:0")
    assert np.zeros_like(y, device="cpu").device == "cpu"


def test_a_gradient_is_where_its_tensor_is() -> None:
    x = torch.ones(3, device="cpu:6", requires_grad=True)
    with pytest.raises(RuntimeError, match="different device: cpu:2, expected cpu:6"):
        x.grad = torch.ones(3, device="cpu:2")
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] is on cpu:2, expected cpu:6"):
        (x * 2).backward(torch.ones(3, device="cpu:2"))
    (x * 2).backward(torch.ones(3))
    assert x.grad is not None and x.grad.device == x.device


def test_tensors_say_and_choose_where_they_are() -> None:
    x = torch.ones(2, 3)
    assert x.device == torch.device("cpu") and x.to("cpu") is x and x.cpu() is x
    y = x.to("cpu:6")
    assert y.device == torch.device("cpu:6") and (y + 1).device == torch.device("cpu", 6)
    assert y.to("cpu:6") is y and y.cpu().device == torch.device("cpu")
    assert y.to("cpu:2", torch.float64).dtype is torch.float64
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    expected = net(x).detach().numpy()
    net.to("cpu:6")
    assert {p.device.index for p in net.parameters()} == {6}
    net.train()
    z = net(y)
    z.sum().backward()
    assert z.device.index == 6 and net[0].weight.grad.device.index == 6
    numpy.testing.assert_allclose(z.detach().numpy(), expected, atol=1e-6)
    net.cpu()
    assert {str(p.device) for p in net.parameters()} == {"cpu"}
    with pytest.raises(RuntimeError, match="'cuda' is not available"):
        x.to("cuda")
    there = "cpu:0, cpu:1, cpu:2, cpu:3, cpu:4, cpu:5, cpu:6, cpu:7; the environment variable JAX_"
    for make in (lambda: x.to("cpu:8"), lambda: torch.zeros(2, device="cpu:8")):
        with pytest.raises(RuntimeError, match=f"'cpu:8' is not available, expected .* {there}"):
            make()


MESH = lazyloom.make_mesh({"a": 2, "b": 2})


def on_a_device(x: object) -> object:
    return lazyloom.to_device(lazyloom.to_device(x, "cpu:1"), "cpu:2")


def divided(x: object) -> object:
    return lazyloom.shard(x, MESH, ("b",))


def constrained(x: object) -> object:
    return lazyloom.shard(divided(x) * 1.0, MESH, ("a",))


@pytest.mark.parametrize("move", [on_a_device, divided, constrained])
def test_derivatives_of_third_order_go_through_moves(move: Any) -> None:
    def f(x: Any, move: Any = move) -> Any:
        return (move(x) ** 4).sum() + (move(x * 2) ** 3)[0]

    data = numpy.array([0.5, 1.5, -2.0, 1.0])
    expected = numpy.zeros((4, 4, 4))
    for i, x in enumerate(data):
        expected[i, i, i] = 24 * x + (48 if i == 0 else 0)
    third = lazyloom.jacrev(lazyloom.hessian(f))(np.asarray(data))
    numpy.testing.assert_allclose(numpy.asarray(third), expected, atol=1e-12)


@pytest.mark.parametrize("move", [on_a_device, divided])
def test_moves_are_mapped_over_an_axis(move: Any) -> None:
    data = numpy.arange(12.0).reshape(3, 4)
    mapped = lazyloom.vmap(lambda row: move(row) * 2)
    total, back = lazyloom.vjp(mapped, np.asarray(data))
    assert numpy.asarray(total).tolist() == (2 * data).tolist()
    (gradient,) = back(total)
    assert place(gradient) == "default:0"
    assert numpy.asarray(gradient).tolist() == (4 * data).tolist()
    _, along = lazyloom.jvp(mapped, (np.asarray(data),), (np.asarray(data),))
    assert place(along) == place(total) and numpy.asarray(along).tolist() == (2 * data).tolist()


def test_cotangents_of_other_devices_have_gradients() -> None:
    x = lazyloom.to_device(np.arange(3.0), "cpu:1")

    def f(c: Any) -> Any:
        _, back = lazyloom.vjp(lambda v: v ** 2, x)
        return (back(lazyloom.to_device(c, "cpu:2"))[0] ** 2).sum()

    gradient = lazyloom.grad(f)(np.ones(3))
    assert numpy.asarray(gradient).tolist() == [0.0, 8.0, 32.0]


def test_memory_of_the_host_is_shared_with_the_default_device() -> None:
    buffer = numpy.zeros(1024, numpy.uint8)
    start = -buffer.ctypes.data % 64  # as XLA takes it
    data = buffer[start:start + 64 * 8].view(numpy.float64)
    data[:] = numpy.arange(64)
    shared = np.from_dlpack(data, copy=False)
    assert place(shared) == "default:0" and shared.__dlpack_device__() == (1, 0)
    assert numpy.shares_memory(numpy.from_dlpack(shared), data)
    copied = np.from_dlpack(data, copy=True)
    data[0] = 7
    assert numpy.asarray(copied).tolist() == list(range(64))
    assert numpy.asarray(lazyloom.to_device(shared, "cpu:2"))[0] == 7


def test_a_copy_of_memory_of_another_order_is_row_major() -> None:
    data = numpy.asfortranarray(numpy.arange(64.0).reshape(8, 8))
    assert (numpy.asarray(np.from_dlpack(data) + 0) == data).all()
