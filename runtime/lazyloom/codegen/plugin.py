"""Code generators that are shared libraries: ``capi/include/lazyloom_codegen.h``."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..errors import ArgumentError, type_name
from ..installed import VERSION
from . import library_file, plugin_table
from .answers import YES, Answer, Call, No
from .generator import Code, Generator, Layout, NativeCode, Region
from .plugin_table import ArrayStruct, CallStruct, HostStruct, PluginError, PluginStruct
from .region_json import call_json, region_json, strides

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
#: what a library of a plug-in is called that is loaded by its name
FILE: Final = "liblazyloom_codegen_{}.so"

_opened: Final[dict[str, PluginGenerator]] = {}
#: the same by the handles of their libraries: a library may have several paths
_by_handle: Final[dict[int, PluginGenerator]] = {}
_REPLACED: Final = (
    "its file was replaced after this process had loaded it, and what is loaded stays; start a new "
    "process, or give the new library another path")
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def opened(library: Any, function: str = "load") -> PluginGenerator:
    """Return the generator of a library, which is opened if it is not yet.

    Raises ArgumentError where it cannot be opened, or is no plug-in that works here, and where its
    file was replaced since it was opened.
    """
    if not isinstance(library, (str, os.PathLike)):
        raise ArgumentError(
            f"{function}: a {type_name(library)} was given, expected the path of a library, or the "
            "name of a plug-in")
    given = os.fspath(library)
    if not isinstance(given, str) or not given or "\0" in given:
        raise ArgumentError(f"{function}: {given!r:.80} was given, expected a path or a name")
    try:
        with _lock:
            path = given
            if os.sep in given:
                path = os.path.realpath(given)
            elif not given.endswith(".so"):
                path = FILE.format(given)
            found = _opened.get(path)
            if found is None:
                found = _opened[path] = _open(path)
            else:
                found.check_file()
            return found
    except (OSError, PluginError, UnicodeError) as error:
        # the linker's message has a path that is no UTF-8, or there can be no such path
        why = "it is not found" if isinstance(error, UnicodeError) else error
        raise ArgumentError(
            f"{function}: the code generator {given!r} cannot be loaded: {why}; expected "
            "a shared library made with lazyloom_codegen.h, by its path, or by a name that "
            f"the dynamic linker finds as {FILE.format('NAME')}") from error


class _Info(ctypes.Structure):
    """``Dl_info``."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]  # fmt: skip


def _open(path: str) -> PluginGenerator:
    """Open a library. Raises OSError, PluginError and UnicodeError."""
    problem = library_file.cut_short(path) if os.sep in path else ""
    if problem:
        raise PluginError(problem)
    library = ctypes.CDLL(path)
    known = _by_handle.get(library._handle)
    if known is not None:
        known.check_file()
        return known
    try:
        function = getattr(library, plugin_table.SYMBOL)
    except AttributeError as error:
        raise PluginError(f"it has no function {plugin_table.SYMBOL}") from error
    function.restype = ctypes.c_void_p
    host = HostStruct(
        ctypes.sizeof(HostStruct), plugin_table.MAJOR, plugin_table.MINOR, VERSION.encode())
    room, buffer = plugin_table.new_error()
    address = function(ctypes.byref(host), ctypes.byref(room))
    if not address:
        raise PluginError(plugin_table.message_in(buffer) or "it says that it cannot work here")
    table = plugin_table.read_table(address)
    info = _Info()
    if ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info)) and info.file:
        path = os.fsdecode(info.file)
    digest = _digest(path)
    # after the file was read: it may be replaced at any time
    if info.base and library_file.replaced(path, info.base):
        raise PluginError(_REPLACED)
    made = _by_handle[library._handle] = PluginGenerator(table, path, digest, library)
    return made


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _text(raw: bytes, what: str) -> str:
    text = raw.decode("utf-8", "replace")
    if not _NAME.fullmatch(text) or text == "xla":
        raise PluginError(
            f"its {what} is {text!r:.60}, expected letters, digits, '_', '-' and '.'"
            + (" other than 'xla'" if text == "xla" else ""))
    return text


