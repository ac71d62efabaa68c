"""Windows, sampled images and aligned sequences against plain NumPy references."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lazyloom.errors import ArgumentError, ShapeError
from lazyloom.ops import lookup
from tests.ops import checks
from tests.ops.test_shape_and_network_samples import _windows

MINE = [*checks.ops_of("windows", "resampling", "alignment"), "running_moments"]
Array = np.ndarray


def _patches(x: Array, *, window: Any, **attrs: Any) -> Array:
    n = len(window)
    seen = _windows(x, np.zeros((), x.dtype), window, attrs)
    lead = x.ndim - n
    return np.moveaxis(seen, range(lead + n, lead + 2 * n), range(lead, lead + n))


def _patches_sum(x: Array, *, sizes: Any, window: Any, **attrs: Any) -> Array:
    lead = x.shape[:x.ndim - 2 * len(window)]
    place = np.arange(1, 1 + int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
    seen = _patches(place, window=window, **attrs).reshape(-1)
    rows = x.reshape(int(np.prod(lead)), seen.size)
    total = np.zeros((len(rows), place.size + 1), x.dtype)
    for at, column in zip(seen, rows.T, strict=True):
        total[:, at] += column
    return total[:, 1:].reshape(*lead, *sizes)


def _max_pool_indices(x: Array, *, window: Any, **attrs: Any) -> Array:
    n = len(window)
    sizes = x.shape[x.ndim - n:]
    place = np.arange(1, 1 + int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
    at = _windows(place, 0, window, attrs).reshape(-1, int(np.prod(window))) - 1
    rows = x.reshape(int(np.prod(x.shape[:x.ndim - n])), place.size)
    found = np.empty((len(rows), len(at)), np.int64)
    for r, row in enumerate(rows):
        for w, seen in enumerate(at):
            inside = [i for i in seen if i >= 0]
            found[r, w] = max(inside, key=lambda i: (row[i], -i), default=-1)
    return found.reshape(lookup("max_pool_indices").infer(
        [checks.type_of(x)], {"window": window, **attrs})[0].shape)


# Sampling


def _inside(p: float, size: int, padding: str, corners: bool) -> float:
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        span = high - low
        p = abs(p - low)
        turns, rest = divmod(p, span) if span else (0, 0.0)
        p = rest + low if turns % 2 == 0 else high - rest
    return p if padding == "zeros" else min(max(p, 0.0), size - 1.0)


def _kernel(mode: str, t: float) -> float:
    t = abs(t)
    if mode == "bilinear":
        return max(1.0 - t, 0.0)
    a = -0.75
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def _grid_sample(x: Array, grid: Array, *, mode: str, padding: str, align_corners: bool) -> Array:
    sizes = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.float64)
    for batch, *place in np.ndindex(grid.shape[:-1]):
        at = []
        for g, size in zip(grid[(batch, *place)][::-1], sizes, strict=True):
            at.append(float((g + 1) / 2 * (size - 1) if align_corners else
                            ((g + 1) * size - 1) / 2))
        if mode != "bicubic":
            at = [_inside(p, s, padding, align_corners) for p, s in zip(at, sizes, strict=True)]
        total = np.zeros(x.shape[1])
        reach = {"nearest": [0], "bilinear": [0, 1], "bicubic": [-1, 0, 1, 2]}[mode]
        for offsets in itertools.product(reach, repeat=len(sizes)):
            weight, where = 1.0, []
            for p, o, size in zip(at, offsets, sizes, strict=True):
                start = np.round(p) if mode == "nearest" else np.floor(p)
                if mode != "nearest":
                    weight *= _kernel(mode, p - (start + o))
                where.append(int(_inside(start + o, size, padding, align_corners) if
                                 mode == "bicubic" else start + o))
            if all(0 <= w < s for w, s in zip(where, sizes, strict=True)):
                total += weight * x[(batch, slice(None), *where)]
        result[(batch, slice(None), *place)] = total
    return result


# Alignment


def _ctc_loss(logs: Array, targets: Array, steps: Array, lengths: Array, *, blank: int) -> Array:
    """By every path there is."""
    losses = []
    for n in range(logs.shape[1]):
        goal = tuple(int(v) for v in targets[n, :lengths[n]])
        total = 0.0
        for path in itertools.product(range(logs.shape[2]), repeat=int(steps[n])):
            merged = [p for i, p in enumerate(path) if not i or p != path[i - 1]]
            if tuple(p for p in merged if p != blank) == goal:
                total += np.exp(sum(float(logs[t, n, p]) for t, p in enumerate(path)))
        losses.append(-np.log(total))
    return np.array(losses)


def _running_moments(mean: Array, variance: Array, new_mean: Array, new_variance: Array,
                     momentum: Array, *, num: int) -> Any:  # fmt: skip
    correction = num / (num - 1) if num > 1 else 1.0
    return (mean + (new_mean - mean) * momentum,
            variance + (new_variance * correction - variance) * momentum)


REFERENCES: dict[str, Any] = {
    "patches": _patches, "patches_sum": _patches_sum, "max_pool_indices": _max_pool_indices,
    "grid_sample": _grid_sample, "ctc_loss": _ctc_loss, "running_moments": _running_moments,
}  # fmt: skip


@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    for run in checks.run_all(name):
        checks.check_types(run)
        checks.check_slope(run)
        checks.check_values(run, REFERENCES[name])


def test_the_gradient_of_ctc_loss_is_that_of_the_logits() -> None:
    import jax

    rng = np.random.default_rng(0)
    targets, lengths = np.array([[1, 1], [2, 0]]), [np.array([5, 3]), np.array([2, 1])]

    def loss(logs: Any) -> Any:
        return lookup("ctc_loss").fn(logs, targets, *lengths).sum()

    def both(logits: Any, direction: Any) -> Any:
        log_softmax = lookup("log_softmax").fn

        def of_logits(x: Any) -> Any:
            return loss(log_softmax(x))

        ahead, behind = (of_logits(logits + s * direction) for s in (1e-6, -1e-6))
        return jax.grad(loss)(log_softmax(logits)), jax.grad(of_logits)(logits), (
            ahead - behind) / 2e-6

    logits, direction = rng.normal(size=(2, 5, 2, 4))
    with jax.enable_x64(True):
        given, through, slope = jax.device_get(jax.jit(both)(logits, direction))
    np.testing.assert_allclose(given, through, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose((through * direction).sum(), slope, rtol=1e-6)


def test_the_last_nan_of_a_window_is_its_position() -> None:
    import jax

    with jax.enable_x64(True):
        found = lookup("max_pool_indices").fn(
            jax.numpy.array([[1.0, np.nan, 2.0, np.nan, 5.0]]), window=(5,))
    assert int(found[0, 0]) == 3


@pytest.mark.parametrize(("name", "types", "attributes", "error", "text"), [
    ("patches_sum", ["float32 2 3 4"], {"sizes": (6,), "window": (2,)}, ShapeError,
     "patches_sum: operand 'x' has shape (2, 3, 4), expected the last axes (2, 5), those of "
     "attribute 'window' and of its places in (6,)"),
    ("patches_sum", ["float32 2 3 4"], {"sizes": (6, 1), "window": (2,)}, ArgumentError,
     "patches_sum: attribute 'sizes' is (6, 1), expected 1 sizes of 0 or more, one for each of "
     "attribute 'window'"),
    ("grid_sample", ["float32 2 3 4 4", "float32 2 5 5 3"], {}, ShapeError,
     "grid_sample: operand 'grid' has shape (2, 5, 5, 3), expected 4 axes, the first of size 2 "
     "and the last of size 2, for operand 'x' of shape (2, 3, 4, 4)"),
    ("ctc_loss", ["float32 5 2 4", "int64 2 2", "int64 2", "int64 2"], {"blank": 4},
     ArgumentError, "ctc_loss: attribute 'blank' is 4, expected 0 to 3, a class of operand "
     "'log_probabilities' of shape (5, 2, 4)"),
    ("ctc_loss", ["float32 5 2 4", "int64 2 2", "int64 1", "int64 2"], {}, ShapeError,
     "ctc_loss: operand 'input_lengths' has shape (1,), expected (2,) for operand "
     "'log_probabilities' of shape (5, 2, 4)"),
    ("running_moments", ["float32 3"] * 5, {}, ShapeError,
     "running_moments: operand 'momentum' has shape (3,), expected ()"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(
    name: str, types: Any, attributes: Any, error: Any, text: str
) -> None:
    checks.refuses(name, types, attributes, error, text)
