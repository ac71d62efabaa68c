"""What the runtime logs: to whom, at which level, and nothing where nobody hears it."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom.execute.compiling import messages
from lazyloom.program.evaluations import Evaluation
from lazyloom.program.program import Structure

PROGRAM = """
import sys
import lazyloom_numpy as np
x = np.cosh(np.arange({size}.0)) + 1
print("logging" in sys.modules)
print(float(x.sum()) > 0)
"""


def run(
    size: int, tmp_path: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(size=size))
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LAZYLOOM_CACHE_DIR": str(tmp_path / "cache"), **variables})


def test_without_a_listener_nothing_is_said_and_logging_is_not_imported(tmp_path: Path) -> None:
    found = run(5, tmp_path)
    assert found.stdout.split() == ["False", "True"] and found.stderr == ""


@pytest.mark.xla
def test_a_variable_names_what_stderr_hears(tmp_path: Path) -> None:
    names = {"LAZYLOOM_LOG": "compile,cache:info", "LAZYLOOM_REPRODUCIBLE": "1"}
    first, second = run(5, tmp_path, **names), run(5, tmp_path, **names)
    program = tmp_path / "program.py"
    for found, subject, said in (
        (first, "compile", "compiled a program of"), (second, "cache", "loaded a program of"),
    ):  # fmt: skip
        assert found.returncode == 0
        lines = found.stderr.splitlines()
        assert lines and all(f" lazyloom.{subject} INFO: {said} " in line for line in lines)
        assert any(f"for the read at {program}:6" in line for line in lines)


def test_runs_are_said_where_they_are_asked_for(tmp_path: Path) -> None:
    found = run(6, tmp_path, LAZYLOOM_LOG="run")
    assert " lazyloom.run DEBUG: evaluation 1: " in found.stderr
    assert "lazyloom.compile" not in found.stderr


@pytest.mark.parametrize("given", ["compiles", "compile:loud", "compile,0"])
def test_a_variable_that_names_nothing_is_an_error(given: str, tmp_path: Path) -> None:
    found = run(5, tmp_path, LAZYLOOM_LOG=given)
    assert found.returncode == 1
    assert "the environment variable LAZYLOOM_LOG has" in found.stderr
    assert "expected 0, or names out of compile, run, cache, capture, codegen" in found.stderr


def test_programs_hear_by_the_levels_of_logging(caplog: pytest.LogCaptureFixture) -> None:
    x = lnp.arange(7.0)
    float((x * 2).sum())
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, logger="lazyloom.run"):
        float((x * 3).sum())
    assert {r.name for r in caplog.records} == {"lazyloom.run"}
    assert f"read at {__file__}:" in caplog.records[-1].getMessage()
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="lazyloom"), ll.options(reproducible=True):
        ll.record("tanh", [ll.from_host(np.arange(727, dtype=np.float32))]).read()
    assert "lazyloom.compile" in {r.name for r in caplog.records}


@pytest.mark.accelerator("capture")
def test_captures_say_why_they_record(caplog: pytest.LogCaptureFixture) -> None:
    @ll.jit
    def step(x: Any) -> Any:
        return x * float(x.sum())

    with caplog.at_level(logging.INFO, logger="lazyloom.capture"):
        for _ in range(8):
            step(lnp.arange(3.0))
    texts = [r.getMessage() for r in caplog.records]
    assert any("step is recorded at " in text and __file__ in text for text in texts)
    assert any("step is no longer captured: it reads" in text for text in texts)


def test_a_message_is_not_lost_where_logging_is_somebodys_file() -> None:
    # in a process of its own: compiled code imports a module once
    found = subprocess.run([sys.executable, "-c", """
import sys, types
import lazyloom
from lazyloom import logs
sys.modules["logging"] = types.ModuleType("logging")
print(logs.hears("compile", logs.WARNING))
logs.say("compile", logs.WARNING, "it takes long")
logs.say("compile", logs.INFO, "a detail")
"""], capture_output=True, text=True, timeout=300, env={**os.environ, "LAZYLOOM_LOG": ""})
    assert (found.stdout, found.stderr) == ("False\n", "it takes long\n")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("progress", [True, False])
def test_a_terminal_shows_that_a_compilation_goes_on(
    terminal: bool, progress: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = _Terminal() if terminal else io.StringIO()
    shown = threading.Event()
    real = messages._show

    def show(text: str) -> None:
        real(text)
        shown.set()

    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(messages, "AFTER", 0.0)
    monkeypatch.setattr(messages, "_show", show)
    x = lnp.arange(3.0) * 2
    structure: Structure = ll.program_of(x).structure
    evaluation = Evaluation(0, "read", ll.Site(None, 0, "mine.py", 12))
    with ll.options(progress=progress):
        told = messages.told(structure, evaluation)
        with told:
            expects = terminal and progress
            assert shown.wait(20 if expects else 0.2) == expects
        if told._thread is not None:
            told._thread.join(20)
    text = stream.getvalue()
    if expects:
        ops = len(structure.instructions)
        assert f"\r\x1b[Klazyloom: compiling {ops} ops for mine.py:12: 0 s" in text
        assert text.endswith("\r\x1b[K")
    else:
        assert "\r" not in text
