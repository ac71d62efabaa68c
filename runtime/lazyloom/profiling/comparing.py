"""In what two programs of one line differ, as far as advice depends on it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from ..program.difference import changes_between

LENGTH: Final = "length"
OP: Final = "op"
DTYPE: Final = "dtype"
SHAPE: Final = "shape"
ATTRIBUTE: Final = "attribute"
OTHER: Final = "other"


#: programs of which this part is the same compute the same thing in two dtypes
ALIKE: Final = 0.6


class Contrast(NamedTuple):
    """The difference of a program from one before it.

    Attributes:
        kind: one of the constants above: what causes the other changes.
        text: the change that comes first in the program.
    """

    kind: str
    text: str


def contrast(before: Any, after: Any) -> Contrast:
    """In what a structure differs from the one before: dtypes come before lengths, these before
    shapes and attributes, as those follow from these."""
    olds, news = before.instructions, after.instructions
    was, now = _floats(olds), _floats(news)
    if was != now and _alike(olds, news):
        return Contrast(DTYPE, f"{' and '.join(now)} are computed, {' and '.join(was)} before")
    changes = changes_between(after, before)
    return Contrast(_kind(before, after, olds, news), changes[0].text if changes else "results")


def _kind(before: Any, after: Any, olds: Any, news: Any) -> str:
    if len(olds) != len(news) or len(before.leaf_types) != len(after.leaf_types):
        return LENGTH
    pairs = list(zip(olds, news, strict=True))
    for old, new in pairs:
        if old.spec.op is not new.spec.op:
            return OP
        if len(old.operands) != len(new.operands):
            return LENGTH
    types = [*zip(before.leaf_types, after.leaf_types, strict=True)]
    for old, new in pairs:
        types += zip(old.types, new.types, strict=True)
    if any(a.dtype is not b.dtype for a, b in types):
        return DTYPE
    if any(a.shape != b.shape for a, b in types):
        return SHAPE
    return ATTRIBUTE if any(old.spec is not new.spec for old, new in pairs) else OTHER


def _alike(olds: Any, news: Any) -> bool:
    """Whether most ops of two programs are the same, in any order."""
    before, after = (Counter([i.spec.op for i in all_of]) for all_of in (olds, news))
    return (before & after).total() >= ALIKE * max(len(olds), len(news))


def _floats(instructions: Any) -> list[str]:
    """The inexact dtypes of a program's results."""
    return sorted({t.dtype.name for i in instructions for t in i.types if t.dtype.kind in "fcV"})
