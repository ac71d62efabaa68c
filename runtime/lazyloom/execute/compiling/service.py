"""The main loop of the compiler process.

It is in a session of its own, so that no Ctrl-C and no signal to the program's processes reaches
it, keeps none of the program's files open, runs at low priority, is the first that the system ends
where there is too little memory, and leaves no core dump.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import tempfile
import threading
import time
from typing import Any, Final

from ...backends.backend import NotPadded, Request
from ...cache import disk, used
from ...codegen import verdicts
from ...host import function_libraries
from ...host.c_source.library import library_of
from ...interrupts import reraise_from_handler
from ...program.program import Structure
from . import programs
from .compiler_start import peer
from .connection import Connection, SilentError
from .handshake import LIMIT, hello

#: seconds between two signs of life
BEAT: Final = 1.0
#: what the system's choice of a process to end for want of memory is raised by, of 1,000
_EXPENDABLE: Final = 500


class _Beats:
    """Signs of life, while there is work."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.working = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self.working.wait()
            with contextlib.suppress(OSError, SilentError):
                self.connection.send(b"")
            time.sleep(BEAT)


def serve(link: socket.socket) -> None:
    """Compile what is asked for until the asking process ends."""
    if peer(link)[1] != os.geteuid():
        return
    _isolate(link.fileno())
    connection = Connection(link)
    connection.send(json.dumps(hello()).encode())
    beats = _Beats(connection)
    with contextlib.suppress(EOFError, OSError, SilentError):
        while True:
            head, structure = connection.receive(), connection.receive()
            _alarm(LIMIT + 60)
            beats.working.set()
            answer = _answer(json.loads(head), structure)
            beats.working.clear()
            _alarm(0)
            # who asked may be gone; what is at hand is on disk
            connection.send(*answer)


def _isolate(kept: int) -> None:
    with contextlib.suppress(OSError):
        os.setsid()
    # what the program had open for its own children
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    resource.setrlimit(
        resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        os.nice(10)
    with contextlib.suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "r+") as file:
        expendable = max(int(file.read()), _EXPENDABLE)
        file.seek(0)
        file.write(str(expendable))


def _alarm(seconds: int) -> None:
    """End this process after so many seconds, also where nobody is there to do it."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _answer(head: dict[str, Any], structure: bytes) -> list[bytes]:
    """The messages that answer a request: what happened, and the machine code if there is any."""
    for name, value in head["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "functions" in head:
        return _functions(json.loads(structure))
    try:
        request = Request(
            Structure.parse(structure), tuple((int(a), int(b)) for a, b in head["outputs"]),
            {int(a): int(b) for a, b in head["aliases"]}, tuple(head["generators"]),
            verdicts=verdicts.unpacked(head["verdicts"]))
        executable = programs.compiled(request)
        if executable.regions.failed:
            return [_said(regions=executable.regions.text())]
        code = executable.serialize()
    except NotPadded as error:
        return [_said(unpadded=str(error))]
    except Exception as error:
        reraise_from_handler(error)
        return [_said(error=f"{type(error).__name__}: {error}")]
    if disk.enabled():
        programs.store(request, head["donate"], code)
    return [_said(), code]


def _functions(texts: dict[str, str]) -> list[bytes]:
    """The messages that answer a request for functions in C."""
    # TMPDIR may be another one by now
    tempfile.tempdir = None
    try:
        library = library_of(texts)
    except Exception as error:
        reraise_from_handler(error)
        return [_said(error=f"{type(error).__name__}: {error}")]
    function_libraries.store(texts, library)
    return [_said(), library]


#: how many of the entries of the disk cache that were used the program has been told of
_told = 0


def _said(**what: str) -> bytes:
    global _told
    new = used.entries(_told)
    _told += len(new)
    # that of the C compiler is counted, too
    return json.dumps({**what, "processor": sum(os.times()[:4]), "used": new}).encode()
