"""Marks on the extents of a program's inputs, and what they say of the symbols of a form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...program.extents import Form
from ...trace.graph import Buffer

#: whether there ever was one; until then nobody has to look
used = False


class Mark(NamedTuple):
    """What a program says of an extent.

    Attributes:
        dynamic: it changes; else it is part of the program, which is compiled for it.
        low, high: its bounds, where they are known.
    """

    dynamic: bool
    low: int | None
    high: int | None


def of_symbols(leaves: Sequence[Buffer], ranks: Sequence[int], form: Form) -> dict[int, Mark]:
    """The marks of a form's symbols, of which marked extents are made.

    A static mark goes before others, and narrow bounds before wide ones.
    """
    found: dict[int, Mark] = {}
    at = 0
    for buffer, rank in zip(leaves, ranks, strict=True):
        for axis, mark in (buffer.marks or {}).items():
            term = form.terms[at + axis]
            for symbol in term.symbols:
                own = mark if len(term.symbols) == 1 else mark._replace(low=None, high=None)
                low = None if own.low is None else -((term.more - own.low) // term.factor)
                high = None if own.high is None else (own.high - term.more) // term.factor
                known = found.get(symbol, Mark(True, None, None))
                found[symbol] = Mark(
                    known.dynamic and mark.dynamic,
                    max((n for n in (low, known.low) if n is not None), default=None),
                    min((n for n in (high, known.high) if n is not None), default=None))
        at += rank
    return found
