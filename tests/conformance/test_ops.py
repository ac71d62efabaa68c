"""Every op of the table on its samples, through the three frontends.

The samples of an op are recorded as values that share nothing and run as one program. The C
ABI and ``lazyloom.apply`` record the same program, so that it compiles once; a frontend's own
function may record more (casts of NumPy's promotion). Results are equal bit for bit in all,
and close to those of NumPy or SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom
from lazyloom.ops.samples import Sample
from lazyloom.ops.spec import OpDef, lookup
from tests.conformance import compare, coverage, exclusions
from tests.conformance.frontends import Driver, call, drivers, join

pytestmark = pytest.mark.usefixtures("quick_compiler")

OPS = sorted(lazyloom.ops.table())

#: what `make test-quick` runs
QUICK = frozenset(
    "add divide sin less where relu sum max mean cumsum eye full reshape transpose concatenate"
    " slice take index_update matmul softmax layer_norm cross_entropy sort integer_power"
    .split())


def quick(names: list[str]) -> list[Any]:
    """Parameters, of which all but those of QUICK are marked slow."""
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names]


def run(driver: Driver, op: OpDef, given: list[Sample]) -> tuple[list[list[np.ndarray]], int]:
    """The results of each sample, and how many the frontend's own function made."""
    recorded: list[list[Any]] = []
    operands = []
    named = 0
    for sample in given:
        tensors = [None if x is None else driver.tensor(x) for x in sample.operands]
        operands.append(tensors)
        results, own = call(driver, op, tensors, sample.attributes)
        recorded.append(results)
        named += own
    join(driver, [x for results in recorded for x in results])
    return [[driver.read(x) for x in results] for results in recorded], named


def run_or_name(driver: Driver, op: OpDef, given: list[Sample]) -> tuple[Any, int]:
    """:func:`run`; where the joint program fails, say which samples do on their own."""
    try:
        return run(driver, op, given)
    except lazyloom.errors.ExecutionError as error:
        failing = []
        for sample in given:
            try:
                run(driver, op, [sample])
            except lazyloom.errors.ExecutionError as alone:
                failing.append(f"{sample}: {alone}")
        raise AssertionError("\n".join(failing) or f"only together: {error}") from None


def compiled() -> int:
    return int(lazyloom.stats()["programs_compiled"])


@pytest.mark.parametrize("name", quick(OPS))
def test_values(name: str, record_property: Any) -> None:
    op = lookup(name)
    given = coverage.inputs(op)
    first, *others = drivers()
    expected, _ = run_or_name(first, op, given)
    for driver in others:
        before = compiled()
        found, named = run_or_name(driver, op, given)
        record_property(f"by name in {driver.name}", named)
        if not named:
            assert compiled() == before, f"{driver.name} recorded another program than C"
        for sample, mine, theirs in zip(given, found, expected):
            assert len(mine) == len(theirs), sample
            for a, b in zip(mine, theirs):
                unlike = compare.difference(a, b)
                assert unlike is None, f"{driver.name} and C: {sample}: {unlike}"
    for sample, results in zip(given, expected):
        compare.check_reference(op, sample, results)
    if compare.reference_of(op) is None and name not in compare.FACTORED:
        assert name.startswith("random_") or name in exclusions.NO_REFERENCE


def test_every_dtype_is_exercised_or_refused() -> None:
    for op in map(lookup, OPS):  # not the table's: other tests enter ops of their own
        assert coverage.exercised(op) == coverage.expected(op), op
        for dtype in coverage.refused(op):
            operands = [np.zeros(2, dtype.numpy) for _ in op.operands]
            attributes = {"shape": (2,), "axis": 0, "dtype": dtype} if not operands else {}
            with pytest.raises(lazyloom.errors.DTypeError):
                lazyloom.record(op, [lazyloom.from_host(x) for x in operands], attributes)


def test_exclusions_and_names_are_ops_of_the_table() -> None:
    for table in (exclusions.NO_REFERENCE, exclusions.REFUSED, exclusions.NO_NUMERICAL,
                  exclusions.NO_NUMERICAL_COMPLEX, *(d.named for d in drivers())):
        assert set(table) <= set(OPS)
