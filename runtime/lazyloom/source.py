"""Where in the user's program something was recorded or read.

A site is kept as (code object, instruction offset), which costs a fraction of a
microsecond; the line is worked out only when somebody asks.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Final

_HERE: Final = os.path.dirname(os.path.abspath(__file__))
_internal_folders: list[str] = [_HERE + os.sep]
_internal_codes: dict[CodeType, bool] = {}
_given = threading.local()


class Site:
    """A place in the user's program; ``str()`` gives ``file:line``."""

    __slots__ = ("code", "offset", "file", "_line")

    def __init__(self, code: CodeType | None, offset: int, file: str = "", line: int = 0) -> None:
        self.code = code
        self.offset = offset
        self.file = file or (code.co_filename if code is not None else "<unknown>")
        self._line = line

    @property
    def line(self) -> int:
        if self._line == 0 and self.code is not None:
            self._line = self.code.co_firstlineno
            for start, end, line in self.code.co_lines():
                if start <= self.offset < end and line is not None:
                    self._line = line
                    break
        return self._line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def __repr__(self) -> str:
        return f"<site {self}>"


UNKNOWN: Final = Site(None, 0)


def skip_folder(folder: str) -> None:
    """Frames of files below that folder are not the user's: a frontend calls this once."""
    _internal_folders.append(os.path.abspath(folder) + os.sep)
    _internal_codes.clear()


def _is_internal(code: CodeType) -> bool:
    file = code.co_filename
    found = file.startswith("<frozen") or any(file.startswith(f) for f in _internal_folders)
    _internal_codes[code] = found
    return found


def set_site(file: str, line: int) -> None:
    """Name the place of what this thread records from now on, until :func:`clear_site`.

    For bindings of other languages, whose frames Python cannot see.
    """
    _given.site = Site(None, 0, file, line)


def clear_site() -> None:
    """Take the place from the Python stack again."""
    _given.site = None


def user_site() -> Site:
    """The innermost frame that belongs to neither lazyloom nor a frontend."""
    given: Site | None = getattr(_given, "site", None)
    if given is not None:
        return given
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        internal = _internal_codes.get(code)
        if internal is None:
            internal = _is_internal(code)
        if not internal:
            return Site(code, frame.f_lasti)
        frame = frame.f_back
    return UNKNOWN
