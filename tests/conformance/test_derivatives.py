"""Reverse-mode derivatives of every differentiable op, through the three frontends.

``lazyloom.grad`` of NumPy-like arrays, ``backward()`` of torch-like tensors and ``loom_grad``
in C give the same bits (conjugated in the torch-like frontend, as in PyTorch), and what a
central difference in float64 and complex128 gives. The loss is a weighted sum of an op's
results, compared along one random direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom
from lazyloom.ops.samples import Sample, random_source, samples
from lazyloom.ops.spec import OpDef, attribute_bits, lookup
from tests.conformance import compare, exclusions
from tests.conformance.frontends import Driver, drivers, join, several
from tests.conformance.test_ops import compiled, quick
from tests.ops.checks import hermitian

pytestmark = pytest.mark.usefixtures("quick_compiler")

STEP = 1e-6
#: of a slope of about 1, where rounding leaves nine digits of the difference
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}
WIDE = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
WIDE_TYPES = {lazyloom.dtypes.float32: lazyloom.dtypes.float64,
              lazyloom.dtypes.complex64: lazyloom.dtypes.complex128}
#: how many cases of an op are run, where each compiles for seconds
FEW = {"matrix_exp": 2, "random_gamma": 1}
#: an optimizer's attributes differ by a sign or a term
FEW.update({n: 1 for n in lazyloom.ops.table() if n.startswith("step_")})
OPS = sorted(n for n, op in lazyloom.ops.table().items() if op.derivative.differentiable)


class Case:
    """A sample in double precision with the operands to differentiate by.

    Attributes:
        at: positions of those operands.
        direction: what is added to each of them, times a step.
        weights: of each result in the loss; None for results that have no derivative.
    """

    def __init__(self, op: OpDef, sample: Sample, rng: np.random.Generator) -> None:
        self.op = op
        self.attributes = {
            k: WIDE_TYPES.get(v, v) if isinstance(v, lazyloom.DType) else v
            for k, v in sample.attributes.items()}
        self.label = sample.label
        # a body is recorded for its types
        wide = {} if op.signature.bodies else WIDE
        self.operands = [
            x if x is None else x.astype(wide.get(x.dtype, x.dtype)) for x in sample.operands]
        self.at = [
            i for i, x in enumerate(self.operands)
            if x is not None and x.dtype in (np.float64, np.complex128) and op.has_gradient(i)]
        types = op.infer([compare.type_of(x) for x in self.operands],
                         op.canonical_attributes(self.attributes))
        self.direction = [hermitian(op, self.attributes, _random(rng, self.operands[i]))
                          for i in self.at]
        self.wide = all(t.dtype.name in ("float64", "complex128") or not t.dtype.is_inexact
                        for t in types)
        self.weights = [_random(rng, np.empty(t.shape, t.dtype.numpy))
                        if t.dtype.is_inexact else None for t in types]

    @property
    def is_complex(self) -> bool:
        return any(d.dtype.kind == "c" for d in self.direction)

    @property
    def useful(self) -> bool:
        return bool(self.at) and self.wide and any(w is not None for w in self.weights)

    def loss(self, driver: Driver, some: Any) -> Any:
        """The weighted sum of the results, for the differentiated operands ``some``."""
        given: list[Any] = [None if x is None or i in self.at else driver.tensor(x)
                            for i, x in enumerate(self.operands)]
        for i, x in zip(self.at, some):
            given[i] = x
        results = several(driver.apply(self.op.name, given, self.attributes))
        total: Any = None
        for weight, result in zip(self.weights, results):
            if weight is None:
                continue
            term = driver.apply("multiply", [result, driver.tensor(weight)], {})
            if weight.dtype.kind == "c":
                term = driver.apply("real", [term], {})
            term = driver.apply("sum", [term], {})
            total = term if total is None else driver.apply("add", [total, term], {})
        return total


def _random(rng: np.random.Generator, like: Any) -> np.ndarray:
    found = rng.uniform(-1, 1, like.shape)
    if like.dtype.kind == "c":
        found = found + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(found, like.dtype)


def cases(op: OpDef) -> list[Case]:
    """The smooth samples of an op in double precision, those of equal structure once.

    Ops that have kinks call no sample smooth; random values do not meet a kink in float64.
    """
    given = [s for s in samples(op) if s.smooth]
    given = given or [s for s in samples(op) if "special" not in s.label]
    rng = random_source(op.name + " derivative")
    found: dict[Any, Case] = {}
    for sample in given:
        made = Case(op, sample, rng)
        key = (tuple((x.dtype, x.shape) if x is not None else None for x in made.operands),
               tuple(attribute_bits(v) for v in op.canonical_attributes(
                   made.attributes).values()))
        if made.useful:
            found.setdefault(key, made)
    return list(found.values())[: FEW.get(op.name)]


def gradients(driver: Driver, given: list[Case]) -> list[list[np.ndarray]]:
    recorded = [driver.gradients(
        lambda *some, case=case: case.loss(driver, some),
        [case.operands[i] for i in case.at]) for case in given]
    join(driver, [g for each in recorded for g in each])
    found = [[driver.read(g) for g in each] for each in recorded]
    return [[np.conj(g) for g in each] for each in found] if driver.conjugates else found


def slopes(driver: Driver, given: list[Case]) -> list[float]:
    """Central differences along each case's direction; both sides run one program."""
    sides = []
    for step in (STEP, -STEP):
        losses = [case.loss(
            driver, [driver.tensor(np.asarray(case.operands[i] + step * d))
                     for i, d in zip(case.at, case.direction)]) for case in given]
        join(driver, losses)
        sides.append([float(driver.read(x)) for x in losses])
    return [(ahead - behind) / (2 * STEP) for ahead, behind in zip(*sides)]


@pytest.mark.parametrize("name", quick(OPS))
def test_gradients(name: str) -> None:
    op = lookup(name)
    given = cases(op)
    assert given, "no sample to differentiate"
    first, *others = drivers()
    expected = gradients(first, given)
    for driver in others:
        before = compiled()
        for case, mine, theirs in zip(given, gradients(driver, given), expected):
            for a, b in zip(mine, theirs):
                unlike = compare.difference(a, b)
                assert unlike is None, f"{driver.name} and C: {case.label}: {unlike}"
        if not (driver.conjugates and any(case.is_complex for case in given)):
            assert compiled() == before, f"{driver.name} recorded another program than C"
    if name in exclusions.NO_NUMERICAL:
        return
    for case, found, numerical in zip(given, expected, slopes(others[0], given)):
        if case.is_complex and name in exclusions.NO_NUMERICAL_COMPLEX:
            continue
        if not any(d.size for d in case.direction):
            continue  # and the result may be a mean of nothing
        slope = sum(np.sum(np.real(g * d)) for g, d in zip(found, case.direction))
        np.testing.assert_allclose(slope, numerical, **TOLERANCE, err_msg=case.label)
