"""``torch.compiler``: what programs ask of it. What is recorded is compiled anyway."""

from __future__ import annotations

from typing import Any

from ._settings import compile

__all__ = ["compile", "disable", "is_compiling", "is_dynamo_compiling", "reset"]


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, also as a decorator with arguments."""
    return (lambda f: f) if fn is None else fn


def is_compiling() -> bool:
    """False: programs run as they are written, and are recorded."""
    return False


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Nothing: there is no state of a compiler to reset."""