class PluginGenerator(Generator):
    """A generator whose functions are those of a plug-in.

    Its version is the plug-in's and a digest of the library, so that no program finds code of
    another build of it.
    """

    def __init__(self, table: PluginStruct, path: str, digest: str, library: Any) -> None:
        self._file: Final = path, digest
        self.name = _text(table.name, "name")
        self.version = f"{_text(table.version, 'version')}+{digest[:12]}"
        self.priority = table.priority
        self.merges = not table.flags & plugin_table.EACH_OP_ALONE
        self.portable_engines = bool(table.flags & plugin_table.PORTABLE_ENGINES)
        if table.tolerance:
            if not table.tolerance > 0:
                raise PluginError(f"its tolerance is {table.tolerance}, expected 0 or more")
            self.tolerance = table.tolerance
        needed = table.requirements
        self._requirements: Final = {} if not needed else {
            "plugin": needed.decode("utf-8", "replace")}
        self._table: Final = table
        #: never closed: engines of it may be in a program
        self._library: Final = library
        self._functions: Final = {name: plugin_table.caller(table, name) for name in (
            "supports", "worthwhile", "estimate", "layouts", "constants", "compile", "serialize",
            "deserialize")}
        self._destroy: Final = plugin_table.destroyer(table)

    def check_file(self) -> None:
        """Raise PluginError if another library stands where this one was loaded from.

        One that is not there any more, or cannot be read, is no other.
        """
        path, digest = self._file
        with contextlib.suppress(OSError):
            if _digest(path) != digest:
                raise PluginError(_REPLACED)

    def _asked(self, name: str, *arguments: Any) -> Answer:
        function = self._functions[name]
        assert function is not None
        return function(self._table.context, *arguments)

    def supports(self, call: Call) -> Answer:
        """Return the plug-in's answer."""
        return self._asked("supports", call_json(call).encode())

    def worthwhile(self, region: Region) -> Answer:
        """Return the plug-in's answer."""
        if self._functions["worthwhile"] is None:
            return YES
        return self._of_region("worthwhile", region)

    def _of_region(self, name: str, region: Region, *arguments: Any) -> Answer:
        return self._asked(name, region_json(region).encode(), *arguments)

    def seconds(self, region: Region) -> float | None:
        """Return the plug-in's estimate."""
        if self._functions["estimate"] is None:
            return None
        found = ctypes.c_double()
        return found.value if self._of_region("estimate", region, ctypes.byref(found)) else None

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """Return the orders in memory that the plug-in wants."""
        if self._functions["layouts"] is None:
            return None
        ranks = [t.ndim for t in (*region.operands, *region.results)]
        axes = [axis for rank in ranks for axis in range(rank)]
        array = (ctypes.c_int64 * max(len(axes), 1))(*axes)
        if not self._of_region("layouts", region, array, len(axes)):
            return None
        wanted: list[Layout] = []
        start = 0
        for rank in ranks:
            wanted.append(tuple(array[start : start + rank]))
            start += rank
        return wanted

    def constants(self, region: Region) -> Sequence[int]:
        """Return the operands that the plug-in says are the same for many runs."""
        if self._functions["constants"] is None:
            return ()
        count = len(region.operands)
        flags = (ctypes.c_uint8 * max(count, 1))()
        if not self._of_region("constants", region, flags, count):
            return ()
        return [k for k in range(count) if flags[k]]

    def build(self, region: Region) -> Code:
        """Return an engine that the plug-in compiles."""
        return self.bound(region, {})

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """Return an engine that the plug-in compiles for operands with known values."""
        arrays = _Arrays(region, values)
        return self._engine(region, "compile", arrays.operands, len(region.operands))

    def _engine(self, region: Region, name: str, *arguments: Any) -> NativeCode:
        """Return an engine that a function of the plug-in makes of a region."""
        made = ctypes.c_void_p()
        answer = self._of_region(name, region, *arguments, ctypes.byref(made))
        if isinstance(answer, No):
            raise PluginError(answer.reason)
        native: Any = importlib.import_module("lazyloom._regions")
        engine = PluginEngine(region, self._table, made.value, self._destroy)
        return NativeCode(native.plugin_function(), ctypes.addressof(engine.call), engine)

    def serialize(self, region: Region, code: Code) -> bytes | None:
        """Return the bytes that the plug-in makes of an engine, if it can read them again."""
        function = self._functions["serialize"]
        if function is None or self._functions["deserialize"] is None:
            return None
        assert isinstance(code, NativeCode) and isinstance(code.owner, PluginEngine)
        engine = code.owner.call.engine
        size = ctypes.c_size_t()
        if not function(engine, None, 0, ctypes.byref(size)):
            return None
        room = size.value
        try:
            data = ctypes.create_string_buffer(max(room, 1))
        except (MemoryError, OverflowError) as error:
            raise PluginError(
                f"its serialize asked for {room} bytes, which there are not") from error
        if not function(engine, ctypes.addressof(data), room, ctypes.byref(size)):
            return None
        if size.value > room:
            raise PluginError(f"its serialize gave {size.value} bytes, after it asked for {room}")
        return data.raw[: size.value]

    def deserialize(self, region: Region, data: bytes) -> Code:
        """Return the engine that the plug-in makes of bytes."""
        if self._functions["deserialize"] is None:
            raise PluginError("it has no deserialize")
        # the memory of the bytes, which are not copied
        at = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
        return self._engine(region, "deserialize", at, len(data))

    def requirements(self) -> Mapping[str, str]:
        """Return what the plug-in says that its engines need."""
        return self._requirements


