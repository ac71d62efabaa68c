"""In what two programs of one line differ."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

LENGTH: Final = "length"
OP: Final = "op"
DTYPE: Final = "dtype"
SHAPE: Final = "shape"
ATTRIBUTE: Final = "attribute"
WIRING: Final = "operand"
NOTHING: Final = "results"


class Difference(NamedTuple):
    """The first difference of two programs, in the order of their ops.

    Attributes:
        kind: one of the constants above.
        text: what it is, "%3 roll: shift is 4, was 3".
    """

    kind: str
    text: str


def difference(before: Any, after: Any) -> Difference:
    """In what a structure differs from the one before; dtypes come before shapes, these before
    attributes, as those follow from these."""
    olds, news = before.instructions, after.instructions
    was, now = _floats(olds), _floats(news)
    if was != now:
        return Difference(DTYPE, f"{' and '.join(now)} are computed, {' and '.join(was)} before")
    if len(olds) != len(news):
        return Difference(LENGTH, f"{len(news)} ops, {len(olds)} before")
    for number, (old, new) in enumerate(zip(olds, news, strict=True)):
        if old.spec.op is not new.spec.op:
            return Difference(OP, f"op {number} is {new.spec.op.name}, was {old.spec.op.name}")
        if len(old.operands) != len(new.operands):
            return Difference(
                LENGTH, f"op {number}, {new.spec.op.name}, has {len(new.operands)} operands, had "
                f"{len(old.operands)}")
    found = _types(before, after)
    if found is not None:
        return found
    for number, (old, new) in enumerate(zip(olds, news, strict=True)):
        if old.spec is not new.spec:
            name, was, now = _attribute(old.spec.attrs, new.spec.attrs)
            return Difference(
                ATTRIBUTE, f"op {number}, {new.spec.op.name}: {name} is {now}, was {was}")
    for number, (old, new) in enumerate(zip(olds, news, strict=True)):
        if old.operands != new.operands:
            return Difference(WIRING, f"op {number}, {new.spec.op.name}, takes other operands")
    return Difference(NOTHING, "other results are wanted")


def _floats(instructions: Any) -> list[str]:
    """The inexact dtypes of a program's results."""
    return sorted({t.dtype.name for i in instructions for t in i.types if t.dtype.kind in "fcV"})


def _types(before: Any, after: Any) -> Difference | None:
    pairs: list[tuple[str, Any, Any]] = [
        (f"input {k}", was, now)
        for k, (was, now) in enumerate(zip(before.leaf_types, after.leaf_types, strict=False))]
    for number, (old, new) in enumerate(
        zip(before.instructions, after.instructions, strict=True)
    ):
        pairs += [(f"op {number}, {new.spec.op.name},", was, now)
                  for was, now in zip(old.types, new.types, strict=True)]
    for kind in (DTYPE, SHAPE):
        for what, was, now in pairs:
            if kind == DTYPE and was.dtype is not now.dtype or kind == SHAPE and (
                was.shape != now.shape
            ):
                return Difference(kind, f"{what} is {now.text}, was {was.text}")
    if len(before.leaf_types) != len(after.leaf_types):
        return Difference(
            LENGTH, f"{len(after.leaf_types)} inputs, {len(before.leaf_types)} before")
    return None


def _attribute(before: Any, after: Any) -> tuple[str, Any, Any]:
    for name in after:
        was, now = before.get(name), after[name]
        if was != now or type(was) is not type(now):
            return name, was, now
    return "an attribute", "another", "one"
