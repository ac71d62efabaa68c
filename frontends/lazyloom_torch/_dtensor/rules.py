"""Rules of functions that work element by element, along dimensions, or over them.

A rule says along one dimension of a mesh in which ways a function of DTensors can be computed of
parts (:mod:`.calling`). Most follow from names of dimensions: a dimension of the result that comes
from one of the operands can be divided as that is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from .._core import axes, axis, broadcast_shapes
from .._functions import activations, pointwise
from .calling import REPLICATE, RULES, Call, Operand, Way
from .moves import NormPartial
from .placements import Partial, Placement, Shard

#: the name of a dimension that cannot be divided
WHOLE = None
Labels = Sequence[Hashable]


def by_labels(operands: Sequence[Labels], result: Labels) -> list[Way]:
    """The ways to divide a function whose dimensions have names.

    Args:
        operands: for each operand the names of its dimensions, WHOLE for what is not divided.
        result: the names of the result's. A name that it does not have is not divided.
    """
    found = []
    for at, label in enumerate(result):
        if label is WHOLE or not any(label in labels for labels in operands):
            continue
        found.append(Way([Shard(list(labels).index(label)) if label in labels else REPLICATE
                          for labels in operands], Shard(at)))
    return found


def of_terms(call: Call, which: Iterable[int] | None = None, *, any_kind: bool = False,
             ) -> list[Way]:  # fmt: skip
    """The ways in which terms give terms: of the operands of those numbers, the others whole."""
    chosen = set(range(len(call.operands)) if which is None else which)
    kinds: list[Placement] = []
    for o in call.operands:
        for p in o.placements:
            if isinstance(p, Partial) and p not in kinds and (
                    any_kind or p.is_partial("sum") or p.is_partial("avg")):
                kinds.append(p)
    return [Way([kind if i in chosen else REPLICATE for i in range(len(call.operands))], kind)
            for kind in kinds]


def aligned(o: Operand, shape: Sequence[int]) -> list[Hashable]:
    """The names of an operand's dimensions that is broadcast to a shape."""
    start = len(shape) - o.ndim
    return [i if o.shape[i - start] == shape[i] else WHOLE
            for i in range(start, len(shape))]


def elementwise(call: Call) -> list[Way]:
    """Divided as any operand is, each dimension of the broadcast shape by itself."""
    if any(not isinstance(v, Operand) and type(v) in (list, tuple) for v in call.args):
        return []
    shape = broadcast_shapes(*[o.shape for o in call.operands])
    return by_labels([aligned(o, shape) for o in call.operands], range(len(shape)))


def _added(call: Call) -> list[Way]:
    # a number would be added once in each process
    both = all(isinstance(a, Operand) for a in call.args[:2]) and len(call.operands) > 1
    return elementwise(call) + (of_terms(call) if both else [])


def _multiplied(call: Call) -> list[Way]:
    found = elementwise(call)
    for o in call.operands:
        # what is divided is not gathered for the sake of a term
        if not any(isinstance(p, Shard) for other in call.operands if other is not o
                   for p in other.placements):
            found += of_terms(call, [o.i])
    return found


def _divided(call: Call) -> list[Way]:
    exact = call.kwargs.get("rounding_mode") is None and isinstance(call.args[0], Operand)
    return elementwise(call) + (of_terms(call, [0]) if exact else [])


def _linear(call: Call) -> list[Way]:
    return elementwise(call) + of_terms(call)


def _same(call: Call) -> list[Way]:
    """What only copies."""
    return elementwise(call) + of_terms(call, any_kind=True)


def _converted(call: Call) -> list[Way]:
    """What goes to another dtype or device: terms only to floating point."""
    first = call.operands[0]
    ways = by_labels([list(range(first.ndim)), *[() for _ in call.operands[1:]]],
                     range(first.ndim))
    kinds = [a for a in (*call.args, *call.kwargs.values()) if hasattr(a, "is_floating_point")
             and not isinstance(a, Operand)]
    exact = all(k.is_floating_point or k.is_complex for k in kinds)
    return ways + (of_terms(call, [0]) if exact else [])


def _like(call: Call) -> list[Way]:
    """What has an operand's shape and none of its elements."""
    given = call.operands[0]
    ways = by_labels([list(range(given.ndim))] + [()] * (len(call.operands) - 1),
                     range(given.ndim))
    kinds = {p for p in given.placements if isinstance(p, Partial)}
    whole = [REPLICATE] * (len(call.operands) - 1)
    return ways + [Way([kind, *whole], REPLICATE) for kind in kinds]


# -- over dimensions ------------------------------------------------------------------------------


def dims_of(call: Call, *names: str) -> tuple[int, ...] | None:
    """The dimensions that an argument names, from the first; None for all."""
    given = call.given(*(names or ("dim", "axis")))
    if given is None or (isinstance(given, (tuple, list)) and not given):
        return None
    return axes(given, call.operands[0].ndim)


