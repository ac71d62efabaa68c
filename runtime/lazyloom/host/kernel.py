"""One op as a function on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class HostKernel(NamedTuple):
    """One op as a function on the host.

    Attributes:
        run: takes a NumPy array (or a NumPy scalar) an operand, None for one that is absent, and
            returns its result, or the tuple of its results where there are several. It changes no
            operand. Results have exactly the types that the op's rule gives: sums of half
            precision are widened and rounded by the kernel. It runs with subnormal numbers flushed
            to zero and without NumPy's warnings. Where it raises, or a result has another type,
            the op is compiled in its place, and the record of the run says so.
        shared: of each result, whether its memory may be an operand's, or be kept by the kernel.
    """

    run: Callable[..., Any]
    shared: tuple[bool, ...]
