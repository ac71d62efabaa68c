"""The code blocks of the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


class Block(NamedTuple):
    """A code block: its language and its text."""

    language: str
    text: str


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks in one of the languages, in order, less those that begin with "not run: why"."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    return [Block(language, text) for language, text in found
            if language in languages and not text.startswith(("# not run:", "// not run:"))]


def is_guide(page: Path) -> bool:
    """Whether the page changes files, so that it is followed in a copy, by test_guides.py."""
    return bool(blocks(page, "diff"))
