"""Messages between the processes: how they meet, and how each learns what became of the others.

Rank 0 listens at the address; every other process connects to it, and each message goes through it.
The connections stay open: the system closes that of a process that ends in any way, so that all
others know of it in milliseconds, and one that is stopped is told by its silence. Messages are
lines of JSON.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from ..errors import DistributedError

#: the first line of every connection, in both directions
GREETING: Final = b"lazyloom processes 1\n"
#: seconds after which whoever listens at the address should have greeted
_GREETED: Final = 10.0
_RETRY: Final = 0.05

Message = dict[str, Any]


class Lines:
    """A connection on which lines are sent and received."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket: Final = connection
        self._received = b""
        self._sending: Final = threading.Lock()
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Message) -> None:
        """Send a message; one that cannot be sent is told by the end of the connection."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._sending, contextlib.suppress(OSError):
            self.socket.sendall(data)

    def received(self) -> list[Message] | None:
        """The messages that have arrived; None at the end of the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except (BlockingIOError, TimeoutError):
            return []
        except OSError:
            return None
        if not data:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        try:
            return [json.loads(line) for line in lines if line]
        except ValueError:
            return None

    def line(self, deadline: float) -> bytes | None:
        """The next line, without its end; None if it does not come in time."""
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0 or len(self._received) > 1 << 20:
                return None
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(4096)
            except OSError:
                return None
            if not data:
                return None
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def named(ranks: Any) -> str:
    """Ranks for messages: "rank 1", "ranks 1, 3"."""
    listed = sorted(ranks)
    return f"rank{'s' if len(listed) > 1 else ''} {', '.join(map(str, listed))}"


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address of this machine. Raises DistributedError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise DistributedError(
            f"init: the address {host!r} is not known ({error}); set MASTER_ADDR to the host of "
            "rank 0") from error
    for place in (address, ("", port)):
        listener = socket.socket(family if place is address else socket.AF_INET, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(place)
            listener.listen(1024)
            return listener
        except OSError as error:
            listener.close()
            # behind a network's translation the host's name is no address of its own
            if error.errno != errno.EADDRNOTAVAIL or place is not address:
                raise DistributedError(
                    f"init: rank 0 cannot listen at {host}:{port}: {error.strerror}; "
                    "another program, or another process that was given rank 0, has that port. "
                    "Set MASTER_PORT to a free one, for all processes alike") from error
    raise AssertionError


def gather(
    listener: socket.socket, world: int, deadline: float, timeout: float
) -> dict[int, Lines]:
    """The connections of all other ranks, by rank. Raises DistributedError, and tells them why.
    """
    found: dict[int, Lines] = {}
    others: list[Lines] = []
    lock = threading.Lock()
    fault: list[str] = []
    arrived = threading.Event()

    def greet(lines: Lines) -> None:
        lines.socket.settimeout(_GREETED)
        with contextlib.suppress(OSError):
            lines.socket.sendall(GREETING)
        until = min(deadline, time.monotonic() + _GREETED)
        if lines.line(until) != GREETING[:-1]:
            return lines.close()
        hello = lines.line(until)
        if hello is None:
            return lines.close()
        said = json.loads(hello)
        rank, size = said["rank"], said["world"]
        with lock:
            if size != world:
                fault.append(
                    f"rank {rank} (process {said['pid']} on {said['host']}) was started for a "
                    f"world of {size} processes, and rank 0 for {world}; set WORLD_SIZE to one "
                    "number for all")
            elif not 0 < rank < world or rank in found:
                fault.append(
                    f"rank {rank} was given twice, the second time to process {said['pid']} on "
                    f"{said['host']}; set RANK to another number from 0 to {world - 1} for each "
                    "process")
            if fault:
                others.append(lines)
            else:
                found[rank] = lines
            arrived.set()
        return None

    while len(found) < world - 1 and not fault:
        left = deadline - time.monotonic()
        if left <= 0:
            missing = set(range(1, world)) - set(found)
            fault.append(
                f"{named(missing)} of {world} did not come within {timeout:g} s; see whether they "
                "were started, with the same MASTER_ADDR and MASTER_PORT")
            break
        listener.settimeout(min(left, 0.02 if arrived.is_set() else 0.1))
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        threading.Thread(
            target=greet, args=(Lines(connection),), daemon=True, name="lazyloom-greet").start()
    # what comes after this finds nobody
    listener.close()
    if fault:
        with lock:
            for lines in [*found.values(), *others]:
                lines.send({"fault": fault[0]})
                lines.close()
        raise DistributedError(f"init: {fault[0]}")
    return found


def connect(
    host: str, port: int, rank: int, world: int, deadline: float, timeout: float
) -> tuple[Lines, Message]:
    """The connection to rank 0, and what it says once all are there. Raises DistributedError."""
    why = "nobody listens there"
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DistributedError(
                f"init: rank 0 was not found at {host}:{port} within {timeout:g} s ({why}); see "
                "whether it was started, and that MASTER_ADDR and MASTER_PORT are its address")
        try:
            lines = Lines(socket.create_connection((host, port), timeout=min(left, 5.0)))
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            time.sleep(min(_RETRY, max(left, 0)))
            continue
        greeting = lines.line(min(deadline, time.monotonic() + _GREETED))
        if greeting == GREETING[:-1]:
            break
        lines.close()
        if greeting is None:
            # rank 0 of an earlier attempt may have been about to end
            why = "what listens there does not answer as a process of lazyloom"
            time.sleep(min(_RETRY, max(left, 0)))
            continue
        raise DistributedError(
            f"init: what listens at {host}:{port} is no process of this version of lazyloom; set "
            "MASTER_PORT to a free port, for all processes alike")
    hello = {"rank": rank, "world": world, "pid": os.getpid(), "host": socket.gethostname()}
    with contextlib.suppress(OSError):
        lines.socket.sendall(GREETING)
    lines.send(hello)
    # rank 0 says who is missing when its own time is over
    answer = lines.line(deadline + 5.0)
    if answer is None:
        lines.close()
        raise DistributedError(
            f"init: rank 0 at {host}:{port} has ended, or did not say within {timeout:g} s that "
            "all processes are there")
    said: Message = json.loads(answer)
    if "fault" in said:
        lines.close()
        raise DistributedError(f"init: {said['fault']}")
    return lines, said


class Channel:
    """Messages among all processes, and signs of life, on a thread of its own.

    Args:
        rank, world: of this process, and how many there are.
        peers: the connections: of rank 0 to all others, of the others to rank 0.
        silence: seconds after which a process that says nothing counts as stopped.
        on_message: called with each message from another process, which has "from".
        on_end: called with (rank, how) when a process has ended: "left" if it said so.
        state: what each sign of life carries along.
    """

    def __init__(
        self, rank: int, world: int, peers: dict[int, Lines], silence: float,
        on_message: Callable[[Message], None], on_end: Callable[[int, str], None],
        state: Callable[[], Any],
    ) -> None:
        self.rank: Final = rank
        self.world: Final = world
        self.silence: Final = silence
        self._peers: Final = peers
        self._on_message: Final = on_message
        self._on_end: Final = on_end
        self._state: Final = state
        self._heard: Final = dict.fromkeys(peers, time.monotonic())
        self._said_goodbye: Final[set[int]] = set()
        self.ended: Final[set[int]] = set()
        self._closing = False
        self._thread: Final = threading.Thread(
            target=self._run, name="lazyloom-processes", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, message: Message, to: Any = None) -> None:
        """Send to the processes of these ranks, to all others by default."""
        ranks = [r for r in (range(self.world) if to is None else to) if r != self.rank]
        if ranks:
            self._route({**message, "from": self.rank, "to": ranks})

    def _route(self, message: Message) -> None:
        if self.rank == 0:
            for r in message["to"]:
                if r in self._peers and r not in self.ended:
                    self._peers[r].send(message)
        elif 0 not in self.ended:
            self._peers[0].send(message)

    def beat(self) -> None:
        """Give a sign of life now."""
        self.send({"kind": "beat", "state": self._state()})

    def goodbye(self) -> None:
        """Say that this process ends of its own accord."""
        self.send({"kind": "goodbye"})

    def close(self) -> None:
        """End the connections."""
        self._closing = True
        for lines in self._peers.values():
            lines.close()

    def _run(self) -> None:
        selector = selectors.DefaultSelector()
        for r, lines in self._peers.items():
            lines.socket.setblocking(True)
            selector.register(lines.socket, selectors.EVENT_READ, r)
        interval = max(0.05, min(1.0, self.silence / 5))
        next_beat = time.monotonic() + interval
        looked = time.monotonic()
        while not self._closing:
            events = selector.select(max(0.0, min(next_beat - time.monotonic(), interval)))
            now = time.monotonic()
            if now - looked > self.silence / 2:
                # this process itself was stopped, and has not heard the others meanwhile
                for r in self._heard:
                    self._heard[r] = now
            looked = now
            for key, _ in events:
                self._receive(selector, key.data, now)
            if now >= next_beat:
                next_beat = now + interval
                self.beat()
            for r, heard in list(self._heard.items()):
                if now - heard > self.silence and r not in self.ended:
                    self._end(r, f"has not answered for {now - heard:.1f} s")

    def _receive(self, selector: Any, rank: int, now: float) -> None:
        lines = self._peers[rank]
        messages = lines.received()
        if messages is None:
            selector.unregister(lines.socket)
            if not self._closing:
                self._end(rank, "left" if rank in self._said_goodbye else "has ended")
            return
        self._heard[rank] = now
        for message in messages:
            if self.rank == 0:
                self._forward(message)
            if self.rank in message.get("to", ()):
                self._deliver(message)

    def _forward(self, message: Message) -> None:
        others = [r for r in message["to"] if r != 0]
        if others:
            self._route({**message, "to": others})

    def _deliver(self, message: Message) -> None:
        kind = message.get("kind")
        if kind == "goodbye":
            # its connection ends later: rank 0 passes on messages as long as others are there
            self._said_goodbye.add(message["from"])
            self._on_end(message["from"], "left")
        elif kind == "ended":
            self._end(message["rank"], message["how"])
        else:
            self._on_message(message)

    def _end(self, rank: int, how: str) -> None:
        if rank in self.ended:
            return
        self.ended.add(rank)
        self._heard.pop(rank, None)
        if self.rank == 0:
            self.send({"kind": "ended", "rank": rank, "how": how})
        self._on_end(rank, how)
