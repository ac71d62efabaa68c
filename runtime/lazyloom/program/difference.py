"""The difference of a program from the nearest known one: why it was compiled."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..settings import tuning
from .program import Instruction, Structure, show_operand


def explain(structure: Structure, known: Sequence[tuple[Structure, str]]) -> str:
    """Words for the difference to the most similar of the known programs.

    Args:
        known: the structure of each, and where in the user's program it ran first, or "".
    """
    if not known:
        return "it is the first program of this process"
    length = len(structure.stream)
    by_length = sorted(known, key=lambda other: abs(len(other[0].stream) - length))
    nearest = by_length[: tuning.compared_programs]
    score, number = max(
        (_similarity(structure, other), -i) for i, (other, _) in enumerate(nearest))
    if score < 0.3:
        return f"no known program resembles it ({len(known)} known)"
    return _describe(structure, *nearest[-number])


def _similarity(a: Structure, b: Structure) -> float:
    longer = max(len(a.stream), len(b.stream))
    if longer == 0:
        return 0.0
    same = sum(1 for x, y in zip(a.stream, b.stream, strict=False) if x is y or x == y)
    leaves = sum(1 for x, y in zip(a.leaf_types, b.leaf_types, strict=False) if x is y)
    return (same + leaves) / (longer + max(len(a.leaf_types), len(b.leaf_types)))


def _describe(structure: Structure, theirs: Structure, site: str) -> str:
    where = f"the program first run at {site}" if site else "a known program"
    parts: list[str] = []
    pairs = itertools.zip_longest(structure.instructions, theirs.instructions)
    for number, (a, b) in enumerate(pairs):
        if a is None:
            parts.append(f"it ends before instruction {number}, {_show(b)}")
        elif b is None:
            parts.append(f"it goes on with instruction {number}, {_show(a)}")
        elif a.spec is not b.spec:
            parts.append(f"instruction {number} is {_show(a)}, was {_show(b)}")
        elif a.operands != b.operands:
            parts.append(f"instruction {number}, {_show(a)}, has operands {_operands(a)}, "
                         f"had {_operands(b)}")  # fmt: skip
        if parts:
            break
    for i, (s, t) in enumerate(zip(structure.leaf_types, theirs.leaf_types, strict=False)):
        if s is not t:
            parts.append(f"input {i} is {s.text}, was {t.text}")
            break
    if not parts:
        parts.append("donation differs")
    return f"it differs from {where}:\n" + "\n".join(parts)


def _show(i: Instruction | None) -> str:
    return repr(i.spec) if i is not None else "nothing"


def _operands(i: Instruction) -> str:
    return "(" + ", ".join(map(show_operand, i.operands)) + ")"
