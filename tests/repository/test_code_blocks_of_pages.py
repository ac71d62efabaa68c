"""Every Python block of the pages runs, block after block of a page in one namespace.

A block whose first line is ``# not run: why`` is left out.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, blocks, is_guide, outputs

#: what changes files is followed by test_guides.py
WITH_PYTHON = [p for p in PAGES if blocks(p, "python") and not is_guide(p)]


@pytest.mark.op_by_op  # as for users, and on the site
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_run(page: Path) -> None:
    assert len(outputs(page)) == len(blocks(page, "python"))


def test_a_block_that_fails_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\nprint(x)\n```\n```python\nprint(x + 1)\n```\n")
    assert outputs(page) == ["1\n", "2\n"]
    page.write_text("```python\nassert 1 + 1 == 3\n```\n")
    with pytest.raises(RuntimeError, match="AssertionError"):
        outputs(page)


def test_blocks_run_in_the_form_that_users_have(tmp_path: Path) -> None:
    # compiled first, as this test's own programs are, the second run would be found in memory
    page = tmp_path / "page.md"
    page.write_text("```python\nimport lazyloom, lazyloom_numpy as np\nx = np.arange(7.0)\n"
                    "for _ in range(2):\n    (x * 2.5).sum().item()\n"
                    "print(lazyloom.last_evaluation().form)\n```\n")
    assert outputs(page) == ["op_by_op\n"]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "c")], ids=lambda p: p.name)
def test_c_blocks_that_are_programs_run(page: Path, tmp_path: Path) -> None:
    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    programs = [b.text for b in blocks(page, "c") if "int main(" in b.text]
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
