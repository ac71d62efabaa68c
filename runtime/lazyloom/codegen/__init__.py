"""Bring your own codegen: parts of recorded programs on other code generators.

A vendor subclasses :class:`Generator` and names it by an entry point; users choose generators by
:func:`use`, and :func:`explain` shows which ops went where, and why. See
``docs/codegen.md`` and ``docs/codegen_vendor.md``.
"""

from ..program.stream import Leaf, Result
from ..trace.scalars import Baked
from .answers import YES, Answer, Call, No, Number, Only
from .claims import Part
from .faults import Failure, failures
from .generator import Code, CSource, Generator, Layout, NativeCode, Pass, PythonCode, Region
from .partition import Partition, partition
from .passes import PassError, RegionRewriter
from .patterns import Pattern, absent, any_value, match, number
from .registry import available, in_use, load, register, segmented, unavailable, use, verify
from .report import Report, explain, measure
from .verdicts import Verdict
from .worth import at_least, if_measured, whatever_the_size

__all__ = [
    "Answer", "Baked", "CSource", "Call", "Code", "Failure", "Generator", "Layout", "Leaf",
    "NativeCode", "No", "Number", "Only", "Part", "Partition", "Pass", "PassError", "Pattern",
    "PythonCode", "Region", "RegionRewriter", "Report", "Result", "Verdict", "YES", "absent",
    "any_value", "at_least", "available", "explain", "failures", "if_measured", "in_use", "load",
    "match", "measure", "number", "partition", "register", "segmented", "unavailable", "use",
    "verify", "whatever_the_size",
]  # fmt: skip
