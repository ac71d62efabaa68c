"""The choice of a program's form, by tables of histories and facts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lazyloom.execute import choose, costs
from lazyloom.execute.choose import Facts
from lazyloom.execute.costs import Estimate
from lazyloom.execute.history import History
from lazyloom.execute.op_by_op.blas_threads import LONG, SHORT, Threads
from tests.contract.helpers import in_threads

#: a history of a program that is worth compiling (0.1 s) and whose runs could save 1 ms each
SOME: dict[str, Any] = {"compile_estimate": 0.1, "least": 0.001, "recent": [0.002] * 5}
#: the facts of a run of it: JAX has started, nothing is on disk, the compiler is busy
NOW: dict[str, Any] = {
    "ops": 10, "inputs": True, "compiled": False, "on_disk": False,
    "run_estimate": Estimate(0.002, 0.0, 0.0), "start": 0.0, "compiler": 0.0, "now": 100.0,
    "idle": False, "all_saved": 0.0,
}  # fmt: skip
FIELDS = [name for name in dir(History()) if not name.startswith("_")
          and not callable(getattr(History(), name))]


def history(**fields: Any) -> History:
    """A history that has these, and those of :data:`SOME`."""
    made = History()
    for name, value in {**SOME, **fields}.items():
        setattr(made, name, value)
    return made


def after(runs: int, **fields: Any) -> History:
    """A history of so many runs of 2 ms each."""
    return history(runs=runs, spent=runs * 0.002, **fields)


IDLE = {"idle": True}
#: it came round every 4 ms since the round began, and its loop has gone on for longer
LOOP: dict[str, Any] = {
    "loop_began": 90.0, "round_began": 99.98, "round_runs": 0, "round_spent": 0.0}
NEW: dict[str, Any] = {**LOOP, "loop_began": 99.98}


@pytest.mark.parametrize(("known", "now", "expected"), [
    # a new program waits for nothing
    (after(0), {}, choose.FEW_RUNS),
    (after(0), IDLE, choose.FEW_RUNS),
    # one run of which takes longer than compiling
    (after(0), {"run_estimate": Estimate(0.2, 0.0, 0.0)}, choose.LONG_RUN),
    (after(0), {"run_estimate": Estimate(0.2, 0.0, 0.0), "start": 0.7}, choose.FEW_RUNS),
    # heavy ops take as long in one form as in the other
    (after(0), {"run_estimate": Estimate(0.2, 0.15, 0.15)}, choose.FEW_RUNS),
    # ski rental: 100 runs could have saved 0.1 s
    (after(99), {}, choose.WAITS),
    (after(101), {}, choose.EARNED),
    (after(101), {"start": 0.7}, choose.WAITS),
    (after(801), {"start": 0.7}, choose.EARNED),
    # of one run it cannot be told whether what it took was its own
    (history(runs=1, spent=1.0, recent=[1.0]), {}, choose.FEW_RUNS),
    (history(runs=2, spent=2.0, recent=[1.0, 1.0]), {}, choose.EARNED),
    # the quickest of the newest counts for all
    (history(runs=50, spent=50.0, recent=[1.0, 0.002]), {}, choose.WAITS),
    # an idle compiler begins earlier
    (after(5, **LOOP), {}, choose.WAITS),
    (after(5, **LOOP), IDLE, choose.EARLY),
    (after(2, **LOOP), IDLE, choose.WAITS),
    (after(5, round_began=90.0, round_runs=0, round_spent=0.0), IDLE, choose.WAITS),
    (after(5), IDLE, choose.WAITS),
    (after(5, compile_estimate=10.0, **LOOP), IDLE, choose.WAITS),
    (after(10, compile_estimate=10.0, **LOOP), IDLE, choose.EARLY),
    (after(10, compile_estimate=10.0, **LOOP), {**IDLE, "compiler": 40.0}, choose.WAITS),
    (after(10, compile_estimate=42.0, **LOOP), IDLE, choose.WAITS),
    (after(10, compile_estimate=42.0, **{**LOOP, "loop_began": 80.0}), IDLE, choose.EARLY),
    (after(10, compile_estimate=61.0, **{**LOOP, "loop_began": 0.0}), IDLE, choose.WAITS),
    # what has just begun may end at once
    (after(5, **NEW), IDLE, choose.WAITS),
    (after(5, **{**NEW, "compile_estimate": 0.03}), IDLE, choose.EARLY),
    (after(5, **LOOP), {**IDLE, "compiler": 0.9}, choose.EARLY),
    (after(5, **LOOP), {**IDLE, "compiler": 1.0}, choose.WAITS),
    (after(10, **{**NEW, "compile_estimate": 0.09}), IDLE, choose.EARLY),
    (after(10, **NEW), {**IDLE, "compiler": 0.1}, choose.WAITS),
    # where JAX is to be imported for it, all programs together have to have earned that
    (after(5, **LOOP), {**IDLE, "start": 0.7}, choose.WAITS),
    (after(5, **LOOP), {**IDLE, "start": 0.7, "all_saved": 0.4}, choose.EARLY),
    # nothing can be saved
    (history(runs=9, spent=0.009, recent=[0.001] * 5), IDLE, choose.NOTHING_TO_SAVE),
    (after(9, **LOOP), {**IDLE, "ops": 1, "inputs": False}, choose.NOTHING_TO_SAVE),
    (after(9, **LOOP), {**IDLE, "ops": 1}, choose.EARLY),
    # the disk is asked once that takes no longer than what could have been saved
    (after(0), {"on_disk": True}, choose.FEW_RUNS),
    (after(4), {"on_disk": True}, choose.LOOK),
    (after(4), {"on_disk": True, "start": 0.7}, choose.WAITS),
    (after(4, queued=True), {"on_disk": True}, choose.QUEUED),
    (after(0), {"on_disk": True, "run_estimate": Estimate(0.2, 0.0, 0.0)}, choose.LOOK),
    # what is being compiled, failed, or is there
    (after(500, queued=True), {}, choose.QUEUED),
    (after(500, compile_estimate=math.inf), IDLE, choose.FAILED),
    (after(500), {"compiled": True}, choose.READY),
    (after(500, compiled_only=True), {}, choose.COMPILED_ONLY),
    # what was slower is tried again after 100 runs, and 400 when that was so again
    (after(99, slower=True, demotions=1), {"compiled": True}, choose.SLOWER),
    (after(100, slower=True, demotions=1), {"compiled": True}, choose.AGAIN),
    (after(399, slower=True, demotions=2), {"compiled": True}, choose.SLOWER),
    (after(400, slower=True, demotions=2), {"compiled": True}, choose.AGAIN),
    (after(100 * 64, slower=True, demotions=9), {}, choose.AGAIN),
    (history(runs=500, spent=0.4, recent=[8e-4] * 5, slower=True), {}, choose.SLOWER),
])  # fmt: skip
def test_form(known: History, now: dict[str, Any], expected: choose.Decision) -> None:
    before = {name: getattr(known, name) for name in FIELDS}
    assert choose.choose(known, Facts(**{**NOW, **now})) is expected
    # it changes nothing
    assert {name: getattr(known, name) for name in FIELDS} == before


def test_each_decision_says_why() -> None:
    decisions = [d for d in vars(choose).values() if isinstance(d, choose.Decision)]
    assert len({d.reason for d in decisions}) == len(decisions) > 10
    for decision in decisions:
        assert decision.form in (choose.COMPILED, choose.OP_BY_OP) and decision.reason
        # what is compiled first waits for nothing more
        assert decision.form == choose.OP_BY_OP or decision.step == choose.NOTHING


@pytest.mark.parametrize(("before", "compiled", "padded", "expected"), [
    (0.002, 0.0002, False, choose.QUICKER),
    (0.002, 0.0015, False, choose.CLOSE),
    (0.002, 0.0045, False, choose.CLOSE),
    (0.002, 0.006, False, choose.SLOW),
    # of longer runs, and of padded programs, no turns are timed
    (0.02, 0.024, False, choose.QUICKER),
    (0.02, 0.026, False, choose.SLOW),
    (0.002, 0.0024, True, choose.QUICKER),
    (0.002, 0.0026, True, choose.SLOW),
])
def test_verdict_on_first_compiled_runs(
    before: float, compiled: float, padded: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "SLOWER", 1.25)
    # the quickest counts on either side, and the very first compiled run does not
    recent = [before * 3, before, before * 2]
    assert choose.verdict(recent, [0.0, compiled, compiled * 2], padded) == expected


@pytest.mark.parametrize(("longest", "several", "expected"), [
    (SHORT / 2, False, Threads.AS_THEY_ARE),
    (SHORT * 2, False, Threads.ONE),
    (SHORT * 2, True, Threads.AS_THEY_ARE),
    (LONG * 2, False, Threads.SEVERAL),
    (LONG * 2, True, Threads.AS_THEY_ARE),
])
def test_threads_of_products(longest: float, several: bool, expected: Threads) -> None:
    assert choose.threads(history(several_threads=several), longest) is expected


def test_no_run_of_threads_is_lost() -> None:
    counted = history(recent=[])

    def run() -> None:
        for _ in range(2000):
            counted.ran_op_by_op(0.5)
            counted.wasted(0.25, 1)

    in_threads([run] * 4)
    assert counted.runs == 16_000 and counted.spent == 6000.0
