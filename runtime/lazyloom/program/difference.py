"""The difference of a program from the nearest known one: why it is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..settings import tuning
from ..trace.specs import Spec
from ..types import TensorType
from .program import Instruction, Structure, show_operand

# why a program is new

#: nothing ran before it
FIRST: Final = "first"
#: no known program resembles it
UNLIKE: Final = "unlike"
#: a result was wanted that its compiled program does not return
RESULTS: Final = "results"
#: it differs from one that resembles it, by :attr:`Difference.changes`
CHANGED: Final = "changed"

# what a change is of

#: an instruction is another op
OP: Final = "op"
#: an instruction has another value of an attribute
ATTRIBUTE: Final = "attribute"
#: an instruction has other operands
OPERANDS: Final = "operands"
#: there are more or fewer instructions
OPS: Final = "ops"
#: there are more or fewer inputs
INPUTS: Final = "inputs"
#: an input has another shape, another dtype, or lies elsewhere
SHAPE: Final = "shape"
DTYPE: Final = "dtype"
PLACEMENT: Final = "placement"
#: all is equal but what the program may overwrite
DONATION: Final = "donation"

#: changes that are kept, and of these those that a text shows
KEPT: Final = 16
SHOWN: Final = 4
#: characters of an attribute's value that a text shows
WIDTH: Final = 60
#: how much of a program has to be that of another one to be compared with it; less at one line
RESEMBLES: Final = 0.3
AT_ONE_LINE: Final = 0.15


class Change(NamedTuple):
    """One thing that differs between two programs.

    Attributes:
        kind: :data:`OP`, :data:`ATTRIBUTE`, :data:`OPERANDS`, :data:`OPS`, :data:`INPUTS`,
            :data:`SHAPE`, :data:`DTYPE`, :data:`PLACEMENT` or :data:`DONATION`.
        number: of the instruction, or of the input for :data:`SHAPE`, :data:`DTYPE` and
            :data:`PLACEMENT`; -1 where it is about neither.
        op: the name of the instruction's op, or "".
        name: of the attribute, or "".
        now: what it is, as text.
        before: what it was in the other program.
        text: all of it, for people to read.
    """

    kind: str
    number: int
    op: str
    name: str
    now: str
    before: str
    text: str


class Difference:
    """Why a program is new: how it differs from the nearest one that ran before.

    Attributes:
        kind: :data:`FIRST`, :data:`UNLIKE`, :data:`RESULTS` or :data:`CHANGED`.
        site: the user's ``file:line`` where the program ran first with which it was compared,
            or "".
        same_line: that is the line where the new one ran.
        changes: what differs, at most :data:`KEPT`.
        more: how many changes there are beside these.
        known: how many programs were known.
    """

    __slots__ = ("kind", "site", "same_line", "changes", "more", "known")

    def __init__(
        self, kind: str, known: int, site: str = "", same_line: bool = False,
        changes: Sequence[Change] = (),
    ) -> None:  # fmt: skip
        self.kind: Final = kind
        self.known: Final = known
        self.site: Final = site
        self.same_line: Final = same_line
        self.changes: Final = tuple(changes[:KEPT])
        self.more: Final = max(0, len(changes) - KEPT)

    def text(self) -> str:
        """The difference for people to read; follows "because"."""
        if self.kind == FIRST:
            return "it is the first program of this process"
        if self.kind == UNLIKE:
            return f"no known program resembles it ({self.known} known)"
        if self.kind == RESULTS:
            return "a result was wanted that the known program does not return"
        where = f"the program first run at {self.site}" if self.site else "a known program"
        lines = [f"it differs from {where}:", *[c.text for c in self.changes[:SHOWN]]]
        rest = len(self.changes) + self.more - SHOWN
        if rest > 0:
            lines.append(f"and in {rest} more")
        return "\n".join(lines)

    def in_one_line(self) -> str:
        """The text as a part of a sentence."""
        return self.text().replace(":\n", ": ").replace("\n", "; ")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Difference {self.kind}: {self.text()}>"


def difference_of(
    structure: Structure, site: str, known: Sequence[tuple[Structure, str]]
) -> Difference:
    """The difference to the most similar of the known programs, first of those at one line.

    Args:
        site: where in the user's program the structure runs, as ``file:line``.
        known: the structure of each, and where it ran first, or ""; the newest last.
    """
    if not known:
        return Difference(FIRST, 0)
    at_line = [pair for pair in known if pair[1] == site and site]
    for candidates, least in ((at_line, AT_ONE_LINE), (known, RESEMBLES)):
        nearest = _nearest(structure, candidates, least)
        if nearest is not None:
            return Difference(
                CHANGED, len(known), nearest[1], nearest[1] == site,
                changes_between(structure, nearest[0]))
    return Difference(UNLIKE, len(known))


def _nearest(
    structure: Structure, known: Sequence[tuple[Structure, str]], least: float
) -> tuple[Structure, str] | None:
    """The most similar program, the newest of several; None if none is similar enough."""
    length = len(structure.stream)
    newest_first = list(reversed(known))
    by_length = sorted(newest_first, key=lambda pair: abs(len(pair[0].stream) - length))
    best: tuple[Structure, str] | None = None
    most = 0.0
    for pair in by_length[: tuning.compared_programs]:
        score = _similarity(structure, pair[0])
        # of equal ones the first, which is the nearest in length and the newest
        if score >= least and (best is None or score > most):
            best, most = pair, score
    return best


def _similarity(a: Structure, b: Structure) -> float:
    """Which part of two programs is the same: 1 for equal ones."""
    total = max(len(a.stream), len(b.stream)) + max(len(a.leaf_types), len(b.leaf_types))
    if total == 0:
        return 1.0
    same = 0.0
    for x, y in zip(a.stream, b.stream, strict=False):
        if x is y or x == y:
            same += 1
        elif isinstance(x, Spec) and isinstance(y, Spec) and x.op is y.op:
            same += 0.5
    for s, t in zip(a.leaf_types, b.leaf_types, strict=False):
        if s is t:
            same += 1
        elif s.dtype is t.dtype or s.shape == t.shape:
            same += 0.5
    return same / total


def changes_between(structure: Structure, other: Structure) -> list[Change]:
    """What differs in a program from another one, instructions first; empty for equal ones.

    Instructions are compared one by one, up to the first that has other operands.
    """
    # not kept: nobody else may ever ask for them
    ours, theirs = structure.decode_instructions(), other.decode_instructions()
    changes: list[Change] = []
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a.spec is not b.spec:
            changes += _of_specs(number, a.spec, b.spec)
        elif a.operands != b.operands:
            changes.append(Change(
                OPERANDS, number, a.spec.op.name, "", _operands(a), _operands(b),
                f"instruction {number}, {_short(repr(a.spec))}, has operands {_operands(a)}, "
                f"had {_operands(b)}"))
            break
    if len(ours) != len(theirs):
        changes.append(_of_lengths(ours, theirs))
    inputs, before = structure.leaf_types, other.leaf_types
    if len(inputs) != len(before):
        changes.append(Change(
            INPUTS, -1, "", "", str(len(inputs)), str(len(before)),
            f"it has {len(inputs)} inputs, had {len(before)}"))
    else:
        for number, (s, t) in enumerate(zip(inputs, before, strict=True)):
            if s is not t:
                changes.append(_of_inputs(number, s, t))
    if not changes and structure is not other and structure.padding == other.padding:
        changes.append(Change(DONATION, -1, "", "", "", "", "donation differs"))
    return changes


def _of_specs(number: int, a: Spec, b: Spec) -> list[Change]:
    name = a.op.name
    if a.op is not b.op:
        now, before = _short(repr(a)), _short(repr(b))
        return [Change(OP, number, name, "", now, before,
                       f"instruction {number} is {now}, was {before}")]
    changes: list[Change] = []
    if a.arity != b.arity:
        changes.append(Change(
            OPERANDS, number, name, "", str(a.arity), str(b.arity),
            f"instruction {number}, {name}, has {a.arity} operands, had {b.arity}"))
    for k, attribute in enumerate(a.attrs):
        if a.bits[k] != b.bits[k]:
            now, before = _short(repr(a.attrs[attribute])), _short(repr(b.attrs[attribute]))
            changes.append(Change(
                ATTRIBUTE, number, name, attribute, now, before,
                f"instruction {number}, {name}, has {attribute}={now}, had {before}"))
    return changes


def _of_lengths(ours: Sequence[Instruction], theirs: Sequence[Instruction]) -> Change:
    number = min(len(ours), len(theirs))
    if len(ours) < len(theirs):
        text = f"it ends before instruction {number}, {_short(repr(theirs[number].spec))}"
    else:
        text = f"it goes on with instruction {number}, {_short(repr(ours[number].spec))}"
    return Change(OPS, number, "", "", str(len(ours)), str(len(theirs)),
                  f"it has {len(ours)} ops, had {len(theirs)}: {text}")


def _of_inputs(number: int, s: TensorType, t: TensorType) -> Change:
    if s.dtype is not t.dtype:
        kind, now, before = DTYPE, s.dtype.name, t.dtype.name
    elif s.shape != t.shape:
        kind, now, before = SHAPE, str(s.shape), str(t.shape)
    else:
        kind, now, before = PLACEMENT, s.placement.text, t.placement.text
    text = f"input {number} is {s.text}, was {t.text}"
    if kind == PLACEMENT:
        text = f"input {number} lies on {now}, lay on {before}"
    return Change(kind, number, "", "", now, before, text)


def _operands(i: Instruction) -> str:
    return "(" + ", ".join([show_operand(o) for o in i.operands]) + ")"


def _short(text: Any) -> str:
    """A text in one line that is not too long: bodies of loops are attributes, too."""
    line = " ".join(str(text).split())
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
