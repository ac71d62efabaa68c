"""The guides for contributors, followed step by step in a copy of the checkout.

Of each page, in order: a ``diff`` block changes a file, a ``python`` block is a program, and an
``sh`` block is a list of commands.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, Block, blocks, is_guide

pytestmark = pytest.mark.slow

#: a page that goes on where another ended
AFTER = {"adding_a_function.md": "adding_an_op.md"}
GUIDES = {page.name: page for page in PAGES if is_guide(page)}


def copied(folder: Path) -> Path:
    """What git knows of this tree, and what is new in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a checkout of git: which files belong to it is not known")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    return folder


def change(folder: Path, diff: str) -> None:
    """Apply a diff without line numbers: where its lines stand in the file, exactly once."""
    lines = diff.splitlines()
    assert lines[0].startswith("--- ") and lines[1].startswith("+++ "), diff
    path = folder / lines[0][4:]
    old = "".join(f"{line[1:]}\n" for line in lines[2:] if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines[2:] if not line.startswith("-"))
    text = path.read_text()
    assert text.count(f"\n{old}") == 1, f"{path.name} does not have these lines once:\n{old}"
    path.write_text(text.replace(f"\n{old}", f"\n{new}"))


def follow(folder: Path, block: Block) -> None:
    """Do what a block says; a command or program that fails is an error with all it printed."""
    if block.language == "diff":
        change(folder, block.text)
        return
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(folder / t) for t in ("runtime", "frontends", "capi")),
    }  # fmt: skip
    # a dozen processes, each of which would compile all modules anew
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # make uses the environment that runs this, and installs nothing into it
    make = f"make() {{ command make -o .venv/.base PY={sys.executable} PIP=false \"$@\"; }}"
    command = ["bash", "-ec", f"{make}\n{block.text}"]
    if block.language == "python":
        program = folder / "guide.py"
        program.write_text(block.text)
        command = [sys.executable, str(program)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{block.text}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"


@pytest.mark.parametrize("name", [n for n in GUIDES if n not in AFTER.values()])
def test_a_guide_does_what_it_says(name: str, tmp_path: Path) -> None:
    folder = copied(tmp_path / "checkout")
    for page in filter(None, (AFTER.get(name), name)):
        for block in blocks(GUIDES[page], "diff", "python", "sh"):
            follow(folder, block)


def test_a_diff_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    change(tmp_path, "--- a.py\n+++ a.py\n-y = 2\n+y = 3\n")
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 3\n"
    with pytest.raises(AssertionError, match="does not have these lines once"):
        change(tmp_path, "--- a.py\n+++ a.py\n-y = 2\n+y = 3\n")
