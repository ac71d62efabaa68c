"""What makes programs of several processes run together: turns, comparison, faults.

A program with collectives is handed to XLA in the order of recording, and only when the one before
it has ended: XLA's client of the processor stops for ever where hundreds are in flight. Recording,
and programs of this process alone, go on meanwhile. Nothing here waits inside XLA, which cannot be
interrupted: whoever needs a result looks at it until it is there, or until something has happened
to another process.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..cache.memory import DispatchInfo, Entry
from ..errors import DistributedError
from ..program.collectives import Collective, collectives_of, whole
from ..program.plan import Plan
from .channel import Channel, Message, named
from .runner import Runner
from .streams import COPIED, Sites, Stream, group_of, key_of

#: seconds for which a result may be missing after a process has ended that takes part in it
_GRACE: Final = 2.0
#: bytes of a value of which a checksum is made
_COMPARED: Final = 1 << 20
#: characters of run-time scalars in an error
_SHOWN: Final = 200
#: programs that are known to have been compared
_PROGRAMS: Final = 4096
#: seconds for which a result is waited for without going to sleep, which takes 0.1 ms
_BRIEF: Final = 3e-4
#: seconds between two looks at what has happened to others, while a program is compiled
_LOOK: Final = 0.1
#: what errors of collectives have in their text
_OF_COLLECTIVES: Final = ("gloo", "nccl", "ollective", "Rendezvous", "rendezvous")


class Together:
    """This process among those that it runs collectives with.

    Attributes:
        rank, world: of this process, and how many there are.
        timeout: seconds for which it waits for a process that does not come.
        failure: why nothing can be computed together any more, or None.
        unheard: whether the program ended before it was told of the failure; its exit status then
            says so.
        left: ranks of processes that have ended of their own accord.
        turn: held while a program is handed over.
    """

    def __init__(self, rank: int, world: int, timeout: float) -> None:
        self.rank: Final = rank
        self.world: Final = world
        self.timeout: Final = timeout
        self.failure: DistributedError | None = None
        self.unheard = False
        self.left: Final[set[int]] = set()
        self.turn: Final = threading.RLock()
        self.channel: Channel | None = None
        self._changed: Final = threading.Condition()
        self._streams: Final[dict[tuple[int, ...], Stream]] = {}
        self._arrived: Final[dict[str, dict[int, int]]] = {}
        self._barriers: Final[dict[str, int]] = {}
        #: since when checksums differ without a known reason
        self._doubtful: float | None = None
        #: the collectives of programs that ran, each with a checksum
        self._known: Final[dict[Any, tuple[tuple[Collective, int], ...]]] = {}
        #: the user's line of the newest program
        self._site: Any = None
        self._finished: Any = None
        self._runner: Runner | None = None
        self._compiler: Runner | None = None
        self._members: frozenset[int] = frozenset()

    # what evaluation calls

    def begin(self, plan: Plan, entry: Entry, info: DispatchInfo) -> None:
        """Wait until the plan's program may be handed over. Raises DistributedError."""
        self.check()
        placement = entry.placement
        mesh = None if placement is None else placement.mesh
        # on a mesh everything must be the same, also what is computed of it
        key: Any = entry.structure if mesh is None else info
        known = self._known.get(key)
        new = known is None
        if known is None:
            found = collectives_of(entry.structure) if mesh is None else (
                whole(info.program, mesh.ranks, self.world),)
            known = tuple([
                (c, zlib.crc32(f"{c.described} {c.group}".encode())) for c in found])
            for c, _ in known:
                if c.world != self.world or self.rank not in c.group:
                    raise DistributedError(
                        f"{c.name} was recorded for the group {c.group} of {c.world} processes, "
                        f"and this one is rank {self.rank} of {self.world}")
        if mesh is None:
            plan.evaluation.collectives = tuple([c for c, _ in known])
        self.finish()
        with self._changed:
            starts = self._count(plan, known)
            for stream, start in starts.items():
                if new or stream.asked > start:
                    self._tell(stream, start)
                self._compare(stream)
        self._members = frozenset().union(*[c.group for c, _ in known])
        if new:
            first, start = next(iter(starts.items()))
            self._await_others(first, start)
            if len(self._known) >= _PROGRAMS:
                # they are compared once more, which others answer for whom they are not new
                self._known.clear()
            self._known[key] = known
        self.check()

    def same(self, data: Any, text: str, group: tuple[int, ...]) -> None:
        """Have the others of a group learn of a value that should be the same in all of them.

        A difference becomes known by the signs of life.
        """
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        if data.size > _COMPARED:
            data = np.ascontiguousarray(data[::-(-data.size // _COMPARED)])
        described = (
            f"{COPIED}{text} whose data have checksum {zlib.crc32(data):08x}")
        with self._changed:
            self._stream(group).add(described, zlib.crc32(described.encode()), self._site)

    def same_numbers(self, scalars: Any, group: tuple[int, ...]) -> None:
        """Likewise of the run-time scalars of a program, by dtype."""
        text = "; ".join([f"{dtype.name} {numbers}" for dtype, numbers in scalars.items()])
        checksum = zlib.crc32(text.encode())
        if len(text) > _SHOWN:
            text = f"{text[:_SHOWN]}... with checksum {checksum:08x}"
        with self._changed:
            self._stream(group).add(f"the run-time scalars {text}", checksum, self._site)

    def dispatched(self, finished: Any) -> None:
        """Note what is computed when the newest program has ended."""
        self._finished = finished

    def finish(self) -> None:
        """Wait until the newest program has ended. Raises DistributedError."""
        finished, self._finished = self._finished, None
        if finished is not None:
            self.wait(finished)

    def wait(self, array: Any) -> None:
        """Return when an array is computed. Raises DistributedError if it never will be."""
        begun: float | None = None
        while not array.is_ready():
            if self.failure is not None:
                self.check()
            now = time.monotonic()
            if begun is None or now - begun < _BRIEF:
                os.sched_yield()
            else:
                # to wait a twentieth longer than needed is cheap for both
                time.sleep(min(max((now - begun) / 20, 2e-5), 2e-3))
            if begun is None:
                begun = now
            elif now - begun > _GRACE and self.left & self._members:
                raise self.fail(self._gone())
            elif now - begun > self.timeout:
                self._check_late()
        try:
            array.block_until_ready()
        except Exception as error:
            raise self._explained(error) from error

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The result of a call on another thread. Raises DistributedError if that never ends."""
        if self._runner is None:
            self._runner = Runner()
        call = self._runner.begin(function, arguments)
        begun = time.monotonic()
        while not call.wait(0.2):
            self.check()
            if time.monotonic() - begun > self.timeout:
                self._check_late()
            if self.left & self._members:
                # it may have ended just before
                if call.wait(_GRACE):
                    break
                raise self.fail(self._gone())
        self._runner.newest = None
        if call.error is not None:
            raise self._explained(call.error) from call.error
        return call.result

    def compile(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The result of a call that may take minutes, on another thread, which nothing interrupts.

        Raises DistributedError as soon as another process fails; then nobody waits for the result.
        """
        self.check()
        if self._compiler is None:
            self._compiler = Runner()
        call = self._compiler.begin(function, arguments)
        while not call.wait(_LOOK):
            self.check()
        self._compiler.newest = None
        if call.error is not None:
            raise call.error
        return call.result

    def stuck(self) -> bool:
        """Return True if a thread of Python is inside XLA and does not come back in a second."""
        return any(r is not None and r.stuck(1.0) for r in (self._runner, self._compiler))

    def check(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise DistributedError(str(self.failure))

    # what it says and hears

    def barrier(self, group: tuple[int, ...], timeout: float | None) -> None:
        """Wait until every process of a group has come here. Raises DistributedError."""
        assert self.channel is not None
        key = key_of(group)
        limit = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        with self._changed:
            number = self._barriers[key] = self._barriers.get(key, 0) + 1
            arrived = self._arrived.setdefault(key, {})
            self.channel.send({"kind": "arrive", "group": key, "number": number}, group)
            while True:
                self.check()
                missing = [r for r in group if r != self.rank and arrived.get(r, 0) < number]
                if not missing:
                    return
                if gone := self.left & set(missing):
                    raise DistributedError(
                        f"barrier: {named(gone)} ended before coming to it")
                if time.monotonic() > deadline:
                    raise DistributedError(
                        f"barrier: {named(missing)} did not come within {limit:g} s")
                self._changed.wait(0.1)

    def on_message(self, message: Message) -> None:
        """Take note of a message, on the channel's thread."""
        kind, rank = message["kind"], message["from"]
        with self._changed:
            if kind == "beat":
                self._hear_state(rank, message["state"])
            elif kind == "items":
                self._hear_items(rank, message)
            elif kind == "tell":
                stream = self._stream(group_of(message["group"]))
                self._tell(stream, max(message["start"], stream.oldest()))
            elif kind == "arrive":
                arrived = self._arrived.setdefault(message["group"], {})
                arrived[rank] = max(arrived.get(rank, 0), message["number"])
            elif kind == "fail" and self.failure is None:
                self.failure = DistributedError(message["text"])
            self._changed.notify_all()

    def on_end(self, rank: int, how: str) -> None:
        """Take note of the end of a process, on the channel's thread."""
        with self._changed:
            self.left.add(rank)
            if how != "left" and self.failure is None:
                self.failure = DistributedError(
                    f"rank {rank} {how}, and the other processes cannot go on without it; its own "
                    "output says why. Start all of them again, from a checkpoint")
            self._changed.notify_all()

    def state(self) -> Any:
        """What signs of life carry along."""
        return {key_of(g): s.state() for g, s in list(self._streams.items())}

    def fail(self, text: str) -> DistributedError:
        """Make something the failure of all processes, and return it."""
        with self._changed:
            if self.failure is None:
                self.failure = DistributedError(text)
                if self.channel is not None:
                    self.channel.send({"kind": "fail", "text": text})
                self._changed.notify_all()
        return DistributedError(str(self.failure))

    def _stream(self, group: tuple[int, ...]) -> Stream:
        stream = self._streams.get(group)
        if stream is None:
            stream = self._streams[group] = Stream(group)
        return stream

    def _count(self, plan: Plan, known: Any) -> dict[Stream, int]:
        """Count a program's collectives; return the number of the first in each group."""
        starts: dict[Stream, int] = {}
        for c, checksum in known:
            stream = self._stream(c.group)
            starts.setdefault(stream, stream.count)
            self._site = plan.nodes[c.number].site
            stream.add(c.described, checksum, Sites(plan) if "\n" in c.described else self._site)
        return starts

    def _tell(self, stream: Stream, start: int) -> None:
        assert self.channel is not None
        stream.sent = stream.count
        self.channel.send(
            {"kind": "items", "group": key_of(stream.group), "start": start,
             "items": stream.told(start)}, stream.group)

    def _compare(self, stream: Stream) -> None:
        difference = stream.difference(self.rank)
        if difference is not None:
            self.fail(difference)

    def _await_others(self, stream: Stream, number: int) -> None:
        """Wait until all others of a group have told of that number, or have gone further."""
        deadline = time.monotonic() + self.timeout
        with self._changed:
            while True:
                self.check()
                missing = [r for r in stream.group
                           if r != self.rank and not stream.has_heard(r, number)]
                if not missing:
                    return
                if gone := self.left & set(missing):
                    raise self.fail(self._gone(gone))
                if time.monotonic() > deadline:
                    what = stream.told(number)[0]
                    raise self.fail(
                        f"{named(missing)} did not come within {self.timeout:g} s to collective "
                        f"{number + 1} of the group of ranks "
                        f"{', '.join(map(str, stream.group))}, which rank {self.rank} runs at "
                        f"{what[1]}: {what[0]}")
                self._changed.wait(0.1)

    def _hear_items(self, rank: int, message: Message) -> None:
        stream = self._stream(group_of(message["group"]))
        start, items = message["start"], message["items"]
        stream.hear(rank, start, items)
        stream.asked = max(stream.asked, start + len(items))
        if stream.count > start and stream.sent < stream.count:
            # a program that is known here is new there
            self._tell(stream, max(start, stream.oldest()))
        self._compare(stream)

    def _hear_state(self, rank: int, state: Any) -> None:
        assert self.channel is not None
        for key, (count, checksum) in state.items():
            stream = self._stream(group_of(key))
            stream.reached[rank] = max(stream.reached.get(rank, 0), count)
            if stream.agrees(count, checksum):
                continue
            now = time.monotonic()
            if self._doubtful is None:
                self._doubtful = now
                start = stream.oldest()
                self.channel.send({"kind": "tell", "group": key, "start": start}, stream.group)
                self._tell(stream, max(start, stream.oldest()))
            elif now - self._doubtful > _GRACE:
                self.fail(
                    f"ranks {rank} and {self.rank} have not run the same {count} collectives of "
                    f"the group of ranks {key}")

    def _check_late(self) -> None:
        """Raise DistributedError if others are behind; a computation may as well take long."""
        with self._changed:
            for stream in self._streams.values():
                late = [r for r in stream.behind() if r != self.rank]
                if late:
                    described, site = stream.told(stream.count - 1)[0]
                    raise self.fail(
                        f"{named(late)} did not come within {self.timeout:g} s to collective "
                        f"{stream.count} of the group of ranks "
                        f"{', '.join(map(str, stream.group))}, which rank {self.rank} waits in "
                        f"at {site}: {described}")

    def _gone(self, ranks: Any = None) -> str:
        gone = ranks or self.left & self._members
        return (f"{named(gone)} ended before a collective that rank {self.rank} waits in; every "
                "process of a group has to run the same collectives")

    def _explained(self, error: Exception) -> Exception:
        """The error to raise for one of XLA's."""
        text = str(error)
        if not any(word in text for word in _OF_COLLECTIVES):
            return error
        # what happened to another process is known in a moment
        deadline = time.monotonic() + _GRACE
        if self.channel is not None:
            self.channel.beat()
        with self._changed:
            while self.failure is None and time.monotonic() < deadline:
                if self.left & self._members:
                    return self.fail(self._gone())
                self._changed.wait(0.05)
        if self.failure is not None:
            return DistributedError(str(self.failure))
        return self.fail(f"a collective of rank {self.rank} failed: {text}")
