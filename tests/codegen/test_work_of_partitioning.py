"""Dividing twice the ops is twice the work: lines of Python are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from lazyloom.codegen import Generator, Partition, Pattern, any_value, match, partition
from lazyloom.codegen.check import check
from lazyloom.codegen.patterns import Node
from tests.codegen.programs import Doing, Written, theirs, written

OPS = 400


def turns(k: int) -> str:
    """A chain on which two generators and XLA take turns."""
    return f"O{k}:{'ttud'[k % 4]}({f'O{k - 1}' if k else 'x'})"


def far(k: int) -> str:
    """Ops that need one just before them and one from the first half."""
    return f"O{k}:{'tudt'[(k * k + k // 3) % 4]}({f'O{k - 1}' if k else 'x'},{f'O{k // 2}'})" if (
        k) else "O0:t(x,y)"


def one_region(k: int) -> str:
    """A chain of one generator, to which each op brings a leaf and a scalar of its own."""
    return f"O{k}:t({f'O{k - 1}' if k else 'x'},y{k},$)"


def star(k: int) -> str:
    """A result that everything uses, of each of two generators in turn."""
    return f"O{k}:{'tu'[k % 2]}({'O0' if k else 'x'})"


def apart(k: int) -> str:
    """Ops that have nothing to do with each other."""
    return f"O{k}:t(x{k})"


def ladder(k: int) -> str:
    """Two chains, each with steps of the other."""
    return f"O{k}:{'tu'[k % 2]}({f'O{k - 1},O{k - 2}' if k > 1 else 'x,y'})"


SHAPES = [turns, far, one_region, star, apart, ladder]


def program(shape: Callable[[int], str], count: int) -> Written:
    found = written(" ".join(map(shape, range(count))))
    found.structure.instructions  # noqa: B018 - decoded outside of what is counted
    return found


def generators(patterns: bool) -> list[Generator]:
    x, y = any_value(), any_value()
    found = [
        Pattern("twice", match("negative add", match("negative add", x), commutes=True)),
        Pattern("tail", match("addcmul", match("addcmul", match("addcmul", x, y), y)))]
    return [Doing(patterns=found if patterns else ()), theirs()]


def lines_of(function: Callable[[], Any]) -> tuple[int, Any]:
    """How many lines of Python a call takes, and what it returns."""
    count = 0

    def line(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, arg: line)
    try:
        found = function()
    finally:
        sys.settrace(before)
    return count, found


@pytest.mark.parametrize("patterns", [False, True], ids=["", "with patterns"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.__name__)
def test_work_grows_with_the_program(shape: Callable[[int], str], patterns: bool) -> None:
    counts, checks, parts = [], [], []
    for size in (OPS, 2 * OPS, 4 * OPS):
        p = program(shape, size)
        outputs = p.results(f"O{size - 1} O{size // 2} O0")
        asked = generators(patterns)
        count, found = lines_of(lambda p=p, o=outputs, g=asked: partition(p.structure, o, g))
        assert isinstance(found, Partition)
        counts.append(count)
        checks.append(lines_of(lambda p=p, o=outputs, f=found: check(p.structure, o, f))[0])
        parts.append(len(found.parts))
    if counts[0] < OPS:
        pytest.skip("the package is compiled, so its lines cannot be counted")
    for work in (counts, checks):
        # of the largest one, arrays are counted once more: it may have more than a region has
        assert work[1] < 2.3 * work[0] and work[2] < 2.5 * work[1], (counts, checks, parts)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.__name__)
def test_predicates_are_asked_once_for_calls_that_are_alike(shape: Callable[[int], str]) -> None:
    for size in (OPS, 4 * OPS):
        p = program(shape, size)
        mine, others = Doing(), theirs()
        found = partition(p.structure, p.results(f"O{size - 1}"), [mine, others])
        for generator in (mine, others):
            assert len(generator.asked) == len({(c.op, c.operands) for c in generator.asked}) <= 8
            # and once for each region whether it is worth it
            mine_of = [part for part in found.parts if part.generator is generator]
            assert len(generator.shown) >= len(mine_of)
        assert sum(len(g.shown) for g in (mine, others)) <= size


def test_ten_thousand_ops_are_divided() -> None:
    count = 10_000
    p = program(far, count)
    outputs = p.results(f"O{count - 1}")
    found = partition(p.structure, outputs, [Doing(), theirs()])
    check(p.structure, outputs, found)
    assert len(found.owner) == count and len(found.parts) > 10
    p = program(turns, count)
    found = partition(p.structure, p.results(f"O{count - 1}"), [Doing(), theirs()])
    check(p.structure, p.results(f"O{count - 1}"), found)
    assert len(found.parts) == count // 2


def doubled(k: int) -> str:
    return f"O{k}:add({f'O{k - 1},O{k - 1}' if k else 'x,x'})"


def summed(k: int) -> str:
    return f"O{k}:add({f'O{k - 1}' if k else 'x'},y)"


def rows_of(count: int, last: Node, **how: Any) -> Pattern:
    """A pattern of so many sums in a row, whose operands change places, below them something."""
    for _ in range(count):
        last = match("add", last, any_value(), commutes=True, **how)
    return Pattern("row", match("add", last, any_value()))


@pytest.mark.parametrize("last", [any_value(), match("tanh", any_value())], ids=["", "not there"])
@pytest.mark.parametrize("how", [{}, {"optional": True}], ids=["", "optional"])
@pytest.mark.parametrize("shape", [doubled, summed], ids=lambda s: s.__name__)
def test_work_grows_with_the_pattern(
    shape: Callable[[int], str], how: dict[str, Any], last: Node
) -> None:
    p = program(shape, 60)
    outputs = p.results(" ".join(f"O{k}" for k in range(60)))
    counts = [lines_of(lambda n=n: partition(
        p.structure, outputs, [Doing(ops="", patterns=[rows_of(n, last, **how)])]))[0]
        for n in (4, 8, 16)]
    if counts[0] < 60:
        pytest.skip("the package is compiled, so its lines cannot be counted")
    # not twice as much for each further op
    assert counts[1] < 12 * counts[0] and counts[2] < 12 * counts[1], counts


class Scanned(tuple[Any, ...]):
    """Operands that count how many of them are looked at where one is searched for."""

    __slots__ = ()
    looked: ClassVar[int] = 0

    def __contains__(self, item: object) -> bool:
        Scanned.looked += len(self)
        return super().__contains__(item)


def test_the_checker_does_not_search_all_operands_for_each() -> None:
    p = program(one_region, OPS)
    outputs = p.results(f"O{OPS - 1}")
    found = partition(p.structure, outputs, [Doing()])
    (part,) = found.parts
    found.parts[0] = part._replace(operands=Scanned(part.operands))
    Scanned.looked = 0
    check(p.structure, outputs, found)
    assert Scanned.looked <= 4 * len(part.operands)
