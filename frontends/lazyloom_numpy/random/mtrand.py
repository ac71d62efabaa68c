"""``numpy.random.mtrand``: the legacy interface under the name of the module it has in NumPy."""

from __future__ import annotations

import sys
from typing import Any

from . import _state

#: the generator of the functions of this module and of ``random``
_rand = _state


def __getattr__(name: str) -> Any:
    random = sys.modules[__package__ or ""]
    if name.startswith("_") or not hasattr(random, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(random, name)
