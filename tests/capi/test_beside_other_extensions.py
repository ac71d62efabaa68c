"""The library starts in a process where other extension modules have used capsules."""

from __future__ import annotations

import subprocess
import sys


def test_it_starts_after_a_capsule_was_looked_at() -> None:
    """cffi's start takes the version tag of the capsule type for a lock; PyTorch sets it."""
    program = (
        "import datetime, pickle\n"
        "capsule = type(datetime.datetime_CAPI)\n"
        "for _ in range(10):\n"
        "    capsule.__name__, capsule.__repr__, capsule.__hash__\n"
        "    hash(datetime.datetime_CAPI), repr(datetime.datetime_CAPI)\n"
        "    datetime.datetime_CAPI.__class__, getattr(datetime.datetime_CAPI, 'x', None)\n"
        "import numpy as np\n"
        "from lazyloom_capi.client import Client\n"
        "client = Client()\n"
        "print(client.from_numpy(np.ones(3)).shape)\n")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(3,)"
