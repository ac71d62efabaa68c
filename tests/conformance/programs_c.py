"""The programs of test_programs.py against the C ABI: loom_apply, loom_grad, loom_tensor_assign.

Only the calls are Python's; each is one of ``lazyloom.h`` in the shared library.
"""

from __future__ import annotations

from typing import Any

import lazyloom_capi.client
from lazyloom.dtypes import float32, float64
from tests.conformance.frontends import C, drivers


class Ops:
    """``ops.add(x, y)`` is loom_apply("add", ...); keywords are attributes."""

    def __getattr__(self, name: str) -> Any:
        return lambda *operands, **attributes: driver().client.apply(name, operands, attributes)


ops: Any = Ops()


def driver() -> C:
    found = drivers()[0]
    assert isinstance(found, C)
    return found


def assign(target: Any, value: Any) -> None:
    client = driver().client
    client.check(client.lib.loom_tensor_assign(target.handle, value.handle))


def require_grad(*tensors: Any) -> None:
    client = driver().client
    for x in tensors:
        client.check(client.lib.loom_tensor_require_grad(x.handle, True))


def taken(function: str, x: Any) -> Any:
    """The tensor that loom_tensor_detach or loom_tensor_gradient gives."""
    client = driver().client
    found = client.out("loom_tensor *", getattr(client.lib, function), x.handle)
    return lazyloom_capi.client.Tensor(client, found)


def backward(loss: Any, *leaves: Any) -> list[Any]:
    """What loom_backward() collects for the leaves, and forgets."""
    client = driver().client
    outputs = client.ffi.new("loom_tensor[]", [loss.handle])
    client.check(client.lib.loom_backward(outputs, 1, client.ffi.NULL))
    found = [taken("loom_tensor_gradient", x) for x in leaves]
    for x in leaves:
        client.check(client.lib.loom_tensor_clear_gradient(x.handle))
    return found


def mlp_step(x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str = "relu") -> Any:
    parameters = w1, b1, w2, b2
    require_grad(*parameters)
    h = ops.__getattr__(activation)(ops.add(ops.matmul(x, w1), b1))
    loss = ops.cross_entropy(ops.add(ops.matmul(h, w2), b2), y)
    gradients = backward(loss, *parameters)
    client = driver().client
    client.check(client.lib.loom_set_grad_enabled(False, client.ffi.NULL))
    for p, g in zip(parameters, gradients):
        assign(p, ops.subtract(p, ops.multiply(g, 0.1)))
    client.check(client.lib.loom_set_grad_enabled(True, client.ffi.NULL))
    return taken("loom_tensor_detach", loss), *parameters


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = ops.multiply(ops.matmul(q, ops.transpose(k, axes=(0, 2, 1))), 0.25)
    weights = ops.softmax(scores)
    return ops.matmul(weights, v), ops.argmax(weights, axis=2)


def convnet_step(x: Any, y: Any, kernel: Any, w: Any) -> Any:
    require_grad(kernel, w)
    h = ops.relu(ops.conv(x, kernel, strides=(1, 1), padding_low=(1, 1), padding_high=(1, 1),
                          dilation=(1, 1)))
    h = ops.max_pool(h, window=(2, 2), strides=(2, 2), padding_low=(0, 0), padding_high=(0, 0),
                     dilation=(1, 1))
    rows = ops.reshape(h, shape=(h.shape[0], h.shape[1] * h.shape[2] * h.shape[3]))
    loss = ops.cross_entropy(ops.matmul(rows, w), y)
    return taken("loom_tensor_detach", loss), *backward(loss, kernel, w)


def normalised_residual(x: Any, weight: Any, bias: Any) -> Any:
    h = ops.layer_norm(x, weight, bias)
    return ops.add(x, ops.multiply(ops.tanh(h), 0.5))


def slices(x: Any) -> Any:
    rows, columns = x.shape
    for i in range(4, 8):
        here = ops.dynamic_slice(x, i, 0, sizes=(2, columns))
        there = ops.dynamic_slice(x, i - 2, 0, sizes=(2, columns))
        assign(x, ops.dynamic_update_slice(x, ops.add(here, there), i, 0))
        row = ops.reshape(ops.dynamic_slice(x, i, 0, sizes=(1, columns)), shape=(columns,))
        halved = ops.reshape(ops.multiply(row, 0.5), shape=(1, columns))
        assign(x, ops.dynamic_update_slice(x, halved, i, 0))
    taken = ops.slice(x, starts=(1, 0), stops=(rows + 1, 2), strides=(2, 1))
    assign(x, ops.slice_update(x, taken, starts=(0, 1), stops=(rows, 3), strides=(2, 1)))
    return x


def reductions(x: Any, y: Any) -> Any:
    centred = ops.subtract(x, ops.mean(x, axes=(0,), keepdims=True))
    spread = ops.sqrt(ops.mean(ops.square(centred), axes=(0,)))
    ratio = ops.divide(ops.exp(ops.multiply(centred, y)), spread)
    return ops.max(ratio, axes=(1,)), ops.min(spread)


def _row(x: Any, i: int) -> Any:
    n = x.shape[1]
    return ops.reshape(ops.dynamic_slice(x, i, 0, sizes=(1, n)), shape=(n,))


def random_numbers(key: Any) -> Any:
    first = ops.random_split(key, num=4)
    points = ops.random_uniform(_row(first, 2), 0.0, 1.0, shape=(64, 2))
    inside = ops.less(ops.sum(ops.multiply(points, points), axes=(1,)), 1.0)
    noise = ops.random_normal(_row(first, 3), shape=(64,))
    return ops.where(inside, noise, 0.0), first


def complex_numbers(z: Any, c: Any) -> Any:
    steps = ops.cast(ops.less(ops.abs(z), 2.0), dtype=float32)
    for _ in range(5):
        z = ops.add(ops.multiply(z, z), c)
        steps = ops.add(steps, ops.cast(ops.less(ops.abs(z), 2.0), dtype=float32))
    angle = ops.angle(z)
    return steps, ops.real(z), angle, z


def sorting(x: Any) -> Any:
    order = ops.argsort(x, axis=1, stable=True)
    ranked = ops.take_along_axis(x, order, axis=1)
    total = ops.cumsum(ranked, axis=1)
    return total, *ops.top_k(total, k=3, axis=1, largest=True)


def recurrence(xs: Any, h: Any, w: Any) -> Any:
    states = []
    n, *rest = xs.shape
    for t in range(2, n):
        product = ops.matmul(h, w)
        x = ops.dynamic_slice(xs, t, 0, 0, sizes=(1, *rest))
        h = ops.tanh(ops.add(product, ops.reshape(x, shape=rest)))
        states.append(h)
    return ops.stack(*states, axis=0)


def integers(x: Any, y: Any) -> Any:
    mixed = ops.bitwise_xor(ops.shift_left(x, y), ops.floor_divide(x, 3))
    return ops.remainder(mixed, 7), ops.cast(ops.maximum(mixed, y), dtype=float64)
