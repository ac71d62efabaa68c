"""Messages for the function that a host gave to ``loom_set_log``."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any, Final

from _lazyloom_abi import lib  # type: ignore[import-not-found]

INFO: Final = 1
WARNING: Final = 2
ERROR: Final = 3


def heard(level: int, text: str) -> bool:
    """Give a message to the host; False if it has no function for it."""
    # a library of an older minor version has none
    if not hasattr(lib, "loomp_log"):
        return False
    line = " ".join(text.split("\n")).encode("utf-8", "backslashreplace").replace(b"\0", b"")
    return bool(lib.loomp_log(level, line))


def compiling(text: str) -> bool:
    """Give a message about compiling to the host; False if it has no function for it."""
    return heard(INFO, text)


class _Handler(logging.Handler):
    """What Python's modules log, and nobody but the host can hear."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = f"{record.name}: {record.getMessage()}"
        except Exception as error:
            text = f"{record.name}: {record.msg!r} ({type(error).__name__}: {error})"
        if record.exc_info and record.exc_info[1] is not None:
            text += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        heard(ERROR if record.levelno >= logging.ERROR else WARNING, text)


def _warned(
    message: Warning | str, category: type[Warning], filename: str, lineno: int,
    file: Any = None, line: str | None = None,
) -> None:  # fmt: skip
    heard(WARNING, f"{category.__name__}: {message}")


def _unraisable(given: Any) -> None:
    about = "" if given.object is None else f" in {given.object!r}"
    heard(ERROR, f"{given.exc_type.__name__}: {given.exc_value}{about}")


def take_all() -> None:
    """Give everything that Python would say to the host, in an interpreter that is its own.

    What nobody hears is not said at all: no call prints.
    """
    warnings.showwarning = _warned
    warnings.simplefilter("default")
    for kept_out in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        # for who develops those modules
        warnings.simplefilter("ignore", kept_out)
    root = logging.getLogger()
    root.addHandler(_Handler(logging.WARNING))
    sys.unraisablehook = _unraisable
