"""The entries of evaluation and observation."""

from __future__ import annotations

from typing import Any

from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom import codegen
from lazyloom.errors import ArgumentError

from . import calls, capture, describe, handles, places, reports
from .handles import PROGRAM
from .serving import entry, located, value_of, values_of

_op_names: list[Any] = []


@located
def loomp_sync(given: Any, count: int, wait: int) -> int:
    capture.refuse_read("loom_sync")
    if count:
        # called with nothing, lazyloom.sync() runs all there is
        lazyloom.sync(*values_of(given, count, "loom_sync: tensors"), wait=bool(wait))
    return 1


@located
def loomp_mark_dynamic(tensor: int, axis: int, minimum: int, maximum: int) -> int:
    capture.refuse_read("loom_mark_dynamic")
    found = value_of(tensor)
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound != -1 and bound < 1:
            raise ArgumentError(
                f"loom_mark_dynamic: {name} is {bound}, expected an extent of at least 1, or -1 if "
                "it is not known")
    lazyloom.mark_dynamic(
        found, axis, min=None if minimum == -1 else minimum,
        max=None if maximum == -1 else maximum)
    return 1


@located
def loomp_mark_static(tensor: int, axes: Any, axis_count: int) -> int:
    capture.refuse_read("loom_mark_static")
    found = value_of(tensor)
    if axes == ffi.NULL:
        lazyloom.mark_static(found)
    elif axis_count:
        for axis in ffi.unpack(axes, axis_count):
            lazyloom.mark_static(found, axis)
    return 1


@located
def loomp_program_of(given: Any, count: int, result: Any) -> int:
    result[0] = handles.give(PROGRAM, lazyloom.program_of(
        *values_of(given, count, "loom_program_of: tensors")))
    return 1


@entry
def loomp_codegen_use(names: Any, count: int) -> int:
    codegen.use(*(ffi.string(names[k]).decode("utf-8", "replace") for k in range(count)))
    return 1


@entry
def loomp_last_program(result: Any) -> int:
    evaluation = lazyloom.last_evaluation()
    program = None if evaluation is None else evaluation.program
    result[0] = 0 if program is None else handles.give(PROGRAM, program)
    return 1


@entry
def loomp_program_ops(program: int, count: Any) -> int:
    count[0] = describe.op_count(handles.find(PROGRAM, program))
    return 1


@entry
def loomp_text(
    what: int, handle: int, name: Any, buffer: Any, capacity: int, needed: Any
) -> int:
    if what == lib.LOOMP_PROGRAM_KEY:
        text = handles.find(PROGRAM, handle).key
    elif what == lib.LOOMP_PROGRAM_TEXT:
        text = handles.find(PROGRAM, handle).text()
    elif what == lib.LOOMP_STATS:
        text = describe.stats_json()
    elif what == lib.LOOMP_LAST_EVALUATION:
        text = describe.last_evaluation()
    elif what == lib.LOOMP_PROGRAM_EXPLAIN:
        text = str(codegen.explain(handles.find(PROGRAM, handle)))
    elif what == lib.LOOMP_CODEGEN_IN_USE:
        text = ",".join(codegen.in_use()) or "xla"
    elif what == lib.LOOMP_CODEGEN_AVAILABLE:
        text = ",".join(codegen.available())
    elif what == lib.LOOMP_DEVICES:
        text = ",".join(lazyloom.devices())
    elif what == lib.LOOMP_PLACEMENT:
        text = places.text(value_of(handle))
    elif what == lib.LOOMP_DESCRIBE:
        text = describe.op_json(calls.op_named(name))
    else:
        text = reports.text(what, handle, name)
    # what the system gave as bytes that are no UTF-8, as in the name of a folder
    surrogates = "surrogateescape" if what == lib.LOOMP_CACHE_DIR else "backslashreplace"
    data = text.encode("utf-8", surrogates)
    needed[0] = len(data) + 1
    if capacity:
        part = data[:capacity - 1]
        ffi.memmove(buffer, part, len(part))
        buffer[len(part)] = b"\0"
    return 1


@entry
def loomp_stat(name: Any, value: Any) -> int:
    value[0] = describe.stat(ffi.string(name).decode("utf-8", "replace"))
    return 1


def _names() -> list[Any]:
    if len(_op_names) != len(lazyloom.ops.table()):
        # the table can grow; names given out before stay where they are in memory
        known = {ffi.string(n): n for n in _op_names}
        _kept.extend(_op_names)
        names = [n.encode() for n in lazyloom.ops.names()]
        _op_names[:] = [known.get(n) or ffi.new("char[]", n) for n in names]
    return _op_names


_kept: list[Any] = []


@entry
def loomp_op_count(count: Any) -> int:
    count[0] = len(_names())
    return 1


@entry
def loomp_op_name(index: int, name: Any) -> int:
    names = _names()
    if index >= len(names):
        raise ArgumentError(f"loom_op_name: index is {index}, expected 0 to {len(names) - 1}")
    name[0] = names[index]
    return 1
