"""What is raised where a checkpoint could not be saved or loaded."""

from __future__ import annotations

import traceback
from typing import Any, TypeAlias

#: an exception, and where it was raised
WRAPPED_EXCEPTION: TypeAlias = tuple[BaseException, traceback.StackSummary]


class CheckpointException(BaseException):
    """Some processes could not save or load their part of a checkpoint; raised in all of them.

    Args:
        msg: what was being done.
        failures: the exception of each process that failed, by rank, and where it was raised.
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """By rank, the exception of each process that failed, and where it was raised."""
        return self._failures

    def __str__(self) -> str:
        parts = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, trace) in self._failures.items():
            parts.append(f"Traceback (most recent call last): (RANK {rank})\n")
            if trace is not None:
                parts += traceback.format_list(trace)
            parts += traceback.format_exception_only(type(error), value=error)
        return "".join(parts)


__all__ = ["CheckpointException"]
