"""Which padded program a run takes, and when one is compiled.

Structures that differ in extents alone are a family. Once three members were seen, what they cost
in pieces adds up by bucket, and earns the compilation of a padded program for all extents of the
bucket, beside the program, as forms.py has it for one structure. On disk it is looked for at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from .. import settings
from ..cache import disk, memory
from ..errors import LoomError
from ..program import families
from ..program.extents import Form, form_of
from ..program.loops import compile_seconds
from ..program.plan import Plan
from ..program.program import Structure
from . import background, extent_marks, forms, programs, waiting
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
#: families, and first structures of their size
KEPT: Final = 1024


@final
class Target:
    """The padded program of a bucket.

    Attributes:
        entry: of the structure at the bucket.
        size: the product of the bucket's extents.
    """

    __slots__ = ("entry", "size")

    def __init__(self, entry: memory.Entry) -> None:
        self.entry: Final = entry
        assert entry.structure.padding is not None
        self.size: Final = _product(entry.structure.padding.bucket)

    def serves(self, values: tuple[int, ...]) -> bool:
        padding = self.entry.structure.padding
        return padding is not None and padding.serves(values)

    def returns(self, wanted: list[tuple[int, int]]) -> bool:
        return self.entry.program is not None and all(p in self.entry.position for p in wanted)


@final
class Family:
    """Structures that differ in extents alone.

    Attributes:
        members: how many were seen.
        examples: numbers of some, the newest last.
        form: how these numbers follow from symbols, or None.
        targets: the padded programs, by whether they may donate and bucket.
        spent: seconds that members have run in pieces.
        mistakes: how often another form was needed.
        refused: why there are no padded programs, or "".
    """

    __slots__ = ("members", "examples", "form", "targets", "spent", "mistakes", "refused")

    def __init__(self) -> None:
        self.members: int = 0
        self.examples: list[tuple[int, ...]] = []
        self.form: Form | None = None
        self.targets: dict[tuple[bool, tuple[int, ...]], Target] = {}
        self.spent: float = 0.0
        self.mistakes: int = 0
        self.refused: str = ""

    def add(self, numbers: tuple[int, ...]) -> None:
        """Take note of another member."""
        self.members += 1
        if self.form is not None and self.form.values(numbers) is not None:
            return
        self.examples = [*self.examples[1 - REMEMBERED :], numbers]
        found = None
        for examples in (self.examples, self.examples[-3:], self.examples[-2:]):
            if len(examples) > 1:
                found = found or form_of(examples)
        if found is None:
            return
        if self.form is not None:
            self.mistakes += 1
            if self.mistakes > MISTAKES:
                self.refused = "what varies does so in too many ways"
        self.form = found
        self.targets = {}

    def target(
        self, structure: Structure, donate: bool, values: tuple[int, ...], marks: dict[int, Mark]
    ) -> Target | None:
        """The padded program of the bucket of these values; None if there can be none."""
        bucket = []
        lowest = []
        for symbol, n in enumerate(values):
            mark = marks.get(symbol)
            if mark is not None and mark.high is not None:
                high, low = mark.high, 2
            else:
                high = families.bucket_of(n)
                low = high // 2
            if mark is not None and mark.low is not None:
                low = max(low, mark.low)
            bucket.append(high)
            lowest.append(max(2, low))
        found = self.targets.get((donate, tuple(bucket)))
        if found is None:
            assert self.form is not None
            try:
                padded = families.padded(structure, self.form, bucket, lowest)
            except LoomError as error:
                self.refused = str(error)
                return None
            found = Target(memory.entry_of(padded, donate))
            self.targets[donate, tuple(bucket)] = found
        return found

    def serving(
        self, values: tuple[int, ...], donate: bool, wanted: list[tuple[int, int]]
    ) -> Target | None:
        """The smallest padded program in memory that is for these values."""
        best: Target | None = None
        for (donates, _), target in self.targets.items():
            if donates == donate and target.serves(values) and target.returns(wanted) and (
                not forms.stays(target.entry) and (best is None or target.size < best.size)
            ):
                best = target
        return best


@final
class Member:
    """A structure in its family: its numbers, and the values of the symbols."""

    __slots__ = ("family", "numbers", "form", "values", "target")

    def __init__(self, family: Family, numbers: tuple[int, ...]) -> None:
        self.family: Final = family
        self.numbers: Final = numbers
        self.form: Form | None = None
        self.values: tuple[int, ...] | None = None
        #: the program of its own bucket, whether it is compiled or not
        self.target: Target | None = None

    def follows(self) -> bool:
        """Whether its numbers follow from the family's symbols."""
        form = self.family.form
        if self.form is not form:
            self.form = form
            self.target = None
            found = None if form is None else form.values(self.numbers)
            self.values = None if found is None else tuple(found)
        return self.values is not None

    def goes_first(self) -> bool:
        """Whether a padded program is to be compiled before the structure's own."""
        family = self.family
        return family.members >= MEMBERS and not family.refused and self.values is not None and (
            self.target is not None and not self.target.entry.stays)


