"""Texts and numbers by key, which all processes share."""

from __future__ import annotations

import time
from typing import Any, Final

from ..errors import ArgumentError, DistributedError
from . import processes

#: seconds between two looks at whether other processes are still there
_LOOK: Final = 0.5


class Store:
    """A store of texts by key in jaxlib's coordination service, or of this process if it is alone.

    Args:
        prefix: goes before every key, so that stores of different prefixes do not meet.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix: Final = f"lazyloom/{prefix}/" if prefix else "lazyloom/"

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key, in place of any that it has."""
        if not isinstance(value, (str, bytes)):
            raise ArgumentError(
                f"Store.set: the value is a {type(value).__name__}, expected a str or bytes")
        text = "b" + value.hex() if isinstance(value, bytes) else "s" + value
        client = processes.coordination()
        if client is None:
            _alone[self.prefix + key] = text
        else:
            client.set(self.prefix + key, text)

    def get(self, key: str, timeout: float | None = None) -> str | bytes:
        """The value of a key, once it is set.

        Args:
            timeout: seconds to wait for it; that of :func:`init` by default.

        Raises DistributedError if it is not set in time, or a process has failed meanwhile.
        """
        client = processes.coordination()
        together = processes.together()
        text: str | None
        if client is None or together is None:
            text = _alone.get(self.prefix + key)
            limit = 0.0
        else:
            limit = together.timeout if timeout is None else timeout
            deadline = time.monotonic() + limit
            while True:
                left = deadline - time.monotonic()
                text = client.get(self.prefix + key, min(max(left, 0.0), _LOOK))
                if text is not None or left <= 0:
                    break
                together.check()
        if text is None:
            raise DistributedError(
                f"Store.get: the key {key!r} was not set by any process within {limit:g} s")
        return bytes.fromhex(text[1:]) if text[:1] == "b" else text[1:]

    def add(self, key: str, amount: int = 1) -> int:
        """Add to the number of a key, which begins at 0, and return the sum.

        Such a key is not one of :meth:`set`.
        """
        client = processes.coordination()
        name = f"{self.prefix}number/{key}"
        if client is None:
            total = _alone_numbers[name] = _alone_numbers.get(name, 0) + amount
            return total
        return int(client.add(name, amount))

    def delete(self, key: str) -> None:
        """Remove a key; nothing happens if there is none."""
        client: Any = processes.coordination()
        if client is None:
            _alone.pop(self.prefix + key, None)
        else:
            client.delete(self.prefix + key)


_alone: Final[dict[str, str]] = {}
_alone_numbers: Final[dict[str, int]] = {}
