"""The file of a cache that is carried to other machines: its form, and what is in it.

A list of contents comes first: the environments in which entries are valid, as names and values,
and of each entry its kind, its name, its environment and where its bytes lie. The bytes are those
of the disk cache's file, compressed. The list has a checksum, and each entry those of the disk
cache, so that damage costs the entries that it meets.

Nothing of the list names a file that is written. Where an entry goes follows from its own bytes,
which have to be those of the name in the list; and it goes nowhere if it is of another environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final, NamedTuple

from ..errors import ArgumentError
from ..files import replace

_MAGIC: Final = b"LLCARRY1"
#: magic, bytes of the list, digest of the list
_HEAD: Final = struct.Struct("<8sQ32s")
_KIND: Final = re.compile(r"[a-z_]{1,32}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
#: lists of contents that are longer are none of ours
_LONGEST: Final = 1 << 28

File = str | os.PathLike[str] | IO[bytes]


class CacheEnvironment(NamedTuple):
    """Where entries of a file are valid.

    Attributes:
        scope: "kernels" for what depends on sources and versions alone, "programs" for machine
            code, which depends on the processor and on flags, too.
        fingerprint: a digest of it all, in hexadecimal.
        about: what it was made of, for people: values by name.
    """

    scope: str
    fingerprint: str
    about: dict[str, str]


class Listed(NamedTuple):
    """An entry in a list of contents."""

    kind: str
    name: str
    environment: CacheEnvironment
    start: int
    length: int
    size: int


class ListOfContents(NamedTuple):
    """A list of contents, and where the bytes of entries begin."""

    environments: tuple[CacheEnvironment, ...]
    entries: tuple[Listed, ...]
    base: int


def name_of_file(file: File) -> str:
    """What messages call it."""
    if isinstance(file, (str, os.PathLike)):
        return os.fspath(file)
    return str(getattr(file, "name", "the given file"))


def write(
    file: File, environments: Sequence[CacheEnvironment],
    entries: Sequence[tuple[str, str, int, bytes]],
) -> int:
    """Write entries of (kind, name, number of the environment, whole bytes); a path completely or
    not at all.

    Returns how many bytes were written. Raises OSError.
    """
    rows: list[list[Any]] = []
    packed: list[bytes] = []
    at = 0
    for kind, name, number, data in entries:
        small = zlib.compress(data, 6)
        rows.append([kind, name, number, at, len(small), len(data)])
        packed.append(small)
        at += len(small)
    listed = json.dumps(
        {"environments": [e._asdict() for e in environments], "entries": rows}).encode()
    head = _HEAD.pack(_MAGIC, len(listed), hashlib.sha256(listed).digest())
    if not isinstance(file, (str, os.PathLike)):
        for part in (head, listed, *packed):
            file.write(part)
    else:
        replace(file, [head, listed, *packed])
    return len(head) + len(listed) + at


@contextlib.contextmanager
def opened(file: File, function: str) -> Iterator[tuple[IO[bytes], ListOfContents]]:
    """A file and its list of contents.

    Raises ArgumentError if it is none or its list is damaged, OSError.
    """
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as found:
            yield found, _contents(found, f"{function}: {os.fspath(file)}")
    else:
        # positions count from where it stands
        whole = io.BytesIO(file.read())
        yield whole, _contents(whole, f"{function}: {name_of_file(file)}")


def _contents(file: IO[bytes], where: str) -> ListOfContents:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(_MAGIC):
        raise ArgumentError(
            f"{where} is no file of lazyloom.cache.save, expected one (it begins with "
            f"{head[:8]!r})")
    _, length, digest = _HEAD.unpack(head)
    listed = file.read(length) if length <= _LONGEST else b""
    if len(listed) != length or hashlib.sha256(listed).digest() != digest:
        raise ArgumentError(
            f"{where} is damaged: its list of contents is not what was written, or not whole; "
            "save it again, or copy it again")
    try:
        return _parsed(json.loads(listed), _HEAD.size + length)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ArgumentError(
            f"{where} has a list of contents that this version of lazyloom cannot read: "
            f"{error}; save it again") from error


def _parsed(listed: Any, base: int) -> ListOfContents:
    environments = tuple(
        CacheEnvironment(str(e["scope"]), str(e["fingerprint"]),
                    {str(k): str(v) for k, v in e["about"].items()})
        for e in listed["environments"])
    found = []
    for kind, name, number, start, length, size in listed["entries"]:
        if not _KIND.fullmatch(kind) or not _HEX.fullmatch(name):
            raise ValueError(f"an entry is called {kind!r} {name!r}")
        numbers = (number, start, length, size)
        if any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError(f"an entry has the numbers {numbers}")
        found.append(Listed(kind, name, environments[number], start, length, size))
    return ListOfContents(environments, tuple(found), base)


def bytes_of(file: IO[bytes], contents: ListOfContents, one: Listed) -> bytes | None:
    """The whole bytes of an entry as they were before they were compressed; None if damaged."""
    file.seek(contents.base + one.start)
    packed = file.read(one.length)
    if len(packed) != one.length:
        return None
    unpacker = zlib.decompressobj()
    try:
        # no more than it says: a few bytes can stand for many
        data = unpacker.decompress(packed, one.size + 1)
    except zlib.error:
        return None
    return data if len(data) == one.size and unpacker.eof else None


def differences(there: CacheEnvironment, here: dict[str, str]) -> str:
    """Why entries of an environment are of no use in another one: what differs, in words."""
    found = [_difference(name, there.about.get(name), here.get(name))
             for name in dict.fromkeys([*there.about, *here])
             if there.about.get(name) != here.get(name)]
    return "; ".join(found) or "made in an environment with another fingerprint"


def _difference(name: str, there: str | None, here: str | None) -> str:
    if there is not None and here is not None and max(len(there), len(here)) > _SHORT:
        a, b = there.split(), here.split()
        parts = [f"{word} {' '.join(words[:_WORDS])}{' ...' if len(words) > _WORDS else ''}"
                 for word, words in (("without", [w for w in a if w not in b]),
                                     ("with", [w for w in b if w not in a])) if words]
        if parts:
            return f"{name}: here {', '.join(parts)}"
    return f"{name} {there or 'none'}, here {here or 'none'}"


#: from this length on a value is told as the words that differ, and that many of them
_SHORT: Final = 80
_WORDS: Final = 8
