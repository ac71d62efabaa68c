"""One op as a function on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class HostKernel(NamedTuple):
    """One op as a function on the host.

    Attributes:
        run: takes a NumPy array (or a NumPy scalar) an operand, None for one that is absent, and
            returns its result, or the tuple of its results where there are several. It changes no
            operand.
        shared: of each result, whether its memory may be an operand's, or be kept by the kernel.
    """

    run: Callable[..., Any]
    shared: tuple[bool, ...]
