"""Programs that end or hang the process that runs them: run in another one.

``python -m lazyloom.repro.isolation`` reads the path of a saved program from each line of its input
and writes what is wrong with it. Before each form it says which one it runs, so that whoever waits
knows where it ended.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Final

from ..errors import LoomError
from . import saved as files
from .running import COMPILED, OP_BY_OP, Fault, Findings, compiled, findings_of, op_by_op
from .saved import SavedProgram

#: kinds of faults beside those of :mod:`.running`
ENDS: Final = "ends"
HANGS: Final = "hangs"
#: seconds that a process may take to start
_START: Final = 120.0
#: seconds for which the system is asked to wait at a time, at most
_WAIT: Final = 3600.0
#: seconds after which a program that still runs is said to hang
LIMIT: Final = 60.0


class Isolated:
    """A process that runs programs one after the other, and is replaced when it ends or hangs.

    Used as a context, which ends it.

    Args:
        modules: those that it imports first.
        tolerance: by how much the forms may differ.
        limit: seconds for which a form may run.
    """

    def __init__(
        self, modules: list[str], tolerance: float | None, limit: float = LIMIT
    ) -> None:
        self._modules: Final = modules
        self._tolerance: Final = tolerance
        self._limit: Final = limit
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""
        self._folder: Final = tempfile.TemporaryDirectory(prefix="lazyloom-repro-")

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._folder.cleanup()

    def fault_of(self, saved: SavedProgram) -> Fault | None:
        """Return what is wrong with a program; None if nothing is. Raises OSError."""
        process = self._started()
        path = files.write(os.path.join(self._folder.name, "program.repro"), saved)
        assert process.stdin is not None
        form = "at the start"
        try:
            process.stdin.write(json.dumps([path, self._tolerance]).encode() + b"\n")
            process.stdin.flush()
            while True:
                told = self._line(self._limit)
                if "form" not in told:
                    return None if told["fault"] is None else Fault(*told["fault"])
                form = told["form"]
        except TimeoutError:
            self._end()
            return Fault(HANGS, form, "", f"it still runs {form} after {self._limit:g} s")
        except (EOFError, BrokenPipeError):
            code = self._end()
            how = f"exit status {code}"
            if code < 0:
                try:
                    how = signal.Signals(-code).name
                except ValueError:
                    how = f"signal {-code}"
            return Fault(ENDS, form, how, f"it ends the process {form}: {how}")

    def _started(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and process.poll() is None:
            return process
        self._end()
        self._read = b""
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, *self._modules], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LAZYLOOM_REPRO": "", "LAZYLOOM_TOP": "0",
                 "PYTHONPATH": os.pathsep.join([p or os.getcwd() for p in sys.path])})
        try:
            self._line(_START)
        except (TimeoutError, EOFError) as error:
            self._end()
            raise OSError("the process that was to run the program did not start") from error
        return process

    def _line(self, seconds: float) -> dict[str, Any]:
        """The next thing that the process says. Raises TimeoutError, and EOFError if it ended."""
        process = self._process
        assert process is not None and process.stdout is not None
        until = time.monotonic() + seconds
        while True:
            line, found, rest = self._read.partition(b"\n")
            if found:
                self._read = rest
                told: dict[str, Any] = json.loads(line)
                return told
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            # no system waits for any number of seconds
            if not select.select([process.stdout], [], [], min(left, _WAIT))[0]:
                continue
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise EOFError
            self._read += part

    def _end(self) -> int:
        """End the process; return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            # one that has ended has its own status
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def isolated_findings(saved: SavedProgram, isolated: Isolated) -> Findings:
    """Return what another process finds: without times and results of the forms."""
    return Findings((), isolated.fault_of(saved))


def _serve(modules: list[str]) -> None:
    # what a program writes to the standard output is not for whoever waits
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for module in modules:
        importlib.import_module(module)

    def say(**told: Any) -> None:
        out.write(json.dumps(told) + "\n")
        out.flush()

    say(ready=True)
    for line in sys.stdin:
        path, tolerance = json.loads(line)
        try:
            saved = files.read(path)
            # each by itself first: one of them may end the process
            for form, runs in ((OP_BY_OP, op_by_op), (COMPILED, compiled)):
                say(form=form)
                runs(saved)
            say(form="while both are compared")
            fault = findings_of(saved, tolerance, locate=False).fault
        except LoomError as error:
            fault = Fault("file", "", type(error).__name__, str(error))
        say(fault=None if fault is None else list(fault))


if __name__ == "__main__":
    _serve(sys.argv[1:])
