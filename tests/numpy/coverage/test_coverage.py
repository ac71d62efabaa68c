"""Every case of the areas' modules, with NumPy and with this frontend."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.numpy.coverage.case import Case, check

HERE = Path(__file__).parent
AREAS = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith(("test_", "case", "_")))
CASES: list[Case] = [
    c for area in AREAS for c in importlib.import_module(f"tests.numpy.coverage.{area}").CASES
]


@pytest.mark.parametrize("c", CASES, ids=lambda c: f"{c.place} {c.names[0]}")
def test_as_numpy(c: Case) -> None:
    check(c)
