"""Deferred C code of host kernels, written once their calls have taken long.

Writing it takes as long as tracing the op, and most kernels of a program are called too seldom for
it. Until then the text of a kernel says ``later(kernel, ...)`` where it will call
:func:`~....functions_on_demand.native_or_kernel`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..cache import disk
from ..interrupts import Deferred, reraise_from_handler
from . import functions_on_demand, native
from .functions_on_demand import Arrays

#: writes a kernel in C: of its text, what was traced and the symbols
InC: TypeAlias = "Callable[[str, Any, Sequence[str] | None], str]"
#: kernels whose ops were traced last, which are written without being traced again
TRACED: Final = 128


class Unwritten(NamedTuple):
    """What the text of such a kernel gives."""

    kernel: Callable[..., Any]


def later(
    kernel: Callable[..., Any], operands: Arrays, results: Arrays, calls: int
) -> Callable[..., Any] | Unwritten:
    """What texts call: the kernel where no function would be quicker, or could be compiled."""
    if functions_on_demand.usable() and native.is_quicker(operands, results, 0, calls):
        return Unwritten(kernel)
    return kernel


class Traced:
    """What was traced for a text, as long as it is kept."""

    #: those that were made last
    _last: Final[deque[list[Any]]] = deque(maxlen=TRACED)

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def mark(self, text: str, closed: Any, symbols: Sequence[str] | None) -> str:
        """The text of a kernel that may be written in C later."""
        # a signal's handler that needs a kernel would find half of it
        with Deferred(True):
            from .c_source.place import marked

        found = marked(text, closed, symbols)
        if found == text:
            return text
        if len(self._last) == TRACED:
            self._last.popleft().clear()
        if not self._kept:
            self._last.append(self._kept)
        self._kept[:] = text, closed, symbols, len(found)
        return found

    def written(self, text: str, again: Callable[[InC], str]) -> str:
        """The text with that in C; ``again`` traces the op once more, and gives "" if it fails."""
        # a signal's handler that needs a kernel would find half of it
        with Deferred(True):
            from .c_source.library import with_text

        # another thread may let go of it meanwhile
        kept = self._kept.copy()
        if not kept:
            return again(with_text) or text
        plain, closed, symbols, length = kept
        return with_text(plain, closed, symbols) + text[length:]


def marking(traced: Traced) -> InC | None:
    """What marks kernels that may become functions in C; on disk they are for later processes,
    whatever this one was told."""
    return traced.mark if native.calls_c() and disk.enabled() else None


class Text:
    """A text with kernels for some extents.

    Attributes:
        write: writes it in C, once, and gives the kernel for these extents then.
        kernels: how many kernels there are of it.
        wanted: the functions that those become which were written and not compiled.
    """

    def __init__(self, write: Callable[[tuple[int, ...]], Any]) -> None:
        self.write: Final = write
        self.kernels = 0
        self.wanted: Final[dict[tuple[int, ...], functions_on_demand.Wanted]] = {}

    def awaited(self, run: Any, values: tuple[int, ...] = ()) -> Callable[..., Any]:
        """A kernel that may become a function, of what the text gives for these extents."""
        if not isinstance(run, Unwritten):
            found: Callable[..., Any] = run
            return found
        return _Kernel(self, values).awaited(run.kernel)


class _Kernel(NamedTuple):
    """The kernel of a text for some extents.

    Attributes:
        present: of operands where some may be absent, whether each is there; else empty.
    """

    text: Text
    values: tuple[int, ...]
    present: tuple[bool, ...] = ()

    def awaited(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        self.text.kernels += 1
        return functions_on_demand.awaited(kernel, self.text.kernels, self.asked)

    def with_present(self, present: tuple[bool, ...], kernel: Callable[..., Any]) -> Any:
        """The kernel of operands some of which may be absent."""
        return self._replace(present=present).awaited(kernel)

    def asked(self, awaited: Any, seconds: float) -> float:
        """Have a kernel become the function, now or once that is written and compiled."""
        wanted = self.text.wanted.get(self.values)
        if wanted is None:
            wait = functions_on_demand.too_early(seconds, self.text.kernels)
            if wait:
                return wait
            try:
                run = self.text.write(self.values)
            except Exception as error:
                reraise_from_handler(error)
                # the kernel is right without
                return math.inf
            if native.is_native(run):
                awaited.use(native.with_absent(run, self.present) if self.present else run)
                return math.inf
            wanted = getattr(run.costly, "__self__", None) if native.is_awaited(run) else None
            if not isinstance(wanted, functions_on_demand.Wanted):
                return math.inf
            self.text.wanted[self.values] = wanted
        return wanted._replace(present=self.present).asked(awaited, seconds)
