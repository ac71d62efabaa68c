"""Records of evaluations as users get them: what is new, what took the time, what moved, where."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom import compiled
from lazyloom.errors import ArgumentError, NewProgramError
from lazyloom.program import difference, reasons
from lazyloom.program.difference import Change
from tests.contract.helpers import counted

pytestmark = pytest.mark.op_by_op

ROOT = Path(__file__).resolve().parents[2]


def last() -> ll.Evaluation:
    found = ll.last_evaluation()
    assert found is not None
    return found


def changes(record: ll.Evaluation) -> list[tuple[str, str, str, str]]:
    assert record.differs is not None and record.differs.kind == difference.CHANGED
    return [(c.kind, c.name or c.op, c.now, c.before) for c in record.differs.changes]


# what is new


def test_an_attribute_that_changes_is_named(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones((6, 3), np.float32))
    records = []
    for i in range(4):
        lnp.roll(lnp.tanh(x @ x.T + 1), i + 1, axis=0).sum().item()
        records.append(last())
    assert {r.found for r in records} == {"op_by_op"} and all(r.is_new for r in records)
    for i, record in enumerate(records[1:], 2):
        assert changes(record) == [("attribute", "shifts", f"({i},)", f"({i - 1},)")]
        assert record.differs is not None and record.differs.same_line
        assert record.differs.site == str(record.site)
        text = record.text()
        assert f"new because it differs from the program first run at {record.site}:" in text
        assert f"roll, has shifts=({i},), had ({i - 1},)" in text


def test_a_program_that_ran_before_is_not_new(fresh_cache: Any) -> None:
    for k in range(3):
        (lnp.asarray(np.arange(5.0)) * (2.5 + k)).sum().item()
        record = last()
        assert record.is_new == (k == 0) == (record.differs is not None)
        assert ("because" in record.text()) == (k == 0)


@pytest.mark.parametrize(("second", "expected"), [
    (np.ones(9, np.float32), ("shape", "", "(9,)", "(8,)")),
    (np.ones(8, np.float64), ("dtype", "", "float64", "float32")),
])  # fmt: skip
def test_inputs_that_change_are_named(
    fresh_cache: Any, second: Any, expected: tuple[str, ...]
) -> None:
    for data in (np.ones(8, np.float32), second):
        lnp.sin(lnp.asarray(data)).sum().item()
    assert expected in changes(last())


def test_more_ops_and_other_ops_are_named(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones(8))

    def run(functions: list[Any]) -> list[tuple[str, str, str, str]]:
        y = x
        for f in functions:
            y = f(y)
        y.tolist()
        return changes(last())

    with pytest.raises(AssertionError):
        run([lnp.sin, lnp.cos, lnp.exp])
    assert run([lnp.sin, lnp.tanh, lnp.exp]) == [("op", "tanh", "tanh", "cos")]
    assert run([lnp.sin, lnp.tanh, lnp.exp, lnp.sin]) == [("ops", "", "4", "3")]
    text = last().text()
    assert "it has 4 ops, had 3: it goes on with instruction 3, sin" in text


def test_the_program_of_the_same_line_counts_before_others(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones(8))

    def ours(shift: int) -> None:
        lnp.roll(lnp.sin(lnp.exp(x)), shift).tolist()

    ours(1)
    here = last().site
    lnp.roll(lnp.sin(lnp.exp(x)), 3).tolist()
    other = last()
    assert other.differs is not None and not other.differs.same_line
    ours(2)
    assert str(last().site) == str(here)
    assert changes(last()) == [("attribute", "shifts", "(2,)", "(1,)")]


def test_another_number_of_operands_is_told(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones(5))
    for n in (2, 3):
        lnp.concatenate([x] * n).sum().item()
    assert ("operands", "concatenate", "3", "2") in changes(last())
    assert "concatenate, has 3 operands, had 2" in last().text()


def test_differences_are_worked_out_when_they_are_asked_for(
    fresh_cache: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    original = difference.difference_of
    monkeypatch.setattr(
        difference, "difference_of", lambda *a: asked.append(a) or original(*a))
    for n in (4, 5):
        lnp.sin(lnp.asarray(np.ones(n))).sum().item()
    assert not asked
    # what runs afterwards was not known then
    lnp.sin(lnp.asarray(np.ones(6))).sum().item()
    before = ll.evaluations(2)[0]
    assert ("shape", "", "(5,)", "(4,)") in changes(before) and len(asked) == 1
    assert before.differs is before.differs and len(asked) == 1


def test_two_records_are_compared(fresh_cache: Any) -> None:
    for n in (4, 5, 4):
        lnp.sin(lnp.asarray(np.ones(n))).sum().item()
    first, second, third = ll.evaluations(3)
    found = third.difference_from(second).changes
    assert [(c.kind, c.number, c.now, c.before) for c in found] == [("shape", 0, "(4,)", "(5,)")]
    assert isinstance(found[0], Change) and third.difference_from(first).changes == ()
    with pytest.raises(ArgumentError, match="ran no program"):
        third.difference_from(ll.Evaluation(0, "read", third.site))


def test_only_so_many_changes_are_kept(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones(8))
    for k in (1, 2):
        y = x
        for _ in range(20):
            y = lnp.roll(y, k)
        y.tolist()
    differs = last().differs
    assert differs is not None and len(differs.changes) == difference.KEPT
    assert differs.more == 20 - difference.KEPT and "and in 16 more" in differs.text()


# why it is not compiled


def test_a_record_says_what_is_weighed(fresh_cache: Any) -> None:
    x = lnp.asarray(np.ones((30, 30)))
    for k in range(3):
        lnp.sin(x * 2.5).sum().item()
        record = last()
        assert record.runs == k + 1
        assert record.choice == (reasons.FEW_RUNS if k < 2 else record.choice)
        assert record.choice in reasons.CHOICES and record.why == reasons.CHOICES[record.choice]
        assert 0 <= record.startup < record.estimate
        text = record.text()
        assert record.why in text and "compiling is estimated to take" in text
        assert f"{record.runs} run" in text


def test_causes_are_codes(fresh_cache: Any) -> None:
    x = lnp.asarray(np.arange(6.0) - 2)
    (x * 2.5).tolist()
    assert last().cause == reasons.READ
    lnp.nonzero(x * 3.5)
    assert last().cause == reasons.SHAPE
    ll.sync(x * 4.5)
    assert last().cause == reasons.SYNC
    assert ll.Evaluation(0, "of a frontend's own", last().site).cause == "of a frontend's own"


# what took the time


@pytest.mark.parametrize("whole", [False, True])
def test_phases_add_up(fresh_cache: Any, whole: bool) -> None:
    # of types that no other test asks for, so that kernels have to be prepared
    n = 23 + whole
    x = lnp.asarray(np.ones((n, 1, 1, n)))
    y = lnp.log1p(lnp.cos(x)).sum()
    with ll.options(reproducible=whole):
        started = time.perf_counter()
        y.item()
        took = time.perf_counter() - started
    record = last()
    assert set(record.timings) <= set(reasons.PHASES)
    assert record.seconds == sum(record.timings.values())
    assert 0.5 * took < record.seconds <= took
    assert ("compile" in record.timings) == whole == ("wait" in record.timings)


START = """
import numpy, lazyloom, lazyloom_numpy as np
x = np.asarray(numpy.ones((5, 7)))
for _ in range(2):
    np.sin(x * 2.5).sum().item()
