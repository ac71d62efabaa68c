"""Every Python block of the pages runs, block after block of a page in one namespace.

A block whose first line is ``# not run: why`` is left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    return [b for b in found if not b.startswith(("# not run:", "// not run:"))]


WITH_PYTHON = [p for p in PAGES if blocks(p, "python")]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks(page, "python")))
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "c")], ids=lambda p: p.name)
def test_c_blocks_that_are_programs_run(page: Path, tmp_path: Path) -> None:
    import shlex

    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    programs = [b for b in blocks(page, "c") if "int main(" in b]
    for number, block in enumerate(programs):
        source = tmp_path / f"page{number}.c"
        source.write_text(block)
        program = tmp_path / f"page{number}"
        subprocess.run(
            ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", str(source),
             "-o", str(program), *shlex.split(flags)],
            check=True, timeout=120,
        )  # fmt: skip
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
