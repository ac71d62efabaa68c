"""Observation of a call: the code that it runs and the C functions that it calls."""

from __future__ import annotations

import functools
import math
import opcode
import operator
import os
import sys
import types
from threading import get_ident
from typing import Any, Final

from ..evaluate.reading import reads_of
from ..trace.source import Site
from .state import LIBRARIES, Code, is_library

_PURE_BUILTINS: Final = frozenset({
    "abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "getattr", "hasattr",
    "hash", "hex", "isinstance", "issubclass", "len", "max", "min", "oct", "ord", "pow", "repr",
    "round", "setattr", "sorted", "sum", "__build_class__", "ascii"})
_PURE_METHODS: Final[dict[type, frozenset[str]]] = {
    str: frozenset(n for n in dir(str)),
    bytes: frozenset(n for n in dir(bytes)),
    int: frozenset(n for n in dir(int)),
    float: frozenset(n for n in dir(float)),
    complex: frozenset(n for n in dir(complex)),
    tuple: frozenset(n for n in dir(tuple)),
    range: frozenset(n for n in dir(range)),
    frozenset: frozenset(n for n in dir(frozenset)),
    slice: frozenset(n for n in dir(slice)),
}
#: functions that take names of attributes
_DYNAMIC: Final = (getattr, setattr, hasattr)
#: changes to containers show in the comparison of the state before and after, or end with the call
_CONTAINERS: Final = (dict, list, set)
_PURE_MODULES: Final = frozenset({"math", "cmath", "_operator", "_functools", "_collections",
                                  "_abc", "_struct"})
_MATH: Final = frozenset(id(getattr(m, n)) for m in (math, operator) for n in dir(m))


def _impure(function: Any) -> bool:
    """Return True if a C function may do or read something that no comparison of states shows."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType):
        if owner.__name__ == "builtins":
            return name not in _PURE_BUILTINS
        return owner.__name__ not in _PURE_MODULES and id(function) not in _MATH and (
            owner.__name__.split(".")[0] not in ("lazyloom",))
    if owner is None:
        cls = getattr(function, "__objclass__", None)
        if cls is None:
            module = getattr(function, "__module__", None) or ""
            return module.split(".")[0] not in ("lazyloom", "builtins") and (
                module not in _PURE_MODULES)
        if name in _TAKES_APART:
            return True
        return not (issubclass(cls, _CONTAINERS) or _pure_method(cls, name) or cls is type
                    or cls is object or cls.__module__.split(".")[0] == "lazyloom")
    if isinstance(owner, type):
        return owner not in (dict, int, float, str, bytes, object, type, tuple, list, set) and (
            owner.__module__.split(".")[0] not in (
                "lazyloom", "lazyloom_torch", "lazyloom_numpy"))
    if isinstance(owner, _CONTAINERS) or type(owner).__module__.split(".")[0] in (
        "lazyloom", "lazyloom_torch", "lazyloom_numpy", "collections"
    ):
        return False
    if name in ("__init__", "__setattr__", "__getattribute__", "__init_subclass__", "__new__"):
        return not type(owner).__flags__ & (1 << 9)
    return not _pure_method(type(owner), name)


def _pure_method(cls: type, name: str) -> bool:
    return any(name in names for base, names in _PURE_METHODS.items() if issubclass(cls, base))


#: methods of every object that read all of its attributes
_TAKES_APART: Final = frozenset({"__reduce__", "__reduce_ex__", "__dir__", "__getstate__"})


class Watch:
    """What happened in a call.

    Attributes:
        code: the user's code that ran.
        impure: the first call of a C function that may do or read anything, as (reason, site).
        operators: whether an operator of the program's own classes ran.
        read: where a value was first read, or None.
    """

    def __init__(self) -> None:
        self.code = Code()
        self.impure: tuple[str, Site] | None = None
        self.read: Site | None = None
        self.operators = False
        self._thread = get_ident()
        self._reads = reads_of.get(self._thread, 0)
        self._before: Any = None
        self._user: Site | None = None

    def __enter__(self) -> Watch:
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.setprofile(None)
        self._look(None)

    def _look(self, frame: types.FrameType | None) -> None:
        if self.read is None and reads_of.get(self._thread, 0) != self._reads:
            while frame is not None and is_library(frame.f_code.co_filename):
                frame = frame.f_back
            self.read = self._user if frame is None else Site(frame.f_code, frame.f_lasti)

    def _event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call":
            if not _of_library(frame):
                self.code.add(code, frame.f_globals)
                if not self.operators and _by_operator(frame.f_back):
                    self.operators = True
                if code.co_flags & 0x2A0 and self.impure is None and (
                    code.co_name != "<genexpr>" and not _contextlib(frame)
                ):
                    self.impure = (
                        f"{code.co_name} is a generator or coroutine", Site(code, 0))
            else:
                self.code.library.add(code)
            return
        if event == "c_call":
            if _of_library(frame):
                return
            self._user = Site(code, frame.f_lasti)
            if arg in _DYNAMIC:
                self.code.dynamic = True
            if self.impure is None and _impure(arg) and not code.co_filename.endswith(
                ("contextlib.py", "functools.py", "collections/__init__.py", "abc.py")
            ):
                name = getattr(arg, "__qualname__", None) or repr(arg)
                module = getattr(arg, "__module__", None)
                self.impure = (
                    f"{module + '.' if module and module != 'builtins' else ''}{name} was called, "
                    "which may have an effect or give something else each time",
                    Site(code, frame.f_lasti))
            return
        self._look(frame)


def _by_operator(frame: types.FrameType | None) -> bool:
    """Return True if a frame is inside an operator, which calls a method of an operand."""
    if frame is None or frame.f_lasti < 0:
        return False
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in _OPERATORS


_OPERATORS: Final = frozenset({"BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE"})


@functools.cache
def is_borrowed(file: str) -> bool:
    """Return True if a file belongs to Python or an installed package, and works for its caller."""
    return file.startswith((_STANDARD, "<frozen")) or f"{os.sep}site-packages{os.sep}" in file


_STANDARD: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def _of_library(frame: types.FrameType) -> bool:
    """Return True if a frame belongs to Lazyloom or a frontend, or works for one."""
    at: types.FrameType | None = frame
    while at is not None:
        file = at.f_code.co_filename
        module = str(at.f_globals.get("__name__"))
        if is_library(file) or module.split(".")[0] in LIBRARIES:
            return True
        if file.startswith("<"):
            # code that a module generates, such as the methods of a data class, belongs to it
            file = str(at.f_globals.get("__file__", file))
        # a named tuple's constructor is compiled in a namespace of this name
        if not is_borrowed(file) and not module.startswith("namedtuple_"):
            return False
        at = at.f_back
    return False


def _contextlib(frame: types.FrameType) -> bool:
    back = frame.f_back
    return back is not None and back.f_code.co_filename.endswith("contextlib.py")