first, second = lazyloom.evaluations(2)
print(first.timings["start"] > first.timings["lookup"], "start" in second.timings)
assert "start " in first.text()
"""


def test_what_starting_takes_is_a_phase_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START], text=True, capture_output=True, timeout=300,
        env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path), "LAZYLOOM_REPRODUCIBLE": "0"})
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_waiting_for_results_is_a_phase(fresh_cache: Any) -> None:
    with ll.options(reproducible=True):
        y = lnp.sin(lnp.asarray(np.ones(50))).sum()
        ll.sync(y)
        record = last()
        assert "wait" not in record.timings
        ll.sync(y, wait=True)
        waited = record.timings["wait"]
        y.item()
    assert last() is record and record.timings["wait"] > waited > 0


def test_waiting_for_checks_of_the_data_is_part_of_it(fresh_cache: Any) -> None:
    with ll.options(reproducible=True):
        labels = torch.arange(4) * 3
        with pytest.raises(IndexError, match="out of bounds"):
            torch.nn.functional.cross_entropy(torch.ones(4, 3), labels).item()
    assert last().form == "compiled" and last().timings["wait"] > 0


# what moved


@pytest.mark.parametrize("whole", [False, True])
def test_data_from_the_host_count_once(fresh_cache: Any, whole: bool) -> None:
    data = np.ones((64, 64))
    with ll.options(reproducible=whole), counted() as delta:
        for _ in range(3):
            x = lnp.asarray(data)
            (x * 2.5).sum().item()
            assert last().bytes_uploaded == data.nbytes
            assert f"({data.nbytes} from the host)" in last().text()
            (x * 3.5).sum().item()
            assert last().bytes_uploaded == 0 and last().bytes_in == data.nbytes
    assert delta.bytes_uploaded == 3 * data.nbytes


# where


PLOTTER = """
import numpy
def plot(x):
    return numpy.asarray(x)
def main():
    import lazyloom, lazyloom_numpy as np
    from helper import total
    plot(np.ones(30000) * 2.5)
    print(lazyloom.last_evaluation().site.line)
    total(np.ones(30000) * 3.5)
    print(lazyloom.last_evaluation().site.line, lazyloom.last_evaluation().site.library.line)
