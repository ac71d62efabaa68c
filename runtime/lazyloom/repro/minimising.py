"""Delta debugging: the smallest program that is found which still has the same fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from ..errors import ArgumentError
from ..types import TensorType
from . import reducing
from .reducing import Draft
from .running import OP_BY_OP, Fault, findings_of, values_so_far
from .saved import SavedProgram

#: seconds for which smaller programs are looked for
SECONDS: Final = 120.0


class Minimised:
    """What was found.

    Attributes:
        saved: the smallest program.
        fault: what is wrong with it.
        tried: how many programs were run.
        complete: nothing smaller was found; the time was not over.
        interrupted: SIGINT ended the search.
    """

    def __init__(self, saved: SavedProgram, fault: Fault) -> None:
        self.saved = saved
        self.fault = fault
        self.tried = 0
        self.complete = False
        self.interrupted = False


class _Over(Exception):
    """The time is over."""


def minimised(
    saved: SavedProgram, tolerance: float | None = None, seconds: float = SECONDS,
    say: Callable[[str], None] | None = None,
    fault_of: Callable[[SavedProgram], Fault | None] | None = None,
) -> Minimised:
    """Look for a smaller program with the same fault.

    Ops are dropped, in halves, quarters and so on, their results given as inputs; results and ops
    at the end are dropped; an op's operand takes its result's place; extents become smaller, and
    inputs constants; until none of this leaves the fault there.

    Args:
        tolerance: by how much the forms may differ (:func:`lazyloom.repro.running.difference`).
        seconds: after these, or an interrupt (SIGINT), the smallest program so far is it.
        say: called with a line whenever a smaller one is found.
        fault_of: what is wrong with a program; found in this process by default.

    Raises ArgumentError if nothing is wrong with the program.
    """
    fault = findings_of(saved, tolerance).fault if fault_of is None else fault_of(saved)
    if fault is None:
        raise ArgumentError(
            "repro: nothing is wrong with the program here, expected one that fails or whose forms "
            "differ; --tolerance says by how much they may")
    return _Search(saved, fault, tolerance, seconds, say, fault_of).run()


class _Search:
    def __init__(
        self, saved: SavedProgram, fault: Fault, tolerance: float | None, seconds: float,
        say: Callable[[str], None] | None,
        fault_of: Callable[[SavedProgram], Fault | None] | None,
    ) -> None:
        self._best: Final = Minimised(saved, fault)
        self._tolerance: Final = tolerance
        self._until: Final = time.monotonic() + seconds
        self._say: Final = say
        self._elsewhere: Final = fault_of
        #: op by op it can be run here
        self._safe: Final = fault_of is None or fault.form != OP_BY_OP
        self._draft = reducing.draft_of(saved)
        self._size = reducing.size_of(self._draft, saved)

    def run(self) -> Minimised:
        try:
            smaller = True
            while smaller:
                # a plain or: each of them is tried
                smaller = self._first(reducing.single_outputs(self._draft))
                smaller |= self._ends()
                smaller |= self._dropped()
                smaller |= self._again(lambda: reducing.bypassed(self._draft, self._types()))
                smaller |= self._again(lambda: reducing.smaller_extents(self._draft))
                smaller |= self._again(lambda: reducing.simpler_data(self._draft))
            self._best.complete = True
        except _Over:
            pass
        except KeyboardInterrupt:
            # what was found took long, and who ends the search wants it
            self._best.interrupted = True
        return self._best

    def _types(self) -> list[tuple[TensorType, ...]]:
        return [i.types for i in self._best.saved.program.structure.instructions]

    def _takes(self, draft: Draft | None) -> bool:
        """Try a draft, and take it if it is smaller and has the same fault."""
        if draft is None:
            return False
        saved = reducing.saved_of(draft)
        if saved is None:
            return False
        size = reducing.size_of(draft, saved)
        if size >= self._size:
            return False
        if time.monotonic() > self._until:
            raise _Over
        self._best.tried += 1
        fault = self._fault_of(saved)
        if fault is None or not self._best.fault.is_same(fault):
            return False
        # first the one that may be without the other: an interrupt may come in between
        self._best.fault = fault
        self._best.saved = saved
        # numbered anew, without what is not needed
        self._draft, self._size = reducing.draft_of(saved), size
        if self._say is not None:
            self._say(f"{size[0]:.0f} ops, {size[2]:.0f} elements of input, after "
                      f"{self._best.tried} programs")
        return True

    def _fault_of(self, saved: SavedProgram) -> Fault | None:
        if self._elsewhere is not None:
            return self._elsewhere(saved)
        return findings_of(saved, self._tolerance, locate=False).fault

    def _first(self, drafts: Iterable[Draft]) -> bool:
        """Take the first of some drafts that can be taken."""
        return any(self._takes(draft) for draft in drafts)

    def _again(self, drafts: Callable[[], Iterable[Draft]]) -> bool:
        """Take drafts as long as there are any; what they are depends on what was taken."""
        found = False
        while self._first(drafts()):
            found = True
        return found

    def _ends(self) -> bool:
        counts = [len(t) for t in self._types()]
        return self._first(reducing.earlier_outputs(self._draft, counts, self._best.fault.op))

    def _dropped(self) -> bool:
        """Drop ops in parts, which become smaller and smaller."""
        found = False
        size = max(len(self._draft.ops) // 2, 1)
        while True:
            at = 0
            while at < len(self._draft.ops):
                values = values_so_far(self._best.saved) if self._safe else []
                part = range(at, min(at + size, len(self._draft.ops)))
                if self._takes(reducing.without(self._draft, part, values, self._types())):
                    # what was there is gone, and what follows is at its place
                    found = True
                else:
                    at += size
            if size == 1:
                return found
            size = max(size // 2, 1)
