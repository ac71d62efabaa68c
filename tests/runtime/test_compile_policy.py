"""Which programs are compiled beside the one that runs them: those whose runs could save it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.cache import memory
from lazyloom.execute import ab_timing, choose, comparison, compile_costs, costs
from lazyloom.execute import run as run_module
from lazyloom.execute.compiling import background
from lazyloom.execute.history import History, history_of
from tests.contract.helpers import host, number, rec

pytestmark = [pytest.mark.op_by_op, pytest.mark.xla]

X = np.linspace(0.1, 2.0, 12, dtype=np.float32).reshape(3, 4)


class Machine:
    """Programs on a machine whose times are told, and what is asked to be compiled there.

    Attributes:
        asked: the entries that were queued.
        run: seconds that the next runs op by op take.
        now: the time, in seconds.
        start: seconds until a process that compiles has started.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[memory.Entry] = []
        self.run = self.now = self.start = 0.0
        ran_op_by_op = comparison.ran_op_by_op

        def took(entry: memory.Entry, seconds: float) -> None:
            self.now += self.run
            ran_op_by_op(entry, self.run)

        def request(entry: memory.Entry, *_: Any) -> bool:
            self.asked.append(entry)
            entry.history.queued = True
            return True

        monkeypatch.setattr(run_module._modules(), "ran_op_by_op", took)
        monkeypatch.setattr(background, "request", request)
        monkeypatch.setattr(background, "idle", lambda: True)
        monkeypatch.setattr(background, "start_seconds", lambda: self.start)
        monkeypatch.setattr(ab_timing, "clock", lambda: self.now)

    def loop(self, run: float, rest: float, times: int, ops: int = 3) -> int:
        """Go round with a program of ``ops`` ops; the number of runs before it was asked for."""
        before = len(self.asked)
        self.run = run
        for k in range(times):
            value = rec("add", host(X), number(k + 0.5))
            for _ in range(ops - 1):
                value = rec("sin", value)
            value.read()
            if len(self.asked) > before:
                return k
            self.now += rest
        return times


@pytest.fixture
def machine(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    assert fresh_cache
    pytest.importorskip("jaxlib.xla_client")  # whose start would have to be paid, too
    yield Machine(monkeypatch)


def test_runs_as_short_as_handing_over_are_never_compiled(machine: Machine) -> None:
    least = costs.WORTH * (1 + 40 / costs.INSTRUCTIONS)
    assert machine.loop(0.9 * least, 0.0, 100, ops=40) == 100
    assert not machine.asked


def test_the_program_of_a_loop_is_compiled_at_its_first_runs(machine: Machine) -> None:
    assert machine.loop(8e-3, 1e-3, 100) == costs.EAGER_RUNS
    # one that takes longer to compile, too
    assert machine.loop(8e-3, 5e-2, 100, ops=150) == costs.STEADY_RUNS


def test_a_loop_that_has_just_begun_starts_no_process(machine: Machine) -> None:
    machine.start = 2.0
    runs = machine.loop(8e-3, 1e-3, 100)
    # what has gone on for a while goes on for four times as long, and as long up to a second
    age = (machine.start + costs.compile_estimate(3)) / (costs.EAGER_FACTOR + 1)
    assert age < costs.EAGER_SECONDS
    assert math.ceil(age / 9e-3) <= runs <= math.ceil(age / 9e-3) + costs.LEAST_RUNS


def test_a_small_part_of_a_loop_is_compiled_once_it_could_have_saved_that(
    machine: Machine
) -> None:
    run = 1e-3
    least = costs.WORTH * (1 + 3 / costs.INSTRUCTIONS)
    needed = math.ceil(costs.compile_estimate(3) / (run - least))
    assert costs.STEADY_RUNS < needed < 100
    assert machine.loop(run, 0.1, 100) == needed


def test_a_long_wait_in_the_first_run_earns_nothing(machine: Machine) -> None:
    machine.loop(1.0, 0.1, 1)
    assert machine.loop(1e-4, 0.1, 100) == 100


def test_twice_in_a_row_is_no_loop(machine: Machine) -> None:
    machine.run = 2e-4
    for _ in range(40):
        for k in range(2):
            rec("sin", rec("add", host(X), number(k + 0.5))).read()
        machine.now += 0.1
    assert not machine.asked


def test_programs_that_differ_every_time_are_never_compiled(machine: Machine) -> None:
    for ops in range(2, 40):
        assert machine.loop(3e-3, 0.0, 2, ops) == 2
    assert not machine.asked


def test_what_has_not_paid_bounds_what_is_compiled_early(machine: Machine) -> None:
    compile_costs.compiled(1.0, compile_costs.ALLOWANCE + 1e6, False)
    assert machine.loop(1e-3, 1e-3, 20) == 20
    # what has earned it is compiled in any case
    assert machine.loop(5e-2, 1e-3, 20, ops=4) < costs.EAGER_RUNS
    compile_costs.paid(1e6)
    assert machine.loop(8e-3, 1e-3, 20, ops=5) == costs.EAGER_RUNS


def test_a_share_of_what_the_process_used_may_be_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_costs, "SHARE", 1e-9)
    compile_costs.compiled(1.0, compile_costs.ALLOWANCE + 1.0, False)
    assert not compile_costs.affordable()
    monkeypatch.setattr(compile_costs, "SHARE", 1e9)
    assert compile_costs.affordable()


