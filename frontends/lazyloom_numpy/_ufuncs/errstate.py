"""What happens at floating-point errors: ``errstate``, ``seterr`` and their kind.

Nobody is told of one unless the program asks, and until then it costs nothing. Inside
``errstate(divide="warn")`` or after ``seterr`` every ufunc, sum and cast records a small flag
beside its result. The flag is computed by the same program, and looked at when something that
depends on the result is read: the warning or the FloatingPointError comes there and names the
line that recorded the operation. A block ``with errstate(...="raise")`` looks at its own flags
when it is left, so that ``try`` around it works; that runs what it recorded.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from typing import Any, Final

import numpy as onp

import lazyloom

record = lazyloom.record

KINDS: Final = ("divide", "over", "under", "invalid")
_MODES: Final = ("ignore", "warn", "raise", "call", "print", "log")
_IGNORE, _RAISE = _MODES.index("ignore"), _MODES.index("raise")
_TEXTS: Final = ("divide by zero", "overflow", "underflow", "invalid value")


class FloatError(lazyloom.errors.ExecutionError, FloatingPointError):
    """A floating-point error that the program asked to be told of by an exception."""


class Never(dict[Any, Any]):
    """A table in which nothing is kept."""

    def __setitem__(self, key: Any, value: Any) -> None:
        return None


class _State:
    """Modes of the four kinds, by number, and the callback; one object for each setting."""

    __slots__ = ("modes", "callback", "checking", "flags", "told", "__weakref__")

    def __init__(self, modes: tuple[int, ...], callback: Any) -> None:
        self.modes: Final = modes
        self.callback: Final = callback
        self.checking: Final = any(modes)
        #: of a block with "raise": what is looked at when it is left
        self.flags: list[Any] | None = None
        #: a read in the block has raised one of them already
        self.told = False
        if self.checking:
            _checking.add(self)


#: the settings alive that look for anything, in all threads
_checking: Final[weakref.WeakSet[_State]] = weakref.WeakSet()
_QUIET: Final = _State((_IGNORE,) * 4, None)
_current: Final[ContextVar[_State]] = ContextVar("lazyloom_numpy_errstate", default=_QUIET)
_switching: Final = threading.RLock()
_switches: Final[list[Callable[[bool], None]]] = []


class _Active:
    """Whether ufuncs have plans that look for errors."""

    __slots__ = ("on",)
    on: bool


#: ``on`` says for the whole process whether some thread looks for floating-point errors
ACTIVE: Final = _Active()
ACTIVE.on = False


def active() -> bool:
    """Whether some thread looks for floating-point errors."""
    return ACTIVE.on


def on_switch(function: Callable[[bool], None]) -> None:
    """``function(on)`` makes one part of the frontend look for errors, or stop."""
    _switches.append(function)


def _switch() -> None:
    """Have the frontend look for errors exactly if some thread wants it."""
    with _switching:
        wanted = len(_checking) > 0
        if wanted != ACTIVE.on:
            ACTIVE.on = wanted
            for function in _switches:
                function(wanted)


# ------------------------------------------------------------------- the settings


def _changed(old: _State, given: dict[str, Any], callback: Any) -> _State:
    # NumPy's own class says what is wrong with a mode
    with onp.errstate(**given):
        pass
    everything = given.pop("all", None)
    modes = []
    for kind, mode in zip(KINDS, old.modes):
        chosen = given.get(kind) or everything
        modes.append(mode if chosen is None else _MODES.index(chosen))
    return _State(tuple(modes), callback)


def _as_dict(state: _State) -> dict[str, str]:
    return {kind: _MODES[mode] for kind, mode in zip(KINDS, state.modes)}


def geterr() -> dict[str, str]:
    """The modes of "divide", "over", "under" and "invalid", "ignore" unless set.

    As ``numpy.geterr``, whose modes are "warn" from the start: see :mod:`lazyloom_numpy`.
    """
    return _as_dict(_current.get())


def seterr(all: Any = None, divide: Any = None, over: Any = None, under: Any = None,
           invalid: Any = None) -> dict[str, str]:  # fmt: skip
    """Say what happens at floating-point errors from here on; returns the modes so far.

    As ``numpy.seterr``: "ignore", "warn", "raise", "call", "print" or "log". Errors are told
    when a result is read.
    """
    old = _current.get()
    given = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
    _current.set(_changed(old, given, old.callback))
    answer = _as_dict(old)
    del old
    _switch()
    return answer


def geterrcall() -> Any:
    """What "call" calls and "log" writes to, or None. See ``numpy.geterrcall``."""
    return _current.get().callback


def seterrcall(func: Any) -> Any:
    """Set what "call" calls, as ``func(text, bit)``, and "log" writes to; returns what was.

    See ``numpy.seterrcall``.
    """
    _check_callback(func)
    old = _current.get()
    _current.set(_State(old.modes, func))
    before = old.callback
    del old
    _switch()
    return before


def _check_callback(func: Any) -> None:
    with onp.errstate(call=func):
        pass


_GIVEN: Final = ("all", "divide", "over", "under", "invalid")
_UNSET: Final[Any] = object()


class errstate:
    """What happens at floating-point errors in a block, or in a function it decorates.

    As ``numpy.errstate``. Errors are told when a result is read; those of mode "raise" at the
    latest when the block is left, which runs what it recorded. What NumPy itself computes in the
    block (``np.float64(1) / np.float64(0)``, masked arrays) goes by the same modes.
    """

    __slots__ = ("_given", "_call", "_token", "_state", "_numpys")

    def __init__(self, *, call: Any = _UNSET, all: Any = None, divide: Any = None,
                 over: Any = None, under: Any = None, invalid: Any = None) -> None:  # fmt: skip
        self._given: Final = dict(zip(_GIVEN, (all, divide, over, under, invalid)))
        self._call: Final = call
        self._token: Token[_State] | None = None
        self._state: _State | None = None
        self._numpys: Any = None

    def __enter__(self) -> None:
        if self._token is not None:
            raise TypeError("Cannot enter `np.errstate` twice.")
        old = _current.get()
        if self._call is not _UNSET:
            _check_callback(self._call)
        callback = old.callback if self._call is _UNSET else self._call
        state = _changed(old, dict(self._given), callback)
        if _RAISE in state.modes:
            state.flags = []
        self._state = state
        call = {} if self._call is _UNSET else {"call": self._call}
        self._numpys = onp.errstate(**call, **self._given)
        self._numpys.__enter__()
        self._token = _current.set(state)
        _switch()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        assert self._token is not None and self._state is not None
        _current.reset(self._token)
        self._numpys.__exit__(kind, error, traceback)
        flags = None if self._state.told else self._state.flags
        self._token = self._state = None
        _switch()
        if flags and error is None:
            for flag in flags:
                _look(flag)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            call = {} if self._call is _UNSET else {"call": self._call}
            with type(self)(**call, **self._given):
                return function(*args, **kwargs)

        return inner


def _look(flagged: Any) -> None:
    """Run an operation, and have its flag judged.

    Where it cannot be read, as in a function that is mapped over an axis, it is judged later.
    """
    with contextlib.suppress(lazyloom.errors.ReadForbiddenError):
        flagged.read()


# ------------------------------------------------------------------ while recording

_local: Final = threading.local()


@contextlib.contextmanager
def only_where(mask: Any) -> Iterator[None]:
    """Errors count only where the mask holds: what a ufunc's ``where`` leaves out has none."""
    _local.mask = mask
    try:
        yield
    finally:
        _local.mask = None


