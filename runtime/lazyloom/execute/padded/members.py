"""Groups of structures that differ in extents alone, and what their runs have cost."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, final

from ...cache import memory
from ...program import families
from ...program.extents import form_of
from ...program.program import Structure
from ...settings import WITHOUT
from ..history import history_of
from .targets import Target, Variation

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
class StructureFamily:
    """Structures that differ in extents alone.

    Attributes:
        members: how many were seen.
        examples: numbers of some, the newest last.
        variation: how these go together, or None before that was seen.
        saved: seconds that padded programs could have saved of members' runs op by op.
        mistakes: how often another variation was needed.
        refused: why there are no padded programs at all, or "".
    """

    __slots__ = ("members", "examples", "variation", "saved", "mistakes", "refused")

    def __init__(self) -> None:
        self.members: int = 0
        self.examples: list[tuple[int, ...]] = []
        self.variation: Variation | None = None
        self.saved: float = 0.0
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

    def __init__(self, family: StructureFamily, numbers: tuple[int, ...]) -> None:
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

    def ran_op_by_op(self, seconds: float) -> None:
        """Take account of what a run has cost that a padded program would have done."""
        state = self.state
        if state is not None and state.target is not None:
            history = history_of(state.target.entry)
            history.could_have_served(seconds)
            if seconds > history.least:
                self.family.saved += seconds - history.least

    def goes_first(self) -> bool:
        """Whether a padded program is to be compiled before the structure's own."""
        state, family = self.state, self.family
        return state is not None and state.target is not None and (
            family.members >= MEMBERS and not family.refused
            and not history_of(state.target.entry).slower)


#: what no other is like, or nobody looks whether one is
ALONE: Final = Member(StructureFamily(), ())

#: of each size of a structure the first one, or None once there were others
_first: Final[dict[tuple[int, int, bool], Structure | None]] = {}
_families: Final[dict[Any, StructureFamily]] = {}


def member_of(entry: memory.Entry) -> Member | None:
    """What the entry's structure is in its family; None while it is the only one of its size."""
    history = history_of(entry)
    found: Member | None = history.member
    if found is not None:
        return found
    structure = entry.structure
    if "padding" in WITHOUT or (
        len(structure.stream) > MOST_ITEMS or structure.padding is not None
    ):
        history.member = ALONE
        return ALONE
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
        family = _families.setdefault(key, StructureFamily())
    family.add(numbers)
    member = history_of(entry).member = Member(family, numbers)
    return member


def known() -> list[StructureFamily]:
    """The families that were seen."""
    return list(_families.values())


def clear() -> None:
    """Forget all families."""
    _first.clear()
    _families.clear()
