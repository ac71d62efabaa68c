"""The structures of ``capi/include/lazyloom_codegen.h`` for ctypes; a test compares them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from .answers import YES, Answer, No

MAJOR: Final = 1
MINOR: Final = 0
OK: Final = 0
NO: Final = 1
TOO_SMALL: Final = 2
OUT_OF_MEMORY: Final = 4
#: bits of the flags
EACH_OP_ALONE: Final = 1
PORTABLE_ENGINES: Final = 2
#: the function that a library exports
SYMBOL: Final = "loom_codegen_plugin_1"
#: bytes of a message
_CAPACITY: Final = 1024


class PluginError(RuntimeError):
    """A function of a plug-in failed; the text is its message."""


class ErrorStruct(ctypes.Structure):
    """``loom_codegen_error``."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("message", ctypes.c_void_p),
                ("capacity", ctypes.c_size_t)]  # fmt: skip


class ArrayStruct(ctypes.Structure):
    """``loom_codegen_array``."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]  # fmt: skip


class HostStruct(ctypes.Structure):
    """``loom_codegen_host``."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("major", ctypes.c_int32),
                ("minor", ctypes.c_int32), ("lazyloom", ctypes.c_char_p)]  # fmt: skip


class PluginStruct(ctypes.Structure):
    """``loom_codegen_plugin``; functions are addresses."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t), ("major", ctypes.c_int32), ("minor", ctypes.c_int32),
        ("name", ctypes.c_char_p), ("version", ctypes.c_char_p),
        ("requirements", ctypes.c_char_p), ("context", ctypes.c_void_p),
        ("tolerance", ctypes.c_double), ("priority", ctypes.c_int32), ("flags", ctypes.c_uint32),
        *[(name, ctypes.c_void_p) for name in (
            "supports", "worthwhile", "estimate", "layouts", "constants", "compile", "run",
            "destroy", "serialize", "deserialize")],
    ]  # fmt: skip


class CallStruct(ctypes.Structure):
    """``PluginCall`` of ``runtime/native/regions/plugin_call.h``."""

    _fields_ = [("run", ctypes.c_void_p), ("engine", ctypes.c_void_p),
                ("arrays", ctypes.POINTER(ArrayStruct)), ("operands", ctypes.c_uint64),
                ("results", ctypes.c_uint64)]  # fmt: skip


_POINTER: Final = ctypes.c_void_p
_STATUS: Final = ctypes.c_int
_ERROR: Final = ctypes.POINTER(ErrorStruct)
#: what each function takes between its first argument and the error
_ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "supports": (ctypes.c_char_p,),
    "worthwhile": (ctypes.c_char_p,),
    "estimate": (ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)),
    "layouts": (ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t),
    "constants": (ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t),
    "compile": (ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(ArrayStruct)), ctypes.c_size_t,
                ctypes.POINTER(_POINTER)),
    "serialize": (_POINTER, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)),
    "deserialize": (ctypes.c_char_p, _POINTER, ctypes.c_size_t, ctypes.POINTER(_POINTER)),
}  # fmt: skip


def new_error() -> tuple[ErrorStruct, Any]:
    """Return room for a message, and the buffer that it is written into."""
    buffer = ctypes.create_string_buffer(_CAPACITY)
    return ErrorStruct(ctypes.sizeof(ErrorStruct), ctypes.addressof(buffer), _CAPACITY), buffer


def message_in(buffer: Any) -> str:
    """Return the message in a buffer."""
    raw: bytes = buffer.raw
    return raw.partition(b"\0")[0].decode("utf-8", "replace")


def read_table(address: int) -> PluginStruct:
    """Return a copy of a plug-in's table, with 0 in the fields that it does not have.

    Raises PluginError for one of another major version, or without what is needed.
    """
    size = ctypes.c_size_t.from_address(address).value
    table = PluginStruct()
    least = PluginStruct.name.offset
    if size < least:
        raise PluginError(f"its table has a size of {size}, expected {least} or more")
    ctypes.memmove(ctypes.byref(table), address, min(size, ctypes.sizeof(table)))
    if table.major != MAJOR:
        raise PluginError(
            f"it is of version {table.major}.{table.minor} of the interface, expected {MAJOR}; "
            "compile it with the header of this installation")
    for name in ("name", "version", "supports", "compile", "run", "destroy"):
        if not getattr(table, name):
            raise PluginError(f"its {name} is NULL")
    return table


def caller(table: PluginStruct, name: str) -> Callable[..., Answer] | None:
    """Return a function of a plug-in as one that gives an answer; None where it has none.

    It takes the arguments between the first one, which is ``first``, and the error. It raises
    PluginError with the message where the plug-in failed, and MemoryError.
    """
    address = getattr(table, name)
    if not address:
        return None
    function = ctypes.CFUNCTYPE(_STATUS, _POINTER, *_ARGUMENTS[name], _ERROR)(address)

    def call(first: int | None, *arguments: Any) -> Answer:
        error, buffer = new_error()
        status = function(first, *arguments, ctypes.byref(error))
        if status == OK:
            return YES
        said = message_in(buffer)
        if status in (NO, TOO_SMALL):
            return No(said or f"its {name} says no", deliberate=status == TOO_SMALL)
        if status == OUT_OF_MEMORY:
            raise MemoryError(said or f"its {name} had no memory")
        raise PluginError(said or f"its {name} gave status {status}")

    return call


def destroyer(table: PluginStruct) -> Callable[[int], None]:
    """Return the function that ends an engine."""
    function: Any = ctypes.CFUNCTYPE(None, _POINTER)(table.destroy)
    found: Callable[[int], None] = function
    return found
