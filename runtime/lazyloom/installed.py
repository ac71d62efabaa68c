"""What this interpreter's installation has: entry points of packages, an executable Python."""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import Any, Final

from .interrupts import Deferred
from .startup import starting

#: of this package; pyproject.toml has it, too
VERSION: Final = "0.1.0"

_PYTHON: Final = re.compile(r"python(\d+(\.\d+)?)?[a-z]*$")


def find_python() -> str | None:
    """Return the path of a Python like this one that can be begun, or None where there is none.

    ``sys.executable`` may be an application that contains Python, which would be begun once more.
    """
    if getattr(sys, "frozen", False):
        return None
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [
        sys.executable, getattr(sys, "_base_executable", None),
        os.path.join(sys.prefix, "bin", name), os.path.join(sys.base_prefix, "bin", name)]
    for path in candidates:
        if path and _PYTHON.match(os.path.basename(path)) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    return None


@functools.lru_cache(maxsize=1)
def _all() -> Any:
    # reading them takes 10 ms
    # slow to import; a signal handler that computes arrays would find it half imported
    with starting(), Deferred(True):
        from importlib.metadata import entry_points

        return entry_points()


def entry_points(group: str) -> list[Any]:
    """The entry points of a group, as :mod:`importlib.metadata` describes them."""
    return list(_all().select(group=group))