def _kept(call: Call, reduced: Iterable[int]) -> tuple[list[Hashable], list[Hashable]]:
    """The names of an operand's dimensions, and those of its reduction."""
    ndim, gone = call.operands[0].ndim, set(reduced)
    keep = bool(call.given("keepdim", "keepdims", default=False))
    given: list[Hashable] = list(range(ndim))
    if keep:
        return given, [WHOLE if d in gone else d for d in range(ndim)]
    return given, [d for d in range(ndim) if d not in gone]


def _reduction(kind: Any, terms: tuple[str, ...] = ()) -> Any:
    """A rule of a reduction whose parts' reductions are terms of that kind, or None."""

    def rule(call: Call) -> list[Way]:
        if len(call.operands) != 1:
            return elementwise(call)  # max and min of two tensors
        o = call.operands[0]
        dims = dims_of(call)
        reduced = tuple(range(o.ndim)) if dims is None else dims
        given, result = _kept(call, reduced)
        found = by_labels([given], result)
        of_parts = kind(call, reduced) if callable(kind) else kind
        if of_parts is not None and not (dims is not None and of_parts.reduce_op in (
                "max", "min") and call.name in ("max", "min")):
            tied = reduced if _is_extremum(of_parts) else ()
            found += [Way([Shard(d)], of_parts, tied) for d in reduced]
        for term in terms:
            found += [Way([p], p) for p in set(o.placements) if p.is_partial(term)]
        if isinstance(of_parts, NormPartial):
            found += [Way([p], p) for p in set(o.placements) if p == of_parts]
        return found

    return rule


def _is_extremum(kind: Placement) -> bool:
    """Whether terms of a kind are the largest or smallest elements of parts, or their sizes."""
    if isinstance(kind, NormPartial):
        return kind.norm_type in (float("inf"), float("-inf"))
    return kind.is_partial("max") or kind.is_partial("min")


