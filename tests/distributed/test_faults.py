"""Where one process fails, all others are told which, in time, and end by themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .launch import Ended, run

pytestmark = pytest.mark.slow

PROGRAM = "programs_faults.py"


def told(ended: Ended) -> tuple[float, str]:
    """After how many seconds a process that lived on was told, and what."""
    assert ended.code == 0, ended
    (line,) = [line for line in ended.output.splitlines() if line.startswith("told after")]
    seconds, _, text = line.removeprefix("told after ").partition(" s: ")
    return float(seconds), text


@pytest.mark.parametrize("what, culprit", [
    ("before", 1), ("middle", 1), ("middle", 0), ("large", 1)])
def test_a_process_that_is_killed_is_named(what: str, culprit: int) -> None:
    ended = run(PROGRAM, [what], 2, CULPRIT=str(culprit))
    assert ended[culprit].code == -9
    seconds, text = told(ended[1 - culprit])
    assert text.startswith(f"rank {culprit} has ended"), text
    assert seconds < 10


@pytest.mark.parametrize("what, culprit", [
    ("compiling", 1), ("compiling", 0), ("others compile", 1)])
def test_a_process_that_is_killed_while_programs_are_compiled_is_named(
    what: str, culprit: int
) -> None:
    """Nobody waits for the end of a compilation, which takes seconds here."""
    ended = run(PROGRAM, [what], 2, 60, CULPRIT=str(culprit), LAZYLOOM_CACHE="0")
    assert ended[culprit].code == -9
    # it may end while a thread of it still compiles
    assert ended[1 - culprit].code in (0, 1), ended
    assert "SIGABRT" not in ended[1 - culprit].output and "Fatal" not in ended[1 - culprit].output
    seconds, text = told(ended[1 - culprit]._replace(code=0))
    assert text.startswith(f"rank {culprit} has ended"), text
    # it is killed after 0.8 s
    assert seconds < 4


def test_a_process_that_is_stopped_is_named() -> None:
    # one that is stopped has to be killed
    ended = run(PROGRAM, ["stopped"], 3, enough=2)
    assert ended[1].code is None
    for rank in (0, 2):
        seconds, text = told(ended[rank])
        assert text.startswith("rank 1 has not answered for 3."), text
        assert seconds < 10


@pytest.mark.parametrize("what, culprit, code", [
    ("exits", 1, 0), ("exits", 0, 0), ("raises", 1, 1)])
def test_a_process_that_leaves_is_named(what: str, culprit: int, code: int) -> None:
    ended = run(PROGRAM, [what], 2, CULPRIT=str(culprit))
    assert ended[culprit].code == code, ended
    seconds, text = told(ended[1 - culprit])
    assert text.startswith(f"rank {culprit} ended before a collective"), text
    assert seconds < 10


def test_an_error_that_nobody_catches_ends_the_process() -> None:
    ended = run(PROGRAM, ["middle"], 2, CULPRIT="1", UNCAUGHT="1")
    assert ended[0].code == 1
    assert "DistributedError: rank 1 has ended" in ended[0].output


@pytest.mark.parametrize("what, number", [("differs", 1), ("differs later", 13)])
def test_processes_that_differ_are_named_with_their_lines(what: str, number: int) -> None:
    ended = run(PROGRAM, [what], 2)
    for rank, name in enumerate(("mean" if number > 1 else "sum", "max")):
        _, text = told(ended[rank])
        assert f"collective {number} of the group of ranks 0, 1 is not the same" in text
        assert f"rank {rank} runs all_reduce(float32[16]; reduction='{name}') at " in text
        assert f"rank {1 - rank} runs all_reduce" in text
        assert text.count("programs_faults.py:") == 2


def test_a_process_that_never_comes_to_a_collective_is_named() -> None:
    ended = run(PROGRAM, ["never comes"], 2, TIMEOUT="2", enough=1)
    seconds, text = told(ended[0])
    assert text.startswith("rank 1 did not come within 2 s to collective 1 of the group"), text
    assert "programs_faults.py:" in text
    assert seconds < 8


def test_a_process_that_lives_and_does_not_come_again_is_named() -> None:
    ended = run(PROGRAM, ["lags"], 2, TIMEOUT="2", enough=1)
    _, text = told(ended[0])
    assert text.startswith("rank 1 did not come within 2 s to collective "), text
    assert "which rank 0 waits in at " in text and "programs_faults.py:" in text


def test_a_process_that_never_comes_to_a_barrier_is_named() -> None:
    ended = run(PROGRAM, ["barrier"], 2)
    _, text = told(ended[0])
    assert text == "barrier: rank 1 did not come within 1 s"


@pytest.mark.parametrize("read", [False, True])
def test_a_failure_that_nobody_read_is_said_at_the_end(tmp_path: Path, read: bool) -> None:
    """Once, in one line and by the exit status; nothing more of one that was caught."""
    program = tmp_path / "program.py"
    program.write_text(f"""
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(2 + dist.get_rank())
dist.all_reduce(x)
try:
    {read} and x.tolist()
except RuntimeError:
    pass
""")
    ended = subprocess.run(
        [sys.executable, "-m", "lazyloom_torch", "run", "-n", "2", str(program)],
        capture_output=True, text=True, timeout=60)  # fmt: skip
    assert ended.returncode == (0 if read else 1), ended
    assert "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr
    assert ("lazyloom: at the end of the program: collective 1 of" in ended.stderr) is not read
