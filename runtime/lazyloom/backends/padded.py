"""Which padded program a run takes, and when one is compiled.

Structures that differ in extents alone are a family. Once three members were seen, what they cost
in pieces adds up by bucket, and earns the compilation of a padded program for all extents of the
bucket, beside the program, as forms.py has it for one structure.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final, NamedTuple, final

import numpy as np

from .. import settings
from ..cache import disk, memory
from ..errors import LoomError
from ..interrupts import reraise_from_handler
from ..program import families
from ..program.extents import Form, form_of
from ..program.loops import compile_seconds
from ..program.padding import Padding
from ..program.plan import Plan
from ..program.program import Structure
from . import background, extent_marks, forms, programs
from .backend import NotPadded
from .data import given
from .extent_marks import Mark
from .selection import backend

#: structures of fewer ops run in pieces as quickly as one is padded
LEAST_OPS: Final = 12
#: those with longer streams are not looked at: telling whether they are alike takes time
MOST_ITEMS: Final = 50_000
#: members that were seen before a padded program is compiled
MEMBERS: Final = 3
#: extents of members that are remembered to see what varies, and how often that may be mistaken
REMEMBERED: Final = 6
MISTAKES: Final = 6
#: bytes that padding may add to all values of a run together
MOST_BYTES: Final = 1 << 29
#: buckets that a family may have, and how many are refused before all are
TARGETS: Final = 64
REFUSALS: Final = 3
#: families, and first structures of their size
KEPT: Final = 1024


@final
class Target:
    """The padded program of a bucket.

    Attributes:
        structure: at the bucket, with its padding.
        size: the product of the bucket's extents.
        values: the bytes of all its values.
        refused: why there is no such program, or "".
    """

    __slots__ = ("structure", "donate", "padding", "size", "values", "refused")

    def __init__(self, structure: Structure, padding: Padding, donate: bool) -> None:
        self.structure: Final = structure
        self.donate: Final = donate
        self.padding: Final = padding
        self.size: Final = math.prod(padding.bucket)
        self.values: Final = sum(t.nbytes for t in structure.leaf_types) + sum(
            t.nbytes for i in structure.instructions for t in i.types)
        self.refused: str = ""

    @property
    def entry(self) -> memory.Entry:
        """What is known of the program; memory may have forgotten it and begin again."""
        return memory.entry_of(self.structure, self.donate)

    def returns(self, wanted: list[tuple[int, int]]) -> bool:
        """Whether the program is there, gives these results and is not slower than pieces."""
        entry = memory.known(self.structure, self.donate)
        return entry is not None and entry.program is not None and not forms.stays(entry) and all(
            p in entry.position for p in wanted)


@final
class Variation:
    """How the extents of a family go together, as far as its members have shown.

    Attributes:
        form: how their numbers follow from symbols.
        targets: the padded programs, by whether they may donate, bucket and smallest extents.
    """

    __slots__ = ("form", "targets")

    def __init__(self, form: Form) -> None:
        self.form: Final = form
        self.targets: Final[dict[tuple[bool, tuple[int, ...], tuple[int, ...]], Target | None]] = {}

    def target(
        self, structure: Structure, donate: bool, values: tuple[int, ...], marks: dict[int, Mark]
    ) -> Target | None:
        """The padded program of the bucket of these values; None if there is none."""
        bucket = []
        lowest = []
        for symbol, n in enumerate(values):
            mark = marks.get(symbol)
            if mark is not None and mark.high is not None:
                high = mark.high
                # what definitions decide by the extent they do for small ones
                low = min(families.SMALLEST // 2, n)
            else:
                high = families.bucket_of(n)
                low = high // 2
            if mark is not None and mark.low is not None:
                low = max(low, mark.low)
            bucket.append(high)
            lowest.append(max(2, low))
        if not all(map(operator.le, lowest, values)) or not all(map(operator.le, values, bucket)):
            return None
        key = (donate, tuple(bucket), tuple(lowest))
        found = self.targets.get(key)
        if found is None and key not in self.targets and len(self.targets) < TARGETS:
            found = self.targets[key] = self._fitting(structure, donate, values, bucket, lowest)
        return found

    def _fitting(
        self, structure: Structure, donate: bool, values: tuple[int, ...], bucket: list[int],
        lowest: list[int],
    ) -> Target | None:  # fmt: skip
        """The program of that bucket, or of the largest part of it at which the shapes fit.

        A table of 100 rows has no 128, of which the first so many are taken.
        """
        try:
            return Target(*families.padded(structure, self.form, bucket, lowest), donate)
        except LoomError:
            if len(bucket) > 1:
                return None
        found: Target | None = None
        fits, fails = values[0], bucket[0]
        while fits < fails:
            middle = (fits + fails) // 2
            try:
                found = Target(*families.padded(structure, self.form, [middle], lowest), donate)
                fits = middle + 1
            except LoomError:
                fails = middle
        return found

    def serving(
        self, values: tuple[int, ...], donate: bool, wanted: list[tuple[int, int]]
    ) -> Target | None:
        """The smallest padded program in memory that is for these values."""
        best: Target | None = None
        for target in list(self.targets.values()):
            if target is not None and target.donate == donate and (
                (best is None or target.size < best.size)
                and target.padding.serves(values) and target.returns(wanted)
            ):
                best = target
        return best

    def refusal(self) -> str:
        """Why no program is to be expected any more: several were refused, and none is there."""
        reasons = [t.refused for t in list(self.targets.values()) if t is not None and t.refused]
        if len(reasons) < REFUSALS or any(
            t is not None and t.returns([]) for t in list(self.targets.values())
        ):
            return ""
        return reasons[-1]


@final
class Family:
    """Structures that differ in extents alone.

    Attributes:
        members: how many were seen.
        examples: numbers of some, the newest last.
        variation: how these go together, or None before that was seen.
        spent: seconds that members have run in pieces.
        mistakes: how often another variation was needed.
        refused: why there are no padded programs at all, or "".
    """

    __slots__ = ("members", "examples", "variation", "spent", "mistakes", "refused")

    def __init__(self) -> None:
        self.members: int = 0
        self.examples: list[tuple[int, ...]] = []
        self.variation: Variation | None = None
        self.spent: float = 0.0
        self.mistakes: int = 0
        self.refused: str = ""

    def add(self, numbers: tuple[int, ...]) -> None:
        """Take note of another member."""
        self.members += 1
        known = self.variation
        follows = known is not None and known.form.values(numbers) is not None
        if follows and self.members > MEMBERS:
            return
        self.examples = [*self.examples[1 - REMEMBERED :], numbers]
        if known is not None and follows:
            # three say more than two of what goes together
            again = form_of(self.examples, affine=True)
            if again is not None and len(again.bases) < len(known.form.bases):
                self.refused = ""
                self.variation = Variation(again)
            return
        found = None
        for examples in (self.examples, self.examples[-3:], self.examples[-2:]):
            if len(examples) > 1:
                found = found or form_of(examples, affine=True)
        if found is None:
            return
        if known is not None:
            self.mistakes += 1
        self.refused = "" if self.mistakes <= MISTAKES else (
            "what varies does so in too many ways")
        self.variation = Variation(found)


class State(NamedTuple):
    """What a member is in a variation, one object for threads to take over as a whole.

    Attributes:
        values: the symbols' values, None where its numbers do not follow from any.
        target: the program of its own bucket, whether it is compiled or not.
    """

    variation: Variation
    values: tuple[int, ...] | None
    target: Target | None


@final
class Member:
    """A structure in its family."""

    __slots__ = ("family", "numbers", "state")

    def __init__(self, family: Family, numbers: tuple[int, ...]) -> None:
        self.family: Final = family
        self.numbers: Final = numbers
        self.state: State | None = None

    def current(self) -> State | None:
        """What it is in the family's variation; None if there is none."""
        variation = self.family.variation
        if variation is None:
            return None
        state = self.state
        if state is None or state.variation is not variation:
            values = variation.form.values(self.numbers)
            state = self.state = State(variation, None if values is None else tuple(values), None)
        return state

    def goes_first(self) -> bool:
        """Whether a padded program is to be compiled before the structure's own."""
        state, family = self.state, self.family
        return state is not None and state.target is not None and (
            family.members >= MEMBERS and not family.refused and not state.target.entry.stays)


