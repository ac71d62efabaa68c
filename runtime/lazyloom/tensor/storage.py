"""Storages, which tensors that alias each other share, and the locks under which they are written.

A write reads the contents of a storage, records the new contents, and installs the result. It
holds the storage's lock meanwhile, so it is one step for other writers: if two threads write to
different rows, or add to one number, no write is lost. Readers take no lock: contents are
immutable, and a write installs new ones whole.

The locks are reentrant, and there is a fixed number of them: the time at which a storage was made
determines its lock, which is the same before and after a tensor comes to share its contents. Code
that needs several (an optimizer's step, a captured call) takes them all at once, in the order of
their numbers (:class:`WriteLocks`), or none of them while its thread is the only one that ever
requested a lock. Ops are recorded while a lock is held, which may run a component that has grown
long, so a thread that requests one may hold no other lock of the runtime.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from threading import get_ident
from typing import Any, Final, final

from ..compiled import ALONE, COMPILED
from ..evaluate.overwritten import Overwritten, restored, written_over
from ..interrupts import Deferred
from ..locks import new_write_lock
from ..trace.graph import Value, trace

#: Held where a field is changed only if another one still has the value that was seen; innermost.
#: Compiled code needs no lock for that, see lazyloom.compiled.
deciding: Final = threading.Lock()

_ALONE: Final[bool] = ALONE
_COUNT: Final = 256
#: seconds between two checks whether the thread that wrote alone has finished
_PAUSE: Final = 2e-4


@final
class Writers:
    """Which threads have requested the lock of a storage: none, one, or several.

    While it is one, that thread's blocks of many locks (:class:`WriteLocks`) take none of them in
    compiled code. The second thread to request a lock waits once, until these blocks have ended;
    from then on all blocks take locks.
    """

    __slots__ = ("thread", "several", "owner", "depth", "watched")

    def __init__(self) -> None:
        self.thread: int = 0
        self.several: bool = False
        #: the thread that is in blocks without locks, and how many are nested
        self.owner: int = 0
        self.depth: int = 0
        #: those that observe what other threads write
        self.watched: tuple[OtherWriters, ...] = ()

    def note(self, created: int) -> None:
        """Note that this thread requests the lock of what was ``created`` then."""
        here = get_ident()
        for other in self.watched:
            if other.thread != here:
                other.numbers.add(number_of_lock(created))
        if here != self.thread:
            if self.thread:
                self.several = True
            self.thread = here
        if self.depth and here != self.owner:
            while self.depth:
                time.sleep(_PAUSE)

    def begin(self, created: list[int]) -> bool:
        """Begin a block of this thread that needs no lock, if no other thread has requested one.

        A caller that gets True calls :meth:`end`.
        """
        self.note(created[0])
        if self.watched:
            for number in created:
                self.note(number)
        if not _ALONE or self.several:
            return False
        self.owner = self.thread
        self.depth += 1
        return True

    def end(self) -> None:
        """End a block that :meth:`begin` has begun."""
        if self.depth:  # a forked child has none
            self.depth -= 1

    def alone(self) -> bool:
        """Return True if no other thread can be in the middle of a write.

        Then compiled code needs no lock for a write, if it checks again before it changes a field.
        """
        return not self.several and self.thread == get_ident()


@final
class OtherWriters:
    """A ``with`` block in which this thread observes what other threads write.

    Attributes:
        thread: the one that observes.
        numbers: the numbers of the locks that other threads have requested.
    """

    __slots__ = ("thread", "numbers")

    def __init__(self) -> None:
        self.thread: Final[int] = get_ident()
        self.numbers: set[int] = set()

    def __enter__(self) -> OtherWriters:
        with deciding:
            writers.watched = (*writers.watched, self)
        return self

    def __exit__(self, *exc: object) -> None:
        with deciding:
            writers.watched = tuple([w for w in writers.watched if w is not self])


writers: Final = Writers()

#: by number; a forked child has new ones, since a thread that it does not have may hold the old
locks: Final[list[Any]] = [new_write_lock() for _ in range(_COUNT)]


def _renew() -> None:
    writers.depth = 0
    writers.watched = ()
    locks[:] = [new_write_lock() for _ in range(_COUNT)]


os.register_at_fork(after_in_child=_renew)


def number_of_lock(created: int) -> int:
    """The number of the lock of a storage made when ``created`` was the newest node's number."""
    return created % _COUNT


