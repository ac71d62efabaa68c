"""Losses of margins, distances and alignments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import int64

from .._core import cast, record, scalar
from .._tensor import Tensor, operand
from . import bounds, pointwise
from .activations import FUNCTIONS as _ACTIVATIONS
from .distances import pairwise_distance
from .losses import reduced, reduction_of
from .spatial import constant

_wrap = Tensor.from_value


def _hinge(x: Tensor) -> Tensor:
    """max(x, 0), with PyTorch's derivative of clamp_min: 1 at 0."""
    return pointwise.clamp(x, min=0)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input.is_floating_point():
        raise RuntimeError(f"soft_margin_loss: result type Float can't be cast to {input.dtype!r}")
    product = pointwise.mul(pointwise.FUNCTIONS["neg"](target), input).to(input.dtype)
    return reduced(
        pointwise.FUNCTIONS["log1p"](pointwise.FUNCTIONS["exp"](product)), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1 and ``max(margin - input, 0)`` where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    far = pointwise.where(target != 1, _hinge(pointwise.rsub(input, margin)), 0.0)
    near = pointwise.where(target != -1, input, 0.0)
    return reduced(pointwise.add(far, near), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """``max(-target * (input1 - input2) + margin, 0)``."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {list(input1.shape)}, input2: {list(input2.shape)}, target: "
            f"{list(target.shape)}")
    return reduced(_hinge(-target * (input1 - input2) + margin), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1 and ``max(cos - margin, 0)`` where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.ndim not in (0, 1) or (target.ndim == 1) != (input1.ndim == 2) or (
        input1.ndim != input2.ndim):
        raise RuntimeError(
            f"cosine_embedding_loss: {target.ndim}D target tensor expects {target.ndim + 1}D input "
            f"tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    # PyTorch's own formula here: eps inside the root
    small = 1e-12
    product = (input1 * input2).sum(-1)
    lengths = ((input1 * input1).sum(-1) + small) * ((input2 * input2).sum(-1) + small)
    cos = product / pointwise.FUNCTIONS["sqrt"](lengths)
    near = pointwise.where(target == 1, 1.0 - cos, 0.0)
    far = pointwise.where(target == -1, _hinge(cos - margin), 0.0)
    return reduced(near + far, reduction)


def _same_ranks(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs")


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)``, d by :func:`norm` p.

    With ``swap`` the nearer of anchor and positive stands for the anchor of the negative.
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    reduction = reduction_of(size_average, reduce, reduction)
    _same_ranks(anchor, positive, negative)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet(distance, anchor, positive, negative, margin, swap, reduction)


def _triplet(
    distance: Callable[[Tensor, Tensor], Tensor], anchor: Tensor, positive: Tensor,
    negative: Tensor, margin: float, swap: bool, reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pointwise.FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduced(_hinge(margin + near - far), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` by a distance of one's own."""
    reduction = reduction_of(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _same_ranks(anchor, positive, negative)
    return _triplet(distance_function or pairwise_distance, anchor, positive, negative, margin,
                    swap, reduction)


# Several classes


def _rows(input: Tensor, name: str) -> tuple[Any, bool]:
    """The input (N, C) and whether it had the N."""
    x = operand(input)
    if len(x.shape) > 2 or len(x.shape) == 2 and not x.shape[1]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(x.shape)}")
    if len(x.shape) == 2:
        return x, True
    return record("reshape", [x], {"shape": (1, x.type.size)}), False


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0,
    weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(margin - x[y] + x, 0) ** p) / C`` over the classes but the target y."""
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got {weight.ndim} dimensions")
    x, whole = _rows(input, "multi_margin_loss")
    n, classes = x.shape
    y = operand(target)
    if y.dtype is not int64 or y.type.size != n or len(y.shape) > 1:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent target size: expected {n} class indices (int64), but "
            f"got {list(y.shape)} of {target.dtype!r}")
    y = bounds.checked(record("reshape", [y], {"shape": (n, 1)}), classes, None,
                       "multi_margin_loss", negative=False)
    own = record("take_along_axis", [x, y], {"axis": 1})
    gap = record("add", [record("subtract", [x, own]), scalar(margin, x.dtype)])
    places = record("iota", [], {"shape": (n, classes), "axis": 1, "dtype": int64})
    counts = record("logical_and", [record("not_equal", [places, y]),
                                    record("greater", [gap, scalar(0, x.dtype)])])
    terms = record("multiply", [gap, gap]) if p == 2 else gap
    if weight is not None:
        if weight.tensor_type.shape != (classes,):
            raise RuntimeError(
                f"multi_margin_loss: inconsistent weight size, expected {classes} but got "
                f"{list(weight.shape)}")
        w = record("take", [operand(weight), y], {"axis": 0})
        terms = record("multiply", [terms, w])
    losses = pointwise.div(
        _wrap(record("sum", [record("where", [counts, terms, scalar(0, x.dtype)])],
                     {"axes": (1,)})), classes)
    if not whole and not (reduction == "none" and target.ndim == 1):
        losses = losses.reshape(()) if reduction == "none" else losses
    return reduced(losses, reduction)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum(max(1 - (x[y] - x[i]), 0)) / C`` over the target classes y and the others i.

    Each row of targets holds classes up to the first -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x, whole = _rows(input, "multilabel_margin_loss")
    n, classes = x.shape
    y = operand(target)
    if y.dtype is not int64 or y.shape != operand(input).shape:
        raise RuntimeError(
            f"multilabel_margin_loss: inconsistent target size: {list(y.shape)} of "
            f"{target.dtype!r}, expected class indices (int64) of the input's {list(input.shape)}")
    y = record("reshape", [y], {"shape": (n, classes)})
    ends = record("cumsum", [record("cast", [record("less", [y, scalar(0, int64)])], {
        "dtype": int64})], {"axis": 1})
    listed = record("equal", [ends, scalar(0, int64)])
    safe = bounds.checked(record("where", [listed, y, scalar(0, int64)]), classes, None,
                          "multilabel_margin_loss", negative=False)
    zeros = record("full", [scalar(0, int64)], {"shape": (n, classes)})
    marks = record("scatter_along_axis", [zeros, safe, cast(listed, int64)], {
        "axis": 1, "mode": "add"})
    other = record("equal", [marks, scalar(0, int64)])
    own = record("take_along_axis", [x, safe], {"axis": 1})
    gap = record("add", [
        record("subtract", [record("expand_dims", [x], {"axes": (1,)}),
                            record("expand_dims", [own], {"axes": (2,)})]), scalar(1, x.dtype)])
    counts = record("logical_and", [
        record("logical_and", [record("expand_dims", [listed], {"axes": (2,)}),
                               record("expand_dims", [other], {"axes": (1,)})]),
        record("greater", [gap, scalar(0, x.dtype)])])
    losses = pointwise.div(
        _wrap(record("sum", [record("where", [counts, gap, scalar(0, x.dtype)])],
                     {"axes": (1, 2)})), max(classes, 1))
    if not whole:
        losses = losses.reshape(())
    return reduced(losses, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of the cross entropy of each, which are independent."""
    reduction = reduction_of(size_average, reduce, reduction)
    log = _ACTIVATIONS["logsigmoid"]
    losses = -(target * log(input) + (1 - target) * log(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(-1) / input.shape[-1], reduction)


# Alignment


def _lengths(given: Any, batch: int, name: str) -> Any:
    """Lengths as int64[N]. Raises RuntimeError for another number of them."""
    lengths = operand(given) if isinstance(given, Tensor) else constant(
        np.array([int(v) for v in given], np.int64))
    if lengths.dtype.kind not in "iu" or lengths.type.size != batch:
        raise RuntimeError(
            f"ctc_loss: {name} must be {batch} integers, one for each of the batch, got "
            f"{list(lengths.shape)} of {lengths.dtype.name}")
    return cast(record("reshape", [lengths], {"shape": (batch,)}), int64)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:
    """The loss of connectionist temporal classification (Graves et al., 2006).

    ``log_probs`` (T, N, C) or (T, C) are logarithms of probabilities, ``targets`` (N, S) or one
    after the other (1-D). The mean divides each loss by its target's length first.
    """
    reduction = reduction_of(None, None, reduction)
    logs = operand(log_probs)
    whole = len(logs.shape) == 3
    if not whole:
        logs = record("expand_dims", [logs], {"axes": (1,)})
    if len(logs.shape) != 3:
        raise RuntimeError(f"ctc_loss: log_probs must be (T, N, C) or (T, C), got "
                           f"{list(log_probs.shape)}")
    steps, batch, classes = logs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, got {blank} for {classes} labels")
    times, counts = (_lengths(v, batch, name) for v, name in (
        (input_lengths, "input_lengths"), (target_lengths, "target_lengths")))
    y = operand(targets)
    if y.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss: targets must be integers, got {targets.dtype!r}")
    y = cast(y, int64)
    if len(y.shape) == 2:
        if y.shape[0] != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {y.shape[0]} "
                "for the targets of ctc_loss")
    elif len(y.shape) == 1:
        y = _apart(y, counts, batch)
    else:
        raise RuntimeError(f"targets should be 1- or 2-dimensional, got {list(y.shape)}")
    times = bounds.checked(times, steps + 1, None, "ctc_loss input_lengths", negative=False)
    counts = bounds.checked(counts, y.shape[1] + 1, None, "ctc_loss target_lengths",
                            negative=False)
    losses = _wrap(record("ctc_loss", [logs, y, times, counts], {"blank": blank}))
    if zero_infinity:
        losses = pointwise.where(losses == float("inf"), 0.0, losses)
    if reduction == "mean":
        sizes = pointwise.clamp(_wrap(counts), min=1).to(losses.dtype)
        return pointwise.div(losses, sizes).mean()
    if reduction == "none" and not whole:
        return losses.reshape(())
    return reduced(losses, reduction)


def _apart(y: Any, counts: Any, batch: int) -> Any:
    """Targets one after the other as rows, as long as the longest that is known of."""
    known = lazyloom.known_bounds(counts)
    total = y.shape[0]
    most = min(total, known[1]) if known is not None else total
    if not most:
        return record("full", [scalar(0, int64)], {"shape": (batch, 0)})
    ends = record("cumsum", [counts], {"axis": 0})
    starts = record("expand_dims", [record("subtract", [ends, counts])], {"axes": (1,)})
    at = record("add", [starts, constant(np.arange(most))])
    return record("take", [y, record("minimum", [at, scalar(total - 1, int64)])], {"axis": 0})


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    soft_margin_loss, hinge_embedding_loss, margin_ranking_loss, cosine_embedding_loss,
    triplet_margin_loss, triplet_margin_with_distance_loss, multi_margin_loss,
    multilabel_margin_loss, multilabel_soft_margin_loss, ctc_loss)}
