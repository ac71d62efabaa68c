"""The processor's mode that flushes subnormal numbers to zero.

XLA's threads of the processor run in it, which no option changes. So kernels of the host run in it,
too, and a subnormal number is the same in every form. It is a mode of a thread: it is turned on for
nothing but the kernels, and what belongs to the user runs as before.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from ..extension import in_c

#: of (system, processor), which word of C's ``fenv_t`` is the control word, and its bits that flush
_PLACES: Final = {
    ("linux", "x86_64"): (7, 0x8040),
    ("linux", "aarch64"): (0, 1 << 24),
    ("darwin", "x86_64"): (1, 0x8040),
    ("darwin", "arm64"): (2, 1 << 24),
}
#: functions that are x near 0, which C's library gives back as it is: a subnormal number, not the
#: zero that it counts as. NumPy calls that library where it has no vectors of its own, which it has
#: for most of them with AVX-512
KEEP_SUBNORMALS: Final = (
    "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "log1p", "sin", "sinh", "tan",
)  # fmt: skip
#: dtypes whose subnormal numbers count as zeros; those of float16 are float32's normal numbers
FLUSHED: Final = ("float32", "float64")
#: larger than any system's ``fenv_t``
_Words: Final = ctypes.c_uint32 * 16


def _machine() -> str:
    # not of platform, as which a file of the user's may be imported
    return os.uname().machine if hasattr(os, "uname") else ""


class _Environment:
    """The floating-point environment by C's own functions, for where nothing was compiled."""

    def __init__(self) -> None:
        self.place: tuple[int, int] | None = _PLACES.get((sys.platform, _machine()))
        self.get: Any = None
        self.set: Any = None
        if self.place is not None:
            try:
                library = ctypes.CDLL("libm.so.6" if sys.platform == "linux" else None)
                self.get, self.set = library.fegetenv, library.fesetenv
            except (OSError, AttributeError):
                self.place = None

    def flush_subnormals(self) -> Any:
        """Turn the mode on for this thread; what :meth:`restore_mode` takes."""
        if self.place is None:
            return None
        found = _Words()
        self.get(found)
        at, bits = self.place
        word = found[at]
        found[at] = word | bits
        self.set(found)
        found[at] = word
        return found

    def restore_mode(self, before: Any) -> None:
        """Put back the mode that this thread had before."""
        if before is not None:
            self.set(before)


_environment: Final = _Environment()
flush_subnormals: Final[Callable[[], Any]] = in_c(
    "flush_subnormals", _environment.flush_subnormals)
restore_mode: Final[Callable[[Any], None]] = in_c("restore_mode", _environment.restore_mode)


class flushing:  # noqa: N801 - used as a function
    """A ``with`` block in which subnormal numbers count as zeros, on this thread."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = flush_subnormals()

    def __exit__(self, *exc: object) -> None:
        restore_mode(self._before)