def _extremum_of_parts(reduce_op: str) -> Any:
    """The maximum of maxima or the like, if no part is empty."""

    def kind(call: Call, reduced: Sequence[int]) -> Placement | None:
        size = call.mesh.size()
        for d in reduced:
            n = call.operands[0].shape[d]
            if -(-n // size) * (size - 1) >= n:
                return None
        return Partial(reduce_op)

    return kind


def _any_of_parts(call: Call, reduced: Sequence[int]) -> Placement | None:
    """The sum, which is "or" for bool; of uint8, whose result is a number, the largest."""
    return Partial("max" if str(call.operands[0].dtype) == "torch.uint8" else "sum")


def _mean_of_parts(call: Call, reduced: Sequence[int]) -> Placement | None:
    """The mean of means, if all parts have as many elements."""
    o = call.operands[0]
    for d in reduced:
        if o.shape[d] % call.mesh.size():
            return None
    return Partial("avg")


def _norm_of_parts(call: Call, reduced: Sequence[int]) -> Placement | None:
    p = call.given("ord", "p", default=2)
    dims = dims_of(call)
    if p is None:
        p = 2
    if p == "fro":
        p = 2
    if isinstance(p, Operand) or not isinstance(p, (int, float)):
        return None
    if "ord" in call.bound() and call.name not in ("vector_norm", "linalg_vector_norm") and (
            call.given("ord") is not None):
        # a norm of matrices
        if len(reduced) == 2 and (dims is not None or call.operands[0].ndim == 2):
            return None
    return NormPartial(p)


# -- along dimensions -----------------------------------------------------------------------------


def _along(*names: str, linear: bool = False, default: Any = None) -> Any:
    """A rule of a function along dimensions that an argument names; others may be divided."""

    def rule(call: Call) -> list[Way]:
        o = call.operands[0]
        given = call.given(*(names or ("dim", "axis", "dims")), default=default)
        if given is None or isinstance(given, Operand) or (
            call.name == "roll" and not isinstance(given, int) and not len(given)
        ):
            return []  # without dimensions elements go from one row to the next
        gone = axes(given, o.ndim)
        labels = [WHOLE if d in gone else d for d in range(o.ndim)]
        others: list[Labels] = [
            [labels[d] if x.ndim == o.ndim and x.shape[d] == o.shape[d] else WHOLE
             for d in range(x.ndim)] for x in call.operands[1:]]
        return by_labels([labels, *others], labels) + (of_terms(call, [0]) if linear else [])

    return rule


def _leading(spatial: int, linear: bool = False) -> Any:
    """A rule of a function of the last dimensions; those before may be divided."""

    def rule(call: Call) -> list[Way]:
        o = call.operands[0]
        labels = [d if d < o.ndim - spatial else WHOLE for d in range(o.ndim)]
        others: list[Labels] = [()] * (len(call.operands) - 1)
        return by_labels([labels, *others], labels) + (of_terms(call, [0]) if linear else [])

    return rule


def _layer_norm(call: Call) -> list[Way]:
    o = call.operands[0]
    given = call.given("normalized_shape", default=())
    count = 1 if isinstance(given, int) else len(given)
    labels = [d if d < o.ndim - count else WHOLE for d in range(o.ndim)]
    others: list[Labels] = [()] * (len(call.operands) - 1)
    return by_labels([labels, *others], labels)


def _of_batch(call: Call) -> list[Way]:
    """What does the same with each element of the first dimension."""
    others = [REPLICATE] * (len(call.operands) - 1)
    return [Way([Shard(0), *others], Shard(0))]


def _convolution(spatial: int) -> Any:
    def rule(call: Call) -> list[Way]:
        return _of_batch(call) if call.operands[0].ndim == spatial + 2 else []

    return rule


def _one_hot(call: Call) -> list[Way]:
    o = call.operands[0]
    if call.given("num_classes", default=-1) == -1:
        return []
    return by_labels([range(o.ndim)], [*range(o.ndim), WHOLE])


def _padded(call: Call) -> list[Way]:
    o = call.operands[0]
    pad = call.given("pad", default=())
    count = (len(pad) + 1) // 2 if isinstance(pad, (list, tuple)) else o.ndim
    labels = [d if d < o.ndim - count else WHOLE for d in range(o.ndim)]
    return by_labels([labels], labels)


def _glu(call: Call) -> list[Way]:
    return _along("dim", default=-1)(call)


def _register() -> None:
    single = {n for n in (*pointwise.FUNCTIONS, *activations.FUNCTIONS) if n[-1] != "_"}
    single -= {"glu", "gumbel_softmax", "log_softmax", "softmax", "softmin", "prelu", "rrelu",
               "complex"}
    single |= {"deg2rad", "rad2deg", "i0", "igamma", "igammac", "isclose", "isneginf", "isposinf",
               "ldexp", "logaddexp", "logit", "masked_fill", "nan_to_num", "nextafter", "sinc",
               "frexp", "square", "float_power"}
    for name in single:
        RULES[name] = elementwise
    for name in ("add", "sub", "subtract"):
        RULES[name] = _added
    for name in ("mul", "multiply"):
        RULES[name] = _multiplied
    for name in ("div", "divide", "true_divide"):
        RULES[name] = _divided
    for name in ("neg", "negative", "positive", "real", "imag", "conj", "deg2rad", "rad2deg"):
        RULES[name] = _linear
    RULES["clone"] = elementwise
    for name in ("contiguous", "resolve_conj", "resolve_neg", "alias", "detach",
                 "conj_physical", "pin_memory"):
        RULES[name] = _same
    for name in ("to", "type", "type_as", "float", "double", "half", "bfloat16", "cpu", "cuda",
                 "cfloat", "cdouble"):
        RULES[name] = _converted
    for name in ("bool", "int", "long", "short", "char", "byte"):
        RULES[name] = elementwise
    for name in ("zeros_like", "ones_like", "full_like", "empty_like"):
        RULES[name] = _like
    RULES["sum"] = _reduction(Partial("sum"), ("sum", "avg"))
    RULES["nansum"] = _reduction(Partial("sum"))
    RULES["count_nonzero"] = _reduction(Partial("sum"))
    RULES["mean"] = _reduction(_mean_of_parts, ("sum", "avg"))
    RULES["prod"] = _reduction(Partial("product"))
    for name in ("max", "amax"):
        RULES[name] = _reduction(_extremum_of_parts("max"))
    for name in ("min", "amin"):
        RULES[name] = _reduction(_extremum_of_parts("min"))
    RULES["all"] = _reduction(Partial("product"))
    RULES["any"] = _reduction(_any_of_parts)
    for name in ("norm", "vector_norm", "linalg_vector_norm", "linalg_norm"):
        RULES[name] = _reduction(_norm_of_parts)
    for name in ("argmax", "argmin", "var", "std", "var_mean", "std_mean", "logsumexp", "median",
                 "nanmedian", "mode", "kthvalue", "nanmean", "aminmax"):
        RULES[name] = _reduction(None)
    for name in ("cumsum", "flip", "roll"):
        RULES[name] = _along("dim", "axis", "dims", linear=True)
    for name in ("cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax",
                 "softmin", "sort", "argsort", "topk", "index_select", "gather",
                 "take_along_dim", "renorm", "unfold"):
        RULES[name] = _along("dim", "axis", "dimension")
    RULES["sort"] = RULES["argsort"] = RULES["topk"] = _along("dim", "axis", default=-1)
    RULES["narrow"] = _along("dim", linear=True)
    RULES["glu"] = _glu
    for name in ("tril", "triu"):
        RULES[name] = _leading(2, linear=True)
    RULES["layer_norm"] = RULES["rms_norm"] = _layer_norm
    RULES["group_norm"] = RULES["instance_norm"] = _of_batch
    for count in (1, 2, 3):
        for name in ("conv", "conv_transpose"):
            RULES[f"{name}{count}d"] = _convolution(count)
        for name in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool"):
            RULES[f"{name}{count}d"] = _leading(count)
    RULES["interpolate"] = RULES["pixel_shuffle"] = RULES["pixel_unshuffle"] = _of_batch
    RULES["one_hot"] = _one_hot
    RULES["pad"] = _padded


_register()

__all__ = ["WHOLE", "aligned", "axis", "by_labels", "dims_of", "elementwise", "of_terms"]
