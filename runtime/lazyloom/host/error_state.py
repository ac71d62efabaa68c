"""NumPy's error state while kernels run: of what it would warn, nothing is said.

``np.errstate`` is a class of Python's, whose block takes longer than a small kernel. What it does
is to set a context variable, which is found here by what changes in the context inside such a
block, and set directly. Where that finds no such variable, the block itself is used.
"""

from __future__ import annotations

import contextvars
from typing import Any, Final

import numpy as np


class Blocks:
    """Blocks of ``np.errstate``, with the methods of a context variable."""

    def set(self, value: Any) -> Any:
        block = np.errstate(all="ignore")
        block.__enter__()
        return block

    def reset(self, token: Any) -> None:
        token.__exit__(None, None, None)


def _found() -> tuple[Any, Any]:
    """The variable, and its value that ignores everything."""
    outside = contextvars.copy_context()
    with np.errstate(all="ignore"):
        inside = contextvars.copy_context()
    changed = [v for v in inside if v not in outside or outside[v] is not inside[v]]
    return (changed[0], inside[changed[0]]) if len(changed) == 1 else (Blocks(), None)


_found_variable, _found_value = _found()
VARIABLE: Final[Any] = _found_variable
_IGNORING: Final[Any] = _found_value


def ignore_errors() -> Any:
    """Ignore floating-point errors in this context; what :func:`restore_errors` takes."""
    return VARIABLE.set(_IGNORING)


def restore_errors(before: Any) -> None:
    """Put back the error state that this context had before."""
    try:
        VARIABLE.reset(before)
    except LookupError:
        # No order of calls leads to this, only a signal's handler that runs kernels while Python
        # 3.11's cycle collector runs inside of set() or reset(). It was not set before and is not
        # set now: the state is what it was.
        return
