"""Where the sockets of this user's processes are, and who is at their other end.

A socket is ``PID.sock`` in a folder that only its owner can enter (0700). The system says which
user is at the other end, and both sides ask.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
import tempfile
from typing import Final

from ..cache import private
from ..errors import ArgumentError
from ..execute.compiling.compiler_start import peer

#: the longest path of a socket, with the zero at its end
_LONGEST: Final = 108
_SUFFIX: Final = ".sock"


class NoProcessError(OSError):
    """There is no such process of this user that answers."""


def folders() -> list[str]:
    """The folders in which sockets may be, first the one in which a process makes its own."""
    found = []
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        found.append(os.path.join(runtime, "lazyloom"))
    # a process may have been started where that is not set
    beside = f"/run/user/{os.geteuid()}"
    if os.path.isdir(beside):
        found.append(os.path.join(beside, "lazyloom"))
    found.append(os.path.join(tempfile.gettempdir(), f"lazyloom-{os.geteuid()}"))
    return list(dict.fromkeys(found))


def listen() -> tuple[socket.socket, str]:
    """Make this process's socket; return it and its path.

    Raises ArgumentError on a system without such sockets, NotPrivateError where others can enter
    the folder, and OSError.
    """
    if sys.platform != "linux":
        raise ArgumentError(
            f"monitor: the system is {sys.platform}, expected linux, whose sockets tell which user "
            "is at the other end; look at lazyloom.stats() and lazyloom.evaluations() instead")
    folder = folders()[0]
    path = os.path.join(folder, f"{os.getpid()}{_SUFFIX}")
    if len(os.fsencode(path)) >= _LONGEST:
        raise ArgumentError(
            f"monitor: the socket would be {path}, expected a path of less than {_LONGEST} bytes; "
            "set XDG_RUNTIME_DIR or TMPDIR to a shorter folder")
    with private.folder(folder, create=True) as handle:
        _closed(handle, folder)
    _remove_stale(folder)
    with contextlib.suppress(FileNotFoundError):
        # of a process of the same number that was killed
        os.unlink(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # the file has the mode that the socket has
        os.fchmod(made.fileno(), 0o600)
        made.bind(path)
        os.chmod(path, 0o600)
        made.listen(8)
    except BaseException:
        made.close()
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return made, path


def _closed(handle: int, folder: str) -> None:
    """Raise NotPrivateError unless only its owner can enter an open folder."""
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if mode & 0o077:
        raise private.NotPrivateError(
            f"{folder} has the mode {mode:o}, expected 700, so that nobody else can enter it; "
            f"remove it, or chmod 700 {folder}")


def connect(process: int, seconds: float) -> socket.socket:
    """Connect to a process's socket, whose reads then wait for so long at most.

    Raises NoProcessError if there is none, or another user is at the other end.
    """
    refused = False
    for folder in folders():
        path = os.path.join(folder, f"{process}{_SUFFIX}")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(seconds)
        try:
            connection.connect(path)
        except FileNotFoundError:
            connection.close()
            continue
        except ConnectionRefusedError:
            connection.close()
            refused = True
            continue
        except BaseException:
            connection.close()
            raise
        at, user = peer(connection)
        if user != os.geteuid() or at != process:
            connection.close()
            raise NoProcessError(
                f"at the socket {path} there is process {at} of user {user}, expected process "
                f"{process} of user {os.geteuid()}; remove the file")
        return connection
    if refused or not exists(process):
        raise NoProcessError(
            f"there is no process {process} that runs Lazyloom, or it has ended; python -m "
            "lazyloom top without a number lists those that answer")
    raise NoProcessError(
        f"process {process} does not answer: it does not run Lazyloom, belongs to another user, or "
        "was not asked to; start it with LAZYLOOM_TOP=1 in the environment, or have it call "
        "lazyloom.monitor()")


def exists(process: int) -> bool:
    """Whether there is a process of a number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False
    except PermissionError:
        pass
    return True


def processes() -> list[int]:
    """The processes of this user that have a socket at which somebody listens."""
    found: set[int] = set()
    for folder in folders():
        found.update(_remove_stale(folder))
    return sorted(found)


def _remove_stale(folder: str) -> list[int]:
    """Remove the sockets of processes that were killed; return the numbers of the others."""
    living: list[int] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return living
    for name in names:
        number = name.removesuffix(_SUFFIX)
        if number == name or not number.isdecimal():
            continue
        path = os.path.join(folder, name)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(path)
                living.append(int(number))
            except ConnectionRefusedError:
                if not exists(int(number)):
                    with contextlib.suppress(OSError):
                        os.unlink(path)
            except OSError:
                pass
    return living
