"""Folders and files that no other user can have written.

What is loaded from them is run, or steers what is run. So whatever is opened is looked at by its
descriptor, which nobody can exchange between the look and the use: folders and files have to
belong to this user and be closed to writers that are not, files have to be regular files, and
links are followed in the path to the root only. Opening never waits, as it would for a FIFO.

Who can write a folder above the root can put another folder in its place. So all of them, and the
links on the way, belong to this user or to root, and others can write them only where nobody can
rename what is not theirs (the sticky bit of ``/tmp``).
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from typing import Final

_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
#: links in a path
_MOST_LINKS: Final = 40
_FILE: Final = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class NotPrivateError(PermissionError):
    """A file or folder is not this user's, or others can write it."""


def check(handle: int, what: str) -> None:
    """Raise NotPrivateError unless the open file or folder is ours and closed to other writers."""
    info = os.fstat(handle)
    if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o022:
        raise NotPrivateError(
            f"{what} is not private to its owner (owner {info.st_uid}, mode "
            f"{stat.S_IMODE(info.st_mode):o})")


#: roots above which all was found to be in order
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
                break  # it is to be made
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
    """Whether a group is that of this user alone, as many systems give every user one."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and (
        set(found.gr_mem) <= {user.pw_name})


def make(path: str) -> None:
    """Make a folder, and those above it that are missing, closed to others whatever the umask."""
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
    """The descriptor of a folder below ``root``, each on the way to which is private.

    Raises FileNotFoundError where one is missing, unless they are to be made, NotPrivateError,
    and OSError for what else there is in its place.
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

    Raises FileNotFoundError, NotPrivateError, and OSError for what is no regular file.
    """
    handle = os.open(name, os.O_RDONLY | _FILE, dir_fd=at)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{name} is no regular file")
        check(handle, name)
        with open(handle, "rb", closefd=False) as file:
            data = file.read()
        with contextlib.suppress(OSError):
            os.utime(handle)  # the least recently used go first
        return data
    finally:
        os.close(handle)


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
