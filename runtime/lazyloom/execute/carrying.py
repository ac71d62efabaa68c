"""What entries of the disk cache mean, for the file in which they are carried.

:mod:`lazyloom.cache` keeps bytes as they are; here stands where each kind is valid, beside what its
fingerprint says, and which of two entries of one name serves more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..backends import fingerprint
from ..cache import memory
from ..codegen import engine_refusal, registry, verdicts
from ..hooks import hooks
from ..host import function_libraries, native, storage
from ..host.c_source.library import march
from ..interrupts import reraise_from_handler
from .compiling import background, programs

#: what entries may depend on; the last one needs the device
SCOPES: Final = ("kernels", "programs")


def fingerprint_of(scope: str) -> str:
    """The fingerprint of a scope here, in hexadecimal."""
    found = storage.fingerprint() if scope == "kernels" else fingerprint.fingerprint()
    return found.hex()


def about(scope: str) -> dict[str, str]:
    """What it is made of, for people: values by name."""
    found = storage.about() if scope == "kernels" else fingerprint.about()
    return {"lazyloom": hooks.version, **found}


def settled(timeout: float | None) -> int:
    """Wait until nothing is compiled beside the program; how many programs still are or wait."""
    return 0 if background.wait(timeout) else background.unfinished()


def executables() -> Iterator[tuple[str, bytes, bytes]]:
    """The executables in memory that can be stored: (kind, description, payload)."""
    for entry in memory.entries():
        try:
            found = programs.stored(entry)
        except Exception as error:
            reraise_from_handler(error)
            continue
        if found is not None:
            yield "program", *found


def refusal(kind: str, description: bytes) -> str:
    """Why an entry of an environment that fits is of no use here all the same; "" if it is of use.
    """
    if kind == "program":
        made = programs.generators_text(description)
        here = registry.versions(registry.names_in(made)) if made else made
        return "" if made == here else f"code generators {made}, here {here or 'none of them'}"
    if kind in ("function", "library"):
        level = function_libraries.level_of(description)
        return "" if level == native.level() else (
            f"for processors of level x86-64-v{level}, here {native.level()}")
    if kind == "c":
        there = [w for w in description.decode(errors="replace").split("\0")[:-1]
                 if w.startswith("-march=")]
        return "" if there == march() else (
            f"compiled with {' '.join(there) or 'no -march'}, here {' '.join(march()) or 'none'}")
    if kind == "engine":
        return engine_refusal.refusal(description)
    return ""


def joined(kind: str, existing: bytes, given: bytes) -> bytes | None:
    """What to keep of an entry in the folder and one of the same name in a file.

    None where the first stays as it is.
    """
    if kind == "program":
        return given if programs.serves_more(given, existing) else None
    if kind == "verdict":
        return verdicts.union(existing, given)
    return None


def taken(kinds: set[str]) -> None:
    """Have what was loaded used, as far as it was asked for already."""
    if "verdict" in kinds:
        verdicts.adopt(None)
