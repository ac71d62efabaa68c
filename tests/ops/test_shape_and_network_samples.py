"""Every shape, indexing, sorting, contraction and network op on its samples.

The rule's types are the definition's, its values those of a plain NumPy reference,
and its derivatives the numerical ones.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.special

from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops import lookup
from tests.ops import checks

MINE = checks.ops_of("shape", "indexing", "contraction", "normalization", "losses", "attention",
                     "embedding", "convolution", "pooling", "sorting")
# those are in test_windows_and_resampling.py
MINE = [name for name in MINE if name != "running_moments"]
Array = np.ndarray


# Shape


def _pad(x: Array, value: Array, *, low: Any, high: Any, interior: Any) -> Array:
    interior = interior or (0,) * x.ndim
    shape = [d + max(d - 1, 0) * i for d, i in zip(x.shape, interior, strict=True)]
    result = np.full(shape, value, x.dtype)
    result[tuple(slice(None, None, i + 1) for i in interior)] = x
    low, high = tuple(low), tuple(high)
    if not x.ndim:
        return x
    cut = tuple(slice(max(-a, 0), d - max(-b, 0))
                for d, a, b in zip(shape, low, high, strict=True))
    return np.pad(result[cut], [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)],
                  constant_values=value)


def _places(x: Array, starts: Any, stops: Any, strides: Any) -> Any:
    strides = strides or (1,) * x.ndim
    return np.ix_(*[np.arange(*r) for r in zip(starts, stops, strides, strict=True)])


def _slice(x: Array, *, starts: Any, stops: Any, strides: Any) -> Array:
    return x[_places(x, starts, stops, strides)] if x.ndim else x


def _slice_update(x: Array, update: Array, *, starts: Any, stops: Any, strides: Any) -> Array:
    if not x.ndim:
        return update
    result = x.copy()
    result[_places(x, starts, stops, strides)] = update
    return result


def _diagonal_update(x: Array, update: Array, **place: Any) -> Array:
    positions = np.diagonal(np.arange(x.size).reshape(x.shape), **place)
    result = x.copy()
    np.put(result, positions, np.broadcast_to(update, positions.shape))
    return result


def _diag_embed(x: Array, *, offset: int, axis1: int, axis2: int) -> Array:
    side = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], side, side), x.dtype)
    for i in range(x.shape[-1]):
        result[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return np.moveaxis(result, (-2, -1), (axis1, axis2))


# Indexing


def _wrap(indices: Array, size: int, *, clamp: bool = True) -> Array:
    i = np.array([int(v) for v in indices.ravel()], dtype=object).reshape(indices.shape)
    i = np.asarray(np.where(i < 0, i + size, i))
    return np.asarray(i.clip(0, max(size - 1, 0)) if clamp else i).astype(np.int64)


def _starts(starts: Any, shape: Any, sizes: Any) -> Any:
    wrapped = [s + d if s < 0 else s for s, d in zip(map(int, starts), shape, strict=True)]
    return tuple(slice(min(max(s, 0), d - n), min(max(s, 0), d - n) + n)
                 for s, d, n in zip(wrapped, shape, sizes, strict=True))


def _dynamic_update_slice(x: Array, update: Array, *starts: Any) -> Array:
    result = x.copy()
    result[_starts(starts, x.shape, update.shape)] = update
    return result


def _take_along_axis(x: Array, indices: Array, *, axis: int) -> Array:
    axis %= x.ndim
    cut = tuple(slice(None) if a == axis else slice(n) for a, n in enumerate(indices.shape))
    return np.take_along_axis(x[cut], _wrap(indices, x.shape[axis]), axis)


_MODES: dict[str, Any] = {
    "set": lambda a, b: b, "add": np.add, "multiply": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


def _scatter_along_axis(x: Array, indices: Array, updates: Array, *, axis: int, mode: str
                        ) -> Array:  # fmt: skip
    result = x.copy()
    updates = np.broadcast_to(updates, indices.shape)
    where = _wrap(indices, x.shape[axis], clamp=False)
    for place in np.ndindex(indices.shape):
        at = list(place)
        at[axis] = where[place]
        if 0 <= at[axis] < x.shape[axis]:
            result[tuple(at)] = _MODES[mode](result[tuple(at)], updates[place])
    return result


def _full_index(x: Array, indices: Any, axes: Any, clamp: bool) -> Any:
    given: list[Any] = [slice(None)] * x.ndim
    for i, a in zip(indices, axes, strict=True):
        given[a] = _wrap(i, x.shape[a], clamp=clamp)
    return tuple(given)


def _index(x: Array, *indices: Array, axes: Any) -> Array:
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    if list(order) != list(range(len(axes))):
        # axes out of order: the indices' axes come first
        rest = [a for a in range(x.ndim) if a not in axes]
        return _index(x.transpose(*axes, *rest), *indices, axes=tuple(range(len(axes))))
    return x[_full_index(x, indices, axes, True)]


def _index_update(x: Array, value: Array, *indices: Array, axes: Any, mode: str) -> Array:
    if list(axes) != sorted(axes):
        rest = [a for a in range(x.ndim) if a not in axes]
        order = [*axes, *rest]
        moved = _index_update(x.transpose(order), value, *indices,
                              axes=tuple(range(len(axes))), mode=mode)
        return moved.transpose(np.argsort(order))
    positions = np.arange(x.size).reshape(x.shape)
    room = [(0, 20) if a in axes else (0, 0) for a in range(x.ndim)]
    padded = np.pad(positions, room, constant_values=-1)
    where = padded[_full_index(x, indices, axes, False)]
    result = x.copy().reshape(-1)
    for at, v in zip(where.flat, np.broadcast_to(value, where.shape).flat, strict=True):
        if at >= 0:
            result[at] = _MODES[mode](result[at], v)
    return result.reshape(x.shape)


def _bincount(x: Array, weights: Array | None = None, *, length: int) -> Array:
    result = np.zeros(length, np.int64 if weights is None else weights.dtype)
    for i, v in enumerate(x):
        if 0 <= v < length:
            result[v] += 1 if weights is None else weights[i]
    return result


def _flat_nonzero(x: Array, *, size: int) -> Array:
    found = np.flatnonzero(x)[:size]
    return np.concatenate([found, np.full(size - found.size, x.size)])


# Products


def _dot_general(x: Array, y: Array, *, lhs_contract: Any, rhs_contract: Any, lhs_batch: Any,
                 rhs_batch: Any, accumulate: Any) -> Array:  # fmt: skip
    dtype = x.dtype if accumulate is None else accumulate.numpy
    names = [chr(97 + i) for i in range(x.ndim)], [chr(65 + i) for i in range(y.ndim)]
    for a, b in (*zip(lhs_contract, rhs_contract, strict=True),
                 *zip(lhs_batch, rhs_batch, strict=True)):
        names[1][b] = names[0][a]
    batch = [names[0][a] for a in lhs_batch]
    gone = {names[0][a] for a in lhs_contract} | set(batch)
    free = [n for n in (*names[0], *names[1]) if n not in gone]
    equation = f"{''.join(names[0])},{''.join(names[1])}->{''.join(batch + free)}"
    return np.einsum(equation, x.astype(dtype), y.astype(dtype))


def _cross(x: Array, y: Array, *, axis: int) -> Array:
    x, y = np.broadcast_arrays(x, y)
    return np.cross(x, y, axis=axis)


def _einsum(*xs: Array, equation: str) -> Array:
    return np.einsum(equation, *xs)


# Windows


def _spread(given: Any, n: int, default: int) -> Any:
    return (default,) * n if given is None else given


def _windows(x: Array, fill: Any, window: Any, attrs: dict[str, Any]) -> Array:
    """The elements that each window sees, in as many new last axes."""
    n = len(window)
    steps, away = _spread(attrs["strides"], n, 1), _spread(attrs["dilation"], n, 1)
    low, high = _spread(attrs["padding_low"], n, 0), _spread(attrs["padding_high"], n, 0)
    lead = x.ndim - n
    x = _pad(x, np.asarray(fill, x.dtype), low=(0,) * lead + tuple(low),
             high=(0,) * lead + tuple(high), interior=None)
    reach = [(w - 1) * d + 1 for w, d in zip(window, away, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(lead, x.ndim)))
    return seen[(..., *[slice(None, None, s) for s in steps],
                 *[slice(None, None, d) for d in away])]


def _conv(x: Array, weight: Array, *, input_dilation: Any, groups: int, **attrs: Any) -> Array:
    n = x.ndim - 2
    between = tuple(d - 1 for d in _spread(input_dilation, n, 1))
    x = _pad(x, np.zeros((), x.dtype), low=(0,) * x.ndim, high=(0,) * x.ndim,
             interior=(0, 0, *between))
    seen = _windows(x, 0, weight.shape[2:], attrs)
    axes = list(range(2 + n, 2 + 2 * n))
    parts = []
    outputs = weight.shape[0] // groups
    for g in range(groups):
        part = seen[:, g * weight.shape[1]:(g + 1) * weight.shape[1]]
        each = weight[g * outputs:(g + 1) * outputs]
        parts.append(np.moveaxis(
            np.tensordot(part, each, ([1, *axes], [1, *range(2, 2 + n)])), -1, 1))
    return np.concatenate(parts, 1)


def _conv_transpose(x: Array, weight: Array, *, strides: Any, padding_low: Any,
                    padding_high: Any, output_padding: Any, dilation: Any, groups: int
                    ) -> Array:  # fmt: skip
    n = x.ndim - 2
    strides, dilation = _spread(strides, n, 1), _spread(dilation, n, 1)
    low, high = _spread(padding_low, n, 0), _spread(padding_high, n, 0)
    extra = _spread(output_padding, n, 0)
    full = [(x.shape[2 + i] - 1) * strides[i] + (weight.shape[2 + i] - 1) * dilation[i] + 1
            for i in range(n)]
    outputs = weight.shape[1]
    result = np.zeros((x.shape[0], outputs * groups,
                       *[f + e for f, e in zip(full, extra, strict=True)]), x.dtype)
    inputs = x.shape[1] // groups
    for g in range(groups):
        mine = slice(g * inputs, (g + 1) * inputs)
        for p in itertools.product(*map(range, x.shape[2:])):
            for w in itertools.product(*map(range, weight.shape[2:])):
                at = tuple(p[i] * strides[i] + w[i] * dilation[i] for i in range(n))
                result[(slice(None), slice(g * outputs, (g + 1) * outputs), *at)] += (
                    x[(slice(None), mine, *p)] @ weight[(mine, slice(None), *w)])
    cut = tuple(slice(low[i], result.shape[2 + i] - high[i]) for i in range(n))
    return result[(slice(None), slice(None), *cut)]


def _max_pool(x: Array, *, window: Any, **attrs: Any) -> Array:
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    return _windows(x, least, window, attrs).max(tuple(range(-len(window), 0)))


def _avg_pool(x: Array, *, window: Any, count_include_pad: bool, **attrs: Any) -> Array:
    axes = tuple(range(-len(window), 0))
    total = _windows(x, 0, window, attrs).sum(axes)
    if count_include_pad:
        return total / math.prod(window)
    return total / _windows(np.ones_like(x), 0, window, attrs).sum(axes)


def _adaptive(f: Any) -> Any:
    def reference(x: Array, *, output: Any) -> Array:
        for i, parts in enumerate(output):
            axis = x.ndim - len(output) + i
            n = x.shape[axis]
            x = np.stack([
                f(x.take(range(k * n // parts, -(-(k + 1) * n // parts)), axis), axis=axis)
                for k in range(parts)], axis)
        return x

    return reference


# Networks


def _norm(axes_of: Any) -> Any:
    def reference(x: Array, weight: Any, bias: Any = None, *, eps: float, **attrs: Any) -> Array:
        axes, channels = axes_of(x, attrs)
        mean = x.mean(axes, keepdims=True)
        y = (x - mean) / np.sqrt(x.var(axes, keepdims=True) + eps)
        return _affine(y, weight, bias, channels)

    return reference


def _affine(y: Array, weight: Any, bias: Any, channels: bool) -> Array:
    def place(v: Any) -> Any:
        return v.reshape(-1, *(1,) * (y.ndim - 2)) if channels else v

    y = y if weight is None else y * place(weight)
    return y if bias is None else y + place(bias)


def _group_norm(x: Array, weight: Any = None, bias: Any = None, *, groups: int, eps: float
                ) -> Array:  # fmt: skip
    v = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    axes = tuple(range(2, v.ndim))
    v = (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + eps)
    return _affine(v.reshape(x.shape), weight, bias, True)


def _layer_norm(x: Array, weight: Any = None, bias: Any = None, *, normalized_ndim: int,
                eps: float) -> Array:  # fmt: skip
    axes = tuple(range(-normalized_ndim, 0))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    return _affine(y, weight, bias, False)


def _rms_norm(x: Array, weight: Any = None, *, normalized_ndim: int, eps: float) -> Array:
    power = (x * x).mean(tuple(range(-normalized_ndim, 0)), keepdims=True)
    return _affine(x / np.sqrt(power + eps), weight, None, False)


def _batch_norm_train(x: Array, weight: Any = None, bias: Any = None, *, eps: float) -> Any:
    axes = (0, *range(2, x.ndim))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    y = _affine((x - mean) / np.sqrt(var + eps), weight, bias, True)
    return y, mean.reshape(-1), var.reshape(-1)


def _batch_norm_infer(x: Array, mean: Array, var: Array, weight: Any = None, bias: Any = None, *,
                      eps: float) -> Array:  # fmt: skip
    def place(v: Array) -> Array:
        return v.reshape(-1, *(1,) * (x.ndim - 2))

    return _affine((x - place(mean)) / np.sqrt(place(var) + eps), weight, bias, True)


def _reduced(loss: Array, reduction: str) -> Any:
    return loss if reduction == "none" else getattr(np, reduction)(loss)


def _nll(log: Array, labels: Array, weight: Any = None, *, axis: int = -1,
         label_smoothing: float = 0.0, ignore_index: int | None = None, reduction: str
         ) -> Any:  # fmt: skip
    log = np.moveaxis(log, axis, -1)
    classes = log.shape[-1]
    weight = np.ones(classes) if weight is None else weight
    loss, counted = np.zeros(labels.shape), np.zeros(labels.shape)
    for at in np.ndindex(labels.shape):
        label = labels[at]
        if label != ignore_index:
            target = np.full(classes, label_smoothing / classes)
            target[label] += 1.0 - label_smoothing
            loss[at] = -np.sum(target * weight * log[at])
            counted[at] = weight[label]
    if reduction == "none":
        return loss
    return loss.sum() / (counted.sum() if reduction == "mean" else 1.0)


def _cross_entropy(logits: Array, labels: Array, weight: Any = None, *, axis: int, **attrs: Any
                   ) -> Any:  # fmt: skip
    return _nll(scipy.special.log_softmax(logits, axis), labels, weight, axis=axis, **attrs)


def _soft_cross_entropy(logits: Array, targets: Array, *, axis: int, label_smoothing: float,
                        reduction: str) -> Any:  # fmt: skip
    goal = (1 - label_smoothing) * targets + label_smoothing / logits.shape[axis]
    loss = -(goal * scipy.special.log_softmax(logits, axis)).sum(axis)
    return _reduced(loss, reduction)


def _bce(x: Array, t: Array, w: Any = None, p: Any = None, *, reduction: str) -> Any:
    p, w = 1.0 if p is None else p, 1.0 if w is None else w
    s = scipy.special.expit(x)
    return _reduced(-(p * t * np.log(s) + (1 - t) * np.log(1 - s)) * w, reduction)


def _huber(x: Array, t: Array, *, delta: float, reduction: str) -> Any:
    return _reduced(scipy.special.huber(delta, x - t), reduction)


def _probability_bce(x: Array, t: Array, weight: Any = None, *, reduction: str) -> Array:
    loss = -(t * np.log(x) + (1 - t) * np.log1p(-x))
    return _reduced(loss if weight is None else loss * weight, reduction)


def _kl_div(x: Array, t: Array, *, log_target: bool, reduction: str) -> Any:
    return _reduced(np.exp(t) * (t - x) if log_target else t * (np.log(t) - x), reduction)


def _attention(q: Array, k: Array, v: Array, mask: Any = None, *, causal: bool,
               scale: float | None) -> Array:  # fmt: skip
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    e = np.exp(scores - np.max(scores, -1, keepdims=True, initial=-1e30))
    return (e / np.maximum(e.sum(-1, keepdims=True), 1e-300)) @ v


def _embedding(weight: Array, indices: Array, *, padding_index: int | None) -> Array:
    return weight[_wrap(indices, weight.shape[0])]


# Sorting and linear algebra


def _sort(x: Array, *, axis: int, descending: bool, stable: bool) -> Array:
    found = np.sort(x, axis)
    return np.flip(found, axis) if descending else found


def _argsort(x: Array, *, axis: int, descending: bool, stable: bool) -> Array:
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def _sort_pair(x: Array, *, axis: int, **how: Any) -> Any:
    return _sort(x, axis=axis, **how), _argsort(x, axis=axis, **how)


def _top_k(x: Array, *, k: int, axis: int, largest: bool) -> Any:
    found = _sort_pair(x, axis=axis, descending=largest, stable=True)
    return tuple(v.take(range(k), axis) for v in found)


def _without(*names: str) -> Any:
    return lambda f: lambda *xs, **attrs: f(
        *xs, **{k: v for k, v in attrs.items() if k not in names})


REFERENCES: dict[str, Any] = {
    "transpose": lambda x, *, axes: np.transpose(x, axes),
    "squeeze": lambda x, *, axes: np.squeeze(x, axes),
    "expand_dims": lambda x, *, axes: np.expand_dims(x, axes),
    "flip": lambda x, *, axes: np.flip(x, axes),
    "swapaxes": lambda x, *, axis1, axis2: np.swapaxes(x, axis1, axis2),
    "roll": lambda x, *, shifts, axes: np.roll(x, shifts[0] if axes is None else shifts, axes),
    "concatenate": lambda *xs, axis: np.concatenate(xs, axis),
    "stack": lambda *xs, axis: np.stack(xs, axis),
    "split": lambda x, *, sizes, axis: tuple(np.split(x, np.cumsum(sizes)[:-1], axis)),
    "pad": _pad, "slice": _slice, "slice_update": _slice_update,
    "tile": lambda x, *, repeats: np.tile(x, repeats),
    "diagonal_update": _diagonal_update, "diag_embed": _diag_embed,
    "dynamic_slice": lambda x, *starts, sizes: x[_starts(starts, x.shape, sizes)],
    "dynamic_update_slice": _dynamic_update_slice,
    "take": lambda x, i, *, axis: np.take(x, _wrap(i, x.shape[axis]), axis),
    "take_along_axis": _take_along_axis, "scatter_along_axis": _scatter_along_axis,
    "index": _index, "index_update": _index_update,
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
    "one_hot": lambda i, *, depth, dtype: i[..., None].astype(np.int64) == np.arange(depth),
    "flat_nonzero": _flat_nonzero, "bincount": _bincount,
    "dot_general": _dot_general, "einsum": _einsum, "cross": _cross,
    "outer": np.multiply.outer,
    "vecdot": lambda x, y, *, axis: np.sum(np.conj(x) * y, axis),
    "softmax": lambda x, *, axis: scipy.special.softmax(x, axis) if x.size else x,
    "log_softmax": lambda x, *, axis: scipy.special.log_softmax(x, axis) if x.size else x,
    "layer_norm": _layer_norm, "rms_norm": _rms_norm, "group_norm": _group_norm,
    "batch_norm_train": _batch_norm_train, "batch_norm_infer": _batch_norm_infer,
    "cross_entropy": _cross_entropy, "nll_loss": _nll, "soft_cross_entropy": _soft_cross_entropy,
    "binary_cross_entropy_with_logits": _bce, "binary_cross_entropy": _probability_bce,
    "mse_loss": lambda x, t, *, reduction: _reduced((x - t) ** 2, reduction),
    "l1_loss": lambda x, t, *, reduction: _reduced(abs(x - t), reduction),
    "huber_loss": _huber, "kl_div": _kl_div,
    "scaled_dot_product_attention": _attention, "embedding": _embedding,
    "conv": _conv, "conv_transpose": _conv_transpose, "max_pool": _max_pool,
    "avg_pool": _avg_pool, "adaptive_avg_pool": _adaptive(np.mean),
    "adaptive_max_pool": _adaptive(np.max),
    "sort": _sort, "argsort": _argsort, "sort_with_indices": _sort_pair, "top_k": _top_k,
    "searchsorted": lambda s, v, *, side: np.searchsorted(s, v, side) if s.ndim == 1 else np.stack(
        [np.searchsorted(row, at, side) for row, at in zip(s, v, strict=True)]),
}  # fmt: skip

@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    op = lookup(name)
    reference = REFERENCES.get(name)
    if reference is None and op.reference:
        reference = checks.dotted(op.reference)
    for run in checks.run_all(name):
        checks.check_types(run)
        checks.check_slope(run)
        if name != "dropout":
            assert reference is not None
            checks.check_values(run, reference)


def test_dropout_keeps_what_a_bernoulli_of_the_same_key_keeps() -> None:
    import jax

    x = np.arange(1.0, 1001.0)
    key = np.array([3, 7], np.uint32)
    with jax.enable_x64(True):
        dropped = np.asarray(lookup("dropout").fn(jax.numpy.asarray(x), key, rate=0.25))
        keep = np.asarray(lookup("random_bernoulli").fn(
            key, jax.numpy.float32(0.75), shape=x.shape))
    np.testing.assert_allclose(dropped, np.where(keep, x / 0.75, 0.0))
    assert 0.7 < keep.mean() < 0.8


@pytest.mark.slow
def test_labels_outside_the_classes_are_nan() -> None:
    import jax

    for label in (-1, 3):
        labels = np.array([label], np.int32)
        loss = lookup("cross_entropy").fn(jax.numpy.zeros((1, 3)), labels)
        assert np.isnan(loss)


def test_multiply_has_a_derivative_through_equal_positions_and_zeros() -> None:
    import jax

    with jax.enable_x64(True):
        def f(x: Any, v: Any) -> Any:
            update = lookup("index_update").fn
            return update(x, v, np.array([0, 0, 1, 1]), axes=(0,), mode="multiply").sum()

        x, v = np.array([2.0, 3.0]), np.array([0.0, 5.0, 0.0, 0.0])
        dx, dv = jax.grad(f, (0, 1))(jax.numpy.asarray(x), jax.numpy.asarray(v))
    np.testing.assert_array_equal(dx, [0.0, 0.0])
    np.testing.assert_array_equal(dv, [10.0, 0.0, 0.0, 0.0])


ERRORS = [
    ("reshape", ["float32 2 3"], {"shape": (4, 2)}, ShapeError,
     "reshape: operand 'x' of shape (2, 3) has 6 elements, expected as many as the 8 of "
     "attribute 'shape' (4, 2)"),
    ("reshape", ["float32 2 3"], {"shape": (4, -1)}, ShapeError,
     "reshape: operand 'x' of shape (2, 3) has 6 elements, expected a multiple of the 4 of "
     "attribute 'shape' (4, -1)"),
    ("transpose", ["float32 2 3"], {"axes": (0,)}, ArgumentError,
     "transpose: attribute 'axes' is (0,), expected all 2 axes of operand 'x' of shape (2, 3)"),
    ("squeeze", ["float32 2 1"], {"axes": (0,)}, ShapeError,
     "squeeze: axis 0 of operand 'x' of shape (2, 1) has size 2, expected 1"),
    ("broadcast_to", ["float32 3"], {"shape": (2, 4)}, ShapeError,
     "broadcast_to: operand 'x' has shape (3,), which does not broadcast to attribute 'shape' "
     "(2, 4); expected each size, counted from the last, to be equal or 1"),
    ("concatenate", [], {}, ArgumentError,
     "concatenate: no operands were given, expected 1 or more"),
    ("concatenate", ["float32 2 3", "float32 2 4"], {}, ShapeError,
     "concatenate: operand 'xs[1]' has shape (2, 4), expected the shape (2, 3) of 'xs[0]' but "
     "for axis 0"),
    ("stack", ["float32 2", "int32 2"], {}, DTypeError,
     "stack: operand 'xs[1]' has dtype int32, expected float32 as operand 'xs[0]' has; ops never "
     "promote, cast one of them"),
    ("split", ["float32 5"], {"sizes": (2, 2)}, ShapeError,
     "split: attribute 'sizes' (2, 2) adds up to 4, expected 5, the size of axis 0 of operand "
     "'x' of shape (5,)"),
    ("slice", ["float32 4"], {"starts": (1,), "stops": (6,)}, ArgumentError,
     "slice: attributes take elements 1 to 5 of axis 0 of operand 'x' of shape (4,), expected 0 "
     "to 3; positions do not wrap or clamp here"),
    ("take", ["float32 0 3", "int64 2"], {}, ShapeError,
     "take: axis 0 of operand 'x' of shape (0, 3) has size 0, expected 1 or more to take 2 "
     "elements from"),
    ("take", ["float32 3", "float32 2"], {}, DTypeError,
     "take: operand 'indices' has dtype float32, expected an integer type; cast it first"),
    ("dynamic_slice", ["float32 4 5", "int64"], {"sizes": (2, 2)}, ArgumentError,
     "dynamic_slice: 1 'starts' were given, expected 2, one for each axis of operand 'x' of "
     "shape (4, 5)"),
    ("index", ["float32 4 5", "int64 2", "int64 3"], {"axes": (0, 1)}, ShapeError,
     "index: shapes indices[0] (2,), indices[1] (3,) do not broadcast: axis -1 has size 2 in "
     "'indices[0]' and 3 in 'indices[1]'; expected equal sizes or 1, reshape one of them"),
    ("index_update", ["float32 4", "float32", "int64 2"], {"axes": (0,), "mode": "sub"},
     ArgumentError,
     "index_update: attribute 'mode' is 'sub', expected one of 'set', 'add', 'multiply', 'min', "
     "'max'"),
    ("index_update", ["bool 4", "bool", "int64 2"], {"axes": (0,), "mode": "add"}, DTypeError,
     "index_update: attribute 'mode' is 'add' for operand 'x' of dtype bool, expected a number; "
     "cast it first"),
    ("matmul", ["float32 2 3", "float32 4 5"], {}, ShapeError,
     "matmul: operand 'x' of shape (2, 3) has 3 columns and operand 'y' of shape (4, 5) has 4 "
     "rows, expected the same number; transpose or reshape one of them"),
    ("matmul", ["float32", "float32 4 5"], {}, ShapeError,
     "matmul: operand 'x' has shape (), expected 1 axis or more; use multiply for a number"),
    ("dot_general", ["int32 2", "int32 2"],
     {"lhs_contract": (0,), "rhs_contract": (0,), "accumulate": "int8"}, DTypeError,
     "dot_general: attribute 'accumulate' is int8 for operands of dtype int32, expected a type "
     "of the same kind that is as wide or wider"),
    ("einsum", ["float32 2 3", "float32 4"], {"equation": "ij,j->i"}, ShapeError,
     "einsum: letter 'j' of attribute 'equation' 'ij,j->i' has size 3 before and 4 in operand "
     "'xs[1]' of shape (4,), expected one size, or 1"),
    ("einsum", ["float32 2 3"], {"equation": "ij->k"}, ArgumentError,
     "einsum: attribute 'equation' 'ij->k' has the result's letter 'k', which no operand has"),
    ("layer_norm", ["float32 2 3", "float32 2"], {}, ShapeError,
     "layer_norm: operand 'weight' has shape (2,), expected (3,), the last 1 sizes of operand "
     "'x' of shape (2, 3)"),
    ("cross_entropy", ["float32 4 3", "int64 3"], {}, ShapeError,
     "cross_entropy: operand 'labels' has shape (3,), expected (4,), the shape (4, 3) of operand "
     "'logits' without axis 1 of the classes"),
    ("cross_entropy", ["float32 4 3", "int64 4"], {"reduction": "avg"}, ArgumentError,
     "cross_entropy: attribute 'reduction' is 'avg', expected one of 'none', 'mean', 'sum'"),
    ("conv", ["float32 1 3 8", "float32 4 2 3"], {}, ShapeError,
     "conv: operand 'x' of shape (1, 3, 8) has 3 channels and operand 'weight' of shape "
     "(4, 2, 3) takes 2 in each of 1 groups to 4, expected 2 channels and outputs that the "
     "groups divide"),
    ("max_pool", ["float32 1 3"], {"window": (4,)}, ShapeError,
     "max_pool: a window of 4 elements does not fit into the 3 of spatial axis 0 of operand 'x' "
     "of shape (1, 3), padding included; pad more, or use a smaller window"),
    ("scaled_dot_product_attention", ["float32 2 4", "float32 3 5", "float32 3 5"], {},
     ShapeError,
     "scaled_dot_product_attention: operands 'q' (2, 4) and 'k' (3, 5) have 4 and 5 features, "
     "expected the same number"),
    ("dropout", ["float32 2", "uint32 3"], {"rate": 0.5}, ArgumentError,
     "dropout: operand 'key' is uint32[3], expected a random key, uint32[2]"),
    ("top_k", ["float32 3"], {"k": 4}, ArgumentError,
     "top_k: attribute 'k' is 4, expected 0 to 3, the size of axis 0 of operand 'x' of shape "
     "(3,)"),
]  # fmt: skip


@pytest.mark.parametrize("name,types,attributes,error,text", ERRORS,
                         ids=[f"{e[0]}-{i}" for i, e in enumerate(ERRORS)])
def test_error(name: str, types: Any, attributes: Any, error: type[Exception], text: str) -> None:
    checks.refuses(name, types, attributes, error, text)
