"""XLA's convolution and reductions over windows, with NumPy."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .parts import in_parts

Array = Any
#: elements that are worked on at a time, so that they stay in the processor's cache
PART: Final = 1 << 16


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


def _windows(
    x: Array, window: Any, steps: Any, gaps: Any, first: int, writeable: bool = False
) -> Array:
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
    return as_strided(x, shape + inner, strides + inner_strides, writeable=writeable)


def _along(x: Array, d: int, window: int, step: int, gap: int) -> list[Array]:
    """For each element of a window along one axis, the slice of x that it runs over."""
    size = (x.shape[d] - (window - 1) * gap - 1) // step + 1
    lead = (slice(None),) * d
    return [x[(*lead, slice(k * gap, k * gap + max(0, (size - 1) * step + 1), step))]
            for k in range(window)]


def _outer(windows: Any) -> int:
    """How many of the first axes have windows of one element that stay where they are."""
    found = 0
    for n, step, edges, *spread in windows:
        if (n, step) != (1, 1) or tuple(edges) != (0, 0) or spread[0] != 1:
            break
        found += 1
    return found


def _in_parts(function: Any, arrays: list[Array], outer: int) -> Array:
    """``function`` of the arrays with their first axes as one, of a few of its rows at a time."""
    lead = arrays[0].shape[:outer]
    rows = math.prod(lead)
    flat = [x.reshape((rows, *x.shape[outer:])) for x in arrays]
    count = max(1, PART * rows // max(1, max(x.size for x in arrays)))
    found: Array = None
    for i in range(0, rows, count):
        part = function(*[x[i : i + count] for x in flat])
        if found is None:
            found = np.empty((rows, *part.shape[1:]), part.dtype)
        found[i : i + count] = part
    return found.reshape((*lead, *found.shape[1:]))


def reduce_window(x: Array, function: Any, start: Any, plan: Any) -> Array:
    """Each window's elements combined, axis by axis."""
    outer = _outer(zip(*plan, strict=True))
    if x.size > PART and math.prod(x.shape[:outer]) > 1:
        inner = [(first, *given[outer:])
                 for first, given in zip((1, 1, (0, 0), 1, 1), plan, strict=True)]
        return _in_parts(lambda v: reduce_window(v, function, start, inner), [x], outer)
    window, steps, edges, spread, gaps = plan
    wide = _padded(x, edges, spread, start, 0)
    for d, n in enumerate(window):
        if n == steps[d] == 1:
            continue
        parts = _along(wide, d, n, steps[d], gaps[d])
        found = np.array(parts[0])
        for part in parts[1:]:
            function(found, part, out=found)
        wide = found
    return np.array(wide) if wide is x else wide


def select_and_scatter(source: Array, x: Array, plan: Any, choose: Any, low: Any) -> Array:
    """Each element of ``source`` added where its window of x has its extreme element."""
    window, steps, edges = plan
    rank = x.ndim
    outer = _outer(zip(window, steps, edges, (1,) * rank, strict=True))
    if x.size > PART and math.prod(x.shape[:outer]) > 1:
        inner = [(first, *given[outer:]) for first, given in zip((1, 1, (0, 0)), plan, strict=True)]
        return _in_parts(
            lambda s, v: select_and_scatter(s, v, inner, choose, low), [source, x], outer)
    wide = _padded(x, edges, (1,) * rank, low, 0)
    view = _windows(wide, window, steps, (1,) * rank, 0)
    places = (slice(None),) * rank
    keeps = np.greater_equal if choose is np.argmax else np.less_equal
    best: Array = None
    chosen: Array = None
    for number, at in enumerate(np.ndindex(*window)):
        part = view[(*places, *at)]
        if best is None:
            best, chosen = np.array(part), np.zeros(part.shape, np.int32)
        else:
            better = ~keeps(best, part)
            np.copyto(best, part, where=better)
            np.copyto(chosen, number, where=better)
    found = np.zeros(wide.shape, x.dtype)
    into = _windows(found, window, steps, (1,) * rank, 0, True)
    zero = x.dtype.type(0)
    for number, at in enumerate(np.ndindex(*window)):
        target = into[(*places, *at)]
        np.add(target, np.where(chosen == number, source, zero), target)
    inside = tuple(slice(lo, lo + n) for (lo, _), n in zip(edges, x.shape, strict=True))
    return np.ascontiguousarray(found[inside])


