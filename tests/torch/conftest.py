"""Every test draws the same random numbers, whichever tests ran before it in its process."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _seeded() -> None:
    for library in ("torch", "lazyloom_torch"):
        if library in sys.modules:
            sys.modules[library].manual_seed(0)
