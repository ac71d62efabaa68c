"""The entries of keys, options by name and of what a program did."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom import cache, codegen
from lazyloom.errors import ArgumentError
from lazyloom.frontend import option_table

from . import capture, describe, exported, handles, quantizing
from .handles import PROGRAM
from .serving import MODES, contents_of, entry, give, located, value_of, values_of


@entry
def loomp_random_key(seed: int, result: Any) -> int:
    result[0] = give(lazyloom.from_host(np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)))
    return 1


# ---- options --------------------------------------------------------------------------


@entry
def loomp_option(name: Any, to_set: int, value: float, previous: Any) -> int:
    text = ffi.string(name).decode("utf-8", "replace")
    before = lazyloom.get_option(text)
    if to_set:
        lazyloom.set_option(text, _like(text, before, value))
    previous[0] = MODES.index(before) if isinstance(before, str) else before
    return 1


def _like(name: str, before: Any, value: float) -> Any:
    """A number of the kind that an option has. Raises ArgumentError."""
    if isinstance(before, bool):
        if value not in (0, 1):
            raise ArgumentError(f"option {name!r} is {value:g}, expected 0 or 1")
        return bool(value)
    if isinstance(before, str):
        if value not in range(len(MODES)):
            raise ArgumentError(
                f"option {name!r} is {value:g}, expected "
                + ", ".join(f"{number} ({mode})" for number, mode in enumerate(MODES)))
        return MODES[int(value)]
    if isinstance(before, int) and math.isfinite(value) and value == int(value):
        return int(value)
    return value


def _options() -> str:
    return json.dumps({
        name: {"value": lazyloom.get_option(name), **about}
        for name, about in option_table().items()})


# ---- observation ----------------------------------------------------------------------


@located
def loomp_programs_of(
    tensors: Any, count: int, results: Any, capacity: int, result_count: Any
) -> int:
    found = lazyloom.programs_of(*values_of(tensors, count, "loom_programs_of: tensors"))
    result_count[0] = len(found)
    for i, program in enumerate(found[:capacity]):
        results[i] = handles.give(PROGRAM, program)
    return 1


@entry
def loomp_memory(tensors: Any, nbytes: Any, pending: Any) -> int:
    held: dict[tuple[int, int], int] = {}
    values = [contents_of(thing) for thing in handles.tensors()]
    waiting = 0
    for value in values:
        if value.is_pending:
            waiting += 1
        else:
            held[id(value.node), value.index] = value.type.nbytes
    tensors[0], nbytes[0], pending[0] = len(values), sum(held.values()), waiting
    return 1


@entry
def loomp_stats_reset() -> int:
    describe.reset()
    return 1


#: the profile that was begun, and the one that ended last
_begun: list[Any] = []
_ended: list[Any] = []


@entry
def loomp_profile_begin(path: Any, sources: int) -> int:
    profile = lazyloom.profile(None if path == ffi.NULL else _path(path), sources=bool(sources))
    profile.__enter__()
    _begun.append(profile)
    return 1


@entry
def loomp_profile_end() -> int:
    if not end_begun():
        raise ArgumentError(
            "loom_profile_end: no profile was begun, expected loom_profile_begin() before it")
    return 1


def end_begun() -> bool:
    """End the profile that C has begun; False if it has begun none."""
    try:
        profile = _begun.pop()
    except IndexError:
        return False
    _ended[:] = [profile]
    with _files():
        profile.end()
    return True


@entry
def loomp_finish_compiling(timeout: float, finished: Any) -> int:
    if math.isnan(timeout):
        raise ArgumentError(
            "loom_finish_compiling: timeout is not a number, expected seconds, or a negative "
            "number for no limit")
    limit = timeout if 0 <= timeout < 1e9 else None
    finished[0] = lazyloom.finish_compiling(limit)
    return 1


@entry
def loomp_codegen_measure(program: int) -> int:
    capture.refuse_read("loom_codegen_measure")
    codegen.measure(handles.find(PROGRAM, program))
    return 1


@entry
def loomp_codegen_mode(segmented: int, on: int) -> int:
    if segmented:
        codegen.segmented(bool(on))
    else:
        codegen.verify(bool(on))
    return 1


def _evaluation(record: lazyloom.Evaluation) -> dict[str, Any]:
    return {
        "number": record.number,
        "reason": record.reason,
        "cause": record.cause,
        "site": str(record.site),
        "library": None if record.site.library is None else str(record.site.library),
        "program": record.key,
        "ops": record.ops,
        "found": record.found,
        "form": record.form,
        "why": record.why,
        "choice": record.choice,
        "backend": record.backend,
        "new": record.is_new,
        "difference": record.difference,
        "changes": [] if record.differs is None else [
            change._asdict() for change in record.differs.changes],
        "seconds": dict(record.timings),
        "bytes_in": record.bytes_in if record.program is not None else 0,
        "bytes_uploaded": record.bytes_uploaded,
        "bytes_out": record.bytes_out,
        "bytes_donated": record.bytes_donated,
        "copied": list(record.copied),
        "error": None if record.error is None else str(record.error),
    }


# ---- files of the disk cache ----------------------------------------------------------

#: what the newest save or load said
_report: list[cache.CacheInfo] = []


@entry
def loomp_cache_save(path: Any, timeout: float, entries: Any) -> int:
    if math.isnan(timeout):
        raise ArgumentError(
            "loom_cache_save: timeout is not a number, expected seconds, or a negative number for "
            "no limit")
    with _files():
        _report[:] = [cache.save(
            _path(path), timeout=timeout if 0 <= timeout < 1e9 else None)]
    entries[0] = len(_report[0].artifacts) - len(_report[0].missing)
    return 1


@entry
def loomp_cache_load(path: Any, usable: Any, refused: Any) -> int:
    with _files():
        _report[:] = [cache.load(_path(path))]
    usable[0], refused[0] = len(_report[0].usable), len(_report[0].refused)
    return 1


def _path(given: Any) -> str:
    return os.fsdecode(ffi.string(given))


@contextlib.contextmanager
def _files() -> Iterator[None]:
    """What the system says of a file is about the caller's argument."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"path: {error}") from error