if __name__ == "__main__":
    main()
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import plotter, pprint, lazyloom, lazyloom_numpy as np
x = np.ones(30000)
def last():
    site = lazyloom.last_evaluation().site
    return site.line if site.library is None else f"{site.line}:{site.library.line}"
plotter.plot(x * 2)
found = [last()]
pprint.pformat(x * 3)
found.append(last().split(":")[0])
(x * 4).tolist()
found.append(last())
lazyloom.user_packages("plotter")
plotter.plot(x * 2)
found.append(last())
lazyloom.skip_packages("plotter")
plotter.plot(x * 5)
found.append(last())
print(*found)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    (folder / "plotter").mkdir(parents=True)
    (folder / "plotter" / "__init__.py").write_text(PLOTTER)
    (folder / "plotter" / "__main__.py").write_text("import plotter\nplotter.main()\n")
    (folder / "helper.py").write_text("def total(x):\n    return float(x.sum())\n")
    return folder


def run(arguments: list[str], **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], text=True, capture_output=True, timeout=300,
        env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_user_s_line_is_outside_of_installed_packages(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert run([str(program), str(installed)]).split() == ["9:4", "11", "13", "4", "19:4"]


def test_variables_name_packages(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = run([str(program), str(installed)], LAZYLOOM_USER_PACKAGES="plotter").split()
    assert found[0] == "4"
    # as if it was part of the program
    shown = tmp_path / "mine"
    installed.rename(shown)
    assert run([str(program), str(shown)]).split()[0] == "4"
    found = run([str(program), str(shown)], LAZYLOOM_SKIP_PACKAGES="plotter").split()
    assert found[0] == "9:4"


def test_a_program_that_is_installed_has_its_own_lines(installed: Path) -> None:
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    assert run(["-m", "plotter"], PYTHONPATH=path).split() == ["4", "10", "2"]


@pytest.mark.parametrize("name", ["", "a b", "a/b", ".a", 3])
def test_what_is_no_package_s_name_is_an_error(name: Any) -> None:
    with pytest.raises(ArgumentError, match="expected the name of a package"):
        ll.user_packages(name)
    with pytest.raises(ArgumentError, match="skip_packages"):
        ll.skip_packages(name)


@pytest.mark.compiled
def test_a_sync_of_everything_waits(fresh_cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyloom.backends.selection import backend

    y = lnp.asarray(np.ones(60)) * 2.5
    ll.sync(y)
    waited: list[Any] = []
    monkeypatch.setattr(backend(), "wait_for_all", lambda: waited.append(None))
    z = y * 3.5
    ll.sync()
    assert not waited
    ll.sync(wait=True)
    assert len(waited) == 1
    monkeypatch.undo()
    ll.sync(wait=True)
    buffers = z.value.node.buffers
    assert buffers is not None and backend().is_ready(buffers[0].array)


def test_starting_counts_where_it_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyloom import startup

    startup.taken(0.0)
    now = [100.0]
    monkeypatch.setattr(startup, "_clock", lambda: now[0])
    with startup.starting():
        with startup.starting():
            now[0] += 0.5
        now[0] += 0.25
    with startup.starting():
        now[0] += startup.LEAST / 2
    assert startup.unnoted[threading.get_ident()] == [(100.75, 0.75)]
    # it ended before what asks began
    assert startup.taken(100.8) == 0.0 and startup.taken(0.0) == 0.0


@pytest.mark.skipif(compiled.COMPILED, reason="compiled code calls no function put in the place")
@pytest.mark.parametrize("own_handler", [False, True])
def test_an_interrupt_shows_the_user_s_line_and_few_frames(
    fresh_cache: Any, monkeypatch: pytest.MonkeyPatch, own_handler: bool
) -> None:
    from lazyloom.evaluate import evaluate

    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        elif own_handler:
            handler(signal.SIGINT, None)
        else:
            raise KeyboardInterrupt

    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler if own_handler else signal.default_int_handler)
    try:
        y = lnp.asarray(np.ones(70)) * 2.5
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
            patch.setattr(evaluate, "run", lambda plan, donate: deep(15))
            y.tolist()
        names = [entry.name for entry in caught.traceback]
        # a handler of the program's own may raise from anywhere, and its frames count
        assert (names[-1] == "handler") == own_handler == ("deep" in names)
        assert own_handler or len(names) < 10
        # what was interrupted is there to be read
        assert y.tolist() == [2.5] * 70
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_record_of_a_failure_keeps_no_frames() -> None:
    """Their variables are the inputs of the run, and all that the functions around it had."""
    x = lnp.ones((3, 5), np.float32)
    with pytest.raises(NewProgramError), ll.options(compiles="error"):
        (lnp.sinh(x) @ lnp.cosh(x).T).sum().item()
    error = last().error
    assert isinstance(error, NewProgramError) and error.__traceback__ is None
