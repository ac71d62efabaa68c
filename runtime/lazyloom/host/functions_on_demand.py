"""C functions compiled on demand, for kernels that are not prebuilt and take long.

Such a kernel calls NumPy at first. Once its calls have taken so long that a compilation pays (the
option ``function_after``), the C compiler makes a function of it beside the program, together with
those of other kernels that wait by then. It is called from then on, by later processes from the
start: functions are kept in the disk cache. Without that, or without a C compiler, kernels go on
calling NumPy.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from ..cache import disk
from ..counters import counters
from ..extension import NATIVE
from ..settings import WITHOUT, tuning
from . import function_libraries, native
from .function_libraries import LibraryError

#: times ``function_after`` that kernels which wait have taken before a process is begun for them
BEGIN: Final = 25

#: microseconds of a kernel's calls after which the option is looked at, at most
LOOKED_AT: Final = 2000
#: functions that are compiled at once, at most: programs wait meanwhile, for half a second
TOGETHER: Final = 32

Arrays = tuple[tuple[str, tuple[int, ...]], ...]

#: a signal's handler may get here while it is held
_lock: Final = threading.RLock()
#: names of functions, and the libraries that have them
_known: Final[dict[str, Any]] = {}
#: what waits for functions that are not compiled yet, by their names
_waiting: Final[dict[str, Waiting]] = {}
#: names of functions that were not on disk when they were looked for, and how many kernels could
#: become each: one for each of the extents that were met
_absent: Final[dict[str, int]] = {}
#: and of those that cannot be compiled
_failed: Final[set[str]] = set()
#: why no functions are compiled and loaded any more in this process, if anything: there is no C
#: compiler that works, say
_off: Final[list[Exception]] = []


class Wanted(NamedTuple):
    """A function that a kernel could be, and how it is called.

    Attributes:
        name: what it is called in its library, a digest of its text.
        text: its parameters' and statements' text in C, without the name.
        symbols: its extents.
        operands, results: (dtype, shape) of each.
        present: of operands where some may be absent, whether each is there; else empty.
    """

    name: str
    text: str
    symbols: tuple[int, ...]
    operands: Arrays
    results: Arrays
    present: tuple[bool, ...] = ()

    def of(self, library: Any) -> Callable[..., Any] | None:
        """The function of a library; None if that has no such one."""
        try:
            made: Any = NATIVE.Native(
                library, self.name, self.symbols, self.operands, self.results)
        except LookupError:
            return None
        found: Callable[..., Any] = made.with_absent(self.present) if self.present else made
        return found

    def asked(self, awaited: Any, seconds: float) -> float:
        """Have a kernel become the function, now or once that is compiled.

        ``seconds`` are what its calls have taken. Returns when to ask again.
        """
        if self.name in _failed:
            return math.inf
        wait = too_early(seconds, _absent.get(self.name, 0))
        if wait:
            return wait
        library = _library_of(self.name)
        found = None if library is None else self.of(library)
        if found is not None:
            _absent.pop(self.name, None)
            awaited.use(found)
        if found is not None or _off:
            return math.inf
        with _lock:
            waiting = _waiting.setdefault(self.name, Waiting(self.text, {}))
            waiting.kernels[id(awaited)] = awaited, self, seconds
            # copies: a signal's handler may add to them meanwhile
            total = sum(s for w in list(_waiting.values()) for _, _, s in list(w.kernels.values()))
        begin = total >= BEGIN * tuning.function_after * 1e-6
        if begin or not requested:
            requested[:] = [begin]
        return seconds * BEGIN

    def with_present(self, present: tuple[bool, ...], kernel: Callable[..., Any]) -> Any:
        """The function of operands some of which may be absent, or a kernel that may become it."""
        return function(self._replace(present=present), kernel)


class Waiting(NamedTuple):
    """A function that is wanted.

    Attributes:
        text: its text.
        kernels: what it will take the place of, how, and the seconds that it has taken.
    """

    text: str
    kernels: dict[int, tuple[Any, Wanted, float]]


def usable() -> bool:
    """Whether functions are compiled on demand in this process, as far as is known."""
    return "background" not in WITHOUT and (
        NATIVE is not None and not _off and native.wanted() and disk.enabled())


def native_or_kernel(
    name: str, kernel: Callable[..., Any], symbols: tuple[int, ...], operands: Arrays,
    results: Arrays, work: int, calls: int, text: str = "",
) -> Callable[..., Any]:
    """What :func:`.native.native` gives; or a kernel that may become the function of a text.

    The text is "" for those that come with the installation.
    """
    found = native.native(name, kernel, symbols, operands, results, work, calls)
    if found is not kernel or not text or not native.is_quicker(operands, results, work, calls):
        return found
    return function(Wanted(name, text, symbols, operands, results), kernel)


def function(wanted: Wanted, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The function, if it was compiled before; else the kernel, which may become it."""
    if not usable():
        return kernel
    if wanted.name not in _absent:
        library = _library_of(wanted.name)
        found = None if library is None else wanted.of(library)
        if found is not None:
            return found
    number = _absent[wanted.name] = _absent.get(wanted.name, 0) + 1
    return awaited(kernel, number, wanted.asked)


