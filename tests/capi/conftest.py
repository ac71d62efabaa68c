"""Compiling C programs against the library of this environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lazyloom_capi import build
from lazyloom_capi.client import Client

from .compilers import C99, HERE, Compile


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """``compiled(source, compiler=C99)`` gives the program's path; each is compiled once."""
    folder = tmp_path_factory.mktemp("programs")
    done: dict[tuple[str, ...], Path] = {}

    def compile(source: Path, compiler: list[str] = C99) -> Path:
        key = (str(source), *compiler)
        if key not in done:
            program = folder / f"{source.stem}-{len(done)}"
            command = [*compiler, "-O1", str(source), "-xnone", "-o", str(program),
                       *build.cflags(), *build.libs(), "-pthread", "-lm", "-ldl"]  # fmt: skip
            result = subprocess.run(command, capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
            done[key] = program
        return done[key]

    return compile


@pytest.fixture(scope="session")
def bare_environment() -> dict[str, str]:
    """The place of the tests' disk cache, what is compiled, and nothing said about it."""
    name = "LAZYLOOM_CACHE_DIR"
    found = {name: os.environ[name]} if name in os.environ else {}
    # most of these programs are about what is compiled; on a busy machine that takes long
    return {**found, "LAZYLOOM_REPRODUCIBLE": "1", "LAZYLOOM_LOG": "0"}


@pytest.fixture(scope="session", params=["compiled", "op_by_op"])
def either_environment(
    request: pytest.FixtureRequest, bare_environment: dict[str, str]
) -> dict[str, str]:
    """:func:`bare_environment` for each form in which programs run."""
    compiled = request.param == "compiled"
    return {**bare_environment, "LAZYLOOM_REPRODUCIBLE": "1" if compiled else "0"}


@pytest.fixture(scope="session")
def digits_report(
    compiled: Compile, bare_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """What the demo's C program wrote about its training."""
    examples = HERE.parent.parent / "examples"
    report = tmp_path_factory.mktemp("digits") / "report.json"
    done = subprocess.run(
        [str(compiled(examples / "digits.c")), str(examples / "data" / "digits"), str(report)],
        env=bare_environment, capture_output=True, text=True, timeout=240)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(report.read_text())


@pytest.fixture(scope="session")
def client() -> Client:
    """The library loaded into this process."""
    return Client()