@final
class WriteLocks:
    """A ``with`` block that holds the locks of several storages, those of ``created``.

    Any number of threads may enter it, one after the other. If the core runs interpreted, signals
    wait until its end, since one that arrived while a lock is released would leave the others held.
    """

    __slots__ = ("_created", "_held", "_entered", "_deferred")

    def __init__(self, created: Iterable[int]) -> None:
        self._created: list[int] = list(created)
        #: looked up when they are first taken
        self._held: list[Any] = []
        #: how often the thread in the block has taken the locks. Blocks that it began before,
        #: without locks, end after those.
        self._entered: int = 0
        #: of the thread in the block
        self._deferred: list[Deferred] = []

    def __enter__(self) -> None:
        if not self._created or writers.begin(self._created):
            return
        if COMPILED:
            self._acquire()
            return
        deferred = Deferred()
        deferred.__enter__()
        try:
            self._acquire()
        except BaseException:
            deferred.__exit__()
            raise
        self._deferred.append(deferred)

    def _acquire(self) -> None:
        if not self._held:
            self._held = [
                locks[n] for n in sorted({number_of_lock(c) for c in self._created})]
        for number, lock in enumerate(self._held):
            try:
                lock.acquire()
            except BaseException:
                for other in self._held[:number]:
                    other.release()
                raise
        self._entered += 1

    def __exit__(self, *exc: object) -> None:
        if not self._created:
            return
        if not self._entered:
            writers.end()
            return
        self._entered -= 1
        deferred = None if COMPILED else self._deferred.pop()
        for lock in self._held:
            lock.release()
        if deferred is not None:
            deferred.__exit__()


@final
class Storage:
    """What tensors that alias each other share.

    Whoever changes a field holds the storage's lock.

    Attributes:
        value: the current contents.
        version: number of writes so far. It is raised after ``value`` is set: contents that are
            read after it have at least that version.
        writable: False makes writes an AliasError (memory shared with the outside).
        created: the number of the newest node when it was made; with a mark if that was in
            inference mode (:mod:`lazyloom.tensor.inference`).
        overwritten: what it goes back to if computing the contents fails.

    Example:

        >>> x = lazyloom.Tensor(lazyloom.from_host([1.0, 2.0]))
        >>> x.version
        0
    """

    __slots__ = ("value", "version", "writable", "created", "overwritten")

    def __init__(
        self, value: Value, version: int = 0, created: int = -1,
        overwritten: Overwritten | None = None,
    ) -> None:  # fmt: skip
        self.value: Value = value
        self.version: int = version
        self.writable: bool = True
        self.created: int = trace.sequence if created == -1 else created
        self.overwritten: Overwritten | None = overwritten

    @property
    def lock(self) -> Any:
        """The lock that a writer holds: a reentrant context manager."""
        writers.note(self.created)
        return locks[number_of_lock(self.created)]

    def replace(self, value: Value) -> None:
        """Replace all of the contents; the caller holds the lock."""
        before = self.overwritten
        self.overwritten = written_over(self.value, before)
        self.value = value
        self.version += 1

    def recover(self) -> None:
        """Go back to the previous contents, if the run that should compute the present failed."""
        failed = self.value
        overwritten = self.overwritten
        if overwritten is None:
            return
        before = restored(failed, overwritten)
        if before is None:
            return
        with self.lock:
            if self.value is failed:
                self.value = before
                self.version += 1
                self.overwritten = None


@final
class Alias:
    """What a tensor that shares its storage keeps besides how it reads it.

    One object, which only such tensors make: recording an op makes tensors that share nothing.

    Attributes:
        owner: the tensor that first had the storage, where the frontend says so.
        strides, offset: ``element_strides`` and ``element_offset`` of :class:`Tensor`.
        read: the contents when they were read last.
        version: the storage's version then, -1 if they have to be read anew.
    """

    __slots__ = ("owner", "strides", "offset", "read", "version")

    def __init__(
        self, owner: Any, strides: tuple[int, ...] | None, offset: int
    ) -> None:
        self.owner: Any = owner
        self.strides: tuple[int, ...] | None = strides
        self.offset: int = offset
        self.read: Value | None = None
        self.version: int = -1


def keep_read(state: Alias, value: Value, version: int) -> None:
    """Keep what a view read at a version of its storage, unless the kept contents are newer."""
    if _ALONE:
        _keep_read(state, value, version)
    else:
        with deciding:
            _keep_read(state, value, version)


def _keep_read(state: Alias, value: Value, version: int) -> None:
    if version >= state.version:
        before = state.read
        state.read = value
        state.version = version
        del before  # released only now
