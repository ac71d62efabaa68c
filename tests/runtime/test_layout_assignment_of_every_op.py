"""Every op of the table behind and before a convolution, forward and backward.

What comes out of a convolution, and what goes into one, lies channels-last in memory. Each sample's
operands pass through a convolution that keeps every number, and so do the results; the program is
compiled with the layout pass and without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends.xla import layout_assignment
from lazyloom.cache import memory
from lazyloom.ops.samples import Sample, random_source, samples
from lazyloom.ops.spec import OpDef, attribute_bits, lookup, table
from tests import quick_options

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"), pytest.mark.slow,
    pytest.mark.once("the layout pass is outside the core; its other tests run with both")]

#: how many samples of an op are run: elementwise ones differ in nothing that matters here; and with
#: --thorough
MOST, MOST_ELEMENTWISE, ALL = 2, 1, 6
#: other tests enter ops of their own
OPS = sorted(n for n, op in table().items() if op.version == "table")
#: a convolution takes no half precision everywhere, no bool and no integers on some platforms
CARRIED = {"f": None, "c": None, "b": np.float32, "i": np.float64, "u": np.float64}


def chosen(op: OpDef) -> list[Sample]:
    """Samples with an operand of two axes or more, one for each attributes and shapes."""
    found: dict[Any, Sample] = {}
    for sample in samples(op):
        given = [x for x in sample.operands if x is not None]
        if max((x.ndim for x in given), default=0) < 2 or any(
                x.dtype.itemsize == 2 and x.dtype.kind not in "iu" for x in given):
            continue
        attributes = op.canonical_attributes(sample.attributes).values()
        key = (tuple(map(attribute_bits, attributes)),
               tuple(x is not None and x.shape for x in sample.operands))
        found.setdefault(key, sample)
    # those whose axes can lie in the most ways first
    ordered = sorted(found.values(), key=lambda s: -max(
        x.ndim for x in s.operands if x is not None))
    elementwise = op.family in ("elementwise", "comparison", "predicate", "real_part")
    if quick_options.thorough:
        return ordered[:ALL]
    return ordered[: MOST_ELEMENTWISE if elementwise else MOST]


def convolved(x: Any) -> Any:
    """x after a convolution that changes nothing; x itself with one axis, or nothing in it."""
    if x.value.type.ndim < 2 or 0 in x.value.type.shape:
        return x
    dtype = x.value.dtype
    carried = CARRIED[dtype.kind]
    if carried is not None:
        x = ll.apply("cast", [x], {"dtype": carried})
    flat = x.value.type.ndim == 2
    if flat:
        x = ll.apply("expand_dims", [x], {"axes": (0,)})
    channels = x.value.shape[1]
    ones = np.ones((channels, 1, *[1] * (x.value.type.ndim - 2)), x.value.dtype.numpy)
    # in as many groups as channels, or it would be a product, and inf would spread
    x = ll.apply("conv", [x, tensor(ones)], {"groups": channels})
    if flat:
        x = ll.apply("squeeze", [x], {"axes": (0,)})
    return x if carried is None else ll.apply("cast", [x], {"dtype": dtype})


def tensor(x: Any) -> Any:
    return ll.Tensor.from_value(ll.from_host(np.asarray(x)))


def several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def recorded(op: OpDef, sample: Sample, only_first: bool, rng: np.random.Generator) -> list[Any]:
    """The results of one sample, as they are and after a convolution, and its gradients."""
    attributes = op.canonical_attributes(sample.attributes)
    given = [None if x is None else tensor(x) for x in sample.operands]
    types = op.infer([None if x is None else x.value.type for x in given], attributes)
    at = [i for i, x in enumerate(sample.operands)
          if x is not None and x.dtype.kind in "fc" and op.has_gradient(i)]
    pulled = [r for r, t in enumerate(types) if t.dtype.kind in "fc"]
    widest = max(x.ndim for x in sample.operands if x is not None)

    def forward(*some: Any) -> Any:
        operands: list[Any] = list(given)
        for i, x in zip(at, some, strict=True):
            operands[i] = x
        through = False
        for i, x in enumerate(sample.operands):
            if x is not None and x.ndim == widest and not (only_first and through):
                operands[i], through = convolved(operands[i]), True
        results = several(ll.apply(op, operands, attributes))
        after = [convolved(x) for x in results]
        return [after[r] for r in pulled], [*results, *after]

    if not (at and pulled):
        return forward(*[given[i] for i in at])[1]  # type: ignore[no-any-return]
    results, pull, found = ll.vjp(forward, *[given[i] for i in at], has_aux=True)
    weights = [rng.uniform(0.5, 1.5, x.value.type.shape).astype(x.value.dtype.numpy)
               for x in results]
    return [*found, *pull([tensor(w) for w in weights])]


def run(op: OpDef, given: list[Sample]) -> list[list[np.ndarray]]:
    """What is :func:`recorded` of each sample, all in one program."""
    rng = random_source(op.name)
    found = [recorded(op, sample, n % 2 == 1, rng) for n, sample in enumerate(given)]
    # values that share nothing are a program each
    joined = [ll.apply("any", [x], {}) for each in found for x in each]
    while len(joined) > 1:
        joined = [*joined[2:], ll.apply("logical_or", joined[:2], {})]
    return [[x.read() for x in each] for each in found]


@pytest.mark.parametrize("name", OPS)
def test_an_op_among_convolutions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = lookup(name)
    given = chosen(op)
    # a program is found by what was recorded, not by how it was arranged
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    memory.clear()
    arranged = run(op, given)
    memory.clear()
    monkeypatch.setattr(layout_assignment, "PLATFORMS", ())
    plain = run(op, given)
    memory.clear()
    for sample, found, expected in zip(given, arranged, plain, strict=True):
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape, sample
            tolerance = 0.0 if a.dtype.kind in "biu" else 1e-5 if a.dtype.itemsize < 8 else 1e-9
            np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=repr(sample))
