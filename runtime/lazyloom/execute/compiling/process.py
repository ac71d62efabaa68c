"""The compiler process: its connection, its failures and its replacement.

It is begun by the first request. One that ends, or gives no sign of life, is replaced by another,
after a while that grows with every one that is lost.

It ends by itself, in one of two ways. It reads the end of its connection, which the program's
thread closes after ten seconds without work and when the program ends (:mod:`.background`), and the
system if the program crashes; what it is compiling then it still finishes and stores. Or its alarm
goes off, a minute after the time that a compilation may take (:mod:`.service`), also where the
program is gone. Nobody kills it unless it is judged lost (``CompilerProcess._lose``): it gave no
sign of life for a minute, took longer than a compilation may take, or its connection failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from typing import Any, Final

from ...backends.backend import NotPadded, Request
from ...cache import disk, used
from ...counters import counters
from . import compiler_start
from .connection import Connection, SilentError
from .handshake import LIMIT, hello
from .process_errors import CompilerLost, NoCompilerError, NotCompiled

#: seconds without a sign of life after which a process at work is given up
SILENCE = 60.0
#: seconds until another one is begun: after the second that was lost in a row, and at most
PAUSE = 1.0
LONGEST_PAUSE: Final = 60.0
#: and after one could not be begun at all
LONGEST_WAIT: Final = 3600.0
#: seconds for which one that this process has adopted may take to end once it was let go
_ENDING: Final = 5.0
#: environment variables that a program may change while it runs, and that the process has to know
_FOLLOWED: Final = ("LAZYLOOM_CACHE", "LAZYLOOM_CACHE_LIMIT", "HOME", "CC", "TMPDIR")


class CompilerProcess:
    """The process, and what became of those before it.

    Attributes:
        pid: its number, 0 without one.
        losses: how many were lost in a row.
        refusals: how often in a row none could be begun.
    """

    def __init__(self) -> None:
        self.pid = 0
        self.losses = 0
        self.refusals = 0
        self._connection: Connection | None = None
        self._adopted = False
        self._processor = 0.0
        self._not_before = 0.0
        self._refused: NoCompilerError | None = None

    def pause(self) -> float:
        """Seconds for which to wait before a request."""
        return max(0.0, self._not_before - time.monotonic()) if self._refused is None else 0.0

    def compile(self, request: Request, donate: bool) -> bytes | None:
        """The machine code of a program, which is on disk then too.

        None if a region failed there that may not fail here.

        Raises NotCompiled, NotPadded, CompilerLost, NoCompilerError.
        """
        answer, code = self._answer(_head(request, donate), request.structure.serialized)
        if "unpadded" in answer:
            raise NotPadded(answer["unpadded"])
        if "error" in answer:
            raise NotCompiled(answer["error"])
        return code

    def compile_functions(self, texts: Mapping[str, str]) -> bytes:
        """The library of functions in C, which is on disk then too.

        Raises NotCompiled, CompilerLost, NoCompilerError.
        """
        head = json.dumps({"functions": True, "environment": _environment()}).encode()
        answer, library = self._answer(head, json.dumps(dict(texts)).encode())
        if library is None:
            raise NotCompiled(answer["error"])
        return library

    def _answer(self, head: bytes, what: bytes) -> tuple[dict[str, Any], bytes | None]:
        """What the process says of a request, and what it made. Raises as :meth:`compile`."""
        connection = self._connected()
        try:
            connection.send(head, what)
            end = time.monotonic() + LIMIT
            answer: dict[str, Any] = json.loads(connection.receive(SILENCE, end))
            code = None
            if not {"unpadded", "error", "regions"} & set(answer):
                code = connection.receive(SILENCE, end)
        except TimeoutError as error:
            self._lose()
            raise NotCompiled(f"compiling took longer than {LIMIT} s") from error
        except SilentError as error:
            self._lose()
            raise CompilerLost(
                f"the process that compiled it gave no sign of life for {SILENCE:.0f} s"
            ) from error
        except (OSError, EOFError, ValueError) as error:
            self._lose()
            raise CompilerLost(f"the process that compiled it ended ({error})") from error
        self.losses = 0
        used.join(answer["used"])
        processor = float(answer["processor"])
        counters["compiler_process_us"] += int((processor - self._processor) * 1e6)
        self._processor = processor
        return answer, code

    def _connected(self) -> Connection:
        """The connection to a process that lives. Raises NoCompilerError."""
        connection = self._connection
        if connection is not None:
            if not connection.ended():
                return connection
            # it had nothing to do
            wait_for(self.close())
        if self._refused is not None and time.monotonic() < self._not_before:
            raise self._refused
        try:
            begun = compiler_start.begin()
            self._connection, self.pid = begun.connection, begun.pid
            self._adopted = begun.hello["parent"] == os.getpid()
            _compare(begun.hello)
        except NoCompilerError as error:
            self.close()
            self._refused = error
            self._not_before = time.monotonic() + min(
                LONGEST_WAIT, LONGEST_PAUSE * 2.0**self.refusals)
            self.refusals += 1
            raise
        self._refused, self.refusals, self._processor = None, 0, 0.0
        counters["compilers_begun"] += 1
        return begun.connection

    def _lose(self) -> None:
        """Give the process up."""
        counters["compilers_lost"] += 1
        self.losses += 1
        if self.losses > 1:
            self._not_before = time.monotonic() + min(
                LONGEST_PAUSE, PAUSE * 2.0 ** (self.losses - 2))
        connection = self._connection
        if connection is not None and self.pid and not connection.ended():
            # while it holds the other end the number is its own
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
        wait_for(self.close())

    def close(self, shared: bool = False) -> int:
        """Let the process end once it has done what it is at.

        Returns its number if this process has to wait for it, else 0.
        ``shared``: this is the child of a fork, whose parent goes on using the process.
        """
        connection, self._connection = self._connection, None
        pid, self.pid = self.pid, 0
        if connection is None:
            return 0
        connection.close(shared)
        return pid if self._adopted and not shared else 0


def wait_for(pid: int) -> None:
    """Let a process that this one has adopted, as the first of a system or of a container does,
    leave no zombie. Does nothing for 0."""
    end = time.monotonic() + _ENDING
    while pid and time.monotonic() < end:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except OSError:
            return  # the program has waited for it
        time.sleep(0.01)


def _compare(said: dict[str, object]) -> None:
    """Raise NoCompilerError for a process that runs something else than this one."""
    for name, own in hello().items():
        if name not in ("pid", "parent") and said.get(name) != own:
            raise NoCompilerError(f"it has another {name}: {said.get(name)}, here {own}")


def _environment() -> dict[str, Any]:
    return {**{name: os.environ.get(name) for name in _FOLLOWED},
            "LAZYLOOM_CACHE_DIR": os.path.abspath(disk.folder())}


def _head(request: Request, donate: bool) -> bytes:
    return json.dumps({
        "outputs": request.outputs, "aliases": list(request.aliases.items()), "donate": donate,
        "generators": request.generators,
        "verdicts": request.verdicts.packed() if request.generators and request.verdicts else "[]",
        "environment": _environment()}).encode()
