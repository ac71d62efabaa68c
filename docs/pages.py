"""The pages, their code blocks, and what these print when they run."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: the package that frontend.md is about, for its blocks
EXAMPLES: Final = ROOT / "examples" / "frontend"
_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.S | re.M)
_NOT_RUN: Final = ("# not run:", "// not run:")
_BETWEEN: Final = "\x1e"


class Block(NamedTuple):
    """A code block: its language, its text, and where it ends in the page."""

    language: str
    text: str
    end: int


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks in one of the languages, in order, less those that begin with "not run: why"."""
    found = [Block(m[1], m[2], m.end()) for m in _FENCE.finditer(page.read_text())]
    return [b for b in found if b.language in languages and not b.text.startswith(_NOT_RUN)]


def is_guide(page: Path) -> bool:
    """Whether the page changes files, so that it is followed in a copy, by its test."""
    return bool(blocks(page, "diff"))


def as_users_have_it(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which programs run as they do for users.

    Tests have theirs compiled first by a variable, by which a page that is wrong for users passed.
    """
    return {k: v for k, v in environment.items() if k != "LAZYLOOM_REPRODUCIBLE"}


def with_outputs(text: str, found: list[Block], printed: list[str]) -> str:
    """A page's text with what each of its blocks printed beneath it.

    Where the page itself shows what a block prints, right beneath it, that stays as it is: it may
    be what eight devices print, or a machine with a library that this one does not have.
    """
    for block, output in reversed(list(zip(found, printed, strict=True))):
        if output and not text[block.end:].lstrip().startswith("```text\n"):
            shown = f"\n\nOutput:\n\n```text\n{output.rstrip()}\n```\n"
            text = text[:block.end] + shown + text[block.end:]
    return text


def outputs(page: Path, kept: Path | None = None) -> list[str]:
    """What each Python block of a page prints, run after each other in one process.

    The current folder is a new one, or the empty one whose files are to be ``kept``, in which
    ``examples`` is the checkout's, since pages say that they are followed in its root. Raises
    RuntimeError with the traceback if a block fails.
    """
    with contextlib.ExitStack() as stack:
        folder = str(kept or stack.enter_context(tempfile.TemporaryDirectory()))
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        program = Path(folder) / "page.py"
        separator = f"print({_BETWEEN!r}, end='')\n"
        program.write_text(separator.join(b.text for b in blocks(page, "python")))
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = os.pathsep.join([*filter(None, given), str(EXAMPLES)])
        done = subprocess.run(
            [sys.executable, str(program)], cwd=folder, capture_output=True, text=True, timeout=300,
            env=as_users_have_it(os.environ) | {"PYTHONPATH": path})
    if done.returncode != 0:
        raise RuntimeError(f"{page.name}: a block does not run\n{done.stderr}")
    return done.stdout.replace(f"{folder}{os.sep}", "").split(_BETWEEN)
