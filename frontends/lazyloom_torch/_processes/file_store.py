"""A key-value store in a file that several processes see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, BinaryIO, Final

from .errors import DistStoreError
from .stores import Store, as_bytes

#: of a record: the bytes of its key, and those of its value, or that there is none
_HEAD: Final = struct.Struct("<IQ")
_NONE: Final = (1 << 64) - 1
#: in the file, but not for users
_USERS: Final = "lazyloom/users"
#: seconds between two looks at the file, at first and at most
_SHORT: Final = 0.002
_LONG: Final = 0.05


class FileStore(Store):
    """A store whose data are in a file; each change is written to its end.

    Args:
        file_name: a path that all processes see; the file is made, and belongs to these processes
            alone: one that was left from an earlier program has its keys.
        world_size: how many processes use it, the last of which removes the file when it lets go
            of the store; -1 for any number, and then nobody does.

    Raises DistStoreError if the file cannot be opened, or is none of a store.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._timeout = timedelta(seconds=300)
        self.path = os.fspath(file_name)
        self._world_size = world_size
        self._data: dict[str, bytes] = {}
        self._read_to = 0
        if world_size > 0:
            self.add(_USERS, 1)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, at its end, with its keys read; no other process has it at that time."""
        try:
            with open(self.path, "a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._catch_up(file)
                yield file
        except OSError as error:
            raise DistStoreError(
                f"FileStore: {self.path} cannot be used: {error.strerror}; give a path to a file "
                "in a folder that all processes may write to") from error

    def _catch_up(self, file: BinaryIO) -> None:
        """Read what was written since the last time."""
        size = os.fstat(file.fileno()).st_size
        if size < self._read_to:  # the last user removed it, and another made it again
            self._data.clear()
            self._read_to = 0
        file.seek(self._read_to)
        new = file.read()
        at = 0
        while at < len(new):
            if at + _HEAD.size > len(new):
                break
            key_size, value_size = _HEAD.unpack_from(new, at)
            size = 0 if value_size == _NONE else value_size
            end = at + _HEAD.size + key_size + size
            if end > len(new):
                break
            key = new[at + _HEAD.size : at + _HEAD.size + key_size].decode(errors="replace")
            if value_size == _NONE:
                self._data.pop(key, None)
            else:
                self._data[key] = new[end - size : end]
            at = end
        self._read_to += at
        if at < len(new):
            raise DistStoreError(
                f"FileStore: {self.path} is none of a store, or a process was killed while it wrote"
                " to it; remove it")

    def _append_record(self, file: BinaryIO, key: str, value: bytes | None) -> None:
        encoded = key.encode()
        length = _NONE if value is None else len(value)
        record = _HEAD.pack(len(encoded), length) + encoded + (value or b"")
        file.write(record)
        file.flush()
        self._read_to += len(record)
        if value is None:
            self._data.pop(key, None)
        else:
            self._data[key] = value

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        """Set a key to what a function makes of its value; None is no value. Returns it."""
        with self._locked() as file:
            before = self._data.get(key)
            after = change(before)
            if after != before:
                self._append_record(file, key, after)
            return after

    def _ask(self, key: str, seconds: float) -> bytes | None:
        end = time.monotonic() + seconds
        pause = _SHORT
        while True:
            with self._locked():
                found = self._data.get(key)
            if found is not None or time.monotonic() >= end:
                return found
            time.sleep(pause)
            pause = min(pause * 1.5, _LONG)

    def set(self, key: str, value: str | bytes) -> None:
        self._change(key, lambda before: as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._change(
            key, lambda before: str(int(before or b"0") + int(amount)).encode()))

    def append(self, key: str, value: str | bytes) -> None:
        """Put bytes at the end of a key's value."""
        self._change(key, lambda before: (before or b"") + as_bytes(value))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """As :meth:`HashStore.compare_set`."""
        wanted = as_bytes(expected)
        found = self._change(key, lambda before: as_bytes(desired) if (
            wanted == (b"" if before is None else before)) else before)
        return wanted if found is None else bytes(found)

    def delete_key(self, key: str) -> bool:
        with self._locked() as file:
            there = key in self._data
            if there:
                self._append_record(file, key, None)
            return there

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._locked():
            return [k for k in self._data if k != _USERS]

    def __del__(self) -> None:
        # the interpreter may be ending, and the file may be gone
        with contextlib.suppress(Exception):
            if self._world_size > 0 and os.path.exists(self.path) and self.add(_USERS, -1) <= 0:
                os.remove(self.path)


__all__ = ["FileStore"]