@contextlib.contextmanager
def of_scalars() -> Iterator[None]:
    """Errors are those of NumPy's scalars: named so, and integers that overflow are some."""
    _local.scalars = True
    try:
        yield
    finally:
        _local.scalars = False


def current_state() -> Any:
    """What stands for the settings of this context: another object once they change."""
    return _current.get()


#: the callbacks that checks name by number
_callbacks: Final[list[Any]] = [None]


def _number_of(callback: Any) -> int:
    for i, known in enumerate(_callbacks):
        if known is callback:
            return i
    _callbacks.append(callback)
    return len(_callbacks) - 1


def watch(name: str, operands: Any, result: Any, named: str = "") -> Any:
    """The result, or each of several, with a check of the errors that computing it met.

    Args:
        name: the function, as NumPy calls it.
        operands: Values and Scalars that broadcast to the result.
        named: what messages call it, if that differs.
    """
    state = _current.get()
    if not state.checking:
        if not _checking:
            _switch()
        return result
    if isinstance(result, tuple):
        return (watch(name, operands, result[0], named), *result[1:])
    if not _can_fail(name, result):
        return result
    if getattr(_local, "scalars", False):
        name, named = f"scalar {name}", f"scalar {named or name}"
    seen, given = result, list(operands)
    mask = getattr(_local, "mask", None)
    if mask is not None:
        seen, *given = [_one_outside(mask, x) for x in (seen, *given)]
    flag = record("float_status", (seen, *given), {"function": name})
    info = (*state.modes, _number_of(state.callback) if state.callback is not None else 0)
    checked, looked_at = record("checked", (result, flag), {
        "kind": "floating", "of": named or name, "info": info})
    if state.flags is not None:
        state.flags.append(checked)
    return checked


