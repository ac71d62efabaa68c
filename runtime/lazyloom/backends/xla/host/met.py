"""Which of the usual kernels an installation makes that has no minutes for all of them.

Those of arithmetic, comparisons and reductions of scalars, vectors and matrices, those of layers
that keep residuals, random draws, and those that programs have met: ``met.txt`` beside this module
has digests of what these are found by, one a line, which ``docs/kernels_met.py`` writes from runs
of programs. What is not among them is traced when it is met, and calls NumPy, not C, from then on:
a Kalman filter of many targets took ten times as long.
"""

from __future__ import annotations

import functools
import hashlib
import os
from typing import Final

from ....dtypes import bool_, float32, float64, int64
from .usual_case import FLOATS, Case

NAME: Final = "met.txt"
#: hexadecimal digits of a digest
DIGITS: Final = 12
#: of arithmetic, the dtypes and the rank up to which kernels are made whether they were met or not
_DTYPES: Final = (float32, float64, int64, bool_)
_RANK: Final = 2
_REDUCTIONS: Final = ("accumulation", "reduction", "extremum")
_DRAWS: Final = ("draw", "typed_draw")


def path() -> str:
    """Where the digests are."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)


def digest(kind: str, place: bytes) -> str:
    """What stands in the file for a kernel of that kind (of any extents or not) at that place."""
    return hashlib.sha256(kind.encode() + b"\0" + place).hexdigest()[:DIGITS]


@functools.lru_cache(maxsize=1)
def met() -> frozenset[str]:
    """The digests of the file."""
    with open(path(), encoding="ascii") as file:
        return frozenset(line.strip() for line in file if not line.startswith("#"))


def basic(case: Case) -> bool:
    """Whether a case is one that is made whether programs met it or not."""
    if case.residuals:
        return True
    operands = [o for o in case.operands if o is not None]
    if case.op.family in _DRAWS:
        return len(case.attributes.get("shape", ())) < _RANK
    if any(len(dims) > _RANK or d not in _DTYPES for dims, d in operands):
        return False
    if case.op.family in _REDUCTIONS:
        return all(d in FLOATS for _, d in operands)
    # a batch of one is most often of single precision
    return case.op.usual and all(d is float32 or 1 not in dims for dims, d in operands)
