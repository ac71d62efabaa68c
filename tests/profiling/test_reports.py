"""Profiles and their reports: files, the command, the variable, threads, failures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.errors import ArgumentError
from lazyloom.hooks import hooks
from lazyloom.profiling import document
from lazyloom.profiling.events import Events, UserLine
from lazyloom.profiling.rules import found_in

PROGRAM = """
import sys
import lazyloom_numpy as np
x = np.ones((8, 8), dtype=np.float32)
for n in range(int(sys.argv[1])):
    total = float(np.roll(np.tanh(x @ x.T + 1), n, axis=0)[:3].sum())  # </script> of roll
print("done", sys.argv[1:])
"""


def step(n: int) -> float:
    x = np.ones((4, 4), dtype=np.float32)
    return float(np.tanh(x @ x.T + n).sum())  # </script><script>alert(1)</script>


def own_lines(report: Any) -> dict[int, Any]:
    return {row["line"]: row for row in report.data["lines"] if row["file"] == __file__}


def test_a_profile_has_runs_reads_and_lines() -> None:
    step(0)
    with lazyloom.profile() as watched:
        for n in range(5):
            step(n + 2)
    data = watched.report.data
    assert data["format"] == 1 and data["about"]["runs"] == len(data["evaluations"]["number"]) == 5
    read = step.__code__.co_firstlineno + 2
    assert own_lines(watched.report)[read]["runs"] == own_lines(watched.report)[read]["reads"] == 5
    assert len(data["programs"]) == 1 and data["programs"][0]["ops"] > 2
    assert len({len(column) for column in data["evaluations"].values()}) == 1
    assert json.loads(json.dumps(data)) == data
    assert f"{Path(__file__).name}:{read}" in repr(watched.report)
    for row in data["lines"]:
        known = sum(row[k] for k in ("recording", "starting", "scheduling", "compiling", "running",
                                     "waiting", "uploading"))
        assert known == pytest.approx(row["seconds"])


def test_nothing_is_noted_without_one() -> None:
    with lazyloom.profile() as watched:
        step(1)
    step(2)
    assert hooks.observer is None and watched.report.data["about"]["runs"] == 1
    assert not [t for t in threading.enumerate() if t.name == "lazyloom-profile"]


def test_a_profile_keeps_nothing_alive() -> None:
    """What it kept would be a result of programs that nobody asked for, and compile them anew."""
    class Held:
        pass

    def work() -> weakref.ref[Held]:
        held = Held()
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        return weakref.ref(held)

    with lazyloom.profile() as watched:
        step(3)
        gone = [work()() is None for _ in range(20)]
    assert all(gone)
    assert sum(row["seconds"] for row in watched.report.data["lines"]) > 0.2


def test_a_program_that_fails_leaves_its_report(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(ValueError), lazyloom.profile(path):
        step(1)
        np.ones((2, 3)) @ np.ones((2, 3))
    assert json.loads(path.read_text())["about"]["runs"] == 1


def test_the_error_of_a_program_is_told_where_its_report_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "no" / "run.json"
    with pytest.raises(ZeroDivisionError), lazyloom.profile(path):
        raise ZeroDivisionError
    with pytest.raises(FileNotFoundError), lazyloom.profile(path):
        step(1)
    with lazyloom.profile(os.fsencode(tmp_path / "run.json")):
        step(1)
    assert json.loads((tmp_path / "run.json").read_text())["about"]["runs"] == 1
    with pytest.raises(ArgumentError, match="path is int, expected a str"):
        lazyloom.profile(3)


@pytest.mark.parametrize("file", ["a\0b.py", os.fsdecode(b"\xff.py"), "\ufffd.c"])
def test_a_line_of_a_file_that_cannot_be_named_has_no_source(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stat(name: str, *more: Any, **named: Any) -> Any:
        raise UnicodeEncodeError("ascii", name, 0, 1, "ordinal not in range(128)")

    events = Events()
    events.samples[UserLine(file, 1)] = 1.0
    with monkeypatch.context() as patched:
        # as in a program in C whose environment has LANG=C
        patched.setattr(os, "stat", stat)
        told = document.lines_of(events, True)
    assert [row["source"] for row in told] == [""]


def test_a_profile_ends_once() -> None:
    watched = lazyloom.profile()
    with pytest.raises(ArgumentError, match="has not begun"):
        watched.__exit__(None, None, None)
    with watched:
        step(1)
    with lazyloom.profile() as other:
        with pytest.raises(ArgumentError, match="has ended already"):
            watched.__exit__(None, None, None)
        with pytest.raises(ArgumentError, match="another profile"), lazyloom.profile():
            pass
    # it begins anew
    with watched:
        pass
    assert (other.report.data["about"]["runs"], watched.report.data["about"]["runs"]) == (0, 0)


def test_one_profile_at_a_time() -> None:
    with lazyloom.profile() as watched:
        with pytest.raises(ArgumentError, match="another profile"), lazyloom.profile():
            pass
        with pytest.raises(ArgumentError, match="has not ended"):
            _ = watched.report
    assert watched.report.findings == []


def test_all_threads_are_watched() -> None:
    together = threading.Barrier(3)

    def work() -> None:
        for n in range(4):
            step(n)
        # a number of a thread that has ended may be another's
        together.wait()

    step(0)
    threads = [threading.Thread(target=work) for _ in range(3)]
    with lazyloom.profile() as watched:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    evaluations = watched.report.data["evaluations"]
    assert len(evaluations["number"]) == 12 and set(evaluations["thread"]) == {0, 1, 2}


def test_a_failed_run_is_in_the_report() -> None:
    with lazyloom.options(compiles="error"), lazyloom.profile() as watched:
        x = np.ones((3, 7), dtype=np.float32)
        with pytest.raises(lazyloom.LoomError):
            (np.sinh(x) - np.cosh(x) * 0.3).sum().item()
    errors = watched.report.data["evaluations"]["error"]
    assert any("new program" in e for e in errors)


def test_an_input_that_is_kept_is_found() -> None:
    """A program that was compiled to write over its input copies one that something refers to."""
    def run(keep: bool) -> Any:
        v = lazyloom.from_host(numpy.ones(4096, numpy.float32))
        w = lazyloom.record("add", [v, v])
        if not keep:
            del v
        w.read()
        return v if keep else None

    with lazyloom.options(reproducible=True):
        run(False)
        with lazyloom.profile() as watched:
            kept = [run(True) for _ in range(6)]
    found = [f for f in found_in(watched.events, 0.0) if str(f.rule) == "LL08"]
    assert len(found) == 1 and found[0].line.line == run.__code__.co_firstlineno + 5
    assert "6 times" in found[0].evidence[0] and len(kept) == 6


@pytest.mark.parametrize("sources", [True, False])
def test_a_page_asks_no_host_and_holds_what_it_shows(tmp_path: Path, sources: bool) -> None:
    path = tmp_path / "run.html"
    with lazyloom.profile(path, sources=sources):
        for n in range(4):
            step(n)
    text = path.read_text()
    assert not re.search(r"https?://|src=|@import|url\(", text)
    assert "default-src 'none'" in text and text.count("</script>") == 2
    told = json.loads(re.search(r'id="data">(.*)</script>', text)[1])  # type: ignore[index]
    assert told["about"]["runs"] == 4
    assert any("alert" in row["source"] for row in told["lines"]) == sources
    assert all(row["source"] == "" for row in told["lines"]) != sources


def test_a_timeline_has_the_runs(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.json"
    with lazyloom.profile(path):
        step(3)
    events = json.loads(path.read_text())["traceEvents"]
    assert [e for e in events if e["name"].startswith("read at")]
    assert all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in events)


def test_a_report_of_the_kept_records() -> None:
    for n in range(30):
        x = np.ones((4, 4), dtype=np.float32)
        float(np.roll(x * 2, n, axis=0)[0].sum())
    report = lazyloom.report()
    assert "runs" in report.text() and len(report.data["programs"]) >= 20


#: the child ends when the parent has written its report
FORKS = """
import os, sys, time
import lazyloom
import lazyloom_numpy as np

