"""Processes that these tests start compile quickly: most of their programs run once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import quick_options


@pytest.fixture(scope="package", autouse=True)
def quick_compilers() -> Iterator[None]:
    with quick_options.for_children():
        yield
