"""The graph is looked at after each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _graph_is_whole() -> Iterator[None]:
    yield
    if "lazyloom" in sys.modules:
        from tests import graph_invariants

        graph_invariants.check()
