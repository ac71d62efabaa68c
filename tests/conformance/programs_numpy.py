"""The programs of test_programs.py in the NumPy-like frontend. Ops that NumPy has no name for
are applied by theirs."""

from __future__ import annotations

from typing import Any

import lazyloom
import lazyloom_numpy as np

apply = lazyloom.apply


def mlp_step(x: Any, y: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str = "relu") -> Any:
    def loss_of(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        h = apply(activation, [x @ w1 + b1])
        return apply("cross_entropy", [h @ w2 + b2, y])

    parameters = w1, b1, w2, b2
    loss, gradients = lazyloom.value_and_grad(loss_of, (0, 1, 2, 3))(*parameters)
    for p, g in zip(parameters, gradients):
        p -= g * 0.1
    return loss, *parameters


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * 0.25
    weights = apply("softmax", [scores])
    return np.matmul(weights, v), np.argmax(weights, axis=-1)


def convnet_step(x: Any, y: Any, kernel: Any, w: Any) -> Any:
    def loss_of(kernel: Any, w: Any) -> Any:
        h = apply("relu", [apply("conv", [x, kernel], {
            "strides": (1, 1), "padding_low": (1, 1), "padding_high": (1, 1),
            "dilation": (1, 1)})])
        h = apply("max_pool", [h], {"window": (2, 2), "strides": (2, 2), "padding_low": (0, 0),
                                    "padding_high": (0, 0), "dilation": (1, 1)})
        return apply("cross_entropy", [h.reshape(h.shape[0], -1) @ w, y])

    loss, gradients = lazyloom.value_and_grad(loss_of, (0, 1))(kernel, w)
    return loss, *gradients


def normalised_residual(x: Any, weight: Any, bias: Any) -> Any:
    h = apply("layer_norm", [x, weight, bias])
    return x + np.tanh(h) * 0.5


def slices(x: Any) -> Any:
    for i in range(4, 8):
        rows = x[i:i + 2]
        rows += x[i - 2:i]
        row = x[i]
        row *= 0.5
    x[::2, 1:3] = x[1::2, 0:2]
    return x


def reductions(x: Any, y: Any) -> Any:
    centred = x - np.mean(x, axis=0, keepdims=True)
    spread = np.sqrt(np.mean(np.square(centred), axis=0))
    return np.max(np.exp(centred * y) / spread, axis=1), np.min(spread)


def random_numbers(key: Any) -> Any:
    first = apply("random_split", [key], {"num": 4})
    points = apply("random_uniform", [first[2], 0.0, 1.0], {"shape": (64, 2)})
    inside = np.less(np.sum(points * points, axis=1), 1.0)
    noise = apply("random_normal", [first[3]], {"shape": (64,)})
    return np.where(inside, noise, 0.0), first


def complex_numbers(z: Any, c: Any) -> Any:
    steps = np.less(np.abs(z), 2.0).astype(np.float32)
    for _ in range(5):
        z = z * z + c
        steps = steps + np.less(np.abs(z), 2.0).astype(np.float32)
    return steps, np.real(z), np.angle(z), z


def sorting(x: Any) -> Any:
    order = np.argsort(x, axis=1, stable=True)
    ranked = np.take_along_axis(x, order, axis=1)
    total = np.cumsum(ranked, axis=1)
    return total, *apply("top_k", [total], {"k": 3, "axis": 1, "largest": True})


def recurrence(xs: Any, h: Any, w: Any) -> Any:
    states = []
    for t in range(2, 8):
        h = np.tanh(np.matmul(h, w) + xs[t])
        states.append(h)
    return np.stack(states, axis=0)


def integers(x: Any, y: Any) -> Any:
    mixed = np.bitwise_xor(np.left_shift(x, y), np.floor_divide(x, 3))
    return np.remainder(mixed, 7), np.maximum(mixed, y).astype(np.float64)