#: of each size of a structure the first one, or None once there were others
_first: Final[dict[tuple[int, int, bool], Structure | None]] = {}
_families: Final[dict[Any, Family]] = {}


def member_of(entry: memory.Entry) -> Member | None:
    """What the entry's structure is in its family; None while it is the only one of its size."""
    found: Member | None = entry.member
    if found is not None or entry.alone:
        return found
    structure = entry.structure
    if len(structure.stream) > MOST_ITEMS or structure.padding is not None:
        entry.alone = True
        return None
    size = (len(structure.stream), len(structure.leaf_types), entry.donate)
    if size not in _first:
        if len(_first) >= KEPT:
            _first.pop(next(iter(_first)), None)
        _first[size] = structure
        return None
    other = _first[size]
    if other is structure:
        return None
    if other is not None:
        _first[size] = None
        _join(memory.entry_of(other, entry.donate))
    return _join(entry)


def _join(entry: memory.Entry) -> Member:
    key, numbers = families.outline_of(entry.structure)
    family = _families.get(key)
    if family is None:
        if len(_families) >= KEPT:
            _families.pop(next(iter(_families)), None)
        family = _families.setdefault(key, Family())
    family.add(numbers)
    member = entry.member = Member(family, numbers)
    return member


def ready(
    entry: memory.Entry, plan: Plan, donate: bool, waits: bool
) -> tuple[Target, tuple[int, ...]] | None:
    """The padded program that a run of the plan takes, and its extents; None if there is none yet.

    It may be loaded from disk, or have to be compiled beside the program; if that ``waits`` for a
    compiler anyhow, for this one.
    """
    if settings.reproducible() or entry.refused or len(plan.nodes) < LEAST_OPS:
        return None
    member = member_of(entry)
    if member is None or member.family.refused:
        return None
    family = member.family
    state = member.current()
    if state is None:
        return None
    variation, values, own = state
    if values is None:
        return None
    marks = _marks(entry, plan, variation.form)
    if not all(mark.dynamic for mark in marks.values()):
        return None
    if own is None or marks:
        own = variation.target(entry.structure, donate, values, marks)
        if own is not None and own.values - _bytes(plan) > MOST_BYTES:
            own = None
        # without one there is nothing to be had until what varies is seen to be something else
        member.state = State(variation, values if own is not None or marks else None, own)
        if own is None:
            return None
    if not own.padding.serves(values):
        return None
    found = variation.serving(values, donate, plan.wanted)
    if found is not own and not own.refused and not forms.stays(own.entry):
        if _obtained(own, entry, plan, donate, family, waits, bool(marks)):
            return own, values
        if own.refused:
            family.refused = variation.refusal()
    return None if found is None else (found, values)


