"""Functions whose calls are captured."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final, NamedTuple

from .. import logs, strict
from ..counters import counters
from ..errors import ArgumentError
from ..evaluate.reading import held_back
from ..hooks import hooks
from ..settings import WITHOUT, eager, runs_eagerly, watching
from ..trace import graph
from ..trace.mapping import innermost
from ..trace.source import Site, user_site
from . import environment
from .call import Recording
from .captured import Captured, fitting
from .guards import moved
from .numbers import NumberPlace, changed_places, changed_variables
from .state import Code, stands_for
from .template import NotCapturable

#: how many captures of one function are kept
KEPT: Final = 8
#: how many calls may be recorded without becoming a capture before capture of the function stops
TRIES: Final = 6


class CaptureError(ArgumentError):
    """A function that must be captured as a whole cannot be.

    Given: ``jit(step, fullgraph=True)`` of a function that reads a tensor or prints. Repair: move
    that out of the function, or leave ``fullgraph`` out: then its calls are recorded as usual.
    """


#: why a call was recorded: it was among the first ones of the function
FIRST_CALLS: Final = "first_calls"
#: likewise, and the function is made anew for each call, so that none of it can be kept
MADE_ANEW: Final = "made_anew"
#: something that the captures depend on is otherwise
CHANGED: Final = "changed"
#: the function is not captured any more, or not yet
NOT_CAPTURED: Final = "not_captured"
#: a number that changed cannot be fed
NOT_FED: Final = "not_fed"

#: how many recorded calls are kept
CALLS_KEPT: Final = 256


class RecordedCall(NamedTuple):
    """A call of a captured function that was recorded, or why it is not captured.

    Attributes:
        function: the function's name.
        site: the user's ``file:line`` of the call.
        code: :data:`FIRST_CALLS`, :data:`MADE_ANEW`, :data:`CHANGED`, :data:`NOT_CAPTURED` or
            :data:`NOT_FED`.
        reason: in words.
    """

    function: str
    site: str
    code: str
    reason: str


_calls: Final[deque[RecordedCall]] = deque(maxlen=CALLS_KEPT)
#: by code object the function that was called first last, which may be gone
_newest: Final[weakref.WeakKeyDictionary[Any, weakref.ref[Any]]] = weakref.WeakKeyDictionary()


def recorded_calls() -> list[RecordedCall]:
    """Why calls of captured functions were recorded: the newest, of all functions, oldest first.

    ``explain()`` of a function has its own, and what became of it.
    """
    return list(_calls)


class Explanation:
    """What became of the calls of a captured function.

    Attributes:
        captures: how many captures there are.
        recorded: why calls were recorded, oldest first: (reason, site of the call).
        refused: why calls are no longer captured, "" if they are.
        runs: how many calls ran without being recorded.
    """

    def __init__(
        self, name: str, captures: int, runs: int, recorded: list[tuple[str, str]], refused: str
    ) -> None:
        self.name = name
        self.captures = captures
        self.runs = runs
        self.recorded = recorded
        self.refused = refused

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.captures} captures, {self.runs} calls ran without recording"]
        lines += [f"  recorded at {site}: {reason}" for reason, site in self.recorded]
        if self.refused:
            lines.append(f"  not captured: {self.refused}")
        return "\n".join(lines)

    __repr__ = __str__


class Jitted:
    """A function whose calls are captured; see :func:`jit`."""

    def __init__(
        self, function: Callable[..., Any], fullgraph: bool = False, disable: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._fullgraph = fullgraph
        self._disabled = disable
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._captures: list[Captured] = []
        self._code = Code()
        self._stable = False
        self._tries = 0
        self._captures_made = 0
        self._runs = 0
        self._refused = "LAZYLOOM_WITHOUT names capture" if "capture" in WITHOUT else ""
        self._recorded: list[tuple[str, str]] = []
        #: numbers that changed between calls, and those of them that cannot be fed
        self._wanted: dict[Any, NumberPlace] = {}
        self._constant: set[Any] = set()
        #: places whose tensor changed between calls, with the check that keeps its identity
        self._moving: dict[Any, Any] = {}

    def forget(self) -> None:
        """Forget all captures, and why calls were not captured."""
        with self._lock:
            self._forget()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return Jitted, (self._function, self._fullgraph, self._disabled)

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        import copy

        return Jitted(copy.deepcopy(self._function, memo), self._fullgraph, self._disabled)

    def __repr__(self) -> str:
        return f"<captured {self._function!r}>"

    def explain(self) -> Explanation:
        """Return why calls were recorded, and whether they are captured."""
        return Explanation(self._name(), len(self._captures), self._runs, list(self._recorded),
                           self._refused)  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if watching[0] and self._refused and not self._disabled and "capture" not in WITHOUT and (
            strict.asked("fallbacks")
        ):
            self._tell()
        if self._disabled or self._refused or eager[0] and runs_eagerly() or (
            get_ident() in held_back
        ) or (
            graph.trace.mapping and innermost() is not None
        ):
            return self._function(*args, **kwargs)
        captures = self._captures
        if captures:
            fit = fitting(captures, args, kwargs)
            if fit is not None:
                k, prepared = fit
                if prepared.fails:
                    return self._function(*args, **kwargs)
                captured = captures[k]
                self._runs += 1
                if k:
                    # the capture used last is tried first
                    self._captures = [captured, *[c for c in captures if c is not captured]]
                return captured.run(prepared)
        return self._record(args, kwargs)

    def _tell(self) -> None:
        """Tell the strict mode "fallbacks" of a call that is recorded. Raises FallbackError."""
        name = self._name()
        strict.occurred(
            "fallbacks", user_site(),
            f"a call of {name} was recorded, which is not captured ({self._refused})",
            "move that out of the function; its explain() says what was recorded, and why")

    def _record(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if sys.getprofile() is not None or not self._lock.acquire(blocking=False):
            # a profiler must see the user's program and no Watch, or another thread is recording
            return self._function(*args, **kwargs)
        try:
            return self._record_alone(args, kwargs)
        finally:
            self._lock.release()

    def _record_alone(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site = user_site()
        code = CHANGED if self._captures else FIRST_CALLS
        why = self._why(args, kwargs) if self._captures else "the first calls"
        if code == FIRST_CALLS and not self._recorded and self._made_anew():
            code, why = MADE_ANEW, (
                "the function is made anew for each call, so that no call can be kept for the "
                "next: capture it once, outside of the loop or function that makes it")
        observer = hooks.observer
        if observer is None:
            return self._record_noted(args, kwargs, site, why, code)
        begun = observer.captures()
        try:
            return self._record_noted(args, kwargs, site, why, code)
        finally:
            observer.recorded_call(
                begun, self._function, code in (FIRST_CALLS, MADE_ANEW), site)

    def _record_noted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], site: Site, why: str, code: str
    ) -> Any:
        if self._captures_made >= KEPT:
            self._refuse(f"it was captured {KEPT} times, and {why}", site)
            return self._function(*args, **kwargs)
        self._note(why, site, code)
        for captured in self._captures:
            for place in changed_places(captured.groups) + changed_variables(
                captured.guards.checks, captured.args, args, captured.kwargs, kwargs
            ):
                if place.name not in self._constant:
                    self._wanted[place.name] = place
            self._moving.update(moved(captured.guards.checks))
        recording = Recording(self._function, args, kwargs, self._code, self._stable,
                              list(self._wanted.values()), set(self._moving))  # fmt: skip
        counters["calls_recorded"] += 1
        with recording.others:
            result = recording.run()
            self._keep_capture(recording, site)
        self._note_unfed(recording, site)
        return result

    def _keep_capture(self, recording: Recording, site: Site) -> None:
        """Keep the recorded call as a capture, if it can run again."""
        try:
            captured = recording.captured()
        except NotCapturable as refusal:
            self._tries += 1
            text = refusal.reason
            if refusal.site is not None:
                text = f"{text} ({refusal.site})"
            if not refusal.retry or self._tries >= TRIES:
                self._refuse(text, site)
            else:
                self._note(f"not captured yet: {text}", site, NOT_CAPTURED)
        else:
            self._tries = 0
            if captured is None:
                self._stable = True
            else:
                self._captures_made += 1
                self._captures = [captured, *self._captures]

    def _note_unfed(self, recording: Recording, site: Site) -> None:
        """Remember the numbers that turned out to be used otherwise than as operands."""
        refused = list(recording.fed.refused) if recording.fed is not None else []
        if recording.not_fed:
            refused += [(place, recording.not_fed) for place in self._wanted.values()]
        for place, why in refused:
            if place.name in self._wanted:
                if recording.fed is None or not recording.fed.structural:
                    self._constant.add(place.name)
                    del self._wanted[place.name]
                self._note(f"{place.label} cannot be fed: {why}", site, NOT_FED)

    def _why(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        settings = environment.current()
        return self._captures[0].why(args, kwargs, settings)

    def _name(self) -> str:
        return str(getattr(self._function, "__qualname__", type(self._function).__qualname__))

    def _made_anew(self) -> bool:
        """Whether another function of the same code was called before, and nobody has it now."""
        code = getattr(self._function, "__code__", None)
        if code is None:
            return False
        before = _newest.get(code)
        _newest[code] = weakref.ref(self)
        return before is not None and before() is None

    def _note(self, reason: str, site: Site, code: str) -> None:
        self._recorded.append((reason, str(site)))
        if logs.hears("capture", logs.INFO):
            logs.say("capture", logs.INFO, f"{self._name()} is recorded at {site}: {reason}")
        del self._recorded[:-32]
        _calls.append(RecordedCall(self._name(), str(site), code, reason))

    def _refuse(self, reason: str, site: Site) -> None:
        self._refused = reason
        self._captures = []
        name = self._name()
        _calls.append(RecordedCall(name, str(site), NOT_CAPTURED, reason))
        if logs.hears("capture", logs.INFO):
            logs.say("capture", logs.INFO, f"{name} is no longer captured: {reason}")
        if self._fullgraph:
            raise CaptureError(
                f"{name} cannot be captured as a whole: {reason}; move that out of it, or leave "
                "fullgraph out", site=str(site))


stands_for(Jitted, lambda x: x._function)


def jit(
    function: Callable[..., Any] | None = None, *, fullgraph: bool = False, disable: bool = False
) -> Any:
    """Return a function whose calls run without being recorded, once they have been recorded.

    What a call records depends on its arguments and on all that it reads: closures, globals,
    attributes, modules and optimizers, grad mode and other settings. If all of that is unchanged,
    a call runs the program of the recorded call, which does the same writes in place, draws new
    random numbers and returns new tensors; other calls are recorded. A function that reads a
    tensor, has an effect on the host, or depends on what cannot be watched is not captured: its
    calls are recorded as if ``jit`` were not there.

    Args:
        function: a function of tensors of any frontend and other values; None gives a decorator.
        fullgraph: raise CaptureError, which says where, instead of recording such calls.
        disable: return a function that records every call.

    Returns:
        the function as a callable with methods ``explain()``, which says why calls were recorded,
        and ``forget()``.

    Raises ArgumentError if ``function`` is not callable.

    Example:

        >>> step = lazyloom.jit(lambda x: x * 2 + 1)
        >>> step(np.arange(3.0))
        array([1., 3., 5.])
    """
    if function is None:
        return lambda f: jit(f, fullgraph=fullgraph, disable=disable)
    if not callable(function):
        raise ArgumentError(f"jit: a {type(function).__name__} was given, expected a function")
    return Jitted(function, fullgraph, disable)

