"""Loss functions."""

from __future__ import annotations

from typing import Any

from lazyloom import Spec

from .._core import record, record_two, spec
from .._tensor import Tensor, operand
from . import pointwise

_wrap = Tensor._wrap


def _check_reduction(reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(x: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or the tensor itself."""
    _check_reduction(reduction)
    made: Tensor = x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x
    return made


def _class_axis(v: Any) -> int:
    # -1 where that is the same: the canonical attribute of the other frontends
    return -1 if len(v.shape) <= 2 else 1


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits (N, C, ...) and class indices (N, ...) or probabilities."""
    x, y = operand(input), operand(target)
    key = (x.type, y.type, ignore_index, reduction, label_smoothing)
    ready = _cross_entropies.get(key) if weight is None else None
    if ready is not None:
        return _wrap(record_two(ready, x, y))
    if y.dtype.is_floating:
        if y.shape != x.shape:
            raise RuntimeError(
                f"cross_entropy: target of probabilities has shape {list(y.shape)}, expected "
                f"{list(x.shape)} as the input's")
        if weight is not None:
            return _weighted_soft(input, target, weight, reduction, label_smoothing)
        return _wrap(record("soft_cross_entropy", [x, y], {
            "axis": _class_axis(x), "label_smoothing": float(label_smoothing),
            "reduction": _check_reduction(reduction)}))
    _check_labels(x, y, "cross_entropy")
    attributes = {
        "axis": _class_axis(x), "label_smoothing": float(label_smoothing),
        "ignore_index": ignore_index, "reduction": _check_reduction(reduction)}
    if weight is None and type(ignore_index) is int and type(label_smoothing) is float:
        _cross_entropies[key] = spec("cross_entropy", 2, attributes)
    return _wrap(record("cross_entropy", _operands(x, y, weight), attributes))


#: the specs for class indices, by types and options
_cross_entropies: dict[Any, Spec] = {}


def _weighted_soft(
    input: Tensor, target: Tensor, weight: Tensor, reduction: str, smoothing: float
) -> Tensor:
    from .activations import log_softmax

    dim = 1 if input.ndim > 1 else 0
    classes = input.shape[dim]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    wide = weight.reshape(*[-1 if i == dim else 1 for i in range(input.ndim)])
    losses = -(log_softmax(input, dim) * target * wide).sum(dim)
    if reduction == "mean":
        return pointwise.div(losses.sum(), input.numel() // classes)
    return reduced(losses, reduction)


def _operands(x: Any, y: Any, weight: Tensor | None) -> list[Any]:
    return [x, y] if weight is None else [x, y, operand(weight)]


def _check_labels(x: Any, y: Any, name: str) -> None:
    if y.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: target has dtype {y.dtype.name}, expected class indices of "
                           "torch.long, or probabilities of the input's dtype")
    wanted = () if len(x.shape) == 1 else (x.shape[0], *x.shape[2:])
    if y.shape != wanted:
        raise ValueError(
            f"{name}: Expected input batch_size to match target batch_size: target has shape "
            f"{list(y.shape)}, expected {list(wanted)} for input {list(x.shape)}")


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """The negative log probability at each class index; input (N, C, ...) holds logs."""
    x, y = operand(input), operand(target)
    _check_labels(x, y, "nll_loss")
    return _wrap(record("nll_loss", _operands(x, y, weight), {
        "axis": _class_axis(x), "ignore_index": ignore_index,
        "reduction": _check_reduction(reduction)}))


def _pair(input: Tensor, target: Tensor) -> list[Any]:
    values, _ = pointwise.promoted((input, target))
    from .._core import broadcast_shapes

    shape = broadcast_shapes(values[0].shape, values[1].shape)
    return [v if v.shape == shape else record("broadcast_to", [v], {"shape": shape})
            for v in values]


def _pairwise(op: str, name: str) -> Any:
    def function(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean") -> Tensor:
        return _wrap(record(op, _pair(input, target), {"reduction": _check_reduction(reduction)}))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Op ``{op}`` of input and target."
    return function


mse_loss, l1_loss = _pairwise("mse_loss", "mse_loss"), _pairwise("l1_loss", "l1_loss")


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Any = None) -> Tensor:
    """Quadratic near the target, linear farther than delta."""
    return _wrap(record("huber_loss", _pair(input, target), {
        "delta": float(delta), "reduction": _check_reduction(reduction)}))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """The Huber loss divided by its threshold beta; the L1 loss for beta 0."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    found = huber_loss(input, target, reduction, beta)
    return found if beta == 1 else pointwise.div(found, float(beta))


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """``target * (log(target) - input)``, input holding logs; "batchmean" divides by N."""
    if reduction == "batchmean":
        found = kl_div(input, target, reduction="sum", log_target=log_target)
        return pointwise.div(found, input.shape[0])
    return _wrap(record("kl_div", _pair(input, target), {
        "log_target": log_target, "reduction": _check_reduction(reduction)}))


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:
    """Cross entropy of probabilities and targets in [0, 1]; logs are at least -100."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size.")
    yes = input.log().clamp(min=-100.0)
    no = (1.0 - input).log().clamp(min=-100.0)
    losses = -(target * yes + (1.0 - target) * no)
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of logits and targets in [0, 1]."""
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    values, common = pointwise.promoted((input, target))
    more = [None if w is None else pointwise.cast(operand(w), common.lazy)
            for w in (weight, pos_weight)]
    return _wrap(record("binary_cross_entropy_with_logits", [*values, *more], {
        "reduction": _check_reduction(reduction)}))


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    return reduced(pointwise.FUNCTIONS["log1p"]((-target * input).exp()), reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0,
                         reduction: str = "mean") -> Tensor:
    losses = pointwise.where(target == 1, input, (margin - input).clamp(min=0.0))
    return reduced(losses, reduction)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        reduction: str = "mean") -> Tensor:
    return reduced((-target * (input1 - input2) + margin).clamp(min=0.0), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:
    from .linear import cosine_similarity

    cos = cosine_similarity(input1, input2, -1)
    losses = pointwise.where(target == 1, 1.0 - cos, (cos - margin).clamp(min=0.0))
    return reduced(losses, reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, reduction: str = "mean",
) -> Tensor:
    near, far = ((anchor - x + eps).norm(p, -1) for x in (positive, negative))
    return reduced((near - far + margin).clamp(min=0.0), reduction)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True,
                     eps: float = 1e-8, reduction: str = "mean") -> Tensor:
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    return reduced(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    spread = var.clamp(min=eps)
    return reduced(0.5 * (spread.log() + (input - target) ** 2 / spread), reduction)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    cross_entropy, nll_loss, mse_loss, l1_loss, huber_loss, smooth_l1_loss, kl_div,
    binary_cross_entropy, binary_cross_entropy_with_logits, soft_margin_loss, hinge_embedding_loss,
    margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss, poisson_nll_loss,
    gaussian_nll_loss)}
