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


class _Handler(logging.Handler):
    """What Python's modules log, and nobody but the host can hear."""

    def emit(self, record: logging.LogRecord) -> None:
        self.given(record)

    def given(self, record: logging.LogRecord) -> bool:
        """Give a record to the host; False if it has no function for it."""
        try:
            text = f"{record.name}: {record.getMessage()}"
        except Exception as error:
            text = f"{record.name}: {record.msg!r} ({type(error).__name__}: {error})"
        if record.exc_info and record.exc_info[1] is not None:
            text += f" ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        level = WARNING if record.levelno >= logging.WARNING else INFO
        return heard(ERROR if record.levelno >= logging.ERROR else level, text)


class _Shared(_Handler):
    """What the runtime logs in a Python process; where the host has no function, as ever."""

    def emit(self, record: logging.LogRecord) -> None:
        if not self.given(record) and not logging.getLogger().handlers and logging.lastResort:
            if record.levelno >= logging.lastResort.level:
                logging.lastResort.handle(record)


def take_own(opened: bool) -> None:
    """Give what the runtime logs to the host. ``opened``: the interpreter is its own."""
    logger = logging.getLogger("lazyloom")
    if opened:
        # what is below DEBUG costs nothing that a compilation would not hide
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.addHandler(_Handler(logging.INFO))
    else:
        logger.addHandler(_Shared())


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
