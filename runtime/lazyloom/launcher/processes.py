"""The processes of a launch: started, watched, ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .environment import LaunchError
from .output import Forwarded

#: signals that ask the launcher to end, which are passed on
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: seconds after which the begun line of a prompt is passed on
_PROMPT: Final = 0.1
#: the option of Linux's prctl for the signal that a process gets when its parent is gone
_PR_SET_PDEATHSIG: Final = 1


@dataclass
class Process:
    """One process of a launch, and what it prints."""

    rank: int
    child: subprocess.Popen[bytes]
    streams: list[Forwarded]

    @property
    def alive(self) -> bool:
        return self.child.returncode is None

    def send(self, number: int) -> None:
        """Send a signal to the process and to those that it started."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, number)


class Launch:
    """Several processes of one command.

    Each leads a process group of its own, so that a signal reaches what it has started, and one
    from the terminal comes once, through the launcher. A process whose launcher was killed is
    killed by the kernel (on Linux).

    Args:
        command: what each process runs.
        environments: the whole environment of each process, by rank.
        tag: begin each line of output with the rank.
        grace: seconds from a signal that asks processes to end until they are killed.
    """

    def __init__(
        self, command: Sequence[str], environments: Mapping[int, Mapping[str, str]], *,
        tag: bool = False, grace: float = 30.0,
    ) -> None:  # fmt: skip
        self._command = list(command)
        self._environments = environments
        self._tag = tag
        self._grace = grace
        self._processes: list[Process] = []
        self._selector = selectors.DefaultSelector()
        self._begun = time.monotonic()
        self._deadline: float | None = None
        self._failed: Process | None = None
        self._asked = 0

    def run(self) -> int:
        """Start the processes and wait for all of them; the exit status.

        Raises LaunchError if they cannot be started.
        """
        with self._signals() as wake:
            self._selector.register(wake, selectors.EVENT_READ)
            try:
                self._start()
                while any(p.alive for p in self._processes):
                    self._wait(wake)
                return self._status()
            finally:
                self._kill()

    # -- starting -------------------------------------------------------------------------

    def _start(self) -> None:
        for rank, environment in self._environments.items():
            reading, writing = os.pipe()
            out = os.pipe() if self._tag else None
            own = dict(environment)
            if out is not None:
                # else a pipe holds lines back until there are many
                own.setdefault("PYTHONUNBUFFERED", "1")
            try:
                child = subprocess.Popen(
                    self._command, env=own, stderr=writing, stdout=out and out[1],
                    stdin=_input(rank),
                    process_group=0, preexec_fn=_dies_with(os.getpid()))
            except (OSError, subprocess.SubprocessError) as error:
                for end in (reading, *([out[0]] if out else [])):
                    os.close(end)
                raise LaunchError(f"{self._command[0]!r} cannot be started: {error}") from None
            finally:
                for end in (writing, *([out[1]] if out else [])):
                    os.close(end)
            tag = f"[rank {rank}] " if self._tag else ""
            streams = [Forwarded(reading, 2, tag), *([Forwarded(out[0], 1, tag)] if out else [])]
            made = Process(rank, child, streams)
            self._processes.append(made)
            for stream in streams:
                self._selector.register(stream.reading, selectors.EVENT_READ, stream)

    # -- waiting --------------------------------------------------------------------------

    def _wait(self, wake: int) -> None:
        """Until something happens: output, a signal, the death of a process, the deadline."""
        prompts = [] if self._tag else [
            s for p in self._processes for s in p.streams if s.waiting]
        patience = None
        if self._deadline is not None:
            patience = max(0.0, self._deadline - time.monotonic())
        if prompts:
            patience = _PROMPT if patience is None else min(patience, _PROMPT)
        ready = self._selector.select(patience)
        for key, _ in ready:
            if key.data is None:
                for number in os.read(wake, 4096):
                    self._got(number)
            elif not key.data.pump():
                self._selector.unregister(key.fd)
        if not ready:
            for stream in prompts:
                stream.flush()
        self._look()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            late = [p for p in self._processes if p.alive]
            if late:
                self._say(f"{_ranks(late)} did not end in {self._grace:g} s: SIGKILL")
                self._send(signal.SIGKILL)

    def _look(self) -> None:
        """Take note of processes that ended, and end the others if one did so badly."""
        ended = [p for p in self._processes if p.alive and _is_dead(p.child.pid)]
        for p in ended:
            for stream in p.streams:
                if stream.reading >= 0:
                    self._selector.unregister(stream.reading)
                stream.drain()
                stream.close()
            if _died_badly(p.child.pid):
                # what it started and left: its number is not given to others until it is waited for
                p.send(signal.SIGKILL)
            p.child.wait()
        # of several, one that was killed: others may have died of missing it
        bad = sorted((p for p in ended if p.child.returncode), key=lambda p: p.child.returncode > 0)
        if bad and self._failed is None and not self._asked:
            self._failed = bad[0]
            self._tell(bad[0])
            self._end_others()

    def _tell(self, p: Process) -> None:
        said = [f"rank {p.rank} (process {p.child.pid}) {_end_of(p.child.returncode)} after "
                f"{time.monotonic() - self._begun:.1f} s"]
        lines = p.streams[0].last_lines()
        said[0] += "; its last lines on stderr:" if lines else ", with nothing on stderr"
        self._say("\n".join([*said, *(f"  | {line}" for line in lines)]))

    def _end_others(self) -> None:
        living = [p for p in self._processes if p.alive]
        if living:
            self._say(f"ending {_ranks(living)}: SIGTERM, and SIGKILL after {self._grace:g} s")
            self._ask(signal.SIGTERM)

    def _ask(self, number: int) -> None:
        """Pass on a signal that asks processes to end, and begin to wait for that."""
        self._send(number)
        # one that was stopped would not see it
        self._send(signal.SIGCONT)
        if self._deadline is None:
            self._deadline = time.monotonic() + self._grace

    def _send(self, number: int) -> None:
        for p in self._processes:
            p.send(number)

    def _got(self, number: int) -> None:
        """A signal that the launcher got."""
        if number == signal.SIGTSTP:
            self._send(number)
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number == signal.SIGCONT:
            self._send(number)
        elif number in _ENDING:
            if self._asked == number == signal.SIGINT:
                self._say("SIGINT again: SIGKILL")
                self._send(signal.SIGKILL)
                return
            self._asked = number
            living = [p for p in self._processes if p.alive]
            self._say(f"{signal.Signals(number).name} is passed on to {_ranks(living)}; SIGKILL "
                      f"after {self._grace:g} s")
            self._ask(number)

    def _status(self) -> int:
        if self._failed is not None:
            return _code(self._failed.child.returncode)
        if any(p.child.returncode for p in self._processes):
            return 128 + self._asked
        return 0

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            print(f"lazyloom run: {text}", file=sys.stderr, flush=True)

    # -- ending ---------------------------------------------------------------------------

    def _kill(self) -> None:
        """Leave no process: what still runs, because of an exception here, is killed."""
        for p in self._processes:
            p.send(signal.SIGKILL)
            p.child.wait()
            for stream in p.streams:
                stream.close()
        self._selector.close()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[int]:
        """Signals as bytes of a pipe, whose reading end this gives."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        before: dict[int, Any] = {}
        wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            for caught in (*_ENDING, signal.SIGCHLD, signal.SIGTSTP, signal.SIGCONT):
                # what nohup and the like have said is to be ignored stays so
                if caught == signal.SIGCHLD or signal.getsignal(caught) != signal.SIG_IGN:
                    before[caught] = signal.signal(caught, lambda *_: None)
            yield reading
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)
            os.close(reading)
            os.close(writing)


def _is_dead(pid: int) -> bool:
    """Whether a child has ended and nobody has waited for it yet."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _died_badly(pid: int) -> bool:
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return found is not None and found.si_status != 0


def _end_of(code: int) -> str:
    """How a process ended, for Popen's code."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name} (signal {-code})"
    except ValueError:
        return f"was killed by signal {-code}"


def _code(code: int) -> int:
    """The exit status that shells give such an end."""
    return code if code >= 0 else 128 - code


def _ranks(processes: Sequence[Process]) -> str:
    numbers = ", ".join(str(p.rank) for p in processes)
    return f"rank {numbers}" if len(processes) == 1 else f"ranks {numbers}"


def _input(rank: int) -> int | None:
    """What a process reads: rank 0 the launcher's input, if that is no terminal.

    A terminal stops processes that read it and are not of the group in its foreground.
    """
    try:
        return None if rank == 0 and not os.isatty(0) else subprocess.DEVNULL
    except OSError:
        return subprocess.DEVNULL


def _dies_with(launcher: int) -> Callable[[], None] | None:
    """What a new process runs so that it does not outlive its launcher, however that ends.

    None where the system has no such means.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # needed here alone

    prctl = ctypes.CDLL(None).prctl

    def die_with_it() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(1)  # it was gone before

    return die_with_it
