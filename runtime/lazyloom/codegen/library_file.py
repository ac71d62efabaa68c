"""The file of a shared library: whether it is whole, and whether it is what was loaded."""

from __future__ import annotations

import contextlib
import os
import struct
from typing import Final

#: the head of a file of 64 bits, and one of its entries for parts in memory (ELF)
_HEAD: Final = struct.Struct("<4sBB10xHHIQQQIHHH6x")
_PART: Final = struct.Struct("<IIQQQQQQ")
_LOADED: Final = 1
#: what the system appends to the name of a file that is mapped and has no name any more
_GONE: Final = " (deleted)"


def cut_short(path: str) -> str:
    """Return why a library is not whole, or "": to load what is missing would end the process.

    A file of another format, and one that cannot be read, is left to whoever loads it.
    """
    with contextlib.suppress(OSError, struct.error), open(path, "rb") as file:
        magic, bits, order, *_, start, _sections, _flags, _size, each, count = _HEAD.unpack(
            file.read(_HEAD.size))
        if (magic, bits, order, each) != (b"\x7fELF", 2, 1, _PART.size):
            return ""
        file.seek(start)
        table = file.read(each * count)
        size = os.fstat(file.fileno()).st_size
        ends = [offset + length for kind, _, offset, _, _, length, _, _ in _PART.iter_unpack(
            table[: len(table) - len(table) % each]) if kind == _LOADED]
        needed = max([start + each * count, *ends])
        if needed > size:
            return f"it has {size} bytes, expected {needed} or more: it was not copied as a whole"
    return ""


def replaced(path: str, address: int) -> bool:
    """Return True if a file took the place of the one that is loaded at an address.

    Where the system does not tell, it was not.
    """
    with contextlib.suppress(OSError, ValueError), open("/proc/self/maps", "rb") as file:
        for line in file:
            fields = line.split(None, 5)
            begin, _, end = fields[0].partition(b"-")
            if int(begin, 16) <= address < int(end, 16):
                mapped = os.fsdecode(fields[5].rstrip(b"\n")) if len(fields) > 5 else ""
                if mapped.endswith(_GONE) and not os.path.exists(mapped):
                    return True
                return bool(mapped) and not os.path.samefile(mapped, path)
    return False
