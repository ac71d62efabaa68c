"""What the entries share: how errors are answered, and what stands behind a tensor's handle.

Each entry answers 1 for success. An exception becomes the calling thread's error record
and a negative answer, the status to report; see ``shims.c``.
"""

from __future__ import annotations

import _thread
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import HandleError, LoomError, OutOfMemoryError

from . import coverage, handles
from .handles import TENSOR

INTERNAL: Final = 102
STACK: Final = 103
TIMEOUT: Final = 104

TOO_DEEP: Final = (
    b"functions of loops and branches are nested too deeply, or one calls itself without end; "
    b"expected a few dozen levels")

_UNKNOWN: Final = "<unknown>:0"

_files: dict[int, str] = {}
#: held while a Value behind a handle becomes a Tensor
_making: Final = threading.Lock()
#: ``since``: the newest node that is not of the function that this thread records once
own: Final = threading.local()


class Collected:
    """What a tensor that requires a gradient has collected, which goes with the tensor."""

    __slots__ = ("gradient", "lock", "__weakref__")

    def __init__(self) -> None:
        self.gradient: lazyloom.Value | None = None
        self.lock = threading.Lock()  # held while a gradient is added


class Leaf:
    """What the tape knows a tensor that requires a gradient by.

    Nodes hold it. A gradient that it held would hold nodes in turn, of a cycle that the collector
    does not see.
    """

    __slots__ = ("since", "_collected")

    def __init__(self, collected: Collected) -> None:
        #: the newest node before it
        self.since = lazyloom.last_sequence()
        self._collected = weakref.ref(collected)

    @property
    def collected(self) -> Collected | None:
        """None once the tensor is gone."""
        return self._collected()

    @property
    def gradient(self) -> lazyloom.Value | None:
        """What was collected; None if nothing was, or the tensor is gone."""
        found = self._collected()
        return None if found is None else found.gradient


class Tensor(lazyloom.Tensor):
    """The object behind a ``loom_tensor`` that was written or collects a gradient.

    Behind all others is their Value alone, which costs less.
    """

    __slots__ = ("leaf", "collected")
    leaf: Leaf | None
    collected: Collected | None

    def __init__(self, value: lazyloom.Value) -> None:
        super().__init__(value)
        self.leaf = self.collected = None


class CallerFailedError(Exception):
    """A function of the caller's returned this status, whose error is recorded already."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class TimedOutError(Exception):
    """What was waited for is not ready in time."""


def failed(exception: type[BaseException], value: BaseException, traceback: Any) -> int:
    """Record an exception as the error of this thread; the answer is minus its status."""
    if isinstance(value, CallerFailedError):
        return -value.status
    if isinstance(value, TimedOutError):
        lib.loomp_set_error(TIMEOUT, str(value).encode(), b"", b"")
        return -TIMEOUT
    if isinstance(value, LoomError):
        code, op, site = value.code, value.op or "", value.site or ""
        message = "; ".join([
            str(value) if op else named_in_c(str(value)), *getattr(value, "__notes__", ())])
        if site == _UNKNOWN:
            site = ""
    else:
        if issubclass(exception, KeyboardInterrupt):
            # the Python program around the caller is to hear of it, not this call alone
            _thread.interrupt_main()
        op = site = ""
        if issubclass(exception, RecursionError):
            # the error of the innermost call would be one of a defect
            lib.loomp_set_error(STACK, TOO_DEEP, b"", b"")
            return -STACK
        out_of_memory = issubclass(exception, MemoryError)
        code = OutOfMemoryError.code if out_of_memory else INTERNAL
        message = f"{exception.__name__}: {value}"
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if traceback is not None:
            code_object = traceback.tb_frame.f_code
            message += f" (in {code_object.co_name}, {code_object.co_filename}:"
            message += f"{traceback.tb_lineno})"
    texts = [t.encode("utf-8", "backslashreplace") for t in (message, op, site)]
    lib.loomp_set_error(code, *texts)
    name, index = argument_of(message, op)
    # a library of an older minor version does not ask
    if name and hasattr(lib, "loomp_set_argument"):
        lib.loomp_set_argument(name.encode("utf-8", "backslashreplace"), index)
    return -code




def _functions() -> dict[str, str]:
    """Functions of the header by the names of Python's that messages begin with.

    Of ``cache.load`` that is the module's; ``load`` alone is ``lazyloom.load``, as of other names
    that ``lazyloom`` itself has.
    """
    found: dict[str, str] = {}
    own = coverage.NAMES
    for module, names in {"": coverage.NAMES, **coverage.MODULES}.items():
        for name, functions in names.items():
            # one function, and others that take more: loom_export() and loom_export_with()
            if isinstance(functions, tuple) and all(
                f == functions[0] or f.startswith(f"{functions[0]}_") for f in functions
            ):
                if not module or name not in own:
                    found.setdefault(name, functions[0])
                if module:
                    found[f"{module}.{name}"] = functions[0]
    return found


_FUNCTIONS: Final = _functions()
#: the values of a strict mode, as numbers
MODES: Final = ("allow", "warn", "error")
_OPTION: Final = re.compile(
    rf'\b(?:lazyloom\.)?options\((\w+)=(?:True|False|"({"|".join(MODES)})")\)')
_BEGINNING: Final = re.compile(r"(?:lazyloom\.)?((?:[a-z]+\.)?(\w+))(?=: )")


def named_in_c(message: str) -> str:
    """A message of the runtime's, with the names that C has for what Python's programs call."""
    beginning = _BEGINNING.match(message)
    if beginning is not None:
        function = _FUNCTIONS.get(beginning[1]) or _FUNCTIONS.get(beginning[2])
        if function is not None:
            message = function + message[beginning.end():]
    return _OPTION.sub(_option_in_c, message)


def _option_in_c(found: re.Match[str]) -> str:
    name, mode = found.groups()
    if mode is None:
        return f"LOOM_OPTION_{name.upper()}"
    if (name, mode) == ("reads", "error"):
        return "LOOM_OPTION_FORBID_READS"
    return f'loom_option_set("{name}", {MODES.index(mode)})'


#: how messages name what they are about: an entry of a list, a parameter, an operand, an attribute
_ENTRY: Final = re.compile(r"(?:loom_\w+: )?(\w+)\[(\d+)\](?::| is| has| was| does) ")
_PARAMETER: Final = re.compile(r"loom_\w+: (?!there\b)(\w+)(?::| is| name) ")
_NAMED: Final = re.compile(r"\b(operand|attribute) '([\w\[\]]+)'|\boperand (\d+)\b")


def argument_of(message: str, op: str) -> tuple[str, int]:
    """Which argument a message is about first, and its number.

    The number is that of an operand, or of an entry of a list, and -1 for anything else; the name
    is "" where the message names none.
    """
    entry = _ENTRY.match(message)
    if entry is not None:
        return entry[1], int(entry[2])
    parameter = _PARAMETER.match(message)
    if parameter is not None:
        return parameter[1], -1
    found = _NAMED.search(message)
    if found is None:
        return "", -1
    if found[1] == "attribute":
        return found[2], -1
    known = lazyloom.ops.table().get(op)
    names = [] if known is None else [o.name for o in known.operands]
    if found[3] is not None:
        number = int(found[3])
        return names[min(number, len(names) - 1)] if names else "", number
    name, _, place = found[2].partition("[")
    if name not in names:
        return found[2], -1
    return name, names.index(name) + (int(place.rstrip("]") or 0) if place else 0)


def entry(function: Callable[..., int]) -> Callable[..., int]:
    """An entry, by its name."""
    _offer(function.__name__, function)
    return function


def located(function: Callable[..., int]) -> Callable[..., int]:
    """An entry whose last two arguments are the caller's source location."""
    _offer(function.__name__, placed(function))
    return function


