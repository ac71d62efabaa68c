"""One private disk cache per test run, shared by its worker processes."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker and "LAZYLOOM_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="lazyloom-tests-")
        os.environ["LAZYLOOM_CACHE_DIR"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top folder."""
    return ROOT
