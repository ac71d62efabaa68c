"""Engines as bytes in the disk cache, so that later processes build nothing.

An engine is found by its region, its generator with its version, and what the generator says that
its bytes need (:meth:`~lazyloom.codegen.Generator.requirements`). Those of a generator that is
registered by hand are stored only if it serialises them itself: its source may change without
its version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ....cache import disk
from ....codegen import registry
from ....codegen.faults import failed, raised
from ....codegen.generator import Code, CSource, Generator
from ....foreign import Foreign
from ....host import storage
from ....interrupts import reraise_from_handler
from ....settings import tuning
from ... import fingerprint
from .region_op import Called
from .time_limit import within

#: the kind of these entries in the disk cache
KIND: Final = "engine"
#: the first byte of a payload: the generator's own bytes, or a text in C
_OWN: Final = b"\0"
_C: Final = b"\1"

#: where the entries that are used are noted, as (kind, whole description), for :func:`noted`
_noted: Final[ContextVar[dict[tuple[str, bytes], None] | None]] = ContextVar(
    "lazyloom_engines_noted", default=None)


@contextmanager
def noted() -> Iterator[dict[tuple[str, bytes], None]]:
    """Note the entries of engines that are found or stored within a ``with`` block, in order."""
    entries: dict[tuple[str, bytes], None] = {}
    before = _noted.set(entries)
    try:
        yield entries
    finally:
        _noted.reset(before)


def note(kind: str, description: bytes) -> None:
    """Note an entry that an engine comes from."""
    entries = _noted.get()
    if entries is not None:
        entries[kind, description] = None


def described(called: Called) -> bytes:
    """Return the description of a region's engine in the disk cache. Raises what generators do."""
    fields = called.packed()
    del fields["key"]
    generator = called.generator
    fields["requirements"] = dict(sorted(generator.requirements().items()))
    scope = storage.fingerprint() if generator.portable_engines else fingerprint.fingerprint()
    return scope + json.dumps(fields, sort_keys=True).encode()


def restored(called: Called) -> Code | None:
    """Return the code of a stored engine; None if there is none of use.

    Where the generator refuses the bytes, or takes longer than it has for building, this is
    reported, and the engine is built again.
    """
    generator = called.generator
    if not disk.enabled() or not _storable(generator):
        return None
    try:
        with _asked(generator, "restores an engine"):
            description = described(called)
            data = disk.load(KIND, description)
        if data is None:
            return None

        def restore() -> Code:
            with _asked(generator, "restores an engine"):
                return _code(called, data)

        code = within(tuning.build_seconds, restore)
    except Exception as error:
        reraise_from_handler(error)
        _report(called, "restore", error)
        return None
    note(KIND, description)
    return code


def store(called: Called, code: Code) -> None:
    """Store the bytes of an engine that was built, where it has some; a failure is reported, and
    so is one that takes longer than it has for building."""
    generator = called.generator
    if not disk.enabled() or not _storable(generator):
        return
    try:
        def serialize() -> bytes | None:
            with _asked(generator, "serialises an engine"):
                return generator.serialize(called.region, code)

        data = within(tuning.build_seconds, serialize)
        with _asked(generator, "serialises an engine"):
            if data is not None:
                payload = _OWN + bytes(data)
            elif isinstance(code, CSource) and registry.is_installed(generator):
                payload = _C + json.dumps([code.text, code.flags]).encode()
            else:
                return
            description = described(called)
    except Exception as error:
        reraise_from_handler(error)
        _report(called, "serialize", error)
        return
    disk.store(KIND, description, payload)
    note(KIND, description)


def _asked(generator: Generator, what: str) -> Foreign:
    return Foreign(f"the code generator {generator.name!r}, which {what},")


def _storable(generator: Generator) -> bool:
    return registry.is_installed(generator) or (
        type(generator).serialize is not Generator.serialize)


def _code(called: Called, data: bytes) -> Code:
    if data[:1] == _C:
        text, flags = json.loads(data[1:])
        return CSource(str(text), tuple(map(str, flags)))
    if data[:1] != _OWN:
        raise ValueError(f"its first byte is {data[:1]!r}, expected {_OWN!r} or {_C!r}")
    return called.generator.deserialize(called.region, data[1:])


def _report(called: Called, when: str, error: Exception) -> None:
    failed(raised(called.generator.name, called.region.program.key,
                  tuple(call.op for call in called.region.calls), when, error),
           f"{when} {called.key}")
