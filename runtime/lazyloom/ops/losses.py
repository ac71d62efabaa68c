"""Losses of classifiers and regressions.

``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``. Half-precision operands are
computed in float32 and rounded once, at the end. A label outside the classes has
no class: its term is NaN, which no later step can overlook, unless it is
``ignore_index``, whose terms are zero and not counted by the mean.
"""

from __future__ import annotations

from typing import Any

from ._helpers import broadcast_to, log1p_exp, modulus, widened
from ._jax import jax, lax
from .cases import Cases, case, integers
from .indexing import _wide
from .kinds import Array, Integer, T
from .normalization import stable_log_softmax
from .rules import nn as rules
from .rules.shape import product
from .spec import op
from .traits import Derivative


@op(
    rules.class_loss, T="floating", source="torch.nn.functional.cross_entropy",
    derivative=Derivative(differentiable=("logits", "weight")),
    samples=Cases(
        case((4, 3), [0, 2, 1, 2]), case((4, 3), [0, 2, 1, 2], reduction="none"),
        case((4, 3), [0, 2, 1, 2], reduction="sum", label_smoothing=0.1),
        case((2, 3, 2), [[0, 2], [1, 1]], (3,), axis=1),
        case((4, 3), [0, -100, 1, 2], (3,), ignore_index=-100, label_smoothing=0.2),
        case((4, 3), [0, -100, 1, 2], ignore_index=-100), case((3,), integers(2)),
        case((0, 3), integers([]), reduction="sum"), low=0.5),
)  # fmt: skip
def cross_entropy(
    logits: T, labels: Integer, weight: T = None, *, axis: int = -1,
    label_smoothing: float = 0.0, ignore_index: int | None = -100, reduction: str = "mean",
) -> Array:  # fmt: skip
    """-log_softmax(logits)[label], per element of ``labels``.

    Classes lie along ``axis`` of ``logits``; ``labels`` have the other axes.
    ``weight`` holds a factor per class; the mean divides by the sum of the factors of
    the labels. With ``label_smoothing`` s the target is ``1 - s`` at the label plus
    ``s / classes`` at each class. Labels outside the classes, negative ones too, do not
    wrap: see the module's description. Raises ShapeError, ArgumentError.
    """
    log = stable_log_softmax(widened(logits), axis % logits.ndim)
    return _class_loss(
        log, labels, weight, axis, label_smoothing, ignore_index, reduction, logits.dtype)


@op(
    rules.class_loss, T="floating", source="torch.nn.functional.nll_loss",
    derivative=Derivative(differentiable=("log_probabilities", "weight"),
                          linear="log_probabilities"),
    samples=Cases(
        case((4, 3), [0, 2, 1, 2]), case((4, 3), [0, 2, 1, 2], reduction="none"),
        case((2, 3, 2), [[0, 2], [1, 1]], (3,), axis=1),
        case((4, 3), [0, -100, 1, 2], (3,), ignore_index=-100, reduction="sum"),
        case((3,), integers(2)), case((0, 3), integers([]), reduction="sum"), low=0.5),
)  # fmt: skip
def nll_loss(
    log_probabilities: T, labels: Integer, weight: T = None, *, axis: int = -1,
    ignore_index: int | None = -100, reduction: str = "mean",
) -> Array:  # fmt: skip
    """-log_probabilities[label], per element of ``labels``; else as ``cross_entropy``.

    Raises ShapeError, ArgumentError.
    """
    return _class_loss(widened(log_probabilities), labels, weight, axis, 0.0, ignore_index,
                       reduction, log_probabilities.dtype)


