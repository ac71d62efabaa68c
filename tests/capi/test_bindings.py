"""The bindings of other languages: what is generated, what each layer adds, and the digits.

Each language trains the digits for an epoch and gets the C program's losses, bit for bit, from the
programs that it compiled. A toolchain that is not there is a skip that names it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lazyloom_capi import build

from .compilers import CXX17, HERE

ROOT = HERE.parent.parent
BINDINGS = ROOT / "bindings"
DIGITS = ROOT / "examples" / "data" / "digits"
#: seconds that a compiler, or a program, may take
COMPILING, RUNNING = 120, 120


class Language(NamedTuple):
    """Its tools, and how a program is made: the command that runs it, given a folder to build in.

    missing says what else is not there, or "".
    """

    tools: list[str]
    make: Callable[[str, Path], list[str]]
    missing: Callable[[], str] = str


def compiled(command: list[str], folder: Path = ROOT, **environment: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=COMPILING,
        env={**os.environ, "PYTHON": build.executable(), **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def cpp(program: str, folder: Path) -> list[str]:
    source = BINDINGS / "cpp" / {"digits": "examples/digits.cc", "layer": "tests/layer.cc"}[program]
    target = folder / program
    compiled([*CXX17, "-O0", str(source), "-xnone", "-o", str(target), f"-I{BINDINGS / 'cpp'}",
              *build.cflags(), *build.libs()])  # fmt: skip
    return [str(target)]


def rust(program: str, folder: Path) -> list[str]:
    # one folder for both programs: the crate is compiled once
    options = ["-q", "--offline", "--manifest-path", str(BINDINGS / "rust" / "Cargo.toml"),
               "--target-dir", str(folder.parent / "rust")]  # fmt: skip
    if program == "layer":
        return ["cargo", "test", *options, "--test", "layer"]
    return ["cargo", "run", *options, "--example", "digits", "--"]


def fortran(program: str, folder: Path) -> list[str]:
    # one folder for both programs: the modules are compiled once
    target = folder.parent / "fortran"
    compiled(["make", "-s", "-C", str(BINDINGS / "fortran"), f"BUILD={target}", "FFLAGS=-O0",
              f"PYTHON={build.executable()}", str(target / program)])  # fmt: skip
    return [str(target / program)]


def go(program: str, folder: Path) -> list[str]:
    flags = {"CGO_CFLAGS": " ".join(build.cflags()), "CGO_LDFLAGS": " ".join(build.libs())}
    target = folder / program
    package = ["test", "-c", "-o", str(target), "."] if program == "layer" else [
        "build", "-o", str(target), "./cmd/digits"]
    compiled(["go", *package], BINDINGS / "go", **flags)
    return [str(target)]


def lua(program: str, folder: Path) -> list[str]:
    source = {"digits": "examples/digits.lua", "layer": "tests/layer.lua"}[program]
    return ["luajit", str(BINDINGS / "lua" / source)]


def node(program: str, folder: Path) -> list[str]:
    source = {"digits": "examples/digits.js", "layer": "tests/layer.js"}[program]
    return ["node", str(BINDINGS / "node" / source)]


def without_koffi() -> str:
    done = subprocess.run(
        ["node", "-e", "require('koffi')"], cwd=BINDINGS / "node", capture_output=True)
    return "koffi is not installed (npm install, or set NODE_PATH)" if done.returncode else ""


def r(program: str, folder: Path) -> list[str]:
    source = {"digits": "inst/examples/digits.R", "layer": "tests/layer.R"}[program]
    library = folder.parent / "r"
    if not library.exists():
        # from a copy, because it is compiled in place
        shutil.copytree(BINDINGS / "r", folder / "lazyloom")
        library.mkdir()
        compiled(["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", "--no-byte-compile",
                  "-l", str(library), str(folder / "lazyloom")])  # fmt: skip
    return ["env", f"R_LIBS={library}", "Rscript", str(BINDINGS / "r" / source)]


LANGUAGES = {
    "cpp": Language(["c++"], cpp),
    "fortran": Language(["gfortran", "make"], fortran),
    "go": Language(["go", "cc"], go),
    "lua": Language(["luajit"], lua),
    "node": Language(["node"], node, without_koffi),
    "r": Language(["R", "Rscript", "make", "cc"], r),
    "rust": Language(["cargo", "rustc"], rust),
}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    found = LANGUAGES[request.param]
    missing = [tool for tool in found.tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{request.param}: {', '.join(missing)} is not installed")
    if found.missing():
        pytest.skip(f"{request.param}: {found.missing()}")
    return found


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=RUNNING,
        env={**os.environ, "PYTHON": build.executable(), "LAZYLOOM_REPRODUCIBLE": "1",
             "LAZYLOOM_LOG": "0"})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_each_trains_the_digits(
    language: Language, digits_report: dict[str, Any], tmp_path: Path
) -> None:
    """It compiles nothing that the C program has compiled."""
    report = tmp_path / "report.json"
    run([*language.make("digits", tmp_path), str(DIGITS), str(report), "1"])
    trained = json.loads(report.read_text())
    steps = len(trained["losses"])
    assert steps == len(digits_report["losses"]) // 20
    assert trained["losses"] == digits_report["losses"][:steps]
    assert trained["final_loss"] == trained["losses"][-1] and 0 < trained["test_accuracy"] < 1
    assert trained["programs_compiled"] <= (0 if "LAZYLOOM_CACHE_DIR" in os.environ else 2)


@pytest.mark.slow
def test_what_each_layer_adds(language: Language, tmp_path: Path) -> None:
    """Ownership, operators, errors with the user's line: asserted by a program of the language."""
    # Go's tests say so in their own word
    assert run(language.make("layer", tmp_path)).strip() in ("works", "PASS")


def test_what_is_generated_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(BINDINGS / "generate.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_packages_have_all_their_files() -> None:
    """What a package file names is there, and what is there is named."""
    node = BINDINGS / "node"
    named = set(json.loads((node / "package.json").read_text())["files"])
    assert named == {p.name for p in node.iterdir() if p.suffix in (".js", ".ts")}
    lua = BINDINGS / "lua"
    rockspec = next(lua.glob("*.rockspec")).read_text()
    assert set(re.findall(r'(\w+) = "\1\.lua"', rockspec)) == {p.stem for p in lua.glob("*.lua")}
    fortran = BINDINGS / "fortran"
    modules = re.search(r"MODULES = (.*?[^\\])\n", (fortran / "Makefile").read_text(), re.S)
    assert modules is not None
    listed = modules[1].replace("\\", "").split()
    assert set(listed) == {p.stem for p in fortran.glob("*.f90")}
    r = BINDINGS / "r"
    collated = re.search(r"Collate: (.*)", (r / "DESCRIPTION").read_text())
    assert collated is not None
    assert set(re.findall(r'"(.*?)"', collated[1])) == {p.name for p in (r / "R").glob("*.R")}


def test_every_language_has_a_page_and_its_own_tests() -> None:
    listed = (ROOT / "docs" / "bindings.md").read_text()
    for name in LANGUAGES:
        assert (BINDINGS / name / "README.md").exists()
        assert f"(../bindings/{name}/README.md)" in listed
