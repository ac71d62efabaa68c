"""Fixtures of the contract's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import lazyloom as ll
from tests.contract.ffi import Handlers, compiler, loaded


@pytest.fixture(scope="session")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Handlers:
    """Ops that count, fail or wait inside XLA."""
    if compiler() is None:
        pytest.skip("no C++ compiler: ops that count and fail inside XLA cannot be built")
    return loaded(tmp_path_factory.mktemp("handlers"))


@pytest.fixture(autouse=True)
def nothing_left_pending() -> Iterator[None]:
    """Each test starts and ends without pending work, so that none runs another's."""
    _run_what_is_pending()  # tests of other folders leave theirs
    yield
    if os.getpid() == _PID:
        _run_what_is_pending()


def _run_what_is_pending() -> None:
    try:
        ll.sync()
    except ll.LoomError:
        pass


_PID = os.getpid()
