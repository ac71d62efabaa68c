"""The thread that answers to ``python -m lazyloom top``."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import threading
from typing import Any, Final

from .. import logs, observers
from ..execute.compiling.compiler_start import peer
from ..hooks import hooks
from ..interrupts import start
from . import sockets
from .activity import Activity

#: the environment variable that asks for it
VARIABLE: Final = "LAZYLOOM_TOP"
#: seconds for which whoever asked may take to read the answer
PATIENCE: Final = 2.0
#: no SIGPIPE where whoever asked is gone: it ends programs in C, and those that have set it to
_QUIET: Final = getattr(socket, "MSG_NOSIGNAL", 0)
#: the version of what is answered
FORMAT: Final = 1


class _Server:
    """A socket, and the thread that answers whoever connects to it with a snapshot.

    One connection is one question: an answer is sent, and the connection is closed.
    """

    def __init__(self) -> None:
        self._activity: Final = Activity()
        self._socket, self.path = sockets.listen()
        self._thread: Final = threading.Thread(
            target=self._answer, name="lazyloom-top", daemon=True)
        self._pause: Final = threading.Event()
        self._stopped = False

    def begin(self) -> None:
        observers.add(self._activity)
        logs.listen("compile", logs.INFO, self._activity.compiled)
        start(self._thread)

    def end(self) -> None:
        """Answer no more, and remove the socket."""
        self._stopped = True
        logs.listen("compile", logs.INFO, None)
        observers.remove(self._activity)
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        with contextlib.suppress(OSError):
            # has the thread's wait for a connection end
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
        self._socket.close()

    def leave(self) -> None:
        """In a child process, which has the parent's socket and not its threads, let go of it.

        Takes no lock: one that another thread held is held for ever.
        """
        self._stopped = True
        self._socket.close()

    def _answer(self) -> None:
        while not self._stopped:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._stopped:
                    return
                # say, too many files are open
                self._pause.wait(0.1)
                continue
            with connection, contextlib.suppress(OSError):
                if peer(connection)[1] != os.geteuid():
                    continue
                connection.settimeout(PATIENCE)
                connection.sendall(json.dumps(self._told()).encode() + b"\n", _QUIET)

    def _told(self) -> dict[str, Any]:
        try:
            return {"format": FORMAT, **self._activity.snapshot()}
        except Exception as error:
            # whoever asks sees it, and the process goes on
            return {"format": FORMAT, "error": f"{type(error).__name__}: {error}"}


_server: _Server | None = None
_lock: Final = threading.Lock()


def _forked() -> None:
    """In a child process: the socket is the parent's."""
    global _server
    left, _server = _server, None
    if left is not None:
        left.leave()


def _end_with_host() -> None:
    """Have it end where a program in C shuts down, which does not end the interpreter."""
    before = hooks.end_profile

    def both() -> None:
        if before is not None:
            before()
        end()

    hooks.end_profile = both


_registered: Final[list[bool]] = [False]


def begin() -> str:
    """Answer from now on; return the socket's path. Raises as :func:`sockets.listen`."""
    global _server
    with _lock:
        if _server is not None and not os.path.exists(_server.path):
            # whoever removes old temporary files has removed it
            left, _server = _server, None
            left.end()
        if _server is None:
            made = _Server()
            if not _registered[0]:
                _registered[0] = True
                atexit.register(end)
                os.register_at_fork(after_in_child=_forked)
                _end_with_host()
            _server = made
            made.begin()
        return _server.path


def end() -> None:
    """Answer no more; nothing is left of it."""
    global _server
    with _lock:
        left, _server = _server, None
    if left is not None:
        left.end()


def begin_as_asked() -> None:
    """Answer as the environment variable asks; a process that cannot says so, and goes on."""
    try:
        begin()
    except (OSError, ValueError) as error:
        logs.say("top", logs.WARNING,
                 f"Lazyloom does not answer to python -m lazyloom top, as {VARIABLE} asks: {error}")
