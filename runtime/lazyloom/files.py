"""Files that are replaced when all is written: a full disk or an interrupt leaves the old one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

#: the most characters of a file's name that the name of the one beside it begins with
_KEPT = 40


@contextlib.contextmanager
def replacing(path: str | bytes | os.PathLike[Any]) -> Iterator[Any]:
    """Give a binary file that takes the place of the one at ``path`` when the block ends.

    What a link leads to is replaced, and keeps its permissions. A device or a pipe is written to,
    and so is a file in a folder where no other can be made. Where the block raises, the old file
    stays. Raises OSError.
    """
    name = os.fsdecode(path)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(name).st_mode
    # a pipe of /dev/fd has no other path; of what cannot be a file, opening it says why
    if not os.path.basename(name) or (mode is not None and not stat.S_ISREG(mode)):
        with open(name, "wb") as file:
            yield file
        return
    place = os.path.realpath(name)
    folder, own = os.path.split(place)
    aside = os.path.join(folder, f".{own[:_KEPT]}.new-{os.urandom(8).hex()}")
    try:
        descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if mode is None or not isinstance(error, PermissionError):
            # names the caller's file, not the one beside it
            raise OSError(error.errno, error.strerror, name) from None
        with open(place, "wb") as file:
            yield file
        return
    try:
        with open(descriptor, "w+b") as file:
            if mode is not None:
                with contextlib.suppress(OSError):
                    os.fchmod(descriptor, stat.S_IMODE(mode))
            yield file
            file.flush()
            # a full disk may say so no earlier
            os.fsync(descriptor)
        os.replace(aside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def replace(path: str | bytes | os.PathLike[Any], parts: Sequence[bytes]) -> None:
    """Write a file, which takes the place of the one at ``path`` when it is complete.

    It is replaced as by :func:`replacing`. Raises OSError.
    """
    with replacing(path) as file:
        file.writelines(parts)


def move(written: str, path: str) -> None:
    """Have a file that is complete take the place of the one at ``path``, in the same folder.

    What a link leads to is replaced, and keeps its permissions. Raises OSError.
    """
    place = os.path.realpath(path)
    descriptor = os.open(written, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(place).st_mode))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.replace(written, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise OSError(error.errno, error.strerror, path) from None
        # the link leads to another disk, which is rare, and the import is slow
        import shutil

        with open(written, "rb") as source, replacing(path) as file:
            shutil.copyfileobj(source, file, 1 << 24)


def is_stream(path: str | bytes | os.PathLike[Any]) -> bool:
    """Return whether a path is that of a device or a pipe, which no file takes the place of."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
