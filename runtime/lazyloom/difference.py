"""Why a program had to be compiled: how it differs from the nearest known one."""

from __future__ import annotations

import itertools

from .cache.memory import Entry, entries
from .program import Instruction, Structure

#: how many known programs are compared in full
_CANDIDATES = 32


def explain(structure: Structure, own: Entry) -> str:
    """Words for the difference to the most similar program in memory."""
    if own.executable is not None:
        return "a result was wanted that the known program does not return"
    nearest: Entry | None = None
    best = -1.0
    known = [e for e in entries() if e is not own]
    known.sort(key=lambda e: abs(len(e.structure.stream) - len(structure.stream)))
    for e in known[:_CANDIDATES]:
        score = _similarity(structure, e.structure)
        if score > best:
            best, nearest = score, e
    if nearest is None:
        return "it is the first program of this process"
    if best < 0.3:
        return f"no known program resembles it ({len(known)} known)"
    return _describe(structure, nearest)


def _similarity(a: Structure, b: Structure) -> float:
    longer = max(len(a.stream), len(b.stream))
    if longer == 0:
        return 0.0
    same = sum(1 for x, y in zip(a.stream, b.stream, strict=False) if x is y or x == y)
    leaves = sum(1 for x, y in zip(a.leaf_types, b.leaf_types, strict=False) if x is y)
    return (same + leaves) / (longer + max(len(a.leaf_types), len(b.leaf_types)))


def _describe(structure: Structure, other: Entry) -> str:
    theirs = other.structure
    where = f"the program first run at {other.site}" if other.site else "a known program"
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
    from .program import _show_operand

    return "(" + ", ".join(map(_show_operand, i.operands)) + ")"
