"""A process that compiles for this one, so that it shares neither lock nor fate with it.

It runs at low priority and knows no Ctrl-C. It ends when nobody asks it for a while, or with the
process that asks, and then still finishes and stores what it is at. Questions go to its standard
input, answers come from its standard output: a length, then that many bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
from typing import Any, Final

from ..cache import disk
from ..codegen import verdicts
from ..interrupts import reraise_from_handler
from ..program.program import Structure
from .backend import NotPadded, Request

_LENGTH: Final = struct.Struct("<Q")
#: seconds after which a compilation that goes on without an end is given up
LIMIT: Final = 900
#: environment variables that a program may change while it runs, and that the process has to know
_FOLLOWED: Final = (
    "LAZYLOOM_CACHE", "LAZYLOOM_CACHE_DIR", "LAZYLOOM_CACHE_LIMIT", "XDG_CACHE_HOME", "HOME",
)

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from lazyloom.backends.compiler_process import serve; serve()")


class NotCompiled(Exception):
    """The process could not compile a program; the text is its error."""


class CompilerProcess:
    """The process, begun by the first request."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.failed = False
        #: those that were let go, by process id, until they have ended
        self.closed: list[int] = []

    def compile(self, request: Request, donate: bool) -> bytes | None:
        """The machine code of a program, which is on disk then too.

        None if there is no process, or if a region failed there that may not fail here.

        Raises NotCompiled, NotPadded.
        """
        if self.failed:
            return None
        child = self.child
        try:
            if child is None or child.poll() is not None:
                self.closed = [pid for pid in self.closed if not _ended(pid)]
                child = self.child = _begin()
            assert child.stdin is not None and child.stdout is not None
            head = json.dumps({
                "outputs": request.outputs, "aliases": list(request.aliases.items()),
                "donate": donate, "generators": request.generators,
                "verdicts": verdicts.current().packed() if request.generators else "[]",
                "environment": {name: os.environ.get(name) for name in _FOLLOWED}}).encode()
            _send(child.stdin, head)
            _send(child.stdin, request.structure.serialized)
            answer = json.loads(_receive(child.stdout))
            if "unpadded" in answer:
                raise NotPadded(answer["unpadded"])
            if "error" in answer:
                raise NotCompiled(answer["error"])
            if "regions" in answer:
                return None
            return _receive(child.stdout)
        except (OSError, ValueError, EOFError):
            # it was killed, say for want of memory, or none can be begun here
            self.failed = True
            self.close()
            return None

    def close(self) -> None:
        """Let the process end once it has done what it is at."""
        child, self.child = self.child, None
        if child is None:
            return
        # the answers may be waited for by another thread just now
        if child.stdin is not None:
            with contextlib.suppress(OSError):
                child.stdin.close()
        # nobody waits for it: it may be at something long
        child.returncode = 0
        self.closed.append(child.pid)


def _ended(pid: int) -> bool:
    """Whether a child has ended, of which the system keeps a trace until it is asked."""
    if not hasattr(os, "WNOHANG"):
        return True
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except OSError:
        return True


def _begin() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _START, json.dumps(sys.path)], stdin=subprocess.PIPE,
        # without buffers, whose locks a thread that waits would keep at the end of the process
        bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "LAZYLOOM_REPRODUCIBLE": "1"})


def _send(stream: Any, data: bytes) -> None:
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[stream.write(rest) :]


def _receive(stream: Any) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: Any, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part: bytes = stream.read(min(length, 1 << 24))
        if not part:
            raise EOFError("the other process has ended")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def serve() -> None:
    """What the process does: compile what is asked for until the asking process ends."""
    # slow to import, and not needed by who asks
    from . import programs

    given, answers = (
        os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0))
    # what libraries print is not an answer
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    while True:
        try:
            head = json.loads(_receive(given))
            structure = Structure.parse(_receive(given))
        except EOFError:
            return
        for name, value in head["environment"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        verdicts.adopt(verdicts.unpacked(head["verdicts"]))
        request = Request(
            structure, tuple((int(a), int(b)) for a, b in head["outputs"]),
            {int(a): int(b) for a, b in head["aliases"]}, tuple(head["generators"]))
        if hasattr(signal, "alarm"):
            signal.alarm(LIMIT)
        try:
            executable = programs.compiled(request)
            if executable.regions.failed:
                _answer(answers, json.dumps({"regions": executable.regions.text()}).encode())
                continue
            code = executable.serialize()
        except NotPadded as error:
            _answer(answers, json.dumps({"unpadded": str(error)}).encode())
            continue
        except Exception as error:
            reraise_from_handler(error)
            _answer(answers, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
            continue
        finally:
            if hasattr(signal, "alarm"):
                signal.alarm(0)
        if disk.enabled():
            programs.store(request, head["donate"], code)
        _answer(answers, b"{}", code)


def _answer(stream: Any, *parts: bytes) -> None:
    # who asked may be gone; what is at hand is on disk
    with contextlib.suppress(OSError):
        for part in parts:
            _send(stream, part)