def convolution(x: Array, kernel: Array, plan: Any) -> Array:
    """A convolution as products of matrices, for each group of channels or of samples."""
    lhs, rhs, out, steps, edges, spread, gaps, groups, batches = plan
    x = x.transpose(lhs)
    kernel = kernel.transpose(rhs)
    if batches == x.shape[0] == kernel.shape[0] and batches > 1:
        found = _one_by_one(x, kernel, steps, edges, spread, gaps)
    elif batches > 1:
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
    rank = len(window)
    samples = x.shape[0]
    weights = kernel.reshape(results, -1)
    if math.prod(window) == 1 and channels:
        # no window: a product for each sample, of what is read or what is not zero
        if all(tuple(e) == (0, 0) for e in edges) and all(g == 1 for g in spread):
            x = x[(slice(None), slice(None), *(slice(None, None, s) for s in steps))]
            steps = (1,) * rank
        inner = x.shape[2:]
        rows = x.reshape(samples, channels, -1)
        found = np.empty((samples, results, rows.shape[2]), x.dtype)
        in_parts(samples, lambda i, j: np.matmul(weights, rows[i:j], found[i:j]))
        found = found.reshape(samples, results, *inner)
        found = _padded(found, edges, spread, 0, 2)
        return found[(slice(None), slice(None), *(slice(None, None, s) for s in steps))]
    wide = _padded(x, edges, spread, 0, 2)
    view = _windows(wide, window, steps, gaps, 2)
    places = view.shape[2 : 2 + rank]
    depth = channels * math.prod(window)
    if math.prod(places) < math.prod(window):
        # the derivative by a kernel: a product for each place, of all samples
        turned = weights.T
        made = np.empty((*places, samples, results), x.dtype)
        each = list(np.ndindex(*places))

        def at_places(start: int, end: int) -> None:
            for at in each[start:end]:
                rows = view[(slice(None), slice(None), *at)].reshape(samples, depth)
                np.dot(rows, turned, out=made[at])

        in_parts(len(each), at_places)
        return made.transpose((rank, rank + 1, *range(rank)))
    # (channels, window) x (places), sample by sample: the copy stays small
    order = (0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))
    found = np.empty((samples, results, math.prod(places)), x.dtype)

    def of_samples(start: int, end: int) -> None:
        for n in range(start, end):
            columns = view[n].transpose(order).reshape(depth, -1)
            np.dot(weights, columns, out=found[n])

    in_parts(samples, of_samples)
    return found.reshape(samples, results, *places)


def _one_by_one(
    x: Array, kernel: Array, steps: Any, edges: Any, spread: Any, gaps: Any
) -> Array:
    """A sample and a part of the kernel in each group: the derivative by a depthwise kernel."""
    groups, channels, *window = kernel.shape
    rank = len(window)
    step = max(1, PART // max(1, kernel.size // groups))
    made: Array = None
    for i in range(0, groups, step):
        view = _windows(_padded(x[i : i + step], edges, spread, 0, 2), window, steps, gaps, 2)
        part = kernel[i : i + step]
        if made is None:
            made = np.empty((groups, *view.shape[2 : 2 + rank]), x.dtype)
        for at in np.ndindex(*view.shape[2 : 2 + rank]):
            product = view[(slice(None), slice(None), *at)] * part
            np.add.reduce(product.reshape(len(part), -1), 1, out=made[(slice(i, i + step), *at)])
    return made[None]


def _grouped(
    x: Array, kernel: Array, steps: Any, edges: Any, spread: Any, gaps: Any, groups: int
) -> Array:
    results, each, *window = kernel.shape
    if each == 1 and results == groups:
        # one channel a group: a sum over the window's elements, some channels at a time
        rank = len(window)
        found: Array = None
        step = max(1, PART * groups // max(1, x.size))
        for i in range(0, groups, step):
            view = _windows(
                _padded(x[:, i : i + step], edges, spread, 0, 2), window, steps, gaps, 2)
            if found is None:
                found = np.zeros((len(x), groups, *view.shape[2 : 2 + rank]), x.dtype)
            total = found[:, i : i + step]
            for at in np.ndindex(*window):
                weight = kernel[(slice(i, i + step), 0, *at)].reshape((-1,) + (1,) * rank)
                total += view[(slice(None),) * (2 + rank) + at] * weight
        return found
    parts = [_one(a, b, steps, edges, spread, gaps)
             for a, b in zip(np.split(x, groups, 1), np.split(kernel, groups, 0), strict=True)]
    return np.concatenate(parts, 1)