def _cache_json(info: cache.CacheInfo) -> str:
    return json.dumps({
        "file": info.file, "nbytes": info.nbytes, "compiling": info.compiling,
        "artifacts": [a._asdict() for a in info.artifacts],
        "environments": [e._asdict() for e in info.environments]}, ensure_ascii=False)


def _cache_list(path: Any) -> str:
    with _files():
        return _cache_json(cache.contents(_path(path)))


def text(what: int, handle: int, name: Any) -> str:
    """A text by its constant; ``handle`` or ``name`` is what it is about, or how many."""
    if what == lib.LOOMP_OPTIONS:
        return _options()
    if what == lib.LOOMP_EVALUATIONS:
        return json.dumps(
            [_evaluation(e) for e in lazyloom.evaluations(handle or None)], ensure_ascii=False)
    if what == lib.LOOMP_PLATFORM:
        return lazyloom.platform()
    if what == lib.LOOMP_CACHE_DIR:
        return lazyloom.cache_dir()
    if what == lib.LOOMP_CACHE_REPORT:
        return _cache_json(_report[0]) if _report else "{}"
    if what == lib.LOOMP_PROFILE:
        return json.dumps(_ended[0].report.data, ensure_ascii=False) if _ended else "{}"
    if what == lib.LOOMP_CACHE_LIST:
        return _cache_list(name)
    if what == lib.LOOMP_COLLECTIVES:
        return str(lazyloom.explain(handles.find(PROGRAM, handle)))
    if what == lib.LOOMP_CODEGEN_LOAD:
        return codegen.load(_path(name)).name
    if what == lib.LOOMP_CODEGEN_FAILURES:
        return json.dumps([f._asdict() for f in codegen.failures()], ensure_ascii=False)
    if what == lib.LOOMP_PROGRAM_PICTURE:
        return codegen.explain(handles.find(PROGRAM, handle)).svg()
    if what == lib.LOOMP_QUANTIZED_VALUES:
        return quantizing.values_json(handle)
    if what == lib.LOOMP_EXPORTED_SIGNATURE:
        return exported.signature_json(handle)
    capture.refuse_read("loom_tensor_picture")
    picture = lazyloom.visualize_sharding(value_of(handle))
    return str(picture.svg() if what == lib.LOOMP_PICTURE_SVG else picture)
