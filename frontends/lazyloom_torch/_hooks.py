"""What registering a hook gives, whoever calls the hook."""

from __future__ import annotations

from typing import Any


class RemovableHandle:
    """Removes a hook; also a context manager that removes it at the end."""

    _next = 0

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks = hooks
        self.id = RemovableHandle._next
        RemovableHandle._next += 1

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
