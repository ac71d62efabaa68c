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
from ..errors import ArgumentError
from ..extension import in_c
from ..locks import new_lock

# from the package, which is not compiled: a compiled module's __file__ may not exist
_HERE: Final = os.path.dirname(os.path.abspath(str(sys.modules["lazyloom"].__file__)))
_internal_folders: Final[list[str]] = [_HERE + os.sep]
_internal_files: Final[dict[str, bool]] = {}
_thread: Final[Any] = threading.local()
_getframe: Final[Any] = sys._getframe


# whose file it is

#: the user's
USER: Final = 0
#: of the standard library, or a script that an installed package put among the programs
STANDARD: Final = 1
#: of an installed package
INSTALLED: Final = 2

#: what is in the paths of installed packages
_INSTALLED: Final = (
    f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_STANDARD: Final = os.path.dirname(str(os.__file__)) + os.sep
_SCRIPTS: Final = os.path.dirname(sys.executable or os.sep)
#: by file
_kinds: Final[dict[str, int]] = {}


def _named(variable: str, skipped: bool) -> dict[str, bool]:
    names = os.environ.get(variable, "").replace(" ", "").split(",")
    return {name: skipped for name in names if name}


#: packages, by name, whose lines are passed over (True), or are the user's though installed
_told: Final[dict[str, bool]] = {
    **_named("LAZYLOOM_SKIP_PACKAGES", True), **_named("LAZYLOOM_USER_PACKAGES", False)}


@mypyc_attr(acyclic=True)
@final
class Site:
    """A place in the user's program; ``str()`` gives ``file:line``.

    Attributes:
        file, line: where it is; ``<unknown>`` and 0 where nothing is known.
        library: the innermost place in an installed package or the standard library through which
            the program came here, a Site; None where there is none.

    Example:

        >>> total = float((np.arange(3.0) + 1).sum())
        >>> lazyloom.last_evaluation().site.line
        1
    """

    __slots__ = ("code", "offset", "file", "_line", "library")

    def __init__(self, code: CodeType | None, offset: int, file: str = "", line: int = 0) -> None:
        self.code: Any = code
        self.offset: int = offset
        self.file: str = file or (code.co_filename if code is not None else "<unknown>")
        self._line: int = line
        self.library: Site | None = None

    @property
    def line(self) -> int:
        """The line in the file; 0 if it is not known."""
        if self._line == 0 and self.code is not None:
            self._line = self.code.co_firstlineno
            for start, end, line in self.code.co_lines():
                if start <= self.offset < end and line is not None:
                    self._line = line
                    break
        return self._line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def text(self) -> str:
        """The place for people to read, with the package through which the program came here."""
        if self.library is None:
            return str(self)
        file = self.library.file
        for folder in _INSTALLED:
            if folder in file:
                file = file.rpartition(folder)[2]
        return f"{self} (in {file}:{self.library.line})"

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
    """Treat frames of files below a folder as not the user's: a frontend calls this once.

    Example:

        >>> import os
        >>> lazyloom.skip_folder(os.path.dirname(np.__file__))  # in the frontend's __init__.py
    """
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


def user_packages(*names: str) -> None:
    """Count lines of packages as the user's although these are installed.

    Records and messages name the nearest line that is neither Lazyloom's nor of an installed
    package or the standard library. ``LAZYLOOM_USER_PACKAGES`` in the environment names such
    packages, too, separated by commas.

    Args:
        names: of packages or modules as they are imported, such as ``"mine"`` or ``"mine.models"``;
            the longest name that fits a module counts.

    Raises ArgumentError for what is no such name.

    Example:

        >>> lazyloom.user_packages("mine")
    """
    _tell(names, False, "user_packages")


def skip_packages(*names: str) -> None:
    """Pass over lines of packages as if these were installed; see :func:`user_packages`.

    ``LAZYLOOM_SKIP_PACKAGES`` in the environment names such packages, too.

    Example:

        >>> lazyloom.skip_packages("helpers")
    """
    _tell(names, True, "skip_packages")


def _tell(names: Any, skipped: bool, function: str) -> None:
    for name in names:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise ArgumentError(
                f"{function}: {name!r} was given, expected the name of a package or module as it "
                "is imported, such as 'mine' or 'mine.models'")
    for name in names:
        _told[name] = skipped
    _kinds.clear()


def is_users(file: str) -> bool:
    """Return True for a file that is neither lazyloom's, a frontend's nor an installed one."""
    # tracebacks name compiled modules as they are in the package
    return not file.startswith(("<", "lazyloom" + os.sep)) and (
        not is_internal(file) and _kind(file) == USER)


def _kind(file: str) -> int:
    """Whose file it is: :data:`USER`, :data:`STANDARD` or :data:`INSTALLED`."""
    found = _kinds.get(file)
    if found is None:
        found = _kinds[file] = _kind_of(file)
    return found


def _kind_of(file: str) -> int:
    longest = ""
    for name in _told:
        if len(name) > len(longest) and _is_of(file, sys.modules.get(name)):
            longest = name
    if longest:
        return INSTALLED if _told[longest] else USER
    for folder in _INSTALLED:
        if folder in file:
            return INSTALLED
    standard = file.startswith(_STANDARD) or os.path.dirname(file) == _SCRIPTS
    return STANDARD if standard else USER


def _is_of(file: str, module: Any) -> bool:
    """Whether a file belongs to a module or package that was imported."""
    if file == getattr(module, "__file__", None):
        return True
    folders: Any = getattr(module, "__path__", ())
    return any(file.startswith(str(folder) + os.sep) for folder in folders)


def _outside(code: Any, offset: int) -> Site:
    """The place of the nearest frame outside of installed packages, for an innermost one in them.

    Where there is none, as in a program that is installed itself (``python -m package``), it is the
    nearest one of that program's package: of what is outermost but the standard library.
    """
    library = Site(code, offset)
    frame = _getframe(0)
    inside: list[tuple[Any, int]] = []
    while frame is not None:
        found: Any = frame.f_code
        file: str = found.co_filename
        if not is_internal(file):
            if _kind(file) == USER:
                site = Site(found, frame.f_lasti)
                site.library = library
                return site
            inside.append((found, frame.f_lasti))
        frame = frame.f_back
    package = ""
    for place in inside:
        if _kind(place[0].co_filename) == INSTALLED:
            package = _package(place[0].co_filename)
    for place in inside:
        if package and _package(place[0].co_filename) == package:
            if place[0] is code and place[1] == offset:
                return library
            site = Site(place[0], place[1])
            site.library = library
            return site
    return library


def _package(file: str) -> str:
    """The folder, or the file, of the package that a file is part of among installed ones."""
    for folder in _INSTALLED:
        before, found, rest = file.rpartition(folder)
        if found:
            return before + folder + rest.partition(os.sep)[0]
    return os.path.dirname(file)


def set_site(file: str, line: int) -> Site | None:
    """Name the place of whatever this thread records from now on, until :func:`clear_site`.

    For bindings of other languages, whose frames Python cannot see. Returns the place named before,
    for :func:`clear_site` where calls nest.

    Example:

        >>> before = lazyloom.set_site("model.lua", 12)
        >>> total = float((np.arange(3.0) * 2).sum())
        >>> lazyloom.clear_site(before)
        >>> print(lazyloom.last_evaluation().site)
        model.lua:12
    """
    return name_site(Site(None, 0, file, line))


def clear_site(before: Site | None = None) -> None:
    """Take the place from the Python stack again, or use the one named ``before``.

    Example:

        >>> outer = lazyloom.set_site("model.lua", 3)
        >>> inner = lazyloom.set_site("layers.lua", 40)
        >>> lazyloom.clear_site(inner)  # model.lua:3 again
        >>> lazyloom.clear_site(outer)
    """
    name_site(before)


def name_site(site: Site | None) -> Site | None:
    """:func:`set_site` for an existing Site, or :func:`clear_site` with None.

    Returns the place named before.

    Example:

        >>> before = lazyloom.set_site("model.lua", 12)
        >>> lazyloom.clear_site(before)
        >>> print(lazyloom.name_site(before))
        None
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
    """The innermost frame that belongs to neither lazyloom, a frontend nor an installed package.

    For reads and errors. The Site's ``library`` is the innermost frame of all but lazyloom's and
    frontends', where that is another one.
    """
    named = named_site()
    if named is not None:
        return named
    code, offset = user_place()
    if code is None:
        return UNKNOWN
    kind = _kinds.get(code.co_filename)
    if kind is None:
        kind = _kind(code.co_filename)
    # recording keeps the innermost frame, as it goes no farther than it has to
    return Site(code, offset) if kind == USER else _outside(code, offset)