#: functions that meet no floating-point error
_SAFE: Final = frozenset({
    "absolute", "fabs", "negative", "positive", "conjugate", "sign", "maximum", "minimum", "fmax",
    "fmin", "floor", "ceil", "trunc", "rint", "copysign", "signbit", "heaviside", "modf", "frexp",
    "isnan", "isinf", "isfinite"})  # fmt: skip


def _can_fail(name: str, result: Any) -> bool:
    kind = result.type.dtype.kind
    if kind == "b":
        return False
    if kind in "iu":
        return name in ("floor_divide", "remainder", "fmod", "divmod", "reciprocal", "cast") or (
            getattr(_local, "scalars", False))
    return name not in _SAFE


def _one_outside(mask: Any, x: Any) -> Any:
    return record("where", (mask, x, lazyloom.Scalar(1, x.type.dtype)))


def checked_plan(function: Any, plan: Any) -> Any:
    """A ufunc's plan, with a check of the errors of every call."""
    name = function.__name__

    def compute(values: Any, inputs: Any) -> Any:
        if plan.compute is not None:
            result = plan.compute(values, inputs)
        else:
            result = record(plan.op, values)
            if result.type.dtype is not plan.outputs[0]:
                result = record("cast", (result,), {"dtype": plan.outputs[0]})
        if function.signature is not None:
            return watch_contraction(name, values, result)
        return watch(name, values, result)

    return type(plan)(plan.op, plan.inputs, plan.outputs, compute)


def watch_contraction(name: str, operands: Any, result: Any) -> Any:
    """:func:`watch` for products that sum: any NaN or infinity of the operands explains one."""
    if not active() or result.type.dtype.kind not in "fc":
        return result
    return watch(name, [_largest(x, None, False) for x in operands], result)


def watch_reduction(operand: Any, result: Any, axes: Any, keepdims: bool, named: str) -> Any:
    """:func:`watch` for a reduction over axes."""
    if not active() or result.type.dtype.kind not in "fc" or 0 in operand.type.shape:
        return result
    return watch("reduce", (_largest(operand, axes, keepdims),), result, named)


def _largest(x: Any, axes: Any, keepdims: bool) -> Any:
    """The largest modulus: NaN, infinite or finite as the elements are, if they are floats."""
    if isinstance(x, lazyloom.Scalar):
        x = record("full", (x,), {"shape": ()})
    if 0 in x.type.shape or x.type.dtype.kind not in "fc":
        return record("full", (lazyloom.Scalar(0.0, lazyloom.dtypes.float32),), {"shape": ()})
    return record("max", (record("abs", (x,)),), {"axes": axes, "keepdims": keepdims})


# --------------------------------------------------------------------- at the read


def _judge(data: Any, check: Any) -> Any:
    """What a flag says: an error for its readers, or None after what else was asked for."""
    bits = int(onp.bitwise_or.reduce(onp.asarray(data), axis=None))
    callback = _callbacks[check.info[4]]
    for position, (what, mode) in enumerate(zip(_TEXTS, check.info)):
        if not bits >> position & 1 or mode == _IGNORE:
            continue
        text = f"{what} encountered in {check.of}"
        chosen = _MODES[mode]
        if chosen == "raise":
            _current.get().told = True
            return FloatError(
                f"{text} (recorded at {check.site})", op=check.of, site=str(check.site))
        if chosen == "warn":
            _warn(text, check.site)
        elif chosen == "print":
            sys.stderr.write(f"Warning: {text}\n")
        elif callback is None:
            return FloatError(
                f"{text}: mode {chosen!r} needs a callback, set one with seterrcall",
                op=check.of, site=str(check.site))
        elif chosen == "call":
            callback(what, 1 << position)
        else:
            callback.write(f"Warning: {text}\n")
    return None


#: which warnings were shown, by file, as each module keeps it for its own
_shown: Final[dict[str, dict[Any, Any]]] = {}


def _warn(text: str, site: Any) -> None:
    warnings.warn_explicit(
        text, RuntimeWarning, site.file, site.line, registry=_shown.setdefault(site.file, {}))


lazyloom.register_check("floating", _judge)
