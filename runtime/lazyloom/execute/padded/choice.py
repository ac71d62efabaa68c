"""The choice of a padded program for a run, and when one is compiled.

Once three members of a family were seen, what they cost op by op adds up by bucket, and earns the
compilation of a padded program for all extents of the bucket, beside the program, as
:mod:`~lazyloom.execute.choose` has it for one structure.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from ... import settings
from ...backends.backend import NotPadded
from ...cache import disk, memory
from ...interrupts import reraise_from_handler
from ...program.extents import Form
from ...program.plan import Plan
from .. import ab_timing, choose, compile_costs, costs
from ..comparison import stays_op_by_op, was_slower
from ..compiling import background, programs
from ..history import History, history_of
from ..prepare import estimated
from . import extent_marks
from .extent_marks import Mark
from .members import ALONE, MEMBERS, Member, State, StructureFamily, member_of
from .targets import Target

#: bytes that padding may add to all values of a run together
MOST_BYTES: Final = 1 << 29


class Chosen(NamedTuple):
    """A padded program, and the extents of a run of it."""

    target: Target
    values: tuple[int, ...]

    def donatable(self, plan: Plan) -> list[int]:
        """The leaves that may be donated, of those that are not padded at any extent."""
        leaves = self.target.padding.leaves
        return [k for k in plan.donatable if all(map(str.isdigit, leaves[k]))]


def ready(entry: memory.Entry, plan: Plan, donate: bool, waits: bool) -> Chosen | None:
    """The padded program that a run of the plan takes, and its extents; None if there is none yet.

    It may be loaded from disk, or have to be compiled beside the program; if that ``waits`` for a
    compiler anyhow, for this one.
    """
    if settings.reproducible() or history_of(entry).compiled_only or (
        len(plan.nodes) < costs.PADDED_OPS or entry.choice.watched
    ):
        return None
    member = member_of(entry)
    if member is None or member is ALONE:
        return None
    family = member.family
    if family.refused:
        plan.evaluation.unpadded = family.refused
        return None
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
    # another of the same size may serve, such as one with a smaller smallest extent
    there = found is own or own.returns(plan.wanted)
    if not there and not own.refused and not stays_op_by_op(own.entry):
        chosen = Chosen(own, values)
        if _loaded(chosen, entry, plan, donate, family, bool(marks)) or _compiled(
            chosen, entry, plan, donate, family, waits, bool(marks)
        ):
            return chosen
        if own.refused:
            family.refused = variation.refusal()
    if found is None:
        plan.evaluation.unpadded = own.refused
        return None
    if found is not own and not waits and _slower(found, own):
        return None
    return Chosen(found, values)


def _slower(found: Target, own: Target) -> bool:
    """Whether a larger bucket's program took longer than members of their own bucket op by op."""
    took, before = history_of(found.entry).compared[1:], history_of(own.entry).recent
    return bool(took and before) and min(took) > costs.SLOWER * min(before)


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


def _loaded(
    chosen: Chosen, entry: memory.Entry, plan: Plan, donate: bool, family: StructureFamily,
    marked: bool
) -> bool:
    """Whether the padded program was on disk; it is looked for there once that has paid."""
    target = chosen.target.entry
    if target.looked or history_of(target).queued or not disk.enabled():
        return False
    # all programs share the start of JAX's client
    load = costs.start_seconds() + costs.load_estimate(len(plan.nodes))
    if not marked and family.saved + estimated(history_of(entry), plan).run < load:
        return False
    if was_slower(target):
        return False
    with target.lock:
        return programs.look(target, plan.wanted, donate, plan.evaluation) is None


def _compiled(
    chosen: Chosen, entry: memory.Entry, plan: Plan, donate: bool, family: StructureFamily,
    waits: bool, marked: bool
) -> bool:
    """Whether the padded program is there now, compiled; it may be requested beside the program.

    That is done at once where it is ``marked``, and waited for where the program ``waits``.
    """
    target = chosen.target.entry
    history = history_of(target)
    if history.compile_estimate == 0.0:
        history.expect(len(plan.nodes), estimated(history_of(entry), plan).heavy)
    if history.queued or history.slower or (family.members < MEMBERS and not marked):
        return False
    if waits:
        return _compiled_now(chosen, target, plan, donate)
    saved = choose.could_save(history)
    if not marked and (family.saved < costs.start_seconds() or saved == 0.0):
        return False
    price = history.compile_estimate + background.start_seconds()
    earned = saved >= price
    if not (marked or earned or _is_early(history, price)):
        return False
    if background.request(
        target, plan.wanted, chosen.donatable(plan), donate, plan.evaluation.site
    ):
        return False
    return earned and _compiled_now(chosen, target, plan, donate)


def _is_early(history: History, price: float) -> bool:
    """Whether a padded program is one for a compiler that has nothing else to do."""
    now = ab_timing.clock()
    found = choose.comes_back(history, price, now) and background.idle() and (
        compile_costs.affordable())
    history.next_round(now)
    return found


def _compiled_now(chosen: Chosen, target: memory.Entry, plan: Plan, donate: bool) -> bool:
    """Compile the padded program, and wait for it; False where that cannot be done."""
    try:
        with target.lock:
            programs.find(target, plan.wanted, chosen.donatable(plan), donate, plan.evaluation)
        return True
    except Exception as error:
        # the program at its own extents can do without
        reraise_from_handler(error)
        history_of(target).unpadded = (
            str(error) if isinstance(error, NotPadded) else f"{type(error).__name__}: {error}")
        return False


def ran_padded(entry: memory.Entry, chosen: Chosen, seconds: float) -> None:
    """Take account of the work that a run has done in vain.

    It counts for the structure's own program, and for that of its own bucket.
    """
    target = chosen.target
    history = history_of(entry)
    history.wasted(seconds * (1 - math.prod(chosen.values) / target.size), 1)
    member: Member | None = history.member
    state = None if member is None else member.state
    if state is not None and state.target is not None and state.target is not target:
        history_of(state.target.entry).wasted(
            seconds * max(0.0, 1 - state.target.size / target.size))