#: of each size of a structure the first one, or None once there were others
_first: Final[dict[tuple[int, int, bool], memory.Entry | None]] = {}
_families: Final[dict[Any, Family]] = {}


def member_of(entry: memory.Entry) -> Member | None:
    """What the entry's structure is in its family; None while it is the only one of its size."""
    found: Member | None = entry.member
    if found is not None or entry.alone:
        return found
    structure = entry.structure
    size = (len(structure.stream), len(structure.leaf_types), entry.donate)
    if len(structure.stream) > MOST_ITEMS or structure.padding is not None:
        entry.alone = True
        return None
    if size not in _first:
        if len(_first) >= KEPT:
            del _first[next(iter(_first))]
        _first[size] = entry
        return None
    other = _first[size]
    if other is entry:
        return None
    if other is not None:
        _first[size] = None
        _join(other)
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
    if member is None or member.family.refused or not member.follows():
        return None
    family = member.family
    values = member.values
    assert values is not None
    marks = _marks(entry, plan, member)
    if not all(mark.dynamic for mark in marks.values()):
        return None
    found = family.serving(values, donate, plan.wanted)
    own = member.target
    if own is None or not own.serves(values):
        own = family.target(entry.structure, donate, values, marks)
        if own is None:
            return None
        member.target = own
    if found is own:
        return own, values
    if not forms.stays(own.entry):
        if _obtained(own.entry, entry, plan, donate, family, waits, bool(marks)):
            return own, values
        if family.refused:
            return None
    return None if found is None else (found, values)


def _marks(entry: memory.Entry, plan: Plan, member: Member) -> dict[int, Mark]:
    """What the program says of the symbols, by the marks on the plan's leaves."""
    if not extent_marks.used:
        return {}
    assert member.form is not None
    ranks = [len(t.shape) for t in entry.structure.leaf_types]
    return extent_marks.of_symbols(plan.leaves, ranks, member.form)


def _obtained(
    target: memory.Entry, entry: memory.Entry, plan: Plan, donate: bool, family: Family,
    waits: bool, marked: bool,
) -> bool:  # fmt: skip
    """Whether the padded program is there now; it may be asked for, at once if it is ``marked``."""
    if target.unpadded:
        family.refused = target.unpadded
        return False
    ops = len(plan.nodes)
    if target.estimate == 0.0:
        target.estimate = forms.COMPILE + compile_seconds(ops)
    run = forms.estimated(entry, plan)[0]
    start = forms.start_seconds()
    # all programs share the start of JAX's client
    if not target.looked and not target.queued and disk.enabled() and (
        family.spent + run >= start + forms.LOAD + forms.LOAD_PER_OP * ops
    ):
        with target.lock:
            if programs.look(target, plan.wanted, donate, plan.evaluation) is None:
                return True
    if target.queued or (family.members < MEMBERS and not marked):
        return False
    donatable = unchanged(plan, target.structure)
    if waits:
        try:
            with target.lock, waiting.told(target.structure, plan.evaluation):
                programs.find(target, plan.wanted, donatable, donate, plan.evaluation)
            return True
        except NotPadded as error:
            target.unpadded = family.refused = str(error)
            return False
    if family.spent < start and not marked:
        return False
    estimate = target.estimate
    if marked or target.spent >= estimate or (
        forms.is_early(target, estimate) and background.idle()
    ):
        background.request(target, plan.wanted, donatable, donate, plan.evaluation.site)
    return False


def ran_in_pieces(entry: memory.Entry, seconds: float) -> None:
    """Take account of what a run has cost that a padded program would have done."""
    member: Member | None = entry.member
    if member is not None and member.target is not None:
        target = member.target.entry
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
    entry.spent += seconds * (1 - _product(values) / target.size)
    member: Member | None = entry.member
    if member is not None and member.target is not None and member.target is not target:
        own = member.target
        own.entry.runs += 1
        own.entry.spent += seconds * (1 - own.size / target.size)


def unchanged(plan: Plan, structure: Structure) -> list[int]:
    """The leaves that may be donated, of those that are not padded."""
    own, others = plan.structure.leaf_types, structure.leaf_types
    return [k for k in plan.donatable if own[k] is others[k]]


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


def _product(values: Sequence[int]) -> int:
    found = 1
    for n in values:
        found *= n
    return found