def awaited(
    kernel: Callable[..., Any], number: int, asked: Callable[[Any, float], float]
) -> Callable[..., Any]:
    """A kernel in whose place a function may come, one of so many that it is for."""
    # together they take as long then, where they are called alike
    after = min(tuning.function_after or LOOKED_AT, LOOKED_AT) * 1e-6 / number
    made: Callable[..., Any] = NATIVE.Awaited(kernel, after, asked)
    return made


def too_early(seconds: float, number: int) -> float:
    """After how many seconds of its calls one of so many kernels asks again, which asks now; 0 if
    they have taken long enough."""
    if not usable():
        return math.inf
    after = tuning.function_after * 1e-6 / max(1, number)
    # the option may have been changed since
    return 0.0 if 0 < after <= seconds else after or 2 * seconds


def with_absent(
    run: Any, present: tuple[bool, ...], kernel: Callable[..., Any]
) -> Callable[..., Any]:
    """The same with None for each operand that is not present; ``kernel`` is what it is at first.
    """
    wanted = getattr(run.costly, "__self__", None)
    found: Callable[..., Any] = (
        kernel if wanted is None else wanted.with_present(present, kernel))
    return found


class _Functions:
    """The functions that wait, for what compiles them."""

    def waiting(self) -> dict[str, str]:
        with _lock:
            return {name: w.text for name, w in islice(_waiting.items(), TOGETHER)}

    def compiled(self, texts: Mapping[str, str], data: bytes) -> None:
        _take(texts, data)

    def failed(self, texts: Mapping[str, str], error: Exception, all_of_them: bool) -> None:
        _failed.update(texts)
        with _lock:
            for name in texts:
                _waiting.pop(name, None)
            if all_of_them:
                _off.append(error)
                _waiting.clear()


FUNCTIONS: Final = _Functions()
#: whether to begin a compiler's process for them, once some are to be compiled; whoever runs
#: kernels asks for that (:mod:`lazyloom.execute`)
requested: Final[list[bool]] = []


def _take(texts: Mapping[str, str], data: bytes) -> None:
    """Call the functions of a library that was compiled for these."""
    library = function_libraries.loaded(data)
    for name in texts:
        with _lock:
            waiting = _waiting.pop(name, None)
        found = None
        for awaited, wanted, _ in waiting.kernels.values() if waiting is not None else ():
            found = wanted.of(library)
            if found is not None:
                awaited.use(found)
        if found is None:
            _failed.add(name)
        else:
            counters["functions_compiled"] += 1
            _known[name] = library
            _absent.pop(name, None)


def _library_of(name: str) -> Any:
    """The library that has a function; None if there is none."""
    found = _known.get(name)
    if found is None:
        try:
            found = function_libraries.library_of(name)
        except LibraryError as error:
            _off.append(error)
        if found is not None:
            _known[name] = found
    return found