def runs(count):
    for k in range(count):
        float(np.sin(np.arange(3.0 + k)).sum())

runs(2)
if os.fork():
    runs(3)
else:
    until = time.monotonic() + 60
    while not os.path.exists("a.json") and time.monotonic() < until:
        time.sleep(0.05)
    sys.exit(0)
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, **environment})


def test_the_command_runs_a_program(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "lazyloom", "profile", "-o", "a.json", "program.py", "12")
    assert done.returncode == 0 and done.stdout == "done ['12']\n"
    assert "written to a.json" in done.stderr and "program.py:6" in done.stderr
    assert json.loads((tmp_path / "a.json").read_text())["about"]["runs"] == 12
    done = run(tmp_path, "-m", "lazyloom", "profile", "-o", "b.txt", "-m", "program", "3")
    assert done.returncode == 0 and (tmp_path / "b.txt").read_text() in done.stderr
    failed = run(tmp_path, "-m", "lazyloom", "profile", "missing.py")
    assert failed.returncode == 2 and "missing.py is no file" in failed.stderr
    failed = run(tmp_path, "-m", "lazyloom", "profile", "program.py")
    assert failed.returncode == 1 and "IndexError" in failed.stderr


def test_the_variable_profiles_a_process(tmp_path: Path) -> None:
    done = run(tmp_path, "program.py", "7", LAZYLOOM_PROFILE="a-%p.json")
    assert (done.returncode, done.stderr) == (0, "")
    (written,) = tmp_path.glob("a-*.json")
    assert json.loads(written.read_text())["about"]["runs"] == 7
    done = run(tmp_path, "program.py", "2", LAZYLOOM_PROFILE="no/such/folder/a.json")
    assert done.returncode == 0 and "could not write the profile" in done.stderr


def test_a_report_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "lazyloom", "profile", "-o", "no/a.html", "program.py", "2")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no/a.html" in done.stderr and "written to" not in done.stderr
    # what was found is there all the same
    assert "seconds by line" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_has_no_encoding_is_escaped(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    (tmp_path / name).write_text(PROGRAM)
    done = run(tmp_path, "-m", "lazyloom", "profile", "-o", "a.txt", name, "2")
    assert done.returncode == 0, done.stderr
    assert "\\udcff.py:6" in (tmp_path / "a.txt").read_text()


def test_a_forked_child_leaves_the_parents_report(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    done = run(tmp_path, "forks.py", LAZYLOOM_PROFILE="a.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "a.json").read_text())["counters"]["reads"] == 5
