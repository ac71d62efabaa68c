"""Fixtures of the contract's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyloom as ll
from tests.contract.ffi import Handlers, build, compiler


@pytest.fixture(scope="session")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Handlers:
    """Ops that count, fail or wait inside XLA."""
    if compiler() is None:
        pytest.skip("no C++ compiler: ops that count and fail inside XLA cannot be built")
    return Handlers(build(tmp_path_factory.mktemp("handlers")))


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty disk cache and no program in memory, for this test alone."""
    from lazyloom.cache import memory

    folder = tmp_path / "cache"
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(folder))
    memory.clear()
    yield folder
    memory.clear()


@pytest.fixture(autouse=True)
def nothing_left_pending() -> Iterator[None]:
    """Each test starts and ends without pending work, so that none runs another's."""
    yield
    if os.getpid() == _PID:
        try:
            ll.sync()
        except ll.LoomError:
            pass


_PID = os.getpid()