class _Arrays:
    """The arrays of a region as a plug-in takes them; operands that have a value have its data.

    Attributes:
        arrays: the operands, then the results.
        operands: pointers to the operands.
    """

    def __init__(self, region: Region, values: Mapping[int, Any]) -> None:
        types = (*region.operands, *region.results)
        self.arrays: Final = (ArrayStruct * max(len(types), 1))()
        kept: list[Any] = [values]
        for k, (t, layout) in enumerate(zip(types, region.layouts, strict=True)):
            shape = (ctypes.c_int64 * max(t.ndim, 1))(*t.shape)
            steps = (ctypes.c_int64 * max(t.ndim, 1))(*strides(t, layout))
            kept += [shape, steps]
            value = values.get(k)
            data = None if value is None else value.__array_interface__["data"][0]
            self.arrays[k] = ArrayStruct(
                ctypes.sizeof(ArrayStruct), t.dtype.index, t.ndim,
                ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
                ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)), data)
        self._kept: Final = kept
        count = len(region.operands)
        self.operands: Final = (ctypes.POINTER(ArrayStruct) * max(count, 1))(
            *[ctypes.pointer(self.arrays[k]) for k in range(count)])


class PluginEngine:
    """An engine of a plug-in, which ends with this object.

    Attributes:
        call: what the function of the engine takes as its state.
    """

    def __init__(
        self, region: Region, table: PluginStruct, engine: int | None,
        destroy: Callable[[int], None],
    ) -> None:  # fmt: skip
        self._engine = engine
        self._destroy: Final = destroy
        if not engine:
            raise PluginError("it gave no engine, and no error")
        self._arrays: Final = _Arrays(region, {})
        self.call: Final = CallStruct(
            table.run, engine,
            ctypes.cast(self._arrays.arrays, ctypes.POINTER(ArrayStruct)),
            len(region.operands), len(region.results))

    def __del__(self) -> None:
        if self._engine:
            self._destroy(self._engine)
