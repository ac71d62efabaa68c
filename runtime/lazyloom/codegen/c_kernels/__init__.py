"""Sorts and scans on the processor by functions in C, compiled when the package is installed.

A region is one op: an address of a function, and a row of numbers that says what it does, extents
among them, so that all types share one function.
"""

from __future__ import annotations

import importlib.util
from typing import Final

from ..generator import YES, Answer, Call, Code, Generator, No, Region
from ..worth import at_least
from . import scans, sorts

#: elements of operands and results together from which a sort is worth a call
FEWEST: Final = 512


class C(Generator):
    """Regions of one op each."""

    name = "c"
    version = "3"
    priority = 5
    merges = False
    #: sums; sorts and extrema are XLA's, and so are those of integers
    tolerance = 32.0

    def supports(self, call: Call) -> Answer:
        """Sorts, scans and positions of extrema, of arrays that are not tiny."""
        if scans.known(call.op):
            return scans.supports(call)
        if not sorts.known(call.op):
            return No("no sort, scan or position of an extremum")
        answer = sorts.supports(call)
        if answer:
            size = sum(t.size for t in (*call.operands, *call.results) if t is not None)
            answer = at_least(size, FEWEST, "elements")
        return answer

    def runs_alone(self, call: Call) -> Answer:
        """What NumPy does not do as well."""
        return scans.runs_alone(call) if scans.known(call.op) else YES

    def seconds(self, region: Region) -> float | None:
        """By the number of elements."""
        call = region.calls[0]
        return scans.seconds(call) if scans.known(call.op) else sorts.seconds(call)

    def build(self, region: Region) -> Code:
        """The function with the numbers of this region."""
        if scans.known(region.calls[0].op):
            return scans.build(region)
        return sorts.build(region)


def made() -> C | None:
    """The generator, where what it calls was compiled; what the entry point names."""
    return C() if importlib.util.find_spec("lazyloom._c_kernels") is not None else None
