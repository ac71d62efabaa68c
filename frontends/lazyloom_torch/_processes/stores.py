"""Key-value stores: of one process, over TCP, and that of the default process group."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .errors import DistStoreError


def seconds_of(timeout: Any, function: str = "") -> float:
    """A timedelta in seconds. Raises TypeError for anything else."""
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"{function + ': ' if function else ''}Expected timeout argument to be of type "
            f"datetime.timedelta, got {type(timeout).__name__}")
    return timeout.total_seconds()


def as_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Keys, which are strings, with values of bytes, that several processes see.

    :meth:`get` and :meth:`wait` wait for keys until :attr:`timeout`, and raise DistStoreError then.
    """

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait for keys up to ``timeout`` from now on."""
        seconds_of(timeout)
        self._timeout = timeout

    @abstractmethod
    def _ask(self, key: str, seconds: float) -> bytes | None:
        """The value of a key, None if it is not set within that time."""

    @abstractmethod
    def set(self, key: str, value: str | bytes) -> None:
        """Set a key."""

    @abstractmethod
    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 at first; the sum, which :meth:`get` gives in digits."""

    @abstractmethod
    def delete_key(self, key: str) -> bool:
        """Forget a key; whether it was there."""

    def get(self, key: str) -> bytes:
        """The value of a key, once it is set."""
        found = self._ask(key, self._timeout.total_seconds())
        if found is None:
            raise DistStoreError(
                f"the key {key!r} was not set in {self._timeout.total_seconds():g} s: the process "
                "that is to set it has not come so far, or has ended")
        return found

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are set."""
        limit = self._timeout if timeout is None else timeout
        end = time.monotonic() + seconds_of(limit)
        missing = [k for k in keys if self._ask(k, max(0.0, end - time.monotonic())) is None]
        if missing:
            raise DistStoreError(
                f"wait timeout after {limit.total_seconds() * 1000:.0f}ms, keys: "
                f"{', '.join(missing)}")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set now."""
        return all(self._ask(k, 0.0) is not None for k in keys)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return [self.get(k) for k in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        for k, v in zip(keys, values, strict=True):
            self.set(k, v)

    def has_extended_api(self) -> bool:
        return True


class HashStore(Store):
    """A store within one process, for its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._data: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def _change(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        with self._changed:
            found = change(self._data)
            self._changed.notify_all()
            return found

    def _ask(self, key: str, seconds: float) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: key in self._data, seconds)
            return self._data.get(key)

    def set(self, key: str, value: str | bytes) -> None:
        self._change(lambda data: data.__setitem__(key, as_bytes(value)))

    def add(self, key: str, amount: int) -> int:
        def change(data: dict[str, bytes]) -> int:
            made = int(data.get(key, b"0")) + int(amount)
            data[key] = str(made).encode()
            return made

        return int(self._change(change))

    def append(self, key: str, value: str | bytes) -> None:
        """Put bytes at the end of a key's value."""
        self._change(lambda data: data.__setitem__(key, data.get(key, b"") + as_bytes(value)))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key to ``desired`` if its value is ``expected``, or if it is not set and that is
        empty; what it is afterwards, ``expected`` if there is no such key."""
        expected = as_bytes(expected)

        def change(data: dict[str, bytes]) -> bytes:
            current = data.get(key)
            if expected == (b"" if current is None else current):
                data[key] = as_bytes(desired)
            return data.get(key, expected)

        found: bytes = self._change(change)
        return found

    def delete_key(self, key: str) -> bool:
        return self._change(lambda data: data.pop(key, None)) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        with self._changed:
            return len(self._data)

    def list_keys(self) -> list[str]:
        with self._changed:
            return list(self._data)


class PrefixStore(Store):
    """Another store, with something put before each key."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix, self.underlying_store = prefix, store
        self._timeout = store.timeout

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _ask(self, key: str, seconds: float) -> bytes | None:
        return self.underlying_store._ask(self._key(key), seconds)

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        store: Any = self.underlying_store
        found: bytes = store.compare_set(self._key(key), expected, desired)
        return found

    def append(self, key: str, value: str | bytes) -> None:
        store: Any = self.underlying_store
        store.append(self._key(key), value)

    def num_keys(self) -> int:
        store: Any = self.underlying_store
        return int(store.num_keys())
