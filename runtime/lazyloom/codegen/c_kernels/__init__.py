"""Sorts, scans and gradients of maxima over windows by C functions, which are installed compiled.

A region is one op: the address of a function, and a row of numbers that says what it does, extents
included, so that all types share one function.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Final, Protocol

from ..answers import YES, Answer, Call, No
from ..generator import Code, Generator, Layout, NativeCode, Region
from ..worth import at_least
from . import pools, scans, sorts

#: the number of elements of operands and results from which on a sort is worth a call
FEWEST: Final = 512


class C(Generator):
    """Regions of one op each."""

    name = "c"
    version = "3"
    priority = 5
    merges = False
    #: for sums; sorts and extrema are equal to XLA's, and so are results of integers
    tolerance = 32.0

    def supports(self, call: Call) -> Answer:
        """Return YES for sorts, scans, positions of extrema, gradients of maxima of arrays that
        are not tiny."""
        if pools.known(call.op):
            return pools.supports(call)
        if scans.known(call.op):
            return scans.supports(call)
        if call.op == "max_pool":
            return No("XLA's maxima are as quick", deliberate=True)
        if not sorts.known(call.op):
            return No("no sort, scan, position of an extremum, or gradient of maxima over windows")
        answer = sorts.supports(call)
        if answer:
            size = sum(t.size for t in (*call.operands, *call.results) if t is not None)
            answer = at_least(size, FEWEST, "elements")
        return answer

    def runs_alone(self, call: Call) -> Answer:
        """Return YES where host kernels are slower, on arrays in logical order."""
        if pools.known(call.op):
            return No("its channels come last")
        return scans.runs_alone(call) if scans.known(call.op) else YES

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """Return layouts with the channels of images last."""
        return pools.layouts(region) if pools.known(region.calls[0].op) else None

    def seconds(self, region: Region) -> float | None:
        """Estimate by the number of elements."""
        return _part(region).seconds(region.calls[0])

    def build(self, region: Region) -> Code:
        """Return the function with the numbers of this region."""
        return _part(region).build(region)


class _Part(Protocol):
    """A module of this package."""

    def seconds(self, call: Call) -> float: ...

    def build(self, region: Region) -> NativeCode: ...


def _part(region: Region) -> _Part:
    op = region.calls[0].op
    return pools if pools.known(op) else scans if scans.known(op) else sorts


def made() -> C | None:
    """Return the generator, if its C functions were compiled; the entry point names this function.
    """
    return C() if importlib.util.find_spec("lazyloom._c_kernels") is not None else None
