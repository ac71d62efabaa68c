"""Snapshots of the host state that a function can reach, before and after a call.

From the function the walk goes through closures, defaults, the globals that executed code names,
attributes, containers and classes. An object is either understood, as a container that can be
checked or as something immutable, or *opaque*: then only its identity is checked, and a call
whose code names it is not captured.
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from ..dtypes import DType
from ..tensor.tensor import Tensor
from ..trace.graph import Value
from ..trace.source import is_internal
from ..trace.specs import Spec
from ..types import TensorType
from .guards import (
    Attributes,
    Cell,
    ClassNames,
    ContainerGuard,
    Data,
    DictItems,
    ListItems,
    NamedAttributes,
    NamespaceGuard,
    SetItems,
    Slots,
    WeakTarget,
)
from .template import NotCapturable

#: the largest number of objects visited
LIMIT: Final = 50_000
#: bytes of a NumPy array up to which its contents are compared at every call
SMALL: Final = 256

#: an attribute of a named tuple's class
_Field: Final = type(vars(collections.namedtuple("_Pair", "first second"))["first"])  # noqa: PYI024

IMMUTABLE: Final = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range,
    slice, types.CodeType, DType, TensorType, Spec, enum.Enum, re.Pattern, np.generic, np.dtype,
    np.ufunc, types.GenericAlias, property, _Field, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.MethodWrapperType, types.UnionType)

#: attributes that say nothing about what a call computes, by class
_ignored: Final[dict[type, frozenset[str]]] = {}
#: classes whose instances never change, or matter only by identity
_constant: Final[list[type]] = [type(threading.Lock()), type(threading.RLock())]


def ignore_attributes(cls: type, *names: str) -> None:
    """Declare that some attributes of a class's instances do not affect what a call computes."""
    _ignored[cls] = _ignored.get(cls, frozenset()) | frozenset(names)


#: classes whose instances stand for a function, with what returns that function
_standing: Final[list[tuple[type, Callable[[Any], Any]]]] = []


def stands_for(cls: type, function: Callable[[Any], Any]) -> None:
    """Declare that an instance of a class does what the function that ``function`` returns does."""
    _standing.append((cls, function))


def constant_classes(*classes: type) -> None:
    """Declare that the instances of some classes never change."""
    _constant.extend(classes)


#: classes of tensors that a captured call cannot have, with the reason
_refused: Final[list[tuple[type, str]]] = []


def uncapturable(cls: type, reason: str) -> None:
    """Declare that calls with tensors of a class are recorded each time, and why."""
    _refused.append((cls, reason))


def check_capturable(x: Tensor) -> None:
    """Raise NotCapturable for a tensor of a class that no captured call can have."""
    for cls, reason in _refused:
        if isinstance(x, cls):
            raise NotCapturable(reason)


def _ignored_of(cls: type) -> frozenset[str]:
    ignored: frozenset[str] = frozenset()
    for base, names in _ignored.items():
        if issubclass(cls, base):
            ignored |= names
    return ignored


#: the file names of code that Lazyloom generates and compiles while the program runs
_WRITTEN: Final = frozenset({"<host kernel>", "<size>"})


def is_library(file: str) -> bool:
    """Return True if a file is Lazyloom's or a frontend's."""
    return file in _WRITTEN or is_internal(file) and not file.startswith("<frozen")


def _library_module(name: str | None) -> bool:
    return name is not None and name.split(".")[0] in LIBRARIES


LIBRARIES: Final = {"lazyloom", "lazyloom_numpy", "lazyloom_torch"}


def _standard(name: str | None) -> bool:
    return name is not None and name.split(".")[0] in sys.stdlib_module_names


