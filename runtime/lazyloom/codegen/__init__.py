"""Bring your own codegen: parts of recorded programs on other code generators.

A vendor subclasses :class:`Generator` and names it by an entry point; users choose generators by
:func:`use`, and :func:`explain` shows which ops went where, and why. See ``docs/codegen.md``.
"""

from ..program.stream import Leaf, Result
from ..trace.scalars import Baked
from .answers import YES, Answer, Call, No
from .faults import Failure, failures
from .generator import Code, CSource, Generator, Layout, NativeCode, PythonCode, Region
from .partition import Part, Partition, partition
from .patterns import Pattern, any_value, match
from .registry import available, in_use, register, segmented, use, verify
from .report import Report, explain, measure
from .verdicts import Verdict
from .worth import at_least, if_measured, whatever_the_size

__all__ = [
    "Answer", "Baked", "CSource", "Call", "Code", "Failure", "Generator", "Layout", "Leaf",
    "NativeCode", "No", "Part", "Partition", "Pattern", "PythonCode", "Region", "Report",
    "Result", "Verdict", "YES", "any_value", "at_least", "available", "explain", "failures",
    "if_measured", "in_use", "match", "measure", "partition", "register", "segmented", "use",
    "verify", "whatever_the_size",
]  # fmt: skip
