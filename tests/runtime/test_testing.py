"""``lazyloom.testing`` and the plugin of pytest: what they count, and how a test fails."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom import testing
from lazyloom.errors import ArgumentError

ROOT = Path(__file__).parents[2]


def step(n: int) -> float:
    return float((lnp.arange(float(n)) * 2.5).sum())


def test_programs_are_new_once() -> None:
    with testing.assert_compiles(2), testing.assert_programs(6), testing.assert_reads(3):
        for _ in range(3):
            step(1031)
    with testing.assert_compiles(0):
        step(1031)


def test_the_lines_and_what_differs_are_said() -> None:
    step(1033)
    with pytest.raises(AssertionError) as caught, testing.assert_compiles(1):
        step(1034)
    text = str(caught.value)
    assert text.startswith("2 new programs, expected 1:\n  1. ") and text.count("\n") == 2
    assert text.count(f". {__file__}:{step.__code__.co_firstlineno + 1}: ") == 2
    assert "input 0 is float64[1034], was float64[1033]" in text
    with pytest.raises(AssertionError, match="^0 reads, expected 2$"), testing.assert_reads(2):
        pass
    with pytest.raises(AssertionError, match="^1 read, expected 0:\n  1. "), (
        testing.assert_reads(0)
    ):
        step(1033)


def test_counting_fresh_does_not_depend_on_what_ran_before() -> None:
    step(1037)
    with testing.counted(fresh=True) as counts:
        step(1037)
        with testing.assert_compiles(0):
            step(1037)
        with testing.assert_compiles(2):
            step(1038)
        step(1038)
    assert len(counts.compiles) == 4 and len(counts.programs) == 8
    # afterwards nothing is counted any more
    step(1037)
    assert len(counts.programs) == 8 and not testing._tests


def test_all_threads_count_and_errors_of_the_block_are_its_own() -> None:
    with testing.assert_reads(2):
        thread = threading.Thread(target=lambda: (step(1031), step(1031)))
        thread.start()
        thread.join()
    with pytest.raises(KeyError), testing.assert_reads(5):
        raise KeyError
    for wrong in (-1, True, "3", None):
        with pytest.raises(ArgumentError, match="reads is .*expected a number of occurrences"):
            testing.assert_reads(wrong).__enter__()  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'writes' is not counted"):
        testing.Counts().check("writes", 1)


@pytest.mark.xla
def test_a_program_from_the_disk_is_new_to_its_process(fresh_cache: Path) -> None:
    from lazyloom.cache import memory

    with ll.options(reproducible=True):
        for found in ("compiled", "disk"):
            with testing.assert_compiles(2) as counts:
                step(1039)
            assert all(f", {found}; " in c.reason for c in counts.compiles)
            memory.clear()


TESTS = '''
import pytest
import lazyloom_numpy as np

def step(n):
    return float((np.arange(float(n)) * 2.5).sum())

@pytest.mark.lazyloom(compiles=2, reads=3)
def test_settled():
    for _ in range(3):
        step(5)

@pytest.mark.lazyloom(compiles=2)
def test_settled_after_another_test():
    step(5)

@pytest.mark.lazyloom(compiles=2)
def test_grows():
    for n in (5, 6):
        step(n)

@pytest.mark.lazyloom(reads="error")
def test_reads():
    step(5)

def test_counts(lazyloom_counts):
    step(5)
    assert len(lazyloom_counts.compiles) == 2

@pytest.mark.lazyloom(compiles=1)
def test_fails_by_itself():
    assert step(5) < 0

@pytest.mark.lazyloom(compile=1)
def test_another_name():
    pass

@pytest.mark.lazyloom(1)
def test_no_name():
    pass
'''


def pytest_run(folder: Path, text: str, *arguments: str) -> str:
    (folder / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "lazyloom_pytest", "-p", "no:cacheprovider",
         "--strict-markers", "-rA", "-q", *arguments, "test_it.py"],
        cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTEST_ADDOPTS": ""}).stdout


def test_the_marker_and_the_fixture(tmp_path: Path) -> None:
    found = pytest_run(tmp_path, TESTS)
    for name in ("settled", "settled_after_another_test", "counts"):
        assert f"PASSED test_it.py::test_{name}\n" in found, found
    assert found.count("PASSED ") == 3
    assert "4 new programs, expected 2:" in found
    assert "test_it.py:6: read of 2 ops" in found and "float64[6], was float64[5]" in found
    assert "ReadForbiddenError" in found and "test_it.py:6" in found
    assert "assert 25.0 < 0" in found
    assert "'compile' is not counted, expected one of compiles, programs, reads" in found
    assert "is marked lazyloom(1,), expected keywords" in found


def test_without_a_marker_the_plugin_imports_nothing(tmp_path: Path) -> None:
    found = pytest_run(
        tmp_path, "import sys\n\ndef test_it():\n"
        "    assert not [m for m in sys.modules if m.split('.')[0] in ('lazyloom', 'jax')]\n")
    assert "1 passed" in found, found


def test_the_plugin_is_asked_for() -> None:
    """With an entry point pytest would rewrite the asserts of all modules of the distribution."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    assert "pytest11" not in project["entry-points"]