def test_measured_seconds_correct_estimates_in_later_processes_too(machine: Machine) -> None:
    before = costs.compile_estimate(100)
    for _ in range(3):
        compile_costs.compiled(before, 3 * before, True)
    after = costs.compile_estimate(100)
    assert before < after < 3 * before
    # what the start of another process took is no part of it
    compile_costs.compiled(before, 50.0, False)
    assert costs.compile_estimate(100) == after
    compile_costs.forget()
    assert costs.compile_estimate(100) == pytest.approx(after)


def test_measured_seconds_are_bounded(machine: Machine) -> None:
    for _ in range(100):
        compile_costs.compiled(100.0, 1e6, True)
    assert compile_costs.factor() == compile_costs.MOST
    for _ in range(100):
        compile_costs.compiled(100.0, 1e-3, True)
    assert compile_costs.factor() == compile_costs.LEAST


def test_what_was_slower_is_not_compiled_by_a_later_process(machine: Machine) -> None:
    assert machine.loop(8e-3, 1e-3, 20) == costs.EAGER_RUNS
    entry = machine.asked.pop()
    comparison.demote(entry)
    memory.clear()  # as another process has it
    assert machine.loop(8e-3, 1e-3, 20) == 20
    record = ll.last_evaluation()
    assert record is not None and "the compiled program was slower" in record.text()
    # it is found to be quicker there
    comparison.has_paid(entry)
    memory.clear()
    assert machine.loop(8e-3, 1e-3, 20) == costs.EAGER_RUNS


def test_what_was_slower_and_could_save_nothing_is_not_tried_again(machine: Machine) -> None:
    assert machine.loop(8e-3, 1e-3, 20) == costs.EAGER_RUNS
    entry = machine.asked.pop()
    entry.history.queued = False
    comparison.demote(entry)
    # op by op it turns out to be quick
    assert machine.loop(0.9 * costs.WORTH, 0.0, 2 * costs.AGAIN) == 2 * costs.AGAIN
    assert entry.history.slower
    # as it is no more
    machine.loop(2e-3, 0.0, 6)
    assert not entry.history.slower


def test_a_program_that_has_paid_counts_no_more(machine: Machine) -> None:
    machine.loop(8e-3, 1e-3, 20)
    entry = machine.asked.pop()
    compile_costs.compiled(1.0, 2.0, True)
    history = entry.history
    history.unpaid = 2.0
    history.recent, history.compared, history.to_compare = [2e-3] * 5, [1e-3] * 5, 1
    before = compile_costs.unpaid()
    comparison.compared(entry, 1e-4)
    assert compile_costs.unpaid() == before - 2.0 and history.unpaid == 0.0


def test_heavy_ops_are_not_saved() -> None:
    light, heavy = History(), History()
    light.expect(20, 0.0)
    heavy.expect(20, 0.02)
    for history in (light, heavy):
        for _ in range(50):
            history.ran_op_by_op(0.006)
    assert 0.29 < choose.could_save(light) < 0.3
    # of 6 ms a run products take 5 at least, however they are run
    assert 0.04 < choose.could_save(heavy) < 0.05


def test_what_a_compilation_takes_is_measured(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fresh_cache
    seen: list[tuple[float, float]] = []

    def compiled(estimated: float, seconds: float, alone: bool) -> None:
        seen.append((estimated, seconds))

    monkeypatch.setattr(compile_costs, "compiled", compiled)
    value = rec("cos", rec("cos", host(X)))
    ll.sync(value)
    entry = next(e for t in memory._entries for e in t.values() if len(e.structure.specs) == 2)
    history_of(entry).expect(2, 0.0)
    site = ll.evaluations(1)[0].site
    with ll.options(compiled_beside=64):
        assert background.request(entry, [(1, 0)], [], entry.donate, site)
        assert background.wait(120)
    assert entry.program is not None
    [(estimated, seconds)] = seen
    assert estimated > 0 and seconds > 0 and entry.history.unpaid == seconds