@op(
    rules.soft_class_loss, T="floating",
    source="torch.nn.functional.cross_entropy with class probabilities",
    samples=Cases(
        case((4, 3), (4, 3)), case((2, 3, 2), (2, 3, 2), axis=1, reduction="none"),
        case((4, 3), (4, 3), label_smoothing=0.1, reduction="sum"), case((3,), (3,)),
        case((0, 3), (0, 3), reduction="sum"), low=0.5),
)  # fmt: skip
def soft_cross_entropy(
    logits: T, targets: T, *, axis: int = -1, label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """-sum(targets * log_softmax(logits)) along ``axis``, the classes.

    With ``label_smoothing`` s the targets are ``(1 - s) * targets + s / classes``.
    Raises ShapeError, ArgumentError.
    """
    at = axis % logits.ndim
    log, goal = stable_log_softmax(widened(logits), at), widened(targets)
    if label_smoothing:
        goal = lax.add(lax.mul(goal, _like(goal, 1.0 - label_smoothing)),
                       _like(goal, label_smoothing / max(logits.shape[at], 1)))
    loss = lax.neg(lax.reduce_sum(lax.mul(goal, log), (at,)))
    return _reduced(loss, reduction, logits.dtype)


@op(
    rules.pairwise_loss, T="floating",
    source="torch.nn.functional.binary_cross_entropy_with_logits",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), (4,), (3, 1), reduction="none"),
        case((3, 4), (3, 4), None, (4,), reduction="sum"), case((), ()),
        case((0, 3), (0, 3), reduction="sum"), low=0.1, high=0.9),
    derivative=Derivative(linear="weight"),
)  # fmt: skip
def binary_cross_entropy_with_logits(
    logits: T, targets: T, weight: T = None, positive_weight: T = None, *,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """-(p * t * log(sigmoid(x)) + (1 - t) * log(1 - sigmoid(x))) * w, without overflow.

    ``weight`` w and ``positive_weight`` p broadcast to ``logits`` and are 1 if absent.
    Raises ShapeError, ArgumentError.
    """
    x, t = widened(logits), widened(targets)
    softplus = log1p_exp(lax.neg(x))
    factor = _like(x, 1.0)
    if positive_weight is not None:
        p = broadcast_to(widened(positive_weight), x.shape)
        factor = lax.add(lax.mul(lax.sub(p, factor), t), factor)
    loss = lax.add(lax.mul(lax.sub(_like(x, 1.0), t), x), lax.mul(factor, softplus))
    if weight is not None:
        loss = lax.mul(loss, broadcast_to(widened(weight), x.shape))
    return _reduced(loss, reduction, logits.dtype)


@op(
    rules.pairwise_loss, T="floating", source="torch.nn.functional.binary_cross_entropy",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), (3, 1), reduction="none"),
        case((3, 4), (3, 4), None, reduction="sum"), case((), ()),
        case((0, 3), (0, 3), reduction="sum"), low=0.1, high=0.9),
    derivative=Derivative(linear="weight"),
)  # fmt: skip
def binary_cross_entropy(x: T, target: T, weight: T = None, *, reduction: str = "mean") -> Array:
    """-(t * log(x) + (1 - t) * log(1 - x)) * w for probabilities x, logarithms at least -100.

    The derivative with respect to x is (x - t) / (x * (1 - x)), the divisor at least 1e-12.
    ``weight`` broadcasts to ``x``. Raises ShapeError, ArgumentError.
    """

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def f(x: Array, t: Array) -> Array:
        yes, no = logarithms(x)
        return lax.neg(lax.add(lax.mul(t, yes), lax.mul(lax.sub(_like(t, 1.0), t), no)))

    def logarithms(x: Array) -> tuple[Array, Array]:
        return tuple(lax.max(v, _like(v, -100.0)) for v in (lax.log(x), lax.log1p(lax.neg(x))))

    @f.defjvp  # type: ignore[untyped-decorator]
    def f_jvp(primals: Any, tangents: Any) -> Any:
        x, t = primals
        yes, no = logarithms(x)
        spread = lax.max(lax.mul(lax.sub(_like(x, 1.0), x), x), _like(x, 1e-12))
        along_x = lax.mul(lax.div(lax.sub(x, t), spread), tangents[0])
        return f(x, t), lax.add(along_x, lax.mul(lax.sub(no, yes), tangents[1]))

    loss = f(widened(x), widened(target))
    if weight is not None:
        loss = lax.mul(loss, broadcast_to(widened(weight), loss.shape))
    return _reduced(loss, reduction, x.dtype)


@op(
    rules.pairwise_loss, T="floating", source="torch.nn.functional.mse_loss",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), reduction="none"),
        case((3, 4), (3, 4), reduction="sum"), case((), ()), case((0,), (0,), reduction="sum")),
)  # fmt: skip
def mse_loss(x: T, target: T, *, reduction: str = "mean") -> Array:
    """(x - target) ** 2. Raises ShapeError, ArgumentError."""
    return _reduced(lax.square(lax.sub(widened(x), widened(target))), reduction, x.dtype)


@op(
    rules.pairwise_loss, T="floating", source="torch.nn.functional.l1_loss",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), reduction="none"),
        case((3, 4), (3, 4), reduction="sum"), case((), ()), case((0,), (0,), reduction="sum")),
)  # fmt: skip
def l1_loss(x: T, target: T, *, reduction: str = "mean") -> Array:
    """abs(x - target); the derivative is 0 where both are equal.

    Raises ShapeError, ArgumentError.
    """
    return _reduced(modulus(lax.sub(widened(x), widened(target))), reduction, x.dtype)


