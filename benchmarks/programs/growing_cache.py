"""Attention over a cache of keys and values that grows by a row with every token.

One block as a language model has it when it generates: the cache is concatenated with the new
row, so that every token is a program of other extents. A number is read after each token.
"""

from __future__ import annotations

from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"tokens": 5, "runs": 2, "width": 8},
    "full": {"tokens": 200, "runs": 3, "width": 64},
}


def weights(np: Any, width: int) -> dict[str, Any]:
    random = numpy.random.default_rng(11)

    def matrix(rows: int, columns: int) -> Any:
        drawn = random.standard_normal((rows, columns)) / rows**0.5
        return np.array(drawn.astype(numpy.float32))

    found = {name: matrix(width, width) for name in ("query", "key", "value", "output")}
    return {**found, "up": matrix(width, 4 * width), "down": matrix(4 * width, width)}


def normalized(np: Any, x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def token(np: Any, w: dict[str, Any], x: Any, cache: tuple[Any, Any] | None) -> tuple[Any, Any]:
    """The block's result for one token, a row, and the cache with its key and value."""
    y = normalized(np, x)
    query, key, value = y @ w["query"], y @ w["key"], y @ w["value"]
    if cache is not None:
        key = np.concatenate([cache[0], key])
        value = np.concatenate([cache[1], value])
    attended = softmax(np, (query @ key.T) / x.shape[-1] ** 0.5) @ value
    x = x + attended @ w["output"]
    return x + np.maximum(normalized(np, x) @ w["up"], 0.0) @ w["down"], (key, value)


def run(np: Any, progress: Progress, tokens: int, runs: int, width: int) -> None:
    """Generate so many tokens, each of the block's result for the one before it."""
    w = weights(np, width)
    start = numpy.random.default_rng(12).standard_normal((1, width)).astype(numpy.float32)
    progress.begin()
    for r in range(runs):
        if r:
            progress.next_epoch()
        x = np.array(start)
        cache = None
        for _ in range(tokens):
            x, cache = token(np, w, x, cache)
            x = normalized(np, x)
            progress.sample(float(x[0, 0]))
