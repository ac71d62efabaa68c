"""Random programs, samples of all ops and the programs of the conformance tests, in every form.

A part of them in each run of the tests; ``--thorough`` takes many more, on large arrays too, and
``python -m tests.oracle`` as many as one likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from lazyloom.ops.spec import lookup
from tests.conformance import coverage
from tests.conformance.test_programs import PROGRAMS

from . import forms
from .check import Oracle
from .generate import program
from .programs import Input, Program
from .samples import Conformance, OpSample

pytestmark = pytest.mark.xla

#: forms that need no process of their own, and start no compiler beside the program
QUICK = ("op_by_op", "compiled", "again", "matched", "captured")
#: random programs, and how many of them ``--thorough`` takes
SOME, MANY = 16, 400
#: every so manyeth op, one sample of each
OPS = 12
#: what is compared in its own way: the factors of a matrix are not unique
FACTORED = frozenset(
    "svd eig eigvals eigh eigvalsh qr lu schur cholesky polar pinv null_space".split())


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as made:
        yield made


def hold(oracle: Oracle, given: Any, chosen: tuple[str, ...]) -> None:
    broken = oracle.check(given, chosen)
    if broken:
        form = broken[0].form
        small = oracle.shrunk(given, broken)
        pytest.fail("\n".join([f"{given.text()}\n", *(b.text() for b in broken),
                               f"\nin {form} shrunk to\n{small.text()}"]), pytrace=False)


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, oracle: Oracle, thorough: bool) -> None:
    for seed in range(part, MANY if thorough else SOME, 4):
        hold(oracle, program(seed, large=None if thorough else False, calm=not thorough),
             forms.ALL if thorough else QUICK)


def test_the_oracle_decides(oracle: Oracle) -> None:
    """Of most elements it says exactly what they are, or in which bound."""
    for seed in range(8):
        oracle.check(program(seed, large=False, calm=True), ("op_by_op",))
    assert oracle.told["undecided"] < 0.35 * sum(oracle.told.values()), oracle.told


def test_every_form_runs(oracle: Oracle) -> None:
    """Each form runs what fits it, and so does what has to be longer to be padded."""
    lines = [f"v{k} = np.{'sin' if k % 2 else 'tanh'}({f'v{k - 1}' if k else 'x0'} + 0.5)"
             for k in range(12)]
    long = Program("numpy", (Input("float32", ("n", 3), "normal", 1),),
                   (*lines, "v12 = np.sum(v11, axis=0)"), ("v12",), 9)
    sorts = Program("numpy", (Input("float32", (40, 700), "normal", 1),),
                    ("v0 = np.sort(x0, axis=1)",), ("v0",))
    for given, chosen in ((long, ("op_by_op", "compiled", "matched", "captured", "padded", "xla")),
                          (sorts, ("generators",))):
        if chosen == ("generators",) and not _has_generators():
            continue
        before = dict(oracle.ran)
        hold(oracle, given, chosen)
        for form in chosen:
            assert oracle.ran[form] == before.get(form, 0) + 1, oracle.left


def _has_generators() -> bool:
    from lazyloom import codegen

    return "c" in codegen.available()


def test_samples_of_ops(op_names: list[str], oracle: Oracle, thorough: bool) -> None:
    for name in op_names:
        if name in FACTORED or not thorough and zlib.crc32(name.encode()) % OPS:
            continue
        count = len(coverage.inputs(lookup(name)))
        for k in range(count) if thorough else [zlib.crc32(name.encode()) % count]:
            hold(oracle, OpSample(name, k),
                 ("op_by_op", "numpy", "compiled", "captured") if thorough
                 else ("op_by_op", "compiled"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_conformance_tests(name: str, oracle: Oracle, thorough: bool) -> None:
    for library in ("numpy", "torch") if thorough else ("numpy",):
        hold(oracle, Conformance(name, library),
             tuple(f for f in forms.ALL if f != "padded") if thorough else ("op_by_op", "compiled"))