class Code:
    """The code objects that a call executed, with the names in them.

    Attributes:
        seen: the code objects.
        names: all attributes and globals that they name.
        globals: the names of each namespace.
    """

    def __init__(self) -> None:
        self.seen: set[types.CodeType] = set()
        self.names: set[str] = set()
        self.globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        #: the library's code that ran
        self.library: set[types.CodeType] = set()
        #: modules that functions import
        self.imports: set[str] = set()
        #: names of attributes are computed while the program runs
        self.dynamic: bool = False

    def add(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        """Record a code object that was executed in a namespace."""
        if code in self.seen:
            return
        self.seen.add(code)
        self.names |= set(code.co_names)
        self.names |= {c for c in code.co_consts if isinstance(c, str)}
        if "__dict__" in self.names:
            self.dynamic = True
        import dis  # slow to import, and only used here

        names: set[str] = set()
        for instruction in dis.get_instructions(code):
            if instruction.opname in _GLOBAL:
                names.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                # relative imports, too, lead to modules that are known under some name
                self.imports.add(instruction.argval)
        self.globals.setdefault(id(namespace), (namespace, set()))[1].update(names)


_GLOBAL: Final = frozenset({
    "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME",
    "LOAD_FROM_DICT_OR_GLOBALS"})


class Snapshot:
    """What a function could reach at one time.

    Attributes:
        checks: containers by the path on which they were first met.
        tensors: the tensors met, by identity, with their paths.
        values: immutable values of the runtime met.
        opaque: the objects that executed code names and that are not understood, as (path, object).
        generators: sources of random numbers met.
        functions: code objects of functions met.
        again: for objects met on several paths, by identity, how many times after the first.
    """

    def __init__(self) -> None:
        self.checks: dict[str, ContainerGuard] = {}
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.values: list[Value] = []
        self.opaque: list[tuple[str, Any]] = []
        self.generators: list[Any] = []
        self.functions: set[types.CodeType] = set()
        self.again: dict[int, int] = {}


#: functions that return True for a source of random numbers (filled by frontends)
is_generator: Final[list[Callable[[Any], bool]]] = []
_composed: Final[list[Callable[[Any], bool]]] = []


def composed_tensors(test: Callable[[Any], bool]) -> None:
    """Add a function that says which tensors have no contents of their own, such as those whose
    parts are in several processes: calls that use one are not captured."""
    _composed.append(test)


class Walk:
    """One walk. Paths are those of the user's program, as far as they are known."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.found = Snapshot()
        self.seen: dict[int, Any] = {}
        self.stack: list[tuple[str, Any, bool]] = []

    def run(self, roots: Iterable[tuple[str, Any]]) -> Snapshot:
        for _, (namespace, names) in sorted(
            self.code.globals.items(), key=lambda item: str(item[1][0].get("__name__"))
        ):
            self._names(namespace, names)
        if self.code.imports:
            imports = tuple(sorted(self.code.imports))
            self._check(NamespaceGuard("sys.modules", sys.modules, imports, {}), True)
            self._empty()
        for path, x in roots:
            self.stack.append((path, x, True))
            self._empty()
        return self.found

    def _empty(self) -> None:
        while self.stack:
            path, x, named = self.stack.pop()
            if isinstance(x, IMMUTABLE) and not isinstance(x, property):
                continue
            if id(x) in self.seen:
                self.found.again[id(x)] = self.found.again.get(id(x), 0) + 1
                continue
            self.seen[id(x)] = x
            if len(self.seen) > LIMIT:
                raise NotCapturable(
                    f"the function can reach more than {LIMIT} objects, {path} among them")
            self._visit(path, x, named)

    def _push(self, path: str, x: Any, named: bool) -> None:
        self.stack.append((path, x, named))

    def _check(
        self, check: ContainerGuard, named: bool, each: Iterable[bool] | None = None
    ) -> None:
        path = check.path
        number = 1
        while check.path in self.found.checks:
            number += 1
            check.path = f"{path}#{number}"
        self.found.checks[check.path] = check
        flags: Iterator[bool] = iter(each) if each is not None else iter([named] * len(check.keys))
        for key, value, flag in zip(check.keys, check.values, flags):
            self._push(check.name_of(key), value, flag)

    def _names(self, namespace: dict[str, Any], names: set[str]) -> None:
        module = namespace.get("__name__", "?")
        if names:
            # missing names count, too: they may be defined later
            check = NamespaceGuard(f"{module}", namespace, tuple(sorted(names)), builtins.__dict__)
            self._check(check, True)
            self._empty()

    def _visit(self, path: str, x: Any, named: bool) -> None:
        cls = type(x)
        if isinstance(x, Tensor):
            if any(test(x) for test in _composed):
                self._opaque(path, x, True)
            else:
                self._tensor(path, x, named)
        elif isinstance(x, Value):
            self.found.values.append(x)
        elif any(test(x) for test in is_generator):
            self.found.generators.append(x)
        elif cls in (tuple, frozenset) or isinstance(x, tuple):
            for i, item in enumerate(x):
                self._push(f"{path}[{i}]", item, named)
        elif isinstance(x, dict):
            self._check(DictItems(path, x), named)
            for key in x:
                self._push(f"a key of {path}", key, named)
            if isinstance(x, collections.defaultdict):
                self._push(f"{path}.default_factory", x.default_factory, named)
            self._attributes(path, x)
        elif isinstance(x, (list, collections.deque)):
            self._check(ListItems(path, x), named)
            self._attributes(path, x)
        elif isinstance(x, set):
            if all(isinstance(item, (int, str, bytes, type(None), enum.Enum)) for item in x):
                self._check(SetItems(path, x), named)
            else:
                self._opaque(path, x, named)
        elif isinstance(x, types.FunctionType):
            self._function(path, x)
        elif isinstance(x, types.MethodType):
            self._push(path, x.__func__, named)
            self._push(f"{path}.__self__", x.__self__, named)
        elif isinstance(x, (types.BuiltinFunctionType, types.BuiltinMethodType)):
            owner = getattr(x, "__self__", None)
            if owner is not None and not isinstance(owner, (types.ModuleType, type)):
                self._push(f"{path}.__self__", owner, named)
        elif isinstance(x, functools.partial):
            self._push(f"{path}.func", x.func, named)
            self._push(f"{path}.args", x.args, named)
            self._push(f"{path}.keywords", x.keywords, named)
        elif isinstance(x, (staticmethod, classmethod)):
            self._push(path, x.__func__, named)
        elif isinstance(x, property):
            for part in (x.fget, x.fset):
                self._push(path, part, named)
        elif isinstance(x, functools.cached_property):
            self._push(path, x.func, named)
        elif isinstance(x, types.ModuleType):
            self._module(path, x)
        elif isinstance(x, type):
            self._class(path, x, named)
        elif isinstance(x, types.CellType):
            self._check(Cell(path, x), named)
        elif isinstance(x, np.ndarray):
            if x.nbytes <= SMALL and x.dtype != object:
                self._check(Data(path, x), named)
            else:
                self._opaque(path, x, named)
        elif isinstance(x, tuple(_constant)):
            pass
        elif isinstance(x, tuple([c for c, _ in _standing])):
            for c, function in _standing:
                if isinstance(x, c):
                    self._push(path, function(x), named)
        elif isinstance(x, weakref.ref):
            self._check(WeakTarget(path, x), named)
            self._push(f"{path}()", x(), named)
        elif cls is types.SimpleNamespace:
            if self.code.dynamic:
                self._check(Attributes(path, x, frozenset()), named)
            else:
                self._check(NamedAttributes(path, x, self.code.names), named)
        elif cls.__flags__ & (1 << 9) or self._plain_slots(cls):
            self._object(path, x, named)
        else:
            self._opaque(path, x, named)

    @staticmethod
    def _plain_slots(cls: type) -> bool:
        return _library_module(cls.__module__)

    def _opaque(self, path: str, x: Any, named: bool) -> None:
        if named:
            self.found.opaque.append((path, x))

    def _tensor(self, path: str, x: Tensor, named: bool) -> None:
        check_capturable(x)
        self.found.tensors[id(x)] = (x, path)
        owner = x.alias_of
        # nothing can ask an alias without gradient for the tensor that it was taken from
        if owner is not None and not x.detached:
            self._push(f"{path}._base", owner, named)
        if hasattr(x, "__dict__"):
            self._check(Attributes(f"{path}", x, _ignored_of(type(x))), True)

    def _attributes(self, path: str, x: Any) -> None:
        if hasattr(x, "__dict__") and type(x) is not collections.OrderedDict:
            self._object(f"{path}.__dict__", x, True)

    def _object(self, path: str, x: Any, named: bool) -> None:
        """An instance of a class that is written in Python."""
        cls = type(x)
        ignored = _ignored_of(cls)
        library = _library_module(cls.__module__)
        for base in cls.__mro__:
            if base.__module__ in ("builtins", "typing", "abc", "collections.abc"):
                continue
            if not (base.__flags__ & (1 << 9)) and not isinstance(
                x, (dict, list, set, collections.deque)
            ) and not _library_module(base.__module__):
                # it is not known what an instance of a class written in C keeps
                self._opaque(path, x, named)
                return
        names: list[str] = []
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and name not in ignored:
                    hidden = name.startswith("__") and not name.endswith("__")
                    names.append(f"_{base.__name__.lstrip('_')}{name}" if hidden else name)
        if names:
            slots_check = Slots(path, x, tuple(names))
            self._check(slots_check, named, [library or n in self.code.names for n in names])
        if hasattr(x, "__dict__") and not self.code.dynamic and not any(
            _library_module(base.__module__) for base in cls.__mro__
        ):
            self._check(NamedAttributes(path, x, self.code.names), named)
        elif hasattr(x, "__dict__"):
            check = Attributes(path, x, ignored)
            self._check(check, named, [
                named and (library or not isinstance(k, str) or k in self.code.names)
                for k in check.keys])
        self._push(f"type of {path}", cls, named)

    def _function(self, path: str, x: types.FunctionType) -> None:
        code = x.__code__
        self.found.functions.add(code)
        if code not in self.code.seen:
            self._wrapped(path, x)
            return
        self._check(Slots(f"{path}", x, ("__code__", "__defaults__", "__kwdefaults__")), True)
        for name, cell in zip(code.co_freevars, x.__closure__ or ()):
            self._push(name, cell, True)
        if x.__dict__:
            self._check(DictItems(f"{path}.__dict__", x.__dict__), False)

    def _wrapped(self, path: str, x: types.FunctionType) -> None:
        """Visit the user's functions that are wrapped by one whose code did not run, or is the
        library's."""
        for cell in x.__closure__ or ():
            try:
                inner = cell.cell_contents
            except ValueError:
                continue
            if isinstance(inner, (types.FunctionType, types.MethodType)):
                self._push(path, inner, False)

    def _module(self, path: str, x: types.ModuleType) -> None:
        names = tuple(sorted(n for n in self.code.names if n in x.__dict__))
        if names:
            self._check(NamespaceGuard(path, x.__dict__, names, {}), True)

    def _class(self, path: str, x: type, named: bool) -> None:
        module = x.__module__
        if _library_module(module) or module == "builtins":
            return
        if _standard(module) and not x.__flags__ & (1 << 9):
            if named and x not in _PURE_CLASSES:
                self.found.opaque.append((path, x))
            return
        if _standard(module):
            return
        if not x.__flags__ & (1 << 9):
            if named and not issubclass(x, (np.generic, np.dtype)):
                self.found.opaque.append((path, x))
            return
        for base in x.__mro__:
            if _library_module(base.__module__) or _standard(base.__module__):
                continue
            if base is x:
                check = ClassNames(f"class {x.__qualname__}", base)
                self._check(check, False, [k in self.code.names for k in check.keys])
            else:
                self._push(f"class {base.__qualname__}", base, named)


_PURE_CLASSES: Final = frozenset({
    collections.OrderedDict, collections.defaultdict, collections.deque, functools.partial,
    types.FunctionType, types.MethodType, types.SimpleNamespace, types.MappingProxyType,
    weakref.ref, types.ModuleType})

__all__ = ["IMMUTABLE", "LIBRARIES", "LIMIT", "Code", "Snapshot", "Walk", "composed_tensors",
           "constant_classes", "ignore_attributes", "is_generator", "is_library"]
