"""Every Python block of the pages runs, block after block of a page in one namespace.

A block whose first line is ``# not run: why`` is left out.
"""

from __future__ import annotations

import ast
import codeop
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


def refused_in_a_session(text: str) -> str:
    """The line of a block at which Python's prompt has a syntax error, or ""."""
    compiler = codeop.CommandCompiler()
    entered: list[str] = []
    for line in [*text.splitlines(), "", ""]:
        entered.append(line)
        try:
            if compiler("\n".join(entered), "<stdin>", "single") is not None:
                entered = []
        except SyntaxError:
            return line
    return ""


def has_functions_inside(text: str) -> bool:
    """Whether it has methods, or functions in functions: empty lines are between these."""
    return any(isinstance(n, ast.FunctionDef) for top in ast.parse(text).body
               for n in ast.walk(top) if n is not top)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_can_be_entered_at_the_prompt(page: Path) -> None:
    # before Python 3.13 the prompt wants an empty line after a loop, and takes one for its end
    found = {b.text: refused_in_a_session(b.text) for b in blocks(page, "python")
             if not has_functions_inside(b.text)}
    assert [line for line in found.values() if line] == []


def test_what_the_prompt_does_not_take_is_found() -> None:
    loop = "for k in range(2):\n    print(k)\n"
    assert refused_in_a_session(loop) == refused_in_a_session(f"{loop}\nprint(k)\n") == ""
    assert refused_in_a_session(f"{loop}print(-k)\n") == "print(-k)"
    assert refused_in_a_session(f"{loop}\n    print(-k)\n") == "    print(-k)"


def test_blocks_run_in_the_form_that_users_have(tmp_path: Path) -> None:
    # compiled first, as this test's own programs are, the second run would be found in memory
    page = tmp_path / "page.md"
    page.write_text("```python\nimport lazyloom, lazyloom_numpy as np\nx = np.arange(7.0)\n"
                    "for _ in range(2):\n    (x * 2.5).sum().item()\n"
                    "print(lazyloom.last_evaluation().form)\n```\n")
    assert outputs(page) == ["op_by_op\n"]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "c")], ids=lambda p: p.name)
def test_c_blocks_that_are_programs_run(page: Path, tmp_path: Path) -> None:
    programs = [b.text for b in blocks(page, "c") if "int main(" in b.text]
    if programs and page in WITH_PYTHON:
        outputs(page, tmp_path)  # a file that they write may be read in C
    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for number, block in enumerate(programs):
        source = tmp_path / f"page{number}.c"
        source.write_text(block)
        program = tmp_path / f"page{number}"
        subprocess.run(
            ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", str(source),
             "-o", str(program), *shlex.split(flags)],
            check=True, timeout=120,
        )  # fmt: skip
        done = subprocess.run(
            [str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
