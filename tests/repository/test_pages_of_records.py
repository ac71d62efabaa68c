"""What pages say of counters, phases, codes and variables is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lazyloom
from docs.pages import ROOT
from lazyloom.program import difference, reasons

RECORDS = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")


def table(heading: str) -> list[str]:
    """The names in the first column of the table under a heading of the page."""
    section = RECORDS.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.M)


def test_every_counter_is_on_the_page() -> None:
    assert sorted(table("The counters")) == sorted(lazyloom.stats())


def test_every_phase_is_on_the_page() -> None:
    assert table("Phases") == list(reasons.PHASES)


def test_every_change_is_on_the_page() -> None:
    kinds = {difference.OP, difference.ATTRIBUTE, difference.OPERANDS, difference.OPS,
             difference.INPUTS, difference.SHAPE, difference.DTYPE, difference.PLACEMENT,
             difference.DONATION}
    assert set(table("What is new")) == {*kinds, "kind"}


def variables() -> set[str]:
    found: set[str] = set()
    for folder in ("runtime", "frontends"):
        for path in sorted(Path(ROOT / folder).rglob("*.py")):
            found.update(re.findall(r"LAZYLOOM_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
    return found


def test_every_variable_is_among_the_options() -> None:
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert len(variables()) > 15
    assert not {name for name in variables() if f"`{name}" not in page}


@pytest.mark.parametrize("page", ["README.md", "docs/numpy.md", "docs/torch.md", "docs/index.md"])
def test_pages_say_how_to_time(page: str) -> None:
    assert "timing.md)" in (ROOT / page).read_text(encoding="utf-8")