def _bytes(plan: Plan) -> int:
    """The size of all values of a plan."""
    return sum(t.nbytes for t in plan.structure.leaf_types) + sum(
        t.nbytes for n in plan.nodes for t in n.types)


def _marks(entry: memory.Entry, plan: Plan, form: Form) -> dict[int, Mark]:
    """What the program says of the symbols, by the marks on the plan's leaves."""
    if not extent_marks.used:
        return {}
    ranks = [len(t.shape) for t in entry.structure.leaf_types]
    return extent_marks.of_symbols(plan.leaves, ranks, form)


def _obtained(
    own: Target, entry: memory.Entry, plan: Plan, donate: bool, family: Family, waits: bool,
    marked: bool,
) -> bool:  # fmt: skip
    """Whether the padded program is there now; it may be asked for, at once if it is ``marked``."""
    target = own.entry
    if target.unpadded:
        own.refused = target.unpadded
        return False
    ops = len(plan.nodes)
    if target.estimate == 0.0:
        target.estimate = forms.COMPILE + compile_seconds(ops)
    run = forms.estimated(entry, plan)[0]
    start = forms.start_seconds()
    # all programs share the start of JAX's client
    if not target.looked and not target.queued and disk.enabled() and (
        marked or family.spent + run >= start + forms.LOAD + forms.LOAD_PER_OP * ops
    ):
        with target.lock:
            if programs.look(target, plan.wanted, donate, plan.evaluation) is None:
                return True
    if target.queued or (family.members < MEMBERS and not marked):
        return False
    if waits:
        return _compiled(own, target, plan, donate)
    if not marked and (family.spent < start or target.spent < forms.WORTH * target.runs):
        return False
    earned = target.spent >= target.estimate
    if (marked or earned or (forms.is_early(target, target.estimate) and background.idle())) and (
        not background.request(
            target, plan.wanted, unchanged(plan, own.padding), donate, plan.evaluation.site)
        and earned
    ):
        return _compiled(own, target, plan, donate)
    return False


