"""Sorts, scans, gradients of maxima over windows and steps of optimizers by C functions, which are
installed compiled.

A region is one op: the address of a function, and a row of numbers that says what it does, extents
included, so that all types share one function.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from ..answers import YES, Answer, Call, No
from ..generator import Code, Generator, Layout, NativeCode, Region
from ..patterns import Pattern
from ..worth import at_least
from . import pools, scans, sorts, steps

#: the number of elements of operands and results from which on a sort is worth a call
FEWEST: Final = 512


class C(Generator):
    """Regions of one op each, or of a step of an optimizer with the casts of its gradients."""

    name = "c"
    version = "4"
    priority = 5
    merges = False
    #: for sums; sorts and extrema are equal to XLA's, and so are results of integers
    tolerance = 32.0

    def supports(self, call: Call) -> Answer:
        """Return YES for sorts, scans, positions of extrema, gradients of maxima, and steps of
        optimizers, of arrays that are not tiny."""
        if pools.known(call.op):
            return pools.supports(call)
        if scans.known(call.op):
            return scans.supports(call)
        if steps.known(call.op):
            return steps.supports(call)
        if call.op == "max_pool":
            return No("XLA's maxima are as quick", deliberate=True)
        if not sorts.known(call.op):
            return No("no sort, scan, position of an extremum, gradient of maxima over windows, or "
                      "step of SGD or Adam")
        answer = sorts.supports(call)
        if answer:
            size = sum(t.size for t in (*call.operands, *call.results) if t is not None)
            answer = at_least(size, FEWEST, "elements")
        return answer

    def patterns(self) -> Sequence[Pattern]:
        """Return the group of a step and the casts of its gradients."""
        return steps.patterns()

    def runs_alone(self, call: Call) -> Answer:
        """Return YES where host kernels are slower, on arrays in logical order."""
        if pools.known(call.op):
            return No("its channels come last")
        if steps.known(call.op):
            return No("kernels of the host write over what was there")
        return scans.runs_alone(call) if scans.known(call.op) else YES

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """Return layouts with the channels of images last."""
        return pools.layouts(region) if pools.known(region.calls[-1].op) else None

    def aliases(self, region: Region) -> Mapping[int, int]:
        """Return which results of a step may lie where the values of before do."""
        return steps.aliases(region) if steps.known(region.calls[-1].op) else {}

    def seconds(self, region: Region) -> float | None:
        """Estimate by the number of elements."""
        return _part(region).seconds(region.calls[-1])

    def build(self, region: Region) -> Code:
        """Return the function with the numbers of this region."""
        return _part(region).build(region)


class _Part(Protocol):
    """A module of this package."""

    def known(self, op: str) -> bool: ...

    def seconds(self, call: Call) -> float: ...

    def build(self, region: Region) -> NativeCode: ...


def _part(region: Region) -> _Part:
    op = region.calls[-1].op
    for part in (pools, scans, steps):
        if part.known(op):
            return part
    return sorts


def made() -> C | None:
    """Return the generator, if its C functions were compiled; the entry point names this function.
    """
    return C() if importlib.util.find_spec("lazyloom._c_kernels") is not None else None
