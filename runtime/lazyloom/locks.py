"""The locks: which fields each guards, and a mode in which every write of one is checked.

:data:`GUARDED` is the table: a field in it is written by a thread that holds the lock beside it, or
before any other thread can refer to the object. One exception: a compiled core records ops without
the graph's lock where nobody holds it and no other thread can run until it is done
(:data:`lazyloom.compiled.ALONE`). Reading needs no lock unless several fields must agree. Fields
that are not in the table need no lock, each for its own reason:

- ``Node.handles``, ``carried`` and ``out_handles`` go down in ``Value.__del__`` by one subtraction,
  which nothing interrupts; whoever sees zero checks again under the lock
  (:mod:`lazyloom.trace.graph`).
- ``Trace.released`` is a list to which that method adds, and appending to a list is one step.
- ``Buffer.host`` and ``array`` are written by the run that computes them, before it signals that it
  is dispatched, and by uploads, one at a time (``backends/data.py``), and emptied when no node or
  plan has the buffer any more.
- ``Entry.scalars``, ``Entry.first_run``, ``Entry.used`` and counters may lose one of two writes,
  which costs an upload, a record that calls a program new, or a number that is one too small.
- The contents of a tensor that shares nothing change under the lock of the storage that it would
  have (:mod:`lazyloom.tensor.storage`); its other fields belong to the program.
- Modules that create something once (the backend, JAX's client, lowerings) hold a lock of their own
  meanwhile, which only that module sees.

Locks nest in this order: those of storages, in the order of their numbers if several are needed at
once; then a program's, then the graph's; all others are innermost. A frontend's lock of a leaf,
held while a gradient is added, comes before those of storages.

The cycle collector may run one of the program's finalizers while a thread holds one of the locks,
and the finalizer may record or read. The locks of storages are reentrant; the graph's and a
program's refuse it (:class:`~lazyloom.errors.LoomError`). An interpreted core does not: there, such
a finalizer can wait for ever.

``LAZYLOOM_DEBUG_LOCKS=1`` in the environment turns the checks on, if the core runs interpreted:
compiled classes have no place for them. A write without its lock is an AssertionError that names
the field, and is added to :data:`violations`. Everything is several times slower then, and Ctrl-C
may leave a lock held.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Collection
from threading import get_ident
from typing import Any, Final, NoReturn, final

from .compiled import COMPILED
from .errors import LoomError
from .extension import in_c

#: true if writes are checked
DEBUG: Final = os.environ.get("LAZYLOOM_DEBUG_LOCKS", "0") not in ("", "0")

#: by lock, the fields that it guards: module and class, then the names
GUARDED: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "lazyloom.trace.graph.trace.lock": {
        "trace.graph.Node": (
            "spec", "inputs", "indices", "types", "seq", "component", "refs", "state", "buffers",
            "evaluation", "error", "token", "rule", "boundary", "depth", "cut_history", "mapping",
            "slot", "epoch", "uses", "freed",
        ),
        "trace.graph.Component": (
            "nodes", "parent", "ordered", "dead", "depth", "cut_history", "check_at", "since",
        ),
        "trace.graph.Buffer": ("owners", "holds", "slot", "epoch"),
        "trace.graph.Trace": (
            "components", "sequence", "recorded", "started", "mapping", "failing", "epoch",
        ),
    },
    "lazyloom.trace.switches._counting": {"trace.switches.Switches": ("without_grad",)},
    "lazyloom.tensor.inference._counting": {"tensor.inference.Mode": ("threads",)},
    "lazyloom.trace.source._counting": {"trace.source._Known": ("named",)},
    "Entry.lock": {
        "cache.memory.Entry": (
            "outputs", "position", "aliases", "program", "dispatches", "looked", "verdicts",
        ),
    },
    "Storage.lock": {"tensor.storage.Storage": ("value", "version", "overwritten")},
}  # fmt: skip

#: the messages of the errors that were raised, since nobody catches some of them (in ``__del__``)
violations: Final[list[str]] = []


def refuse_owner() -> NoReturn:
    """Raise LoomError in a thread that requests a lock that it holds."""
    raise LoomError(
        "a finalizer or a signal's handler called lazyloom while its thread was changing the "
        "recorded graph: Python's cycle collector or a signal ran it there; let it leave the work "
        "to the program, for instance in a queue.SimpleQueue")


@final
class OwnedLock:
    """A lock that knows which thread holds it, and refuses that thread a second time.

    The cycle collector runs a program's finalizers wherever an object is created, even where this
    thread changes what the lock guards: a finalizer that requests it there would wait for ever.
    """

    __slots__ = ("_lock", "_owner")

    def __init__(self) -> None:
        self._lock: Any = threading.Lock()
        self._owner: int = 0

    def acquire(self) -> bool:
        """Wait for the lock. Raises LoomError if this thread holds it."""
        here = get_ident()
        if self._owner == here:
            refuse_owner()
        self._lock.acquire()
        self._owner = here
        return True

    def release(self) -> None:
        self._owner = 0
        self._lock.release()

    def locked(self) -> bool:
        return bool(self._lock.locked())

    def held(self) -> bool:
        """Return True if this thread holds it."""
        return self._owner == get_ident()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        # no *args, which would create an object, and let the collector run while the lock is held
        self.release()


#: the version in C, if functions in C were compiled
_owned: Final[Callable[..., Any]] = in_c("OwnedLock", OwnedLock)


def new_write_lock() -> Any:
    """A lock under which storages are written, which a thread may take again."""
    return threading.RLock()


def new_lock() -> Any:
    """A lock that guards fields.

    The compiled core uses :class:`OwnedLock`, in C if that was built. The interpreted core uses
    Python's own lock, which Ctrl-C cannot leave held.
    """
    if DEBUG:
        return OwnedLock()
    return _owned() if COMPILED else threading.Lock()


def closed_gate() -> Any:
    """A lock for one thread that waits: its next ``acquire`` returns after :func:`open_gate`.

    It replaces Python's conditions and events, whose locks stay held for ever if an exception
    reaches the thread right after they were acquired.
    """
    gate = threading.Lock()
    gate.acquire()
    return gate


def open_gate(gate: Any) -> None:
    """Let the thread of a :func:`closed_gate` continue, now or as soon as it waits."""
    try:
        gate.release()
    except RuntimeError:
        pass  # it is already open


def check_writes() -> None:
    """Check every write of a guarded field from now on; called once all modules are imported."""
    if COMPILED:
        warnings.warn(
            "lazyloom: LAZYLOOM_DEBUG_LOCKS is set, but the core is compiled, which gives no place "
            "for its checks; run the checkout (PYTHONPATH=runtime), whose core is interpreted",
            RuntimeWarning, stacklevel=2)
        return
    locks: dict[str, dict[str, tuple[Callable[[Any], Any], str]]] = {}
    for lock, classes in GUARDED.items():
        for cls, names in classes.items():
            locks.setdefault(cls, {}).update(dict.fromkeys(names, (_finder(lock), lock)))
    for path, guards in locks.items():
        module, _, name = path.rpartition(".")
        _check(getattr(sys.modules[f"lazyloom.{module}"], name), guards)


def _finder(lock: str) -> Callable[[Any], Any]:
    """A function that returns the lock that guards an object."""
    if lock in ("Entry.lock", "Storage.lock"):
        return lambda owner: owner.lock
    _, package, module, *names = lock.split(".")
    place = sys.modules[f"lazyloom.{package}.{module}"]

    def find(owner: Any) -> Any:
        lock_object: Any = place
        for name in names:
            lock_object = getattr(lock_object, name)
        return lock_object

    return find


def _check(cls: type, guards: dict[str, tuple[Callable[[Any], Any], str]]) -> None:
    fields: Collection[str] = cls.__slots__  # type: ignore[attr-defined]
    *_, last = fields
    numbered = "seq" in fields

    def checked(self: Any, name: str, value: Any) -> None:
        guard = guards.get(name)
        # an object under construction belongs to its creator; so does a node without a number
        if guard is not None and (self.seq if numbered and hasattr(self, "seq")
                                  else hasattr(self, last)):
            find, lock = guard
            lock_object = find(self)
            holds = getattr(lock_object, "held", None) or getattr(lock_object, "_is_owned", None)
            if holds is not None and not holds():
                text = (f"{cls.__name__}.{name} was written by thread {get_ident()}, "
                        f"which does not hold {lock}")
                violations.append(text)
                raise AssertionError(text)
        object.__setattr__(self, name, value)

    cls.__setattr__ = checked  # type: ignore[assignment, method-assign]
