from __future__ import annotations

from collections.abc import Iterator

import pytest

import lazyloom
from lazyloom.codegen import faults, in_use, use


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What is in use, and what failed, is as before after each test; programs run whole."""
    with use(*in_use()), lazyloom.options(reproducible=True):
        yield
    faults.forget()
