"""The numbers that tune the runtime can be read and set, within bounds, and take effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.cache import disk, memory
from lazyloom.errors import ArgumentError
from lazyloom.program import difference
from lazyloom.program.repetition import block_of
from lazyloom.settings import NUMBERS, tuning
from tests.contract.helpers import counted, host, number


def _chain(x: Any, length: int) -> Any:
    for k in range(length):
        x = ll.record("add" if k % 2 else "multiply", [x, number(1.5)])
    return x


def _ops_of_cuts(since: int) -> list[int]:
    return [e.ops for e in ll.evaluations() if e.number > since and e.reason == "cut"]


def _newest() -> int:
    last = ll.last_evaluation()
    return 0 if last is None else last.number


def test_every_number_is_described() -> None:
    assert set(NUMBERS) == {name for name in dir(tuning) if not name.startswith("_")}
    for name, n in NUMBERS.items():
        assert n.name == name and n.unit and n.reason.endswith(".")
        assert n.default >= n.minimum


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_read_and_set_for_a_while(name: str) -> None:
    n = NUMBERS[name]
    before = ll.get_option(name)
    assert before == n.default and type(before) is type(n.default)
    other = n.maximum if n.maximum is not None else n.default + 1
    with ll.options(**{name: other}):
        assert ll.get_option(name) == other == getattr(tuning, name)
    assert ll.get_option(name) == before


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_out_of_bounds_is_refused_and_changes_nothing(name: str) -> None:
    n = NUMBERS[name]
    for wrong in (n.minimum - 1, True, "many", None, *([] if n.maximum is None else [2.5])):
        with pytest.raises(ArgumentError, match=f"'{name}' is .*expected"):
            ll.set_option(name, wrong)
    if n.maximum is None:
        with pytest.raises(ArgumentError, match="expected an integer"):
            ll.set_option(name, float(n.default))
    assert ll.get_option(name) == n.default


def test_a_number_that_is_set_between_others_that_are_refused_is_set_back() -> None:
    with pytest.raises(ArgumentError), ll.options(cut_ops=77, block_ops=0):
        pass
    assert ll.get_option("cut_ops") == NUMBERS["cut_ops"].default


def test_a_trace_is_cut_at_the_number_of_ops_that_is_set() -> None:
    with ll.options(cut_ops=40, cut_depth=50, repeated_ops=20, block_ops=10):
        since = _newest()
        x = _chain(host(np.ones(3, np.float32)), 200)
        cut = _ops_of_cuts(since)
        assert cut and max(cut) <= 40 and cut.count(10) >= 5
    x.read()
    since = _newest()
    _chain(host(np.ones(3, np.float32)), 200).read()
    assert _ops_of_cuts(since) == []


def test_what_repeats_nothing_is_cut_to_single_ops_after_the_misses_that_are_set() -> None:
    names = ["sin", "tanh", "abs", "negative", "floor", "exp2"]
    rng = np.random.default_rng(5)
    with ll.options(cut_ops=16, cut_depth=16, repeated_ops=5000, longest_period=5000, cut_misses=0):
        since = _newest()
        x = host(np.ones(3, np.float32))
        for _ in range(40):
            x = ll.record(names[rng.integers(len(names))], [x])
        assert set(_ops_of_cuts(since)) == {1}


def test_blocks_have_the_size_that_is_set() -> None:
    assert block_of(7) == 294
    with ll.options(block_ops=20):
        assert block_of(7) == 14 and block_of(30) == 30


def test_as_many_records_are_kept_as_are_set() -> None:
    with ll.options(records_kept=3):
        for k in range(5):
            ll.record("add", [host(np.ones(2)), number(float(k))]).read()
        assert len(ll.evaluations()) == 3


def test_as_many_requests_of_a_program_are_kept_as_are_set() -> None:
    def run(both: bool) -> None:
        y = ll.record("sin", [host(np.ones(5))])
        z = ll.record("tan", [y])
        if not both:
            del y
        z.read()

    for kept in (1, 2):
        memory.clear()
        with ll.options(requests_kept=kept):
            for _ in range(2):
                run(True)
                run(False)
            assert len(memory.entries()[-1].dispatches) == kept


def test_only_so_many_known_programs_are_compared() -> None:
    structures = [ll.program_of(_chain(host(np.ones(2)), n)).structure for n in (3, 4, 9)]
    known = [(structures[2], "far"), (structures[1], "near")]
    with ll.options(compared_programs=1):
        assert difference.difference_of(structures[0], "", known).site == "near"


def test_the_disk_cache_is_looked_at_after_the_bytes_that_are_set(
    fresh_cache: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def trim(root: str, size: int, coming: int) -> int:
        looks.append(size)
        return 0

    monkeypatch.setattr(disk, "trim", trim)
    disk.store("program", b"first", b"x")
    looks.clear()
    disk.store("program", b"second", b"x" * 100)
    assert looks == []
    with ll.options(disk_interval=50):
        disk.store("program", b"third", b"x" * 100)
    assert len(looks) == 1


def test_bounds_are_looked_for_through_so_many_moves() -> None:
    x = ll.from_host(np.array([3, 9], np.int32))
    for _ in range(3):
        x = ll.record("reshape", [x], {"shape": (2,)})
    assert ll.known_bounds(x) == (3, 9)
    with ll.options(moves_traced=2):
        assert ll.known_bounds(x) is None


def test_a_write_without_donation_runs_what_is_pending_after_so_many() -> None:
    x = ll.Tensor(ll.from_host(np.ones(3)))
    with counted() as did, ll.options(donate=False, overwrites_held=2):
        for _ in range(6):
            x._write(ll.apply("add", [x, 1.5]).value)
    assert did.executions >= 2
