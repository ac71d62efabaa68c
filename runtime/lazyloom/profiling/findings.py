"""What a report finds first: a rule, the user's line, seconds, and what to change."""

from __future__ import annotations

from typing import Final, NamedTuple

from .events import Events, UserLine

#: less is no finding: seconds, and a part of all
LEAST_SECONDS: Final = 0.02
LEAST_PART: Final = 0.02
#: the same thing happens at least as often, or nobody would call it a habit
OFTEN: Final = 4


class FaultRule(NamedTuple):
    """A kind of fault.

    Attributes:
        number: which does not change from version to version.
        name: for links: that of its section in ``docs/why_slow.md``.
        advice: what to change.
    """

    number: int
    name: str
    advice: str

    def __str__(self) -> str:
        return f"LL{self.number:02d}"


READ_IN_STEP: Final = FaultRule(
    1, "a-read-inside-a-step",
    "Move the read to the end of the step, or read only every so many steps: what is recorded "
    "before and after it then runs as one program. Where the index is a boolean array, where() "
    "computes with the whole array and reads nothing. Where a method of a NumPy array reads "
    "(host.dot(x)), make that array one of Lazyloom's before the loop, or call the function "
    "(np.dot(host, x)).")
SHAPES_CHANGE: Final = FaultRule(
    2, "shapes-that-change",
    "Keep the shape: write into an array of the largest size and mask the rest, pad batches, or "
    "mark the extent with lazyloom.mark_dynamic, so that programs of many extents are one.")
ATTRIBUTE_CHANGES: Final = FaultRule(
    3, "an-attribute-that-changes",
    "Pass what changes as an array: index with an array of positions, where a function takes "
    "such a number as an attribute.")
DTYPE_CHANGES: Final = FaultRule(
    4, "a-dtype-that-changes",
    "Give the dtype where the value is made, so that every step computes in the same one.")
UNUSED_RESULT: Final = FaultRule(
    5, "a-temporary-that-is-kept",
    "Let the variable go (del, or a smaller scope) before the value is read, or keep a number "
    "made of it: what nothing refers to is not written to memory.")
GROWING_WORK: Final = FaultRule(
    6, "work-that-grows",
    "Keep a running sum, or read the numbers (.item()) before they are kept: each step then is "
    "the same program.")
CAPTURED_ANEW: Final = FaultRule(
    7, "a-function-captured-anew",
    "Make the function once, outside the loop, and pass what changes as an argument.")
DONATED_KEPT: Final = FaultRule(
    8, "an-input-that-cannot-be-reused",
    "Let the old value go before the next step runs, so that the program can write the new one "
    "in its place.")
READS_BY_ELEMENT: Final = FaultRule(
    9, "reads-by-element",
    "Read the array once (numpy.asarray(x), x.numpy(), x.tolist()), or compute with whole arrays.")
UNROLLED_LOOP: Final = FaultRule(
    10, "a-loop-that-is-unrolled",
    "Write the loop as lazyloom.scan or while_loop, or use an op that has all of it (a recurrent "
    "layer, a cumulative function): its body is then recorded once. Where turns do not need each "
    "other, compute with whole arrays.")
UPLOADED_AGAIN: Final = FaultRule(
    11, "data-that-are-uploaded-again",
    "Make the array once, before the loop.")
LEFT_ON_XLA: Final = FaultRule(
    12, "an-op-that-no-code-generator-takes",
    "Change what the reason names, or leave the op where it is.")
MADE_IN_PIECES: Final = FaultRule(
    13, "arrays-made-in-pieces",
    "Make small pieces, such as the items of a data set, as NumPy arrays or lists, and make one "
    "array of a whole batch.")


class Finding:
    """A fault of performance that a report found.

    Attributes:
        rule: its kind.
        line: the line of the program to look at.
        seconds: that it cost, measured or estimated as ``text`` says.
        text: what happens there, in a sentence.
        evidence: further lines: programs side by side, numbers.
    """

    __slots__ = ("rule", "line", "seconds", "text", "evidence")

    def __init__(
        self, rule: FaultRule, line: UserLine, seconds: float, text: str, evidence: list[str]
    ) -> None:
        self.rule: Final = rule
        self.line: Final = line
        self.seconds: Final = seconds
        self.text: Final = text
        self.evidence: Final = evidence

    @property
    def source(self) -> str:
        """The line's text; "" if its file cannot be read."""
        return self.line.source

    def __repr__(self) -> str:
        return f"<Finding {self.rule} at {self.line}, {self.seconds:.2f} s>"


def noticeable(events: Events) -> float:
    """The seconds below which nothing is a finding."""
    return max(LEAST_SECONDS, LEAST_PART * events.seconds)