def _offer(name: str, function: Callable[..., int]) -> None:
    # a library of an older minor version has no use for what was added since
    if hasattr(lib, name):
        ffi.def_extern(name=name, onerror=failed)(function)


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with two more arguments at the end, the caller's file and line."""

    def at(*arguments: Any) -> Any:
        file = arguments[-2]
        if not file:
            return function(*arguments[:-2])
        name = _files.get(file)
        if name is None:
            name = _files[file] = ffi.string(ffi.cast("char *", file)).decode("utf-8", "replace")
        # a loop calls functions of the caller's, which call us
        before = lazyloom.set_site(name, arguments[-1])
        try:
            return function(*arguments[:-2])
        finally:
            lazyloom.clear_site(before)

    return at


def give(value: lazyloom.Value) -> int:
    """A new handle of a tensor."""
    return handles.give(TENSOR, value)


def contents_of(thing: Any) -> lazyloom.Value:
    """The value of what a tensor's handle stands for."""
    value: lazyloom.Value = thing.value if isinstance(thing, Tensor) else thing
    return value


def value_of(bits: int, named: str = "") -> lazyloom.Value:
    """The value of a tensor; raises HandleError, which says what is none if that has a name."""
    return contents_of(find(TENSOR, bits, named) if named else handles.find(TENSOR, bits))


def find(kind: int, bits: int, named: str) -> Any:
    """The object of a handle; raises HandleError, which says what is none."""
    try:
        return handles.find(kind, bits)
    except HandleError as error:
        raise HandleError(f"{named}: {error}") from None


def tensor_of(bits: int) -> Tensor:
    """A tensor, to be written or to collect a gradient; raises HandleError."""
    found = handles.find(TENSOR, bits)
    if not isinstance(found, Tensor):
        with _making:
            found = handles.find(TENSOR, bits)
            if not isinstance(found, Tensor):
                found = Tensor(found)
                handles.replace(TENSOR, bits, found)
    return found


def bytes_of(array: Any) -> Any:
    """The bytes of an array, row-major."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def values_of(array: Any, count: int, named: str) -> list[Any]:
    """The values of a list of tensors; raises HandleError, which says which entry is none."""
    return [contents_of(thing) for thing in things_of(array, count, named)]


def things_of(array: Any, count: int, named: str) -> list[Any]:
    """What a list of tensors stands for; raises HandleError, which says which entry is none."""
    given = ffi.unpack(array, count) if count else ()
    found: list[Any] = []
    try:
        for bits in given:
            found.append(handles.find(TENSOR, bits))
    except HandleError as error:
        raise HandleError(f"{named}[{len(found)}]: {error}") from None
    return found
