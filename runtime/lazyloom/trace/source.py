"""Where in the user's program something was recorded or read.

A site is kept as (code object, instruction offset), which costs a fraction of a
microsecond; the line is computed only when somebody asks.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType
from typing import Any, Final, final

from ..compiled import mypyc_attr
from ..extension import in_c
from ..locks import new_lock

# from the package, which is not compiled: a compiled module's __file__ may not exist
_HERE: Final = os.path.dirname(os.path.abspath(str(sys.modules["lazyloom"].__file__)))
_internal_folders: Final[list[str]] = [_HERE + os.sep]
_internal_files: Final[dict[str, bool]] = {}
_thread: Final[Any] = threading.local()
_getframe: Final[Any] = sys._getframe


@mypyc_attr(acyclic=True)
@final
class Site:
    """A place in the user's program; ``str()`` gives ``file:line``."""

    __slots__ = ("code", "offset", "file", "_line")

    def __init__(self, code: CodeType | None, offset: int, file: str = "", line: int = 0) -> None:
        self.code: Any = code
        self.offset: int = offset
        self.file: str = file or (code.co_filename if code is not None else "<unknown>")
        self._line: int = line

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


@final
class _Known:
    """What recording need not look up again.

    Attributes:
        user: the code object that recorded last: a loop's body records again and again.
        named: how many threads have named a place with :func:`set_site`.
    """

    __slots__ = ("user", "named")

    def __init__(self) -> None:
        self.user: Any = None
        self.named: int = 0


_known: Final = _Known()
_counting: Final[Any] = new_lock()


def skip_folder(folder: str) -> None:
    """Treat frames of files below a folder as not the user's: a frontend calls this once."""
    _internal_folders.append(os.path.abspath(folder) + os.sep)
    _internal_files.clear()
    _known.user = None


def _is_internal(file: str) -> bool:
    internal = file.startswith("<frozen") or any(file.startswith(f) for f in _internal_folders)
    _internal_files[file] = internal
    return internal


def is_internal(file: str) -> bool:
    """Return True for a file of lazyloom, a frontend or a frozen module: its frames are skipped."""
    internal = _internal_files.get(file)
    return _is_internal(file) if internal is None else internal


def set_site(file: str, line: int) -> Site | None:
    """Name the place of whatever this thread records from now on, until :func:`clear_site`.

    For bindings of other languages, whose frames Python cannot see. Returns the place named before,
    for :func:`clear_site` where calls nest.
    """
    return name_site(Site(None, 0, file, line))


def clear_site(before: Site | None = None) -> None:
    """Take the place from the Python stack again, or use the one named ``before``."""
    name_site(before)


def name_site(site: Site | None) -> Site | None:
    """:func:`set_site` for an existing Site, or :func:`clear_site` with None.

    Returns the place named before.
    """
    before: Site | None = getattr(_thread, "site", None)
    _thread.site = site
    if (before is None) != (site is None):
        with _counting:
            _known.named += -1 if site is None else 1
    return before


def _not_in_c(files: dict[str, bool], known: Any) -> tuple[Any, int] | None:
    return None


#: as :func:`user_place`, in half of the time, where C was compiled; None for a file that is new
_in_frames: Final = in_c("user_place", _not_in_c)


def user_place() -> tuple[Any, int]:
    """Code object and offset of the innermost frame that belongs to neither lazyloom nor a
    frontend; (None, 0) if there is none."""
    found: tuple[Any, int] | None = _in_frames(_internal_files, _known.user)
    if found is not None:
        _known.user = found[0]
        return found
    try:
        frame = _getframe(0)
    except ValueError:  # called from C with no Python around it
        return None, 0
    while frame is not None:
        code = frame.f_code
        if code is _known.user:
            return code, frame.f_lasti
        file = code.co_filename
        internal = _internal_files.get(file)
        if internal is None:
            internal = _is_internal(file)
        if not internal:
            _known.user = code
            return code, frame.f_lasti
        frame = frame.f_back
    return None, 0


def named_site() -> Site | None:
    """The place that this thread named with :func:`set_site`, if any."""
    if _known.named == 0:
        return None
    site: Site | None = getattr(_thread, "site", None)
    return site


def user_site() -> Site:
    """The innermost frame that belongs to neither lazyloom nor a frontend, as a Site."""
    named = named_site()
    if named is not None:
        return named
    code, offset = user_place()
    return UNKNOWN if code is None else Site(code, offset)
