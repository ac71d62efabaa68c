"""Rules of products of matrices, embeddings and attention."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from .._core import broadcast_shapes
from .calling import FREE, REPLICATE, RULES, Call, Operand, Way
from .placements import Partial, Shard
from .rules import WHOLE, Labels, aligned, by_labels


def contraction(call: Call, operands: Sequence[Labels], result: Labels, factors: int) -> list[Way]:
    """The ways to divide a product: by a dimension that is summed over, or that the result has.

    Args:
        operands: for each operand the names of its dimensions; the first ``factors`` are
            multiplied, others added.
    """
    found = []
    summed = [x for x in operands[0] if x is not WHOLE and x not in result and all(
        x in labels for labels in operands[:factors])]
    for label in summed:
        found.append(Way([Shard(list(labels).index(label)) for labels in operands[:factors]]
                         + [Partial()] * (len(operands) - factors), Partial()))
    return found + by_labels(operands, result)


def _batched(o: Operand, shape: Sequence[int]) -> list[Hashable]:
    """The names of the dimensions before a matrix, of a product whose batch has that shape."""
    start = len(shape) - (o.ndim - 2)
    return [i if o.shape[i - start] == shape[i] else WHOLE for i in range(start, len(shape))]


def _matmul(call: Call) -> list[Way]:
    a, b = call.operands[:2]
    if a.ndim == 1 and b.ndim == 1:
        return contraction(call, [("k",), ("k",)], (), 2)
    if a.ndim == 1:
        batch: list[Hashable] = list(range(b.ndim - 2))
        return contraction(call, [("k",), (*batch, "k", "n")], (*batch, "n"), 2)
    if b.ndim == 1:
        batch = list(range(a.ndim - 2))
        return contraction(call, [(*batch, "m", "k"), ("k",)], (*batch, "m"), 2)
    shape = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return contraction(
        call, [(*_batched(a, shape), "m", "k"), (*_batched(b, shape), "k", "n")],
        (*range(len(shape)), "m", "n"), 2)


def _linear(call: Call) -> list[Way]:
    x, w = call.operands[:2]
    batch = list(range(x.ndim - 1))
    if w.ndim == 1:
        return contraction(call, [(*batch, "k"), ("k",)] + [()] * (len(call.operands) - 2),
                           batch, 2)
    return contraction(
        call, [(*batch, "k"), ("n", "k")] + [("n",)] * (len(call.operands) - 2),
        (*batch, "n"), 2)


def _added(names: tuple[str, str], batch: int) -> Any:
    """``addmm`` and its kin: a product of matrices and what is added to it."""

    def rule(call: Call) -> list[Way]:
        c = call.given("input", "self")
        a, b = call.given(names[0]), call.given(names[1])
        if not all(isinstance(x, Operand) for x in (a, b, c)) or len(call.operands) != 3:
            return []
        before: list[Hashable] = list(range(batch))
        shape = (*a.shape[:batch], a.shape[-2], b.shape[-1])
        named: dict[Any, Hashable] = dict(enumerate((*before, "m", "n")))
        added = [WHOLE if x is WHOLE else named[x] for x in aligned(c, shape)]
        ways = contraction(call, [(*before, "m", "k"), (*before, "k", "n"), added],
                           (*before, "m", "n"), 2)
        order = [a.i, b.i, c.i]
        return [Way([way.operands[order.index(i)] for i in range(3)], way.results) for way in ways]

    return rule


def _outer(call: Call) -> list[Way]:
    return by_labels([("m",), ("n",)], ("m", "n"))


def _einsum(call: Call) -> list[Way]:
    equation = call.args[0]
    operands = call.operands
    if not isinstance(equation, str) or "." in equation:
        return []
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands) or any(
            len(p) != o.ndim or len(set(p)) != len(p) for p, o in zip(parts, operands,
                                                                      strict=True)):
        return []
    if not arrow:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    sizes: dict[str, int] = {}
    for p, o in zip(parts, operands, strict=True):
        for c, n in zip(p, o.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                return []  # a dimension of one that is broadcast
    found = []
    for c in sizes:
        if c not in right and all(c in p for p in parts):
            found.append(Way([Shard(p.index(c)) for p in parts], Partial()))
    return found + by_labels([tuple(p) for p in parts], tuple(right))


def _attention(call: Call) -> list[Way]:
    q, k, v = call.operands[:3]
    if call.given("dropout_p", default=0.0) or q.ndim < 3 or k.ndim != q.ndim:
        return []
    count = q.ndim - 2

    def names(o: Operand) -> list[Hashable]:
        found: list[Hashable] = list(range(count))
        for d in range(count - 1):
            if o.shape[d] != q.shape[d]:
                found[d] = WHOLE
        heads = o.shape[count - 1]
        # of heads that several queries share, each part has its own if they divide evenly
        if heads != q.shape[count - 1] and (heads % call.mesh.size()
                                            or q.shape[count - 1] % call.mesh.size()):
            found[count - 1] = "own"
        return [*found, WHOLE, WHOLE]

    operands = [names(q), names(k), names(v)]
    if any("own" in labels for labels in operands):
        operands = [[WHOLE if d == count - 1 else x for d, x in enumerate(labels)]
                    for labels in operands]
    for mask in call.operands[3:]:
        start = q.ndim - mask.ndim
        operands.append([d if d < count and mask.shape[d - start] == q.shape[d] else WHOLE
                         for d in range(start, q.ndim)])
    return by_labels(operands, [*range(count), WHOLE, WHOLE])


def _embedding(call: Call) -> list[Way]:
    indices, weight = call.given("input"), call.given("weight")
    if call.given("max_norm") is not None or not isinstance(indices, Operand):
        return []
    labels = list(range(indices.ndim))
    named: list[Labels] = [(), ()]
    named[indices.i], named[weight.i] = labels, (WHOLE, "e")
    return by_labels(named, [*labels, "e"])


def _concatenated(call: Call) -> list[Way]:
    ndim = max(o.ndim for o in call.operands)
    given = call.given("dim", "axis", default=0)
    if any(o.ndim != ndim for o in call.operands) or not isinstance(given, int):
        return []
    gone = given % ndim
    labels: list[Hashable] = [WHOLE if d == gone else d for d in range(ndim)]
    return by_labels([labels] * len(call.operands), labels) + _terms(call)


def _stacked(call: Call) -> list[Way]:
    ndim = call.operands[0].ndim
    given = call.given("dim", "axis", default=0)
    if not isinstance(given, int):
        return []
    labels: list[Hashable] = list(range(ndim))
    at = given % (ndim + 1)
    return by_labels([labels] * len(call.operands), [*labels[:at], WHOLE, *labels[at:]]) + _terms(
        call)


def _terms(call: Call) -> list[Way]:
    kinds = {p for o in call.operands for p in o.placements if isinstance(p, Partial)}
    return [Way([kind] * len(call.operands), kind) for kind in kinds]


for _name in ("matmul", "mm", "bmm", "mv", "dot", "inner", "vdot"):
    RULES[_name] = _matmul
RULES["linear"] = _linear
RULES["addmm"] = _added(("mat1", "mat2"), 0)
RULES["baddbmm"] = _added(("batch1", "batch2"), 1)
RULES["outer"] = RULES["ger"] = _outer
RULES["einsum"] = _einsum
RULES["scaled_dot_product_attention"] = _attention
RULES["embedding"] = _embedding
RULES["cat"] = RULES["concat"] = RULES["concatenate"] = _concatenated
RULES["stack"] = _stacked
del RULES["inner"], RULES["vdot"]

FREE.update(("matmul", "mm", "bmm", "mv", "dot", "linear", "addmm", "baddbmm", "einsum"))

__all__ = ["REPLICATE", "contraction"]
