"""Files that are replaced when all is written: a full disk or an interrupt leaves the old one."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Sequence


def replace(path: str | os.PathLike[str], parts: Sequence[bytes]) -> None:
    """Write a file, which takes the place of the one at ``path`` when it is complete.

    What a link leads to is replaced, and keeps its permissions. A device or a pipe is written to,
    and so is a file in a folder where no other can be made. Raises OSError.
    """
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
    if mode is not None and not stat.S_ISREG(mode):
        # a pipe of /dev/fd has no other path
        _write_to(path, parts)
        return
    place = os.path.realpath(path)
    aside = f"{place}.new-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except PermissionError:
        if mode is None:
            raise
        _write_to(place, parts)
        return
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                with contextlib.suppress(OSError):
                    os.fchmod(descriptor, stat.S_IMODE(mode))
            file.writelines(parts)
            file.flush()
            # a full disk may say so no earlier
            os.fsync(descriptor)
        os.replace(aside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def _write_to(path: str | os.PathLike[str], parts: Sequence[bytes]) -> None:
    with open(path, "wb") as file:
        file.writelines(parts)
