"""Common kernels: those of the usual ones that an installation from source makes.

All usual kernels take five minutes of processor time, most of an installation. The others are
traced when a program first needs them, and become functions in C once their calls have taken some
milliseconds.

``common.txt`` beside this module is a profile: a line for each usual case whose kernels programs
asked for when they ran, written by ``docs/common_kernels.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from ..dtypes import bool_, float32, float64, int64
from .usual import cases
from .usual_case import FLOATS, KernelCase

NAME: Final = "common.txt"
#: what follows the text of a case whose vjps programs asked for
DERIVED: Final = " and vjps"
#: arithmetic, comparisons, reductions, slices and padding of these dtypes are common up to this
#: rank, in the profile or not; with extents of 1 in single precision alone
_DTYPES: Final = (float32, float64, int64, bool_)
_RANK: Final = 2
_REDUCTIONS: Final = ("accumulation", "reduction", "extremum")
_PARTS: Final = ("dynamic_slice", "dynamic_update_slice", "strided", "slice_update", "pad")


def path() -> str:
    """Where the profile is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)


def profile() -> frozenset[str]:
    """The lines of the profile."""
    with open(path(), encoding="ascii") as file:
        return frozenset(line.rstrip("\n") for line in file if not line.startswith("#"))


def text_of_case(case: KernelCase) -> str:
    """A case as the profile has it, as ``sum(float32[a,b]; axes=(1,), keepdims=False)``."""
    operands = ", ".join(
        "-" if o is None else f"{o[1].name}[{','.join(map(str, o[0]))}]" for o in case.operands)
    attributes = ", ".join(f"{k}={_plain(v)}" for k, v in case.attributes.items())
    residuals = " with residuals" if case.residuals else ""
    return f"{case.op.name}({operands}{'; ' * bool(attributes)}{attributes}){residuals}"


def _plain(value: Any) -> str:
    return repr(str(value) if isinstance(value, str) else value)


def common_cases() -> Iterator[KernelCase]:
    """The usual cases that are common; without derivatives where programs asked for none."""
    lines = profile()
    for case in cases():
        text = text_of_case(case)
        if text + DERIVED in lines:
            yield case
        elif text in lines or _basic(case):
            yield case._replace(derived=False, residuals=False)


def _basic(case: KernelCase) -> bool:
    operands = [o for o in case.operands if o is not None]
    if case.op.family in _REDUCTIONS:
        return all(len(dims) <= _RANK and 1 not in dims and d in FLOATS for dims, d in operands)
    return (case.op.execution.usual or case.op.family in _PARTS) and not case.residuals and all(
        len(dims) <= _RANK and d in _DTYPES and (d is float32 or 1 not in dims)
        for dims, d in operands)
