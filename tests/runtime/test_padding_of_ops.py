"""Ops on operands that are padded to a bucket, beside the op's definition without padding.

For samples of every op of the table, and their vjps: extents are made symbols as in kernels for any
extent, the operands are padded with garbage, and what is valid in the results is compared with the
definition at the sample itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from lazyloom.backends.xla.padding.dims import (
    FUNCTIONS,
    Description,
    NotPadded,
    named,
)
from lazyloom.backends.xla.padding.lower import PaddedFunction, padded_function
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace
from lazyloom.ops.samples import random_source, samples
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.program.extents import at_numbers, form_of, may_vary, outline
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType
from tests import quick_options
from tests.ops.checks import type_of
from tests.runtime.garbage import padded_with_garbage, without_padding
from tests.runtime.kernel_cases import ULPS, VJP_ULPS, difference, vjp_of
from tests.runtime.other_extents import variants

pytestmark = [
    pytest.mark.xla, pytest.mark.once("padded ops are functions of JAX, made outside the core")]

#: cases in one compilation
TOGETHER = 60


class Amount(NamedTuple):
    """What is taken of an op: samples, spread over all; vjps of them; other extents of each."""

    samples: int
    vjps: int
    extents: int


QUICK, USUAL, ALL = Amount(1, 1, 1), Amount(2, 2, 1), Amount(6, 4, 4)
#: ops and vjps of a part of the table that may be refused at their first sample
MOST_REFUSED = 14
#: why: an algorithm on a whole matrix, elements that move, a definition that cannot be traced
REASONS = (
    r"(cholesky|eig|eigh|geqrf|householder_product|lu|lu_pivots_to_permutation|qr|svd|"
    r"triangular_solve) of |a reshape of |reduce by a function of its own|"
    r"integer_pow with a dynamic y|a slice of every |a pad between|"
    r"a convolution with a dynamic kernel |windows that are dynamic|"
    # --thorough
    r"fft (over|with) a dynamic |random_split of dynamic |a scatter of windows of a dynamic |"
    r"a dimension (of .* elements, which may be more|that is padded as )|"
    r"\w+(\.vjp)?: (Type|Value|TracerBoolConversion|InconclusiveDimensionOperation|"
    r"NotImplemented)")


class Case(NamedTuple):
    """An op at actual extents, below a bucket.

    Attributes:
        function: the op on padded operands.
        dims: of the operands.
        defined: the op's definition.
    """

    label: str
    function: PaddedFunction
    dims: list[tuple[Description, ...]]
    results: tuple[tuple[Description, ...], ...]
    bucket: tuple[int, ...]
    extents: tuple[int, ...]
    operands: list[np.ndarray]
    defined: Any
    ulps: float


def text_of_term(term: Any) -> str:
    factors = [str(term.factor)] * (term.factor != 1) + [f"e{s}" for s in term.symbols]
    text = "*".join(factors) if term.symbols else ""
    if not text:
        return str(term.more)
    return text if not term.more else f"{text} {'-' if term.more < 0 else '+'} {abs(term.more)}"


def described(term: Any, merged: bool) -> Description:
    """The dimension of that many elements: contiguous, or as a merge of the factors gives it."""
    if merged and term.symbols and not term.more:
        return (*[str(term.factor)] * (term.factor != 1), *[f"e{s}" for s in term.symbols])
    return (text_of_term(term),)


def cases_at(
    label: str, spec: Spec, operands: Sequence[Any], ulps: float, counts: Counter[str],
    reasons: dict[str, list[str]], most: int, first: int = 0,
) -> Iterator[Case]:
    """Cases of an op at ``most`` variants of its extents, from the one at ``first`` on."""
    types: tuple[TensorType | None, ...] = tuple(type_of(o) for o in operands)
    _, numbers = outline(spec, types)
    if any(t is not None and 0 in t.shape for t in types):
        return
    found_variants = list(variants(numbers))
    for k in range(min(most, len(found_variants))):
        others = found_variants[(first + k) % len(found_variants)]
        form = form_of([others[0], numbers])
        if form is None:
            continue
        extents = form.values(numbers)
        if extents is None:
            continue
        for merged in (False, True):
            if merged and all(len(t.symbols) < 2 and t.factor == 1 for t in form.terms):
                continue
            bucket = tuple(n + 1 + 2 * k for k, n in enumerate(extents))
            found = at_numbers(spec, types, tuple(t.of(bucket) for t in form.terms))
            if found is None:
                continue
            try:
                if spec.op.base is not None:
                    trace(function_of(*found), [
                        (t.shape, t.dtype.numpy) for t in found[1] if t is not None])
            except Exception:
                # the definition takes no such operands, which its vjp does not check
                continue
            terms = iter(form.terms)
            dims = tuple(None if t is None else tuple(
                described(next(terms), merged) for _ in t.shape) for t in types)
            try:
                function = padded_function(
                    *found, tuple(map(text_of_term, terms)), dims, bucket)
                given = [np.asarray(o) for o in operands if o is not None]
                shaped = [jax.ShapeDtypeStruct(t.shape, t.dtype.numpy)
                          for t in found[1] if t is not None]
                with jax.enable_x64(True):
                    jax.eval_shape(function.call, jax.ShapeDtypeStruct((len(bucket),), np.int64),
                                   *shaped)
                if not all(eval(c, {**FUNCTIONS, **named(extents)}) for c in function.conditions):
                    counts["other extents"] += 1
                    continue
            except NotPadded as error:
                counts["not padded"] += 1
                reasons[str(error)].append(label)
                continue
            counts["padded"] += 1
            yield Case(
                f"{label} at {extents} of {bucket}, dims {dims}", function,
                [d for d in dims if d is not None], function.dims, bucket, tuple(extents), given,
                function_of(spec, types), ulps)


def cases(
    op: OpDef, counts: Counter[str], reasons: dict[str, list[str]], amount: Amount
) -> Iterator[Case]:
    """Cases of an op; ``reasons`` are those for which its first sample is refused."""
    derived = 0
    given = list(samples(op))
    single = [s for s in given if s.operands and s.operands[0] is not None
              and s.operands[0].dtype == np.float32]
    given = single or given
    for k, sample in enumerate(given[:: -(-len(given) // amount.samples)]):
        spec = spec_of(op, sample.attributes, len(sample.operands))
        if not may_vary(spec):
            break
        label = f"{op.name}: {sample!r}"
        yield from cases_at(
            label, spec, sample.operands, ULPS * op.tolerance, counts, reasons, amount.extents, k)
        if derived < amount.vjps and op.derivative.differentiable and sample.smooth:
            found = vjp_of(op, spec, sample)
            if found is not None:
                derived += 1
                yield from cases_at(
                    f"{label} vjp", *found, VJP_ULPS * op.tolerance, counts, reasons,
                    amount.extents, k)
        reasons = defaultdict(list)


def wrong_ones(some: list[Case]) -> list[str]:
    """What is wrong with these cases, which are compiled together."""
    rng = random_source("garbage")
    extents = [np.asarray(c.extents, np.int64) for c in some]
    padded = [[padded_with_garbage(x, d, c.bucket, c.extents, rng)
               for x, d in zip(c.operands, c.dims, strict=True)] for c in some]

    def everything(extents: Any, padded: Any, plain: Any) -> Any:
        def listed(found: Any) -> list[Any]:
            return list(found) if isinstance(found, (tuple, list)) else [found]

        return [(list(c.function.call(e, *x)), listed(c.defined(*y)))
                for c, e, x, y in zip(some, extents, padded, plain, strict=True)]

    with jax.enable_x64(True):
        compiled = quick_options.jit(everything)
        found = jax.device_get(compiled(extents, padded, [c.operands for c in some]))
    wrong = []
    for c, (results, expected) in zip(some, found, strict=True):
        for got, want, dims in zip(results, expected, c.results, strict=True):
            valid = without_padding(np.asarray(got), dims, c.bucket, c.extents)
            text = difference(valid, np.asarray(want), c.ulps)
            if text:
                wrong.append(f"{c.label}: {text}")
    return wrong


def op_of(label: str) -> str:
    return label.split(":")[0] + (" vjp" if label.endswith(" vjp") else "")


def test_padded_ops_give_what_definitions_give(
    op_names: list[str], thorough: bool, request: pytest.FixtureRequest
) -> None:
    amount = ALL if thorough else QUICK if request.config.getoption("--quick") else USUAL
    counts: Counter[str] = Counter()
    reasons: dict[str, list[str]] = defaultdict(list)
    wrong: list[str] = []
    waiting: list[Case] = []
    for name in op_names:
        waiting += cases(lookup(name), counts, reasons, amount)
        while len(waiting) >= TOGETHER:
            wrong += wrong_ones(waiting[:TOGETHER])
            del waiting[:TOGETHER]
    wrong += wrong_ones(waiting)
    print(dict(counts))
    for reason, which in sorted(reasons.items(), key=lambda r: -len(r[1])):
        print(len(which), reason, "|", sorted(set(map(op_of, which))))
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)
    strange = {reason: which for reason, which in reasons.items() if not re.match(REASONS, reason)}
    assert not strange
    refused = {op_of(label) for which in reasons.values() for label in which}
    assert len(refused) <= MOST_REFUSED, refused
