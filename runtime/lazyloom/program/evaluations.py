"""Evaluation records: what ran, why, where, and what it cost."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Mapping
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from ..counters import counters
from ..errors import ArgumentError
from ..hooks import hooks
from ..locks import closed_gate, new_lock, open_gate
from ..notebooks import as_html
from ..settings import tuning
from ..startup import taken
from ..trace.graph import trace
from ..trace.source import Site
from .collectives import Collective, Partitioned, bytes_together
from .reasons import CAUSES, CHOICES, COMPILE, LOAD, LOOKUP, LOWER, PHASES, START, WAIT
from .regions import NO_REGIONS, PartRun, ProgramRegions

if TYPE_CHECKING:
    from .difference import Difference
    from .program import Program

_records: Final[deque[Evaluation]] = deque()
#: phases that others than the run itself measure, before it begins
_BEFORE: Final = (START, LOAD, LOWER, COMPILE)


class Dispatched:
    """Set once a run was handed to XLA or has failed; threads may wait for it.

    No ``threading.Event``, which takes a lock in a function of Python's: an exception that another
    thread throws right after that (``PyThreadState_SetAsyncExc``) keeps the lock for ever. Each
    thread that waits, which is rare, has a lock of its own, which nobody else takes, and which may
    be released more than once.

    Attributes:
        done: it was set.
        owner: the thread that sets it, which must not wait for it.
    """

    __slots__ = ("done", "owner", "_waiting")

    def __init__(self) -> None:
        self.done = False
        self.owner: int = get_ident()
        self._waiting: list[Any] | None = None

    def is_set(self) -> bool:
        return self.done

    def set(self) -> None:
        # whoever waits looks at done after its lock is known here
        self.done = True
        waiting = self._waiting
        if waiting is not None:
            for lock in waiting:
                open_gate(lock)

    def wait(self) -> None:
        if self.done:
            return
        lock = closed_gate()
        with _adding:
            if self._waiting is None:
                self._waiting = []
            self._waiting.append(lock)
        if not self.done:
            lock.acquire()


_adding: Final[Any] = new_lock()


class Evaluation:
    """The record of one program's run.

    Attributes:
        reason: why it ran, such as ``"read"``, ``"sync"`` or ``"cut"``.
        site: the user's ``file:line`` that caused it, a :class:`~lazyloom.trace.source.Site`, whose
            ``library`` is the line in an installed package through which it did, if any.
        found: where the compiled program was found: ``"memory"``, ``"disk"``, or ``"compiled"`` if
            it was compiled for this run; ``"op_by_op"`` if it ran op by op; "" if it never got that
            far.
        form: ``"compiled"``, ``"op_by_op"``, or ``"padded"`` if a program for many extents ran.
        choice: what the form was chosen for: a key of
            :data:`lazyloom.program.reasons.CHOICES`; "" for a program that was in memory.
        runs, spent, saved: of a run op by op, how often its structure has run so since it was last
            compiled, the seconds that took, and those of them that a compiled program could have
            saved.
        estimate: the seconds that compiling it is estimated to take, infinite if it failed;
            ``startup`` of them are the start of JAX and of the process that compiles.
        kernel_failure: of a run op by op, the host kernel that failed, in whose place the op was
            compiled, and how; "" if none did.
        backend: the name of the backend that it ran on; "" if it never got that far.
        ops: number of recorded operations in it, of those that ran if some had failed before.
        program: the canonical :class:`~lazyloom.program.program.Program` that ran.
        is_new: no run of this process had its structure before.
        timings: seconds by phase, which add up: the keys are those of
            :data:`lazyloom.program.reasons.PHASES` that it went through.
        bytes_in, bytes_out, bytes_donated: sizes of inputs, wanted results and donated inputs.
        bytes_uploaded: of the inputs, those that came from the host's arrays and were never in a
            run before.
        copied: numbers of the leaves that were copied since the program donates them.
        error: the error, if it failed.

    Example:

        >>> total = float((np.arange(3.0) + 1).sum())
        >>> record = lazyloom.last_evaluation()
        >>> record.reason, record.ops
        ('read', 2)
    """

    __slots__ = (
        "number", "reason", "site", "found", "ops", "timings", "is_new", "_known", "_differs",
        "_bytes_in", "bytes_uploaded", "bytes_out", "bytes_donated", "copied", "error",
        "dispatched", "places", "fallible", "spawned", "results_ready", "backend", "form",
        "_program", "_asked", "choice", "estimate", "startup", "failure", "kernel_failure", "runs",
        "spent", "saved", "padding", "unpadded", "regions", "parts", "collectives",
    )  # fmt: skip

    def __init__(self, number: int, reason: str, site: Site) -> None:
        self.number = number
        self.reason = reason
        self.site = site
        self.found = ""
        self.backend = ""
        self.ops = 0
        self.form = ""
        #: of a padded run each extent and that of the program
        self.padding: list[tuple[int, int]] = []
        #: why a program whose extents change is not padded, where that is known
        self.unpadded = ""
        #: what other code generators than the backend's ran of a whole program
        self.regions: ProgramRegions = NO_REGIONS
        #: what a program consisted of whose parts ran one by one, with the seconds of each
        self.parts: tuple[PartRun, ...] = ()
        #: what other processes, or the devices of its mesh, ran of it together
        self.collectives: tuple[Collective | Partitioned, ...] = ()
        self.choice = ""
        self.estimate = 0.0
        self.startup = 0.0
        self.runs = 0
        self.spent = 0.0
        self.saved = 0.0
        #: of a run op by op, why compiling its program failed
        self.failure = ""
        self.kernel_failure = ""
        self._program: Program | None = None
        self._asked: Any = None
        self.is_new = False
        #: how many programs there were when a new one ran
        self._known = 0
        self._differs: Difference | None = None
        self.timings: dict[str, float] = {}
        self._bytes_in = 0
        self.bytes_uploaded = 0
        self.bytes_out = 0
        self.bytes_donated = 0
        self.copied: list[int] = []
        self.error: Exception | None = None
        self.dispatched = Dispatched()
        #: it was handed to XLA, and its results can be passed on without a look at them
        self.results_ready = False
        self.places: list[tuple[str, Any]] = []
        self.fallible = False
        #: evaluations that ran first because this one needed their results
        self.spawned: list[int] = []

    @property
    def program(self) -> Program | None:
        """The canonical program that ran."""
        if self._program is None and self._asked is not None:
            # slow, and rarely asked for
            from .donation import program_of_plan

            self._program = program_of_plan(*self._asked)
            self._asked = None
        return self._program

    @program.setter
    def program(self, program: Program | None) -> None:
        self._program = program

    @property
    def cause(self) -> str:
        """Why it ran, as one of the codes of :data:`lazyloom.program.reasons.CAUSES`.

        The reason itself where a frontend gave another one.
        """
        for beginning, cause in CAUSES.items():
            if self.reason.startswith(beginning):
                return cause
        return self.reason

    @property
    def why(self) -> str:
        """What the form was chosen for, in words; "" for a program that was in memory."""
        return CHOICES[self.choice] if self.choice else ""

    @property
    def seconds(self) -> float:
        """What it took: the sum of all phases."""
        return sum(self.timings.values())

    @property
    def differs(self) -> Difference | None:
        """Why its program is new: how it differs from the nearest one that ran before.

        Worked out when it is asked for first. None for a program that had run before.
        """
        if self._differs is None and self.is_new and self.program is not None:
            # slow to import
            from .difference import UNLIKE, Difference, difference_of

            found = difference_of(
                self.program.structure, str(self.site), hooks.ran_before(self.number))
            if not found.known and self._known:
                # they are forgotten
                found = Difference(UNLIKE, self._known)
            self._differs = found
        return self._differs

    @property
    def difference(self) -> str | None:
        """:attr:`differs` in words."""
        differs = self.differs
        return None if differs is None else differs.text()

    def difference_from(self, other: Evaluation) -> Difference:
        """How its program differs from another record's: without changes if they are equal.

        Raises ArgumentError if one of the two ran no program.
        """
        if self.program is None or other.program is None:
            raise ArgumentError(
                "difference_from: evaluation "
                f"{self.number if self.program is None else other.number} ran no program, expected "
                "records of runs")
        from .difference import CHANGED, Difference, changes_between

        where = str(other.site)
        a, b = self.program, other.program
        return Difference(
            CHANGED, 1, where, where == str(self.site),
            [] if a == b else changes_between(a.structure, b.structure))

    def ran_first(self, known: int) -> None:
        """Note that no run had its structure before, and how many others there were."""
        self.is_new = True
        self._known = known

    def returns_less(self) -> None:
        """Note that its program was compiled again, as it did not return what is wanted."""
        from .difference import RESULTS, Difference

        self._differs = Difference(RESULTS, 1)

    @property
    def bytes_in(self) -> int:
        """The size of the inputs."""
        if self.form == "op_by_op":
            # rarely asked for
            program = self.program
            assert program is not None
            return sum(t.nbytes for t in program.structure.leaf_types)
        return self._bytes_in

    @bytes_in.setter
    def bytes_in(self, size: int) -> None:
        self._bytes_in = size

    def ran_op_by_op(self, structure: Any, wanted: Any, donatable: Any) -> None:
        """Note that it ran op by op, and what :attr:`program` is made of."""
        self.form = self.found = "op_by_op"
        self._asked = (structure, wanted, donatable)

    def looked_up(self, seconds: float) -> None:
        """Note how long it was until the run began, less the phases that this had in it."""
        timings = self.timings
        if len(timings) > 1:
            for phase in _BEFORE:
                seconds -= timings.get(phase, 0.0)
        # clocks of phases that others measure need not agree to the last bit
        timings[LOOKUP] = seconds if seconds > 0.0 else 0.0

    def started_up(self, since: float) -> float:
        """Note what this thread spent on starting since a time; these seconds.

        (:mod:`lazyloom.startup`)
        """
        seconds: float = taken(since)
        if seconds > 0.0:
            self.timings[START] = self.timings.get(START, 0.0) + seconds
        return seconds

    def waited(self, seconds: float) -> None:
        """Note that a reader waited for its results."""
        self.timings[WAIT] = self.timings.get(WAIT, 0.0) + seconds

    def chosen(
        self, choice: str, runs: int, spent: float, saved: float, estimate: float, startup: float,
        failure: str,
    ) -> None:  # fmt: skip
        """Note why it ran op by op, what such runs have cost, and what compiling would."""
        self.choice = choice
        self.runs = runs
        self.spent = spent
        self.saved = saved
        self.estimate = estimate
        self.startup = startup
        self.failure = failure

    def ran_padded(
        self, structure: Any, wanted: Any, donatable: Any, padding: Any, values: Any
    ) -> None:
        """Note that a program for many extents ran, and what :attr:`program` is made of."""
        self.form = "padded"
        self.padding = list(zip(values, padding.bucket, strict=True))
        self._asked = (structure, wanted, donatable)

    @property
    def key(self) -> str:
        """The program's key, in hex."""
        return self.program.key if self.program is not None else ""

    def text(self) -> str:
        """The record for people to read."""
        on = f" on {self.backend}" if self.backend else ""
        found = self.found.replace("_", " ") or "not run"
        lines = [
            f"evaluation {self.number}: {self.reason} at {self.site.text()}",
            f"  program  {self.key[:16]}, {self.ops} ops{on}, {found}",
        ]
        difference = self.difference
        if difference:
            new = "compiled" if self.found == "compiled" else "new"
            lines.append(f"  {new} because " + difference.replace("\n", "\n    "))
        if self.form == "compiled" and self.why:
            lines.append(f"  form     compiled; {self.why}")
        if self.form == "op_by_op":
            lines.append(f"  form     op by op: {self.why}" + (
                f": {self.failure}" if self.failure else ""))
            lines.append(f"  so far   {self._so_far()}")
        if self.kernel_failure:
            lines.append(f"  kernel   {self.kernel_failure}; the op was compiled in its place")
        if self.unpadded:
            lines.append(f"  padding  none: {self.unpadded}")
        if self.form == "padded":
            sizes = ", ".join(f"{n} as {size}" for n, size in self.padding)
            lines.append(f"  form     padded: it computes extents {sizes}")
        if self.form == "compiled" and self.program is not None:
            loops = ", ".join(f"{times} x {ops} ops" for times, ops in hooks.loops(self.program))
            if loops:
                lines.append(f"  loops    {loops}")
        regions = self.regions.text()
        if regions:
            lines.append(f"  regions  {regions}")
        if self.parts:
            total = sum(part.seconds for part in self.parts)
            lines.append(f"  parts    {len(self.parts)}, one by one, {total * 1e6:.1f} us")
            lines += [f"    {part.text()}" for part in self.parts]
        if self.collectives:
            lines.append(f"  together {len(self.collectives)} collectives, "
                         f"{bytes_together(self.collectives)}")
            lines += [f"    {c.text()}" for c in self.collectives]
        phases = ", ".join(
            f"{k.replace('_', ' ')} {self.timings[k] * 1e3:.2f} ms"
            for k in PHASES if k in self.timings)
        lines.append(f"  time     {phases}")
        uploaded = f" ({self.bytes_uploaded} from the host)" if self.bytes_uploaded else ""
        lines.append(
            f"  memory   {self.bytes_in} bytes in{uploaded}, {self.bytes_out} out, "
            f"{self.bytes_donated} donated")
        if self.copied:
            lines.append(f"  copied   inputs {self.copied}: the program reuses their memory and "
                         "they were still alive this time")
        if self.error is not None:
            lines.append(f"  failed   {self.error}")
        return "\n".join(lines)

    def _so_far(self) -> str:
        """What runs op by op have cost, beside what compiling would."""
        text = (f"{self.runs} runs took" if self.runs != 1 else "1 run took") + (
            f" {self.spent * 1e3:.1f} ms, of which compiled ones could have saved "
            f"{self.saved * 1e3:.1f} ms")
        if self.estimate != math.inf:
            text += f"; compiling is estimated to take {self.estimate * 1e3:.0f} ms"
            if self.startup:
                text += f", {self.startup * 1e3:.0f} ms of it until what compiles has started"
        return text

    def _repr_html_(self) -> str:
        """What a notebook shows: the text."""
        return as_html(self.text())

    def __repr__(self) -> str:
        return f"<Evaluation {self.number}: {self.reason} at {self.site}, {self.found}>"


