"""C programs that open the library with ``dlopen`` and make nothing of it global.

LuaJIT and Node do so as well: test_bindings.py.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lazyloom_capi import build

from . import dlopened
from .compilers import C99, HERE

EXAMPLES = HERE.parent.parent / "examples"
DIGITS = EXAMPLES / "data" / "digits"


@pytest.fixture(scope="module")
def forwarding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object file in the library's place."""
    folder = tmp_path_factory.mktemp("dlopened")
    text = dlopened.source(build.build())
    done = subprocess.run(
        ["cc", "-std=c99", "-c", "-xc", *build.cflags(), "-", "-o", str(folder / "forwarding.o")],
        input=text, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "forwarding.o"


def opened(program: Path, forwarding: Path) -> Path:
    """The C program, compiled to open the library when it runs."""
    target = forwarding.with_name(program.stem)
    done = subprocess.run(
        [*C99, "-O1", str(program), "-xnone", str(forwarding), "-o", str(target), *build.cflags(),
         "-pthread", "-ldl"], capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    needed = subprocess.run(["ldd", str(target)], capture_output=True, text=True).stdout
    assert build.LIBRARY not in needed and "libpython" not in needed
    return target


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_c_program_that_calls_everything(
    forwarding: Path, bare_environment: dict[str, str]
) -> None:
    output = run([str(opened(HERE / "everything.c", forwarding))], bare_environment)
    assert output.strip().endswith(("works", "work"))


def test_c_trains_the_digits(
    forwarding: Path, bare_environment: dict[str, str], digits_report: dict[str, Any],
    tmp_path: Path,
) -> None:  # fmt: skip
    report = tmp_path / "report.json"
    program = opened(EXAMPLES / "digits.c", forwarding)
    run([str(program), str(DIGITS), str(report)], bare_environment)
    same_training(json.loads(report.read_text()), digits_report)


def same_training(report: dict[str, Any], expected: dict[str, Any]) -> None:
    assert report["losses"] == expected["losses"]
    assert report["final_loss"] == expected["final_loss"]
    assert report["test_accuracy"] == expected["test_accuracy"] >= 0.95
