"""What the runtime says, by Python's :mod:`logging`.

There is a logger for each of :data:`SUBJECTS`, below the logger ``lazyloom``. Nothing is formatted
that nobody hears: whoever has something to say asks :func:`hears` first. :mod:`logging` is not
imported for that: as long as nobody has, nobody can have asked to hear anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

from .errors import ArgumentError

#: the loggers' names below ``lazyloom``, and what each says at which level
SUBJECTS: Final[dict[str, str]] = {
    "compile": "WARNING: what a program waits for that waits for its compiler for over two "
               "seconds, and what would avoid it. INFO: a program that was compiled, how it "
               "differs from those before, and what it took; one that could not be compiled.",
    "run": "DEBUG: each run of a program: why, where, in which form, and what it took.",
    "cache": "INFO: a program that was loaded from disk, files that were removed from there, and "
             "one that could not be used. DEBUG: a program that was written.",
    "capture": "INFO: a function that was captured, a call that was recorded, and why.",
    "codegen": "INFO: a code generator that failed at a region, and why.",
    "profile": "WARNING: a profile of the whole process that could not be written.",
    "top": "WARNING: why a process that LAZYLOOM_TOP asks to does not answer to python -m lazyloom "
           "top.",
}
#: the levels of :mod:`logging`
DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
#: names of levels in LAZYLOOM_LOG
_LEVELS: Final = {"debug": DEBUG, "info": INFO, "warning": WARNING, "error": 40}
#: more than any message has
_NOTHING: Final = 100


def _asked_for() -> dict[str, int]:
    """The levels by subject that LAZYLOOM_LOG asks for. Raises ArgumentError for another text."""
    given = os.environ.get("LAZYLOOM_LOG", "").replace(",", " ").split()
    if given == ["0"]:
        return dict.fromkeys(SUBJECTS, _NOTHING)
    found: dict[str, int] = {}
    for item in given:
        name, _, level = item.partition(":")
        number = _LEVELS.get(level.lower() or "debug")
        if number is None or (name != "all" and name not in SUBJECTS):
            raise ArgumentError(
                f"the environment variable LAZYLOOM_LOG has {item!r}, expected 0, or names out of "
                f"{', '.join(SUBJECTS)} and all, each perhaps with a level, as in compile:info "
                f"({', '.join(_LEVELS)})")
        found.update(dict.fromkeys(SUBJECTS if name == "all" else [name], number))
    return found


_levels: Final = _asked_for()
#: by subject, once :mod:`logging` is there
_loggers: Final[dict[str, Any]] = {}
#: by subject, who else hears it from a level on
_listeners: Final[dict[str, tuple[int, Callable[[str], None]]]] = {}


def listen(subject: str, level: int, listener: Callable[[str], None] | None) -> None:
    """Call a function with each text of a subject from a level on, whatever loggers hear; None
    ends it. There is one for each subject."""
    if listener is None:
        _listeners.pop(subject, None)
    else:
        _listeners[subject] = (level, listener)


def hears(subject: str, level: int) -> bool:
    """Whether somebody hears messages of a subject at a level."""
    if _listeners:
        listening = _listeners.get(subject)
        if listening is not None and level >= listening[0]:
            return True
    logger = _loggers.get(subject)
    if logger is None:
        if "logging" not in sys.modules or not _begin():
            return False
        logger = _loggers[subject]
    return bool(logger.isEnabledFor(level))


def say(subject: str, level: int, text: str) -> None:
    """Say a text; below WARNING only after :func:`hears`."""
    listening = _listeners.get(subject)
    if listening is not None and level >= listening[0]:
        listening[1](text)
        if level < WARNING and not _loggers and "logging" not in sys.modules:
            # nobody else can hear it
            return
    if not _loggers and not _begin():
        if level >= WARNING:
            _print(text)
        return
    _loggers[subject].log(level, "%s", text)


def _begin() -> bool:
    """Find the loggers, and let stderr hear those of LAZYLOOM_LOG; whether that could be done."""
    try:
        import logging

        # a user's file of that name may be in the way, or another thread half way through
        found = {name: logging.getLogger(f"lazyloom.{name}") for name in SUBJECTS}
        chosen = [(found[name], level) for name, level in _levels.items()]
        if chosen and not _loggers:
            handler: Any = logging.StreamHandler()
            handler.setFormatter(logging.Formatter(
                "%(asctime)s %(name)s %(levelname)s: %(message)s"))
            for logger, level in chosen:
                logger.setLevel(level)
                if level != _NOTHING:
                    logger.addHandler(handler)
    except (ImportError, AttributeError):
        return False
    _loggers.update(found)
    return True


def _print(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # no stderr


if _levels and any(level != _NOTHING for level in _levels.values()):
    _begin()