_numbers: Final = itertools.count(1)


def new_evaluation(reason: str, site: Site) -> Evaluation:
    record = Evaluation(next(_numbers), reason, site)
    _records.append(record)
    while len(_records) > tuning.records_kept:
        _records.popleft()
    return record


def stats() -> Mapping[str, int]:
    """A copy of the process's counters; see the names in ``lazyloom.counters``.

    Example:

        >>> before = lazyloom.stats()["ops_traced"]
        >>> x = np.arange(3.0) * 2
        >>> lazyloom.stats()["ops_traced"] > before
        True
    """
    return {"ops_traced": trace.recorded, **counters}


def last_evaluation() -> Evaluation | None:
    """The record of the newest evaluation, or None before the first.

    Example:

        >>> total = float((np.arange(3.0) + 1).sum())
        >>> lazyloom.last_evaluation().reason
        'read'
    """
    return _records[-1] if _records else None


def evaluations(count: int | None = None) -> list[Evaluation]:
    """Records of the newest evaluations, oldest first; the option ``records_kept`` says how many
    there are.

    Example:

        >>> total = float((np.arange(3.0) + 1).sum())
        >>> len(lazyloom.evaluations(1))
        1
    """
    found = list(_records)
    return found if count is None else found[-count:] if count > 0 else []
