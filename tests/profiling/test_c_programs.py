"""Programs in C with one known fault: the first finding names the rule and the line of C."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lazyloom_capi import build

from ..capi.compilers import C99

SOURCE = Path(__file__).parent / "programs" / "faults.c"
RULES = {
    "read_in_step": "LL01", "growing_shape": "LL02", "changing_attribute": "LL03",
    "flipping_dtype": "LL04", "captured_anew": "LL07", "reads_by_element": "LL09",
    "unrolled_loop": "LL10", "uploaded_array": "LL11",
}  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "faults"
    done = subprocess.run(
        [*C99, "-O1", str(SOURCE), "-xnone", "-o", str(path), *build.cflags(), *build.libs()],
        capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def profiled(program: Path, *arguments: str) -> tuple[dict[str, float], dict[str, Any]]:
    """What was printed, by program, and the profile."""
    report = program.parent / f"{'-'.join(arguments) or 'healthy'}.json"
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=300,
        env={"LAZYLOOM_CACHE_DIR": str(program.parent / "cache"), "LAZYLOOM_LOG": "0",
             "LAZYLOOM_REPRODUCIBLE": "0", "LAZYLOOM_PROFILE": str(report)})
    assert (done.returncode, done.stderr) == (0, "")
    printed = (line.split() for line in done.stdout.splitlines())
    return {name: float(number) for name, number in printed}, json.loads(report.read_text())


@pytest.fixture(scope="module")
def healthy(program: Path) -> tuple[dict[str, float], dict[str, Any]]:
    return profiled(program)


def line_of(name: str) -> int:
    lines = SOURCE.read_text().splitlines()
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"/* fault {name} */")]
    return found


@pytest.mark.parametrize("name", RULES)
def test_a_fault_is_found(
    name: str, program: Path, healthy: tuple[dict[str, float], dict[str, Any]]
) -> None:
    printed, report = profiled(program, name, "faulty")
    assert report["findings"], report["lines"]
    first = report["findings"][0]
    assert (first["rule"], first["line"]) == (RULES[name], line_of(name)), report["findings"]
    assert first["file"] == str(SOURCE) and first["source"].endswith(f"/* fault {name} */")
    assert printed[name] == pytest.approx(healthy[0][name], rel=1e-3)
    # what the library's own modules take is no line of the program
    assert {row["file"] for row in report["lines"]} == {str(SOURCE)}


def test_without_faults_there_is_no_finding(
    healthy: tuple[dict[str, float], dict[str, Any]]
) -> None:
    printed, report = healthy
    assert printed.keys() == RULES.keys() and report["about"]["runs"] > 500
    assert report["findings"] == []
