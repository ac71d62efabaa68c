"""Losses of classifiers and of regressions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import lazyloom
from lazyloom import Spec

from .._core import broadcast_shapes, cast, record, record_two, scalar, spec
from .._tensor import Tensor, operand
from . import bounds, pointwise
from .activations import log_softmax

_wrap = Tensor.from_value
_log = pointwise.FUNCTIONS["log"]


class NegativeVarianceError(lazyloom.errors.ExecutionError, ValueError):
    """A variance that is negative, found where something that depends on it is read."""


def _judge_variances(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
    return NegativeVarianceError(
        f"gaussian_nll_loss: var has negative entry/entries (recorded at {check.site})")


lazyloom.register_check("torch.variances", _judge_variances)


def reduction_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction meant, by its former arguments where they are given.

    Raises ValueError for an unknown one.
    """
    if size_average is not None or reduce is not None:
        whole = True if reduce is None else reduce
        mean = True if size_average is None else size_average
        reduction = "none" if not whole else "mean" if mean else "sum"
        warnings.warn("size_average and reduce args will be deprecated, please use reduction="
                      f"{reduction!r} instead.", stacklevel=3)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(x: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or the tensor itself."""
    made: Tensor = x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x
    return made


def _class_axis(v: Any) -> int:
    # -1 where that is the same: the canonical attribute of the other frontends
    return -1 if len(v.shape) <= 2 else 1


#: the specs for class indices, by types and options
_cross_entropies: dict[Any, Spec] = {}


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits (N, C, ...) and class indices (N, ...) or probabilities.

    Raises IndexError for class indices out of range.
    """
    x, y = operand(input), operand(target)
    key = (x.type, y.type, ignore_index, reduction, label_smoothing)
    ready = _cross_entropies.get(key) if weight is None and reduce is None else None
    if ready is not None and size_average is None:
        return _wrap(record_two(ready, x, _labels(y, x, ignore_index, "cross_entropy")))
    reduction = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if not x.shape:
        raise RuntimeError("cross_entropy: expected an input of 1 dimension or more, got 0")
    if y.shape == x.shape and y.dtype.is_floating:
        return _soft(input, target, weight, reduction, label_smoothing)
    _check_labels(x, y, "cross_entropy")
    attributes = {
        "axis": _class_axis(x), "label_smoothing": float(label_smoothing),
        "ignore_index": int(ignore_index), "reduction": reduction}
    if weight is None:
        _cross_entropies[key] = spec("cross_entropy", 2, attributes)
    labels = _labels(y, x, ignore_index, "cross_entropy")
    return _wrap(record("cross_entropy", _operands(x, labels, weight), attributes))


def _labels(y: Any, x: Any, ignore: int, name: str) -> Any:
    """Class indices, checked but for those to ignore."""
    classes = x.shape[1 if len(x.shape) > 1 else 0]
    limits = lazyloom.known_bounds(y)
    if limits is not None and 0 <= limits[0] and limits[1] < classes or not y.type.size:
        return y
    known = lazyloom.known_range(y)
    if known is not None and any(
        not 0 <= end < classes and end != ignore for end in known
    ) or 0 <= ignore < classes or not classes:
        return bounds.checked(y, classes, None, name, negative=False)
    return lazyloom.check_indices(y, classes, None, name, ignore_index=ignore)


def _soft(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    x, y = operand(input), operand(target)
    axis = _class_axis(x)
    if weight is None:
        return _wrap(record("soft_cross_entropy", [x, cast(y, x.dtype)], {
            "axis": axis, "label_smoothing": float(smoothing), "reduction": reduction}))
    dim = axis % len(x.shape)
    classes = x.shape[dim]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    wide = weight.reshape(*[-1 if i == dim else 1 for i in range(input.ndim)])
    losses = -(log_softmax(input, dim) * target * wide).sum(dim)
    if reduction == "mean":
        return pointwise.div(losses.sum(), x.type.size // classes)
    return reduced(losses, reduction)


def _operands(x: Any, y: Any, weight: Tensor | None) -> list[Any]:
    if weight is None:
        return [x, y]
    w = operand(weight)
    classes = x.shape[1 if len(x.shape) > 1 else 0]
    if w.shape != (classes,):
        raise RuntimeError(
            "weight tensor should be defined either for all or no classes: expected a 1D tensor of "
            f"{classes} elements but got one of size {list(w.shape)}")
    if w.dtype is not x.dtype:
        raise RuntimeError(
            f"expected scalar type {x.dtype.name} but found {w.dtype.name} for the weight")
    return [x, y, w]


def _check_labels(x: Any, y: Any, name: str) -> None:
    if y.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(
            f"{name}: expected scalar type Long or Byte but found {y.dtype.name}: a target of "
            f"probabilities has the input's shape {list(x.shape)}, not {list(y.shape)}")
    wanted = () if len(x.shape) == 1 else (x.shape[0], *x.shape[2:])
    if y.shape == wanted:
        return
    text = (f"{name}: target has shape {list(y.shape)}, expected {list(wanted)} for input "
            f"{list(x.shape)}")
    if len(x.shape) > 1 and y.shape and y.shape[0] != x.shape[0]:
        raise ValueError(f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
                         f"({y.shape[0]}): {text}")
    raise RuntimeError(text)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """The negative log probability at each class index; input (N, C, ...) holds logs."""
    reduction = reduction_of(size_average, reduce, reduction)
    x, y = operand(input), operand(target)
    if not x.shape:
        raise ValueError("nll_loss: expected an input of 1 dimension or more, got 0")
    _check_labels(x, y, "nll_loss")
    labels = _labels(y, x, ignore_index, "nll_loss")
    return _wrap(record("nll_loss", _operands(x, labels, weight), {
        "axis": _class_axis(x), "ignore_index": int(ignore_index), "reduction": reduction}))


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:
    """:func:`cross_entropy` of ``input @ linear_weight.T + linear_bias``.

    ``linear_weight`` is (C, in) or (C, d1, ..., in). ``options`` say how PyTorch cuts the work
    in pieces to save memory; here XLA decides.
    """
    x, w = input.tensor_type.shape, linear_weight.tensor_type.shape
    if len(x) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(x)}")
    if len(w) < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {len(w)}")
    if x[-1] != w[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x[-1]} and {w[-1]}, respectively")
    if linear_bias is not None and linear_bias.tensor_type.shape != w[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {w[:-1]}, got {tuple(linear_bias.shape)}")
    if len(w) > 2 and len(x) == 1:
        raise RuntimeError(
            f"K-dimensional loss of linear_weight shape {tuple(w)} requires batched input, got "
            f"unbatched input with shape {tuple(x)}")
    soft = target.tensor_type.shape == (*x[:-1], *w[:-1])
    if soft and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    value = record("dot_general", [operand(input), operand(linear_weight)], {
        "lhs_contract": (len(x) - 1,), "rhs_contract": (len(w) - 1,), "lhs_batch": (),
        "rhs_batch": ()})
    logits = _wrap(value)
    if linear_bias is not None:
        logits = pointwise.add(logits, linear_bias)
    return cross_entropy(
        logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction, label_smoothing=label_smoothing)


# Pairs


def _pair(input: Tensor, target: Tensor, name: str) -> list[Any]:
    """Both operands in one dtype and shape."""
    x, y = input.tensor_type, target.tensor_type
    if x.shape != y.shape:
        warnings.warn(
            f"{name}: Using a target size ({list(y.shape)}) that is different to the input size "
            f"({list(x.shape)}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.", stacklevel=3)
    if x.dtype is y.dtype and x.shape == y.shape:
        return [operand(input), operand(target)]
    values, _ = pointwise.promoted((input, target))
    shape = broadcast_shapes(x.shape, y.shape)
    return [v if v.shape == shape else record("broadcast_to", [v], {"shape": shape})
            for v in values]


def _weighted(losses: Tensor, weight: Tensor) -> Tensor:
    """The loss of each element times its weight."""
    if weight.shape != losses.shape:
        raise ValueError(
            f"Weights and input must have the same size, got {list(weight.shape)} and "
            f"{list(losses.shape)}.")
    return pointwise.mul(losses, weight)


def _pairwise(op: str) -> Any:
    def function(
        input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
        reduction: str = "mean", weight: Tensor | None = None,
    ) -> Tensor:
        reduction = reduction_of(size_average, reduce, reduction)
        values = _pair(input, target, op)
        if op == "mse_loss" and weight is None and not values[0].dtype.is_inexact:
            raise NotImplementedError(f"mse_loss is not implemented for {input.dtype!r}")
        if weight is None and values[0].dtype.is_floating:
            return _wrap(record(op, values, {"reduction": reduction}))
        losses = _exact(op, values)
        if weight is None:
            return reduced(losses, reduction)
        losses = _weighted(losses, weight)
        if reduction == "mean":
            return pointwise.div(losses.sum(), weight.sum())
        return reduced(losses, reduction)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"Op ``{op}`` of input and target, weighted where a weight is given."
    return function


def _exact(op: str, values: list[Any]) -> Tensor:
    """The loss of each element, of complex numbers and integers too."""
    if values[0].dtype.is_floating:
        return _wrap(record(op, values, {"reduction": "none"}))
    apart = pointwise.sub(*map(_wrap, values))
    return pointwise.FUNCTIONS["abs"](apart) if op == "l1_loss" else pointwise.mul(apart, apart)


mse_loss, l1_loss = _pairwise("mse_loss"), _pairwise("l1_loss")


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    """Quadratic near the target, linear farther than delta."""
    reduction = reduction_of(None, None, reduction)
    if delta <= 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta, got {delta}.")
    values = _pair(input, target, "huber_loss")
    plain = reduction if weight is None else "none"
    losses = _wrap(record("huber_loss", values, {"delta": float(delta), "reduction": plain}))
    if input.tensor_type.dtype is not losses.tensor_type.dtype:
        losses = losses.to(input.dtype)
    # unlike that of other weighted losses, PyTorch's mean is over the elements
    return losses if weight is None else reduced(_weighted(losses, weight), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The Huber loss divided by its threshold beta; the L1 loss for beta 0."""
    reduction = reduction_of(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(
            f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    values = _pair(input, target, "smooth_l1_loss")
    found = _wrap(record("huber_loss", values, {"delta": float(beta), "reduction": reduction}))
    return found if beta == 1 else pointwise.div(found, float(beta))


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """``target * (log(target) - input)``, input holding logs; "batchmean" divides by N."""
    if reduction == "batchmean" and size_average is None and reduce is None:
        found = kl_div(input, target, reduction="sum", log_target=log_target)
        rows = input.tensor_type.shape[0] if input.tensor_type.shape else 1
        return pointwise.div(found, rows)
    reduction = reduction_of(size_average, reduce, reduction)
    values, _ = pointwise.promoted((input, target))
    shape = broadcast_shapes(values[0].shape, values[1].shape)
    values = [v if v.shape == shape else record("broadcast_to", [v], {"shape": shape})
              for v in values]
    return _wrap(record("kl_div", values, {"log_target": log_target, "reduction": reduction}))


def _same_sizes(input: Tensor, target: Tensor) -> None:
    if input.tensor_type.shape != target.tensor_type.shape:
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size "
            f"({list(input.shape)}) is deprecated. Please ensure they have the same size.")


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities and targets in [0, 1]; logs are at least -100.

    Raises RuntimeError, at the latest where the result is read, for an input outside [0, 1].
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _same_sizes(input, target)
    x, y = operand(input), operand(target)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"binary_cross_entropy: Found dtype {target.dtype!r} but expected {input.dtype!r}")
    if x.type.size:
        plain = x.detach()
        inside = record("logical_and", [
            record("greater_equal", [plain, scalar(0, x.dtype)]),
            record("less_equal", [plain, scalar(1, x.dtype)])])
        outside = record("logical_not", [record("all", [inside], {})])
        x = bounds.require(x, outside, "torch.probabilities")
    w = None if weight is None else cast(operand(weight), x.dtype)
    return _wrap(record("binary_cross_entropy", [x, y, w], {"reduction": reduction}))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of logits and targets in [0, 1]."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input.tensor_type.shape != target.tensor_type.shape:
        raise ValueError(
            f"Target size ({list(target.shape)}) must be the same as input size "
            f"({list(input.shape)})")
    values, common = pointwise.promoted((input, target))
    more = [None if w is None else cast(operand(w), common.lazy) for w in (weight, pos_weight)]
    found = record("binary_cross_entropy_with_logits", [*values, *more], {
        "reduction": reduction})
    dtype = target.tensor_type.dtype
    return _wrap(cast(found, dtype) if dtype.is_floating else found)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
    size_average: Any = None, eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """``exp(input) - target * input``, or ``input - target * log(input + eps)``.

    ``full`` adds Stirling's approximation of log(target!) where the target is above 1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if log_input:
        losses = pointwise.sub(pointwise.FUNCTIONS["exp"](input), target * input)
    else:
        losses = pointwise.sub(input, target * _log(pointwise.add(input, eps)))
    if full:
        stirling = target * _log(target) - target + 0.5 * _log(
            target * (2 * math.pi))
        losses = losses + pointwise.where(target <= 1, 0.0, stirling)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(var) + (input - target) ** 2 / var) / 2`` with the variance at least eps.

    Raises ValueError for a negative ``var``, at the latest where the result is read.
    """
    reduction = reduction_of(None, None, reduction)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        spread: Any = scalar(max(float(var), eps), input.tensor_type.dtype)
        spread = _wrap(record("full", [spread], {"shape": input.tensor_type.shape}))
    else:
        v = operand(var)
        wanted, given = input.tensor_type.shape, v.shape
        if given != wanted:
            differing = [b for a, b in zip(wanted, given, strict=False) if a != b]
            if wanted[:-1] == given:
                v = record("expand_dims", [v], {"axes": (len(given),)})
            elif len(wanted) != len(given) or sum(differing) != 1:
                raise ValueError("var is of incorrect size")
        if v.type.size:
            negative = record("any", [record("less", [v.detach(), scalar(0, v.dtype)])], {})
            v = bounds.require(v, negative, "torch.variances")
        least = record("maximum", [v.detach(), scalar(eps, v.dtype)])
        spread = _wrap(record("straight_through", [v, least]) if v.requires_grad else least)
    square = pointwise.pow(pointwise.sub(input, target), 2)
    losses = 0.5 * (_log(spread) + square / spread)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    cross_entropy, nll_loss, linear_cross_entropy, mse_loss, l1_loss, huber_loss, smooth_l1_loss,
    kl_div, binary_cross_entropy, binary_cross_entropy_with_logits, poisson_nll_loss,
    gaussian_nll_loss)}
