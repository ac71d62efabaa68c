"""``torch.compiler``: what programs ask of it. What is recorded is compiled anyway."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ._settings import compile

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
           "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "set_stance", "substitute_in_graph", "wrap_numpy"]


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, also as a decorator with arguments."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


assume_constant_result = wrap_numpy = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that gives the function itself: nothing is substituted."""
    return lambda f: f


class set_stance(nullcontext[None]):  # noqa: N801
    """Nothing, also as a context manager and a decorator: there is one way to run."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        super().__init__()

    def __call__(self, fn: Any) -> Any:
        return fn


def is_compiling() -> bool:
    """False: programs run as they are written, and are recorded."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing: there is no state of a compiler to reset."""


cudagraph_mark_step_begin = reset


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """XLA."""
    return ["xla"]
