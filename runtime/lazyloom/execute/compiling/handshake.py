"""What a program and its compiler process have to have in common."""

from __future__ import annotations

import os
import sys
from typing import Final

from ...host import storage

#: seconds after which a compilation that goes on without an end is given up
LIMIT: Final = 900


def hello() -> dict[str, object]:
    """What such a process has in common with the one that asks, and who it is."""
    return {
        "package": os.path.realpath(os.path.dirname(os.path.dirname(__file__))),
        "python": sys.version, "versions": storage.versions_text(),
        "pid": os.getpid(), "parent": os.getppid()}