def _compiled(own: Target, target: memory.Entry, plan: Plan, donate: bool) -> bool:
    """Compile the padded program, and wait for it; False where that cannot be done."""
    try:
        with target.lock:
            programs.find(
                target, plan.wanted, unchanged(plan, own.padding), donate, plan.evaluation)
        return True
    except Exception as error:
        # the program at its own extents can do without
        reraise_from_handler(error)
        named = str(error) if isinstance(error, NotPadded) else f"{type(error).__name__}: {error}"
        own.refused = target.unpadded = named
        return False


def ran_in_pieces(entry: memory.Entry, seconds: float) -> None:
    """Take account of what a run has cost that a padded program would have done."""
    member: Member | None = entry.member
    state = None if member is None else member.state
    if member is not None and state is not None and state.target is not None:
        target = state.target.entry
        target.runs += 1
        target.spent += seconds
        member.family.spent += seconds
        # not the quickest, which would be of the smallest extents
        target.quickest = target.spent / target.runs


def ran_padded(
    entry: memory.Entry, target: Target, values: tuple[int, ...], seconds: float
) -> None:
    """Take account of the work that a run has done in vain.

    It counts for the structure's own program, and for that of its own bucket.
    """
    entry.runs += 1
    entry.spent += seconds * (1 - math.prod(values) / target.size)
    member: Member | None = entry.member
    state = None if member is None else member.state
    if state is not None and state.target is not None and state.target is not target:
        own = state.target.entry
        own.spent += seconds * max(0.0, 1 - state.target.size / target.size)


def unchanged(plan: Plan, padding: Padding) -> list[int]:
    """The leaves that may be donated, of those that are not padded at any extent."""
    return [k for k in plan.donatable if all(map(str.isdigit, padding.leaves[k]))]


#: the extents of runs on the device, of the newest ones
_extents: Final[dict[tuple[int, ...], Any]] = {}


def extents(values: tuple[int, ...]) -> Any:
    """A device array of extents, as a padded program takes them."""
    found = _extents.get(values)
    if found is None:
        if len(_extents) >= KEPT:
            _extents.clear()
        found = given(backend().upload(np.array(values, np.int64)), "upload")
        _extents[values] = found
    return found


def known() -> list[Family]:
    """The families that were seen."""
    return list(_families.values())


def clear() -> None:
    """Forget all families."""
    _first.clear()
    _families.clear()
