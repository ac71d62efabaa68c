"""Folders and files that no other user can have written.

Their contents are run as code, or decide what is run. So everything that is opened is checked by
its descriptor, which nobody can exchange between check and use: folders and files have to belong to
this user and be closed to other writers, files have to be regular files, and links are followed
only in the path to the root. Opening never waits, as it would for a FIFO.

Whoever can write a folder above the root can put another folder in its place. So all of them, and
the links on the way, have to belong to this user or to root, and others may write them only if
nobody can rename the files of others (the sticky bit of ``/tmp``).
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import secrets
import signal
import stat
from collections.abc import Iterator
from typing import Final

_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
#: how many links a path may contain
_MOST_LINKS: Final = 40
_FILE: Final = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class NotPrivateError(PermissionError):
    """A file or folder does not belong to this user, or others can write it."""


def check(handle: int, name: str) -> None:
    """Raise NotPrivateError unless the open file or folder is ours and closed to other writers."""
    info = os.fstat(handle)
    if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o022:
        raise NotPrivateError(
            f"{name} is not private to its owner (owner {info.st_uid}, mode "
            f"{stat.S_IMODE(info.st_mode):o})")


#: roots whose parent folders all passed the check
_trusted: Final[set[str]] = set()


def check_above(path: str) -> None:
    """Raise NotPrivateError if others can exchange the folder of a path, or one above it."""
    whole = os.path.abspath(path)
    if whole in _trusted:
        return
    here, rest, links = os.sep, whole.split(os.sep), 0
    while rest:
        name = rest.pop(0)
        if name == os.pardir:
            here = os.path.dirname(here)
        elif name not in ("", os.curdir):
            _check_above(here, path)
            below = os.path.join(here, name)
            try:
                info = os.lstat(below)
            except FileNotFoundError:
                break  # it does not exist yet
            if not stat.S_ISLNK(info.st_mode):
                here = below
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if info.st_uid not in (0, os.geteuid()):
                raise NotPrivateError(f"{path} is found by the link {below} of user {info.st_uid}")
            target = os.readlink(below)
            rest = [*target.split(os.sep), *rest]
            if os.path.isabs(target):
                here = os.sep
    _trusted.add(whole)


def _check_above(folder: str, path: str) -> None:
    info = os.stat(folder)
    writable = info.st_mode & 0o022
    if writable == 0o020 and _is_own_group(info.st_gid):
        writable = 0
    if info.st_uid not in (0, os.geteuid()) or writable and not info.st_mode & stat.S_ISVTX:
        raise NotPrivateError(
            f"{path} lies below {folder}, where others can put another one in its place (owner "
            f"{info.st_uid}, mode {stat.S_IMODE(info.st_mode):o})")


def _is_own_group(group: int) -> bool:
    """Return True if a group is this user's alone: many systems give every user such a group."""
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and entry.gr_name == user.pw_name and (
        set(entry.gr_mem) <= {user.pw_name})


def make(path: str) -> None:
    """Create a folder and its missing parents, closed to others whatever the umask."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    if above != path:
        make(above)
    _make(path, None)


def _make(path: str, at: int | None) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700, dir_fd=at)


@contextlib.contextmanager
def folder(root: str, *inner: str, create: bool = False) -> Iterator[int]:
    """The descriptor of a folder below ``root``; it and all folders on the way are private.

    Raises FileNotFoundError if one is missing, unless ``create``, NotPrivateError, and OSError if
    anything else is in its place.
    """
    check_above(root)
    if create:
        make(root)
    here, path = os.open(root, _FOLDER), root
    try:
        check(here, path)
        for name in inner:
            path = os.path.join(path, name)
            if create:
                _make(name, here)
            below = os.open(name, _FOLDER | _NO_LINK, dir_fd=here)
            os.close(here)
            here = below
            check(here, path)
        yield here
    finally:
        os.close(here)


def read(at: int, name: str) -> bytes:
    """The bytes of a file in an open folder.

    Raises FileNotFoundError, NotPrivateError, and OSError if it is not a regular file.
    """
    handle = os.open(name, os.O_RDONLY | _FILE, dir_fd=at)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{name} is no regular file")
        check(handle, name)
        with open(handle, "rb", closefd=False) as file:
            data = file.read()
        with contextlib.suppress(OSError):
            os.utime(handle)  # the least recently used are removed first
        return data
    finally:
        os.close(handle)


@contextlib.contextmanager
def limit_is_an_error() -> Iterator[None]:
    """Where writing is an OSError (EFBIG) for a file beyond the limit of the process (ulimit -f).

    The signal that comes with it ends a process that neither ignores it, as Python does, nor has a
    handler for it, as programs in C have neither.
    """
    signals = {signal.SIGXFSZ}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        if not signals <= blocked:
            # the system sends it to the thread that writes
            if signals <= signal.sigpending():
                signal.sigwait(signals)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def write(at: int, name: str, data: bytes) -> None:
    """Put a file in an open folder, whole or not at all."""
    aside = f".new-{secrets.token_hex(8)}"
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=at)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(aside, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=at)
        raise
