"""XLA's convolution and reductions over windows, with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = Any


def _padded(x: Array, edges: Any, gaps: Any, fill: Any, first: int) -> Array:
    """x with its axes from ``first`` on spread by ``gaps`` and lengthened by ``edges``."""
    if all(e == (0, 0) for e in edges) and all(g == 1 for g in gaps):
        return x
    shape = list(x.shape)
    source: list[Any] = [slice(None)] * x.ndim
    target: list[Any] = [slice(None)] * x.ndim
    for k, ((low, high), gap) in enumerate(zip(edges, gaps, strict=True)):
        d = first + k
        n = x.shape[d]
        spread = (n - 1) * gap + 1 if n else 0
        shape[d] = spread + low + high
        start = max(0, -(low // gap)) if low < 0 else 0
        last = min(n - 1, (shape[d] - 1 - low) // gap) if n else -1
        source[d] = slice(start, last + 1)
        target[d] = slice(low + start * gap, low + last * gap + 1, gap) if last >= start else (
            slice(0, 0))
    found = np.empty([max(0, n) for n in shape], x.dtype)
    found[...] = fill
    part = x[tuple(source)]
    if part.size:
        found[tuple(target)] = part
    return found


def _windows(x: Array, window: Any, steps: Any, gaps: Any, first: int) -> Array:
    """A view with the positions of the windows in place of the last axes, and the windows after."""
    shape, strides = list(x.shape[:first]), list(x.strides[:first])
    inner, inner_strides = [], []
    for k, (n, step, gap) in enumerate(zip(window, steps, gaps, strict=True)):
        d = first + k
        reach = (n - 1) * gap + 1
        shape.append(max(0, (x.shape[d] - reach) // step + 1) if x.shape[d] >= reach else 0)
        strides.append(x.strides[d] * step)
        inner.append(n)
        inner_strides.append(x.strides[d] * gap)
    return as_strided(x, shape + inner, strides + inner_strides, writeable=False)


def reduce_window(x: Array, function: Any, start: Any, plan: Any) -> Array:
    """Each window's elements combined."""
    window, steps, edges, spread, gaps = plan
    x = _padded(x, edges, spread, start, 0)
    found = None
    # one strided slice an element of the window, rather than a reduction of short axes
    view = _windows(x, window, steps, gaps, 0)
    rank = len(window)
    if math.prod(window) <= 64:
        for at in np.ndindex(*window):
            part = view[(slice(None),) * rank + at]
            found = part if found is None else function(found, part)
        return np.array(found) if found is not None and found.base is not None else found
    return function.reduce(view, tuple(range(rank, 2 * rank)), initial=start, dtype=x.dtype) if (
        function is np.add) else function.reduce(view, tuple(range(rank, 2 * rank)), initial=start)


def select_and_scatter(source: Array, x: Array, plan: Any, choose: Any, low: Any) -> Array:
    """Each element of ``source`` added where its window of x has its extreme element."""
    window, steps, edges = plan
    rank = x.ndim
    wide = _padded(x, edges, (1,) * rank, low, 0)
    view = _windows(wide, window, steps, (1,) * rank, 0)
    flat = view.reshape((*view.shape[:rank], -1))
    chosen = choose(flat, -1)
    found = np.zeros(wide.shape, x.dtype)
    offsets = np.unravel_index(chosen, window)
    at = []
    for d in range(rank):
        base = np.arange(view.shape[d]) * steps[d]
        at.append(base.reshape([-1 if k == d else 1 for k in range(rank)]) + offsets[d])
    np.add.at(found, tuple(at), source)
    inner = tuple(slice(lo, lo + n) for (lo, _), n in zip(edges, x.shape, strict=True))
    return np.ascontiguousarray(found[inner])


def convolution(x: Array, kernel: Array, plan: Any) -> Array:
    """A convolution as products of matrices, for each group of channels or of samples."""
    lhs, rhs, out, steps, edges, spread, gaps, groups, batches = plan
    x = x.transpose(lhs)
    kernel = kernel.transpose(rhs)
    if batches > 1:
        # each group of samples with its part of the kernel's results
        pairs = zip(np.split(x, batches, 0), np.split(kernel, batches, 0), strict=True)
        parts = [_one(a, b, steps, edges, spread, gaps) for a, b in pairs]
        found = np.concatenate(parts, 1)
    elif groups > 1:
        found = _grouped(x, kernel, steps, edges, spread, gaps, groups)
    else:
        found = _one(x, kernel, steps, edges, spread, gaps)
    back = [0] * found.ndim
    for k, d in enumerate(out):
        back[d] = k
    return np.ascontiguousarray(found.transpose(back))


def _one(x: Array, kernel: Array, steps: Any, edges: Any, spread: Any, gaps: Any) -> Array:
    """Samples first, channels second, in operands and result."""
    results, channels, *window = kernel.shape
    wide = _padded(x, edges, spread, 0, 2)
    view = _windows(wide, window, steps, gaps, 2)
    rank = len(window)
    places = view.shape[2 : 2 + rank]
    samples = x.shape[0]
    if math.prod(window) == 1:
        # no window: a product for each sample
        rows = view.reshape(samples, channels, -1)
        return np.matmul(kernel.reshape(results, channels), rows).reshape(
            samples, results, *places)
    # (channels, window) x (places), sample by sample: the copy stays small
    order = (1, *range(1 + rank + 1, 1 + 2 * rank + 1), *range(2, 2 + rank))
    weights = kernel.reshape(results, -1)
    depth = channels * math.prod(window)
    found = np.empty((samples, results, math.prod(places)), x.dtype)
    for n in range(samples):
        columns = view[n].transpose([d - 1 for d in order]).reshape(depth, -1)
        np.dot(weights, columns, out=found[n])
    return found.reshape(samples, results, *places)


def _grouped(
    x: Array, kernel: Array, steps: Any, edges: Any, spread: Any, gaps: Any, groups: int
) -> Array:
    results, each, *window = kernel.shape
    if each == 1 and results == groups:
        # one channel a group: a sum over the window's elements
        wide = _padded(x, edges, spread, 0, 2)
        view = _windows(wide, window, steps, gaps, 2)
        rank = len(window)
        found = None
        for at in np.ndindex(*window):
            weight = kernel[(slice(None), 0, *at)].reshape((-1,) + (1,) * rank)
            part = view[(slice(None),) * (2 + rank) + at] * weight
            found = part if found is None else np.add(found, part, out=found)
        return found
    parts = [_one(a, b, steps, edges, spread, gaps)
             for a, b in zip(np.split(x, groups, 1), np.split(kernel, groups, 0), strict=True)]
    return np.concatenate(parts, 1)