@op(
    rules.pairwise_loss, T="floating", source="Huber, 1964; torch.nn.functional.huber_loss",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), reduction="none", delta=0.5),
        case((3, 4), (3, 4), reduction="sum"), case((), ()), case((0,), (0,), reduction="sum")),
)  # fmt: skip
def huber_loss(x: T, target: T, *, delta: float = 1.0, reduction: str = "mean") -> Array:
    """d**2 / 2 where d = abs(x - target) is below ``delta``, else delta * (d - delta / 2).

    Raises ShapeError, ArgumentError.
    """
    d = lax.sub(widened(x), widened(target))
    near = lax.clamp(_like(d, -delta), d, _like(d, delta))
    loss = lax.mul(near, lax.sub(d, lax.mul(near, _like(d, 0.5))))
    return _reduced(loss, reduction, x.dtype)


@op(
    rules.pairwise_loss, T="floating", source="torch.nn.functional.kl_div",
    samples=Cases(
        case((3, 4), (3, 4)), case((3, 4), (3, 4), reduction="none", log_target=True),
        case((3, 4), (3, 4), reduction="sum"), case((), ()), case((0,), (0,), reduction="sum"),
        low=0.1, high=0.9),
)  # fmt: skip
def kl_div(x: T, target: T, *, log_target: bool = False, reduction: str = "mean") -> Array:
    """target * (log(target) - x), where x holds log-probabilities; 0 where target is 0.

    With ``log_target`` the second operand holds logarithms too. Raises ShapeError,
    ArgumentError.
    """
    v, t = widened(x), widened(target)
    if log_target:
        return _reduced(lax.mul(lax.exp(t), lax.sub(t, v)), reduction, x.dtype)
    # a negative target gives NaN, like its logarithm
    zero = lax.eq(t, _like(t, 0.0))
    entropy = lax.select(zero, t, lax.mul(t, lax.log(lax.select(zero, _like(t, 1.0), t))))
    return _reduced(lax.sub(entropy, lax.mul(t, v)), reduction, x.dtype)


def _like(x: Array, value: Any) -> Array:
    return lax.full_like(x, value)


def _reduced(loss: Array, reduction: str, dtype: Any) -> Array:
    if reduction != "none":
        count = product(loss.shape)
        loss = lax.reduce_sum(loss, tuple(range(loss.ndim)))
        if reduction == "mean":
            loss = lax.div(loss, _like(loss, count))
    return lax.convert_element_type(loss, dtype)


def _class_loss(
    log: Array, labels: Array, weight: Array, axis: int, smoothing: float,
    ignore: int | None, reduction: str, dtype: Any,
) -> Array:  # fmt: skip
    at = axis % log.ndim
    others = [a for a in range(log.ndim) if a != at]
    classes = log.shape[at]
    where = _wide(labels)
    label = lax.broadcast_in_dim(where, log.shape, others)
    chosen = lax.eq(lax.broadcasted_iota(where.dtype, log.shape, at), label)
    # comparing every class fuses with the sum next to it, forward and backward; a gather would
    # need a scatter
    factor = None
    if weight is not None:
        each = lax.broadcast_in_dim(widened(weight), log.shape, (at,))
        factor = lax.reduce_sum(lax.select(chosen, each, _like(each, 0.0)), (at,))
    picked = lax.reduce_sum(lax.select(chosen, log, _like(log, 0.0)), (at,))
    terms = picked if factor is None else lax.mul(picked, factor)
    if smoothing:
        spread = log if weight is None else lax.mul(log, each)
        even = lax.mul(lax.reduce_sum(spread, (at,)), _like(picked, smoothing / max(classes, 1)))
        terms = lax.add(lax.mul(terms, _like(terms, 1.0 - smoothing)), even)
    terms = lax.neg(terms)
    valid = lax.bitwise_and(lax.ge(where, _like(where, 0)), lax.lt(where, _like(where, classes)))
    terms = lax.select(valid, terms, _like(terms, float("nan")))
    counted = _like(terms, 1.0) if factor is None else factor
    if ignore is not None:
        heard = lax.ne(where, _like(where, ignore))
        terms = lax.select(heard, terms, _like(terms, 0.0))
        counted = lax.select(heard, counted, _like(terms, 0.0))
    if reduction == "none":
        return lax.convert_element_type(terms, dtype)
    every = tuple(range(terms.ndim))
    loss = lax.reduce_sum(terms, every)
    if reduction == "mean":
        plain = factor is None and ignore is None
        total = _like(loss, product(terms.shape)) if plain else lax.reduce_sum(counted, every)
        loss = lax.div(loss, total)
    return lax.convert_element_type(loss, dtype)
