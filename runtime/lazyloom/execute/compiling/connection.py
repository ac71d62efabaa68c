"""Messages to and from the compiler process: a length, then that many bytes."""

from __future__ import annotations

import math
import os
import socket
import struct
import threading
import time
from typing import Final

_LENGTH: Final = struct.Struct("<Q")
#: bytes that are asked for at a time
_PART: Final = 1 << 24
#: no SIGPIPE where the other is gone: it ends programs in C, and those that have set it to
_QUIET: Final = getattr(socket, "MSG_NOSIGNAL", 0)
#: seconds for which the system is asked to wait at a time, at most
_WAIT: Final = 3600.0
#: seconds within which the other has to take what it is sent
_TAKEN: Final = 60.0


class SilentError(Exception):
    """Nothing has come for so long that nothing is expected any more."""


class Connection:
    """One end of a connected pair of sockets.

    A program may close files that it did not open (a daemon closes all of them), after which the
    number is that of another file: so the file is compared with what it was before each use.
    """

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._file = _identity(link.fileno())
        self._sending = threading.Lock()

    def intact(self) -> bool:
        """Whether the file is still ours."""
        number = self._link.fileno()
        return number >= 0 and _identity(number) == self._file

    def send(self, *parts: bytes) -> None:
        """Send messages. Raises OSError, SilentError."""
        with self._sending:
            for part in parts:
                self._check()
                self._link.settimeout(_TAKEN)
                try:
                    self._link.sendall(_LENGTH.pack(len(part)), _QUIET)
                    self._link.sendall(part, _QUIET)
                except TimeoutError:
                    raise SilentError from None

    def receive(self, silence: float = math.inf, until: float = math.inf) -> bytes:
        """The next message that is not empty; empty ones say that the other is still at work.

        Args:
            silence: seconds for which nothing may come.
            until: when it has to be there, by :func:`time.monotonic`.

        Raises EOFError, OSError, SilentError, TimeoutError.
        """
        while True:
            (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, silence, until))
            if length:
                return self._exactly(length, silence, until)

    def _exactly(self, length: int, silence: float, until: float) -> bytes:
        parts: list[bytes] = []
        while length:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("it takes too long")
            self._check()
            waits = min(silence, left, _WAIT)
            self._link.settimeout(waits)
            try:
                part = self._link.recv(min(length, _PART))
            except TimeoutError:
                if waits < silence:
                    continue
                part = self._there(length)
            if not part:
                raise EOFError("the other process has ended")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _there(self, length: int) -> bytes:
        """What has come: this process may have been stopped itself, or had no processor."""
        self._link.settimeout(0)
        try:
            return self._link.recv(min(length, _PART))
        except BlockingIOError:
            raise SilentError from None

    def _check(self) -> None:
        if not self.intact():
            raise OSError("the connection was closed by somebody else")

    def ended(self) -> bool:
        """Whether the other end is closed, and nothing more comes."""
        try:
            self._check()
            self._link.settimeout(0)
            return not self._link.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self, shared: bool = False) -> None:
        """Close it, also for a thread that waits for a message.

        ``shared``: another process goes on using it, as a parent does after a fork.
        """
        if not self.intact():
            self._link.detach()
            return
        if not shared:
            try:
                self._link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other is gone
        self._link.close()


def _identity(number: int) -> tuple[int, int] | None:
    try:
        info = os.fstat(number)
    except OSError:
        return None
    return info.st_dev, info.st_ino
