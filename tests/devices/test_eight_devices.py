"""The tests of ``eight/`` in processes whose processor is divided into eight devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "eight"
LIMIT = 500


@pytest.mark.skipif(
    "LAZYLOOM_TEST_DEVICES" in os.environ, reason="this process has the devices: they run in it")
@pytest.mark.parametrize(("default", "tests"), [
    ("cpu:4", [""]),
    pytest.param("cpu:0", ["test_places.py", "test_meshes.py"], marks=pytest.mark.thorough)])
def test_with_eight_devices(
    default: str, tests: list[str], request: pytest.FixtureRequest
) -> None:
    thorough = request.config.getoption("--thorough")
    environment = {
        **os.environ, "JAX_NUM_CPU_DEVICES": "8", "LAZYLOOM_DEVICE": default,
        "LAZYLOOM_TEST_DEVICES": "1",
    }  # fmt: skip
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *[str(FOLDER / name) for name in tests], "-q", "-p",
         "no:cacheprovider", *(["--thorough"] if thorough else [])],
        capture_output=True, text=True, env=environment, timeout=LIMIT * (5 if thorough else 1),
        cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_device_that_is_not_there_is_an_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import lazyloom; print(lazyloom.devices())"],
        capture_output=True, text=True, env={**os.environ, "LAZYLOOM_DEVICE": "cpu:99"},
        timeout=120)
    assert done.returncode == 1
    assert "LAZYLOOM_DEVICE is 'cpu:99', expected one of cpu:0" in done.stderr
