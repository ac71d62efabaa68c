"""Sorts on the processor by functions in C, compiled when the package is installed.

A region is one op: an address of a function, and a row of numbers that says what it does, extents
among them, so that all types share one function.
"""

from __future__ import annotations

import importlib.util
from typing import Final

from ..generator import YES, Answer, Call, Code, Generator, Region
from ..worth import at_least
from . import sorts

#: elements of operands and results together from which an op is worth a call
FEWEST: Final = 512


class C(Generator):
    """Regions of one op each."""

    name = "c"
    version = "1"
    priority = 5
    merges = False
    #: XLA's values, and its positions among equal ones
    tolerance = 0.0

    def supports(self, call: Call) -> Answer:
        """Sorts of arrays that are not tiny, and their gradients."""
        answer = sorts.supports(call)
        if answer:
            size = sum(t.size for t in (*call.operands, *call.results) if t is not None)
            answer = at_least(size, FEWEST, "elements")
        return answer

    def runs_alone(self, call: Call) -> Answer:
        """All that it does is one op."""
        return YES

    def seconds(self, region: Region) -> float | None:
        """By the number of elements."""
        return sorts.seconds(region.calls[0])

    def build(self, region: Region) -> Code:
        """The function with the numbers of this region."""
        return sorts.build(region)


def made() -> C | None:
    """The generator, where what it calls was compiled; what the entry point names."""
    return C() if importlib.util.find_spec("lazyloom._c_kernels") is not None else None
