"""What the figures depend on, without the machine's name."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """The processor's model."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def gpu() -> str:
    """The first GPU's name, or ""."""
    if shutil.which("nvidia-smi") is None:
        return ""
    done = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True
    )
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout else ""


def load() -> float:
    """How many processes wanted to run in the last minute."""
    return round(os.getloadavg()[0], 2)


def core() -> str:
    """Whether Lazyloom's core runs compiled, as ``make bench`` installs it, or interpreted."""
    from lazyloom.compiled import core as running

    return running()


def describe() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "gpu": gpu(),
        "system": platform.system(),
        "python": platform.python_version(),
        "core": core(),
    }
